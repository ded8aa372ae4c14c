"""The candidates page: one self-contained HTML file for curators, with window clips beside it.

Whatever transcripts, models and file names say is hostile here: the templates escape it, the page
allows one script and one style sheet by their hashes and nothing remote, and no path is built from
it. The same candidates give the same bytes.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from construction.audits.page import LISTED, figures
from construction.coverage import CoverageReport, Row, Tally
from construction.quality import Quality
from construction.routing import agreement
from psychemme.errors import UserError
from psychemme.pages import content_policy, page_style, page_templates
from psychemme.vocabulary import AgentRole, CandidateState, Capability, Format, Step
from state.values import Dossier, EpisodeRecord, RoundRecord, RunRecord

Cut = Callable[[Path, Path, float, float], None]
"""Cuts source to target from start to end (seconds), whole or not at all."""

SIGNAL = "signal"
EAGER_VIDEOS = 4
"""Windows whose first frame the browser loads at once; the others wait until they come near."""

_TEMPLATES = Path(__file__).parent / "templates"
_SAFE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")


@dataclass(frozen=True)
class Window:
    """An episode's clip as the page links it, or why there is none."""

    href: str | None
    problem: str = ""


@dataclass(frozen=True)
class Card:
    """A candidate as the page shows it.

    `proposed` is the last round with a question, `answered` the last one that answered that
    question; `agreed` is None before a critique.
    """

    dossier: Dossier
    window: Window
    proposed: RoundRecord | None
    answered: RoundRecord | None
    agreed: bool | None


@dataclass(frozen=True)
class HeatCell:
    """Coverage of a capability in a format, over all source groups and duration bands.

    `heat` runs from 0 (nothing accepted) to 4 (target met), None where nothing is asked for.
    """

    target: int
    deficit: int
    tally: Tally
    reasons: Mapping[str, int]
    acceptance: float | None
    heat: int | None


def write_report(
    dossiers: Sequence[Dossier],
    coverage: CoverageReport,
    runs: Sequence[RunRecord],
    out: Path,
    cut: Cut,
    quality: Quality | None = None,
) -> Path:
    """Write `out`/index.html and `out`/media/<episode id>.mp4; return the page's path.

    `quality` is what was checked before people; without it the page says nothing of it. Windows
    that exist are kept. One that `cut` cannot make (UserError, OSError) is replaced by its
    reason. Raises ValueError for an episode id that is no plain file name.
    """
    ordered = sorted(dossiers, key=lambda d: (d.outcome.target.run, d.outcome.target.pick))
    windows = _windows(ordered, out / "media", cut)
    cards = [_card(dossier, windows[dossier.episode.id]) for dossier in ordered]
    page = out / "index.html"
    page.write_text(_render(cards, coverage, runs, quality), encoding="utf-8")
    return page


def model_notes(models: Mapping[str, str]) -> tuple[str, ...]:
    """Return what readers must know of a run's models: who is no language model, who is alike."""
    notes = []
    signal = [role for role in AgentRole if models.get(role) == SIGNAL]
    if signal:
        whose = "" if len(signal) == len(AgentRole) else f" ({', '.join(signal)})"
        notes.append(f"signal baseline, no language model{whose}")
    for model, count in Counter(models.values()).items():
        if count > 1:
            alike = [role for role in AgentRole if models.get(role) == model]
            notes.append(f"identical model for {', '.join(alike)}")
    return tuple(notes)


def _windows(dossiers: Iterable[Dossier], media: Path, cut: Cut) -> dict[str, Window]:
    media.mkdir(parents=True, exist_ok=True)
    windows: dict[str, Window] = {}
    for dossier in dossiers:
        if dossier.episode.id not in windows:
            windows[dossier.episode.id] = _window(dossier, media, cut)
    return windows


def _window(dossier: Dossier, media: Path, cut: Cut) -> Window:
    episode = dossier.episode
    if not _SAFE_ID.fullmatch(episode.id):
        raise ValueError(f"episode id {episode.id!r} is no plain file name")
    target = media / f"{episode.id}.mp4"
    if not target.exists():
        try:
            cut(Path(dossier.clip.path), target, episode.start, episode.end)
        except (UserError, OSError) as error:
            return Window(None, str(error))
    return Window(f"media/{target.name}")


