"""A clip is known again in another file; another clip is not taken for it."""

from collections.abc import Callable, Iterable
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.screening.duplicates import groups, matches
from psychemme.media.audio import RATE, load_audio
from psychemme.media.fingerprint import (
    CROPS,
    Fingerprint,
    count_letters,
    fingerprint,
    hash_picture,
    hash_sound,
    mirrored,
)
from psychemme.media.probe import probe

Ffmpeg = Callable[..., None]
SHORT = ("asl_sorry.mkv", "mmaction_skeleton.mp4")
EVEN = "scale=trunc(iw*{0}/2)*2:trunc(ih*{0}/2)*2"
CROP = "crop=trunc(iw*{0}/2)*2:trunc(ih*{0}/2)*2"
COPIES = {
    "encoded.mp4": ("-crf", "34"),
    "scaled.mp4": ("-vf", EVEN.format(0.5)),
    "cropped.mp4": ("-vf", CROP.format(0.94)),
    "corner.mp4": ("-vf", CROP.format(0.93) + ":0:0"),
    "mirrored.mp4": ("-vf", "hflip"),
    "remuxed.mkv": ("-c", "copy"),
    "trimmed.mp4": ("-ss", "0.5"),
    "off the grid.mp4": ("-ss", "0.37"),
    "everything.mkv": (
        "-ss",
        "0.5",
        "-vf",
        f"{CROP.format(0.95)},{EVEN.format(0.6)}",
        "-crf",
        "32",
    ),
}


def print_of(path: Path) -> Fingerprint:
    facts = probe(path)
    return fingerprint(path, facts, load_audio(path, end=facts.duration))


def picture(seed: int) -> np.ndarray:
    """A grey picture with structure at every low frequency."""
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 12)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (192, 144), interpolation=cv2.INTER_CUBIC))


