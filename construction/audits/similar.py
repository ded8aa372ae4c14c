"""Near-duplicate questions by MinHash: no pair is compared that shares no band of its signature.

Found pairs are confirmed by their exact Jaccard similarity, so that nothing is flagged by chance;
of 64 hashes in 16 bands of 4, a pair of similarity 0.8 is missed once in five thousand.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from construction.audits.results import Audit, item_result
from construction.audits.values import AuditItem, AuditResult, AuditSettings, Finding
from construction.audits.wording import Hashes, jaccard, shingles, words

Signature = NDArray[np.uint32]
"""How often two agree, at the same places, estimates Jaccard's similarity; shape (64,)."""

_HASHES, _ROWS, _MOST = 64, 4, 32
_MARGIN = 0.2
"""Four standard errors of the estimate: what is further below the threshold is not worked out."""
_SEED = 20_26
_rng = np.random.default_rng(_SEED)
_FACTORS = _rng.integers(0, 2**63, (_HASHES, 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_SHIFT = np.uint64(32)
_OF_OPTIONS = re.compile(
    r"\b(?:(?:which|what|who|any|none|one) of (?:these|those)|the following|options?"
    r"|which (?:answer|description|explanation|sentence|statement)s?)\b",
    re.IGNORECASE,
)


def signature(hashes: Hashes) -> Signature:
    """Return the MinHash signature of a set."""
    # The high half of an odd multiple is a well-mixed hash of its own (multiply-shift).
    mixed: NDArray[np.uint64] = ((hashes ^ (hashes >> _SHIFT)) * _FACTORS) >> _SHIFT
    least: Signature = mixed.min(axis=1).astype(np.uint32)
    return least


def near_duplicates(
    texts: Sequence[str], similarity: float, groups: Sequence[Hashable] | None = None
) -> Iterator[tuple[int, int, float]]:
    """Yield (place, earlier place, similarity) of each text that an earlier one nearly repeats.

    Only texts of one group are compared. A text that repeats another is compared to no third, and a
    band's bucket holds the first 32 that differ: time and memory grow with the number of texts.
    """
    exact: dict[tuple[Hashable, bytes], int] = {}
    others = _Others(len(texts))
    for place, text in enumerate(texts):
        group = groups[place] if groups else None
        hashes = shingles(text)
        twin = exact.setdefault((group, blake2b(hashes.tobytes()).digest()), place)
        if twin != place:
            yield place, twin, 1.0
            continue
        like, earlier = others.nearest(place, group, hashes, similarity)
        if like >= similarity:
            yield place, earlier, like
        else:
            others.keep(place, hashes)


class _Others:
    """Texts that repeat none before them, found again by the bands of their signatures."""

    def __init__(self, count: int) -> None:
        self._hashes: dict[int, Hashes] = {}
        self._signatures = np.zeros((count, _HASHES), np.uint32)
        self._buckets: dict[tuple[Hashable, int, bytes], list[int]] = {}
        self._keys: list[tuple[Hashable, int, bytes]] = []

    def nearest(
        self, place: int, group: Hashable, hashes: Hashes, similarity: float
    ) -> tuple[float, int]:
        """Return the similarity and place of the nearest, the first of equals; (0, 0) if none."""
        self._signatures[place] = signature(hashes)
        bands = enumerate(self._signatures[place].reshape(-1, _ROWS))
        self._keys = [(group, band, row.tobytes()) for band, row in bands]
        met = sorted({other for key in self._keys for other in self._buckets.get(key, ())})
        agreeing = (self._signatures[met] == self._signatures[place]).mean(axis=1)
        least = similarity - _MARGIN
        near = [other for other, share in zip(met, agreeing, strict=True) if share >= least]
        found = ((jaccard(hashes, self._hashes[other]), -other) for other in near)
        like, earlier = max(found, default=(0.0, 0))
        return like, -earlier

    def keep(self, place: int, hashes: Hashes) -> None:
        """Keep the text that `nearest` was asked for last."""
        self._hashes[place] = hashes
        for key in self._keys:
            bucket = self._buckets.setdefault(key, [])
            if len(bucket) < _MOST:
                bucket.append(place)


def duplicate_questions(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the items whose question an earlier item of the same episode and moment asks."""
    title = "Question asked again within its episode"
    asked = [item for item in items if item.episode_id]
    moments = [(i.episode_id, i.decision_time, numbers_of(i.question)) for i in asked]
    often: dict[Hashable, int] = defaultdict(int)
    for moment in moments:
        often[moment] += 1
    shared = [n for n, moment in enumerate(moments) if often[moment] > 1]
    pairs = near_duplicates(
        [asked_of(asked[n]) for n in shared],
        settings.question_similarity,
        [moments[n] for n in shared],
    )
    found = [_finding(asked[shared[one]], asked[shared[two]], like) for one, two, like in pairs]
    why = "no item names its episode"
    return item_result("duplicate_questions", title, asked, found, why)


def repeated_questions(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the items whose question an earlier item of another episode asks."""
    title = "Question asked again of another episode"
    questions = [item.question for item in items]
    numbers = [numbers_of(question) for question in questions]
    pairs = near_duplicates(questions, settings.question_similarity, numbers)
    found = [
        _finding(items[one], items[two], like)
        for one, two, like in pairs
        if not items[one].episode_id or items[one].episode_id != items[two].episode_id
    ]
    return item_result("repeated_questions", title, items, found)


def asked_of(item: AuditItem) -> str:
    """Return what an item asks, with its options where the question names them."""
    # What is asked of the options is another question with other options.
    options = sorted(o.text for o in item.options) if _OF_OPTIONS.search(item.question) else ()
    return " ".join([item.question, *options])


def numbers_of(text: str) -> tuple[str, ...]:
    """Return what of a question holds digits: asked of another moment, it is another question."""
    return tuple(word for word in words(text) if any(sign.isdigit() for sign in word))


def _finding(one: AuditItem, other: AuditItem, like: float) -> Finding:
    return Finding(item_id=one.id, detail=f"asks what {other.id} asks (similarity {like:.2f})")


SIMILAR_AUDITS = (
    Audit(
        "duplicate_questions",
        "Question asked again within its episode",
        "item",
        duplicate_questions,
    ),
    Audit(
        "repeated_questions", "Question asked again of another episode", "item", repeated_questions
    ),
)
COMPARING = frozenset(audit.name for audit in SIMILAR_AUDITS)
"""The audits that find a fault in one item by another."""
