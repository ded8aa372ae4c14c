"""What a version changes, which errata it owes, and which number it gets."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from psychemme.cli import release as verb  # noqa: F401  (adds the verb to the app)
from psychemme.cli.app import app
from psychemme.errors import ReleaseError
from psychemme.release.diff import ReleaseDiff
from psychemme.release.errata import read_errata
from psychemme.release.freeze import Erratum, ReleaseFacts, ReleaseRefused, write_frozen
from psychemme.release.read import read_release
from psychemme.release.verify import verify_release
from psychemme.release.versions import Bump, least_next, parse_version, version_text
from tests.support.releases import FACTS, make_rows

pytestmark = pytest.mark.usefixtures("undrawn")
SAID = ReleaseFacts.model_validate(FACTS)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("old") / "release"
    write_frozen(root, SAID, *make_rows())
    return root


def freeze(
    root: Path, old: Path | None, version: str, rows: Any, errata: Any = (), **facts: Any
) -> ReleaseDiff | None:
    said = SAID.model_copy(update={"version": version} | facts)
    return write_frozen(root, said, *rows, [Erratum(**e) for e in errata], old)


def put(rows: Any, position: int, **changes: Any) -> None:
    rows[position] = rows[position].model_copy(update=changes)


def corrected(name: str) -> dict[str, str]:
    return {"id": name, "fault": "wrong", "action": "corrected"}


CHANGES = {
    "the question": (0, 4, {"question": "Who is asked?"}, "q0004", Bump.MAJOR),
    "the subcategory": (0, 4, {"subcategory": "other"}, "q0004", Bump.PATCH),
    "the window": (1, 1, {"start": 1.0, "end": 21.0}, "e0001", Bump.MAJOR),
    "the licence": (1, 1, {"licence": "CC-BY-4.0"}, None, Bump.PATCH),
    "the answer": (2, 0, {"answer": "B"}, "q0000", Bump.MAJOR),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_named_and_owes_an_erratum_and_a_version(
    old: Path, tmp_path: Path, what: str
) -> None:
    kind, position, changes, owed, bump = CHANGES[what]
    rows = make_rows()
    put(rows[kind], position, **changes)
    least = version_text(least_next((1, 0, 0), bump))
    errata = [corrected(owed)] if owed else []
    if owed:
        with pytest.raises(ReleaseRefused, match=f"{owed}: changed without an erratum"):
            freeze(tmp_path / "new", old, least, rows)
    if bump is Bump.MAJOR:
        with pytest.raises(ReleaseRefused, match=r"2\.0\.0 or higher"):
            freeze(tmp_path / "new", old, "1.9.0", rows, errata)
    found = freeze(tmp_path / "new", old, least, rows, errata)
    assert found is not None
    held = (found.changed, found.episodes_changed, found.references)[kind]
    assert list((held or {}).values()) == [tuple(sorted(changes, key=list(changes).index))]
    assert verify_release(tmp_path / "new").faults == ()


def test_items_are_added_and_removed(old: Path, tmp_path: Path) -> None:
    more = make_rows(27)
    added = freeze(tmp_path / "more", old, "1.1.0", more)
    assert added is not None
    assert added.added == ("q0024", "q0025", "q0026")
    assert added.episodes_added == ("e0008",)
    assert added.bump is Bump.MINOR
    with pytest.raises(ReleaseRefused, match=r"1\.1\.0 or higher"):
        freeze(tmp_path / "no", old, "1.0.1", more)
    fewer = make_rows(23)
    with pytest.raises(ReleaseRefused, match="q0023: was removed without an erratum"):
        freeze(tmp_path / "no", old, "2.0.0", fewer)
    errata = [{"id": "q0023", "fault": "wrong", "action": "removed"}]
    removed = freeze(tmp_path / "fewer", old, "2.0.0", fewer, errata)
    assert removed is not None
    assert removed.removed == ("q0023",)


@pytest.mark.parametrize(
    ("errata", "fault"),
    [
        ([{"id": "q0001", "fault": "f", "action": "removed"}], "rows say noted"),
        ([{"id": "q0001", "fault": "f", "action": "corrected"}], "rows say noted"),
        ([{"id": "q9", "fault": "f", "action": "noted"}], "no item or episode"),
        ([{"id": "q0001", "fault": "f", "action": "noted"}] * 2, "2 errata"),
    ],
)
def test_errata_must_tell_what_the_rows_tell(
    old: Path, tmp_path: Path, errata: Any, fault: str
) -> None:
    for before in (old, None):
        with pytest.raises(ReleaseRefused, match=fault):
            freeze(tmp_path / "new", before, "1.0.1", make_rows(), errata)


def test_errata_are_kept_by_later_versions(old: Path, tmp_path: Path) -> None:
    first = [{"id": "q0001", "fault": "two <b>readings</b>", "action": "noted", "note": "see | 2"}]
    freeze(tmp_path / "one", old, "1.0.1", make_rows(), first)
    rows = make_rows()
    put(rows[0], 1, question="What was asked for?")
    freeze(tmp_path / "two", tmp_path / "one", "2.0.0", rows, [corrected("q0001")])
    kept = [(row.id, row.version, row.action) for row in read_release(tmp_path / "two").errata()]
    assert kept == [("q0001", "1.0.1", "noted"), ("q0001", "2.0.0", "corrected")]
    page = (tmp_path / "two" / "public" / "ERRATA.md").read_text()
    assert page.index("Said in 2.0.0") < page.index("Said in 1.0.1")
    assert "| q0001 | two \\<b\\>readings\\</b\\> | noted | see \\| 2 |" in page
    assert "No fault is known" in (old / "public" / "ERRATA.md").read_text()


def test_another_name_or_an_absent_private_part_is_no_previous_release(
    old: Path, tmp_path: Path
) -> None:
    with pytest.raises(ReleaseRefused, match="is no version of 'synthetic'"):
        freeze(tmp_path / "new", old, "1.0.1", make_rows(), name="another")
    public = shutil.copytree(old, tmp_path / "public-only")
    shutil.rmtree(public / "private")
    with pytest.raises(ReleaseError, match="no private part"):
        freeze(tmp_path / "new", public, "1.0.1", make_rows())


def test_errata_are_read_from_yaml_and_jsonl(tmp_path: Path) -> None:
    lines = [corrected("q1"), corrected("q2") | {"note": "# no: comment"}]
    expected = tuple(Erratum.model_validate(line) for line in lines)
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    (tmp_path / "e.yaml").write_text(json.dumps(lines))
    assert read_errata(tmp_path / "e.jsonl") == read_errata(tmp_path / "e.yaml") == expected
    (tmp_path / "none.yaml").write_text("# nothing yet\n")
    assert read_errata(tmp_path / "none.yaml") == ()


@pytest.mark.parametrize(
    "text", ["{", "id: q1", "[{id: q1, fault: f, action: hidden}]", "[{id: q1, action: noted}]"]
)
def test_a_bad_errata_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.yaml").write_text(text)
    with pytest.raises(ReleaseError, match=r"e\.yaml"):
        read_errata(tmp_path / "e.yaml")
    (tmp_path / "e.jsonl").write_text(text)
    with pytest.raises(ReleaseError, match=r"e\.jsonl"):
        read_errata(tmp_path / "e.jsonl")
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_errata(tmp_path / "none.yaml")


versions = st.tuples(*[st.integers(0, 30)] * 3)


@given(versions, st.sampled_from(Bump))
def test_the_next_version_is_the_least_of_its_kind(
    version: tuple[int, int, int], bump: Bump
) -> None:
    following = least_next(version, bump)
    assert following > version
    assert parse_version(version_text(following)) == following
    assert all(least_next(version, smaller) < following for smaller in Bump if smaller < bump)


def test_the_verb_names_references_and_shows_none(old: Path, tmp_path: Path) -> None:
    rows = make_rows()
    put(rows[2], 0, answer="B")
    freeze(tmp_path / "new", old, "2.0.0", rows, [corrected("q0000")])
    run = CliRunner()
    found = json.loads(
        run.invoke(app, ["release", "diff", str(old), str(tmp_path / "new"), "--json"]).stdout
    )
    assert found["references"] == {"q0000": ["answer"]}
    assert (found["old"], found["new"], found["least_version"]) == ("1.0.0", "2.0.0", "2.0.0")
    assert found["composition"]["G single"] == [1, 1]
    shown = run.invoke(app, ["release", "diff", str(old), str(tmp_path / "new")]).output
    assert "reference changed" in shown
    same = run.invoke(app, ["release", "diff", str(old), str(old)]).output
    assert "No question, reference or episode differs" in same
