"""Drawn speakers: shaded heads with eyes and a mouth that moves, and arms that gesture."""

import functools
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from dialogue import Colour, Gesture, Look, Scene

Image = npt.NDArray[np.uint8]
"""Red, green, blue picture, shape (height, width, 3)."""

WIDTH, HEIGHT = 426, 240
_SCALE = 2
"""Pictures are drawn larger by this factor and shrunk, for smooth edges."""
_W, _H = WIDTH * _SCALE, HEIGHT * _SCALE
_HEAD = 88
"""Half the height of a head, in drawn pixels; all of a head is measured in it."""
_EYE, _BROW, _MOUTH = (0.30, -0.14), (0.31, -0.36), 0.50
_WHITE: Colour = (240, 238, 234)
_DARK: Colour = (40, 30, 30)


@dataclass(frozen=True)
class Pose:
    """One speaker at one moment: `mouth` and `gesture_share` run from 0 (closed, at rest) to 1."""

    mouth: float = 0.0
    blink: bool = False
    facing: float = 0.0
    gesture: Gesture = "none"
    gesture_share: float = 0.0
    sway: float = 0.0
    holds: Colour | None = None


def background(scene: Scene) -> Image:
    """Return the empty scene at drawing size."""
    rows = np.linspace(1.06, 0.90, _H)[:, None, None]
    columns = np.linspace(1 + scene.light / 2, 1 - scene.light / 2, _W)[None, :, None]
    image: Image = np.clip(rows * columns * np.array(scene.wall), 0, 255).astype(np.uint8)
    cv2.rectangle(image, (0, int(_H * 0.86)), (_W, _H), scene.floor, -1)
    _PROPS[scene.prop](image)
    return image


def frame(empty: Image, looks: list[Look], poses: list[Pose]) -> Image:
    """Return the scene with its speakers, seated from left to right, at video size."""
    image = empty.copy()
    for seat, (look, pose) in enumerate(zip(looks, poses, strict=True)):
        x = int(_W * (seat + 0.5) / len(looks))
        _person(image, x, look, pose)
    return cv2.resize(image, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA).astype(np.uint8)


def _person(image: Image, x: int, look: Look, pose: Pose) -> None:
    turn = {"nod": (0, 9), "shake": (9, 0)}.get(pose.gesture, (0, 0))
    dx = round(turn[0] * pose.sway * pose.gesture_share)
    dy = round(turn[1] * pose.sway * pose.gesture_share - 2 * pose.mouth)
    head = (x + dx, int(_H * 0.42) + dy)
    if look.long_hair:
        _ellipse(image, (x, head[1] + 25), (84, 112), look.hair)
    _torso(image, x, look)
    _head(image, head, look)
    _eyes(image, head, pose)
    _mouth(image, head, look, pose.mouth)
    _arm(image, x, look, pose)


def _torso(image: Image, x: int, look: Look) -> None:
    cv2.rectangle(image, (x - 26, 250), (x + 26, 330), _shade(look.skin, 0.78), -1)
    _ellipse(image, (x, 420), (118, 112), look.top)
    cv2.rectangle(image, (x - 118, 420), (x + 118, _H), look.top, -1)
    _ellipse(image, (x, 312), (34, 22), _shade(look.skin, 0.86))


def _head(image: Image, centre: tuple[int, int], look: Look) -> None:
    """Blend a head of soft light and shadow: forehead, cheeks and nose bright, eyes in shade."""
    size = _HEAD * 3
    left, top = centre[0] - size // 2, centre[1] - size // 2
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + size, _W), min(top + size, _H)
    part = np.s_[y0:y1, x0:x1]
    patch, mask = _draw_head(look)
    inside = np.s_[y0 - top : y1 - top, x0 - left : x1 - left]
    alpha = mask[inside]
    image[part] = (image[part] * (1 - alpha) + patch[inside] * alpha).astype(np.uint8)


