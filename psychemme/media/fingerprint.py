"""What a clip looks and sounds like whatever file it is in: survives encoders, sizes and trims.

Pictures are hashed at four a second by the signs of their low cosine frequencies (Zauner, 2010),
whole and with borders cut off, so that a cropped copy finds its original. Mirroring a picture turns
the signs of the odd horizontal frequencies, so the hash of the mirror image needs no decoding.
Sound is hashed at eight a second by the signs of energy differences between bands and moments
(Haitsma and Kalker, 2002).
"""

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychemme.episode import Value
from psychemme.media.audio import RATE, Sound
from psychemme.media.frames import Frame, sample_frames, sample_times
from psychemme.media.probe import Probe

VERSION = 1
PICTURES_PER_SECOND = 4
SOUNDS_PER_SECOND = 8
CROPS = (
    (0.0, 0.0, 0.0, 0.0),
    *((cut,) * 4 for cut in (0.025, 0.05, 0.09)),
    *((top, 0.06 - top, left, 0.06 - left) for top in (0.0, 0.06) for left in (0.0, 0.06)),
)
"""What is cut off a picture before it is hashed: top, bottom, left and right as fractions of it."""

_SIDE, _LOW = 32, 8
_MAX_SIDE = 256
_FLAT = 4.0
_HOP, _WINDOW = RATE // SOUNDS_PER_SECOND, 4096
_BANDS = 17
_LOWEST, _HIGHEST = 200.0, 4000.0
_QUIET = 1e-3

Hashes = NDArray[np.uint64]
Masks = NDArray[np.bool_]


class Fingerprint(Value):
    """A clip's hashes as hex, little-endian, in order of time.

    `pictures` holds one 64-bit hash for each crop of `CROPS`, at each quarter of a second; a
    picture without contrast has hash 0. `motion` is the mean absolute change (1/10,000 of full
    scale) up to each picture, `letters` what `count_letters` finds in it. `sounds` holds 16 bits
    for each eighth of a second, `loud` whether anything is heard.
    """

    pictures: str = ""
    motion: tuple[int, ...] = ()
    letters: tuple[int, ...] = ()
    sounds: str = ""
    loud: str = ""

    def picture_hashes(self) -> Hashes:
        """Return the pictures' hashes, of shape (times, crops)."""
        found = np.frombuffer(bytes.fromhex(self.pictures), dtype="<u8")
        return found.reshape(-1, len(CROPS)).astype(np.uint64)

    def sound_hashes(self) -> tuple[NDArray[np.uint16], Masks]:
        """Return the sound's hashes and where anything is heard, each of shape (times,)."""
        sounds = np.frombuffer(bytes.fromhex(self.sounds), dtype="<u2").astype(np.uint16)
        loud = np.unpackbits(np.frombuffer(bytes.fromhex(self.loud), dtype=np.uint8))
        return sounds, loud[: len(sounds)].astype(bool)


def fingerprint(path: Path, probe: Probe, audio: Sound) -> Fingerprint:
    """Return the fingerprint of the clip at `path`, whose sound is mono 16 kHz `audio`.

    Raises MediaError where the clip cannot be decoded.
    """
    times = sample_times(probe.duration, PICTURES_PER_SECOND, most=10**9)
    pictures, motion, letters = _seen(sample_frames(path, times, _MAX_SIDE))
    sounds, loud = hash_sound(audio)
    return Fingerprint(
        pictures=pictures.astype("<u8").tobytes().hex(),
        motion=tuple(motion),
        letters=tuple(letters),
        sounds=sounds.astype("<u2").tobytes().hex(),
        loud=np.packbits(loud).tobytes().hex(),
    )


