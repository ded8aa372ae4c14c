"""What is sent of an episode, byte by byte against the clip it was cut from."""

import base64
import io
import wave
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from construction.agents import Agent, Task
from construction.footage import Footage, media_for, sent, windows_of
from psychemme.clients.cards import ImageLimits, ModelCard, Parts, card_for
from psychemme.clients.fitting import Fitter, thinned
from psychemme.clients.openai_compatible import OpenAICompatibleClient
from psychemme.clients.protocol import MediaPart
from psychemme.episode import Episode
from psychemme.errors import MediaError, WorkspaceError
from psychemme.items import IndependentAnswer
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.media.episode_media import episode_media
from psychemme.media.settings import MediaSettings
from psychemme.vocabulary import AgentRole, Format
from state.values import EpisodeRecord, Frame, Material
from tests.support.clips import FPS, HEIGHT, RATE, TONE, WIDTH, write_clip
from tests.support.model_server import ModelServer
from tests.support.states import CLIP

START, END = 2.0, 6.0
GOOD = '{"answer": "it moves", "flag": null, "rationale": "seen"}'


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4")


def scene(clip: Path, folder: Path) -> tuple[Footage, Material]:
    """Return the footage of one prepared episode of `clip`, START to END."""
    blobs, facts, sha256 = BlobStore(folder / "blobs"), clip.stat(), sha256_file(clip)
    record = CLIP.model_copy(update={
        "path": str(clip), "sha256": sha256, "size": facts.st_size,
        "modified_at": facts.st_mtime_ns // 1000,
    })  # fmt: skip
    frames = tuple(
        Frame(time=time, sha256=blob)
        for time, blob in episode_media(clip, START, END, MediaSettings(), blobs, sha256)
    )
    content = Episode(duration=END - START)
    episode = EpisodeRecord(
        id="e", clip_id=CLIP.id, preparation=1, start=START, end=END, content=content, frames=frames
    )
    material = Material(episode_id="e", preparation=1, episode=content, frames=frames)
    return Footage(windows_of([episode], {CLIP.id: record}), blobs), material


class Store:
    agent_role = AgentRole.ANSWER

    def __init__(self) -> None:
        self.calls = []

    async def recorded(self, *_):
        return None

    async def record(self, key, at, call):
        self.calls.append(call)


def card(**changes) -> ModelCard:
    return ModelCard(name="m", **changes)


async def content_sent(card: ModelCard, footage: Footage, material: Material) -> list[dict]:
    """Return the parts of the user's message as a recording endpoint got them."""
    inputs = {
        "episode": material.episode, "norms": (), "distinctions": (), "format": Format.OPEN,
        "question": "What?", "options": (), "decision_time": None, "feedback": (),
    }  # fmt: skip
    with ModelServer({"answer": GOOD}) as server:
        client = OpenAICompatibleClient("m", server.url, "key", card=card)
        agent = Agent(client, Store(), IndependentAnswer, media_for(card, footage))
        await agent.ask(Task("key", "candidate", 0, inputs, material))
        await client.aclose()
    content = server.calls[0].body["messages"][1]["content"]
    assert content[0]["type"] == "text"
    return content[1:]


def decoded(url: str, mime_type: str) -> bytes:
    head, _, data = url.partition(",")
    assert head == f"data:{mime_type};base64"
    return base64.b64decode(data, validate=True)


def pictures(data: bytes) -> list[tuple[float, np.ndarray]]:
    with av.open(io.BytesIO(data)) as container:
        assert not container.streams.audio
        frames = container.decode(video=0)
        return [(float(frame.time), frame.to_ndarray(format="rgb24")) for frame in frames]


def number_of(image: np.ndarray) -> int:
    return round((float(np.median(image)) - 20) / 2)


