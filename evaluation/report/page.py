"""The report page: one self-contained HTML file, and the folder with its tables.

Whatever models, judges, releases and file names say is hostile here: the template escapes it, the
script sets it as text, and the page allows one script and one style by their hashes and nothing
remote. Without `with_references` the page holds no reference, cue, judge's word or credit of an
item. The same runs give the same bytes.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import JsonValue

from evaluation.bootstrap import DRAWS, SEED
from evaluation.comparisons import Measure
from evaluation.judge_agreement import Subject
from evaluation.report.analyses import Section, write_analysis
from evaluation.report.cohorts import LOSSES, Cohort, Shown, differences, make_cohorts
from evaluation.report.formats import FLAGGED, interval, number, p_text, text
from evaluation.report.items import item_details
from evaluation.report.judges import (
    ALTERED,
    EXPLAINED,
    JudgeChecks,
    figure,
    judge_checks,
    judge_tables,
)
from evaluation.report.option_orders import order_tables
from evaluation.report.runs import ReportRun
from evaluation.report.tables import (
    SYMBOLS,
    files_of,
    make_tables,
    rank_text,
    ranks_note,
    write_tables,
)
from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from psychemme.canonical import canonical_json
from psychemme.pages import content_policy, page_style, page_templates
from psychemme.release.read import Release
from psychemme.vocabulary import Capability
from psychology_kb.load import load_profile, profiles

Json = dict[str, Any]
HEATS = 10
LONGEST_SHOWN = 20
"""Rows of an analysis's table that are shown without being asked for."""
_LISTED = re.compile(r'<meta name="psychemme-files" content="([^"]*)">')
_WRITTEN = re.compile(r"tables/[a-z0-9-]+\.(md|tex|csv)|figures/[a-z0-9-]+\.svg")
_TEMPLATES = Path(__file__).parent / "templates"


def write_report(
    release: Release,
    runs: Sequence[ReportRun],
    out: Path,
    *,
    with_references: bool = False,
    analysed: Sequence[Section] = (),
    draws: int = DRAWS,
    seed: int = SEED,
) -> Path:
    """Write `out`/index.html, `out`/tables and, of what is `analysed`, `out`/figures.

    The tables and drawings of an earlier report there are removed. Returns the page's path. Raises
    ScoringError where runs over the same items do not fit each other.
    """
    cohorts = make_cohorts(runs, draws, seed)
    checks = judge_checks(release, runs)
    tables = [*make_tables(cohorts), *order_tables(runs), *judge_tables(checks)]
    found = [section.analysis for section in analysed if section.analysis]
    page = out / "index.html"
    _remove_written(page)
    write_tables(tables, out / "tables")
    for analysis in found:
        write_analysis(analysis, out / "tables", out / "figures")
    every = [*tables, *(table for analysis in found for table in analysis.tables)]
    written = [f"tables/{name}" for name in files_of(every)]
    written += [f"figures/{one.name}.svg" for analysis in found for one in analysis.drawings]
    said = render(release, runs, cohorts, checks, with_references, analysed, written)
    page.write_text(said, encoding="utf-8")
    return page


def _remove_written(page: Path) -> None:
    """Remove the tables and drawings that an earlier page says were written with it."""
    said = page.read_text(encoding="utf-8", errors="replace") if page.exists() else ""
    listed = _LISTED.search(said)
    for name in listed[1].split() if listed else ():
        if _WRITTEN.fullmatch(name):
            (page.parent / name).unlink(missing_ok=True)


