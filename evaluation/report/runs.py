"""What a report is made of: one value per run, read from its folder."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from evaluation.baselines import BASELINES
from evaluation.exports import read_responses
from evaluation.files import FileRun, chosen_of_file
from evaluation.files import read_files as read_run_files
from evaluation.inputs import InputPolicy
from evaluation.judge import Judgement
from evaluation.judge_shifts import Audit, read_audits
from evaluation.judged import Judged, chosen, read_judgements
from evaluation.manifest import (
    RunManifest,
    read_manifest,
    refuse_other_release,
    release_name,
    release_of,
)
from evaluation.order_spread import OrderSpread, spread_of_folder
from evaluation.people.importing import GIVEN, annotators
from evaluation.people.rows import BaselineRow
from evaluation.responses import Response
from evaluation.score import ScoredRun, score_responses
from evaluation.store import RunStore
from psychemme.clients.cards import Cards
from psychemme.release.read import Release, read_release
from psychemme.vocabulary import EvaluationRole

_UNKNOWN = "unknown"
_HUMAN = "human, unranked"


@dataclass(frozen=True)
class ReportRun:
    """One run as a report shows it; mappings are by item id.

    `name` tells it from the other runs. `judge` labelled its responses, None where nobody did;
    `judge_prompts` are the hashes of what the judge was asked with. `notes` say what a reader must
    know before comparing it. `spread` is over option orders, where it was asked in several.
    `judged` has the labels of every judge and repeat, `audits` those of judges on this run. Of a
    run `is_from_file` nothing is known but what its lines say, so that its manifest is a guess from
    its model and condition.
    """

    name: str
    manifest: RunManifest
    scored: ScoredRun
    responses: Mapping[str, Response]
    judgements: Mapping[str, Judgement]
    sent: Mapping[str, JsonValue]
    judge: str | None = None
    judge_prompts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spread: OrderSpread | None = None
    judged: Judged = field(default_factory=dict)
    audits: tuple[Audit, ...] = ()
    is_from_file: bool = False

    @property
    def is_ranked(self) -> bool:
        """Whether it competes with others."""
        return self.manifest.is_ranked


def read_runs(
    folders: Sequence[Path],
    cards: Cards,
    release: Path | None = None,
    judge: str | None = None,
    repeat: int = 0,
) -> tuple[Release, list[ReportRun]]:
    """Return the release and the runs at `folders`, in that order, under one judge's labels.

    Raises RunError where a folder is no run, ReleaseError where runs are about different releases,
    ConfigError where `judge` is unclear.
    """
    found = release_of(read_manifest(folders[0]), release)
    runs = [_read(folder, found, cards, judge, repeat) for folder in folders]
    return found, _told_apart(runs)


def read_files(
    root: Path,
    responses: Path,
    judgements: Path | None,
    cards: Cards,
    judge: str | None = None,
    repeat: int = 0,
) -> tuple[Release, list[ReportRun]]:
    """Return the release at `root` and the runs in files made elsewhere, by model and condition.

    Raises ReleaseError and ScoringError, and ConfigError where `judge` is unclear.
    """
    release = read_release(root)
    found = read_run_files(release, responses, judgements).values()
    return release, [_of_file(release, run, cards, judge, repeat) for run in found]


def _of_file(
    release: Release, run: FileRun, cards: Cards, judge: str | None, repeat: int
) -> ReportRun:
    judgements = chosen_of_file(run.judged, judge, repeat)
    who = (judge or min(name for name, _ in run.judged)) or None if judgements else None
    scored = score_responses(release, run.responses, judgements)
    manifest = RunManifest(
        model=scored.model,
        family=cards.card_for(scored.model).family,
        condition=scored.condition,
        release=release_name(release),
        release_path=str(release.root),
        policy=InputPolicy.of_label(scored.condition) or InputPolicy(),
        card={},
        prompts={},
        decoding=None,
        items=tuple(sorted(run.responses)),
    )
    return ReportRun(
        name=scored.name,
        manifest=manifest,
        scored=scored,
        responses=run.responses,
        judgements=judgements,
        sent=run.sent,
        judge=who,
        notes=notes_of(manifest, release, who, cards),
        judged=run.judged,
        is_from_file=True,
    )


def of_people(release: Release, rows: Sequence[BaselineRow]) -> list[ReportRun]:
    """Return a run of each annotator of a baseline's rows, whose `credit` stands for a judge's."""
    found = []
    for manifest, responses, judgements in annotators(release, rows):
        scored = score_responses(release, responses, judgements)
        run = ReportRun(
            name=scored.name,
            manifest=manifest,
            scored=scored,
            responses=responses,
            judgements=judgements,
            sent={},
            judge=GIVEN if judgements else None,
            notes=(_HUMAN,),
            judged={(GIVEN, 0): judgements} if judgements else {},
            is_from_file=True,
        )
        found.append(run)
    return found


def _read(
    folder: Path, release: Release, cards: Cards, judge: str | None, repeat: int
) -> ReportRun:
    manifest = read_manifest(folder)
    refuse_other_release(manifest, release)
    with RunStore(folder, for_reading=True) as store:
        responses = read_responses(manifest, release, store)
        judged = read_judgements(manifest, release, store)
        # One judge is named for all runs; baselines explain nothing, so that none judged them.
        judgements = chosen(judged, judge, repeat)
        who = (judge or min(name for name, _ in judged)) if judgements else None
        calls = store.calls(EvaluationRole.JUDGE, who) if who else []
        sent = {name: json.loads(row.sent_json) for name, row in store.responses().items()}
    scored = score_responses(release, responses, judgements)
    return ReportRun(
        name=scored.name,
        manifest=manifest,
        scored=replace(scored, is_self=manifest.is_self),
        responses=responses,
        judgements=judgements,
        sent=sent,
        judge=who,
        judge_prompts=tuple(sorted({call.prompt_hash for call in calls})),
        notes=notes_of(manifest, release, who, cards),
        spread=spread_of_folder(folder, release.root),
        judged=judged,
        audits=read_audits(folder),
    )


def notes_of(
    manifest: RunManifest, release: Release, judge: str | None, cards: Cards
) -> tuple[str, ...]:
    """Return what a reader must know of a run: what it is, and which family it shares."""
    notes = []
    if manifest.is_self:
        notes.append("self: made these items, unranked")
    if manifest.is_human:
        notes.append(_HUMAN)
    if manifest.model in BASELINES:
        notes.append("baseline without a language model")
    involved = {"judge": judge} if judge else {}
    for role, model in (involved | dict(release.manifest.versions)).items():
        is_alike = cards.card_for(model).family == manifest.family
        if manifest.family != _UNKNOWN and is_alike and not manifest.is_self:
            notes.append(f"shares a family with the {role}")
    if manifest.decoding and manifest.decoding.temperature:
        notes.append(f"temperature {manifest.decoding.temperature:g}")
    return tuple(notes)


def _told_apart(runs: Sequence[ReportRun]) -> list[ReportRun]:
    """Number the runs that share model and condition, in the order given."""
    shared, seen = Counter(run.name for run in runs), Counter[str]()
    found = []
    for run in runs:
        seen[run.name] += 1
        is_shared = shared[run.name] > 1
        found.append(replace(run, name=f"{run.name} #{seen[run.name]}") if is_shared else run)
    return found
