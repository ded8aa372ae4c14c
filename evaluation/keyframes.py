"""Which frames of an episode are most like a question: inverse transform sampling over likeness.

The method is BOLT's (Liu et al., "BOLT: Boost Large Vision-Language Model Without Training for
Long-form Video Understanding", CVPR 2025): cosine similarities of question and frames, scaled to 0
to 1 and raised to a power, are a density over the frames, and quantiles of it are the frames taken,
so that likely stretches get more frames and the others are still looked at. This departs from the
published code in two ways: the quantiles are the middles of `n` equal parts, which holds for one
frame too, and a frame that two quantiles meet is taken once, the other place going to the most
similar frame left, so that `n` frames differ where there are `n`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POWER = 3.0
"""The published code's, for Video-MME and MLVU."""


def select_frames(similarities: Sequence[float], n: int, power: float = POWER) -> tuple[int, ...]:
    """Return the ascending indices of `n` of the F frames, or of all where there are no more.

    `similarities` (F,) are of any scale; where all are equal the frames are spread evenly. Raises
    ValueError where one of them is not finite, and unless `n` and `power` are positive.
    """
    found = np.asarray(similarities, dtype=np.float64)
    if n < 1 or not power > 0 or not np.isfinite(found).all():
        raise ValueError(f"{n} frames by power {power} of similarities that must be finite")
    if n >= len(found):
        return tuple(range(len(found)))
    heights = np.cumsum(_density(found, power))
    # Divided last, so that an even spread meets whole numbers exactly.
    middles = (2 * np.arange(n) + 1) * heights[-1] / (2 * n)
    taken = set(np.searchsorted(heights, middles).tolist())
    likely = np.argsort(-found, kind="stable").tolist()
    left = [index for index in likely if index not in taken]
    return tuple(sorted([*taken, *left[: n - len(taken)]]))


def cosine(question: Floats, frames: Floats) -> Floats:
    """Return the similarities (F,) of `question` (D,) and `frames` (F, D); of nothing it is 0."""
    lengths = np.linalg.norm(frames, axis=1) * np.linalg.norm(question)
    found: Floats = np.zeros(len(frames))
    np.divide(frames @ question, lengths, out=found, where=lengths > 0)
    return found


def _density(similarities: Floats, power: float) -> Floats:
    low, high = similarities.min(), similarities.max()
    if high == low:
        return np.ones(len(similarities))
    return np.asarray(((similarities - low) / (high - low)) ** power)
