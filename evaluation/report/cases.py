"""The cases page: single items across models, with the window's clip beside it.

Hostile texts are escaped by the template, the page allows one script and one style by their hashes
and the clips beside it, and no path is built from a name. Without `with_references` it holds no
reference, cue, judge's word or credit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import pvariance

from markupsafe import Markup

from evaluation.contradictions import Contradiction, contradictions
from evaluation.footage import find_clips
from evaluation.judge import Judgement
from evaluation.report.formats import text
from evaluation.report.judges import EXPLAINED
from evaluation.report.runs import ReportRun
from evaluation.responses import Response
from evaluation.scoring import ItemScore, ScoringError
from psychemme.canonical import digest
from psychemme.errors import UserError
from psychemme.pages import content_policy, page_style, page_templates
from psychemme.release.read import Release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow

Cut = Callable[[Path, Path, float, float], None]
"""Cuts source to target from start to end (seconds), whole or not at all."""

MOST = 12
RULE = (
    f"The items, at most {MOST}, on which the runs' {{}} varies most (variance over "
    "runs, unscored ones left out; ties by id)."
)
CHOSEN = "Chosen by hand."
_CREDITS: Mapping[str, Callable[[ItemScore], float | None]] = {
    "Verified credit": lambda score: score.v if score.scored else None,
    "answer credit": lambda score: score.a,
}
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Said:
    """What one run said to an item; score and judgement are None where they are not shown."""

    run: str
    response: Response
    score: ItemScore | None = None
    judgement: Judgement | None = None

    @property
    def flags(self) -> tuple[Contradiction, ...]:
        """How the judgement contradicts its own text."""
        return tuple(contradictions(self.judgement)) if self.judgement else ()


@dataclass(frozen=True)
class Shown:
    """An item as the page shows it; `href` is its window's clip, or `problem` says why not."""

    question: QuestionRow
    episode: EpisodeRow
    reference: ReferenceRow | None
    said: tuple[Said, ...]
    href: str | None
    problem: str

    @property
    def right(self) -> frozenset[str]:
        """The option ids of the reference, where it is shown."""
        answer = self.reference.answer if self.reference else []
        return frozenset([answer] if isinstance(answer, str) else answer)

    def place(self, time: float) -> str:
        """Return where a time lies in the episode, in percent from its start."""
        return f"{min(100.0, max(0.0, 100 * time / self.episode.duration)):.2f}%"

    def width(self, start: float, end: float) -> str:
        """Return how wide a span is, in percent; one of no length can be seen all the same."""
        return f"{min(100.0, max(1.0, 100 * (end - start) / self.episode.duration)):.2f}%"


def write_cases(
    release: Release,
    runs: Sequence[ReportRun],
    out: Path,
    items: Sequence[str] = (),
    media: Sequence[Path] = (),
    cut: Cut | None = None,
    *,
    with_references: bool = False,
) -> tuple[Path, dict[str, str]]:
    """Write `out`/index.html and the windows in `out`/media.

    Returns the page's path, and why each episode without a window has none. Raises ScoringError
    where an item is not of the runs, or where none is named and none differs.
    """
    names, rule = (_known(runs, items), CHOSEN) if items else most_different(runs)
    references = release.references() if with_references else {}
    episodes = [release.episodes[release.questions[name].episode_id] for name in names]
    windows = _windows(episodes, media, out / "media", cut)
    shown = [
        _shown(release.questions[name], episode, references.get(name), runs, windows[episode.id])
        for name, episode in zip(names, episodes, strict=True)
    ]
    out.mkdir(parents=True, exist_ok=True)
    page = out / "index.html"
    page.write_text(_render(release, shown, rule, with_references), encoding="utf-8")
    return page, {name: problem for name, (href, problem) in windows.items() if href is None}


def most_different(runs: Sequence[ReportRun]) -> tuple[list[str], str]:
    """Return the items on which the runs differ most, the most different first, and by what rule.

    That is Verified credit; where it differs on no item, answer credit. Raises ScoringError where
    nothing differs.
    """
    for name, credit in _CREDITS.items():
        earned: dict[str, list[float]] = {}
        for score in (score for run in runs for score in run.scored.items):
            if (found := credit(score)) is not None:
                earned.setdefault(score.item_id, []).append(found)
        spread = {item: pvariance(values) for item, values in earned.items()}
        if ranked := sorted(filter(spread.get, spread), key=lambda n: (-spread[n], n)):
            return ranked[:MOST], RULE.format(name)
    raise ScoringError(
        "No two runs earn different Verified or answer credit on an item.",
        "Name items with --item.",
    )


def _known(runs: Sequence[ReportRun], items: Sequence[str]) -> list[str]:
    for name in items:
        if not any(name in run.responses for run in runs):
            raise ScoringError(f"No run was asked item {name!r}.", "Name one of the runs' items.")
    return list(dict.fromkeys(items))


def _windows(
    episodes: Sequence[EpisodeRow], media: Sequence[Path], folder: Path, cut: Cut | None
) -> dict[str, tuple[str | None, str]]:
    """Return link and problem of each episode's window; one that is there already is kept."""
    found: dict[str, tuple[str | None, str]] = {}
    for episode in episodes:
        if episode.id not in found:
            found[episode.id] = _window(episode, media, folder, cut)
    return found


def _window(
    episode: EpisodeRow, media: Sequence[Path], folder: Path, cut: Cut | None
) -> tuple[str | None, str]:
    if cut is None or not media:
        return None, "No folder of clips was named."
    target = folder / f"{digest([episode.sha256, episode.start, episode.end])[:16]}.mp4"
    try:
        clip = find_clips([episode], media)[episode.id]
        # An empty file is no window, whatever left it.
        if not target.exists() or not target.stat().st_size:
            cut(clip, target, episode.start, episode.end)
    except (UserError, OSError) as error:
        return None, str(error)
    return f"media/{target.name}", ""


def _shown(
    question: QuestionRow,
    episode: EpisodeRow,
    reference: ReferenceRow | None,
    runs: Sequence[ReportRun],
    window: tuple[str | None, str],
) -> Shown:
    asked = [run for run in runs if question.id in run.responses]
    said = [_said(run, question.id, is_private=reference is not None) for run in asked]
    return Shown(question, episode, reference, tuple(said), *window)


def _said(run: ReportRun, name: str, *, is_private: bool) -> Said:
    response = run.responses[name]
    if not is_private:
        return Said(run.name, response)
    scores: Mapping[str, ItemScore] = {score.item_id: score for score in run.scored.items}
    return Said(run.name, response, scores[name], run.judgements.get(name))


def _render(release: Release, shown: Sequence[Shown], rule: str, with_references: bool) -> str:
    templates = page_templates(_TEMPLATES)
    templates.filters |= {
        "text": text,
        "words": lambda code: str(code).replace("_", " "),
        "seconds": lambda time: f"{time:.1f}",
    }
    style = page_style(_TEMPLATES / "cases.css")
    script = (_TEMPLATES / "cases.js").read_text(encoding="utf-8")
    return templates.get_template("cases.html").render(
        policy=content_policy(style, script, "media-src 'self'"),
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        release=release,
        cases=shown,
        rule=rule,
        explained=EXPLAINED,
        with_references=with_references,
    )
