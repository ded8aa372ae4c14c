"""The audits page: one self-contained HTML file for curators; the same results, the same bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from construction.audits.values import AuditResult, Share
from construction.gates import GatePolicy
from psychemme.pages import content_policy, page_style, page_templates

_TEMPLATES = Path(__file__).parents[1] / "templates"
LISTED = 500
"""Findings of an audit that a page lists."""


@dataclass(frozen=True)
class Figures:
    """A share in words: counts with separators, rates and intervals in percent."""

    count: str
    of: str
    rate: str
    expected: str
    p: str


def figures(of: Share) -> Figures:
    """Return how a share is written; empty where it is undefined."""
    rate = "" if of.rate is None else f"{100 * of.rate:.1f}"
    if of.low is not None and of.high is not None:
        rate += f" [{100 * of.low:.1f}, {100 * of.high:.1f}]"
    expected = "" if of.expected is None else f"{100 * of.expected:.1f}"
    small = "<0.0001"
    p = "" if of.p_value is None else small if of.p_value < 1e-4 else f"{of.p_value:.4f}"
    return Figures(f"{of.count:,}", f"{of.of:,}", rate, expected, p)


def write_page(page: Path, title: str, results: Sequence[AuditResult], policy: GatePolicy) -> Path:
    """Write the page of audits and return its path.

    It lists the first 500 findings of an audit, and says how many more there are.
    """
    environment = page_templates(_TEMPLATES)
    style = page_style(_TEMPLATES / "audits.css")
    text = environment.get_template("audits.html").render(
        policy=content_policy(style, ""),
        style=Markup(style),  # noqa: S704
        title=title,
        results=results,
        action=policy.action,
        figures=figures,
        listed=LISTED,
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page
