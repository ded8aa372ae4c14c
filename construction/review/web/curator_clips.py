"""What the curator's page of clips shows: what was measured and said of each, and its pictures."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from urllib.parse import urlencode

from construction.screening.pipeline import GATE
from construction.screening.rules import SAME_AS, Compared, ScreeningRules, compared
from construction.screening.stills import stills
from construction.screening.verdicts import SCREENED_OUT, Standing, read_standings
from construction.workspace import Workspace
from psychemme.media.blobs import BlobStore
from psychemme.release.texts import seen
from psychemme.vocabulary import ClipStatus, ScreeningMaker
from state.clips import ClipStore
from state.leakage import LeakageStore
from state.values import ClipRecord, Frame

PAGE_SIZE = 20
SHOWN: Mapping[str, str] = {
    "": "all",
    "kept": "kept",
    "refused": "refused",
    "open": "without a person's decision",
    "copies": "copies",
}
"""What the page may be narrowed to."""


@dataclass(frozen=True)
class ClipRow:
    """One clip; `copies` are ids of those that show the same, `lines` its measures to the rules."""

    clip: ClipRecord
    name: str
    standing: Standing | None
    lines: tuple[Compared, ...]
    copies: tuple[str, ...]
    stills: tuple[Frame, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether it is screened out."""
        return self.standing is not None and self.standing.is_refused

    @property
    def is_decided(self) -> bool:
        """Whether a person has the last word."""
        return self.standing is not None and self.standing.decided_by is ScreeningMaker.PERSON

    @property
    def is_broken(self) -> bool:
        """Whether it cannot be used, whatever anybody says of it."""
        return self.clip.status is ClipStatus.REFUSED and not self._is_out

    @property
    def why(self) -> str:
        """Why it cannot be used, without signs that turn the file's name around."""
        return seen(self.clip.reason or "")

    @property
    def waits(self) -> bool:
        """Whether the verdict takes effect only with the next `screen` or `prepare`."""
        return self.is_refused != self._is_out and not self.is_broken

    @property
    def _is_out(self) -> bool:
        return (self.clip.reason or "").startswith(SCREENED_OUT)


@dataclass(frozen=True)
class ClipsWanted:
    """Which clips to show, and which page of them."""

    show: str = ""
    page: int = 1

    def address(self, page: int | None = None, **more: str) -> str:
        """Return the address of this or another page of the same choice."""
        number = self.page if page is None else page
        chosen = {"show": self.show, "page": number if number > 1 else "", **more}
        return "/curator/clips?" + urlencode({k: v for k, v in chosen.items() if v})


@dataclass(frozen=True)
class ClipsView:
    """A page of clips: `found` fit the choice, `rows` are shown, `pages` there are."""

    wanted: ClipsWanted
    found: int
    rows: Sequence[ClipRow]
    pages: int
    choices: Mapping[str, str]


def clips_view(workspace: Workspace, wanted: ClipsWanted) -> ClipsView:
    """Return a page of the clips that fit what is wanted; copies stand beside each other."""
    standings = read_standings(workspace.database)
    with ClipStore(workspace.database) as store, LeakageStore(workspace.database) as runs:
        clips, screenings = store.clips(), runs.runs(GATE)
    rules = ScreeningRules.model_validate_json(screenings[-1].pins["rules"]) if screenings else None
    together = groups_in(standings)
    rows = [_row(clip, standings.get(clip.id), rules, together) for clip in clips]
    found = [row for row in rows if _fits(row, wanted.show)]
    found.sort(key=lambda row: (min((row.clip.id, *row.copies)), row.clip.id))
    first, blobs = (wanted.page - 1) * PAGE_SIZE, BlobStore(workspace.blobs)
    shown = [
        replace(row, stills=stills(row.clip.sha256, row.clip.duration, blobs))
        for row in found[first : first + PAGE_SIZE]
    ]
    pages = max(1, -(-len(found) // PAGE_SIZE))
    return ClipsView(wanted, len(found), shown, pages, SHOWN)


def groups_in(standings: Mapping[str, Standing]) -> dict[str, tuple[str, ...]]:
    """Return for each clip of a group that shows the same all of its clips, by their reasons."""
    members: dict[str, set[str]] = defaultdict(set)
    for name, one in standings.items():
        for reason in one.reasons:
            if reason.rule == "duplicates" and reason.detail.startswith(SAME_AS):
                kept = reason.detail.removeprefix(SAME_AS)
                members[kept] |= {kept, name}
    return {name: tuple(sorted(group)) for group in members.values() for name in group}


def _row(
    clip: ClipRecord,
    standing: Standing | None,
    rules: ScreeningRules | None,
    together: Mapping[str, tuple[str, ...]],
) -> ClipRow:
    measures = standing.measures if standing else None
    return ClipRow(
        clip=clip,
        name=seen(PurePath(clip.path).name),
        standing=standing,
        lines=compared(measures, rules) if measures and rules else (),
        copies=tuple(name for name in together.get(clip.id, ()) if name != clip.id),
    )


def _fits(row: ClipRow, show: str) -> bool:
    fits = {
        "": True,
        "kept": not row.is_refused and not row.is_broken,
        "refused": row.is_refused or row.is_broken,
        "open": not row.is_decided,
        "copies": bool(row.copies),
    }
    return fits.get(show, True)