@functools.cache
def _draw_head(look: Look) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    face = _blob((0.0, 0.05), (0.74, 0.98))
    light = 0.80 + 0.26 * _soft((0.0, -0.1), (0.5, 0.9), 0.3)
    for at, axes, gain in _LIGHTS:
        light += np.float32(gain) * _soft(at, axes, 0.09)
    skin = np.clip(light[..., None] * np.array(look.skin, np.float32), 0, 255)
    ears = np.maximum(*(_blob((x, 0.02), (0.11, 0.2)) for x in (-0.75, 0.75)))
    ears *= not look.long_hair
    patch = np.where(face[..., None] > 0.5, skin, np.array(_shade(look.skin, 0.8), np.float32))
    crown = _blob((0.0, -0.12), (0.84, 0.98)) * (1 - _blob((0.0, 0.18), (0.68, 0.86)))
    crown *= _rows() < (0.55 if look.long_hair else -0.1)
    patch = np.where(crown[..., None] > 0.5, np.array(look.hair, np.float32), patch)
    for side in (-1, 1):
        brow = _blob((side * _BROW[0], _BROW[1]), (0.2, 0.045))[..., None]
        patch = patch * (1 - brow) + np.array(_shade(look.hair, 0.6), np.float32) * brow
        nostril = 0.6 * _soft((side * 0.09, 0.26), (0.05, 0.03), 0.02)[..., None]
        patch *= 1 - nostril
    mask = np.maximum(np.maximum(face, ears), crown)[..., None]
    return patch.astype(np.float32), cv2.GaussianBlur(mask, (0, 0), 1.0)[..., None]


_LIGHTS = (
    ((-0.30, -0.16), (0.22, 0.13), -0.34),
    ((0.30, -0.16), (0.22, 0.13), -0.34),
    ((0.0, -0.62), (0.4, 0.16), 0.10),
    ((-0.36, 0.2), (0.2, 0.14), 0.13),
    ((0.36, 0.2), (0.2, 0.14), 0.13),
    ((0.0, -0.02), (0.06, 0.28), 0.20),
    ((0.0, 0.30), (0.16, 0.05), -0.12),
    ((0.0, 0.66), (0.22, 0.05), -0.14),
    ((0.0, 0.82), (0.16, 0.08), 0.08),
)
"""Where, how large and how bright: sockets, forehead, cheeks, nose, under nose and lip, chin."""


def _grid() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    axis = ((np.arange(_HEAD * 3) - _HEAD * 1.5) / _HEAD).astype(np.float32)
    return np.broadcast_to(axis, (axis.size, axis.size)), np.broadcast_to(
        axis[:, None], (axis.size, axis.size)
    )


def _rows() -> npt.NDArray[np.float32]:
    return _grid()[1]


def _blob(at: tuple[float, float], axes: tuple[float, float]) -> npt.NDArray[np.float32]:
    x, y = _grid()
    inside = ((x - at[0]) / axes[0]) ** 2 + ((y - at[1]) / axes[1]) ** 2 <= 1
    return inside.astype(np.float32)


def _soft(
    at: tuple[float, float], axes: tuple[float, float], blur: float
) -> npt.NDArray[np.float32]:
    return np.asarray(cv2.GaussianBlur(_blob(at, axes), (0, 0), blur * _HEAD), np.float32)


def _eyes(image: Image, head: tuple[int, int], pose: Pose) -> None:
    for side in (-1, 1):
        x, y = head[0] + round(side * _EYE[0] * _HEAD), head[1] + round(_EYE[1] * _HEAD)
        if pose.blink:
            cv2.ellipse(image, (x, y), (15, 5), 0, 0, 180, _DARK, 4, cv2.LINE_AA)
            continue
        _ellipse(image, (x, y), (15, 8), _WHITE)
        _ellipse(image, (x + round(5 * pose.facing), y), (8, 8), _DARK)
        cv2.ellipse(image, (x, y), (17, 9), 0, 190, 350, _DARK, 4, cv2.LINE_AA)


