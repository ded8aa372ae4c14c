"""Vectors kept by content below one folder, so that none is paid for twice."""

import base64
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychemme.media.blobs import BlobStore

Vector = NDArray[np.float32]


def kept_vectors(folder: Path, keys: Iterable[str]) -> dict[str, Vector]:
    """Return the vectors below `folder` of those `keys` (hex) that are kept."""
    found: dict[str, Vector] = {}
    for key in keys:
        try:
            found[key] = _decoded(BlobStore(folder).cached(key, _missing))
        except LookupError:
            continue
    return found


def keep_vector(folder: Path, key: str, vector: Sequence[float]) -> Vector:
    """Keep `vector` below `folder` and return it as it is kept."""
    text = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
    return _decoded(BlobStore(folder).cached(key, partial(str, text)))


def _decoded(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def _missing() -> str:
    raise LookupError
