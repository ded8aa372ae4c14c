"""The plan: how many items of which kind, from which episodes, and when to give up.

A plan is one YAML file; `plan.schema.json` beside this module is its schema, `plans/default.yaml`
the plan used when none is given. `"*"` in a target takes every source group or band that no more
specific target takes.
"""

import json
import reprlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from construction.gates import GatePolicy
from construction.screening.rules import ScreeningRules
from psychemme.canonical import digest
from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychemme.vocabulary import Capability, DurationBand, Format

ANY: Literal["*"] = "*"
_LATER = frozenset({"gates", "screening"})
"""Sections that came after the first runs: unset, they leave a plan's hash as it was."""
_FIX = "Correct the plan file; its schema is construction/plan.schema.json."


class Cell(Value):
    """What targets and coverage count by."""

    capability: Capability
    format: Format
    source_group: str = ANY
    duration_band: DurationBand | Literal["*"] = ANY

    def covers(self, place: "Cell") -> bool:
        """Return whether `place` lies in this cell."""
        return (
            (self.capability, self.format) == (place.capability, place.format)
            and self.source_group in (ANY, place.source_group)
            and self.duration_band in (ANY, place.duration_band)
        )


class Target(Cell):
    """How many accepted items a cell shall hold; in a plan file, its weight among the targets."""

    count: int = Field(ge=0)

    @property
    def cell(self) -> Cell:
        """The cell without its count."""
        return Cell.model_construct(**self.model_dump(exclude={"count"}))


class EpisodeLimits(Value):
    """Which windows may become episodes; durations are in seconds."""

    min_seconds: float = Field(default=8, ge=1, allow_inf_nan=False)
    max_seconds: float = Field(default=180, ge=1, allow_inf_nan=False)
    require_speech: bool = True

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_seconds > self.max_seconds:
            raise ValueError(f"min_seconds {self.min_seconds} exceeds {self.max_seconds}")
        return self

    def reaches(self, band: DurationBand) -> bool:
        """Return whether a window within the limits can fall into `band`."""
        shortest, longest = DurationBand.of(self.min_seconds), DurationBand.of(self.max_seconds)
        bands = list(DurationBand)
        return bands.index(shortest) <= bands.index(band) <= bands.index(longest)


class SamplingRules(Value):
    """How batches are picked (see `construction.sampling`).

    Batch k is picked from the results of batches up to k - `lag`. A cell without an acceptance
    closes after `close_after` attempts, any other after `low_yield_factor` attempts an item asked
    for. `per_episode` and `per_source` cap the candidates of an episode and of a source video.
    """

    batch: int = Field(default=16, ge=1)
    lag: int = Field(default=3, ge=1)
    close_after: int = Field(default=20, ge=1)
    low_yield_factor: int = Field(default=20, ge=1)
    per_episode: int = Field(default=12, ge=1)
    per_source: int | None = Field(default=None, ge=1)


class Plan(Value):
    """Targets, limits, sampling rules and gates of a run; `total` is the number of items asked for.

    `gates` say what the findings of audits and of the leakage filter do, `screening` which clips
    are refused.
    """

    targets: tuple[Target, ...] = Field(min_length=1)
    total: int = Field(ge=1)
    episodes: EpisodeLimits = EpisodeLimits()
    sampling: SamplingRules = SamplingRules()
    gates: GatePolicy = GatePolicy()
    screening: ScreeningRules = ScreeningRules()

    @model_validator(mode="after")
    def _targets_make_sense(self) -> Self:
        cells = [target.cell for target in self.targets]
        twice = next((cell for cell in cells if cells.count(cell) > 1), None)
        if twice:
            raise ValueError(f"two targets share the cell {tuple(twice.model_dump().values())}")
        if not any(target.count for target in self.targets):
            raise ValueError("every target has count 0; at least one must be positive")
        return self

    @property
    def hash(self) -> str:
        """The SHA-256 of the plan's values (hex); comments and layout do not enter it."""
        first = self.model_dump(mode="json", exclude=set(_LATER))
        later = self.model_dump(mode="json", include=set(_LATER), exclude_defaults=True)
        return digest(first | later)

    def scaled(self, total: int | None = None) -> tuple[Target, ...]:
        """Return the targets scaled to sum to `total` items, by largest remainder.

        `total` defaults to the plan's own. Equal remainders go to the target listed first.
        """
        wanted = self.total if total is None else total
        weight = sum(target.count for target in self.targets)
        counts = [target.count * wanted // weight for target in self.targets]
        rest = [target.count * wanted % weight for target in self.targets]
        by_rest = sorted(range(len(rest)), key=lambda place: -rest[place])
        for place in by_rest[: wanted - sum(counts)]:
            counts[place] += 1
        pairs = zip(self.targets, counts, strict=True)
        return tuple(target.model_copy(update={"count": count}) for target, count in pairs)


def home(targets: Sequence[Target], place: Cell) -> Cell:
    """Return the most specific target's cell that covers `place`, or `place` where none does.

    A named source group is more specific than a named duration band.
    """
    covering = [target.cell for target in targets if target.covers(place)]
    return max(
        covering,
        key=lambda cell: (cell.source_group != ANY, cell.duration_band != ANY),
        default=place,
    )


def impossible_bands(plan: Plan) -> tuple[DurationBand, ...]:
    """Return the duration bands that targets ask for and the episode limits exclude."""
    asked = {target.duration_band for target in plan.targets if target.count}
    return tuple(b for b in DurationBand if b in asked and not plan.episodes.reaches(b))


def load_plan(path: Path | None = None) -> Plan:
    """Return the plan in the YAML file `path`, or the bundled default plan.

    Raises `ConfigError` naming the file, the field, the rule and what to do.
    """
    name, text = str(path or "plans/default.yaml"), _read(path)
    try:
        plan = Plan.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, RecursionError) as error:
        fault = " ".join(str(error).split())
        raise ConfigError(f"{name} is not YAML: {fault}.", _FIX) from error
    except ValidationError as error:
        raise ConfigError(f"{name}: {_faults(error)}.", _FIX) from error
    if bands := impossible_bands(plan):
        raise ConfigError(_excluded(name, plan, bands), "Widen the limits or drop those targets.")
    return plan


def schema_text() -> str:
    """Return the text of `plan.schema.json`."""
    return json.dumps(Plan.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def _read(path: Path | None) -> str:
    try:
        source = path or files("construction") / "plans" / "default.yaml"
        return source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read as a plan: {error}.", "Give a YAML file."
        ) from error


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'the plan'}: {fault['msg']} "
        f"(got {reprlib.repr(fault['input'])})"
        for fault in error.errors()
    )


def _excluded(name: str, plan: Plan, bands: Sequence[DurationBand]) -> str:
    limits = plan.episodes
    return (
        f"{name}: targets ask for episodes of {', '.join(bands)} s, but episodes.min_seconds "
        f"{limits.min_seconds:g} and max_seconds {limits.max_seconds:g} exclude them."
    )
