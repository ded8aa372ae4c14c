"""Votes as files: what is exported is what is imported, once, all of it or nothing."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.review.agreement import agreement
from construction.review.assigning import fill
from construction.review.closing import replace_version
from construction.review.importing import import_votes, read_vote_files
from construction.review.ratings import Dimension
from construction.review.votes import VoteRow, read_ratings, read_votes, vote_rows
from construction.review.workload import most_watched, vote_flags
from psychemme.canonical import canonical_json
from psychemme.errors import ReviewError, UserError
from psychemme.vocabulary import Approval, Closing, Format, SetKind, SkipReason, Verdict, VoteKind
from psychology_kb.load import load_review
from state.address import Address
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from tests.support.postgres import fresh_database
from tests.support.reviews import approval, item_version, make_review, own_answer

FORM = load_review("psychemme8")
FORMS = (Format.SINGLE, Format.MULTIPLE, Format.OPEN)
YES = dict.fromkeys(map(str, Verdict), "approve")
NO = YES | {"question_validity": "reject"}
WHY = {"question_validity": ["false_premise"]}


def row(reviewer: str = "ada", **changes: Any) -> VoteRow:
    given_ = {
        "candidate_id": "1-c0",
        "reviewer": reviewer,
        "blind_answer": "A",
        "verdicts": YES,
    }
    return VoteRow.model_validate(given_ | changes)


@pytest.fixture
def database(address: Address) -> Address:
    """Return a single, a multiple and an open item, each of five reviewers."""
    make_review(address, FORMS)
    return address


def store(database: Address, *rows: VoteRow, demonstration: bool = False) -> int:
    with ReviewDesk(database) as desk:
        return import_votes(desk, rows, FORM, demonstration=demonstration)


def exported(database: Address) -> list[VoteRow]:
    with ReviewDesk(database) as desk:
        return list(vote_rows(desk))


def refused(database: Address, *rows: VoteRow, demonstration: bool = False) -> str:
    """Return why rows are refused, after a look that nothing was stored."""
    with ReviewDesk(database) as desk:
        before = desk.board()
        with pytest.raises(ReviewError, match="Nothing was stored") as refusal:
            import_votes(desk, rows, FORM, demonstration=demonstration)
        assert desk.board() == before
    return refusal.value.problem


def saved(path: Path, rows: Iterable[VoteRow]) -> Path:
    path.write_text("".join(canonical_json(one.model_dump(mode="json")) + "\n" for one in rows))
    return path


def test_what_is_exported_is_what_is_imported(database: Address, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db" if isinstance(database, Path) else fresh_database()
    make_review(copy, FORMS)
    against = approval(
        "no",
        verdicts=NO,
        reasons=WHY,
        comment='Zwei \u2028 Zeilen, \u0085 "Zitat" und \N{SNOWMAN}\n',
    )
    skip = approval("skip", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
    back = approval("back", kind=VoteKind.WITHDRAWAL, verdicts={})
    with ReviewStore(database) as reviewers:
        for name, key, answer, ballots in (
            ("ada", "1-c0", "A", [approval("yes")]),
            ("ben", "1-c0", "B", [approval("yes"), against]),
            ("cleo", "1-c1", ["A", "C"], [skip]),
            ("dev", "1-c2", "my words", [approval("yes"), back]),
            ("eli", "1-c2", "other words", [approval("yes")]),
            ("ada", "1-c2", None, [skip]),
        ):
            if answer is not None:
                reviewers.commit_answer(name, (key, 1), own_answer(answer))
            for ballot in ballots:
                reviewers.cast(name, (key, 1), ballot)
    rows = exported(database)
    assert len(rows) == 5
    assert read_votes(saved(tmp_path / "votes.jsonl", rows)) == rows
    assert store(copy, *rows) == 5
    assert exported(copy) == rows
    assert store(copy, *rows) == 0
    assert store(database, *rows) == 0
    assert exported(database) == exported(copy) == rows


def test_a_row_names_its_item_by_key_or_by_id(database: Address) -> None:
    assert store(database, row(candidate_id="c0")) == 1
    assert store(database, row(candidate_id="1-c0"), row(candidate_id="c0")) == 0
    assert [one.candidate_id for one in exported(database)] == ["1-c0"]


def test_every_fault_is_named_and_nothing_is_stored(database: Address) -> None:
    with ReviewDesk(database) as desk:
        desk.close_item(("1-c1", 1), Closing.REJECTED)
    problem = refused(
        database,
        row(),
        row("nobody"),
        row(candidate_id="1-none"),
        row(version=2),
        row("ben", candidate_id="1-c1", blind_answer=["A", "B"]),
        row("cleo", blind_answer="Q", comment="x"),
        row("dev", blind_answer="B"),
        row("eli", verdicts=NO),
        row("eli", candidate_id="1-c2", blind_answer=None),
    )
    for said in (
        "8 faults",
        "1-c0 version 1 by nobody: there is no such reviewer",
        "1-none version 1 by ada: no such item is under review",
        "1-c0 version 2 by ada: no such item is under review",
        "1-c1 version 1 by ben: the item is closed",
        "1-c0 version 1 by cleo: Choose among the options first.",
        "1-c0 version 1 by dev: Your own answer differs from the reference",
        "1-c0 version 1 by eli: Say why you reject question validity.",
        "1-c2 version 1 by eli: Commit your own answer first.",
    ):
        assert said in problem


def test_a_vote_that_contradicts_one_is_refused(database: Address) -> None:
    store(database, row())
    assert "has voted otherwise already" in refused(database, row(verdicts=NO, reasons=WHY))
    twice = refused(database, row("ben"), row("ben", verdicts=NO, reasons=WHY))
    assert "the file holds another vote of the same reviewer" in twice
    assert store(database, row("ben"), row("ben")) == 1


def test_an_answer_committed_on_the_page_stands(database: Address) -> None:
    with ReviewStore(database) as reviewers:
        reviewers.commit_answer("ada", ("1-c0", 1), own_answer("B"))
        reviewers.commit_answer("ben", ("1-c0", 1), own_answer("A"))
    assert "committed another answer" in refused(database, row(blind_answer="A"))
    assert "differs from the reference" in refused(database, row(blind_answer=None))
    assert store(database, row(blind_answer="B", comment="why"), row("ben", blind_answer=None)) == 2
    with ReviewDesk(database) as desk:
        answers = desk.version(("1-c0", 1)).answers
    assert {name: one.answer for name, one in answers.items()} == {"ada": "B", "ben": "A"}


def test_votes_of_who_declined_the_recording_or_the_item_are_refused(database: Address) -> None:
    conflict = row(verdicts={}, blind_answer=None, skipped=SkipReason.CONFLICT_OF_INTEREST)
    store(
        database,
        conflict,
        row(
            "ben",
            **conflict.model_dump(include={"verdicts", "blind_answer"}),
            skipped=SkipReason.DISTRESS,
        ),
    )
    other = {"candidate_id": "1-c2", "blind_answer": "words"}
    assert "1-c2 version 1 by ada: the reviewer has declined to judge it: conflict of interest" in (
        refused(database, row(**other))
    )
    assert store(database, row("ben", **other)) == 1
    with ReviewDesk(database) as desk:
        replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
    assert "1-c0 version 1 by cleo: an edit replaced this version" in refused(database, row("cleo"))
    said = refused(database, row("ben", version=2), row("ada", version=2))
    assert "1-c0 version 2 by ben: the reviewer has declined to judge it: distress" in said
    assert "1-c0 version 2 by ada: the reviewer has declined to judge it: conflict" in said


def test_nothing_is_claimed_of_what_was_watched_elsewhere(database: Address) -> None:
    store(database, row())
    with ReviewDesk(database) as desk:
        version = desk.version(("1-c0", 1))
    assert (version.answers["ada"].watched, version.votes["ada"][0].watched) == (0.0, 0.0)
    assert most_watched(version, "ada") is None
    assert vote_flags(version, "ada", 20.0) == ()


def test_a_vote_taken_back_can_be_imported_again(database: Address) -> None:
    store(database, row())
    back = approval("back", kind=VoteKind.WITHDRAWAL, verdicts={})
    with ReviewStore(database) as reviewers:
        reviewers.cast("ada", ("1-c0", 1), back)
    assert store(database, row(comment="once more")) == 1
    with ReviewDesk(database) as desk:
        votes = desk.version(("1-c0", 1)).votes["ada"]
    assert [one.revision for one in votes] == [1, 2, 3]


def test_demonstrators_are_no_persons_and_persons_no_demonstrators(database: Address) -> None:
    assert "ada: the reviewer is a person" in refused(database, row(), demonstration=True)
    assert store(database, row("demo-1"), demonstration=True) == 1
    assert "demo-1: the reviewer is for demonstration" in refused(database, row("demo-1"))
    with ReviewDesk(database) as desk:
        made = next(one for one in desk.reviewers() if one.id == "demo-1")
        desk.revoke("ada")
        assert "demo-1" not in {one.reviewer_id for one in fill(desk)}
        assert len(desk.version(("1-c0", 1)).assigned) == 6
    assert made.is_demonstration
    assert made.expires_at <= made.invited_at


@pytest.mark.parametrize("name", ["", "a b", "<b>", "../x", "a\nb", "x" * 101])
def test_a_demonstrator_has_an_id(database: Address, name: str) -> None:
    assert "is no id" in refused(database, row(name), demonstration=True)


def test_a_discussed_set_takes_no_import(address: Address) -> None:
    make_review(address, kind=SetKind.CALIBRATION)
    store(address, row())
    with ReviewDesk(address) as desk:
        desk.mark_discussed("main")
    assert store(address, row()) == 0
    assert "the vote would not count" in refused(address, row("ben"))


def test_who_saw_an_earlier_version_is_marked_whatever_the_file_says(database: Address) -> None:
    store(database, row())
    with ReviewDesk(database) as desk:
        replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
    assert store(database, row(version=2), row("ben", version=2)) == 2
    marked = {one.reviewer: one.is_unblinded for one in exported(database) if one.version == 2}
    assert marked == {"ada": True, "ben": False}


def test_answers_are_kept_in_the_shape_of_their_format(database: Address) -> None:
    store(
        database,
        row(blind_answer=["A"]),
        row(candidate_id="1-c1", blind_answer=["B", "A", "B"]),
        row("ben", candidate_id="1-c1", blind_answer="A", comment="B is not asked for"),
    )
    found = {(one.candidate_id, one.reviewer): one.blind_answer for one in exported(database)}
    assert found == {("1-c0", "ada"): "A", ("1-c1", "ada"): ["A", "B"], ("1-c1", "ben"): ["A"]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: Invalid JSON"),
        ("[]", "line 2: Input should be an object"),
        ('{"candidate_id": "x"}', "line 2: reviewer: Field required"),
        ('{"candidate_id":"x","reviewer":"a","extra":1}', "line 2: extra: Extra inputs"),
        ('{"candidate_id":"x","reviewer":"a","verdicts":{"beauty":"approve"}}', "line 2: verdicts"),
        ('{"candidate_id":"x","reviewer":"a","skipped":"bored"}', "line 2: skipped: "),
        ('{"candidate_id":"x","reviewer":"a","comment":"\\ud800"}', "line 2: Invalid JSON"),
        ("[" * 10_000, "line 2: Invalid JSON"),
        ('{"candidate_id":"x","reviewer":"a","reviewer":"b"}', "the key 'reviewer' stands twice"),
        ('{"candidate_id":"x","reviewer":"a","version":true}', "line 2: version: "),
        ('{"candidate_id":"x","reviewer":"a","version":"1"}', "line 2: version: "),
        ('{"candidate_id":"x","reviewer":"a","comment":"\\u0000"}', "a text holds a NUL"),
        ('{"candidate_id":"x","reviewer":"a","blind_answer":["\\u0000"]}', "a text holds a NUL"),
    ],
)
def test_a_line_that_is_no_vote_is_named(tmp_path: Path, line: str, said: str) -> None:
    good = canonical_json(row().model_dump(mode="json"))
    path = tmp_path / "votes.jsonl"
    path.write_text(f"{good}\n{line}\n\n{good}\n{line}\n")
    with pytest.raises(ReviewError) as refusal:
        read_votes(path)
    assert said in refusal.value.problem
    assert "line 5: " in refusal.value.problem


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xff")
    for name in ("latin.jsonl", "absent.jsonl", "absent.json"):
        with pytest.raises(UserError, match=name):
            read_vote_files([tmp_path / name], {})


def test_a_mark_of_the_byte_order_is_no_part_of_the_votes(tmp_path: Path) -> None:
    path = saved(tmp_path / "votes.jsonl", [row()])
    path.write_text("\ufeff" + path.read_text())
    assert read_votes(path) == [row()]


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_any_comment_survives_a_file(
    tmp_path_factory: pytest.TempPathFactory, comment: str
) -> None:
    path = tmp_path_factory.mktemp("votes") / "votes.jsonl"
    path.write_bytes(canonical_json(row(comment=comment).model_dump(mode="json")).encode())
    assert [one.comment for one in read_votes(path)] == [comment]


def task(annotation: dict[str, Any], by: object) -> dict[str, Any]:
    results = [
        {"from_name": name, "type": "choices", "value": {"choices": [value]}}
        for name, value in annotation.items()
    ]
    return {
        "data": {"candidate_id": "c0", "version": 1},
        "annotations": [{"completed_by": by, "result": results}],
    }


def test_label_studio_exports_are_votes_of_whom_they_are_known_as(
    database: Address, tmp_path: Path
) -> None:
    steps = [{"answer": "A. hold the ladder"}, YES]
    paths = [tmp_path / "blind.json", tmp_path / "informed.json"]
    for path, said in zip(paths, steps, strict=True):
        path.write_text(json.dumps([task(said, {"email": "ada@example.org"})]))
    rows = read_vote_files(paths, {"ada@example.org": "ada"})
    assert rows == [row(candidate_id="c0", blind_answer=["A"])]
    assert store(database, *rows) == 1
    assert store(database, row()) == 0
    anonymous = read_vote_files(paths, {})
    assert store(database, *anonymous, demonstration=True) == 1
    paths[1].write_text(json.dumps([task({"beauty": "approve"}, 3)]))
    with pytest.raises(UserError):
        read_vote_files(paths[1:], {})


Said = dict[tuple[str, str, Dimension], object]


def ratings(database: Address, *sets: str) -> Said:
    found = read_ratings(database, sets)
    said = {(one.item, one.reviewer, one.dimension): one.value for one in found}
    assert len(said) == len(found)
    return said


def overall(database: Address) -> dict[tuple[str, str], object]:
    found = ratings(database).items()
    return {key[:2]: value for key, value in found if key[2] is Dimension.OVERALL}


def test_ratings_by_hand(database: Address) -> None:
    store(
        database,
        row(),
        row("ben", blind_answer="B", verdicts=NO, reasons=WHY),
        row("cleo", verdicts={}, skipped=SkipReason.CANNOT_JUDGE),
        row(candidate_id="1-c1", blind_answer=["B", "A"]),
        row(candidate_id="1-c2", blind_answer="my words"),
    )
    said = {(item, name): dict[Dimension, object]() for item, name, _ in ratings(database)}
    for (item, name, dimension), value in ratings(database).items():
        said[item, name][dimension] = value
    approves = {dimension: "approve" for dimension in Dimension if dimension != "blind_answer"}
    assert said == {
        ("1-c0@1", "ada"): approves | {"blind_answer": "A"},
        ("1-c0@1", "ben"): approves
        | {"blind_answer": "B", "question_validity": "reject", "overall": "reject"},
        ("1-c1@1", "ada"): approves | {"blind_answer": ("A", "B")},
        ("1-c2@1", "ada"): approves,
    }


def test_replaced_versions_are_items_of_their_own_and_unblinded_answers_no_ratings(
    database: Address,
) -> None:
    store(database, row(), row("ben"))
    with ReviewDesk(database) as desk:
        replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
    assert {item for item, _, _ in ratings(database)} == {"1-c0@1"}
    report = agreement(read_ratings(database))
    assert (report.n_items, report.n_replaced) == (1, 1)
    store(database, row(version=2), row("dev", version=2, blind_answer="B", comment="why"))
    said = ratings(database)
    assert ("1-c0@2", "ada", Dimension.BLIND_ANSWER) not in said
    assert said["1-c0@2", "ada", Dimension.OVERALL] == Approval.APPROVE
    assert said["1-c0@2", "dev", Dimension.BLIND_ANSWER] == "B"
    assert said["1-c0@1", "ada", Dimension.BLIND_ANSWER] == "A"
    report = agreement(read_ratings(database))
    assert (report.n_items, report.n_replaced) == (2, 1)


def test_votes_after_a_discussion_are_no_ratings(address: Address) -> None:
    make_review(address, kind=SetKind.CALIBRATION)
    store(address, row(), row("ben"))
    with ReviewDesk(address) as desk:
        desk.mark_discussed("main")
    with ReviewStore(address) as reviewers:
        reviewers.cast("ada", ("1-c0", 1), approval("late", verdicts=NO, reasons=WHY))
        reviewers.commit_answer("cleo", ("1-c0", 1), own_answer())
        reviewers.cast("cleo", ("1-c0", 1), approval("late"))
    assert overall(address) == {("1-c0@1", "ada"): "approve", ("1-c0@1", "ben"): "approve"}


def test_all_that_is_reviewed_is_rated_whatever_became_of_it(database: Address) -> None:
    store(database, row(), row(candidate_id="1-c2", blind_answer="words"))
    with ReviewDesk(database) as desk:
        desk.close_item(("1-c2", 1), Closing.REJECTED)
    assert set(overall(database)) == {("1-c0@1", "ada"), ("1-c2@1", "ada")}
    assert ratings(database) == ratings(database, "main")
    with pytest.raises(ReviewError, match="no set 'other'"):
        read_ratings(database, ["other"])


@pytest.mark.parametrize(
    "change", [{"comment": "\ud800"}, {"candidate_id": "\udc00"}, {"blind_answer": ["\ud800"]}]
)
def test_half_a_character_is_named_by_its_line(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "votes.jsonl"
    row = {"candidate_id": "c0", "reviewer": "ada"} | change
    file.write_text(json.dumps(row), "utf-8")
    with pytest.raises(ReviewError, match="line 1: Invalid JSON"):
        read_votes(file)
