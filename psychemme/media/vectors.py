"""Vectors kept by content below one folder, so that none is paid for twice."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychemme.errors import EndpointError
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


def keep_vectors(
    folder: Path, model: str, fresh: Mapping[str, Sequence[float]], known: Mapping[str, Vector]
) -> dict[str, Vector]:
    """Keep the `fresh` vectors of `model` below `folder` and return them as they are kept.

    Raises EndpointError, and keeps none, where `refuse_unusable` does or their lengths are not
    those of the `known` ones.
    """
    with np.errstate(over="ignore"):
        found = {key: np.asarray(vector, dtype="<f4") for key, vector in fresh.items()}
    refuse_unusable(folder, model, [*islice(known.values(), 1), *found.values()])
    for key, vector in found.items():
        text = base64.b64encode(vector.tobytes()).decode()
        BlobStore(folder).cached(key, partial(str, text))
    return found


def refuse_unusable(folder: Path, model: str, vectors: Sequence[Vector]) -> None:
    """Raise EndpointError where vectors differ in length, or one of them points nowhere."""
    advice = (
        "Choose a model that embeds all of it in one space; if another one had this name before, "
        f"delete {folder}, where its vectors are kept."
    )
    if len({vector.size for vector in vectors}) > 1:
        raise EndpointError(f"{model} gives vectors of different lengths.", advice)
    if not all(np.isfinite(vector).all() and vector.any() for vector in vectors):
        raise EndpointError(f"{model} gives vectors that are all zero or too large.", advice)


def _decoded(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def _missing() -> str:
    raise LookupError
