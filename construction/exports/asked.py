"""How an item is put to a model by other tools: the same prompt as `psychemme evaluate` renders."""

import re
from pathlib import Path

from construction.exports.source import Source, video_name, write_lines
from prompts.load import Rendered, render
from psychemme.episode import Episode, HistoryEntry, Utterance
from psychemme.release.rows import EpisodeRow, QuestionRow

PROMPT = "evaluated"
MAX_TOKENS = 768
"""Output tokens, as in the paper; enough for the JSON that is asked for."""

_TEMPLATES = Path(__file__).parent / "templates"
# Lines of a template that an export does without.
_ONLY_HERE = re.compile(r"^(?:# mypy: |# ruff: |from reading import ).*\n", re.MULTILINE)
_READER = "# <reading replies>\n"


def prompt_of(question: QuestionRow, episode: EpisodeRow) -> Rendered:
    """Return the prompt of `question`, with transcript, public context and history."""
    shown = Episode(
        duration=episode.duration,
        public_context=question.public_context,
        transcript=tuple(
            Utterance(start=line.start, end=line.end, text=line.text) for line in episode.transcript
        ),
        history=tuple(HistoryEntry(before=h.before, text=h.text) for h in question.history),
    )
    inputs = {
        "episode": shown,
        "question": question.question,
        "options": question.options,
        "format": question.format,
        "decision_time": question.decision_time,
    }
    return render(PROMPT, inputs)


def facts_of(source: Source, question: QuestionRow, episode: EpisodeRow) -> dict[str, object]:
    """Return what a row says of an item besides its prompt; never its reference."""
    return {
        "episode_id": episode.id,
        "capability": str(question.capability),
        "subcategory": question.subcategory,
        "format": str(question.format),
        "option_ids": [option.id for option in question.options],
        "duration": episode.duration,
        "canary": source.canary,
    }


def video_of(episode: EpisodeRow) -> str:
    """Return where the episode's video lies in the export, a path below its folder."""
    return f"videos/{video_name(episode.id)}"


def write_windows(source: Source, folder: Path) -> None:
    """Write `windows.jsonl`: which seconds of which clip each video is."""
    rows = (
        {
            "episode_id": row.id,
            "video": video_of(row),
            "clip": row.clip,
            "sha256": row.sha256,
            "start": row.start,
            "end": row.end,
            "canary": source.canary,
        }
        for row in source.release.episodes.values()
    )
    write_lines(folder / "windows.jsonl", rows)


def code(template: str, source: Source) -> str:
    """Return the Python file that an export ships: `template` with the reader of replies in it."""
    reader = (_TEMPLATES / "reading.py").read_text("utf-8").partition('"""\n\n')[2]
    body = (_TEMPLATES / template).read_text("utf-8")
    body = _ONLY_HERE.sub("", body)
    body = body.replace(_READER, f"# Reading replies, the same in every export.\n{reader}")
    return (
        body.replace("psychemme_release", source.slug)
        .replace("CANARY", source.canary)
        .replace("MAX_TOKENS", str(MAX_TOKENS))
    )


def notes(source: Source) -> list[str]:
    """Return what a user of a runnable export should know of it, each in one sentence."""
    questions = source.release.questions.values()
    opened = sum(not question.format.is_choice for question in questions)
    found = []
    if source.references is None:
        found.append(
            "No references: it asks every item and scores none. Turn its log into responses and "
            "run `psychemme score`, or export again with --with-references."
        )
    elif opened:
        found.append(
            f"{opened} of {len(questions)} items are open: they are asked and not scored here. "
            "Turn the log into responses and judge those with psychemme."
        )
    if source.references is not None:
        found.append("It holds the references: keep it private.")
    if not source.has_videos:
        found.append("No videos: cut each window of windows.jsonl to its place, or add --media.")
    return found