def bits(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def made_copies(
    ffmpeg: Ffmpeg, clip: Path, folder: Path, kinds: Iterable[str] = COPIES
) -> list[Path]:
    encode = ("-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac")
    found = []
    for kind in kinds:
        options = COPIES[kind]
        target = folder / f"{clip.stem}.{kind}"
        ffmpeg("-i", clip, *(options if "copy" in options else (*encode, *options)), target)
        found.append(target)
    return found


def assert_grouped(clips: list[Path], copies: list[Path]) -> None:
    prints = {path.name: print_of(path) for path in [*clips, *copies]}
    expected: dict[str, list[str]] = {}
    for name in prints:
        expected.setdefault(name.split(".")[0], []).append(name)
    assert groups(matches(prints)) == tuple(sorted(tuple(sorted(g)) for g in expected.values()))


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_the_hash_of_a_mirror_image_needs_no_picture(seed: int) -> None:
    seen = hash_picture(picture(seed))
    turned = hash_picture(np.ascontiguousarray(picture(seed)[:, ::-1]))
    centred = np.array(seen[:4], dtype=np.uint64)
    for told, found in zip(mirrored(centred), turned[:4], strict=True):
        assert bits(int(told), found) <= 4
        assert bits(int(told), seen[0]) > 10


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_a_smaller_noisier_picture_keeps_its_hash_and_another_has_another(seed: int) -> None:
    one, other = picture(seed), picture(seed + 1)
    noise = np.random.default_rng(seed).normal(0, 6, (72, 96))
    small = np.clip(cv2.resize(one, (96, 72)) + noise, 0, 255).astype(np.uint8)
    assert bits(hash_picture(one)[0], hash_picture(small)[0]) <= 8
    assert bits(hash_picture(one)[0], hash_picture(other)[0]) > 12


def test_a_cropped_picture_is_like_its_originals_crop() -> None:
    whole = picture(3)
    height, width = whole.shape
    cropped = whole[round(height * 0.05) : -round(height * 0.05), round(width * 0.05) : -10]
    distances = [bits(found, hash_picture(cropped)[0]) for found in hash_picture(whole)]
    assert min(distances) <= 4
    assert len(distances) == len(CROPS)


def test_a_picture_without_contrast_has_no_hash_and_none_in_a_mirror() -> None:
    seen = hash_picture(np.full((90, 160), 16, dtype=np.uint8))
    assert seen == [0] * len(CROPS)
    assert not mirrored(np.array(seen, dtype=np.uint64)).any()


def test_sound_is_known_at_another_volume_and_in_noise() -> None:
    random = np.random.default_rng(1)
    steps = np.repeat(random.uniform(200, 3000, 40), RATE // 5)
    tune = (0.3 * np.sin(np.cumsum(2 * np.pi * steps / RATE))).astype(np.float32)
    louder = (tune * 2 + random.normal(0, 0.005, len(tune))).astype(np.float32)
    other = (0.3 * np.sin(np.cumsum(2 * np.pi * steps[::-1] / RATE))).astype(np.float32)
    (one, loud), (again, _), (unlike, _) = map(hash_sound, (tune, louder, other))
    assert loud[1:].all()
    assert np.bitwise_count(one ^ again).mean() / 16 < 0.3
    assert np.bitwise_count(one ^ unlike).mean() / 16 > 0.38


@pytest.mark.parametrize("length", [0, 100, 4096, 5000])
def test_too_little_sound_has_no_hash(length: int) -> None:
    sounds, loud = hash_sound(np.zeros(length, dtype=np.float32))
    assert len(sounds) == len(loud) == 0


def test_silence_is_not_loud() -> None:
    assert not hash_sound(np.zeros(RATE, dtype=np.float32))[1].any()


def test_lettering_is_told_from_pictures() -> None:
    card = np.full((144, 256), 10, dtype=np.uint8)
    for row, text in enumerate(("DIRECTED BY A N OTHER", "MUSIC BY SOMEBODY", "THE END OF IT")):
        cv2.putText(card, text, (20, 40 + 35 * row), cv2.FONT_HERSHEY_SIMPLEX, 0.5, 240, 1)
    assert count_letters(card) >= 20
    assert count_letters(picture(5)) == 0
    assert count_letters(np.full((144, 256), 10, dtype=np.uint8)) == 0


def test_a_fingerprint_is_the_same_after_json(talking_clip: Path) -> None:
    made = print_of(talking_clip)
    again = Fingerprint.model_validate_json(made.model_dump_json())
    assert made == again == print_of(talking_clip)
    assert made.picture_hashes().shape == (16, len(CROPS))
    sounds, loud = made.sound_hashes()
    assert len(sounds) == len(loud)
    assert loud.any()
    assert not loud[:8].any()  # the tone starts at 1.5 s


def test_copies_of_short_clips_are_grouped(
    shared_data: Path, tmp_path: Path, ffmpeg: Ffmpeg
) -> None:
    clips = [shared_data / "clips" / name for name in SHORT]
    kinds = ("everything.mkv", "remuxed.mkv", "mirrored.mp4")
    copies = [copy for clip in clips for copy in made_copies(ffmpeg, clip, tmp_path, kinds)]
    assert_grouped(clips, copies)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_copies_of_every_clip_are_grouped_and_different_clips_are_not(
    shared_data: Path, tmp_path: Path, ffmpeg: Ffmpeg
) -> None:
    clips = sorted((shared_data / "clips").iterdir())
    copies = [copy for clip in clips for copy in made_copies(ffmpeg, clip, tmp_path)]
    assert_grouped(clips, copies)


@pytest.mark.slow
def test_two_parts_of_one_recording_are_two_clips(
    shared_data: Path, tmp_path: Path, ffmpeg: Ffmpeg
) -> None:
    clip = shared_data / "clips" / "latentsync_demo3.mp4"
    parts = {}
    for start in ("0", "10"):
        part = tmp_path / f"from{start}.mp4"
        ffmpeg("-ss", start, "-t", "9", "-i", clip, "-vf", "scale=270:-2", part)
        parts[part.name] = print_of(part)
    assert matches(parts) == ()
