"""The committed sample is what its README and its scripts say."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
import yaml

SAMPLE = Path(__file__).resolve().parents[2] / "examples/sample"
TRUTH = json.loads((SAMPLE / "ground_truth.json").read_text(encoding="utf-8"))
SCRIPT = yaml.safe_load((SAMPLE / "dialogues.yaml").read_text(encoding="utf-8"))
CLIPS = {clip["id"]: clip for clip in TRUTH["clips"]}
each_clip = pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())

RATE = 16_000


def sound(clip):
    """Return the clip's audio at 16 kHz, shape (samples,), first sample at time 0."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    with av.open(str(SAMPLE / clip["file"])) as media:
        frames = [f for frame in media.decode(audio=0) for f in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])


def loudness(samples, start, end):
    part = samples[int(start * RATE) : int(end * RATE)]
    return float(np.sqrt(np.mean(part**2)))


def test_the_sample_is_small_and_complete():
    files = {path.name for path in SAMPLE.glob("*.mp4")}
    assert files == {clip["file"] for clip in CLIPS.values()}
    assert 3 <= len(files) <= 5
    assert sum(path.stat().st_size for path in SAMPLE.iterdir() if path.is_file()) < 3_000_000


@each_clip
def test_streams_and_duration_are_as_stated(clip):
    with av.open(str(SAMPLE / clip["file"])) as media:
        video, audio = media.streams.video[0], media.streams.audio[0]
        assert (video.codec_context.name, audio.codec_context.name) == ("h264", "aac")
        assert (video.width, video.height, video.average_rate) == (426, 240, 12)
        frames = sum(1 for _ in media.decode(video))
    assert 10 <= clip["duration"] <= 40
    assert frames / 12 == pytest.approx(clip["duration"], abs=0.001)
    assert sound(clip).size / RATE == pytest.approx(clip["duration"], abs=0.1)


@each_clip
def test_truth_repeats_the_script(clip):
    (script,) = (entry for entry in SCRIPT["clips"] if entry["id"] == clip["id"])
    assert clip["speakers"] == script["seats"]
    lines = script["lines"]
    for utterance, line in zip(clip["utterances"], lines, strict=True):
        spoken = re.sub(r" \[[\d.]+\]", "", line["text"])
        assert (utterance["text"], utterance["speaker"]) == (spoken, line["speaker"])
        assert (utterance["to"], utterance["kind"]) == (line["to"], line["kind"])
        decides = utterance["applies"]
        assert (None if decides is None else lines[decides]["id"]) == line.get("applies")
    for kind in ("request", "refusal", "preference", "offer"):
        assert clip[f"{kind}s"] == [u for u in clip["utterances"] if u["kind"] == kind]


@each_clip
def test_times_are_ordered_and_pauses_lie_between_words(clip):
    parts = [piece for utterance in clip["utterances"] for piece in utterance["pieces"]]
    for part in parts:
        assert 0 <= part["start"] < part["end"] <= clip["duration"]
    between = [(a["end"], b["start"]) for a, b in pairwise(parts)]
    assert [(pause["start"], pause["end"]) for pause in clip["pauses"]] == between
    bounds = {"hesitation": (0.3, 0.5), "opening": (0.9, 2.0), "gap": (0.35, 0.85)}
    for pause in clip["pauses"]:
        low, high = bounds.get(pause["kind"], (0.1, 0.3))
        assert low - 0.001 <= pause["end"] - pause["start"] <= high + 0.001


@each_clip
def test_sound_is_where_the_truth_says(clip):
    samples = sound(clip)
    for utterance in clip["utterances"]:
        for piece in utterance["pieces"]:
            assert loudness(samples, piece["start"], piece["end"]) > 0.05
    for pause in clip["pauses"]:
        middle = loudness(samples, pause["start"] + 0.05, pause["end"] - 0.05)
        assert middle < 0.01


@each_clip
def test_the_mouth_of_the_speaker_moves_and_others_rest(clip):
    width = 426 / len(clip["speakers"])
    with av.open(str(SAMPLE / clip["file"])) as media:
        times, pictures = [], []
        for frame in media.decode(video=0):
            times.append(frame.time)
            pictures.append(frame.to_ndarray(format="gray").astype(float))
    change = np.abs(np.diff(np.stack(pictures), axis=0))
    moments = np.array(times[1:])

    def movement(seat, start, end):
        x = int(width * (seat + 0.5))
        inside = (moments > start + 0.1) & (moments < end - 0.1)
        return change[inside, 112:134, x - 14 : x + 14].mean()

    still = [u for u in clip["utterances"] if u["gesture"] not in ("nod", "shake")]
    for utterance in still:
        seat = clip["speakers"].index(utterance["speaker"])
        for piece in utterance["pieces"]:
            if piece["end"] - piece["start"] < 0.8:
                continue
            span = (piece["start"], piece["end"])
            rest = [movement(s, *span) for s in range(len(clip["speakers"])) if s != seat]
            assert movement(seat, *span) > 4 * max(rest)
    for pause in clip["pauses"]:
        if pause["kind"] == "opening":
            span = (pause["start"] + 0.3, pause["end"])
            assert max(movement(s, *span) for s in range(len(clip["speakers"]))) < 2


def test_no_two_moments_share_a_wording():
    for kind in ("requests", "refusals", "preferences", "offers"):
        texts = [moment["text"].lower() for clip in CLIPS.values() for moment in clip[kind]]
        assert len(texts) >= 2
        assert len(set(texts)) == len(texts)


def test_two_clips_split_with_the_preference_first_and_its_application_later():
    found = 0
    for clip in CLIPS.values():
        edges = [(episode["start"], episode["end"]) for episode in clip["episodes"]]
        if len(edges) == 1:
            assert edges == [(0.0, clip["duration"])]
            continue
        first, second = edges
        assert first[1] == second[0]
        assert min(first[1] - first[0], second[1] - second[0]) >= 8
        (preference,) = clip["preferences"]
        moments = [u for u in clip["utterances"] if u["applies"] == preference["index"]]
        assert preference["end"] < first[1] < moments[0]["start"]
        assert moments[0]["start"] - preference["end"] >= 12
        assert 32 <= clip["duration"] <= 40
        found += 1
    assert found >= 2


def test_one_clip_alone_has_a_sidecar_and_it_names_no_speaker():
    (clip,) = (clip for clip in CLIPS.values() if clip["sidecar"])
    assert [path.name for path in SAMPLE.glob("*.srt")] == [clip["sidecar"]]
    blocks = (SAMPLE / clip["sidecar"]).read_text(encoding="utf-8").strip().split("\n\n")
    for block, utterance in zip(blocks, clip["utterances"], strict=True):
        _, clock, text = block.split("\n")
        start, end = (_seconds(value) for value in clock.split(" --> "))
        assert (start, end, text) == (utterance["start"], utterance["end"], utterance["text"])


def _seconds(clock):
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return pytest.approx(int(hours) * 3600 + int(minutes) * 60 + float(seconds), abs=0.0005)


def test_two_people_ask_one_person_for_similar_things():
    asked = Counter(request["to"] for request in CLIPS["desk"]["requests"])
    assert asked == {"paul": 2}
    assert len({request["speaker"] for request in CLIPS["desk"]["requests"]}) == 2
