"""What the pictures show without understanding them: faces, motion, shot changes, blur, light."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychemme.episode import FaceSample, Sample
from psychemme.media.frames import Frame

if TYPE_CHECKING:
    import cv2

Gray = NDArray[np.uint8]

SAMPLES_PER_SECOND = 4
"""Motion and shot changes are measured at this rate, faces on every whole second."""

_SMALL = 160
_SHOT_HISTOGRAM, _SHOT_MOTION = 0.35, 0.08


@dataclass
class PictureSignals:
    """Measurements of sampled frames; times are presentation times in seconds."""

    faces: list[FaceSample] = field(default_factory=list)
    motion: list[Sample] = field(default_factory=list)
    shots: list[float] = field(default_factory=list)
    sharpness: list[float] = field(default_factory=list)
    light: list[float] = field(default_factory=list)


def measure_pictures(frames: Iterable[Frame]) -> PictureSignals:
    """Measure frames sampled at `SAMPLES_PER_SECOND`, holding two at a time."""
    import cv2

    cv2.setNumThreads(1)  # the order of detections must not depend on threads
    found, previous = PictureSignals(), None
    for frame in frames:
        if previous is not None and frame.time <= previous.time:
            continue  # a held frame, met again
        gray = cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY)
        if frame.asked == int(frame.asked):
            _measure_still(found, frame.time, np.asarray(gray, dtype=np.uint8))
        if previous is not None:
            _measure_change(found, previous, frame)
        previous = frame
    return found


def _measure_still(found: PictureSignals, time: float, gray: Gray) -> None:
    import cv2

    found.faces.append(FaceSample(time=time, boxes=_faces(gray)))
    found.sharpness.append(float(cv2.Laplacian(gray, cv2.CV_64F).var()))
    found.light.append(float(gray.mean()) / 255)


def _measure_change(found: PictureSignals, before: Frame, after: Frame) -> None:
    old, new = _small(before.image), _small(after.image)
    motion = float(np.abs(old.astype(np.int16) - new.astype(np.int16)).mean()) / 255
    found.motion.append(Sample(time=after.time, value=round(motion, 4)))
    if motion > _SHOT_MOTION and _colour_distance(old, new) > _SHOT_HISTOGRAM:
        found.shots.append(after.time)


def _small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    import cv2

    scale = _SMALL / max(image.shape[:2])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _colour_distance(old: NDArray[np.uint8], new: NDArray[np.uint8]) -> float:
    """Return the Bhattacharyya distance of hue, saturation and value histograms, 0 to 1."""
    import cv2

    return float(cv2.compareHist(_histogram(old), _histogram(new), cv2.HISTCMP_BHATTACHARYYA))


def _histogram(image: NDArray[np.uint8]) -> Any:  # noqa: ANN401 - OpenCV's own array type
    import cv2

    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    return cv2.calcHist([hsv], [0, 1, 2], None, [8, 4, 8], [0, 180, 0, 256, 0, 256])


@cache
def _detector() -> "cv2.CascadeClassifier":
    import cv2

    folder = Path(cv2.__file__).parent / "data"
    return cv2.CascadeClassifier(str(folder / "haarcascade_frontalface_default.xml"))


def _faces(gray: Gray) -> tuple[tuple[float, float, float, float], ...]:
    """Return frontal faces (Viola and Jones, 2001) as fractions of the picture, left to right."""
    import cv2

    height, width = gray.shape
    smallest = max(24, min(height, width) // 12)
    found = _detector().detectMultiScale(
        cv2.equalizeHist(gray), scaleFactor=1.1, minNeighbors=6, minSize=(smallest, smallest)
    )
    size = (width, height, width, height)
    boxes = [[round(float(v) / s, 4) for v, s in zip(box, size, strict=True)] for box in found]
    return tuple((x, y, w, h) for x, y, w, h in sorted(boxes))
