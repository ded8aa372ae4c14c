"""How a judge's labels shift when what it sees is altered, with intervals; kept beside the run.

A shift is the label on the altered request less the label on the true one. Intervals are the paired
episode bootstrap of `evaluation.bootstrap`, redrawn over the episodes of the sampled items. Every
item weighs the same.

Shapes: E episodes, S scopes (overall, then capabilities), Q quantities, b draws in a block.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from evaluation.bootstrap import DRAWS, SEED, Estimate, Floats, draw_totals, estimates
from evaluation.judge import Judgement
from evaluation.scoring import E, L
from psychemme.episode import Value
from psychemme.errors import RunError
from psychemme.media.blobs import write_whole
from psychemme.vocabulary import Capability

FILE_NAME = "judge-audit.json"
SCHEMA_VERSION = 1
_QUANTITIES = ("support", "logic", "support_changed", "support_fell", "logic_changed", "logic_fell")


class Variant(StrEnum):
    """What is altered before the judge is asked again."""

    REFERENCE_HIDDEN = "reference_hidden"
    FOREIGN_CUES = "foreign_cues"
    FIELDS_PERMUTED = "fields_permuted"


class Labelled(NamedTuple):
    """One response's labels on the true request and on an altered one."""

    episode_id: str
    capability: Capability
    before: Judgement
    after: Judgement


class Shift(Value):
    """The shifts of one capability (None: overall) over `n` responses.

    `support` and `logic` are mean changes of the factors e and l (-1.2 to 1.2); the rest are
    shares of the responses, 0 to 1.
    """

    capability: Capability | None
    n: int
    support: Estimate
    logic: Estimate
    support_changed: Estimate
    support_fell: Estimate
    logic_changed: Estimate
    logic_fell: Estimate


class VariantShifts(Value):
    """What one alteration did: overall first, then each capability that holds a response.

    Of `sampled` responses `altered` could be altered and `labelled` were labelled anew, in
    `episodes` episodes. Counts of labels are over the labelled, before and after.
    """

    variant: Variant
    sampled: int
    altered: int
    labelled: int
    episodes: int
    shifts: tuple[Shift, ...]
    support_before: Mapping[str, int]
    support_after: Mapping[str, int]
    logic_before: Mapping[str, int]
    logic_after: Mapping[str, int]


class Audit(Value):
    """One audit of a judge on a run: `sample` of `explained` responses, chosen by `seed`.

    `warnings` say in words what a reader must not miss.
    """

    judge: str
    seed: int
    explained: int
    sample: int
    draws: int = DRAWS
    bootstrap_seed: int = SEED
    warnings: tuple[str, ...]
    variants: tuple[VariantShifts, ...]


def variant_shifts(
    variant: Variant,
    sampled: int,
    altered: int,
    pairs: Sequence[Labelled],
    declared: Sequence[Capability],
) -> VariantShifts:
    """Return the shifts under one variant, by capability and overall."""
    return VariantShifts(
        variant=variant,
        sampled=sampled,
        altered=altered,
        labelled=len(pairs),
        episodes=len({pair.episode_id for pair in pairs}),
        shifts=tuple(_shifts(pairs, declared)) if pairs else (),
        support_before=Counter(str(pair.before.evidence_support) for pair in pairs),
        support_after=Counter(str(pair.after.evidence_support) for pair in pairs),
        logic_before=Counter(str(pair.before.logical_integrity) for pair in pairs),
        logic_after=Counter(str(pair.after.logical_integrity) for pair in pairs),
    )


def _shifts(pairs: Sequence[Labelled], declared: Sequence[Capability]) -> Iterable[Shift]:
    present = {pair.capability for pair in pairs}
    scopes = (None, *(capability for capability in declared if capability in present))
    sums = _sums(pairs, scopes)
    points = _means(sums.sum(axis=0)[None], len(scopes))[0]
    blocks = [_means(totals, len(scopes)) for totals in draw_totals(sums)]
    found = iter(estimates(points, np.concatenate(blocks).T))
    for scope in scopes:
        n = sum(scope in (None, pair.capability) for pair in pairs)
        figures: Any = dict(zip(_QUANTITIES, found, strict=False))
        yield Shift(capability=scope, n=n, **figures)


