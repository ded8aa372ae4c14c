"""Verify finds every fault of a release and names file, place and rule."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from psychemme.cli import verify as verb  # noqa: F401  (adds the verb to the app)
from psychemme.cli.app import app
from psychemme.errors import MediaError, ReleaseError
from psychemme.items import Option
from psychemme.release.faults import Rule
from psychemme.release.freeze import Erratum, ReleaseFacts, release_faults, write_frozen
from psychemme.release.read import read_release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow
from psychemme.release.sums import sums_file
from psychemme.release.verify import verify_release
from psychemme.release.write import write_release
from tests.support.releases import FACTS, make_release, make_rows

Rows = tuple[list[QuestionRow], list[EpisodeRow], list[ReferenceRow]]
Q, E, R = "public/questions.jsonl", "public/episodes.jsonl", "private/references.jsonl"
SAID = ReleaseFacts.model_validate(FACTS)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("frozen") / "release"
    errata = [Erratum(id="q0001", fault="two readings", action="noted")]
    write_frozen(root, SAID, *make_rows(), errata)
    return root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "release")


def found(root: Path, **given: Any) -> list[tuple[str, str, Rule]]:
    return [(f.file, f.where, f.rule) for f in verify_release(root, **given).faults]


def test_a_frozen_release_has_no_fault(whole: Path) -> None:
    verified = verify_release(whole)
    assert verified.faults == ()
    assert verified.notes == ()
    assert verified.counts["files"] == sum(path.is_file() for path in whole.rglob("*"))
    assert verified.counts["questions"] == 24


def flips(root: Path) -> Iterator[tuple[Path, int]]:
    """Yield a file and the position of a byte, several of each file."""
    drawn = random.Random(7)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        size = path.stat().st_size
        for position in {0, size - 1, *(drawn.randrange(size) for _ in range(10))}:
            yield path, position


def test_a_flipped_byte_of_any_file_names_the_file(root: Path) -> None:
    for path, position in flips(root):
        check_flip(root, path, position, 1 << position % 8)
    # The first sum, of a manifest, which no other list has.
    sums = root / "SHA256SUMS"
    check_flip(root, sums, sums.read_text().index("\n") + 1, 1)


@settings(deadline=None)
@given(st.data())
def test_any_change_of_a_byte_names_the_file(whole: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(p for p in whole.rglob("*") if p.is_file())))
    position = data.draw(st.integers(0, path.stat().st_size - 1))
    check_flip(whole, path, position, data.draw(st.integers(1, 255)))


def check_flip(root: Path, path: Path, position: int, mask: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:position] + bytes([whole[position] ^ mask]) + whole[position + 1 :])
    try:
        faults = verify_release(root).faults
    finally:
        path.write_bytes(whole)
    name = path.relative_to(root).as_posix()
    assert name in {f.file for f in faults if f.rule in (Rule.CHECKSUM, Rule.EXTRA, Rule.MISSING)}
    assert {f.file for f in faults if f.rule is Rule.CHECKSUM} == {name}


def test_two_altered_files_are_both_named(root: Path) -> None:
    for name in (Q, R):
        (root / name).write_bytes((root / name).read_bytes() + b" ")
    assert found(root) == [(R, "", Rule.CHECKSUM), (Q, "", Rule.CHECKSUM)]


def test_a_list_that_alone_belies_a_file_is_named_itself(root: Path) -> None:
    held = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.*")}
    (root / "SHA256SUMS").write_bytes(sums_file(held | {Q: b"others"}, SAID.canary))
    assert found(root) == [("SHA256SUMS", "", Rule.CHECKSUM)]


@pytest.mark.parametrize(
    "name",
    ["SHA256SUMS", "public/README.md", "public/figures/words.svg", R, "public/manifest.json"],
)
def test_a_missing_file_is_named(root: Path, name: str) -> None:
    (root / name).unlink()
    assert (name, "", Rule.MISSING) in found(root)


@pytest.mark.parametrize("name", ["notes.txt", "public/figures/more.svg", "private/keys.txt"])
def test_a_file_that_is_not_listed_is_named(root: Path, name: str) -> None:
    (root / name).write_text(SAID.canary)
    assert found(root) == [(name, "", Rule.EXTRA)]


def link_out(path: Path) -> None:
    """Put the file outside, and a link to it in its place."""
    held = path.rename(path.parents[2] / "held")
    path.symlink_to(held)


ODD: dict[str, tuple[str, Callable[[Path], object]]] = {
    "broken link": ("public/evil", lambda path: path.symlink_to("/nonexistent")),
    "link to a file": ("public/evil", lambda path: path.symlink_to(path.parent / "README.md")),
    "link to a folder": ("evil", lambda path: path.symlink_to("/etc")),
    "listed link out of the release": (R, link_out),
    "listed folder out of the release": ("public/figures", link_out),
    "pipe": ("public/pipe", os.mkfifo),
    "empty folder": ("public/figures/empty", Path.mkdir),
    "folder in place of a file": (
        "public/README.md",
        lambda path: (path.unlink(), path.mkdir()),
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_neither_a_file_nor_its_folder_is_named(root: Path, case: str) -> None:
    name, make = ODD[case]
    make(root / name)
    assert (name, "", Rule.EXTRA) in found(root)


def test_a_file_is_not_smuggled_in_by_one_list_alone(root: Path) -> None:
    (root / "public" / "more.txt").write_text(SAID.canary)
    path = root / "public" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["more.txt"] = hashlib.sha256(SAID.canary.encode()).hexdigest()
    path.write_text(json.dumps(manifest))
    assert ("public/more.txt", "", Rule.EXTRA) in found(root)
    assert ("public/manifest.json", "", Rule.CHECKSUM) in found(root)


def test_an_absent_private_part_is_said_and_no_fault(root: Path) -> None:
    shutil.rmtree(root / "private")
    verified = verify_release(root)
    assert verified.faults == ()
    assert "private part is absent" in verified.notes[0]


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no folder `public`"):
        verify_release(tmp_path)


def test_rubbish_is_named_line_by_line(root: Path) -> None:
    lines = ["{", '{"id": "q"}', "\xff", "[" * 100_000, "7"]
    (root / Q).write_bytes("\n".join(lines).encode("latin-1"))
    faults = found(root)
    assert {(Q, f"line {n}", Rule.FORMAT) for n in range(1, 6)} <= set(faults)


def sealed_again(root: Path, name: str, old: str, new: str) -> None:
    """Change a text in a file, and make every checksum fit."""
    path, folder = root / name, root / name.partition("/")[0]
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    manifest = json.loads((folder / "manifest.json").read_text())
    if path.name in manifest["files"]:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        rewrite(root, f"{folder.name}/manifest.json", files=manifest["files"] | {path.name: sha256})
    held = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.*")}
    (root / "SHA256SUMS").write_bytes(sums_file(held, SAID.canary))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (E, '"source_start":null', '"source_start":NaN', "NaN is not a finite number"),
        (E, '"source_start":null', '"source_start":-Infinity', "-Infinity is not a finite"),
        (E, '"source_start":null', '"source_start":1e999', "1e999 is not a finite number"),
        (E, '"end":20.0', '"end":"20.0"', "end: Input should be a valid number"),
        (E, '"text":"Could', '"speaker":"Ann","text":"Could', "unknown key transcript.speaker"),
        (R, '"start":1.0', '"start":"1.0"', "cues.0.start: Input should be a valid number"),
        (R, '"required":true', '"required":"yes"', "required: Input should be a valid boolean"),
        (R, '"answer":"A"', '"answer":"B","answer":"A"', "the key 'answer' stands twice"),
        (Q, '"capability"', '"answer":"A","capability"', "has the unknown key answer"),
        (Q, "{", "\ufeff{", "BOM"),
        ("public/manifest.json", "{", '{"key":{"q0000":"A"},', "has the unknown key key"),
        ("public/manifest.json", "{", '{"part":"private",', "the key 'part' stands twice"),
    ],
)
def test_what_readers_may_take_differently_is_a_fault(
    root: Path, name: str, old: str, new: str, said: str
) -> None:
    sealed_again(root, name, old, new)
    faults = [f for f in verify_release(root).faults if f.rule is Rule.FORMAT]
    assert [(f.file, said in f.problem) for f in faults] == [(name, True)]


def test_keys_of_a_later_minor_version_are_ignored_and_said_to_be(root: Path) -> None:
    sealed_again(root, Q, '"capability"', '"more":1,"capability"')
    for part in ("public", "private"):
        sealed_again(root, f"{part}/manifest.json", '"1.1"', '"1.2"')
    verified = verify_release(root)
    assert verified.faults == ()
    assert verified.notes == (
        "Format version 1.2 is newer than this program: unknown keys unchecked.",
    )
    assert len(read_release(root).questions) == 24


@pytest.mark.parametrize(
    ("changes", "is_fault"),
    [
        ({"example": False}, True),
        ({"example": False, "review": {"demonstration": True}}, True),
        ({"example": False, "review": {"demonstration": True}, "format_version": "1.0"}, True),
        ({"example": False, "format_version": "1.0"}, True),
        ({"example": True, "format_version": "1.0"}, False),
        ({"example": False, "review": {}}, False),
        ({"example": True, "review": {"demonstration": True}}, False),
    ],
)
def test_only_an_example_may_be_unreviewed(
    root: Path, changes: dict[str, Any], is_fault: bool
) -> None:
    said = {"reviewers_per_item": 5, "items_reviewed": 24, "demonstration": False}
    review = {"review": said | changes["review"]} if "review" in changes else {}
    named = []
    for name in ("public/manifest.json", "private/manifest.json"):
        rewrite(root, name, **(changes | review))
        named.append((name, "", Rule.REVIEW))
    assert [one for one in found(root) if one[2] is Rule.REVIEW] == (
        sorted(named) if is_fault else []
    )


def changed(row: Any, **changes: Any) -> Any:
    return row.model_copy(update=changes)


def put(rows: Any, position: int, **changes: Any) -> None:
    rows[position] = changed(rows[position], **changes)


def overlapping(rows: Rows) -> None:
    put(rows[1], 0, start=0.0, end=100.0, duration=100.0, source_start=5.0)
    for place in (1, 2):
        put(rows[1], place, source_video_id="v0", source_start=30.0 * place, sha256="1" * 64)


def repeated_options(rows: Rows) -> None:
    put(rows[0], 0, options=(Option(id="A", text="Open it."), Option(id="B", text=" open  IT ")))


FAULTY: dict[str, tuple[Callable[[Rows], object], list[tuple[str, str, Rule]]]] = {
    "options that differ in what nobody sees": (
        lambda rows: put(
            rows[0],
            0,
            options=(Option(id="A", text="Yes"), Option(id="B", text="ye\u034fs.")),
        ),
        [(Q, "q0000", Rule.OPTIONS)],
    ),
    "an option that nobody sees": (
        lambda rows: put(
            rows[0], 0, options=(Option(id="A", text="Yes"), Option(id="B", text="\u3164"))
        ),
        [(Q, "q0000", Rule.OPTIONS)],
    ),
    "a question that nobody sees": (
        lambda rows: put(rows[0], 0, question="\u200b\u2800"),
        [(Q, "q0000", Rule.FORMAT)],
    ),
    "a licence that nobody sees": (
        lambda rows: [put(rows[1], n, licence="\u2800") for n in range(len(rows[1]))],
        [(E, "source test", Rule.LICENCE)],
    ),
    "an id twice": (
        lambda rows: put(rows[0], 3, id="q0000"),
        [(Q, "q0000", Rule.ID), (R, "q0003", Rule.LINK)],
    ),
    "an episode twice": (lambda rows: rows[1].append(rows[1][0]), [(E, "e0000", Rule.ID)]),
    "no such episode": (
        lambda rows: put(rows[0], 0, episode_id="e9"),
        [(Q, "q0000", Rule.LINK)],
    ),
    "an episode without question": (
        lambda rows: rows[1].append(changed(rows[1][0], id="e9", source_video_id="v9")),
        [(E, "e9", Rule.LINK)],
    ),
    "no reference": (lambda rows: rows[2].pop(0), [(Q, "q0000", Rule.LINK)]),
    "a reference too many": (
        lambda rows: rows[2].append(changed(rows[2][0], id="q9")),
        [(R, "q9", Rule.LINK)],
    ),
    "a window of another length": (
        lambda rows: put(rows[1], 0, end=21.0),
        [(E, "e0000", Rule.WINDOW)],
    ),
    "a line outside": (
        lambda rows: put(rows[1], 0, transcript=(changed(rows[1][0].transcript[0], end=20.5),)),
        [(E, "e0000", Rule.WINDOW)],
    ),
    "two windows inside a third": (
        overlapping,
        [(E, "e0001", Rule.OVERLAP), (E, "e0002", Rule.OVERLAP)],
    ),
    "options alike": (repeated_options, [(Q, "q0000", Rule.OPTIONS)]),
    "an answer that is no option": (
        lambda rows: put(rows[2], 0, answer="Z"),
        [(R, "q0000", Rule.ANSWER)],
    ),
    "all options right": (
        lambda rows: put(rows[2], 1, answer=["A", "B", "C", "D"]),
        [(R, "q0001", Rule.ANSWER)],
    ),
    "no required key point": (
        lambda rows: put(rows[2], 2, key_points=()),
        [(R, "q0002", Rule.KEY_POINTS)],
    ),
    "a cue outside": (
        lambda rows: put(rows[2], 0, cues=(changed(rows[2][0].cues[0], end=20.5),)),
        [(R, "q0000", Rule.CUE)],
    ),
    "a decision outside": (
        lambda rows: put(rows[0], 3, decision_time=20.5),
        [(Q, "q0003", Rule.DECISION_TIME)],
    ),
    "a question twice": (
        lambda rows: put(rows[0], 1, question="  what is ASKED for in scene 0"),
        [(Q, "q0001", Rule.DUPLICATE)],
    ),
    "a question on the same words twice": (
        lambda rows: (
            put(rows[1], 1, transcript=rows[1][0].transcript),
            put(rows[0], 3, question=rows[0][0].question),
        ),
        [(Q, "q0003", Rule.DUPLICATE)],
    ),
    "no licence": (lambda rows: put(rows[1], 0, licence=" "), [(E, "source test", Rule.LICENCE)]),
    "no consent": (lambda rows: put(rows[1], 0, consent=None), [(E, "source test", Rule.LICENCE)]),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_of_the_rows_is_named(tmp_path: Path, case: str) -> None:
    """What verify finds in a folder is what freezing refuses."""
    spoil, expected = FAULTY[case]
    rows = make_rows()
    assert release_faults(*rows) == []
    spoil(rows)
    write_release(tmp_path / "release", SAID, *rows)
    faults = [fault for fault in found(tmp_path / "release") if fault[2] is not Rule.MANIFEST]
    assert set(faults) == set(expected)
    assert {(f.file, f.where, f.rule) for f in release_faults(*rows)} == set(expected)


def test_neighbours_in_a_source_video_do_not_overlap(tmp_path: Path) -> None:
    rows = make_rows()
    for place in range(3):
        put(rows[1], place, source_video_id="v0", source_start=20.0 * place)
    put(rows[1], 3, source_video_id="v4", sha256="1" * 64)  # where it starts is not known
    assert release_faults(*rows) == []


def rewrite(root: Path, name: str, **changes: Any) -> None:
    path = root / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "changes",
    [{"counts": {"questions": 3}}, {"capabilities": ["G"]}, {"part": "private"}, {"version": "9"}],
)
def test_a_manifest_that_belies_the_rows_is_named(root: Path, changes: dict[str, Any]) -> None:
    rewrite(root, "public/manifest.json", **changes)
    named = {file for file, _, rule in found(root) if rule is Rule.MANIFEST}
    assert named & {"public/manifest.json", "private/manifest.json"}


def test_another_canary_is_named_by_line(tmp_path: Path) -> None:
    root = make_release(tmp_path / "release")
    for name in ("public/manifest.json", "private/manifest.json"):
        rewrite(root, name, canary="another-canary")
    faults = found(root)
    assert (Q, "line 24", Rule.CANARY) in faults
    assert ("SHA256SUMS", "", Rule.CANARY) in faults


def test_an_erratum_that_the_rows_belie_is_named(whole: Path, tmp_path: Path) -> None:
    questions, episodes, references = make_rows()
    path = whole / "public" / "errata.jsonl"
    removed = path.read_bytes().replace(b'"noted"', b'"removed"')
    cards = {"errata.jsonl": removed}
    write_release(tmp_path / "r", SAID, questions, episodes, references, cards)
    assert found(tmp_path / "r") == [("public/errata.jsonl", "q0001", Rule.ERRATA)]


def test_a_release_of_format_1_0_lacks_licences_and_nothing_else(tmp_path: Path) -> None:
    questions, episodes, references = make_rows()
    old = [changed(row, licence=None, consent=None) for row in episodes]
    root = tmp_path / "release"
    write_release(root, SAID, questions, old, references)
    for name in ("public/manifest.json", "private/manifest.json"):
        rewrite(root, name, format_version="1.0")
    (root / "SHA256SUMS").unlink()
    assert set(found(root)) == {(E, "source test", Rule.LICENCE)}
    (note,) = verify_release(root).notes
    assert "nothing covers the manifests" in note


@pytest.mark.parametrize("version", ["2.0", "1", "01.1", "1.00", "1.1x", "1.1\n", "１.１", ""])
def test_another_major_version_or_spelling_is_a_fault(root: Path, version: str) -> None:
    rewrite(root, "public/manifest.json", format_version=version)
    assert ("public/manifest.json", "", Rule.FORMAT) in found(root)


def media_release(tmp_path: Path, **clip: str) -> Path:
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "c.mp4").write_bytes(b"a clip")
    sha256 = hashlib.sha256(b"a clip").hexdigest()
    return make_release(tmp_path / "release", 3, **({"clip": "c.mp4", "sha256": sha256} | clip))


def refuse(_: Path) -> float:
    raise MediaError("it is no video", "Replace it.")


@pytest.mark.parametrize(
    ("clip", "measure", "expected"),
    [
        ({}, lambda _: 20.0, []),
        ({}, lambda _: 19.9, [(E, "e0000", Rule.WINDOW)]),
        ({}, refuse, [(E, "e0000", Rule.MEDIA)]),
        ({"sha256": "1" * 64}, lambda _: 20.0, [(E, "e0000", Rule.MEDIA)]),
        ({"clip": "../media/../secret"}, lambda _: 20.0, [(E, "e0000", Rule.MEDIA)]),
        ({"clip": "/etc/passwd"}, lambda _: 20.0, [(E, "e0000", Rule.MEDIA)]),
        ({"clip": "a\0b"}, lambda _: 20.0, [(E, "e0000", Rule.MEDIA)]),
        ({"clip": "a" * 5000}, lambda _: 20.0, [(E, "e0000", Rule.MEDIA)]),
    ],
)
def test_clips_are_compared(tmp_path: Path, clip: Any, measure: Any, expected: Any) -> None:
    (tmp_path / "secret").write_bytes(b"a clip")
    root = media_release(tmp_path, **clip)
    assert found(root, media=tmp_path / "media", measure=measure) == expected


def test_the_verb_ends_with_1_where_there_are_faults(root: Path) -> None:
    run = CliRunner()
    good = run.invoke(app, ["verify", str(root)])
    assert (good.exit_code, "no faults" in good.output) == (0, True)
    (root / "public" / "[red]\x1b[31m.txt").write_text("x")
    bad = run.invoke(app, ["verify", str(root)])
    assert bad.exit_code == 1
    assert "\x1b[31m" not in bad.output
    listed = json.loads(run.invoke(app, ["verify", str(root), "--json"]).stdout)
    assert {fault["rule"] for fault in listed["faults"]} == {"extra"}


def test_every_rule_is_documented() -> None:
    text = (ROOT / "docs" / "release-format.md").read_text()
    assert [rule for rule in Rule if f"| `{rule}` |" not in text] == []
