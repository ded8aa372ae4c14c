"""From the body of `POST embeddings` to vectors, trusting none of it."""

import math
from itertools import chain

from pydantic import BaseModel, ValidationError


class _Row(BaseModel):
    embedding: list[float]
    index: int | None = None


class _Body(BaseModel):
    data: list[_Row]


def read_embeddings(body: str, count: int) -> list[list[float]] | None:
    """Return the `count` vectors in `body`, the text of an HTTP 200, in the order asked for.

    None where they are not as many, finite and of one length, or an index stands twice.
    """
    try:
        rows = _Body.model_validate_json(body).data
    except ValidationError:
        return None
    if all(row.index is not None for row in rows):
        rows = sorted({row.index: row for row in rows}.values(), key=lambda row: row.index or 0)
    found = [row.embedding for row in rows]
    is_whole = len(found) == count and len({len(vector) for vector in found}) == 1 and found[0]
    return found if is_whole and all(map(math.isfinite, chain(*found))) else None