def hash_picture(gray: NDArray[np.uint8]) -> list[int]:
    """Return the hash of a grey picture for each crop of `CROPS`; 0 where it has no contrast.

    Bit 8 v + u is the sign of the cosine frequency v down and u across; bit 0 is 1.
    """
    import cv2

    height, width = gray.shape
    found = []
    for top, bottom, left, right in CROPS:
        rows = slice(round(height * top), height - round(height * bottom))
        part = gray[rows, round(width * left) : width - round(width * right)]
        small = cv2.resize(part, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        signs = cv2.dct(small)[:_LOW, :_LOW].ravel() > 0
        signs[0] = True
        found.append(_as_number(signs) if float(small.std()) > _FLAT else 0)
    return found


def mirrored(hashes: Hashes) -> Hashes:
    """Return the hashes of the same pictures seen in a mirror; those without contrast stay."""
    turned = hashes ^ np.uint64(_ODD)
    return np.where(hashes == 0, hashes, turned)


def hash_sound(audio: Sound) -> tuple[NDArray[np.uint16], Masks]:
    """Return 16 bits for each eighth of a second of mono 16 kHz sound, and where it is loud."""
    count = max(0, (len(audio) - _WINDOW) // _HOP + 1)
    if count < 2:
        return np.zeros(0, np.uint16), np.zeros(0, np.bool_)
    weights, energy = np.hanning(_WINDOW).astype(np.float32), np.empty((count, _BANDS))
    volume = np.empty(count)
    for place in range(count):
        part = audio[place * _HOP : place * _HOP + _WINDOW]
        power = np.abs(np.fft.rfft(part * weights)) ** 2
        energy[place] = np.add.reduceat(power, _edges())[:_BANDS]
        volume[place] = float(np.sqrt(np.mean(part**2)))
    across = np.diff(np.log(energy + 1e-9), axis=1)
    signs = np.diff(across, axis=0, prepend=across[:1]) > 0
    bits = signs.astype(np.uint16) << np.arange(_BANDS - 1, dtype=np.uint16)
    loud = volume > _QUIET
    loud[0] = False
    return bits.sum(axis=1).astype(np.uint16), loud


def _seen(frames: Iterable[Frame]) -> tuple[Hashes, list[int], list[int]]:
    import cv2

    cv2.setNumThreads(1)
    hashes: list[list[int]] = []
    motion: list[int] = []
    letters: list[int] = []
    before: NDArray[np.int16] | None = None
    for frame in frames:
        gray = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
        scaled = cv2.resize(gray, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
        small = np.asarray(scaled, dtype=np.int16)
        hashes.append(hash_picture(gray))
        change = 0.0 if before is None else float(np.abs(small - before).mean()) / 255
        motion.append(round(change * 10_000))
        letters.append(count_letters(gray))
        before = small
    return np.array(hashes, dtype=np.uint64).reshape(-1, len(CROPS)), motion, letters


def count_letters(gray: NDArray[np.uint8]) -> int:
    """Return how many shapes of the size of letters a grey picture holds; 0 off an even ground.

    The ground is even where over half of the picture is within 12 of its commonest grey level.
    """
    import cv2

    levels = np.bincount(gray.ravel(), minlength=256)
    ground = int(levels.argmax())
    shapes = (np.abs(gray.astype(np.int16) - ground) > 48).astype(np.uint8)
    even = float(levels[max(0, ground - 12) : ground + 13].sum()) / gray.size
    if even < 0.5:
        return 0
    height, width = gray.shape
    boxes = cv2.connectedComponentsWithStats(shapes, connectivity=8)[2][1:]
    tall, wide = boxes[:, cv2.CC_STAT_HEIGHT] / height, boxes[:, cv2.CC_STAT_WIDTH] / width
    return int(((tall > 0.015) & (tall < 0.12) & (wide < 0.3)).sum())


def _as_number(signs: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


_ODD = _as_number(np.arange(_LOW * _LOW) % 2 == 1)


@cache
def _edges() -> list[int]:
    """Return the first frequency bin of each band, and of what lies above the last."""
    ratio = math.log(_HIGHEST / _LOWEST) / _BANDS
    hertz = [_LOWEST * math.exp(ratio * band) for band in range(_BANDS + 1)]
    return [round(h * _WINDOW / RATE) for h in hertz]
