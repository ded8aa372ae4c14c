"""Frames like the question: inverse transform sampling, vectors kept by content, and whole runs."""

import asyncio
import hashlib
import json
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.embedding import Embedder, open_embedder
from evaluation.footage import frame_times
from evaluation.inputs import FrameSource, InputPolicy, Keyframes, make_policy
from evaluation.keyframes import cosine, select_frames
from evaluation.manifest import read_manifest
from evaluation.runs import Plan, evaluations
from psychemme.clients.cards import Cards, ImageLimits, ModelCard, generic_card, load_cards
from psychemme.clients.openai_embeddings import read_embeddings
from psychemme.clients.protocol import MediaPart
from psychemme.config import load_settings
from psychemme.errors import ConfigError, EndpointError, RunError
from psychemme.media.vectors import keep_vectors, kept_vectors
from psychemme.release.read import read_release
from tests.support.model_server import ModelServer
from tests.support.releases import make_release

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sample" / "ladder.mp4"
LIKENESS = st.floats(-1, 1, allow_subnormal=False)


@pytest.mark.parametrize(
    ("likeness", "n", "power", "expected"),
    [
        # Scaled 0, 1/4, 1/2, 1: heights 0, 1/4, 3/4, 7/4; middles 7/16 and 21/16.
        ([0.1, 0.2, 0.3, 0.5], 2, 1, (2, 3)),
        # The square: 0, 1/16, 1/4, 1: heights to 21/16; middles at 1/6, 1/2 and 5/6 of it: 0.22,
        # 0.66 and 1.09. Two meet the last frame, so that the most similar one left comes in.
        ([0.1, 0.2, 0.3, 0.5], 3, 2, (1, 2, 3)),
        # One frame is all that is alike: the others come in by likeness, then by time.
        ([0, 0, 1, 0, 0.0], 2, 3, (0, 2)),
        ([0, 0, 1, 0, 0.2], 2, 3, (2, 4)),
        # Two peaks are both looked at, and so is neither of the valleys.
        ([0, 1, 0, 0, 1, 0], 2, 3, (1, 4)),
        ([0.3] * 8, 4, 3, (0, 2, 4, 6)),
        ([0.3] * 8, 1, 3, (3,)),
        ([0.2, 0.9], 2, 3, (0, 1)),
        ([0.2, 0.9], 5, 3, (0, 1)),
        ([0.2, 0.9, 0.3], 1, 3, (1,)),
    ],
)
def test_frames_by_hand(likeness, n, power, expected):
    assert select_frames(likeness, n, power) == expected


@given(st.lists(LIKENESS, min_size=1, max_size=80), st.integers(1, 70), st.floats(0.5, 5))
def test_frames_ascend_and_differ(likeness, n, power):
    found = select_frames(likeness, n, power)
    assert list(found) == sorted(set(found))
    assert len(found) == min(n, len(likeness))
    assert set(found) <= set(range(len(likeness)))


@given(st.integers(1, 200), st.integers(1, 64), LIKENESS)
def test_equal_likeness_is_an_even_spread(count, n, level):
    found = select_frames([level] * count, n)
    gaps = np.diff(found)
    assert not len(gaps) or gaps.max() - gaps.min() <= 1
    assert abs(found[0] - (count - 1 - found[-1])) <= 1


@pytest.mark.parametrize(("likeness", "n", "power"), [([0.1, float("nan")], 1, 3), ([1], 0, 3),
                                                      ([1], 1, 0)])  # fmt: skip
def test_what_is_no_likeness_is_refused(likeness, n, power):
    with pytest.raises(ValueError, match="must be finite"):
        select_frames(likeness, n, power)


def test_cosine_by_hand():
    frames = np.array([[2.0, 0], [0, 3], [1, 1], [0, 0]])
    found = cosine(np.array([5.0, 0]), frames)
    assert found.tolist() == pytest.approx([1, 0, 0.5**0.5, 0])


def test_candidates_are_one_a_second_and_never_fewer_than_are_chosen():
    card = generic_card("plain")

    def candidates(duration, frames, model=card):
        policy = InputPolicy(frames=frames, keyframes=Keyframes.BOLT, embedding_model="clip")
        return frame_times(duration, FrameSource.SAMPLED, policy, model)

    assert candidates(20.0, 8) == tuple(map(float, range(20)))
    assert len(candidates(20.0, 64)) == 64
    assert len(candidates(5000.0, 8)) == 1024
    few = ModelCard(name="few", images=ImageLimits(most=4))
    assert len(candidates(3.0, 8, few)) == 4


