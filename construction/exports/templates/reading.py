"""Read what a model replied; in doubt there is no answer, never a guessed one."""

import json
import re

_NAME = r"(?:think|thinking|thought|reasoning)>"
_TAG = re.compile(rf"<(/?){_NAME}", re.IGNORECASE)
_BARE = re.compile(r"[\s*_`(\[\"']*([A-Za-z])[\s*_`)\]\"'.]*")


def read_answer(reply: str | None, option_ids: list[str]) -> list[str]:
    """Return the option ids that `reply` answers, sorted; [] where it holds no readable answer.

    It reads the JSON object that is asked for, or a reply that is one option id and nothing else.
    Prose behind the object, an object that contradicts another and an unknown id are unreadable:
    `psychemme score` reads more, so that a score by this function is a lower bound.
    """
    shown = _shown(reply)
    answers, end = _answers(shown)
    if answers:
        sets = [_ids(answer, option_ids) for answer in answers]
        behind = shown[end:].replace("`", "").strip()
        return sets[0] if all(one == sets[0] for one in sets) and not behind else []
    bare = _BARE.fullmatch(shown)
    return _ids(bare[1], option_ids) if bare else []


def is_readable(reply: str | None, option_ids: list[str]) -> bool:
    """Return whether `reply` holds an answer: option ids, or without options a text."""
    if option_ids:
        return bool(read_answer(reply, option_ids))
    answers, _ = _answers(_shown(reply))
    return bool(answers) and isinstance(answers[-1], str) and bool(answers[-1].strip())


def response_line(item_id: str, model: str, reply: str) -> str:
    """Return one line of a responses file, which `psychemme score --responses` reads."""
    row = {"item_id": item_id, "model": model, "condition": "full", "raw": reply}
    return json.dumps(row, ensure_ascii=False)


def _shown(reply: str | None) -> str:
    """Return `reply` without its thinking; nothing where it ends inside it."""
    text = reply or ""
    shown: list[str] = []
    position, is_thinking = 0, False
    for tag in _TAG.finditer(text):
        if not is_thinking and tag[1]:
            # It was opened in the prompt.
            shown.clear()
        elif not is_thinking:
            shown.append(text[position : tag.start()])
        position, is_thinking = tag.end(), not tag[1]
    return "" if is_thinking else "".join((*shown, text[position:]))


def _answers(text: str) -> tuple[list[object], int]:
    """Return the `answer` of each outermost JSON object, and where the last of them ends."""
    decoder = json.JSONDecoder()
    found: list[object] = []
    end, at = 0, text.find("{")
    while at >= 0:
        try:
            value, after = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            after = at + 1
        else:
            if "answer" in value:
                found.append(value["answer"])
                end = after
        at = text.find("{", after)
    return found, end


def _ids(answer: object, option_ids: list[str]) -> list[str]:
    named = answer if isinstance(answer, list) else [answer]
    chosen = {one.strip().upper() for one in named if isinstance(one, str)}
    is_known = len(chosen) > 0 and all(isinstance(one, str) for one in named)
    return sorted(chosen) if is_known and chosen <= set(option_ids) else []