def _sums(pairs: Sequence[Labelled], scopes: Sequence[Capability | None]) -> Floats:
    """Return per episode (E, S * (1 + Q)) how many responses there are, and their sums."""
    units = {name: row for row, name in enumerate(sorted({pair.episode_id for pair in pairs}))}
    sums = np.zeros((len(units), len(scopes), 1 + len(_QUANTITIES)))
    for pair in pairs:
        for place, scope in enumerate(scopes):
            if scope in (None, pair.capability):
                sums[units[pair.episode_id], place] += [1.0, *_changes(pair)]
    return sums.reshape(len(units), -1)


def _changes(pair: Labelled) -> tuple[float, ...]:
    """Return the values of `_QUANTITIES`."""
    e = E[pair.after.evidence_support] - E[pair.before.evidence_support]
    ell = L[pair.after.logical_integrity] - L[pair.before.logical_integrity]
    return e, ell, float(e != 0), float(e < 0), float(ell != 0), float(ell < 0)


def _means(totals: Floats, scopes: int) -> Floats:
    """Return the means (b, S * Q) from the totals (b, S * (1 + Q)) of each draw."""
    shaped = totals.reshape(len(totals), scopes, -1)
    with np.errstate(invalid="ignore"):
        return np.asarray(shaped[:, :, 1:] / shaped[:, :, :1]).reshape(len(totals), -1)


def audit_of(
    judge: str, seed: int, explained: int, sample: int, variants: Sequence[VariantShifts]
) -> Audit:
    """Return the audit, with its warnings."""
    warnings = [
        f"{each.altered - each.labelled} of {each.altered} altered responses have no label "
        f"({each.variant.replace('_', ' ')}): the judge failed. Run the audit again."
        for each in variants
        if each.labelled < each.altered
    ]
    warnings += [
        text for each in variants if each.variant is Variant.FOREIGN_CUES and (text := _fault(each))
    ]
    return Audit(
        judge=judge,
        seed=seed,
        explained=explained,
        sample=sample,
        warnings=tuple(warnings),
        variants=tuple(variants),
    )


def _fault(foreign: VariantShifts) -> str | None:
    """Return in words why Evidence Support was not seen to fall, None where it fell."""
    if foreign.episodes < 2:
        return (
            f"Foreign cues were tried in {foreign.episodes} episodes: too few to tell whether "
            "this judge reads the cues."
        )
    if foreign.support_before.get("insufficient", 0) == foreign.labelled:
        return "Every label is insufficient on the item's own cues: support could not fall."
    change = foreign.shifts[0].support
    if change.point is None or change.point >= 0:
        return (
            "Evidence Support does not fall when the cues are another item's: do not trust this "
            "judge's Evidence Support, for it does not rest on the cues."
        )
    if change.high is None or change.high >= 0:
        return (
            "Evidence Support falls when the cues are another item's, but by no more than chance "
            "explains: whether this judge reads the cues is open."
        )
    return None


def keep_audit(folder: Path, audit: Audit) -> None:
    """Write the audit to `judge-audit.json` of the run, in place of an earlier one of its judge."""
    others = [each for each in read_audits(folder) if each.judge != audit.judge]
    audits = sorted([*others, audit], key=lambda each: each.judge)
    content = {
        "schema_version": SCHEMA_VERSION,
        "audits": [each.model_dump(mode="json") for each in audits],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_whole(folder / FILE_NAME, f"{text}\n".encode())


def read_audits(folder: Path) -> tuple[Audit, ...]:
    """Return the audits of the run at `folder`, by judge; raises RunError on an unreadable file."""
    path = folder / FILE_NAME
    try:
        content = json.loads(path.read_bytes())
        if content["schema_version"] == SCHEMA_VERSION:
            return tuple(Audit.model_validate(each) for each in content["audits"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
        why = str(error).splitlines()[0]
        raise RunError(f"{path} cannot be read: {why}.", "Delete it, audit again.") from None
    raise RunError(
        f"{path} has schema version {content['schema_version']}; this reads {SCHEMA_VERSION}.",
        "Use a version of psychemme that reads it.",
    )
