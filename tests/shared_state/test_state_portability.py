"""A Shared State moves between engines whole and unchanged, or not at all."""

import hashlib
import json
import math
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, Table

from psychemme.canonical import canonical_json
from psychemme.errors import WorkspaceError
from psychemme.vocabulary import CandidateState, Capability, ClipStatus, Format, SetKind
from state import migrate
from state.address import Address
from state.clips import ClipStore
from state.engines import open_owner
from state.portability import MANIFEST, export_state, import_state, moved_tables
from tests.support.postgres import fresh_database
from tests.support.reviews import make_review
from tests.support.states import CLIP

NEW_CLIP = CLIP.model_copy(update={"id": "f" * 16, "sha256": "f" * 64})
ENGINES = ("sqlite", "postgres")


@pytest.fixture(scope="module")
def blank(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("blank") / "state.db"
    migrate.upgrade(path)
    return path


@pytest.fixture
def empty(blank, tmp_path) -> Callable[[str], Address]:
    def make(engine: str) -> Address:
        if engine == "postgres":
            return fresh_database()
        path = tmp_path / f"empty{len(list(tmp_path.iterdir()))}.db"
        return Path(shutil.copy(blank, path))

    return make


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """The export of a review; not to be changed."""
    folder = tmp_path_factory.mktemp("exported")
    make_review(folder / "state.db")
    export_state(folder / "state.db", folder / "out")
    return folder / "out"


@pytest.fixture
def copied(exported, tmp_path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "copied"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fill(address: Address, rows: dict[str, list[dict[str, Any]]]) -> None:
    engine = open_owner(address)
    with engine.begin() as connection:
        for table in moved_tables():
            if some := rows.get(table.name):
                connection.execute(table.insert(), some)
    engine.dispose()


def is_key(table: Table, column: Column[Any]) -> bool:
    """Tell whether other rows or rules refer to the column: all such hold the same value."""
    return column.primary_key or bool(column.foreign_keys) or column.name == "request_id"


WORDS = {
    "status": {"clips": ClipStatus},
    "capability": {"candidates": Capability, "review_references": Capability},
    "format": {"candidates": Format, "review_items": Format},
    "state": {"outcomes": CandidateState},
    "kind": {"review_sets": SetKind},
}


def value(table: Table, column: Column[Any]) -> st.SearchStrategy[Any]:
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
    if is_key(table, column) and column.nullable is False:
        return st.just("x" if not isinstance(column.type, Integer) else 1)
    if table.name == "votes" and column.name == "kind":
        return st.just("verdict")
    if words := WORDS.get(column.name, {}).get(table.name):
        return st.sampled_from([str(word) for word in words])
    if column.name in ("question_validity", "answer_correctness", "psychological_consistency"):
        return st.sampled_from(["approve", "reject", None])
    if isinstance(column.type, Boolean):
        return st.booleans()
    if isinstance(column.type, Float):
        # SQLite forgets the sign of a zero.
        found: st.SearchStrategy[Any] = st.floats(allow_nan=False, allow_infinity=False).map(
            lambda one: one + 0.0
        )
    elif isinstance(column.type, BigInteger):
        found = st.integers(-(2**63), 2**63 - 1)
    elif isinstance(column.type, Integer):
        found = st.integers(-(2**31), 2**31 - 1)
    elif column.name.endswith("_json"):
        found = text.map(canonical_json)
    elif column.foreign_keys:
        found = st.just("x")
    else:
        found = text
    return st.none() | found if column.nullable else found


def a_row_of_every_table() -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Every key is the same, so that every reference holds."""
    return st.fixed_dictionaries(
        {
            table.name: st.fixed_dictionaries(
                {column.name: value(table, column) for column in table.columns}
            ).map(lambda row: [row])
            for table in moved_tables()
        }
    )


few = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],  # a smaller example is worth no minutes
)


@pytest.mark.parametrize("other", ENGINES)
def test_every_table_there_and_back_without_difference(empty, tmp_path, other):
    @settings(few, max_examples=3 if other == "postgres" else 6)
    @given(a_row_of_every_table())
    def check(rows):
        for old in tmp_path.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        here, there, back = empty("sqlite"), empty(other), empty("sqlite")
        fill(here, rows)
        moved = export_state(here, tmp_path / "1")
        assert {name: file.rows for name, file in moved.tables.items()} == dict.fromkeys(rows, 1)
        assert import_state(there, tmp_path / "1") == moved
        assert export_state(there, tmp_path / "2") == moved
        import_state(back, tmp_path / "2")
        export_state(back, tmp_path / "3")
        assert contents(tmp_path / "1") == contents(tmp_path / "2") == contents(tmp_path / "3")
        for name, (row,) in rows.items():
            (line,) = (tmp_path / "3" / f"{name}.jsonl").read_bytes().splitlines()
            assert repr(json.loads(line)) == repr(dict(sorted(row.items())))

    check()


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_alike_and_sorted_by_key_whatever_order_they_came_in(empty, tmp_path, engine):
    names = ["b", "ä", "A", "a", "\N{GRINNING FACE}", "\uffee", "B"]
    address = empty(engine)
    clips = [CLIP.model_dump() | {"id": one, "sha256": one, "source_start": -0.0} for one in names]
    fill(address, {"clips": clips})
    export_state(address, tmp_path / "out")
    lines = (tmp_path / "out" / "clips.jsonl").read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["id"] for line in lines] == sorted(names)
    assert all(b'"source_start":0.0,' in line for line in lines)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_others_commit_meanwhile_is_not_in_it(empty, exported, tmp_path, engine):
    address = empty(engine)
    import_state(address, exported)

    def write(done: int, total: int) -> None:
        if done == 1:
            with ClipStore(address) as clips:
                clips.put_clip(NEW_CLIP)
                clips.save_preparation(NEW_CLIP, 1, "hash", "sidecar", {}, [])

    export_state(address, tmp_path / "out", write)
    assert contents(tmp_path / "out") == contents(exported)
    export_state(address, tmp_path / "after")
    assert contents(tmp_path / "after") != contents(exported)


def test_an_export_is_private_and_never_overwritten(exported, tmp_path):
    assert exported.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in exported.iterdir()} == {0o600}
    with pytest.raises(WorkspaceError, match="not empty"):
        export_state(exported.parent / "state.db", exported)
    with pytest.raises(WorkspaceError, match="does not exist"):
        export_state(exported.parent / "state.db", tmp_path / "no" / "out")
    assert [path.name for path in exported.parent.iterdir() if "out" in path.name] == ["out"]


def test_leases_and_times_of_day_are_not_in_it(exported):
    manifest = json.loads((exported / MANIFEST).read_bytes())
    assert manifest.keys() == {"format_version", "schema_revision", "tables"}
    assert "leases" not in manifest["tables"]


def sum_again(folder: Path, name: str) -> None:
    """Make the manifest agree with an altered file."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    data = (folder / f"{name}.jsonl").read_bytes()
    manifest["tables"][name] = {
        "rows": data.count(b"\n"),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (folder / MANIFEST).write_text(canonical_json(manifest) + "\n", "utf-8")


def edit(folder: Path, name: str, **changes: object) -> None:
    """Change the first row of a table's file, and the manifest with it."""
    path = folder / f"{name}.jsonl"
    first, *others = path.read_text("utf-8").splitlines(keepends=True)
    row = {key: one for key, one in (json.loads(first) | changes).items() if one is not ...}
    path.write_text(canonical_json(row) + "\n" + "".join(others), "utf-8")
    sum_again(folder, name)


def manifest_says(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes()) | changes
    (folder / MANIFEST).write_text(canonical_json(manifest) + "\n", "utf-8")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def twice(path: Path) -> None:
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first + path.read_bytes())
    sum_again(path.parent, path.stem)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "tampered": (
        lambda f: (f / "clips.jsonl").write_bytes(
            (f / "clips.jsonl").read_bytes().replace(b"test", b"tost")
        ),
        "clips.jsonl has another SHA-256",
    ),
    "truncated": (lambda f: truncate(f / "runs.jsonl"), "runs.jsonl has another SHA-256"),
    "shortened": (lambda f: (f / "runs.jsonl").write_bytes(b""), "runs.jsonl holds 0 rows"),
    "missing": (lambda f: (f / "votes.jsonl").unlink(), "votes.jsonl is missing"),
    "extra": (lambda f: (f / "more.jsonl").touch(), "'more.jsonl' is not part of it"),
    "a link": (lambda f: link(f / "clips.jsonl"), "clips.jsonl is not a file"),
    "a link for a manifest": (lambda f: link(f / MANIFEST), "not the manifest of an export"),
    "two at once": (
        lambda f: ((f / "votes.jsonl").unlink(), truncate(f / "runs.jsonl")),
        "votes.jsonl is missing; runs.jsonl has another",
    ),
    "no manifest": (lambda f: (f / MANIFEST).unlink(), "not the manifest of an export"),
    "a cut manifest": (lambda f: truncate(f / MANIFEST), "not the manifest of an export"),
    "a list for a manifest": (lambda f: (f / MANIFEST).write_text("[]"), "manifest"),
    "another format": (lambda f: manifest_says(f, format_version=2), "has format 2"),
    "another revision": (lambda f: manifest_says(f, schema_revision="0001"), "revision '0001'"),
    "no tables": (lambda f: manifest_says(f, tables={}), "does not list the tables"),
    "a path for a table": (
        lambda f: manifest_says(f, tables={"../x": {"rows": 0, "sha256": ""}}),
        "does not list the tables",
    ),
}


def turn(path: Path) -> None:
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
    sum_again(path.parent, path.stem)


AGREEING: dict[str, tuple[Callable[[Path], object], str]] = {
    "text for a number": (lambda f: edit(f, "clips", size="1"), "Line 1 of clips.jsonl is no row"),
    "a number for a flag": (lambda f: edit(f, "clips", verified=1), "Line 1 of clips.jsonl"),
    "an endless number": (lambda f: edit(f, "clips", size=2**63), "Line 1 of clips.jsonl"),
    "nothing": (lambda f: edit(f, "clips", source=None), "Line 1 of clips.jsonl"),
    "no column": (lambda f: edit(f, "clips", source=...), "Line 1 of clips.jsonl"),
    "one more column": (lambda f: edit(f, "clips", rowid=7), "Line 1 of clips.jsonl"),
    "no number": (lambda f: edit(f, "clips", duration=math.nan), "Line 1 of clips.jsonl"),
    "no end": (lambda f: edit(f, "clips", source_start=math.inf), "Line 1 of clips.jsonl"),
    "NUL": (lambda f: edit(f, "clips", context="a\0b"), "Line 1 of clips.jsonl is no row"),
    "broken JSON": (lambda f: edit(f, "runs", plan_json="{"), "Line 1 of runs.jsonl is no row"),
    "no state": (lambda f: edit(f, "outcomes", state="odd"), "Line 1 of outcomes.jsonl is no row"),
    "no capability": (lambda f: edit(f, "candidates", capability="Z"), "Line 1 of candidates"),
    "out of order": (lambda f: turn(f / "assignments.jsonl"), "Line 2 of assignments.jsonl is not"),
    "no parent": (lambda f: edit(f, "outcomes", candidate_key="1-b"), "outcomes.jsonl: "),
    "one row twice": (lambda f: twice(f / "review_cues.jsonl"), "review_cues.jsonl: "),
}
"""Faults that the manifest knows nothing of: the rows themselves are refused."""


@pytest.mark.parametrize(
    ("fault", "engine"),
    [(fault, "sqlite") for fault in FAULTS | AGREEING]
    + [
        (fault, "postgres")
        for fault in ("tampered", "text for a number", "no end", "NUL", "one row twice")
    ],
)
def test_what_is_altered_is_refused_by_name_and_nothing_is_kept(
    empty, copied, tmp_path, fault, engine
):
    alter, said = (FAULTS | AGREEING)[fault]
    address = empty(engine)
    alter(copied)
    with pytest.raises(WorkspaceError) as refused:
        import_state(address, copied)
    assert said in str(refused.value)
    assert "zq7Canary" not in str(refused.value)
    assert export_state(address, tmp_path / "out").rows == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_only_an_empty_state_is_filled(empty, exported, engine):
    address = empty(engine)
    import_state(address, exported)
    with pytest.raises(WorkspaceError, match="holds rows"):
        import_state(address, exported)


def test_a_state_at_an_older_revision_neither_gives_nor_takes(exported, tmp_path):
    old = tmp_path / "old.db"
    migrate.upgrade(old, "0003")
    for move in (export_state, import_state):
        with pytest.raises(WorkspaceError, match="0003"):
            move(old, exported)


def test_memory_does_not_grow_with_the_rows(empty, tmp_path):
    def clips(count: int) -> Iterator[dict[str, Any]]:
        for n in range(count):
            own = {"id": f"{n:05}", "sha256": f"{n:05}", "context": "x" * 2000}
            yield CLIP.model_dump() | own

    here, there = empty("sqlite"), empty("sqlite")
    fill(here, {"clips": list(clips(2000))})
    export_state(empty("sqlite"), tmp_path / "warm")
    tracemalloc.start()
    export_state(here, tmp_path / "out")
    import_state(there, tmp_path / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "out" / "clips.jsonl").stat().st_size > 4_000_000
    assert peak < 3_000_000
