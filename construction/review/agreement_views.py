"""An agreement report as JSON and as rows of a table."""

from collections.abc import Mapping
from typing import Any

from construction.review.agreement import AgreementReport, AgreementRow
from construction.review.coefficients import Coefficient, Undefined
from construction.review.ratings import Kind

TABLE_COLUMNS = (
    "dimension",
    "cap.",
    "items",
    "rev.",
    "ratings",
    "raw",
    "unan.",
    "alpha",
    "95%",
    "AC1",
    "MASI",
)


def agreement_json(report: AgreementReport) -> dict[str, Any]:
    """Return the report as plain JSON values; shares and coefficients are fractions."""
    return {
        "unit": "fraction",
        "items": {"rated": report.n_items, "replaced_versions": report.n_replaced},
        "interval": {
            "of": "alpha",
            "level": 0.95,
            "resampled": "items",
            "draws": report.draws,
            "seed": report.seed,
        },
        "reasons": undefined_reasons(report),
        "rows": [_row_json(row) for row in report.rows],
    }


def agreement_table(report: AgreementReport) -> list[tuple[str, ...]]:
    """Return the report as rows of text under TABLE_COLUMNS.

    Items are those rated by two reviewers, "of" those rated at all where these are more. A dash
    stands for an undefined figure, the reason in the place of the interval; what does not apply is
    empty.
    """
    return [_row_text(row) for row in report.rows]


def undefined_reasons(report: AgreementReport) -> dict[str, str]:
    """Return each reason for an undefined figure that occurs in the report, with its text."""
    found = {figure for row in report.rows for figure in _figures(row).values()}
    return {reason.value: reason.text for reason in Undefined if reason in found}


def _figures(row: AgreementRow) -> Mapping[str, Coefficient | None]:
    return {
        "raw": row.raw,
        "unanimous": row.unanimous,
        "alpha": row.alpha,
        "ac1": row.ac1,
        "masi": row.masi,
    }


def _row_json(row: AgreementRow) -> dict[str, Any]:
    shown = row.model_dump(mode="json")
    for name, figure in _figures(row).items():
        shown[name] = None if figure is None else _figure_json(figure)
    interval = shown.pop("alpha_interval") or {"low": None, "high": None, "excluded": None}
    shown["alpha"] |= interval
    return shown


def _figure_json(figure: Coefficient) -> dict[str, float | str | None]:
    if isinstance(figure, Undefined):
        return {"value": None, "reason": figure.value}
    return {"value": figure, "reason": None}


_KINDS = {Kind.OPTION: " (letter)", Kind.OPTION_SET: " (set of letters)", Kind.VERDICT: ""}


def _row_text(row: AgreementRow) -> tuple[str, ...]:
    raw, unanimous, alpha, ac1, masi = map(_text, _figures(row).values())
    return (
        row.dimension.replace("_", " ") + _KINDS[row.kind],
        row.capability,
        f"{row.n_paired} of {row.n_items}" if row.n_paired < row.n_items else str(row.n_items),
        str(row.n_reviewers),
        str(row.n_ratings),
        raw,
        unanimous,
        alpha,
        _interval_text(row),
        ac1,
        masi,
    )


def _text(figure: Coefficient | None) -> str:
    if figure is None:
        return ""
    return "–" if isinstance(figure, Undefined) else f"{figure:z.2f}"


def _interval_text(row: AgreementRow) -> str:
    # Where any figure but AC1 is undefined, alpha is, for the same reason.
    if isinstance(row.alpha, Undefined):
        return row.alpha.value
    interval = row.alpha_interval
    if interval is None or interval.low is None or interval.high is None:
        return "withheld"
    return f"[{interval.low:z.2f}, {interval.high:z.2f}]"