def _card(dossier: Dossier, window: Window) -> Card:
    proposed = dossier.final
    since = proposed.round if proposed else 0
    answered = [r for r in dossier.rounds if r.independent and r.round >= since][-1:]
    last = answered[0] if answered else None
    return Card(dossier, window, proposed, last, _agreed(dossier, proposed, last))


def _agreed(
    dossier: Dossier, proposed: RoundRecord | None, answered: RoundRecord | None
) -> bool | None:
    if not (proposed and proposed.reference and answered and answered.independent):
        return None
    if answered.critique is None:
        return None
    form = dossier.outcome.target.format
    return agreement(form, proposed.reference, answered.independent, answered.critique)


def _render(
    cards: Sequence[Card],
    coverage: CoverageReport,
    runs: Sequence[RunRecord],
    quality: Quality | None,
) -> str:
    environment = page_templates(_TEMPLATES)
    environment.filters |= {"seconds": _seconds, "words": _words, "percent": _percent}
    audits = (_TEMPLATES / "audits.css").read_text(encoding="utf-8")
    style = page_style(_TEMPLATES / "candidates.css") + audits
    script = (_TEMPLATES / "candidates.js").read_text(encoding="utf-8")
    return environment.get_template("candidates.html").render(
        policy=content_policy(style, script, "media-src 'self'"),
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        cards=cards,
        episodes={_episode_key(c.dossier.episode): _timeline(c.dossier.episode) for c in cards},
        episode_key=_episode_key,
        file_name=lambda path: Path(path).name,
        runs=runs,
        model_notes=model_notes,
        coverage=coverage,
        heat=_heat_table(coverage.rows),
        present=_present(cards),
        capabilities=list(Capability),
        formats=list(Format),
        states=list(CandidateState),
        roles=list(AgentRole),
        steps=list(Step),
        eager=EAGER_VIDEOS,
        quality=quality,
        figures=figures,
        listed=LISTED,
        on_page=frozenset(c.dossier.outcome.target.key for c in cards),
    )


def _episode_key(episode: EpisodeRecord) -> str:
    return f"{episode.id}.{episode.preparation}"


def _timeline(episode: EpisodeRecord) -> dict[str, Any]:
    """Return what the script draws once per episode, times in seconds."""
    content = episode.content
    return {
        "transcript": [
            [_finite(u.start), _finite(u.end), u.text, list(u.flags)] for u in content.transcript
        ],
        "pauses": [[_finite(p.start), _finite(p.end)] for p in content.signals.pauses],
    }


def _heat_table(rows: Iterable[Row]) -> dict[tuple[str, str], HeatCell]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.capability, row.format), []).append(row)
    return {place: _heat_cell(group) for place, group in groups.items()}


def _heat_cell(rows: Sequence[Row]) -> HeatCell:
    tally = Tally(
        **{name: sum(getattr(row.tally, name) for row in rows) for name in Tally.model_fields}
    )
    target = sum(row.target for row in rows)
    deficit = sum(row.deficit for row in rows)
    return HeatCell(
        target=target,
        deficit=deficit,
        tally=tally,
        reasons=sum((Counter(row.reasons) for row in rows), Counter()),
        acceptance=tally.accepted / tally.attempts if tally.attempts else None,
        heat=4 * (target - deficit) // target if target else None,
    )


def _present(cards: Sequence[Card]) -> dict[str, Counter[str]]:
    """Return how many candidates each choice of a filter would show."""
    return {
        "capability": Counter(c.dossier.outcome.target.capability for c in cards),
        "format": Counter(c.dossier.outcome.target.format for c in cards),
        "state": Counter(c.dossier.outcome.state for c in cards),
    }


def _finite(value: float) -> float:
    return round(value, 3) if math.isfinite(value) else 0.0


def _seconds(value: float) -> str:
    return f"{value:.1f}"


def _words(code: str) -> str:
    return str(code).replace("_", " ")


def _percent(part: float, whole: float = 1) -> str:
    return f"{100 * part / whole:.0f}%"
