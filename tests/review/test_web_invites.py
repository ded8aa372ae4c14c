"""Invite links are checked when they are made."""

import pytest

from construction.review.invites import (
    DAY,
    LinkRefused,
    Opened,
    enter,
    invite,
    renew,
)
from psychemme.canonical import now
from psychemme.errors import ReviewError
from psychemme.pages.tokens import hash_token, link
from state.review_desk import ReviewDesk
from state.review_values import ReviewerRecord
from tests.support.reviews import make_review


@pytest.fixture
def desk(tmp_path):
    make_review(tmp_path / "state.db", names=("ada",))
    with ReviewDesk(tmp_path / "state.db") as opened:
        yield opened


def record(desk, reviewer: str) -> ReviewerRecord:
    return next(one for one in desk.reviewers() if one.id == reviewer)


def test_an_invitation_keeps_the_hash_and_the_days(desk):
    token = invite(desk, "zoe", " Zoë ", background="clinical", days=2, is_demonstration=True)
    made = record(desk, "zoe")
    assert (made.name, made.background, made.is_demonstration) == ("Zoë", "clinical", True)
    assert made.token_sha256 == hash_token(token) != token
    assert made.expires_at - made.invited_at == 2 * DAY
    assert link("https://review.example.org/", token).endswith(f".org/enter/{token}")
    assert len({invite(desk, f"r{n}", "x") for n in range(20)}) == 20


def test_a_session_never_outlives_its_link(desk):
    token = renew(desk, "ada", days=0.5)
    opened = enter(desk, token)
    assert opened.expires_at == record(desk, "ada").expires_at < now() + DAY
    assert token not in repr(Opened(token, 1))


@pytest.mark.parametrize("bad", ["", "A", "a b", "../a", "a" * 41, "-a", "é", "a\n"])
def test_an_id_is_plain(desk, bad):
    with pytest.raises(ReviewError, match="no reviewer id"):
        invite(desk, bad, "Name")


@pytest.mark.parametrize("days", [0, -1, 367, float("nan"), float("inf")])
def test_a_link_works_for_a_year_at_most(desk, days):
    for make in (lambda: invite(desk, "zoe", "Zoe", days=days), lambda: renew(desk, "ada", days)):
        with pytest.raises(ReviewError, match="cannot work"):
            make()


def test_a_link_that_is_renewed_meanwhile_opens_nothing(desk, monkeypatch):
    token, begin = renew(desk, "ada"), desk.start_session

    def late(*session):
        renew(desk, "ada")
        return begin(*session)

    monkeypatch.setattr(desk, "start_session", late)
    with pytest.raises(LinkRefused):
        enter(desk, token)


@pytest.mark.parametrize("name", ["", " ", "\u3164", "\u200b", "x" * 101])
def test_a_reviewer_has_a_name(desk, name):
    with pytest.raises(ReviewError, match="name"):
        invite(desk, "zoe", name)
