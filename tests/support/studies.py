"""Tiny exact studies in memory: a few items, and what each run earned on them, given outright."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.analyses.values import Analysis, Study
from evaluation.inputs import InputPolicy
from evaluation.judge import Judgement
from evaluation.manifest import Decoding, ReleaseName, RunManifest
from evaluation.report.runs import ReportRun
from evaluation.responses import Outcome, Response
from evaluation.score import ScoredRun
from evaluation.scoring import ItemScore
from psychemme.items import KeyPoint, Option
from psychemme.release.read import Release
from psychemme.release.rows import EpisodeRow, Manifest, QuestionRow, ReferenceRow
from psychemme.vocabulary import Capability, Format


class Said(NamedTuple):
    """What a run said to an item, and what it earned.

    `answer` None is a refusal: a = 0, c = 0, no labels. `a` None is worked out: 1 where the answer
    is the reference, else 0. `words` replaces an open answer by a text of as many words.
    """

    answer: str | list[str] | None = "A"
    a: float | None = None
    c: int = 1
    support: str | None = "strong"
    logic: str | None = "fully_coherent"
    words: int | None = None


FAILED = Said(None)


class Item(NamedTuple):
    """An item with what every run said to it, by run name.

    `reference` is an option id, ids of options in one word (`"AB"`, multiple) or a text (open).
    """

    id: str
    episode: str
    capability: str
    format: str
    reference: str
    said: Mapping[str, Said]


@dataclass(frozen=True)
class HeldRelease(Release):
    """A release that is nowhere on disk."""

    held: Mapping[str, ReferenceRow] = field(default_factory=dict)

    def references(self) -> Mapping[str, ReferenceRow]:
        return self.held


def study_of(
    items: Sequence[Item],
    *,
    draws: int = 200,
    declared: Sequence[str] = (),
    questions: Mapping[str, Mapping[str, Any]] | None = None,
    episodes: Mapping[str, Mapping[str, Any]] | None = None,
    runs: Mapping[str, Mapping[str, Any]] | None = None,
) -> Study:
    """Return a study of `items`; runs are in the order in which the items name them.

    `declared` are the release's capabilities, those of the items by default. `questions` and
    `episodes` replace fields of single rows (`{"q1": {"subcategory": "x"}}`). `runs` gives a run's
    `policy` (an InputPolicy) or fields of its manifest (`{"m+none": {"model": "m"}}`); a run that
    said nothing to an item was not asked it.
    """
    release = _release(items, declared, questions or {}, episodes or {})
    names = list(dict.fromkeys(name for item in items for name in item.said))
    found = [_run(release, items, name, dict((runs or {}).get(name, {}))) for name in names]
    return Study(release, tuple(found), draws=draws)


def _release(
    items: Sequence[Item],
    declared: Sequence[str],
    questions: Mapping[str, Mapping[str, Any]],
    episodes: Mapping[str, Mapping[str, Any]],
) -> HeldRelease:
    held = {c for c in Capability if c in {item.capability for item in items}}
    manifest = Manifest(
        name="tiny",
        version="1.0.0",
        profile="psychemme8",
        example=True,
        canary="tiny-canary",
        part="public",
        capabilities=tuple(map(Capability, declared)) or tuple(c for c in Capability if c in held),
        files={"episodes.jsonl": "e" * 64, "questions.jsonl": "f" * 64},
    )
    asked = {item.id: _question(item, questions.get(item.id, {})) for item in items}
    seen = {item.episode: _episode(item.episode, episodes) for item in items}
    return HeldRelease(
        Path("tiny"),
        manifest,
        dict(sorted(asked.items())),
        dict(sorted(seen.items())),
        {item.id: _reference(item) for item in items},
    )


def _question(item: Item, changed: Mapping[str, Any]) -> QuestionRow:
    is_choice = Format(item.format).is_choice
    facts = {
        "id": item.id,
        "episode_id": item.episode,
        "capability": item.capability,
        "subcategory": "any",
        "format": item.format,
        "question": "What happens next?",
        "options": [Option(id=o, text=f"option {o}") for o in "ABCD"] if is_choice else [],
    }
    return QuestionRow.model_validate(facts | dict(changed))


def _episode(name: str, changed: Mapping[str, Mapping[str, Any]]) -> EpisodeRow:
    facts = {
        "id": name,
        "source": "test",
        "source_group": "test",
        "source_video_id": f"v-{name}",
        "recording_group": f"g-{name}",
        "clip": f"{name}.mp4",
        "sha256": "0" * 64,
        "start": 0.0,
        "end": 20.0,
        "duration": 20.0,
    }
    return EpisodeRow.model_validate(facts | dict(changed.get(name, {})))


def _reference(item: Item) -> ReferenceRow:
    points = (KeyPoint(text=item.reference),) if item.format == Format.OPEN else ()
    answer = list(item.reference) if item.format == Format.MULTIPLE else item.reference
    return ReferenceRow(id=item.id, answer=answer, key_points=points)


def _run(
    release: HeldRelease, items: Sequence[Item], name: str, facts: dict[str, Any]
) -> ReportRun:
    asked = sorted((item for item in items if name in item.said), key=lambda item: item.id)
    policy = facts.pop("policy", InputPolicy())
    model = facts.get("model", name)
    responses = {item.id: _response(item, item.said[name], model, policy.label) for item in asked}
    scores = tuple(_score(release, item, item.said[name]) for item in asked)
    judged = {item.id: _judgement(item, item.said[name]) for item in asked}
    scored = ScoredRun(
        model=model,
        condition=policy.label,
        checksum=release.checksum,
        declared=release.manifest.capabilities,
        items=scores,
        failures={"refusal": n} if (n := sum(r.answer is None for r in responses.values())) else {},
        unscored={"not_judged": n} if (n := sum(not one.scored for one in scores)) else {},
    )
    manifest = RunManifest.model_validate(
        {
            "model": model,
            "family": "test",
            "condition": policy.label,
            "release": ReleaseName(
                name="tiny", version="1.0.0", checksum=release.checksum, is_example=True
            ),
            "release_path": "tiny",
            "policy": policy,
            "card": {"name": model},
            "prompts": {"evaluated": "e" * 64},
            "decoding": Decoding(),
            "items": tuple(item.id for item in asked),
        }
        | facts
    )
    return ReportRun(
        name=name,
        manifest=manifest,
        scored=scored,
        responses=responses,
        judgements={item: one for item, one in judged.items() if one},
        sent={item.id: {"media": [], "transcript_lines": 0} for item in asked},
        judge="judge",
        judge_prompts=("f" * 64,),
    )


def _answer(item: Item, said: Said) -> str | list[str] | None:
    if said.words is not None:
        return " ".join(["word"] * said.words)
    if item.format == Format.MULTIPLE and said.answer is not None:
        return sorted(said.answer)
    return said.answer


def _response(item: Item, said: Said, model: str, condition: str) -> Response:
    who = {"item_id": item.id, "model": model, "condition": condition}
    answer = _answer(item, said)
    if answer is None:
        return Response(**who, outcome=Outcome.REFUSAL, reason="refusal", raw="I cannot help.")
    told = {Capability.GROUNDING: "At second 3 she points at the door."} if said.c else {}
    rationales = dict.fromkeys(Capability) | told
    return Response(
        **who, outcome=Outcome.OK, answer=answer, rationales=rationales, extractor="json", raw="{}"
    )


def _credit(item: Item, said: Said) -> float:
    if said.answer is None and said.words is None:
        return 0.0
    return float(_answer(item, said) == _reference(item).answer) if said.a is None else said.a


def _score(release: HeldRelease, item: Item, said: Said) -> ItemScore:
    c = 0 if said.answer is None and said.words is None else said.c
    return ItemScore.model_validate(
        {
            "item_id": item.id,
            "episode_id": item.episode,
            "recording_group": release.episodes[item.episode].recording_group,
            "capability": item.capability,
            "format": item.format,
            "a": _credit(item, said),
            "c": c,
            "support": said.support if c else None,
            "logic": said.logic if c else None,
        }
    )


def _judgement(item: Item, said: Said) -> Judgement | None:
    if said.answer is None or not said.c or not (said.support and said.logic):
        return None
    return Judgement.model_validate(
        {
            "evidence_reason": "because",
            "logic_reason": "therefore",
            "evidence_support": said.support,
            "logical_integrity": said.logic,
            "answer_credit": _credit(item, said) if item.format == Format.OPEN else None,
        }
    )


def rows_of(analysis: Analysis, name: str) -> list[dict[str, Any]]:
    """Return the rows of one table of an analysis, each its cells by column."""
    table = next(one for one in analysis.tables if one.name == name)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
