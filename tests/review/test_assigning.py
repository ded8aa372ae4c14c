"""Who reviews what: N distinct each, even loads, orders of one's own, and skips replaced."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.review.assigning import Pool, assign, fill, pool_of, replace_skip, wanting
from construction.review.closing import replace_version
from construction.review.unanimity import counted_votes
from psychemme.canonical import now
from psychemme.errors import ItemClosed, ReviewError
from psychemme.vocabulary import Closing, Format, SetKind, SkipReason, VoteKind
from state.review import Place, ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import AssignmentRecord, Board, Changes
from tests.support.reviews import (
    REVIEWERS,
    approval,
    item_version,
    make_review,
    own_answer,
    reviewer,
)

FIRST: Place = ("1-c0", 1)
LATER = ("finn", "gus")
SKIP = approval("skip", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
CONFLICT = SKIP.model_copy(update={"skip_reason": SkipReason.CONFLICT_OF_INTEREST})
BACK = approval("back", kind=VoteKind.WITHDRAWAL, verdicts={})


def places(count: int) -> list[Place]:
    return [(f"1-c{number:03}", 1) for number in range(count)]


def by_item(made: Sequence[AssignmentRecord]) -> dict[Place, list[str]]:
    found = defaultdict(list)
    for one in made:
        found[one.candidate_key, one.version].append(one.reviewer_id)
    return found


def orders(made: Sequence[AssignmentRecord]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for one in sorted(made, key=lambda one: one.position):
        found[one.reviewer_id].append(one.candidate_key)
    return found


@settings(deadline=None)
@given(
    st.integers(0, 30),
    st.integers(1, 9),
    st.integers(1, 5),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_every_item_goes_to_n_distinct_reviewers_of_even_loads(
    count: int, pool: int, per_item: int, overlap: float, seed: int
) -> None:
    names = [f"r{number}" for number in range(max(pool, per_item))]
    made = assign(places(count), Pool(names), per_item, overlap=overlap, seed=seed)
    asked = by_item(made)
    assert asked.keys() == set(places(count))
    assert all(len(held) == len(set(held)) for held in asked.values())
    sizes = Counter(map(len, asked.values()))
    for_all = round(overlap * count)
    assert sizes[len(names)] >= for_all
    if len(names) > per_item:
        assert sizes == Counter({len(names): for_all, per_item: count - for_all}) - Counter()
    loads = [sum(name in held for held in asked.values()) for name in names]
    assert max(loads) - min(loads) <= 1


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 9), st.integers(0, 50))
def test_everybody_has_an_order_of_their_own_without_gaps(
    count: int, seed: int, taken: int
) -> None:
    first = {"ada": taken}
    made = assign(places(count), Pool(REVIEWERS), 3, seed=seed, first=first)
    assert made == assign(places(count)[::-1], Pool(REVIEWERS[::-1]), 3, seed=seed, first=first)
    for name in REVIEWERS:
        positions = sorted(one.position for one in made if one.reviewer_id == name)
        start = first.get(name, 0)
        assert positions == list(range(start, start + len(positions)))
    assert len({(one.reviewer_id, one.position) for one in made}) == len(made)


def test_orders_differ_between_reviewers_and_seeds() -> None:
    made = orders(assign(places(20), Pool(REVIEWERS), 5))
    assert {frozenset(order) for order in made.values()} == {frozenset(k for k, _ in places(20))}
    assert len(set(map(tuple, made.values()))) == len(REVIEWERS)
    assert made != orders(assign(places(20), Pool(REVIEWERS), 5, seed=1))


def test_work_given_before_counts() -> None:
    made = by_item(assign(places(4), Pool(REVIEWERS, Counter(ada=9, ben=9)), 3))
    assert {frozenset(held) for held in made.values()} == {frozenset({"cleo", "dev", "eli"})}


def test_who_saw_the_reference_comes_last_and_is_marked() -> None:
    saw = {key: {"ada", "ben"} for key, _ in places(6)}
    few = assign(places(6), Pool(REVIEWERS, saw=saw), 3)
    assert {one.reviewer_id for one in few} == {"cleo", "dev", "eli"}
    assert not any(one.is_unblinded for one in few)
    all_ = assign(places(6), Pool(REVIEWERS, saw=saw), 4)
    assert {one.reviewer_id for one in all_ if one.is_unblinded} == {"ada", "ben"}
    assert all(
        len([n for n in held if n in saw[key]]) == 1 for (key, _), held in by_item(all_).items()
    )


def test_too_few_reviewers_are_refused() -> None:
    with pytest.raises(ReviewError, match="6 reviewers are needed for each item, 5 can be asked"):
        assign(places(1), Pool(REVIEWERS), 6)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return two items of five reviewers each, two more of whom came later."""
    path = tmp_path / "state.db"
    make_review(path)
    with ReviewDesk(path) as desk:
        for name in LATER:
            desk.invite(reviewer(name))
    return path


