"""What a model is given under each condition, and the checks before the first call."""

import hashlib
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.footage import Footage, find_clips, frame_times, sent_media
from evaluation.inputs import (
    Condition,
    FrameSource,
    InputPolicy,
    Keyframes,
    cohort,
    donors,
    history_of,
    make_policy,
    shown,
)
from psychemme.clients.cards import ImageLimits, ModelCard, generic_card
from psychemme.errors import ConfigError, MediaError, RunError
from psychemme.media.probe import probe
from psychemme.release.read import read_release
from psychemme.vocabulary import Capability
from tests.support.releases import episode, make_release

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sample" / "ladder.mp4"
PLAIN = generic_card("plain")
NATIVE = ModelCard(name="native", native_video=True, native_audio=True)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory):
    return read_release(make_release(tmp_path_factory.mktemp("release"), 64))


@pytest.mark.parametrize(
    ("condition", "card", "expected"),
    [
        ("full", PLAIN, (False, False, "sampled", True)),
        ("full", NATIVE, (True, True, "none", False)),
        ("full", ModelCard(name="v", native_video=True), (True, False, "none", True)),
        ("full", ModelCard(name="a", native_audio=True), (False, True, "sampled", False)),
        ("full", ModelCard(name="t", images=ImageLimits(most=0)), (False, False, "none", True)),
        ("visual-only", NATIVE, (False, False, "sampled", False)),
        ("asr-only", NATIVE, (False, False, "none", True)),
        ("single-image", NATIVE, (False, False, "midpoint", True)),
        ("question-only", NATIVE, (False, False, "none", False)),
    ],
)
def test_native_media_come_first_and_only_in_the_full_condition(condition, card, expected):
    found = InputPolicy(condition=Condition(condition)).gives(card)
    assert (found.video, found.audio, found.frames.value, found.transcript) == expected


def test_a_set_number_of_frames_is_a_control_on_frames_and_transcript():
    found = InputPolicy(frames=16).gives(NATIVE)
    assert (found.video, found.audio, found.frames) == (False, False, FrameSource.SAMPLED)
    assert not InputPolicy(frames=0).gives(NATIVE).needs_clip


@pytest.mark.parametrize(
    ("duration", "frames", "count", "step"),
    [(20.0, None, 20, 1.0), (128.0, None, 64, 2.0), (20.0, 64, 64, 0.3125), (20.0, 1, 1, None)],
)
def test_frames_are_spread_evenly(duration, frames, count, step):
    times = frame_times(duration, FrameSource.SAMPLED, InputPolicy(frames=frames), PLAIN)
    assert len(times) == count
    assert step is None or times[1] - times[0] == pytest.approx(step, abs=1e-3)


def test_a_card_limits_the_frames():
    few = ModelCard(name="few", images=ImageLimits(most=8))
    assert len(frame_times(20.0, FrameSource.SAMPLED, InputPolicy(), few)) == 8
    assert frame_times(9.0, FrameSource.MIDPOINT, InputPolicy(), few) == (4.5,)


def test_question_only_has_neither_context_nor_history(release):
    row = next(q for q in release.questions.values() if q.capability is Capability.MEMORY)
    one = release.episodes[row.episode_id]
    for condition in Condition:
        policy = InputPolicy(condition=condition)
        texts = shown(row, one, row.history, policy, policy.gives(PLAIN))
        if condition is Condition.QUESTION_ONLY:
            assert texts is None
            continue
        assert texts.public_context
        assert texts.history
        assert bool(texts.transcript) is (condition is not Condition.VISUAL_ONLY)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_a_donor_is_of_another_recording_group_and_groups_are_deranged(release, seed):
    ids = cohort(release, make_policy("full", f"mismatched:{seed}"))
    given_ = donors(release, ids, seed)
    assert donors(release, ids, seed) == given_
    assert set(given_) == set(ids)

    def group(name: str) -> str:
        return release.episodes[release.questions[name].episode_id].recording_group

    pairs = {(group(name), group(donor)) for name, donor in given_.items()}
    assert all(one != other for one, other in pairs)
    assert len({other for _, other in pairs}) == len({one for one, _ in pairs})


def test_the_closest_history_of_the_donor_group_is_given(release):
    policy = make_policy("full", "mismatched:42")
    given_ = donors(release, cohort(release, policy), 42)
    row = release.questions[next(iter(given_))]
    found = history_of(row, release, policy, given_)
    assert found == release.questions[given_[row.id]].history
    assert history_of(row, release, make_policy("full", "none"), {}) == ()


