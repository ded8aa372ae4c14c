"""Sampling is exact: the number seen in each picture is that of the first frame at or after t."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.errors import MediaError
from psychemme.media.frames import sample_frames, sample_times

VARIABLE = list(np.cumsum([0.0] + [0.02, 0.11, 0.04, 0.3, 0.033, 0.9] * 12).round(3))


def expected(times: list[float], asked: float) -> int:
    return next((i for i, t in enumerate(times) if t >= asked - 1e-5), len(times) - 1)


@given(st.floats(0.01, 5000), st.floats(0.1, 30), st.integers(1, 200))
def test_sample_times_start_at_zero_are_even_and_bounded(duration, fps, most):
    times = sample_times(duration, fps, most)
    assert times[0] == 0
    assert 1 <= len(times) <= most
    assert times[-1] < duration or len(times) == 1
    gaps = np.diff(times)
    assert not len(gaps) or gaps.max() - gaps.min() <= 0.0021
    assert not len(gaps) or gaps.min() >= 1 / fps - 0.002


def test_sample_times_of_round_lengths():
    assert sample_times(3.0) == (0.0, 1.0, 2.0)
    assert sample_times(3.2) == (0.0, 1.0, 2.0, 3.0)
    assert len(sample_times(64.0)) == len(sample_times(3600.0)) == 64
    with pytest.raises(ValueError, match="positive"):
        sample_times(0)
    with pytest.raises(ValueError, match="positive"):
        sample_times(math.nan)


@pytest.mark.parametrize(
    ("name", "times", "options"),
    [
        ("constant.mp4", [i / 25 for i in range(300)], {}),
        ("ntsc.mp4", [i * 1001 / 30000 for i in range(300)], {"time_base": Fraction(1, 30000)}),
        ("ntsc.mkv", [round(i * 1001 / 30000, 3) for i in range(300)], {}),
        ("variable.mp4", VARIABLE, {}),
        ("variable.mkv", VARIABLE, {}),
        ("sparse_keys.mp4", [i / 25 for i in range(400)], {"key_every": 1000}),
        ("hevc.mp4", [i / 25 for i in range(200)], {"codec": "libx265"}),
        ("vp9.webm", [i / 25 for i in range(100)], {"codec": "libvpx-vp9"}),
    ],
)
@pytest.mark.parametrize("step", [0.1, 1.0, 3.7])
def test_sampled_frame_is_the_first_at_or_after(make_video, number_in, name, times, options, step):
    path = make_video(name, times, **options)
    asked = [round(t, 3) for t in np.arange(0, times[-1] + 2 * step, step)]
    for frame in sample_frames(path, asked, max_side=160):
        number = number_in(frame.image)
        assert number == expected(times, frame.asked)
        assert frame.time == pytest.approx(times[number], abs=0.0006)


def test_start_other_than_zero_is_measured_from_presentation_start(make_video, ffmpeg, number_in):
    times = [i / 25 for i in range(200)]
    late = make_video("plain.mp4", times).with_name("late.ts")
    ffmpeg("-i", late.with_name("plain.mp4"), "-c", "copy", "-output_ts_offset", 7.3, late)
    for frame in sample_frames(late, [0.0, 1.0, 1.01, 6.5], max_side=160):
        assert number_in(frame.image) == expected(times, frame.asked)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation_is_undone(make_video, ffmpeg, number_in, degrees):
    times = [i / 25 for i in range(100)]
    plain = make_video("plain.mp4", times)
    stored, shown = plain.with_name("stored.mp4"), plain.with_name("shown.mp4")
    turn = {90: "transpose=1", 180: "hflip,vflip", 270: "transpose=2"}[degrees]
    ffmpeg("-i", plain, "-vf", turn, "-c:v", "libx264", "-crf", 12, stored)
    ffmpeg("-display_rotation", degrees, "-i", stored, "-c", "copy", shown)
    for frame in sample_frames(shown, [0.0, 1.5, 3.9], max_side=160):
        assert frame.image.shape == (96, 160, 3)
        assert number_in(frame.image) == expected(times, frame.asked)
        assert frame.image[90, 5, 0] > 128 > frame.image[90, 150, 0]


def test_mirrored_display_matrix_is_undone(make_video, ffmpeg, number_in):
    plain = make_video("plain.mp4", [i / 25 for i in range(30)])
    stored, shown = plain.with_name("stored.mp4"), plain.with_name("shown.mp4")
    ffmpeg("-i", plain, "-vf", "hflip", "-c:v", "libx264", stored)
    ffmpeg("-display_hflip", "-i", stored, "-c", "copy", shown)
    (frame,) = sample_frames(shown, [1.0], max_side=160)
    assert number_in(frame.image) == 25


def test_nothing_at_or_after_until_is_shown(make_video, number_in):
    path = make_video("a.mp4", [i / 10 for i in range(100)])
    frames = list(sample_frames(path, [0.0, 4.0, 7.95, 8.5], max_side=160, until=8.0))
    assert [number_in(f.image) for f in frames] == [0, 40, 79, 79]


def test_pictures_are_never_enlarged_and_fit_the_side(make_video):
    path = make_video("a.mp4", [0.0, 0.1])
    assert next(sample_frames(path, [0], max_side=999)).image.shape == (96, 160, 3)
    assert next(sample_frames(path, [0], max_side=80)).image.shape == (48, 80, 3)


def test_times_must_ascend_and_faults_are_media_errors(make_video, tmp_path):
    path = make_video("a.mp4", [0.0, 0.1])
    with pytest.raises(ValueError, match="ascend"):
        list(sample_frames(path, [1.0, 0.5], max_side=80))
    with pytest.raises(MediaError, match="no picture"):
        list(sample_frames(path, [0.0], max_side=80, until=0.0))
