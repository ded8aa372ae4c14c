"""Transcripts beside a clip: read right, without names, or refused by name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.errors import MediaError
from psychemme.media.labels import clean_line, clean_text
from psychemme.media.sidecar import find_sidecar, read_sidecar

SRT = "1\n00:00:01,000 --> 00:00:02,500\nANNA: Hello <i>there</i>\n\n"


def read(tmp_path, name, text, duration=60.0):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_sidecar(path, duration)


def refusal(tmp_path, name, text, duration=60.0) -> str:
    with pytest.raises(MediaError) as caught:
        read(tmp_path, name, text, duration)
    assert name in caught.value.problem
    assert caught.value.action
    return caught.value.problem


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ANNA: hello", "hello"),
        ("Anna: hello", "hello"),
        ("- Anna: hello", "hello"),
        (">> ANNA: hello", "hello"),
        (">> hello", "hello"),
        ("Dr. Smith: hello", "hello"),
        ("Anna (whispering): hello", "hello"),
        ("ANNA AND BOB: hello", "hello"),
        ("Émilie: bonjour", "bonjour"),
        ("Speaker 1: hello", "hello"),
        ("SPEAKER_00: hello", "hello"),
        ("[SPEAKER_00] hello", "hello"),
        ("[Anna] hello", "hello"),
        ("(ANNA): hello", "hello"),
        ("<v Anna>hello</v>", "hello"),
        ("<v.loud Anna Smith>hello", "hello"),
        ("<font color='red'>Anna:</font> hello", "hello"),
        ("ANNA:", ""),
        ("[laughs] hello", "[laughs] hello"),
        ("[Laughs] hello", "[Laughs] hello"),
        ("meet at 10:30", "meet at 10:30"),
        ("and then she said: go", "and then she said: go"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("I <3 you", "I <3 you"),
        ("one\x07 two\u202e three", "one two three"),
    ],
)
def test_names_and_markup_go_and_words_stay(line, text):
    assert clean_line(line) == text


@given(st.text())
def test_cleaned_text_is_one_printable_line(text):
    cleaned = clean_text(text)
    assert cleaned.isprintable()
    assert cleaned == " ".join(cleaned.split())


def test_subrip(tmp_path):
    (one,) = read(tmp_path, "a.srt", SRT)
    assert (one.start, one.end, one.text, one.words) == (1.0, 2.5, "Hello there", ())


def test_webvtt_with_voices_and_two_lines(tmp_path):
    text = (
        "\ufeffWEBVTT\n\nNOTE made by hand\n\n00:03.000 --> 00:04.000 align:start\n"
        "- ANNA: Hi!\n- <v.loud Bob>Hey.\n\n00:01.000 --> 00:02.500\n<v Anna>Hello</v>\n"
    )
    utterances = read(tmp_path, "a.vtt", text)
    assert [(u.start, u.text) for u in utterances] == [(1.0, "Hello"), (3.0, "Hi! Hey.")]


def test_whisper_json_with_words_and_speakers(tmp_path):
    words = [
        {"word": " ANNA:", "start": 0.1, "end": 0.2, "speaker": "Anna"},
        {"word": " Hello", "start": 0.3, "end": 0.31234, "probability": 0.9},
        {"word": " 42"},
        {"word": " you.", "start": 0.8, "end": 0.8},
    ]
    segment = {"start": 0.1, "end": 0.9, "text": " ANNA: Hello 42 you.", "words": words}
    document = {"language": "en", "segments": [segment | {"speaker": "Anna"}]}
    (one,) = read(tmp_path, "a.json", json.dumps(document))
    assert one.text == "Hello 42 you."
    assert [(w.start, w.end, w.text) for w in one.words] == [
        (0.3, 0.312, "Hello"),
        (0.8, 0.801, "you."),
    ]
    assert "anna" not in one.model_dump_json().lower()


def test_lines_are_cut_to_the_clip(tmp_path):
    text = (
        SRT + "2\n00:00:02,600 --> 00:00:09,000\nLast\n\n3\n00:00:20,000 --> 00:00:21,000\nPast\n"
    )
    utterances = read(tmp_path, "a.srt", text, duration=5.0)
    assert [(u.text, u.end) for u in utterances] == [("Hello there", 2.5), ("Last", 5.0)]


def test_broken_files_are_refused_by_name(tmp_path):
    assert "no line within" in refusal(tmp_path, "a.srt", "")
    assert "no line within" in refusal(tmp_path, "b.srt", "not a subtitle at all")
    assert "1 of 2 time lines" in refusal(tmp_path, "c.srt", SRT + "2\n00:00:aa --> 00:00:05\nx\n")
    assert "ends before" in refusal(tmp_path, "d.srt", "1\n00:00:05,000 --> 00:00:04,000\nx\n")
    assert "not UTF-8" in refusal(tmp_path, "e.srt", SRT.encode() + b"\xff\xfe")
    assert "within the clip's 0.5 s" in refusal(tmp_path, "f.srt", SRT, duration=0.5)
    assert "not JSON" in refusal(tmp_path, "a.json", "{")
    assert "not JSON" in refusal(tmp_path, "n.json", "[" * 100_000)
    assert "not Whisper JSON (segments" in refusal(tmp_path, "b.json", '{"title": "x"}')
    nan = '{"segments": [{"start": NaN, "end": 1, "text": "x"}]}'
    assert "segments.0.start" in refusal(tmp_path, "c.json", nan)
    assert "larger than" in refusal(tmp_path, "g.vtt", b" " * 20_000_001)


def test_subtitles_come_before_json(tmp_path):
    clip = tmp_path / "a.mp4"
    assert find_sidecar(clip) is None
    for suffix in (".json", ".vtt", ".srt"):
        clip.with_suffix(suffix).touch()
        assert find_sidecar(clip) == clip.with_suffix(suffix)
