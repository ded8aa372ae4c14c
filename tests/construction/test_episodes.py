import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.episodes import (
    MARGIN,
    NoWindow,
    choose_windows,
    episode_id,
    history_before,
    load_history,
)
from construction.plan import EpisodeLimits
from psychemme.episode import HistoryEntry, Interval, Utterance, Word
from psychemme.errors import ConfigError
from psychemme.vocabulary import DurationBand

LIMITS = EpisodeLimits()


def dialogue(duration, seed=0, gap=(0.3, 1.5)):
    """Utterances of 1 to 5 s with word times, from 0.5 s to the end."""
    rng, start, said = random.Random(seed), 0.5, []
    while (end := start + rng.uniform(1, 5)) < duration:
        step = (end - start) / 4
        words = tuple(
            Word(start=start + i * step, end=start + (i + 1) * step, text="so") for i in range(4)
        )
        said.append(Utterance(start=start, end=end, text="so so so so", words=words))
        start = end + rng.uniform(*gap)
    return said


def intervals(spans):
    return [Interval(start=span.start, end=span.end) for span in spans]


def choose(duration, said, clip_id="clip", limits=LIMITS, taken=(), speech=None):
    speech = intervals(said) if speech is None else speech
    return choose_windows(clip_id, duration, speech, said, limits, taken)


def bands(result):
    return {DurationBand.of(round(w.end - w.start, 3)) for w in result.windows}


times = st.floats(0, 400, allow_nan=False)
spans = st.lists(
    st.tuples(times, st.floats(0.05, 60)).map(lambda t: (t[0], t[0] + t[1])), max_size=25
)
limits = st.builds(
    lambda least, more, speech: EpisodeLimits(
        min_seconds=least, max_seconds=least + more, require_speech=speech
    ),
    st.floats(1, 40),
    st.floats(0, 180),
    st.booleans(),
)


@given(st.text(max_size=5), st.floats(0, 400), spans, spans, limits, spans)
@settings(deadline=None)
def test_windows_obey_every_rule(clip_id, duration, speech, said, limits, taken):
    speech = [Interval(start=a, end=b) for a, b in speech]
    said = [Utterance(start=a, end=b, text="x") for a, b in said]
    taken = [Interval(start=a, end=b) for a, b in taken]
    result = choose_windows(clip_id, duration, speech, said, limits, taken)
    assert bool(result.windows) == (result.reason is None)
    end = 0.0
    for window in result.windows:
        assert end <= window.start < window.end <= duration
        end = window.end
        length = window.end - window.start
        assert limits.min_seconds - 0.002 <= length <= limits.max_seconds + 0.002
        assert not any(min(window.end, t.end) - max(window.start, t.start) > 0.002 for t in taken)
        if limits.require_speech:
            assert any(
                min(window.end, s.end) > max(window.start, s.start) for s in [*speech, *said]
            )
    assert result == choose_windows(clip_id, duration, speech, said, limits, taken)


@given(st.text(min_size=1, max_size=5), st.integers(0, 10_000), st.floats(8, 400))
@settings(deadline=None)
def test_utterances_with_pauses_are_never_cut(clip_id, seed, duration):
    said = dialogue(duration, seed)
    for window in choose(duration, said, clip_id).windows:
        for edge in (window.start, window.end):
            assert not any(u.start + 0.001 < edge < u.end - 0.001 for u in said)


def test_utterances_without_pauses_are_cut_at_their_borders():
    said = dialogue(200, gap=(0, 0))
    result = choose(200, said, speech=[Interval(start=0, end=200)])
    borders = [0, 200, *(u.start for u in said), *(u.end for u in said)]
    assert len(result.windows) >= 3
    for window in result.windows:
        assert min(abs(window.end - border) for border in borders) < 0.001


def test_an_endless_utterance_is_cut_between_words():
    words = tuple(Word(start=i * 0.7, end=i * 0.7 + 0.7, text="so") for i in range(570))
    said = [Utterance(start=0, end=399, text="so", words=words)]
    result = choose(399, said)
    assert len(result.windows) >= 2
    assert all(abs(w.end / 0.7 - round(w.end / 0.7)) < 0.01 for w in result.windows)


@pytest.mark.parametrize("seed", range(8))
def test_a_clip_of_35_s_gives_two_episodes_and_one_of_10_s_one(seed):
    assert len(choose(35, dialogue(35, seed), str(seed)).windows) == 2
    assert len(choose(10, dialogue(10, seed), str(seed)).windows) == 1
    assert len(choose(30, dialogue(30, seed), str(seed)).windows) == 1


def test_35_s_with_speech_at_one_end_only_give_one_episode():
    assert len(choose(35, dialogue(9)).windows) == 1


@pytest.mark.parametrize("clip_id", ["a", "b", "c", "d"])
def test_all_bands_occur_in_a_long_clip(clip_id):
    assert bands(choose(400, dialogue(400), clip_id)) == set(DurationBand)