def cast(database: Path, name: str, *ballots: object, place: Place = FIRST) -> None:
    with ReviewStore(database) as store:
        for ballot in ballots:
            store.cast(name, place, ballot)  # type: ignore[arg-type]


def asked(desk: ReviewDesk, place: Place = FIRST) -> set[str]:
    return {one.reviewer_id for one in desk.version(place).assigned}


def test_nobody_is_wanted_while_everybody_may_vote(database: Path) -> None:
    with ReviewDesk(database) as desk:
        assert wanting(desk.board()) == {}
        assert fill(desk) == ()


def test_a_skip_is_replaced_once_by_somebody_new(database: Path) -> None:
    cast(database, "ada", SKIP)
    with ReviewDesk(database) as desk:
        assert wanting(desk.board()) == {FIRST: 1}
        (added,) = fill(desk)
        assert added.reviewer_id in LATER
        assert (added.candidate_key, added.version, added.position) == (*FIRST, 0)
        assert fill(desk) == ()
        assert asked(desk) == {*REVIEWERS, added.reviewer_id}


def test_one_newcomer_takes_over_both_items_in_order(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    made = make_review(path)
    for place in made:
        cast(path, "ada", SKIP, place=place)
    with ReviewDesk(path) as desk:
        desk.invite(reviewer("finn"))
        added = fill(desk)
    assert [(one.reviewer_id, one.position) for one in added] == [("finn", 0), ("finn", 1)]


def test_one_skip_is_replaced_without_a_look_at_the_others(database: Path) -> None:
    cast(database, "ada", SKIP)
    cast(database, "ben", SKIP, place=("1-c1", 1))
    with ReviewDesk(database) as desk:
        (added,) = replace_skip(desk, FIRST)
        assert added.candidate_key == "1-c0"
        assert wanting(desk.board()) == {("1-c1", 1): 1}
        assert replace_skip(desk, FIRST) == ()
        assert replace_skip(desk, ("1-none", 1)) == ()


def test_who_skipped_for_distress_is_not_asked_about_the_edited_item_again(database: Path) -> None:
    cast(database, "ada", SKIP)
    with ReviewDesk(database) as desk:
        desk.revoke("finn")
        desk.revoke("gus")
        edited = replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
        assert asked(desk, edited) == {*REVIEWERS} - {"ada"}
        assert wanting(desk.board())[edited] == 1
        assert "ada" in asked(desk, ("1-c1", 1))
        assert desk.withheld("ada") == {edited}
        assert pool_of(desk.board(), {"1-new": "video"}).barred["1-new"] == set()


def test_a_conflict_of_interest_holds_for_every_item_of_the_recording(database: Path) -> None:
    other: Place = ("1-c1", 1)
    with ReviewStore(database) as store:
        store.commit_answer("ada", other, own_answer("my words"))
    cast(database, "ada", approval("vote"), place=other)
    cast(database, "ada", CONFLICT)
    with ReviewDesk(database) as desk:
        board = desk.board()
        assert wanting(board) == {FIRST: 1, other: 1}
        assert all("ada" not in counted_votes(v, board.sets["main"]) for v in board.versions)
        barred = pool_of(board, {"1-new": "video", "1-far": "another"}).barred
        assert (barred["1-new"], barred["1-far"]) == ({"ada"}, set())
        assert {one.candidate_key for one in replace_skip(desk, FIRST)} == {"1-c0", "1-c1"}
        assert desk.withheld("ada") == {other}
        assert desk.withheld("ben") == frozenset()
        edited = replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
        assert "ada" not in asked(desk, edited)


def test_a_conflict_that_is_taken_back_leaves_everything_as_it_was(database: Path) -> None:
    with ReviewDesk(database) as desk:
        before = desk.version(("1-c1", 1))
        cast(database, "ada", CONFLICT)
        assert desk.version(("1-c1", 1)).conflicted == {"ada"}
        cast(database, "ada", BACK)
        assert desk.version(("1-c1", 1)) == before
        assert desk.withheld("ada") == frozenset()
        assert wanting(desk.board()) == {}


def test_who_takes_a_skip_back_may_vote_beside_the_replacement(database: Path) -> None:
    cast(database, "ada", SKIP)
    with ReviewDesk(database) as desk:
        fill(desk)
        cast(database, "ada", BACK)
        assert fill(desk) == ()
        assert len(asked(desk)) == 6
    with ReviewStore(database) as store:
        store.commit_answer("ada", FIRST, own_answer())
        assert store.cast("ada", FIRST, approval("vote")).revision == 3


def test_when_nobody_is_left_the_item_stays_short_until_somebody_comes(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_review(path)
    cast(path, "ada", SKIP)
    with ReviewDesk(path) as desk:
        assert fill(desk) == ()
        assert wanting(desk.board()) == {FIRST: 1}
        desk.invite(reviewer("finn"))
        assert [one.reviewer_id for one in fill(desk)] == ["finn"]


def test_the_revoked_expired_and_demonstrating_are_never_asked(database: Path) -> None:
    cast(database, "ada", SKIP)
    with ReviewDesk(database) as desk:
        for name in LATER:
            desk.revoke(name)
        desk.invite(reviewer("hal", is_demonstration=True))
        desk.invite(reviewer("ivy", expires_at=now() - 1))
        assert pool_of(desk.board()).reviewers == list(REVIEWERS)
        assert fill(desk) == ()
        desk.renew("ivy", "x" * 64, now() + 10**9)
        assert [one.reviewer_id for one in fill(desk)] == ["ivy"]


def test_who_is_revoked_is_replaced_unless_the_vote_is_in(database: Path) -> None:
    with ReviewStore(database) as store:
        store.commit_answer("ada", FIRST, own_answer())
    cast(database, "ada", approval("vote"))
    with ReviewDesk(database) as desk:
        desk.revoke("ada")
        assert wanting(desk.board()) == {("1-c1", 1): 1}
        assert len(fill(desk)) == 1
        assert wanting(desk.board()) == {}


def test_a_closed_item_wants_nobody(database: Path) -> None:
    cast(database, "ada", SKIP)
    with ReviewDesk(database) as desk:
        desk.close_item(FIRST, Closing.REJECTED)
        assert wanting(desk.board()) == {}


def test_a_discussed_set_wants_nobody_and_takes_no_edit(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make_review(path, kind=SetKind.CALIBRATION)
    cast(path, "ada", SKIP)
    with ReviewDesk(path) as desk:
        desk.invite(reviewer("finn"))
        desk.mark_discussed("main")
        assert fill(desk) == ()
        with pytest.raises(ReviewError, match="has been discussed"):
            replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
        assert desk.version(FIRST).closing is None


def test_a_set_that_is_no_calibration_is_not_discussed(database: Path) -> None:
    with ReviewDesk(database) as desk, pytest.raises(ReviewError, match="not for calibration"):
        desk.mark_discussed("main")


def test_an_edit_goes_to_those_who_saw_nothing_before_the_others(database: Path) -> None:
    with ReviewStore(database) as store:
        for name in ("ada", "ben", "cleo"):
            store.commit_answer(name, FIRST, own_answer())
    with ReviewDesk(database) as desk:
        place = replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
        made = desk.version(place).assigned
    unblinded = {one.reviewer_id for one in made if one.is_unblinded}
    blind = {one.reviewer_id for one in made} - unblinded
    assert blind == {"dev", "eli", *LATER}
    assert len(unblinded) == 1
    assert unblinded < {"ada", "ben", "cleo"}
    with ReviewStore(database) as store:
        (name,) = unblinded
        assert store.commit_answer(name, place, own_answer("B", "again")).is_unblinded


def test_who_has_the_page_open_during_an_edit_is_told_and_nothing_is_lost(database: Path) -> None:
    with ReviewStore(database) as store:
        store.commit_answer("ada", FIRST, own_answer())
        stands = store.cast("ada", FIRST, approval("vote"))
        with ReviewDesk(database) as desk:
            replace_version(desk, item_version("1-c0", version=2), "curator", "clearer")
        for act in (
            lambda: store.cast("ada", FIRST, approval("changed")),
            lambda: store.cast("ben", FIRST, SKIP),
            lambda: store.commit_answer("ben", FIRST, own_answer()),
            lambda: store.save_draft("ben", FIRST, "{}"),
        ):
            with pytest.raises(ItemClosed):
                act()
        assert store.cast("ada", FIRST, approval("vote")) == stands
        assert store.commit_answer("ada", FIRST, own_answer()).answer == "A"
    with (
        ReviewDesk(database) as desk,
        pytest.raises(ReviewError, match="1 of 1-c0 is not the newest"),
    ):
        replace_version(desk, item_version("1-c0", version=2), "curator", "again")


def test_nobody_votes_between_a_look_at_the_board_and_what_follows(database: Path) -> None:
    with ReviewDesk(database) as desk, ThreadPoolExecutor(1) as thread:
        late: list[Future[None]] = []

        def close(board: Board) -> Changes:
            late.append(thread.submit(cast, database, "ada", SKIP))
            assert not wait(late, timeout=0.3).done
            assert board.versions[0].votes == {}
            return Changes(closings=((FIRST, Closing.REJECTED),))

        desk.change(close)
        with pytest.raises(ItemClosed):
            late[0].result()


def test_replacing_skips_while_reviewers_vote_keeps_every_rule(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    made = make_review(path, [Format.SINGLE] * 6)
    with ReviewDesk(path) as desk, ReviewStore(path) as store:
        for number in range(12):
            desk.invite(reviewer(f"late{number:02}"))

        def skip(job: tuple[str, Place]) -> None:
            store.cast(job[0], job[1], SKIP)
            replace_skip(desk, job[1])

        def vote(job: tuple[str, Place]) -> None:
            store.commit_answer(job[0], job[1], own_answer())
            store.cast(job[0], job[1], approval("vote"))
            fill(desk)

        skips = [(name, place) for place in made for name in ("ada", "ben")]
        votes = [(name, place) for place in made for name in ("cleo", "dev")]
        with ThreadPoolExecutor(8) as threads:
            done = [threads.submit(skip, job) for job in skips]
            done += [threads.submit(vote, job) for job in votes]
        for one in done:
            one.result()
        assert wanting(desk.board()) == {}
        for version in desk.versions():
            assert len(version.assigned) == 7
        taken = [a.position for v in desk.versions() for a in v.assigned if a.reviewer_id > "late"]
        assert len(taken) == 12


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_whoever_replaces_is_the_least_busy(seed: int) -> None:
    pool = Pool(REVIEWERS, Counter(ada=3, ben=1, cleo=2, dev=2, eli=5))
    made = assign([("1-x", 1)], pool, 3, seed=seed)
    assert {one.reviewer_id for one in made} == {"ben", "cleo", "dev"}
