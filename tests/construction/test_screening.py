"""Clips are refused for stated reasons; people decide against machines, and never against terms."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from typer.testing import CliRunner

import psychemme.cli.main  # noqa: F401  (registers every verb)
from construction.plan import Plan
from construction.review.web.curator_clips import ClipsWanted, clips_view
from construction.screening.duplicates import groups, matches, superseded
from construction.screening.pipeline import decide, screen_workspace, take_effect
from construction.screening.rules import (
    Measures,
    Reason,
    ScreeningRules,
    reason_of_terms,
    reasons_against,
)
from construction.screening.verdicts import (
    read_standings,
    standing,
    word,
    word_of_model,
    word_of_rules,
)
from construction.workspace import Workspace, create_workspace
from psychemme.cli.app import app
from psychemme.config import Settings
from psychemme.errors import UserError, WorkspaceError
from psychemme.media.fingerprint import CROPS, Fingerprint, mirrored
from psychemme.vocabulary import ClipStatus, ScreeningMaker, ScreeningVerdict
from state.address import Address
from state.clips import ClipStore
from state.screening import ScreeningStore
from tests.support.clips import write_clip
from tests.support.postgres import fresh_database
from tests.support.screened_clips import rated
from tests.support.states import CLIP, make_state, target

KEEP, REFUSE, UNDECIDED = ScreeningVerdict
RULES, MODEL, PERSON = ScreeningMaker
GOOD = Measures(
    seconds=20.0,
    speech_seconds=12.0,
    face_share=0.8,
    blur=200.0,
    brightness=0.5,
    still_share=0.1,
    credits_share=0.0,
    turns=3,
    voices=2,
    language="en",
    language_probability=0.9,
)
STRICT = ScreeningRules(
    min_speech_seconds=2,
    min_face_share=0.2,
    min_blur=50,
    min_brightness=0.1,
    max_brightness=0.9,
    max_still_share=0.5,
    max_credits_share=0.2,
    min_turns=2,
    languages=("en", "de"),
)
SIZE = len(CROPS)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """A Shared State with one clip and one candidate on it."""
    if request.param == "postgres":
        found: Address = fresh_database()
    else:
        found = tmp_path / "state.db"
    make_state(found, target())
    return found


@pytest.mark.parametrize(
    ("rule", "changed", "measure", "threshold"),
    [
        ("min_speech_seconds", {"speech_seconds": 1.5}, "1.5", "2"),
        ("min_face_share", {"face_share": 0.1}, "0.1", "0.2"),
        ("min_blur", {"blur": 12.5}, "12.5", "50"),
        ("min_brightness", {"brightness": 0.05}, "0.05", "0.1"),
        ("max_brightness", {"brightness": 0.95}, "0.95", "0.9"),
        ("max_still_share", {"still_share": 0.75}, "0.75", "0.5"),
        ("max_credits_share", {"credits_share": 0.3}, "0.3", "0.2"),
        ("min_turns", {"turns": 1}, "1", "2"),
        ("languages", {"language": "fr"}, "fr (0.90)", "en, de"),
    ],
)
def test_each_rule_names_measure_and_threshold(
    rule: str, changed: dict[str, object], measure: str, threshold: str
) -> None:
    assert reasons_against(GOOD, STRICT) == ()
    (reason,) = reasons_against(GOOD.model_copy(update=changed), STRICT)
    assert (reason.rule, reason.measure, reason.threshold) == (rule, measure, threshold)


def test_every_reason_is_listed_and_what_was_not_measured_gives_none() -> None:
    bad = GOOD.model_copy(update={"blur": 0.0, "turns": 0, "brightness": 0.0})
    assert {r.rule for r in reasons_against(bad, STRICT)} == {
        "min_blur",
        "min_turns",
        "min_brightness",
    }
    assert reasons_against(Measures(seconds=5), STRICT.model_copy(update={"min_turns": 0}))[
        0
    ].rule == ("min_speech_seconds")
    unmeasured = Measures(seconds=5, speech_seconds=5, turns=5)
    assert reasons_against(unmeasured, STRICT) == ()
    unsure = GOOD.model_copy(update={"language": "fr", "language_probability": 0.3})
    assert reasons_against(unsure, STRICT) == ()


def test_a_plan_that_says_nothing_of_screening_keeps_its_hash() -> None:
    plain = {"targets": [{"capability": "G", "format": "single", "count": 1}], "total": 1}
    said = Plan.model_validate(plain | {"screening": ScreeningRules().model_dump()})
    other = Plan.model_validate(plain | {"screening": {"min_turns": 1}})
    assert Plan.model_validate(plain).hash == said.hash != other.hash


@pytest.mark.parametrize(
    ("words", "is_refused", "by"),
    [
        ({}, False, None),
        ({RULES: KEEP}, False, RULES),
        ({RULES: REFUSE}, True, RULES),
        ({RULES: KEEP, MODEL: REFUSE}, True, MODEL),
        ({RULES: REFUSE, MODEL: KEEP}, True, RULES),
        ({RULES: REFUSE, PERSON: KEEP}, False, PERSON),
        ({RULES: KEEP, MODEL: KEEP, PERSON: REFUSE}, True, PERSON),
        ({RULES: REFUSE, PERSON: UNDECIDED}, True, RULES),
    ],
)
def test_people_have_the_last_word(
    words: dict[ScreeningMaker, ScreeningVerdict], is_refused: bool, by: ScreeningMaker | None
) -> None:
    reason = Reason(rule="min_blur", measure="1", threshold="2")
    given = {maker: word(maker, "x", said, [reason]) for maker, said in words.items()}
    found = standing(given)
    assert (found.is_refused, found.decided_by) == (is_refused, by)
    assert len(found.reasons) == len(words)


def test_nobody_has_it_over_lacking_terms() -> None:
    rules = ScreeningRules(require_terms=True)
    assert reason_of_terms("CC0", "signed", rules) == ()
    assert reason_of_terms(None, None, ScreeningRules()) == ()
    lacking = reason_of_terms("CC0", None, rules)
    words = {RULES: word_of_rules(lacking, GOOD), PERSON: word(PERSON, "me", KEEP)}
    found = standing(words)
    assert found.is_refused
    assert found.refusal is not None
    assert "no consent" in found.refusal[0]
    assert "clips add" in found.refusal[1]


def made(
    seed: int, length: int = 40, motion: int | None = None, still: bool = False
) -> Fingerprint:
    """A fingerprint out of chance; of a camera that never moves where it is `still`."""
    random = np.random.default_rng(seed)
    whole = random.integers(1, 2**63, length, dtype=np.uint64)
    if still:
        whole[:] = whole[0]
    pictures = np.repeat(whole[:, None], SIZE, axis=1)
    moving = np.random.default_rng(seed if motion is None else motion)
    return written(
        pictures,
        moving.integers(0, 2000, length),
        moving.integers(0, 2**16, 2 * length, dtype=np.uint16),
    )


def written(pictures: np.ndarray, motion: np.ndarray, sounds: np.ndarray) -> Fingerprint:
    return Fingerprint(
        pictures=(pictures | 1).astype("<u8").tobytes().hex(),
        motion=tuple(int(m) for m in motion),
        letters=(0,) * len(motion),
        sounds=sounds.astype("<u2").tobytes().hex(),
        loud=np.packbits(np.ones(len(sounds), dtype=bool)).tobytes().hex(),
    )


def copy_of(one: Fingerprint, skip: int = 0, flips: int = 3, mirror: bool = False) -> Fingerprint:
    """The same `skip` pictures later, with some bits of every hash changed."""
    random = np.random.default_rng(99)
    pictures = one.picture_hashes()[skip:]
    pictures = mirrored(pictures) if mirror else pictures
    for _ in range(flips):
        shifts = random.integers(1, 64, pictures.shape).astype(np.uint64)
        pictures = pictures ^ (np.uint64(1) << shifts)
    return written(pictures, np.array(one.motion)[skip:], one.sound_hashes()[0][2 * skip :])


@pytest.mark.parametrize(
    "again",
    [{"skip": 0}, {"skip": 2}, {"skip": 5}, {"mirror": True}, {"mirror": True, "skip": 2}],
    ids=str,
)
def test_a_copy_is_found_with_its_offset(again: dict[str, Any]) -> None:
    one = made(1)
    prints = {"one": one, "copy": copy_of(one, **again), "other": made(2)}
    (match,) = matches(prints)
    assert (match.first, match.second) == ("one", "copy")
    assert match.offset == again.get("skip", 0) / 4
    assert match.is_mirrored == again.get("mirror", False)
    assert match.bits <= 3
    assert match.overlap == 1
    assert match.sound == 0
    assert matches(prints) == matches(prints)


def test_an_excerpt_is_a_copy_and_a_shared_opening_is_none() -> None:
    one = made(1, length=80)
    excerpt = copy_of(one, skip=60)
    assert [m.second for m in matches({"one": one, "part": excerpt})] == ["part"]
    pictures, other = one.picture_hashes().copy(), made(5, length=80)
    pictures[20:] = other.picture_hashes()[20:]
    sharing = written(pictures, np.array(other.motion), other.sound_hashes()[0])
    assert matches({"one": one, "sharing": sharing}) == ()


def part(one: Fingerprint, start: int, stop: int) -> Fingerprint:
    sounds = one.sound_hashes()[0][2 * start : 2 * stop]
    return written(one.picture_hashes()[start:stop], np.array(one.motion)[start:stop], sounds)


@pytest.mark.parametrize(("start", "count"), [(30, 0), (15, 0), (11, 1), (0, 1)])
def test_clips_that_share_less_than_most_are_two(start: int, count: int) -> None:
    recording = made(1, length=120)
    prints = {"one": part(recording, 0, 60), "later": part(recording, start, start + 60)}
    assert len(matches(prints)) == count


def test_one_place_at_two_times_is_two_clips() -> None:
    fixed = {"one": made(1, motion=11, still=True), "other": made(1, motion=12, still=True)}
    assert matches(fixed) == ()
    same = {"one": made(1, motion=11, still=True), "copy": made(1, motion=11, still=True)}
    assert len(matches(same)) == 1


def test_very_many_copies_are_one_group_without_a_pair_for_each_two() -> None:
    one = made(1)
    prints = {f"{n:04}": copy_of(one, flips=0) for n in range(120)}
    found = matches(prints)
    assert groups(found) == (tuple(sorted(prints)),)
    assert len(found) < 120 * 60
    assert set(superseded(found, sorted(prints))) == set(prints) - {"0000"}


def test_a_clip_is_dropped_for_a_kept_one_only() -> None:
    long = made(1, length=100)
    front = copy_of(long)
    parts = {
        "long": long,
        "front": written(
            front.picture_hashes()[:20], np.array(front.motion)[:20], front.sound_hashes()[0][:40]
        ),
        "back": copy_of(long, skip=80),
    }
    found = matches(parts)
    assert groups(found) == (("back", "front", "long"),)
    assert set(superseded(found, ["long", "front", "back"])) == {"front", "back"}
    assert set(superseded(found, ["front", "long", "back"])) == {"long"}


def test_clips_without_pictures_to_compare_match_nothing() -> None:
    black = written(np.zeros((20, SIZE), dtype=np.uint64), np.zeros(20), np.zeros(40, np.uint16))
    blank = black.model_copy(update={"pictures": "00" * 8 * SIZE * 20})
    assert matches({"one": blank, "other": blank, "none": Fingerprint()}) == ()
    assert matches({}) == ()


def test_words_are_kept_once_and_the_last_of_each_stands(address: Address) -> None:
    with ScreeningStore(address) as store:
        assert store.standing() == {}
        assert store.record(CLIP.id, word_of_rules((), GOOD))
        assert not store.record(CLIP.id, word_of_rules((), GOOD))
        assert store.record(CLIP.id, word(PERSON, "me", REFUSE))
        assert store.record(CLIP.id, word(PERSON, "me", UNDECIDED))
        held = store.standing()[CLIP.id]
        assert {maker: said.verdict for maker, said in held.items()} == {
            RULES: KEEP,
            PERSON: UNDECIDED,
        }
        assert store.used_clips() == {CLIP.id}
    assert read_standings(address)[CLIP.id].measures == GOOD


@pytest.mark.parametrize(
    ("clip", "by", "why", "error"),
    [
        ("ffff", "me", "so", WorkspaceError),
        ("", "me", "so", WorkspaceError),
        (CLIP.id, " ", "so", UserError),
        (CLIP.id, "me", "\u2800", UserError),
    ],
)
def test_a_decision_names_one_clip_its_maker_and_why(
    tmp_path: Path, clip: str, by: str, why: str, error: type[Exception]
) -> None:
    make_state(tmp_path / "state.db", target())
    with pytest.raises(error):
        decide(tmp_path / "state.db", clip, KEEP, by, why)


def run(root: Path, *words: str, **environ: str) -> str:
    """Run a verb in this process and return what it prints."""
    done = CliRunner().invoke(app, ["--workspace", str(root), *words], env=environ)
    assert done.exit_code == 0, done.output
    return done.stdout


def read(root: Path, *words: str) -> Any:
    return json.loads(run(root, *words, "--json"))


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A screened workspace with a clip and the same in another container."""
    folder = tmp_path_factory.mktemp("screening")
    clip, copy = folder / "clip.mp4", folder / "copy.mkv"
    ffmpeg = (imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error")
    shown = ("-f", "lavfi", "-i", "testsrc2=size=192x144:rate=12:duration=6")
    heard = ("-f", "lavfi", "-i", "anoisesrc=duration=6:amplitude=0.2:seed=1:sample_rate=16000")
    subprocess.run([*ffmpeg, *shown, *heard, "-c:a", "aac", clip], check=True)
    subprocess.run([*ffmpeg, "-i", clip, "-c", "copy", copy], check=True)
    root = folder / "workspace"
    run(root, "init", "--demo-key")
    terms = ("--licence", "CC0", "--consent", "none shown")
    run(root, "clips", "add", str(clip), str(copy), *terms)
    return root


def test_a_copy_is_screened_out_and_a_person_may_turn_it_round(
    screened: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(screened, tmp_path / "workspace"))
    plan = root / "plan.yaml"
    plan.write_text(
        "targets: [{capability: G, format: single, count: 1}]\ntotal: 1\n"
        "episodes: {require_speech: false, min_seconds: 2}\n"
        "screening: {max_still_share: 1, min_blur: 0, max_credits_share: 1}\n"
    )
    found = read(root, "screen", "--plan", str(plan))
    (group,) = found["groups"]
    refused = {name for name, each in found["clips"].items() if each["is_refused"]}
    assert len(group) == 2
    assert len(refused) == 1
    shown = clips_view(Workspace(root), ClipsWanted("copies")).rows
    assert [row.clip.id for row in shown] == list(group)
    assert [len(row.stills) for row in shown] == [6, 6]
    assert [row.waits for row in shown] == [False, False]
    assert {line.rule: line.threshold for line in shown[0].lines}["min_blur"] == "0"
    (out,) = refused
    listed = {clip["id"]: clip for clip in read(root, "clips", "list")}
    assert listed[out]["status"] == "refused"
    assert "12 of 63 bits" in listed[out]["reason"]
    run(root, "screen", "decide", out[:6], "keep", "--by", "me", "--reason", "[bold]better[/]")
    found = read(root, "screen", "--plan", str(plan))
    assert not found["clips"][out]["is_refused"]
    kept = {clip["id"]: clip["status"] for clip in read(root, "clips", "list")}
    assert kept == {out: "prepared", (set(group) - refused).pop(): "refused"}
    run(root, "prepare", "--plan", str(plan))
    assert {c["id"]: c["status"] for c in read(root, "clips", "list")} == kept
    narrow = run(root, "screen", "show", COLUMNS="80")
    assert "[bold]better[/]" in narrow
    table = narrow[: narrow.rindex("─")]
    assert all(name in table for name in group)


def test_another_minimum_is_held_against_old_scores(tmp_path: Path) -> None:
    workspace = create_workspace(tmp_path / "workspace", "00" * 32)
    run(workspace.root, "clips", "add", str(write_clip(tmp_path / "clip.mp4", seconds=3)))
    values = {
        "targets": [{"capability": "G", "format": "single", "count": 1}],
        "total": 1,
        "episodes": {"require_speech": False, "min_seconds": 1},
    }
    lax = {"max_still_share": 1, "min_blur": 0, "rubric_minimum": {"people": 0}}
    settings = Settings(asr="off", workers=1)
    plan = Plan.model_validate(values | {"screening": lax})
    (name,) = screen_workspace(workspace, settings, plan).standings
    with ScreeningStore(workspace.database) as store:
        store.record(name, word_of_model(rated(people=0), plan.screening.rubric_minimum))
    assert not screen_workspace(workspace, settings, plan).standings[name].is_refused
    strict = Plan.model_validate(values | {"screening": lax | {"rubric_minimum": {}}})
    found = screen_workspace(workspace, settings, strict).standings[name]
    assert (found.is_refused, found.decided_by) == (True, MODEL)


def test_a_clip_that_is_added_meanwhile_is_prepared_with_the_verdicts(tmp_path: Path) -> None:
    workspace = create_workspace(tmp_path / "workspace", "00" * 32)
    run(workspace.root, "clips", "add", str(write_clip(tmp_path / "clip.mp4", seconds=3)))
    plan = Plan.model_validate(
        {
            "targets": [{"capability": "G", "format": "single", "count": 1}],
            "total": 1,
            "episodes": {"require_speech": False, "min_seconds": 1},
        }
    )
    assert take_effect(workspace, Settings(asr="off", workers=1), plan, {}) == {}
    with ClipStore(workspace.database) as clips:
        assert [one.status for one in clips.clips()] == [ClipStatus.PREPARED]


def test_terms_that_the_plan_asks_for_are_asked_of_whoever_wants_the_clip(tmp_path: Path) -> None:
    workspace: Workspace = create_workspace(tmp_path / "workspace", "00" * 32)
    clip = write_clip(tmp_path / "clip.mp4", seconds=3)
    run(workspace.root, "clips", "add", str(clip))
    plan = Plan.model_validate(
        {
            "targets": [{"capability": "G", "format": "single", "count": 1}],
            "total": 1,
            "episodes": {"require_speech": False, "min_seconds": 1},
            "screening": {"require_terms": True, "max_still_share": 1, "min_blur": 0},
        }
    )
    settings = Settings(asr="off", workers=1)
    (name,) = screen_workspace(workspace, settings, plan).standings
    assert decide(workspace.database, name, KEEP, "me", "I like it").is_refused
    assert screen_workspace(workspace, settings, plan).standings[name].is_refused
    terms = ("--licence", "CC0", "--consent", "none shown")
    run(workspace.root, "clips", "add", str(clip), *terms)
    assert not screen_workspace(workspace, settings, plan).standings[name].is_refused
    with ClipStore(workspace.database) as clips:
        assert [one.status for one in clips.clips()] == [ClipStatus.PREPARED]