def _mouth(image: Image, head: tuple[int, int], look: Look, opening: float) -> None:
    at = (head[0], head[1] + round(_MOUTH * _HEAD))
    red, green, blue = look.skin
    lips = (int(red * 0.72), int(green * 0.45), int(blue * 0.45))
    gap = round(16 * opening)
    _ellipse(image, at, (27 - gap // 4, 7 + gap), lips)
    if gap > 1:
        _ellipse(image, at, (21 - gap // 4, gap), (60, 18, 22))
    else:
        cv2.line(image, (at[0] - 24, at[1]), (at[0] + 24, at[1]), (90, 36, 38), 2, cv2.LINE_AA)


_REACH: dict[Gesture, tuple[int, int]] = {
    "reach": (120, -90),
    "offer": (140, -110),
    "palm": (112, -160),
    "point": (128, -140),
}
"""Where the hand goes from its rest on the lap, in drawn pixels, towards the other speaker."""


def _arm(image: Image, x: int, look: Look, pose: Pose) -> None:
    if pose.gesture not in _REACH or pose.gesture_share <= 0:
        return
    side = 1 if pose.facing >= 0 else -1
    across, up = _REACH[pose.gesture]
    shoulder, rest = (x + side * 84, 390), (x + side * 60, _H + 30)
    goal = (x + side * across, 420 + up)
    share = pose.gesture_share
    hand = (
        round(rest[0] + (goal[0] - rest[0]) * share),
        round(rest[1] + (goal[1] - rest[1]) * share),
    )
    elbow = (x + side * 112, 450)
    for start, end in ((shoulder, elbow), (elbow, hand)):
        cv2.line(image, start, end, _shade(look.top, 0.82), 36, cv2.LINE_AA)
    _hand(image, hand, side, look, pose)


def _hand(image: Image, at: tuple[int, int], side: int, look: Look, pose: Pose) -> None:
    skin = _shade(look.skin, 0.95)
    if pose.holds:
        cv2.rectangle(image, (at[0] - 20, at[1] - 50), (at[0] + 24, at[1] + 4), pose.holds, -1)
    for finger in _FINGERS.get(pose.gesture, ()):
        tip = (at[0] + side * finger[0], at[1] + finger[1])
        cv2.line(image, at, tip, skin, 10, cv2.LINE_AA)
    _ellipse(image, at, (20, 20), skin)


_FINGERS: dict[Gesture, tuple[tuple[int, int], ...]] = {
    "palm": ((-16, -38), (-6, -46), (6, -46), (16, -38), (-30, -10)),
    "point": ((36, -20),),
    "reach": ((34, -12), (36, 0), (32, 10)),
}


def _shade(colour: Colour, gain: float) -> Colour:
    red, green, blue = (min(255, int(channel * gain)) for channel in colour)
    return red, green, blue


def _ellipse(image: Image, at: tuple[int, int], axes: tuple[int, int], colour: Colour) -> None:
    cv2.ellipse(image, at, axes, 0, 0, 360, colour, -1, cv2.LINE_AA)


def _ladder(image: Image) -> None:
    cv2.rectangle(image, (500, 50), (790, 440), (132, 104, 82), -1)
    cv2.rectangle(image, (524, 76), (766, 440), (150, 120, 96), -1)
    for x in (392, 462):
        cv2.line(image, (x, 60), (x, 440), (150, 116, 70), 10, cv2.LINE_AA)
    for y in range(90, 430, 48):
        cv2.line(image, (392, y), (462, y), (150, 116, 70), 8, cv2.LINE_AA)


def _window(image: Image) -> None:
    cv2.rectangle(image, (0, 0), (300, 70), (118, 142, 138), -1)
    cv2.rectangle(image, (40, 250), (812, 262), (150, 150, 140), -1)
    cv2.rectangle(image, (356, 40), (496, 190), (168, 206, 230), -1)
    cv2.rectangle(image, (356, 40), (496, 190), (240, 240, 236), 10)
    cv2.line(image, (426, 40), (426, 190), (240, 240, 236), 8)


def _shelf(image: Image) -> None:
    colours = ((186, 40, 40), (44, 130, 70), (60, 90, 150), (190, 150, 60))
    for row in (60, 300):
        for number in range(28):
            x = 10 + number * 30
            cv2.rectangle(image, (x, row - 46), (x + 20, row), colours[(number + row) % 4], -1)
        cv2.rectangle(image, (0, row), (_W, row + 10), (120, 96, 72), -1)


def _park(image: Image) -> None:
    _ellipse(image, (120, 480), (420, 190), (132, 168, 112))
    cv2.rectangle(image, (412, 150), (440, 420), (104, 76, 52), -1)
    for at in ((426, 90), (376, 130), (476, 130)):
        _ellipse(image, at, (70, 62), (82, 132, 74))
    for x in (520, 758):
        cv2.ellipse(image, (x, 480), (34, 110), 0, 0, 360, (40, 40, 46), 10, cv2.LINE_AA)
    for x in (556, 722):
        cv2.line(image, (x, 330), (x, 480), (90, 92, 100), 12, cv2.LINE_AA)


def _lamp(image: Image) -> None:
    cv2.rectangle(image, (420, 80), (432, 420), (60, 58, 66), -1)
    _ellipse(image, (426, 70), (34, 34), (250, 232, 170))
    cv2.rectangle(image, (0, 330), (_W, 350), (110, 82, 60), -1)


_PROPS = {"ladder": _ladder, "window": _window, "shelf": _shelf, "park": _park, "lamp": _lamp}
