"""What a reviewer does over HTTP: two steps, once each, and nothing of anybody else."""

import itertools
import re
import string
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from construction.presentation import present, presentation_order
from construction.review.web.app import create_app
from construction.workspace import DEMO_KEY, Workspace
from psychemme.vocabulary import Capability, Closing, Format, SkipReason, Verdict, VoteKind
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from tests.support.review_web import (
    ADDRESS,
    CURATOR_TOKEN,
    FOOTAGE_URL,
    VERDICTS,
    Browser,
    browser,
    database,
    make_site,
)
from tests.support.reviews import CANARY, REVIEWERS, item_version, reviewer
from tests.support.states import proposal

ITEM, OPEN, MULTIPLE = "1-c0/1", "1-c1/1", "1-c2/1"
FORMS = (Format.SINGLE, Format.OPEN, Format.MULTIPLE)
WORD = "adasOwnWord"
STATIC = Path("construction/review/web/static")


@pytest.fixture
def app(tmp_path):
    return make_site(tmp_path / "w", FORMS)


@pytest.fixture
def ada(app) -> Browser:
    return browser(app, "ada")


def version(app, item: str = ITEM):
    key, number = item.split("/")
    with ReviewDesk(database(app)) as desk:
        return desk.version((key, int(number)))


def letter_of(text: str, item: str, reviewer: str) -> str:
    """The letter under which a reviewer sees an option."""
    options = proposal().question.options
    label = f"{item.replace('/', ':')}:{reviewer}"
    order = presentation_order(len(options), label, 0, bytes.fromhex(DEMO_KEY))
    return next(o.id for o in present(options, order) if o.text == text)


# The two steps


def test_a_review_from_the_invite_to_the_last_item(app, ada):
    assert ada.get("/api/queue").json() == {
        "items": [
            {"key": f"1-c{n}", "version": 1, "state": "open", "url": f"/items/1-c{n}/1"}
            for n in range(3)
        ],
        "done": 0,
        "total": 3,
    }
    for item, answer in ((ITEM, "A"), (OPEN, "the ladder"), (MULTIPLE, ["B", "A"])):
        answered = ada.answer(item, answer).json()
        assert answered["next"] == f"/items/{item}"
        assert answered["committed_at"] > 0
    ends = [ada.vote(item).json() for item in (ITEM, OPEN, MULTIPLE)]
    assert [end["next"] for end in ends] == [f"/items/{OPEN}", f"/items/{MULTIPLE}", "/"]
    assert [end["revision"] for end in ends] == [1, 1, 1]
    queue = ada.get("/api/queue").json()
    assert (queue["done"], {item["state"] for item in queue["items"]}) == (3, {"judged"})
    assert all(vote.approves for item in (ITEM, OPEN) for vote in version(app, item).votes["ada"])


def test_shown_letters_are_stored_as_the_proposals_ids(app):
    for name in REVIEWERS:
        there = browser(app, name)
        wanted = ("fetch a drink", "open it")
        letters = [letter_of(text, MULTIPLE, name) for text in wanted]
        assert there.answer(ITEM, letter_of("fetch a drink", ITEM, name)).status_code == 200
        assert there.answer(MULTIPLE, letters).status_code == 200
        assert version(app).answers[name].answer == "B"
        assert version(app, MULTIPLE).answers[name].answer == ["B", "C"]


def test_the_options_stand_in_an_order_of_the_reviewers_own(app):
    orders = {
        tuple(letter_of(option.text, ITEM, name) for option in proposal().question.options)
        for name in REVIEWERS
    }
    assert len(orders) > 1
    for name in ("ada", "ben"):
        page = unescape(browser(app, name).get(f"/items/{ITEM}").text)
        shown = sorted(proposal().question.options, key=lambda o: page.index(f">{o.text}<"))
        letters = [letter_of(option.text, ITEM, name) for option in shown]
        assert letters == list(string.ascii_uppercase[: len(letters)])


def test_the_reference_comes_after_the_answer_and_stays(app, ada):
    before = ada.get(f"/items/{OPEN}").text
    assert ada.vote(OPEN).status_code == 409
    assert CANARY not in before
    ada.answer(OPEN, "my own words")
    for _ in range(2):
        after = ada.get(f"/items/{OPEN}").text
        assert CANARY in after
        assert "my own words" in after


