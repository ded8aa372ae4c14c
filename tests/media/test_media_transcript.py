"""Recognition: right, repeatable, flagged; and transcripts cut to a window."""

import shutil
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from psychemme.episode import Utterance, Word
from psychemme.errors import ConfigError
from psychemme.media import asr_model
from psychemme.media.asr_model import bundled_model, is_bundled_installed
from psychemme.media.audio import load_audio
from psychemme.media.transcript import (
    load_recogniser,
    recogniser_flags,
    transcribe,
    window_transcript,
)


@pytest.fixture(scope="session")
def recogniser(tmp_path_factory):
    if not is_bundled_installed():
        pytest.skip("the bundled speech model is not installed")
    return load_recogniser(bundled_model(tmp_path_factory.mktemp("models")))


class FakeRecogniser:
    def __init__(self, segments):
        self.segments, self.options = segments, {}

    def transcribe(self, audio, **options):
        self.options = options
        return iter(self.segments), None


def heard(words, no_speech=0.0):
    """A recogniser's segment from (start, end, text) triples."""
    made = [
        SimpleNamespace(
            start=np.float64(a), end=np.float64(b), word=" " + t, probability=np.float32(0.5)
        )
        for a, b, t in words
    ]
    text = "".join(w.word for w in made)
    return SimpleNamespace(text=text, words=made, no_speech_prob=no_speech)


@pytest.mark.slow
def test_known_speech_is_right_and_repeatable(recogniser, shared_data):
    audio = load_audio(shared_data / "speech" / "whisper_jfk.flac")
    first, second = transcribe(audio, recogniser), transcribe(audio, recogniser)
    assert first == second
    text = " ".join(u.text for u in first)
    assert text == (
        "And so my fellow Americans, ask not what your country can do for you, "
        "ask what you can do for your country."
    )
    assert not any(u.flags for u in first)
    words = [w for u in first for w in u.words]
    assert all(a.start <= b.start for a, b in pairwise(words))


@pytest.mark.slow
def test_silence_says_nothing(recogniser):
    assert transcribe(np.zeros(16_000 * 5, dtype=np.float32), recogniser) == ()


def test_sentences_are_put_together_and_apart():
    first = heard([(0.1, 0.4, "Hello."), (0.5, 0.9, "We"), (0.9, 1.2, "have")])
    second = heard([(1.3, 1.6, "been"), (3.0, 3.2, "there?")], no_speech=0.9)
    model = FakeRecogniser([first, second])
    utterances = transcribe(np.zeros(16_000 * 4, dtype=np.float32), model)
    assert [(u.start, u.end, u.text) for u in utterances] == [
        (0.1, 0.4, "Hello."),
        (0.5, 1.6, "We have been"),
        (3.0, 3.2, "there?"),
    ]
    assert [u.flags for u in utterances] == [(), ("no_speech",), ("no_speech",)]
    assert model.options["temperature"] == 0.0
    assert model.options["vad_filter"]


def test_times_end_with_the_sound():
    model = FakeRecogniser([heard([(0.5, 9.0, "long"), (9.0, 9.5, "gone")])])
    (one,) = transcribe(np.zeros(16_000, dtype=np.float32), model)
    assert (one.end, one.text) == (1.0, "long")


@pytest.mark.parametrize(
    ("text", "no_speech", "flags"),
    [
        ("Nice to meet you, I am new here.", 0.1, ()),
        ("Thank you.", 0.9, ("no_speech",)),
        ("no no no no", 0.0, ("repetition",)),
        ("I'm sorry, I'm sorry, I'm sorry, I'm sorry", 0.0, ("repetition",)),
        ("so it was " * 30, 0.0, ("repetition", "compression")),
    ],
)
def test_suspected_inventions_are_flagged(text, no_speech, flags):
    assert recogniser_flags(text, no_speech) == flags


def test_a_window_keeps_what_lies_mostly_inside():
    words = (
        Word(start=8.0, end=9.0, text="before"),
        Word(start=9.8, end=10.6, text="we"),
        Word(start=10.6, end=13.0, text="go"),
    )
    border = Utterance(start=8.0, end=13.0, text="before we go", words=words)
    inside = Utterance(start=15.0, end=16.0, text="yes", flags=("no_speech",))
    outside = Utterance(start=18.0, end=30.0, text="later")
    first, second = window_transcript([border, inside, outside], 10.0, 20.0)
    assert (first.start, first.end, first.text) == (0.0, 3.0, "we go")
    assert [(w.start, w.end) for w in first.words] == [(0.0, 0.6), (0.6, 3.0)]
    assert second == Utterance(start=5.0, end=6.0, text="yes", flags=("no_speech",))


def test_the_model_is_joined_once_and_checked(tmp_path, monkeypatch):
    if not is_bundled_installed():
        pytest.skip("the bundled speech model is not installed")
    monkeypatch.setattr(asr_model, "MODEL_SHA256", "0" * 64)
    with pytest.raises(ConfigError, match="SHA-256"):
        bundled_model(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_package_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(asr_model, "_FIRST", "psychemme-no-such-package")
    assert not is_bundled_installed()
    with pytest.raises(ConfigError, match="asr-model"):
        bundled_model(tmp_path)
    shutil.rmtree(tmp_path)
