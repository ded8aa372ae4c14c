"""What the reviewer's pages show, to whom, and in which letters."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from construction.review.web import views
from construction.review.web.views import WorkState
from psychemme.episode import HistoryEntry, Utterance
from psychemme.items import Cue, KeyPoint, Option
from psychemme.vocabulary import (
    Approval,
    Capability,
    Format,
    Modality,
    SkipReason,
    Verdict,
    VoteKind,
)
from psychology_kb.load import load_profile, load_review
from state.review_values import BlindAnswer, BlindItem, OwnWork, Revealed, ReviewEpisode, Vote

HOSTILE = "</script><img src=x onerror=window.owned=1>'\"&{{7*7}}"
SECRET = "zq7Secret"
FORM, TAXONOMY = load_review("psychemme8"), load_profile("psychemme8")
EPISODE = ReviewEpisode(
    id="e",
    preparation=1,
    duration=20.0,
    public_context=HOSTILE,
    transcript=(Utterance(start=1, end=2, text=HOSTILE),),
    history=(HistoryEntry(before=5, text=HOSTILE),),
)
ORDER = (2, 0, 1)
"""Shown as A: c, B: a, C: b."""


def item(form: Format = Format.SINGLE, number: int = 0, **changes: object) -> BlindItem:
    options = tuple(Option(id=i, text=f"text {i}{HOSTILE}") for i in "ABC")
    given = {
        "candidate_key": f"1-{number}",
        "version": 1,
        "episode_id": "e",
        "preparation": 1,
        "format": form,
        "question": HOSTILE,
        "options": options if form.is_choice else (),
        "position": number,
        "is_unblinded": False,
        "is_closed": False,
        "is_calibration": False,
    }
    return BlindItem.model_validate(given | changes)


def answered(answer="A", **changes: object) -> OwnWork:
    form = Format.MULTIPLE if isinstance(answer, list) else Format.SINGLE
    given = BlindAnswer(answer=answer, watched=0.4, request_id="r")
    return OwnWork(item=item(form, **changes), answer=given)


def vote(kind: VoteKind = VoteKind.VERDICT, **changes: object) -> Vote:
    given = {"kind": kind, "request_id": "v", "revision": 1, "committed_at": 1, "watched": 1.0}
    if kind is VoteKind.VERDICT:
        given["verdicts"] = dict.fromkeys(Verdict, Approval.APPROVE)
    return Vote.model_validate(given | changes)


SKIPPED = vote(VoteKind.SKIP, skip_reason=SkipReason.DISTRESS)


def revealed(answer="B", capability: Capability = Capability.GROUNDING) -> Revealed:
    return Revealed(
        capability=capability,
        subcategory=TAXONOMY.card(capability).subcategories[0].id,
        answer=answer,
        key_points=(KeyPoint(text=SECRET + HOSTILE),),
        cues=(Cue(start=1, end=2, modality=Modality.VISUAL, description=SECRET + HOSTILE),),
    )


def page(work: OwnWork, shown: Revealed | None = None, queue=None) -> str:
    order = ORDER if work.item.format.is_choice else ()
    return views.review_page(
        work, EPISODE, shown, FORM, TAXONOMY, order, queue or (work,), "ada", "token"
    )


def facts(text: str):
    return json.loads(unescape(re.search(r'data-facts="([^"]*)"', text)[1]))


def compared(text: str) -> list[str]:
    """The options of step two: letter, then what is marked."""
    rows = re.findall(r'<li class="[^"]*"><span class="code">.*?</li>', text, re.DOTALL)
    return [
        " ".join([re.search(r'"code">(\w)', row)[1], *re.findall(r'class="mark (\w+)"', row)])
        for row in rows
    ]


def test_the_first_step_holds_nothing_of_the_second():
    text = page(OwnWork(item=item()))
    for criterion in (card.review_criterion for card in TAXONOMY.capabilities):
        assert criterion not in unescape(text)
    for name in (card.name for card in TAXONOMY.capabilities):
        assert name not in unescape(text)
    assert "verdict" not in facts(text)
    assert facts(text)["step"] == 1


def test_nothing_is_revealed_before_the_own_answer():
    with pytest.raises(ValueError, match="own answer"):
        page(OwnWork(item=item()), revealed())


@pytest.mark.parametrize("form", list(Format))
def test_whatever_is_stored_is_shown_as_text(form):
    answer = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: HOSTILE}[form]
    own = BlindAnswer(answer=answer, request_id="r")
    draft = json.dumps({"comment": HOSTILE})
    work = OwnWork(item=item(form), answer=own, draft_json=draft, vote=vote(comment=HOSTILE))
    for text in (page(OwnWork(item=item(form))), page(work, revealed(answer))):
        assert "<img" not in text
        assert "49" not in re.sub(r"\d{3,}", "", text.split("main")[1])
        assert HOSTILE in unescape(text)
    assert json.loads(facts(page(work, revealed(answer)))["draft"])["comment"] == HOSTILE
    assert facts(page(work, revealed(answer)))["vote"]["comment"] == HOSTILE


def test_options_come_in_the_reviewers_order():
    shown = re.findall(r'class="text" dir="auto">text (\w)', page(OwnWork(item=item())))
    assert shown == ["C", "A", "B"]


@pytest.mark.parametrize(
    ("own", "reference", "marks", "letters", "differs"),
    [
        ("A", "B", ["A", "B own", "C ref"], ["B"], True),
        ("A", "A", ["A", "B own ref", "C"], ["B"], False),
        (["A", "C"], ["A", "B"], ["A own", "B own ref", "C ref"], ["A", "B"], True),
        (["A", "B"], ["B", "A"], ["A", "B own ref", "C own ref"], ["B", "C"], False),
    ],
)
def test_the_second_step_compares_in_the_letters_shown(own, reference, marks, letters, differs):
    text = page(answered(own), revealed(reference))
    assert compared(text) == marks
    assert facts(text)["answer"] == letters
    assert facts(text)["differs"] is differs
    # Never by colour alone.
    assert ("≠ Different." in text, "= The same." in text) == (differs, not differs)


@pytest.mark.parametrize("capability", list(Capability))
def test_the_criteria_and_reasons_are_those_of_the_capability(capability):
    text = unescape(page(answered(), revealed(capability=capability)))
    card = TAXONOMY.card(capability)
    for words in (card.review_criterion, card.required_cues, *card.boundaries):
        assert words in text
    for verdict in FORM.verdicts:
        assert verdict.question in text
        assert verdict.guidance in text
        offered = re.findall(rf'name="{verdict.id}-reason" value="(\w+)"', text)
        fitting = [
            reason.id
            for reason in verdict.reject_reasons
            if not reason.applies_to or capability in reason.applies_to
        ]
        assert offered == [*fitting, "other"]


def test_a_closed_item_offers_no_act():
    blind = page(OwnWork(item=item(is_closed=True)))
    informed = page(answered(is_closed=True), revealed())
    for text in (blind, informed):
        assert not re.search(r'id="(commit|save|withdraw|skip|confirm)"', text)
        assert "<fieldset" in text
        assert re.search(r'<fieldset id="\w+"[^>]* disabled', text)


def test_a_skipped_item_does_not_play():
    text = page(
        OwnWork(item=item(), vote=vote(VoteKind.SKIP, skip_reason=SkipReason.DISTRESS)),
    )
    assert "<video" not in text
    assert "always all right" in text
    assert 'id="withdraw"' in text
    closed = page(answered(is_closed=True).model_copy(update={"vote": SKIPPED}), revealed())
    assert "You skipped this item" in closed
    assert "<video" not in closed
    assert SECRET not in closed
    assert "withdraw" not in closed


def test_a_vote_counts_as_watched():
    assert facts(page(answered(), revealed()))["watched"] == 0.4
    judged = answered().model_copy(update={"vote": vote()})
    assert facts(page(judged, revealed()))["watched"] == 1.0


def test_every_reason_to_skip_is_worded():
    text = page(OwnWork(item=item()))
    assert set(re.findall(r'name="skip" value="(\w+)"', text)) == set(SkipReason)


@pytest.mark.parametrize(
    ("work", "state"),
    [
        (OwnWork(item=item()), WorkState.OPEN),
        (answered(), WorkState.ANSWERED),
        (answered().model_copy(update={"vote": vote()}), WorkState.JUDGED),
        (
            OwnWork(item=item(), vote=vote(VoteKind.SKIP, skip_reason="distress")),
            WorkState.SKIPPED,
        ),
        (answered(is_closed=True).model_copy(update={"vote": vote()}), WorkState.CLOSED),
        (answered(is_closed=True).model_copy(update={"vote": SKIPPED}), WorkState.SKIPPED),
    ],
)
def test_where_a_reviewer_stands(work, state):
    assert views.state_of(work) is state
    assert f'data-state="{state}"' in views.home_page([work], "ada", HOSTILE, "token")


def test_the_way_on_goes_round_and_ends():
    judged = {"vote": vote()}
    queue = [
        answered(number=0),
        OwnWork(item=item(number=1)).model_copy(update=judged),
        OwnWork(item=item(number=2)),
    ]
    own = views.own_list(queue)
    assert own.done == 1
    assert [own.next_after(n).number for n in (0, 1, 2, 3)] == [1, 3, 3, 1]
    assert facts(page(queue[0], revealed(), queue))["ahead"] == "/items/1-2/1"
    finished = [work.model_copy(update=judged) for work in queue]
    assert views.own_list(finished).next_after() is None
    home = views.home_page(finished, "ada", "Ada", "token")
    assert "3 of 3" in home
    assert 'id="next"' not in home


def test_what_closed_before_any_act_is_left_out_of_the_list():
    unseen = OwnWork(item=item(is_closed=True, number=1))
    queue = [answered(is_closed=True), unseen, OwnWork(item=item(number=2))]
    own = views.own_list(queue)
    assert [(place.number, place.url) for place in own.places] == [
        (1, "/items/1-0/1"),
        (2, "/items/1-2/1"),
    ]
    assert "1 of 2" in views.home_page(queue, "ada", "Ada", "token")
    text = page(unseen, queue=queue)
    assert "No longer in your list" in text
    assert facts(text)["ahead"] == "/items/1-2/1"


def test_a_decision_time_ends_what_is_judged_and_is_not_called_what_is_asked():
    text = page(OwnWork(item=item(decision_time=20.2)))
    said = re.sub(r"<[^>]+>", "", re.search(r'<p class="moment">.*?</p>', text)[0])
    assert said == (
        "Judge from what happens up to 20.2 s. "
        "What comes after is the outcome and does not show what would have been right."
    )
    assert 'class="moment"' not in page(OwnWork(item=item()))


def test_the_list_marks_calibration_and_is_kind_when_empty():
    calibration = OwnWork(item=item(is_calibration=True))
    text = views.home_page([calibration, OwnWork(item=item(number=1))], "ada", "Ada", "token")
    assert text.count(">Calibration</span>") == text.count('title="One of a first set') == 1
    assert "which all reviewers talk about afterwards" in text
    assert "talk about" not in views.home_page([OwnWork(item=item())], "ada", "Ada", "token")
    assert "nothing for you to review yet" in views.home_page([], "ada", "Ada", "token")


def test_messages_are_escaped():
    for text in (
        views.error_page(400, HOSTILE, HOSTILE, [HOSTILE]),
        views.enter_page(HOSTILE),
        views.home_page([], HOSTILE, HOSTILE, HOSTILE),
    ):
        assert "<img" not in text
        assert HOSTILE in unescape(text)


TEMPLATES = sorted(Path(views.__file__).with_name("templates").glob("*.html"))
SCRIPTS = [path for path in sorted(views.STATIC.glob("*.js")) if "curator" not in path.name]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_holds_a_script_or_a_style(path):
    text = path.read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|\|\s*safe|autoescape", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


MARKUP = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_writes_markup(path):
    assert not re.search(MARKUP, path.read_text())


def test_scripts_find_what_they_look_for():
    pages = "".join(path.read_text() for path in TEMPLATES if "curator" not in path.name)
    scripts = "".join(path.read_text() for path in SCRIPTS)
    wanted = set(re.findall(r'by\("([\w-]+)"\)', scripts))
    assert wanted
    assert wanted <= set(re.findall(r'\bid="([\w-]+)"', pages))
