"""What was checked of a workspace before people looked: clips, items, and what leaks."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from construction.audits.desk import WorkspaceAudit, audit_workspace
from construction.leakage.report import LeakageReport, newest, read_report
from construction.screening.verdicts import Standing, read_standings
from construction.workspace import Workspace
from psychemme.config import Effective
from psychemme.errors import RunError
from state.clips import ClipStore
from state.leakage import LeakageStore


@dataclass(frozen=True)
class ScreenedClip:
    """A clip by its id, its file's name, and where it stands."""

    id: str
    name: str
    standing: Standing


@dataclass(frozen=True)
class Quality:
    """How many `clips` were screened and which are `refused`; what audits and the filter found.

    `audit` is None where there is no item, `leakage` where the filter was never run.
    """

    clips: int
    refused: tuple[ScreenedClip, ...]
    audit: WorkspaceAudit | None = None
    leakage: LeakageReport | None = None


def read_quality(workspace: Workspace, effective: Effective, run: int | None = None) -> Quality:
    """Return what was found of all clips, and of the candidates of a run (default: of all).

    Audits are run; no model is asked.
    """
    standings = read_standings(workspace.database)
    with ClipStore(workspace.database) as clips:
        names = {clip.id: Path(clip.path).name for clip in clips.clips()}
    refused = [
        ScreenedClip(name, names.get(name, name), each)
        for name, each in sorted(standings.items())
        if each.is_refused
    ]
    audit = audit_workspace(workspace, run)
    found = Quality(len(standings), tuple(refused), audit if audit.subjects else None)
    with suppress(RunError), LeakageStore(workspace.database) as store:
        wanted = replace(newest(store), run=run)
        found = replace(found, leakage=read_report(workspace, effective, wanted))
    return found
