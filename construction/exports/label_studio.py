"""Reviews by way of Label Studio: tasks out, votes in, and votes out.

Review has two steps, and so two projects: `answer` asks for the reviewer's own answer and shows no
reference; `verdict` shows the reference to those who have answered. Every text of an item goes
into the tasks as data, none into the labeling configuration.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from construction.exports.label_studio_read import LabelledVote, read_label_studio
from construction.exports.source import Source, video_name, write_text
from psychemme.items import Option
from psychemme.release.rows import Line, ReferenceRow
from psychemme.vocabulary import Format
from psychology_kb.load import Reason, ReviewForm, load_review
from state.review_values import Revealed

__all__ = ["LabelledVote", "ReviewTask", "read_label_studio", "write", "write_tasks", "write_votes"]

LOCAL_FILES = "/data/local-files/?d=videos/"
"""Where Label Studio serves the export's videos, its document root being the export's folder."""

_ASKED = {
    Format.SINGLE: "Choose one.",
    Format.MULTIPLE: "Choose all that apply.",
    Format.OPEN: "Answer in one to three sentences of your own, in the text box.",
}


@dataclass(frozen=True)
class ReviewTask:
    """One version of an item to review. `video` is a URL that Label Studio can open.

    `version` is None where it is not known, as in a release: no import takes votes on such a task.
    `reference` is what step two shows: answer, cues and key points as text. It never enters the
    tasks of step one. `canary` is the release's, if the item is in one.
    """

    candidate_id: str
    version: int | None
    question: str
    options: tuple[Option, ...]
    format: Format
    video: str
    transcript: tuple[Line, ...]
    reference: str = ""
    canary: str = ""


def write(source: Source, folder: Path) -> list[str]:
    """Write the items of a release as tasks to review again; return notes.

    Raises ConfigError where the release's profile has no review form here.
    """
    form = load_review(source.release.manifest.profile)
    references = source.references or {}
    tasks = [
        ReviewTask(
            question.id,
            None,
            question.question,
            question.options,
            question.format,
            f"{LOCAL_FILES}{video_name(episode.id)}",
            episode.transcript,
            shown_reference(references[question.id]) if question.id in references else "",
            source.canary,
        )
        for question, episode in source.items()
    ]
    write_tasks(tasks, form, folder)
    notes = [
        "Votes on these tasks cannot be imported; `psychemme review export` writes tasks for it."
    ]
    if not source.has_videos:
        notes.append("No videos: the tasks name files that are not there.")
    if source.references is None:
        return [*notes, "Step one alone: the verdicts need the references (--with-references)."]
    return [*notes, "verdict.json holds the references: import it for those who have answered."]


def write_tasks(tasks: Sequence[ReviewTask], form: ReviewForm, out: Path) -> None:
    """Write step one to the folder `out`, and step two for tasks that have a reference.

    Each step is a labeling configuration (`.xml`) and the tasks to import (`.json`).
    """
    write_text(out / "answer.xml", _config(form, is_informed=False))
    write_text(out / "answer.json", _json([{"data": _data(task)} for task in tasks]))
    informed = [task for task in tasks if task.reference]
    if informed:
        shown = [{"data": _data(task) | {"reference": task.reference}} for task in informed]
        write_text(out / "verdict.xml", _config(form, is_informed=True))
        write_text(out / "verdict.json", _json(shown))


def write_votes(votes: Iterable[LabelledVote], out: Path) -> None:
    """Write votes to the file `out` as annotated tasks, by item and reviewer.

    `completed_by` names the reviewer, so that `read_label_studio` returns the same rows.
    """
    tasks: dict[tuple[str, int], list[LabelledVote]] = {}
    for vote in sorted(votes, key=lambda v: (v.candidate_id, v.version, v.reviewer)):
        tasks.setdefault((vote.candidate_id, vote.version), []).append(vote)
    rows = [
        {
            "data": {"candidate_id": name, "version": version},
            "annotations": [_annotation(vote) for vote in cast],
        }
        for (name, version), cast in tasks.items()
    ]
    write_text(out, _json(rows))


def shown_reference(row: ReferenceRow | Revealed) -> str:
    """Return a reference as the text that step two shows."""
    answer = row.answer if isinstance(row.answer, str) else ", ".join(row.answer)
    points = [f"{'required' if p.required else 'optional'}: {p.text}" for p in row.key_points]
    cues = [f"{c.start:g}-{c.end:g} s, {c.modality}: {c.description}" for c in row.cues]
    return "\n".join([f"Answer: {answer}", *points, *cues])


def _data(task: ReviewTask) -> dict[str, object]:
    lines = (f"[{x.start:g}-{x.end:g}] {' '.join(x.text.split())}" for x in task.transcript)
    return {
        "candidate_id": task.candidate_id,
        **({"version": task.version} if task.version else {}),
        "format": str(task.format),
        "question": task.question,
        "asked": _ASKED[task.format],
        "options": [{"value": f"{o.id}. {o.text}", "alias": o.id} for o in task.options],
        "video": task.video,
        "transcript": "\n".join(lines),
        **({"canary": task.canary} if task.canary else {}),
    }


def _config(form: ReviewForm, *, is_informed: bool) -> str:
    view = Element("View")
    SubElement(view, "Header", value=form.title)
    SubElement(view, "Video", name="video", value="$video")
    SubElement(view, "Text", name="transcript", value="$transcript")
    SubElement(view, "Text", name="question", value="$question")
    if is_informed:
        _verdicts(view, form)
    else:
        _answer(view)
    _box(view, "comment")
    _choices(view, {s.id: s.text for s in form.skip_reasons}, name="skipped", choice="single")
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def _answer(view: Element) -> None:
    SubElement(view, "Text", name="asked", value="$asked")
    SubElement(
        view, "Choices", name="answer", toName="question", value="$options", choice="multiple"
    )
    _box(view, "answer_text")


def _verdicts(view: Element, form: ReviewForm) -> None:
    SubElement(view, "Text", name="reference", value="$reference")
    for verdict in form.verdicts:
        SubElement(view, "Header", value=verdict.question)
        SubElement(view, "Header", value=verdict.guidance, size="6")
        approvals = {"approve": "approve", "reject": "reject"}
        _choices(view, approvals, name=verdict.id, choice="single")
        _choices(
            view,
            {reason.id: _shown(reason) for reason in verdict.reject_reasons},
            name=f"{verdict.id}_reasons",
            choice="multiple",
            visibleWhen="choice-selected",
            whenTagName=verdict.id,
            whenChoiceValue="reject",
        )


def _choices(view: Element, choices: Mapping[str, str], **attributes: str) -> None:
    tag = SubElement(view, "Choices", {"toName": "question", **attributes})
    for alias, text in choices.items():
        SubElement(tag, "Choice", value=text, alias=alias)


def _shown(reason: Reason) -> str:
    only = f" [{', '.join(reason.applies_to)}]" if reason.applies_to else ""
    return f"{reason.text}{only}"


def _box(view: Element, name: str) -> None:
    SubElement(view, "Header", value=name.replace("_", " "), size="6")
    SubElement(view, "TextArea", name=name, toName="question", maxSubmissions="1")


def _annotation(vote: LabelledVote) -> dict[str, object]:
    texts = {"comment": vote.comment}
    choices: dict[str, Iterable[str]] = {name: [value] for name, value in vote.verdicts.items()}
    choices |= {f"{name}_reasons": found for name, found in vote.reasons.items()}
    if isinstance(vote.blind_answer, str):
        texts["answer_text"] = vote.blind_answer
    elif vote.blind_answer is not None:
        choices["answer"] = vote.blind_answer
    if vote.skipped is not None:
        choices["skipped"] = [vote.skipped]
    results = [_result(name, "choices", list(found)) for name, found in choices.items() if found]
    results += [_result(name, "textarea", [text]) for name, text in texts.items() if text]
    results.sort(key=lambda result: str(result["from_name"]))
    return {"completed_by": {"email": vote.reviewer}, "result": results}


def _result(name: str, kind: str, value: list[str]) -> dict[str, object]:
    key = "text" if kind == "textarea" else kind
    return {"from_name": name, "to_name": "question", "type": kind, "value": {key: value}}


def _json(rows: object) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
