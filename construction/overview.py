"""What a curator reads of a workspace: coverage, candidates, dossiers, the page."""

from pathlib import Path
from typing import Any

from construction.coverage import CoverageReport, Outcome, coverage
from construction.outcomes import as_facts, as_outcome
from construction.plan import Plan, Target, load_plan
from construction.quality import read_quality
from construction.report import write_report
from construction.workspace import Workspace
from psychemme.config import load_settings
from psychemme.errors import MediaError, RunError
from psychemme.media.blobs import sha256_file
from psychemme.media.clip_files import clip_file
from psychemme.media.cut import cut_window
from psychemme.vocabulary import CandidateState
from state.address import Address
from state.clips import ClipStore
from state.runs import RunStore
from state.values import Dossier, RunRecord


def read_coverage(database: Address, run: int | None, plan_path: Path | None) -> CoverageReport:
    """Return the coverage of a run, or of all runs against the newest run's targets."""
    with RunStore(database) as runs, ClipStore(database) as clips:
        chosen = _runs(runs, run)
        facts = _facts(clips, chosen)
        outcomes: list[Outcome] = [
            as_outcome(found, facts[found.target.episode_id, found.target.preparation])
            for one in chosen
            for found in runs.outcomes(one.ordinal)
        ]
        return coverage(_targets(chosen, plan_path), outcomes)


def read_candidates(
    database: Address, run: int | None, state: CandidateState | None = None
) -> list[dict[str, Any]]:
    """Return candidates by id with question, reference and cues, without any wall-clock field."""
    rows = [_candidate(dossier) for dossier in _dossiers(database, run)]
    return [row for row in rows if state is None or row["state"] == state]


def read_dossier(database: Address, name: str, run: int | None) -> Dossier:
    """Return one candidate by its id, the start of it, or `RUN-ID` (default: the newest run's).

    Raises RunError where there is none, or where the start fits several ids.
    """
    fitting = [
        dossier
        for dossier in _dossiers(database, run)
        if dossier.outcome.target.key == name or dossier.outcome.target.id.startswith(name)
    ]
    if not fitting:
        raise RunError(
            f"There is no candidate {name!r}.", "`psychemme candidates list` shows the ids."
        )
    if len({dossier.outcome.target.id for dossier in fitting}) > 1:
        raise RunError(f"{len(fitting)} candidates start with {name!r}.", "Give more of the id.")
    return max(fitting, key=lambda dossier: dossier.outcome.target.run)


def write_page(workspace: Workspace, run: int | None, out: Path) -> Path:
    """Write the page of candidates and return its path."""
    with RunStore(workspace.database) as runs:
        chosen = _runs(runs, run)
    if not chosen:
        raise RunError("There is no run to show.", "Run `psychemme generate` first.")
    report = read_coverage(workspace.database, run, None)
    dossiers = _dossiers(workspace.database, run)
    clips = {Path(dossier.clip.path): dossier.clip for dossier in dossiers}

    def cut(path: Path, target: Path, start: float, end: float) -> None:
        clip = clips[path]
        source = clip_file(clip.path, clip.sha256, workspace.blobs)
        if not source.is_file() or sha256_file(source) != clip.sha256:
            raise MediaError(
                f"{source.name!r} is not the file that was added.", "Put that file back."
            )
        cut_window(source, target, start, end)

    quality = read_quality(workspace, load_settings(workspace.root), run)
    return write_report(dossiers, report, chosen, out, cut, quality)


def _dossiers(database: Address, run: int | None) -> list[Dossier]:
    with RunStore(database) as runs:
        keys = [
            outcome.target.key for one in _runs(runs, run) for outcome in runs.outcomes(one.ordinal)
        ]
        dossiers = [runs.dossier(key) for key in keys]
    return sorted(dossiers, key=lambda d: (d.outcome.target.id, d.outcome.target.run))


def _candidate(dossier: Dossier) -> dict[str, Any]:
    target, final = dossier.outcome.target, dossier.final
    question = final.question if final else None
    reference = final.reference if final else None
    return {
        "id": target.id,
        "run": target.run,
        "episode_id": target.episode_id,
        "capability": target.capability,
        "subcategory": question.subcategory if question else None,
        "format": target.format,
        "state": dossier.outcome.state,
        "reason": dossier.outcome.reason,
        "rounds": dossier.outcome.round,
        "answers": dossier.outcome.answers,
        "reference_flip": dossier.outcome.reference_flip,
        "question": question.question if question else None,
        "options": [option.model_dump() for option in question.options] if question else [],
        "answer": reference.answer if reference else None,
        "key_points": [p.model_dump() for p in reference.key_points] if reference else [],
        "decision_time": question.decision_time if question else None,
        "cues": [cue.model_dump(mode="json") for cue in reference.cues] if reference else [],
        "maker": dossier.models["question"],
    }


def _runs(runs: RunStore, ordinal: int | None) -> list[RunRecord]:
    return runs.runs() if ordinal is None else [runs.run(ordinal)]


def _targets(chosen: list[RunRecord], plan_path: Path | None) -> tuple[Target, ...]:
    if plan_path is not None or not chosen:
        return load_plan(plan_path).scaled()
    newest = chosen[-1]
    return Plan.model_validate_json(newest.plan_json).scaled(newest.count)


def _facts(clips: ClipStore, chosen: list[RunRecord]) -> dict[tuple[str, int], Any]:
    clip_of = {clip.id: clip for clip in clips.clips()}
    return {
        (episode.id, episode.preparation): as_facts(episode, clip_of[episode.clip_id])
        for number in {run.preparation for run in chosen}
        for episode in clips.episodes(number)
    }
