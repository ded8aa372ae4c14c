"""Sound lines up with presentation time."""

import io
import wave

import numpy as np
import pytest

from psychemme.errors import MediaError
from psychemme.media.audio import RATE, load_audio, wav


def onset(sound) -> float:
    """Seconds until the tone starts."""
    return int(np.argmax(np.abs(sound) > 0.02)) / RATE


def test_samples_line_up_with_the_picture_clock(talking_clip):
    sound = load_audio(talking_clip)
    assert sound.dtype == np.float32
    assert len(sound) / RATE == pytest.approx(4.0, abs=0.1)
    assert onset(sound) == pytest.approx(1.5, abs=0.02)


@pytest.mark.parametrize(("start", "end"), [(1.0, 2.0), (1.3, 3.9), (0.0, 2.0)])
def test_a_window_is_cut_exactly(talking_clip, start, end):
    sound = load_audio(talking_clip, start, end)
    assert len(sound) == round((end - start) * RATE)
    assert onset(sound) == pytest.approx(1.5 - start, abs=0.02)


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_sound_that_starts_late_is_padded(talking_clip, ffmpeg, tmp_path, suffix):
    late = tmp_path / f"late.{suffix}"
    source = ["-i", talking_clip, "-itsoffset", 0.7, "-i", talking_clip]
    ffmpeg(*source, "-map", "0:v", "-map", "1:a", "-c", "copy", late)
    assert onset(load_audio(late)) == pytest.approx(2.2, abs=0.03)


def test_holes_in_the_sound_are_silence(talking_clip, ffmpeg, tmp_path):
    holed = tmp_path / "holed.mkv"
    drop = "noise=drop='between(n,94,140)'"  # packets of 1024 samples: 2 to 3 s
    ffmpeg("-i", talking_clip, "-c", "copy", "-bsf:a", drop, holed)
    sound = load_audio(holed)
    assert len(sound) / RATE == pytest.approx(4.0, abs=0.1)
    assert np.abs(sound[int(2.1 * RATE) : int(2.9 * RATE)]).max() < 0.01
    assert np.abs(sound[int(3.2 * RATE) : int(3.8 * RATE)]).max() > 0.02


def test_no_track_is_no_sound(make_video):
    assert len(load_audio(make_video("mute.mp4", [0, 0.5, 1.0]))) == 0


def test_a_window_after_the_end_is_empty(talking_clip):
    assert len(load_audio(talking_clip, 100.0, 101.0)) <= 0.1 * RATE


def test_wav_holds_the_samples():
    sound = np.array([0, 0.5, -0.5, 2.0], dtype=np.float32)
    with wave.open(io.BytesIO(wav(sound))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (RATE, 1, 4)
        samples = np.frombuffer(file.readframes(4), "<i2")
    assert samples.tolist() == [0, 16383, -16383, 32767]


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(MediaError, match="directory"):
        load_audio(tmp_path)
