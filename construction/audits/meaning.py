"""Questions that mean the same in other words, where their vectors are given.

Every question is compared with all before it, a block at a time: time grows with the square of
their number, memory only with the number.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from construction.audits.results import item_result
from construction.audits.similar import asked_of, numbers_of
from construction.audits.values import AuditItem, AuditResult, AuditSettings, Finding

Vectors = Mapping[str, NDArray[np.float32]]
"""The vector of each text, all of one length (D,)."""

MEANING, MEANING_TITLE = "similar_meaning", "Question asked again in other words"
_BLOCK, _MOST = 512, 32


def similar_meaning(
    items: Sequence[AuditItem], settings: AuditSettings, vectors: Vectors | None
) -> AuditResult:
    """Return the items whose question means what an earlier one does; not run without vectors.

    That of another moment of its episode, with other digits, or of the very same words does not
    count: the one is another question, the other is found without vectors.
    """
    if vectors is None:
        return item_result(MEANING, MEANING_TITLE, [], [], "not run: no embedding model is given")
    texts = [asked_of(item) for item in items]
    numbers = [numbers_of(item.question) for item in items]
    found: dict[int, Finding] = {}
    for place, earlier, like in _near(texts, vectors, settings.embedding_similarity):
        one, other = items[place], items[earlier]
        is_here = bool(one.episode_id) and one.episode_id == other.episode_id
        is_another = numbers[place] != numbers[earlier] or (
            is_here and one.decision_time != other.decision_time
        )
        if place in found or is_another or texts[place] == texts[earlier]:
            continue
        where = "of the same episode" if is_here else "of another episode"
        detail = f"means what {other.id} asks {where} (similarity {like:.2f})"
        found[place] = Finding(item_id=one.id, detail=detail)
    return item_result(MEANING, MEANING_TITLE, items, list(found.values()))


def _near(
    texts: Sequence[str], vectors: Vectors, similarity: float
) -> Iterator[tuple[int, int, float]]:
    """Yield (place, earlier place, cosine) by place, the 32 nearest earlier ones at most."""
    if not texts:
        return
    matrix = np.stack([_unit(vectors[text]) for text in texts])
    for start in range(0, len(texts), _BLOCK):
        block = matrix[start : start + _BLOCK] @ matrix[: start + _BLOCK].T
        for row, likes in enumerate(block, start):
            near = np.flatnonzero(likes[:row] >= similarity)
            for earlier in near[np.argsort(-likes[near], kind="stable")[:_MOST]]:
                yield row, int(earlier), float(likes[earlier])


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