def test_one_recording_group_has_no_mismatch(tmp_path):
    small = read_release(make_release(tmp_path, 8))
    with pytest.raises(RunError, match="one recording group"):
        donors(small, cohort(small, make_policy("full", "mismatched:1")), 1)


@pytest.mark.parametrize("history", ["mismatched", "mismatched:x", "other", "none:3"])
def test_an_unknown_history_names_the_known_ones(history):
    with pytest.raises(ConfigError, match="mismatched:SEED"):
        make_policy("full", history)


def test_an_unknown_condition_names_the_known_ones():
    with pytest.raises(ConfigError, match="question-only"):
        make_policy("half", "matched")


policies = st.builds(
    lambda condition, history, frames, order: InputPolicy.model_validate(
        {"condition": condition} | history | frames | order
    ),
    st.sampled_from(Condition),
    st.sampled_from([{}, {"history": "none"}])
    | st.integers(0, 2**40).map(lambda seed: {"history": "mismatched", "history_seed": seed}),
    st.just({})
    | st.integers(0, 64).map(lambda n: {"frames": n})
    | st.integers(1, 64).map(lambda n: {"frames": n, "keyframes": Keyframes.BOLT}),
    st.just({})
    | st.tuples(st.integers(1, 99), st.integers(0, 2**40)).map(
        lambda pair: {"order": pair[0], "order_seed": pair[1]}
    ),
)


@given(policies)
def test_a_label_is_read_back_into_its_policy(policy):
    assert InputPolicy.of_label(policy.label) == policy


@given(st.text() | st.sampled_from(Condition).map(lambda one: f"{one}+frames-99"))
def test_what_no_policy_is_called_is_none(label):
    found = InputPolicy.of_label(label)
    assert found is None or found.label == label


@pytest.mark.parametrize(
    "label",
    ["", "half", "full+bolt", "full+frames-08", "full+frames-65", "full+order-0:1", "full ",
     "full\n", "full+frames-8+frames-9", "full+history-matched", "full+order-1:None",
     "full+frames-٨"],
)  # fmt: skip
def test_labels_that_are_not_ours(label):
    assert InputPolicy.of_label(label) is None


def test_every_file_is_verified_and_bad_ones_are_named_by_episode(tmp_path):
    shutil.copy(SAMPLE, tmp_path / "clip.mp4")
    sha256 = hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    good, bad = episode(1, "clip.mp4", sha256), episode(2, "clip.mp4")
    assert find_clips([good], [tmp_path]) == {good.id: tmp_path / "clip.mp4"}
    outside = episode(3, f"../{tmp_path.name}/clip.mp4", sha256)
    absolute = episode(4, str(tmp_path / "clip.mp4"), sha256)
    with pytest.raises(MediaError) as caught:
        find_clips([good, bad, outside, absolute], [tmp_path])
    assert "3 episodes" in caught.value.problem
    assert all(one.id in caught.value.problem for one in (bad, outside, absolute))
    assert good.id not in caught.value.problem


async def parts_of(tmp_path, policy, card):
    one = episode(1, "ladder.mp4").model_copy(update={"start": 2.0, "end": 7.0, "duration": 5.0})
    footage = Footage({one.id: SAMPLE}, tmp_path)
    return await footage.parts(one, policy.gives(card), policy, card)


async def test_what_is_sent_is_recorded(tmp_path):
    parts = await parts_of(tmp_path, InputPolicy(), PLAIN)
    record = sent_media(parts)
    assert [round(part["time"]) for part in record] == [0, 1, 2, 3, 4]
    for part, line in zip(parts, record, strict=True):
        data = part.path.read_bytes()
        assert line["sha256"] == hashlib.sha256(data).hexdigest()
        assert line["bytes"] == len(data)
    (middle,) = await parts_of(tmp_path, InputPolicy(condition=Condition.SINGLE_IMAGE), PLAIN)
    assert middle.time == pytest.approx(2.5, abs=0.1)


@pytest.mark.parametrize("hears", [True, False])
async def test_native_video_has_sound_only_where_the_model_takes_it(tmp_path, hears):
    card = ModelCard(name="native", native_video=True, native_audio=hears)
    (part,) = await parts_of(tmp_path, InputPolicy(), card)
    facts = probe(part.path)
    assert part.kind == "video"
    assert (facts.audio_codec is not None) is hears
    assert facts.duration == pytest.approx(5.0, abs=0.2)


async def test_native_audio_alone_comes_with_frames(tmp_path):
    parts = await parts_of(tmp_path, InputPolicy(), ModelCard(name="a", native_audio=True))
    assert [part.kind for part in parts] == ["audio", *["image"] * 5]