@pytest.mark.parametrize(
    ("condition", "frames", "keyframes", "model", "problem"),
    [
        ("full", 8, "best", "clip", "no choice of keyframes"),
        ("full", None, "bolt", "clip", "no set number"),
        ("full", 0, "bolt", "clip", "no set number"),
        ("asr-only", 8, "bolt", "clip", "no set number"),
        ("single-image", 8, "bolt", "clip", "no set number"),
        ("full", 8, "bolt", None, "needs a model that embeds"),
    ],
)
def test_what_cannot_choose_is_named(condition, frames, keyframes, model, problem):
    with pytest.raises(ConfigError, match=problem):
        make_policy(condition, "matched", frames, keyframes, model)


def test_the_choice_is_pinned_and_earlier_policies_stay_as_they_were():
    assert make_policy("full", "matched", 8, "uniform", "clip") == InputPolicy(frames=8)
    policy = make_policy("full", "matched", 8, "bolt", "clip")
    assert (policy.label, policy.embedding_model) == ("full+frames-8+bolt", "clip")
    earlier = {"condition": "full", "history": "matched", "frames": 8, "max_side": 512}
    assert InputPolicy.model_validate(earlier).label == "full+frames-8"


class Space:
    """Vectors of a space of two directions: questions point along the first."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, one: dict[str, str]) -> list[float]:
        self.seen.append(next(iter(one.values())))
        if "text" in one:
            return [2.0, 0.0]
        assert one["image"].startswith("data:image/jpeg;base64,")
        angle = int(hashlib.sha256(one["image"].encode()).hexdigest()[:8], 16) / 2**32
        return [float(np.cos(angle)), float(np.sin(angle))]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    sha256 = hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    return make_release(tmp_path / "release", 4, clip=SAMPLE.name, sha256=sha256)


@asynccontextmanager
async def opened(release, server, mode=None, model="clip", cards=None):
    policy = make_policy("full", "matched", 4, "bolt", model)
    plan = Plan(read_release(release), (SAMPLE.parent,), release.parent / "runs", policy)
    flags = {"base_url": server.url, "max_retries": 0, "concurrency": 1}
    settings, cards = load_settings(release, flags), cards or load_cards()
    stop = asyncio.Event()
    async with evaluations(plan, ["served"], settings, cards, stop, mode) as (found,):
        yield found


async def test_a_run_sends_the_chosen_frames_and_a_resume_embeds_nothing(release):
    space = Space()
    with ModelServer(embed=space) as server:
        async with opened(release, server) as evaluation:
            done = await evaluation.finish()
            folder = evaluation.folder
        assert done.settled == 4
        # Two episodes of one clip show the same 20 pictures; four questions are four texts at most.
        pictures = {one for one in space.seen if one.startswith("data:")}
        texts = {one for one in space.seen if not one.startswith("data:")}
        assert len(texts) == 4
        assert len(pictures) <= 20
        paid = server.count()
        async with opened(release, server, "resume") as evaluation:
            await evaluation.finish()
        assert server.count() == paid
        before = len(space.seen)
        async with opened(release, server, "fresh") as evaluation:
            await evaluation.finish()
        assert len(space.seen) == before
    manifest = read_manifest(folder)
    assert manifest.condition == "full+frames-4+bolt"
    assert manifest.policy.embedding_model == "clip"
    rows = [json.loads(line) for line in (folder / "responses.jsonl").read_text().splitlines()]
    for row in rows:
        times = [part["time"] for part in row["sent"]["media"]]
        assert len(times) == 4
        assert times == sorted(times)
    with ModelServer(embed=space) as server, pytest.raises(RunError, match="embedding_model"):
        async with opened(release, server, "resume", "other"):
            pass


async def test_the_frames_are_those_most_like_the_question(release):
    # One picture alone is like the questions, the third, which four spread evenly leave out.
    pictures: list[str] = []

    def embed(one):
        if "text" in one:
            return [1.0, 0.0]
        if one["image"] not in pictures:
            pictures.append(one["image"])
        return [1.0, 0.0] if pictures.index(one["image"]) == 2 else [0.0, 1.0]

    with ModelServer(embed=embed) as server:
        async with opened(release, server) as evaluation:
            await evaluation.finish()
        asked = [json.dumps(call.body) for call in server.calls if call.role == "evaluated"]
    assert len(asked) == 4
    assert all(pictures[2] in body for body in asked)


@pytest.mark.parametrize(
    "embed",
    [
        lambda one: [],
        lambda one: [float("nan")],
        lambda one: [1.0] if "text" in one else [1.0, 2.0],
        lambda one: ["word"],
    ],
)
async def test_what_is_no_vector_stops_the_run(release, embed):
    with ModelServer(embed=embed) as server:
        async with opened(release, server) as evaluation:
            with pytest.raises(EndpointError, match=r"does not embed|different lengths"):
                await evaluation.finish()
        assert server.count("evaluated") == 0


@pytest.mark.parametrize("fault", ["unauthorized", "not_found", "rejected", "unavailable", "html"])
async def test_an_endpoint_that_does_not_embed_stops_the_run(release, fault):
    with ModelServer(fault=lambda call: fault if call.role == "embedding" else None) as server:
        async with opened(release, server) as evaluation:
            with pytest.raises(EndpointError):
                await evaluation.finish()
        assert server.count("evaluated") == 0
    with ModelServer(embed=Space()) as server:
        async with opened(release, server, "resume") as evaluation:
            assert (await evaluation.finish()).settled == 4


async def test_the_embedding_models_own_address_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("CLIP_KEY", "of-clip")
    policy = make_policy("full", "matched", 4, "bolt", "clip")
    with ModelServer(embed=Space(), key="of-clip") as server:
        cards = Cards((ModelCard(name="clip", base_url=server.url, key_variable="CLIP_KEY"),))
        flags = {"base_url": "http://127.0.0.1:1/v1", "api_key": "of-another"}
        settings = load_settings(tmp_path, flags).settings
        async with open_embedder(policy, cards, settings, tmp_path) as embedder:
            assert embedder is not None
            assert await embedder.client.embed([{"text": "x"}]) == [[2.0, 0.0]]
    async with open_embedder(InputPolicy(), cards, settings, tmp_path) as embedder:
        assert embedder is None


@pytest.mark.parametrize(
    "embed",
    [
        lambda one: [1.0, 2.0] if "text" in one else [1.0],
        lambda one: [0.0, 0.0],
        lambda one: [1e300, 1.0],
        lambda one: [1e-60, 0.0],
    ],
)
async def test_what_cannot_be_compared_is_not_kept(release, embed):
    with ModelServer(embed=embed) as server:
        async with opened(release, server) as evaluation:
            with pytest.raises(EndpointError, match=r"different lengths|all zero or too large"):
                await evaluation.finish()
    with ModelServer(embed=Space()) as server:
        async with opened(release, server, "resume") as evaluation:
            assert (await evaluation.finish()).settled == 4


class Client:
    model = "clip"

    def __init__(self, size: int) -> None:
        self.size = size

    async def embed(self, inputs):
        return [[1.0] * self.size for _ in inputs]


async def test_kept_vectors_of_another_model_are_named(tmp_path):
    def pictures(*names: str):
        return [MediaPart("image", "image/jpeg", name * 64, SAMPLE, 0.0) for name in names]

    two, three = (Embedder(Client(size), tmp_path / "kept") for size in (2, 3))
    await two.likeness("q", pictures("a", "b"))
    for question in ("q", "another"):
        with pytest.raises(EndpointError, match="different lengths") as raised:
            await three.likeness(question, pictures("a", "c"))
        assert str(tmp_path / "kept") in raised.value.action
    # Nothing of the other model was kept.
    assert (await two.likeness("q", pictures("a", "c"))).tolist() == pytest.approx([1, 1])


@pytest.mark.parametrize("bad", [[0.0, 0.0], [1e39, 1.0], [float("nan"), 1.0], [1.0]])
def test_a_batch_is_kept_whole_or_not_at_all(tmp_path, bad):
    keys = ["a" * 64, "b" * 64]
    with pytest.raises(EndpointError, match=r"m gives vectors") as raised:
        keep_vectors(tmp_path, "m", dict(zip(keys, [[1.0, 2.0], bad], strict=True)), {})
    assert str(tmp_path) in raised.value.action
    assert kept_vectors(tmp_path, keys) == {}


def test_an_index_that_stands_twice_is_no_order():
    rows = [{"index": 1, "embedding": [1.0]}, {"index": 1, "embedding": [2.0]}]
    assert read_embeddings(json.dumps({"data": rows}), 2) is None
    rows[0]["index"] = 2
    assert read_embeddings(json.dumps({"data": rows}), 2) == [[2.0], [1.0]]
