"""Can the options alone tell which is correct? A naive Bayes classifier that sees nothing else.

Words, pairs of words, the first word, and an option's length beside its item's others. Episodes are
kept together in cross-validation, so that what it has learnt is not the episode.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from construction.audits.bias import NO_SINGLE, against_chance
from construction.audits.results import Audit
from construction.audits.values import AuditItem, AuditResult, AuditSettings
from construction.audits.wording import words

_FOLDS = 5
_BUCKETS = 1 << 16
_RATIOS = (0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 2.0)
_TITLE = "Correct option told from the options alone"


def option_only(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the cross-validated accuracy of the classifier on `single` items, against chance."""
    asked = [item for item in items if item.single_answer]
    enough = len(asked) >= max(settings.fewest, _FOLDS)
    hits = _hits(asked) if enough else frozenset()
    short = f"fewer than {max(settings.fewest, _FOLDS)} single-choice items to learn from"
    return against_chance(
        asked if enough else (),
        lambda item: item.id in hits,
        settings,
        audit="option_only",
        title=_TITLE,
        detail="its correct option can be told from the options alone",
        why=short if asked else NO_SINGLE,
    )


def _hits(items: Sequence[AuditItem]) -> frozenset[str]:
    """Return the ids of the items whose correct option the classifier finds in held-out folds."""
    features, starts = _features(items)
    sizes = np.array([len(item.options) for item in items])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    right = np.concatenate([[o.id in item.right for o in item.options] for item in items])
    fold = np.repeat(_folds(items), sizes)
    scores = np.zeros(len(right))
    lengths = np.diff(np.append(starts, len(features)))
    for held in range(_FOLDS):
        weights = _weights(features, np.repeat(right, lengths), np.repeat(fold != held, lengths))
        mine = np.add.reduceat(weights[features], starts) / np.sqrt(lengths)
        scores = np.where(fold == held, mine, scores)
    spans = zip(items, first, sizes, strict=True)
    return frozenset(
        item.id for item, at, size in spans if right[at + int(np.argmax(scores[at : at + size]))]
    )


def _weights(
    features: NDArray[np.int64], right: NDArray[np.bool_], learnt: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return log P(feature | correct) - log P(feature | wrong), with add-one smoothing."""
    yes = np.bincount(features[learnt & right], minlength=_BUCKETS) + 1.0
    no = np.bincount(features[learnt & ~right], minlength=_BUCKETS) + 1.0
    found: NDArray[np.float64] = np.log(yes / yes.sum()) - np.log(no / no.sum())
    # What was never learnt says nothing.
    found[(yes == 1) & (no == 1)] = 0.0
    return found


def _features(items: Sequence[AuditItem]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the hashed features of all options, and where each option's begin."""
    found: list[int] = []
    starts: list[int] = []
    for item in items:
        mean = sum(len(option.text) for option in item.options) / len(item.options)
        ranks = sorted(len(option.text) for option in item.options)
        for option in item.options:
            starts.append(len(found))
            length = len(option.text)
            place = ranks.index(length) - len(ranks)
            ratio = sum(length / (mean or 1) >= limit for limit in _RATIOS)
            found.extend((_bucket(f"rank {place}"), _bucket(f"ratio {ratio}")))
            found.extend(map(_bucket, _grams(words(option.text))))
    return np.array(found, np.int64), np.array(starts, np.int64)


def _grams(said: Sequence[str]) -> Iterator[str]:
    yield f"first {said[0]}" if said else "no word"
    yield from said
    for one, other in pairwise(said):
        yield f"{one} {other}"


def _bucket(feature: str) -> int:
    return crc32(feature.encode()) % _BUCKETS


def _folds(items: Sequence[AuditItem]) -> NDArray[np.int64]:
    keys = [item.episode_id for item in items]
    if len(set(keys)) < _FOLDS:
        keys = [item.id for item in items]
    ordered = {key: place for place, key in enumerate(sorted(set(keys), key=_order))}
    return np.array([ordered[key] % _FOLDS for key in keys])


def _order(key: str) -> tuple[int, str]:
    return crc32(key.encode()), key


CLASSIFIER_AUDIT = Audit("option_only", _TITLE, "set", option_only)