def render(
    release: Release,
    runs: Sequence[ReportRun],
    cohorts: Sequence[Cohort],
    checks: JudgeChecks,
    with_references: bool,
    analysed: Sequence[Section] = (),
    written: Sequence[str] = (),
) -> str:
    """Return the page; `analysed` comes after what every report has.

    `written` are the files beside it, which the next report in their place removes.
    """
    templates = page_templates(_TEMPLATES)
    templates.filters |= {
        "number": number,
        "interval": interval,
        "p": p_text,
        "text": text,
        "json": canonical_json,
        "words": lambda code: str(code).replace("_", " "),
        "percent": lambda share: f"{100 * share:.2f}%",
        "picture": _picture,
    }
    style = page_style(_TEMPLATES / "report.css")
    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    asked = {name for run in runs for name in run.responses}
    pictures = ["img-src data:"] if analysed else []
    return templates.get_template("report.html").render(
        policy=content_policy(style, script, *pictures, "trusted-types 'none'"),
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        release=release,
        runs=runs,
        cohorts=cohorts,
        order_tables=order_tables(runs),
        checks=checks,
        analysed=analysed,
        written=written,
        symbols=SYMBOLS,
        longest=LONGEST_SHOWN,
        subjects=list(Subject),
        flag_words=EXPLAINED,
        altered=ALTERED,
        figure=figure,
        flagged=FLAGGED,
        items=[release.questions[name] for name in sorted(asked)],
        details=item_details(release, runs, sorted(asked), with_references),
        failures=_failures(runs),
        with_references=with_references,
        domains=_domains(release),
        measures=list(Measure),
        supports=list(EvidenceSupport),
        logics=list(LogicalIntegrity),
        losses=LOSSES,
        differences=differences,
        rank_text=rank_text,
        ranks_note=ranks_note,
        excluded=_excluded,
        replies_of=_replies,
        heat=_heat,
        axis=_axis,
        place=_place,
    )


def _picture(svg: str) -> str:
    """Return a drawing as the address of an image, in which no script runs."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def _domains(release: Release) -> list[tuple[str, list[tuple[Capability, str]]]]:
    """Return the declared capabilities with their names, by domain where the profile has some."""
    declared, profile = release.manifest.capabilities, release.manifest.profile
    if profile not in profiles():
        return [("", [(each, each.name.capitalize()) for each in declared])]
    known = load_profile(profile)
    members = [
        (domain.name, [(c.code, c.name) for c in known.capabilities if c.domain == domain.id])
        for domain in known.domains
    ]
    kept = [(name, [pair for pair in group if pair[0] in declared]) for name, group in members]
    return [(name, group) for name, group in kept if group]


def _failures(runs: Sequence[ReportRun]) -> list[tuple[str, str, int, str]]:
    """Return run, reason, count and whose fault, for every failure there is."""
    return [
        (run.name, reason, count, whose)
        for run in runs
        for whose, counts in (("model", run.scored.failures), ("machinery", run.scored.unscored))
        for reason, count in counts.items()
    ]


def _replies(run: ReportRun) -> Json:
    """Return how many media parts of each kind were sent, and how replies were read."""
    parts = (_media(sent) for sent in run.sent.values())
    sent = Counter(str(part.get("kind")) for some in parts for part in some)
    responses = run.responses.values()
    return {
        "sent": dict(sorted(sent.items())),
        "versions": sorted({response.extractor_version for response in responses}),
        "fallback": sum(response.extractor == "fallback" for response in responses),
    }


def _media(sent: JsonValue) -> list[dict[str, JsonValue]]:
    media = sent.get("media") if isinstance(sent, dict) else None
    return [part for part in media if isinstance(part, dict)] if isinstance(media, list) else []


def _excluded(cohort: Cohort) -> list[tuple[str, str, Shown]]:
    """Return run, figure and value wherever too many draws are excluded."""
    return [
        (row.run.name, f"{measure} {capability or 'overall'}", shown)
        for row in cohort.rows
        for (measure, capability), shown in row.figures.items()
        if shown.is_flagged
    ]


def _heat(shown: Shown) -> str:
    """Return the class of a figure's colour, 0 to `HEATS`."""
    if shown.point is None:
        return "none"
    return str(min(HEATS, max(0, round(shown.point * HEATS))))


def _axis(shown: Sequence[Shown]) -> float:
    """Return half the width of an axis around 0 that holds every interval, in fractions."""
    ends = (abs(end) for one in shown for end in (one.point, one.low, one.high) if end is not None)
    return max(ends, default=0.0) or 1.0


def _place(value: float, half: float) -> str:
    """Return where a difference lies on an axis from -`half` to `half`."""
    return f"{50 + 50 * value / half:.2f}%"
