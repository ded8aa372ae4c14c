"""Make frames fit what a model accepts: fewer of them, and smaller ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from psychemme.clients.cards import ImageLimits
from psychemme.clients.failures import GO_ON
from psychemme.clients.protocol import MediaPart
from psychemme.errors import WorkspaceError

_SHRINK = 0.8
_QUALITY = 85
_SMALLEST = 32
_PREPARE = f"Restore it (`psychemme prepare` makes a workspace's frames), then {GO_ON}"


class Blobs(Protocol):
    """Where re-encoded frames are kept, by their SHA-256."""

    def put(self, data: bytes, suffix: str = "") -> str:
        """Store `data` and return its SHA-256 (hex)."""
        ...

    def path(self, sha256: str) -> Path:
        """Return where the bytes with this SHA-256 are."""
        ...


def thinned(parts: Sequence[MediaPart], most: int | None) -> tuple[MediaPart, ...]:
    """Return at most `most` of the parts, evenly spread, the first one among them."""
    if most is None or len(parts) <= most:
        return tuple(parts)
    return tuple(parts[i * len(parts) // most] for i in range(most))


@dataclass
class Fitter:
    """Fits frames to `limits`; what had to be re-encoded is stored in `blobs`."""

    limits: ImageLimits
    blobs: Blobs
    _fitted: dict[str, MediaPart] = field(default_factory=dict)

    def fit(self, frames: Sequence[MediaPart]) -> tuple[MediaPart, ...]:
        """Return the frames to send: evenly thinned, none too long or too large.

        Times stay with their frames. Raises WorkspaceError where a frame cannot be read.
        """
        return tuple(self._sized(frame) for frame in thinned(frames, self.limits.most))

    def _sized(self, frame: MediaPart) -> MediaPart:
        if self.limits.max_side is None and self.limits.max_bytes is None:
            return frame
        if frame.sha256 not in self._fitted:
            self._fitted[frame.sha256] = self._resized(frame)
        return replace(self._fitted[frame.sha256], time=frame.time)

    def _resized(self, frame: MediaPart) -> MediaPart:
        data, picture = _load(frame.path)
        side = max(picture.shape[:2])
        wanted = min(side, self.limits.max_side or side)
        if wanted == side and len(data) <= (self.limits.max_bytes or len(data)):
            return frame
        encoded = _jpeg(picture, wanted / side)
        while len(encoded) > (self.limits.max_bytes or len(encoded)) and wanted > _SMALLEST:
            wanted = int(wanted * _SHRINK)
            encoded = _jpeg(picture, wanted / side)
        sha256 = self.blobs.put(encoded, ".jpg")
        return MediaPart("image", "image/jpeg", sha256, self.blobs.path(sha256), frame.time)


def _load(path: Path) -> tuple[bytes, Any]:
    import cv2

    try:
        data = path.read_bytes()
    except OSError as error:
        raise WorkspaceError(
            f"The frame {path} cannot be read ({error.strerror}).", _PREPARE
        ) from None
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise WorkspaceError(f"The frame {path} is no picture.", _PREPARE)
    return data, picture


def _jpeg(picture: Any, scale: float) -> bytes:  # noqa: ANN401 - OpenCV's own array type
    import cv2

    height, width = (max(1, round(length * scale)) for length in picture.shape[:2])
    if scale != 1:
        picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1]
    return bytes(np.asarray(encoded).tobytes())