def test_medium_and_long_episodes_come_from_short_clips_too():
    found = [bands(choose(45, dialogue(45, seed), str(seed))) for seed in range(40)]
    assert any(DurationBand.MEDIUM in each for each in found)
    found = [bands(choose(80, dialogue(80, seed), str(seed))) for seed in range(40)]
    assert any(DurationBand.LONG in each for each in found)


def test_another_clip_id_cuts_otherwise():
    said = dialogue(300)
    assert choose(300, said, "a") != choose(300, said, "b")


@pytest.mark.parametrize(
    ("duration", "said", "taken", "reason"),
    [
        (2.6, dialogue(2.6), (), NoWindow.TOO_SHORT),
        (7.999, dialogue(8), (), NoWindow.TOO_SHORT),
        (0, (), (), NoWindow.TOO_SHORT),
        (60, (), (), NoWindow.NO_SPEECH),
        (60, [Utterance(start=4, end=4.3, text="no")], (), NoWindow.NO_SPEECH),
        (60, dialogue(60), [Interval(start=5, end=55)], NoWindow.TAKEN),
        (60, dialogue(20), [Interval(start=0, end=30)], NoWindow.NO_SPEECH),
    ],
)
def test_a_clip_without_episodes_says_why(duration, said, taken, reason):
    result = choose(duration, said, taken=taken)
    assert (result.windows, result.reason) == ((), reason)


def test_silent_clips_give_episodes_where_the_plan_allows():
    result = choose(100, (), limits=EpisodeLimits(require_speech=False))
    assert sum(w.end - w.start for w in result.windows) > 90


def test_what_the_recogniser_only_imagined_is_no_speech():
    imagined = [Utterance(start=1, end=20, text="Thank you.", flags=("no_speech",))]
    assert choose(40, imagined, speech=()).reason is NoWindow.NO_SPEECH


def test_long_silence_is_left_out():
    said = [
        u.model_copy(update={"start": u.start + at, "end": u.end + at, "words": ()})
        for at in (60, 200)
        for u in dialogue(20)
    ]
    windows = choose(300, said).windows
    starts = [window.start for window in windows]
    assert starts[0] == pytest.approx(60.5 - MARGIN / 1000)
    assert any(start == pytest.approx(200.5 - MARGIN / 1000) for start in starts)
    assert sum(w.end - w.start for w in windows) < 50


def test_times_that_are_not_numbers_are_ignored():
    broken = [Utterance(start=float("nan"), end=3, text="x")]
    assert choose(40, broken).reason is NoWindow.NO_SPEECH


def test_episode_ids_are_in_milliseconds():
    assert episode_id("0123456789abcdef", 1.0006, 12.3) == "0123456789abcdef-1001-12300"


def test_history_holds_what_was_said_before_oldest_first():
    said = [
        Utterance(start=1, end=2, text="I never eat fish."),
        Utterance(start=5, end=6, text=" "),
        Utterance(start=7, end=8, text="Thank you.", flags=("no_speech",)),
        Utterance(start=10, end=12, text="Noted."),
        Utterance(start=19, end=21, text="Still speaking"),
    ]
    assert history_before(said[::-1], 20) == (
        HistoryEntry(before=19, text="I never eat fish."),
        HistoryEntry(before=10, text="Noted."),
    )
    assert history_before(said, 1) == ()
    assert history_before(said, 1.9996)[0].text == "I never eat fish."


@given(st.lists(st.integers(1, 200), max_size=12), st.integers(1, 150))
@settings(deadline=None)
def test_history_keeps_the_latest_words(lengths, most):
    said = [Utterance(start=i, end=i + 1, text=" ".join(["so"] * n)) for i, n in enumerate(lengths)]
    history = history_before(said, 100, most)
    assert bool(history) == bool(said)
    assert sum(len(entry.text.split()) for entry in history) <= most
    befores = [entry.before for entry in history]
    assert befores == sorted(befores, reverse=True)


def test_a_history_file_is_read(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps([{"text": "Ciao — è già tardi", "before": 60}, {"text": "b"}]))
    assert load_history(path) == (
        HistoryEntry(text="Ciao — è già tardi", before=60),
        HistoryEntry(text="b"),
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{text: a}", "the file"),
        ("", "the file"),
        ("- {text: a, who: b}", "0.who"),
        ("- {before: 3}", "0.text"),
        ("- {text: a, before: -1}", "0.before"),
        ("- {text: a, before: .nan}", "0.before"),
        ("- {text: a}\n- {text: ' '}", "1.text"),
        ("- [", "cannot be read"),
        ("!!python/object/apply:os.system ['true']", "cannot be read"),
    ],
)
def test_a_wrong_history_file_names_the_fault(tmp_path, text, named):
    path = tmp_path / "history.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_history(path)
    assert str(path) in caught.value.problem
    assert named in caught.value.problem


def test_a_missing_history_file_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_history(tmp_path / "none.yaml")
