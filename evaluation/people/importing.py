"""Annotators as runs: what people answered, scored, judged and compared like any model."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.baselines import reply_text
from evaluation.exports import export_responses
from evaluation.files import MISSING
from evaluation.inputs import InputPolicy
from evaluation.judge import Judgement, reference_digest
from evaluation.judging import export_judgements
from evaluation.manifest import (
    RunManifest,
    held,
    release_name,
    tool_versions,
    write_manifest,
)
from evaluation.people.files import read_people
from evaluation.people.rows import BaselineRow
from evaluation.responses import Outcome, Response, parse_response
from evaluation.runs import choose_folder
from evaluation.scoring import EvidenceSupport, LogicalIntegrity, ScoringError
from evaluation.store import CallRow, RunStore
from psychemme.canonical import canonical_json
from psychemme.errors import RunError
from psychemme.release.read import Release
from psychemme.vocabulary import EvaluationRole

GIVEN = "given in the file"
"""The judge whose credits of open answers came with the file."""
_REFUSED = "refusal"


def import_baseline(
    paths: Sequence[Path], release: Release, out: Path, *, is_fresh: bool = False
) -> list[Path]:
    """Write one run folder for each annotator of baseline files, and return them.

    The items that anybody answered are planned for everybody; one without a row is unscored.
    "Cannot answer" is a refusal: no credit, reported apart. A `credit` that came with an open
    answer is kept as a judgement by `GIVEN`. Raises ScoringError naming file and line, RunError
    where a run is there already.
    """
    planned = _planned(release, read_people(paths, release).baseline)
    if not planned:
        raise ScoringError(
            f"{paths[0]} holds no baseline row.", "Name what a baseline study exported."
        )
    mode = "fresh" if is_fresh else None
    # All are chosen before any is written.
    try:
        folders = [choose_folder(out, manifest, release, mode) for manifest, _ in planned]
    except RunError as error:
        raise RunError(
            error.problem, "Add --fresh to write others beside those that are there."
        ) from None
    if len(set(folders)) < len(folders):
        listed = ", ".join(sorted(rows[0].annotator for _, rows in planned))
        raise ScoringError(
            f"Of the annotators {listed}, two would share a folder.",
            "Name them apart by letters A-Z, digits, dots and dashes.",
        )
    for folder, (manifest, rows) in zip(folders, planned, strict=True):
        _write(folder, manifest, release, rows)
    return folders


def annotators(
    release: Release, rows: Sequence[BaselineRow]
) -> Iterator[tuple[RunManifest, dict[str, Response], dict[str, Judgement]]]:
    """Yield what a folder of each annotator would hold: manifest, responses, and credits given.

    An item without a row is `MISSING`, unscored.
    """
    for manifest, given in _planned(release, rows):
        responses = {name: _missing(manifest, name) for name in manifest.items}
        for row in given:
            question, call = release.questions[row.item_id], _call(manifest, row)
            parsed = parse_response(
                call.text, call.finish_reason, question.format, question.options
            )
            who = {"item_id": row.item_id, "model": manifest.model, "raw": call.text}
            responses[row.item_id] = Response.model_validate(
                {**vars(parsed), **who, "condition": manifest.condition}
            )
        credited = {row.item_id: _credit(row) for row in given if row.credit is not None}
        yield manifest, responses, credited


def _missing(manifest: RunManifest, name: str) -> Response:
    return Response(
        item_id=name,
        model=manifest.model,
        condition=manifest.condition,
        outcome=Outcome.API_ERROR,
        reason=MISSING,
    )


def _planned(
    release: Release, rows: Sequence[BaselineRow]
) -> list[tuple[RunManifest, list[BaselineRow]]]:
    """Return the run of each annotator, of all items that anybody answered."""
    by_person: dict[str, list[BaselineRow]] = defaultdict(list)
    for row in rows:
        by_person[row.annotator].append(row)
    items = tuple(sorted({row.item_id for row in rows}))
    return [(_manifest(release, who, items), given) for who, given in by_person.items()]


def _manifest(release: Release, annotator: str, items: tuple[str, ...]) -> RunManifest:
    policy = InputPolicy()
    return RunManifest(
        model=f"human {annotator}",
        family="human",
        condition=policy.label,
        release=release_name(release),
        release_path=str(release.root.resolve()),
        policy=policy,
        card={},
        prompts={},
        decoding=None,
        items=items,
        is_human=True,
        versions=tool_versions(),
    )


def _write(
    folder: Path, manifest: RunManifest, release: Release, rows: Sequence[BaselineRow]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_manifest(folder, manifest)
    with held(folder), RunStore(folder) as store:
        store.keep_all([_call(manifest, row) for row in rows])
        if credited := [row for row in rows if row.credit is not None]:
            asyncio.run(_keep_credits(store, release, credited))
            export_judgements(folder, manifest, release, store)
        export_responses(folder, manifest, release, store)


def _call(manifest: RunManifest, row: BaselineRow) -> CallRow:
    return CallRow(
        role=EvaluationRole.EVALUATED,
        model=manifest.model,
        item_id=row.item_id,
        sent_json=canonical_json({"seconds": row.seconds}),
        text="" if row.answer is None else reply_text(row.answer),
        finish_reason=_REFUSED if row.answer is None else "stop",
        cost=0.0,
        latency=row.seconds or 0.0,
    )


async def _keep_credits(store: RunStore, release: Release, rows: Sequence[BaselineRow]) -> None:
    references = release.references()
    for row in rows:
        text = canonical_json(_credit(row).model_dump(mode="json"))
        reference = reference_digest(references[row.item_id])
        await store.keep_judgement(row.item_id, GIVEN, 0, text, reference)


def _credit(row: BaselineRow) -> Judgement:
    # Nobody explained the answer, so that these labels weigh nothing.
    return Judgement(
        evidence_reason=GIVEN,
        logic_reason=GIVEN,
        evidence_support=EvidenceSupport.INSUFFICIENT,
        logical_integrity=LogicalIntegrity.UNEVALUABLE,
        answer_credit=row.credit,
    )