async def test_frames_are_those_of_the_clip_with_their_times(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    parts = await content_sent(card(), footage, material)
    assert [part["type"] for part in parts] == ["text", "image_url"] * 4
    for second, (label, image) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        assert label["text"] == f"frame at {second:.2f} s"
        data = decoded(image["image_url"]["url"], "image/jpeg")
        assert data == footage.blobs.path(material.frames[second].sha256).read_bytes()
        shown = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        assert shown.shape == (HEIGHT, WIDTH, 3)
        assert number_of(shown) == round((START + second) * FPS)


async def test_native_video_is_the_window_and_nothing_else(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    label, part = await content_sent(card(native_video=True), footage, material)
    assert label == {"type": "text", "text": "the episode as video"}
    assert part.keys() == {"type", "video_url"}
    data = decoded(part["video_url"]["url"], "video/mp4")
    found = pictures(data)
    assert len(found) == round((END - START) * FPS)
    for index, (time, image) in enumerate(found):
        assert time == pytest.approx(index / FPS, abs=0.02)
        assert abs(number_of(image) - (START * FPS + index)) <= 1
        assert image.shape == (HEIGHT, WIDTH, 3)
    (stored,) = await media_for(card(native_video=True), footage)(material)
    assert stored.path.read_bytes() == data
    assert sha256_file(stored.path) == stored.sha256


async def test_native_sound_is_the_window_as_wav(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    *seen, label, part = await content_sent(card(native_audio=True), footage, material)
    assert [one["type"] for one in seen] == ["text", "image_url"] * 4
    assert label["text"] == "the episode's sound"
    assert part.keys() == {"type", "input_audio"}
    assert part["input_audio"]["format"] == "wav"
    with wave.open(io.BytesIO(base64.b64decode(part["input_audio"]["data"]))) as file:
        assert (file.getframerate(), file.getnchannels()) == (RATE, 1)
        heard = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767
    assert len(heard) == pytest.approx((END - START) * RATE, abs=RATE // 20)
    # The clip's tone starts at 4 s, which is 2 s into the episode.
    quiet, loud = heard[: int(1.9 * RATE)], heard[int(2.1 * RATE) : int(3.9 * RATE)]
    assert np.abs(quiet).max() < 0.02
    assert np.sqrt((loud**2).mean()) == pytest.approx(0.5 / np.sqrt(2), rel=0.1)
    spectrum = np.abs(np.fft.rfft(loud))
    assert np.argmax(spectrum) * RATE / len(loud) == pytest.approx(TONE, abs=2)


@pytest.mark.parametrize(
    ("parts", "video", "audio"),
    [
        (Parts(), "video_url", "input_audio"),
        (Parts(video="image_url", audio="audio_url"), "image_url", "audio_url"),
        (Parts(audio="input_audio_url"), "video_url", "input_audio"),
    ],
)
async def test_each_card_spells_its_parts(clip, tmp_path, parts, video, audio):
    footage, material = scene(clip, tmp_path)
    both = card(native_video=True, native_audio=True, parts=parts)
    _, seen, _, heard = await content_sent(both, footage, material)
    assert seen["type"] == video
    assert decoded(seen[video]["url"], "video/mp4")
    assert heard["type"] == audio
    if parts.audio == "audio_url":
        assert decoded(heard["audio_url"]["url"], "audio/wav")
    if parts.audio == "input_audio_url":
        assert decoded(heard["input_audio"]["data"], "audio/wav")


@pytest.mark.parametrize("native", [False, True])
async def test_rotation_is_applied(tmp_path, native):
    footage, material = scene(write_clip(tmp_path / "clip.mp4", rotation=90), tmp_path)
    parts = await content_sent(card(native_video=native), footage, material)
    if native:
        _, image = pictures(decoded(parts[1]["video_url"]["url"], "video/mp4"))[0]
    else:
        data = decoded(parts[1]["image_url"]["url"], "image/jpeg")
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert image.shape == (WIDTH, HEIGHT, 3)
    # Turned a quarter to the left, the upper left corner becomes the lower left one.
    assert image[-8, 8].min() > 200
    assert image[8, 8].max() < 200


async def test_too_many_frames_are_thinned_evenly_and_the_record_says_so(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    few = card(images=ImageLimits(most=2))
    parts = await content_sent(few, footage, material)
    assert [p["text"] for p in parts[::2]] == ["frame at 0.00 s", "frame at 2.00 s"]
    recorded = sent(await media_for(few, footage)(material))
    assert [time for time, _ in recorded["frames"]] == [0.0, 2.0]


async def test_a_model_that_sees_nothing_gets_no_frame(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    assert await media_for(card(images=ImageLimits(most=0)), footage)(material) == ()


async def test_a_part_over_the_limit_is_not_native(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    tight = card(native_video=True, native_audio=True, max_media_bytes=1024)
    media = await media_for(tight, footage)(material)
    assert [part.kind for part in media] == ["image"] * 4


async def test_windows_are_cut_once_and_again_after_a_loss(clip, tmp_path, monkeypatch):
    footage, material = scene(clip, tmp_path)
    give = media_for(card(native_video=True), footage)
    (first,) = await give(material)
    fresh = Footage(footage.windows, footage.blobs)
    monkeypatch.setattr("psychemme.media.episode_media.cut_window", None)
    assert await media_for(card(native_video=True), fresh)(material) == (first,)
    monkeypatch.undo()
    first.path.unlink()
    again = Footage(footage.windows, footage.blobs)
    assert await media_for(card(native_video=True), again)(material) == (first,)


async def test_a_clip_that_is_gone_or_changed_is_never_sent(tmp_path):
    path = write_clip(tmp_path / "clip.mp4")
    footage, material = scene(path, tmp_path)
    path.write_bytes(path.read_bytes() + b"\0")
    give = media_for(card(native_video=True), footage)
    with pytest.raises(MediaError, match="has changed"):
        await give(material)
    path.unlink()
    with pytest.raises(MediaError, match="no longer"):
        await give(material)


async def test_a_frame_that_is_gone_is_named(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    footage.blobs.path(material.frames[1].sha256).unlink()
    with pytest.raises(WorkspaceError, match=material.frames[1].sha256):
        await media_for(card(), footage)(material)


def test_large_frames_are_made_smaller_and_keep_their_times(tmp_path):
    blobs = BlobStore(tmp_path)
    noise = np.random.default_rng(0).integers(0, 255, (400, 800, 3), dtype=np.uint8)
    sha256 = blobs.put(cv2.imencode(".jpg", noise)[1].tobytes(), ".jpg")
    frame = MediaPart("image", "image/jpeg", sha256, blobs.path(sha256), 1.5)
    side, small = (
        Fitter(limits, blobs).fit([frame, replace(frame, time=2.5)])
        for limits in (ImageLimits(max_side=200), ImageLimits(max_bytes=20_000))
    )
    assert [part.time for part in side] == [part.time for part in small] == [1.5, 2.5]
    assert cv2.imread(str(side[0].path)).shape == (100, 200, 3)
    assert small[0].path.stat().st_size <= 20_000
    assert side[0].sha256 == sha256_file(side[0].path) != sha256
    kept = Fitter(ImageLimits(max_side=800), blobs).fit([frame])
    assert kept == (frame,)


def test_thinning_keeps_the_first_and_is_even():
    parts = [MediaPart("image", "image/jpeg", str(i), Path(), float(i)) for i in range(64)]
    assert [part.time for part in thinned(parts, 16)] == [4.0 * i for i in range(16)]
    assert thinned(parts, None) == thinned(parts, 64) == tuple(parts)


async def test_what_the_paper_gave_its_models(clip, tmp_path):
    footage, material = scene(clip, tmp_path)
    kinds = {}
    for name in ("gemini-3.6-flash", "kimi-k3", "claude-opus-5"):
        media = await media_for(card_for(name), footage)(material)
        kinds[name] = {part.kind for part in media}
    assert kinds == {
        "gemini-3.6-flash": {"video", "audio"}, "kimi-k3": {"video"}, "claude-opus-5": {"image"},
    }  # fmt: skip
