"""Signals of made and real clips, and the same seen from an episode."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.episode import FaceSample, Interval, Sample, Signals, VoiceTurn
from psychemme.media.audio import RATE, load_audio
from psychemme.media.probe import probe
from psychemme.media.signals import measure, window
from psychemme.media.speech import pauses_between, speech_intervals
from psychemme.media.voices import voice_turns

SIGNALS = Signals(
    speech=(Interval(start=1, end=4), Interval(start=5, end=12)),
    pauses=(Interval(start=4, end=5),),
    turns=(VoiceTurn(start=1, end=4, voice=1), VoiceTurn(start=5, end=12, voice=2)),
    faces=(FaceSample(time=3.0), FaceSample(time=6.0, boxes=((0.1, 0.1, 0.2, 0.2),))),
    motion=(Sample(time=4.5, value=0.1), Sample(time=6.25, value=0.2)),
    shots=(4.5, 7.0),
    blur=100.0,
    brightness=0.5,
)


def test_a_window_is_cut_moved_and_renumbered():
    assert window(SIGNALS, 4.5, 10.0) == Signals(
        speech=(Interval(start=0.5, end=5.5),),
        pauses=(Interval(start=0, end=0.5),),
        turns=(VoiceTurn(start=0.5, end=5.5, voice=1),),
        faces=(FaceSample(time=1.5, boxes=((0.1, 0.1, 0.2, 0.2),)),),
        motion=(Sample(time=1.75, value=0.2),),
        shots=(2.5,),
        blur=100.0,
        brightness=0.5,
    )


@given(st.floats(0, 14), st.floats(0.01, 14))
def test_a_window_stays_inside_itself(start, length):
    seen = window(SIGNALS, start, start + length)
    for span in (*seen.speech, *seen.pauses, *seen.turns):
        assert 0 <= span.start < span.end <= round(length, 3) + 0.001
    assert all(0 <= m.time <= round(length, 3) for m in (*seen.faces, *seen.motion))


def test_pauses_lie_between_stretches_and_short_ones_do_not_count():
    speech = [Interval(start=1, end=2), Interval(start=2.1, end=3), Interval(start=4, end=5)]
    assert pauses_between(speech) == (Interval(start=3, end=4),)


def test_no_sound_has_no_speech():
    silence = np.zeros(RATE * 2, dtype=np.float32)
    assert speech_intervals(silence) == speech_intervals(silence[:0]) == ()
    assert voice_turns(silence, ()) == ()


def tones(pitch: float, seconds: float) -> np.ndarray:
    """A buzzing sound whose pitch and loudness wander as a voice's do."""
    time = np.arange(int(seconds * RATE)) / RATE
    phase = 2 * np.pi * np.cumsum(pitch * (1 + 0.1 * np.sin(2 * np.pi * 0.7 * time))) / RATE
    wave = sum(np.sin(k * phase) / k for k in range(1, 12)) * (1 + 0.5 * np.sin(9 * time))
    noise = np.random.default_rng(int(pitch)).normal(0, 0.05, len(time))
    return (0.2 * wave + noise).astype(np.float32)


def test_two_pitches_are_two_voices_and_one_is_one():
    mixed = np.concatenate([tones(110, 5), tones(230, 5), tones(110, 5)])
    turns = voice_turns(mixed, [Interval(start=0, end=15)])
    assert [t.voice for t in turns] == [1, 2, 1]
    assert [t.start for t in turns] == pytest.approx([0, 5, 10], abs=0.6)
    assert turns[-1].end == 15
    assert {t.voice for t in voice_turns(tones(110, 0.4), [Interval(start=0, end=0.4)])} == {1}


def test_cut_motion_and_light_of_a_made_clip(tmp_path, ffmpeg):
    path = tmp_path / "cut.mp4"
    scene = "color={}:size=320x240:rate=25:duration=3"
    ffmpeg(
        "-f", "lavfi", "-i", scene.format("red"), "-f", "lavfi", "-i", scene.format("blue"),
        "-filter_complex", "concat=n=2", path,
    )  # fmt: skip
    facts = probe(path)
    signals = measure(path, facts, load_audio(path))
    assert signals.shots == (3.0,)
    assert [s.time for s in signals.motion if s.value > 0.05] == [3.0]
    assert [f.time for f in signals.faces] == [0, 1, 2, 3, 4, 5]
    assert signals.blur == pytest.approx(0, abs=1)
    assert signals.speech == ()
    assert signals == measure(path, facts, load_audio(path))


def turn_agreement(turns: tuple[VoiceTurn, ...], reference: Path) -> float:
    """Share of time with one true speaker on which turns agree, under the better naming."""
    time = np.arange(0, 30, 0.01)
    truth = np.zeros((len(time), 2), dtype=bool)
    for line in reference.read_text().splitlines():
        fields = line.split()
        start, length, speaker = float(fields[3]), float(fields[4]), int(fields[7][-1])
        truth[(time >= start) & (time < start + length), speaker] = True
    voices = np.zeros(len(time), dtype=int)
    for turn in turns:
        voices[(time >= turn.start) & (time < turn.end)] = turn.voice
    kept = (truth.sum(axis=1) == 1) & (voices > 0)
    share = float(np.mean((voices[kept] == 1) == truth[kept, 0]))
    return max(share, 1 - share)


def test_telephone_call_speech_and_turns(shared_data):
    audio = load_audio(shared_data / "speech" / "pyannote_sample.wav")
    speech = speech_intervals(audio)
    assert speech[0].start == pytest.approx(6.69, abs=0.2)
    assert sum(s.end - s.start for s in speech) == pytest.approx(22.5, abs=1.5)
    agreement = turn_agreement(
        voice_turns(audio, speech), shared_data / "speech" / "pyannote_sample.rttm"
    )
    assert agreement > 0.65


@pytest.mark.slow
def test_faces_are_found_where_they_are(shared_data):
    def share(name: str) -> float:
        path = shared_data / "clips" / name
        faces = measure(path, probe(path), np.zeros(0, dtype=np.float32)).faces
        return float(np.mean([bool(f.boxes) for f in faces]))

    assert share("latentsync_demo3.mp4") > 0.9
    assert share("short_hamilton_clip.mp4") > 0.7
    assert share("flipping_a_pancake.mkv") < 0.2