@pytest.mark.parametrize(
    ("item", "answer"),
    [(ITEM, "D"), (ITEM, ["A", "B"]), (ITEM, ""), (OPEN, " "), (MULTIPLE, []), (MULTIPLE, ["Z"])],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(app, ada, item, answer):
    refused = ada.answer(item, answer)
    assert refused.status_code == 400
    (fault,) = refused.json()["faults"]
    assert "first" in fault
    assert version(app, item).answers == {}


def test_a_verdict_that_breaks_the_rules_is_refused_with_all_reasons(app, ada):
    other = next(letter for letter in "ABC" if letter != letter_of("hold the ladder", ITEM, "ada"))
    ada.answer(ITEM, other)
    refused = ada.vote(ITEM, comment="").json()
    assert refused["faults"] == [
        "Your own answer differs from the reference: write why you approve it."
    ]
    rejecting = VERDICTS | {"question_validity": "reject"}
    assert ada.vote(ITEM, verdicts=rejecting).json()["faults"]
    assert ada.vote(ITEM, verdicts={}).status_code == 400
    assert ada.vote(ITEM, verdicts={"more": "approve"}).status_code == 422
    assert version(app).votes == {}
    reasons = {"question_validity": ["false_premise"]}
    assert ada.vote(ITEM, verdicts=rejecting, reasons=reasons).status_code == 200
    assert version(app).votes["ada"][0].reasons == {Verdict.QUESTION_VALIDITY: ("false_premise",)}


def test_changing_skipping_and_taking_back_are_new_revisions(app, ada):
    ada.answer(ITEM)
    skip = {"skip_reason": "cannot_judge", "request_id": "skip-0001", "after": 2}
    acts = [
        ada.vote(ITEM),
        ada.vote(ITEM, "vote-0002", comment="better words", after=1),
        ada.say(f"/api/items/{ITEM}/skip", skip),
        ada.say(f"/api/items/{ITEM}/withdraw", {"request_id": "back-0001", "after": 3}),
    ]
    assert [act.json()["revision"] for act in acts] == [1, 2, 3, 4]
    assert acts[-1].json()["next"] == f"/items/{ITEM}"
    kinds = [vote.kind for vote in version(app).votes["ada"]]
    assert kinds == [VoteKind.VERDICT, VoteKind.VERDICT, VoteKind.SKIP, VoteKind.WITHDRAWAL]
    assert ada.get("/api/queue").json()["items"][0]["state"] == "answered"


def test_an_act_from_a_page_that_is_out_of_date_replaces_no_newer_vote(app, ada):
    ada.answer(ITEM)
    rejecting = VERDICTS | {"question_validity": "reject"}
    reasons = {"question_validity": ["false_premise"]}
    assert ada.vote(ITEM, "laptop-01", verdicts=rejecting, reasons=reasons).status_code == 200
    late = ada.vote(ITEM, "phone-001")
    assert late.status_code == 409
    assert "meanwhile" in late.json()["problem"]
    skip = {"skip_reason": "distress", "request_id": "skip-0001"}
    assert ada.say(f"/api/items/{ITEM}/skip", skip).status_code == 409
    assert ada.say(f"/api/items/{ITEM}/withdraw", {"request_id": "back-0001"}).status_code == 409
    # Sent again, the first one is still the vote that it was.
    again = ada.vote(ITEM, "laptop-01", verdicts=rejecting, reasons=reasons)
    assert (again.status_code, again.json()["revision"]) == (200, 1)
    assert "&#34;revision&#34;:1" in ada.get(f"/items/{ITEM}").text
    assert ada.vote(ITEM, "phone-002", after=1).json()["revision"] == 2


def test_a_skip_needs_no_answer_whatever_its_reason(app, ada):
    for number, reason in enumerate(SkipReason):
        skip = {"skip_reason": reason, "request_id": f"skip-{number:04}", "after": number}
        following = "/" if reason is SkipReason.CONFLICT_OF_INTEREST else f"/items/{OPEN}"
        assert ada.say(f"/api/items/{ITEM}/skip", skip).json()["next"] == following
        assert ada.get(f"/items/{ITEM}").status_code == 200
    assert ada.get("/api/queue").json()["items"][0]["state"] == "skipped"
    assert len(version(app).votes["ada"]) == len(SkipReason)


def test_a_conflict_of_interest_withdraws_the_other_items_of_the_recording(app, ada):
    skip = {"skip_reason": "conflict_of_interest", "request_id": "skip-0001"}
    assert ada.say(f"/api/items/{ITEM}/skip", skip).status_code == 200
    assert [one["state"] for one in ada.get("/api/queue").json()["items"]] == ["skipped"]
    assert OPEN not in ada.get("/").text
    refused = ada.get(f"/items/{OPEN}")
    assert refused.status_code == ada.answer(OPEN, "mine").status_code == 404
    assert "somebody else takes it over" in refused.text
    assert version(app, OPEN).answers == {}
    assert ada.get(f"/items/{ITEM}").status_code == 200
    back = {"request_id": "back-0001", "after": 1}
    assert ada.say(f"/api/items/{ITEM}/withdraw", back).status_code == 200
    assert ada.answer(OPEN, "mine").status_code == 200


def test_who_skips_is_replaced_at_once_and_not_told_by_whom(app, ada):
    with ReviewDesk(database(app)) as desk:
        desk.invite(reviewer("fay"))
    skip = {"skip_reason": "distress", "request_id": "skip-0001"}
    skipped = ada.say(f"/api/items/{ITEM}/skip", skip)
    assert {a.reviewer_id for a in version(app).assigned} == {*REVIEWERS, "fay"}
    assert set(skipped.json()) == {"committed_at", "next", "revision"}
    assert "fay" not in skipped.text


def test_a_closed_item_is_shown_and_takes_nothing(app, ada):
    ada.answer(ITEM)
    first = ada.vote(ITEM).json()
    with ReviewDesk(database(app)) as desk:
        desk.close_item(("1-c0", 1), Closing.APPROVED)
    assert ada.get(f"/items/{ITEM}").status_code == 200
    assert ada.vote(ITEM, "vote-0002").status_code == 409
    assert ada.say(f"/api/items/{ITEM}/draft", {"draft": {}}).status_code == 409
    assert ada.vote(ITEM).json()["committed_at"] == first["committed_at"]  # sent again
    late = browser(app, "ben")
    assert late.answer(ITEM).status_code == 409
    assert CANARY not in late.get(f"/items/{ITEM}").text


# Once, whatever is sent


def test_what_is_sent_again_is_acknowledged_and_stored_once(app, ada):
    answers = [ada.answer(ITEM) for _ in range(3)]
    cast = [ada.vote(ITEM) for _ in range(3)]
    assert {r.status_code for r in (*answers, *cast)} == {200}
    assert len({r.text for r in answers}) == len({r.text for r in cast}) == 1
    assert len(version(app).votes["ada"]) == 1


def test_what_is_not_stored_is_not_acknowledged(app, ada):
    ada.answer(ITEM, "A")
    assert ada.answer(ITEM, "B", "answer-2").status_code == 409
    assert ada.answer(ITEM, "A", "answer-3").status_code == 200
    ada.vote(ITEM)
    assert ada.vote(ITEM, comment="other words, same request").status_code == 409
    (mine,) = version(app).votes["ada"]
    assert mine.comment == "fits"


def test_five_reviewers_who_click_everything_thrice_at_once(app):
    crowd = [browser(app, name) for name in REVIEWERS]
    items = {ITEM: "A", OPEN: "the ladder", MULTIPLE: ["A", "B"]}
    with ThreadPoolExecutor(15) as pool:
        for act in (
            lambda who, item: who.answer(item, items[item]),
            lambda who, item: who.vote(item),
        ):
            jobs = [
                pool.submit(act, who, item)
                for who, item, _ in itertools.product(crowd, items, range(3))
            ]
            assert {job.result().status_code for job in jobs} == {200}
    for item in items:
        found = version(app, item)
        assert sorted(found.answers) == sorted(found.votes) == sorted(REVIEWERS)
        assert all(len(votes) == 1 for votes in found.votes.values())


def test_a_restart_keeps_sessions_and_everything_acknowledged(app, ada):
    ada.answer(ITEM)
    ada.say(f"/api/items/{OPEN}/draft", {"draft": {"answer": "half a thought"}})
    again = create_app(Workspace(database(app).parent))
    there = TestClient(again, base_url=ADDRESS, cookies=dict(ada.cookies))
    body = {"verdicts": VERDICTS, "comment": "fits", "seconds": 9, "watched": 1}
    voted = there.post(
        f"/api/items/{ITEM}/vote",
        json=body | {"request_id": "vote-0001"},
        headers={"x-csrf-token": ada.csrf},
    )
    assert voted.status_code == 200
    assert "half a thought" in unescape(there.get(f"/items/{OPEN}").text)


# Nothing of anybody else


def wander(there: Browser) -> None:
    """Ask for everything that a reviewer can ask for without committing anything."""
    paths = ["/", "/api/queue", "/nothing", "/api/nothing", "/curator", "/curator/queue"]
    for item in (ITEM, OPEN, MULTIPLE, "1-c9/1"):
        paths += [f"/items/{item}", f"/curator/items/{item}"]
    for path in (*paths, FOOTAGE_URL, f"/enter/{CURATOR_TOKEN[:-1]}"):
        there.get(path)
        there.post(path, data={"csrf": there.csrf})
        there.get(path, headers={"range": "bytes=0-9"})
    for item in (ITEM, OPEN, MULTIPLE, "1-c9/1"):
        there.vote(item)
        there.answer(item, "")
        there.say(f"/api/items/{item}/draft", {"draft": {"comment": "mine"}})
        there.say(f"/api/items/{item}/draft", {"draft": 1})


def voted(app, name: str) -> None:
    there = browser(app, name)
    for item, answer in ((ITEM, "A"), (OPEN, WORD), (MULTIPLE, ["A", "B"])):
        there.say(f"/api/items/{item}/draft", {"draft": {"comment": WORD}})
        assert there.answer(item, answer).status_code == 200
        assert there.vote(item, comment=WORD).status_code == 200


def test_no_response_holds_a_reference_before_the_answer_or_anothers_word_ever(app):
    voted(app, "ada")
    with ReviewDesk(database(app)) as desk:
        desk.note(("1-c0", 1), "curator", f"note {WORD}")
    ben = browser(app, "ben")
    wander(ben)
    for file in STATIC.iterdir():
        assert ben.get(f"/static/{file.name}").status_code == 200
    before = list(ben.seen)
    assert len(before) > 60
    for item, answer in ((ITEM, "A"), (OPEN, "mine"), (MULTIPLE, ["A", "B"])):
        assert ben.answer(item, answer).status_code == 200
        assert ben.vote(item).status_code == 200
    wander(ben)
    told = [response for response in ben.seen if "/static/" not in str(response.url)]
    said = [response.text + str(response.headers) for response in told]
    assert not [response for response in before if CANARY in response.text]
    assert [text for text in said if CANARY in text]  # it would be found
    for secret in (WORD, "scripted", "rationale", "because of", "Ada", "Cleo", "nowhere"):
        assert not [text for text in said if secret in text]


CLOCK = re.compile(rb'(?<="committed_at":)\d+')
"""The database's own clock stands where the fixed one is far from it."""


def journey(root: Path, monkeypatch, names, others, *, commits: bool) -> list[tuple]:
    """Everything that ben is told in a workspace whose clock and tokens are fixed."""
    count = itertools.count()
    monkeypatch.setattr("construction.review.invites.new_token", lambda: f"token-{next(count)}")
    app = make_site(root, FORMS, names)
    others(app)
    with monkeypatch.context() as fixed:
        for module in ("state.review", "construction.review.web.reviewer_api"):
            fixed.setattr(f"{module}.now", lambda: 1)
        for module in ("construction.review.invites", "construction.review.web.sessions"):
            fixed.setattr(f"{module}.now", lambda: 1_900_000_000_000_000)
        fixed.setattr("construction.review.invites.new_token", lambda: "bens-token")
        ben = browser(app, "ben")
        wander(ben)
        if commits:
            for item, answer in ((ITEM, "A"), (OPEN, "mine"), (MULTIPLE, ["A", "B"])):
                ben.answer(item, answer)
                ben.vote(item)
            wander(ben)
    return [
        (r.request.method, str(r.url), r.status_code, r.headers, CLOCK.sub(b"", r.content))
        for r in ben.seen
    ]


def test_what_others_do_changes_no_byte_of_what_a_reviewer_gets(tmp_path, monkeypatch):
    def busy(app) -> None:
        for name in ("ada", "cleo", "dev"):
            voted(app, name)

    crowd = journey(tmp_path / "crowd", monkeypatch, REVIEWERS, busy, commits=True)
    alone = journey(tmp_path / "alone", monkeypatch, ("ben",), lambda _: None, commits=True)
    assert crowd == alone
    assert len([entry for entry in alone if entry[2] == 200]) > 40


def test_before_the_answer_no_byte_depends_on_the_reference(tmp_path, monkeypatch):
    one = journey(tmp_path / "one", monkeypatch, ("ben",), lambda _: None, commits=False)

    def keyed_otherwise(key, form, version=1):
        item = item_version(key, form, version)
        answer = {Format.SINGLE: "C", Format.MULTIPLE: ["B", "C"], Format.OPEN: "something else"}
        changes = {
            "capability": Capability.RISK,
            "subcategory": "refusal",
            "answer": answer[form],
            "cues": item.revealed.cues * 2,
            "key_points": (),
        }
        return item.model_copy(update={"revealed": item.revealed.model_copy(update=changes)})

    monkeypatch.setattr("tests.support.reviews.item_version", keyed_otherwise)
    other = journey(tmp_path / "other", monkeypatch, ("ben",), lambda _: None, commits=False)
    assert one == other
    with ReviewStore(tmp_path / "other" / "state.db") as store:
        assert store.queue("ben")[0].answer is None
