"""Show a decoded frame as a player would: rotated, mirrored, with square pixels."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

Image = NDArray[np.uint8]
"""Pixels, height x width x 3, red green blue."""

_IDENTITY = (1, 0, 0, 1)


def clockwise(frame: "VideoFrame") -> int:
    """Return how far the frame is turned for display, in degrees clockwise (0, 90, 180, 270)."""
    return round(-frame.rotation / 90) % 4 * 90


def display_size(frame: "VideoFrame", aspect: Fraction | None) -> tuple[int, int]:
    """Return the displayed width and height in pixels; `aspect` is the shape of one pixel."""
    width, height = _square_size(frame, aspect)
    return (height, width) if _turns_sideways(_matrix(frame)) else (width, height)


def to_image(frame: "VideoFrame", aspect: Fraction | None, max_side: int) -> Image:
    """Return the frame as displayed, its longer side at most `max_side` pixels, never enlarged."""
    width, height = _square_size(frame, aspect)
    scale = min(1.0, max_side / max(width, height))
    small = frame.reformat(
        width=max(1, round(width * scale)),
        height=max(1, round(height * scale)),
        format="rgb24",
        interpolation="AREA",
    )
    pixels = small.to_ndarray().astype(np.uint8, copy=False)
    return np.ascontiguousarray(_orient(pixels, _matrix(frame)))


def _square_size(frame: "VideoFrame", aspect: Fraction | None) -> tuple[int, int]:
    return (round(frame.width * aspect) if aspect else frame.width), frame.height


def _matrix(frame: "VideoFrame") -> tuple[int, ...]:
    """Return a, b, c, d of the display matrix: (x, y) is shown at (a x + c y, b x + d y)."""
    data = cast("Mapping[str, bytes]", frame.side_data).get("DISPLAYMATRIX")
    if data is None:
        return _IDENTITY
    values = np.frombuffer(bytes(data), dtype=np.int32)
    return tuple(int(values[i]) for i in (0, 1, 3, 4))


def _turns_sideways(matrix: tuple[int, ...]) -> bool:
    a, b, _, _ = matrix
    return abs(b) > abs(a)


def _orient(image: Image, matrix: tuple[int, ...]) -> Image:
    a, b, c, d = matrix
    across, down = (c, b) if _turns_sideways(matrix) else (a, d)
    turned = image.swapaxes(0, 1) if _turns_sideways(matrix) else image
    return turned[:: -1 if down < 0 else 1, :: -1 if across < 0 else 1]
