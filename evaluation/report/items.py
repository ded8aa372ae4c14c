"""What the page's script shows of an item once it is opened."""

from collections.abc import Sequence
from typing import Any

from evaluation.contradictions import contradictions
from evaluation.report.runs import ReportRun
from evaluation.scoring import ItemScore
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow, ReferenceRow

Json = dict[str, Any]
UNSHOWN = "[a person's words are left out]"
LONGEST = 20_000
"""Characters shown of one reply or answer; all of it stands in the run's `responses.jsonl`."""


def item_details(
    release: Release, runs: Sequence[ReportRun], asked: Sequence[str], with_references: bool
) -> list[Json]:
    """Return what the script shows of each item that was asked, as JSON values.

    Reference, credit, judgement and people's own words are there only `with_references`.
    """
    references = release.references() if with_references else {}
    scores = [{item.item_id: item for item in run.scored.items} for run in runs]
    found = []
    for name in asked:
        question = release.questions[name]
        shown, is_open = _item(release, question), not question.format.is_choice
        shown["responses"] = [
            _response(run, place, name, is_open, scores[place][name] if with_references else None)
            for place, run in enumerate(runs)
            if name in run.responses
        ]
        if with_references:
            shown["reference"] = _reference(references[name])
        found.append(shown)
    return found


def _item(release: Release, question: QuestionRow) -> Json:
    episode = release.episodes[question.episode_id]
    return {
        "question": question.question,
        "options": [[option.id, option.text] for option in question.options],
        "context": question.public_context,
        "history": [[entry.before, entry.text] for entry in question.history],
        "decision_time": question.decision_time,
        "window": {
            "episode": episode.id,
            "clip": episode.clip,
            "source": episode.source,
            "start": episode.start,
            "end": episode.end,
            "sha256": episode.sha256,
        },
    }


def _response(
    run: ReportRun, place: int, name: str, is_open: bool, score: ItemScore | None
) -> Json:
    response = run.responses[name]
    shown: Json = {
        "run": place,
        "outcome": str(response.outcome),
        "reason": response.reason,
        "answer": _cut(response.answer) if isinstance(response.answer, str) else response.answer,
        "extractor": response.extractor,
        "raw": None if response.raw is None else _cut(response.raw),
        "sent": run.sent.get(name) or None,
    }
    if run.manifest.is_human and score is None:
        shown |= {"raw": None, "sent": None}
        if is_open and response.answer is not None:
            shown["answer"] = UNSHOWN
    if score is not None:
        judgement = run.judgements.get(name)
        shown["credit"] = {
            "a": score.a,
            "c": score.c,
            "v": score.v if score.scored else None,
        }
        shown["judgement"] = judgement.model_dump(mode="json") if judgement else None
        shown["flags"] = list(contradictions(judgement)) if judgement else []
    return shown


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[cut: {LONGEST:,} of {len(text):,} characters are shown]"


def _reference(reference: ReferenceRow) -> Json:
    return reference.model_dump(mode="json", exclude={"id"})
