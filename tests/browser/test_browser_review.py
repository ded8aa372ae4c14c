"""The review page in a real browser, against a server of its own that can be killed."""

import time
from collections.abc import Iterator
from itertools import pairwise
from unittest import mock

import pytest

from psychemme.episode import Utterance
from psychemme.items import Cue, Option
from psychemme.vocabulary import Approval, Closing, Format, SkipReason, Verdict, VoteKind
from state.review_desk import ReviewDesk
from tests.support import reviews, states
from tests.support.review_pages import (
    DESK,
    FOOTAGE_SECONDS,
    PHONE,
    VIDEO,
    ReviewerPage,
    chromium,
    draw_footage,
    served,
)
from tests.support.review_web import database, invited, make_site

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=window.owned=1><b>'\"&amp;{{7*7}} \u202e"
SINGLE, OPEN, MULTIPLE, CLOSING = (("1-c0", 1), ("1-c1", 1), ("1-c2", 1), ("1-c3", 1))
FORMS = (Format.SINGLE, Format.OPEN, Format.MULTIPLE, Format.SINGLE)
NAMES = tuple(f"reviewer{n}" for n in range(40))
START, END = 1.0, 2.0


def hostile_version(*args, **kwargs):
    """An item whose every text is hostile; one cue lies in the footage."""
    made = reviews_version(*args, **kwargs)
    options = tuple(Option(id=o.id, text=o.text + HOSTILE) for o in made.options)
    cue = Cue(start=START, end=END, modality="speech", description=HOSTILE)
    revealed = made.revealed.model_copy(update={"cues": (cue,)})
    changes = {"question": made.question + HOSTILE, "options": options, "revealed": revealed}
    return made.model_copy(update=changes)


reviews_version = reviews.item_version
EPISODE = states.EPISODE.model_copy(
    update={
        "public_context": HOSTILE,
        "transcript": (Utterance(start=0.5, end=1.5, text=HOSTILE), *states.EPISODE.transcript[1:]),
    }
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("review") / "workspace"
    with (
        mock.patch.object(reviews, "item_version", hostile_version),
        mock.patch.object(states, "EPISODE", EPISODE),
    ):
        app = make_site(root, FORMS, NAMES)
    draw_footage(root / "review" / f"{states.EPISODE_ID}-1.mp4")
    return app


@pytest.fixture(scope="module")
def server(site):
    with served(site.state.site.workspace.root) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def names() -> Iterator[str]:
    return iter(NAMES)


@pytest.fixture
def who(names) -> str:
    return next(names)


@pytest.fixture
def page(browser, server, site, who):
    opened = ReviewerPage(browser, server.address, invited(site, who))
    yield opened
    opened.close()


def acts(site, who, place=SINGLE):
    with ReviewDesk(database(site)) as desk:
        return desk.version(place).votes.get(who, ())


def own_answer(site, who, place=SINGLE):
    with ReviewDesk(database(site)) as desk:
        return desk.version(place).answers.get(who)


def ready_to_save(page) -> None:
    """Bring the first item to a complete verdict."""
    page.open_next()
    page.answer_anything()
    page.watch()
    page.approve("all fits")


def wait_for(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def tab_to(page, selector: str) -> None:
    for _ in range(80):
        page.tab.keyboard.press("Tab")
        if page.is_true(f"document.activeElement.matches('{selector}')"):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


# Two steps


def test_both_steps_need_no_mouse(page, site, who):
    page.tab.goto(page.address)
    tab_to(page, "#next")
    page.tab.keyboard.press("Enter")
    page.ready("#first")
    page.tab.keyboard.press("Space")
    page.until(f"{VIDEO}.currentTime > 0.3 && !{VIDEO}.paused")
    page.tab.keyboard.press("2")
    page.tab.keyboard.press("Enter")
    page.tab.locator("#confirm-yes:focus").wait_for()
    assert own_answer(site, who) is None
    page.tab.keyboard.press("Enter")
    page.ready("#second")
    assert own_answer(site, who).answer in {"A", "B", "C"}
    page.tab.keyboard.press("k")
    for verdict in Verdict:
        tab_to(page, f"[name={verdict}]")
        page.tab.keyboard.press("Space")
    page.tab.keyboard.press("ArrowRight")
    tab_to(page, ".reasons input")
    page.tab.keyboard.press("Space")
    tab_to(page, "#comment")
    at = page.tab.evaluate(f"{VIDEO}.paused")
    page.tab.keyboard.type("jkl c ? 1, so be it.")
    assert page.tab.evaluate(f"{VIDEO}.paused") == at
    assert not page.is_true("document.getElementById('sheet').open")
    page.until("document.getElementById('watched-hint').textContent.includes('enough')")
    tab_to(page, "#save")
    page.tab.keyboard.press("Enter")
    page.tab.locator("#flash a").wait_for()
    (vote,) = acts(site, who)
    assert vote.verdicts == {
        Verdict.QUESTION_VALIDITY: Approval.APPROVE,
        Verdict.ANSWER_CORRECTNESS: Approval.APPROVE,
        Verdict.PSYCHOLOGICAL_CONSISTENCY: Approval.REJECT,
    }
    assert vote.reasons == {Verdict.PSYCHOLOGICAL_CONSISTENCY: ("overreads_cue",)}
    assert vote.comment == "jkl c ? 1, so be it."
    assert vote.watched >= 0.95
    assert vote.seconds >= 1


def test_every_format_goes_to_the_end(page, site, who):
    page.open_item(2)
    page.choose(HOSTILE)
    page.commit()
    assert HOSTILE in page.tab.locator(".pair").inner_text()
    page.watch()
    page.approve()
    page.save()
    assert own_answer(site, who, OPEN).answer == HOSTILE.strip()
    page.open_item(3)
    page.choose([1, 3])
    texts = page.tab.locator(".choice:has(:checked) .text").all_inner_texts()
    page.commit()
    mine = page.tab.locator(".compared li", has_text="Yours").locator("span[dir]")
    assert mine.all_inner_texts() == texts
    stored = own_answer(site, who, MULTIPLE).answer
    options = hostile_version("1-c2", Format.MULTIPLE).options
    assert sorted(o.text.strip() for o in options if o.id in stored) == sorted(
        text.strip() for text in texts
    )


def test_a_verdict_waits_for_the_whole_clip(page, site, who):
    page.open_next()
    page.answer_anything()
    page.approve("all fits")
    save = page.tab.locator("#save")
    assert save.get_attribute("aria-disabled") == "true"
    assert page.tab.locator("#todo").inner_text() == "Watch the rest of the clip."
    # Jumping to the end is not watching.
    page.tab.locator("#seek").fill(str(FOOTAGE_SECONDS - 0.5))
    page.tab.locator("#play").click()
    page.until(f"{VIDEO}.ended")
    assert int(page.tab.locator("#watched").inner_text().rstrip("%")) < 40
    save.click(force=True)
    page.tab.wait_for_timeout(500)
    assert acts(site, who) == ()
    page.watch()
    page.until("document.getElementById('save').getAttribute('aria-disabled') === 'false'")
    page.save()
    assert len(acts(site, who)) == 1


def test_the_page_says_what_a_verdict_lacks(page):
    page.open_next()
    page.answer_anything()
    todo = page.tab.locator("#todo")
    page.reject("answer_correctness")
    group = page.tab.locator("[data-verdict=answer_correctness]")
    group.locator(".reasons input").first.uncheck()
    assert "Say why you reject answer correctness." in todo.inner_text()
    assert "Give your verdict on question validity, psychological consistency." in todo.inner_text()
    group.locator("[value=other]").check()
    assert "what else is wrong" in todo.inner_text()
    # Reasons of other capabilities are not offered.
    assert page.tab.locator("[value=superseded_history]").count() == 0


def test_to_approve_against_the_own_answer_needs_words(page):
    page.open_next()
    page.answer_anything()
    differs = page.tab.locator("#outcome").inner_text().startswith("≠")
    for group in page.tab.locator(".verdict").all():
        group.locator("[value=approve]").check()
    assert ("write why you approve" in page.tab.locator("#todo").inner_text()) == differs
    assert (page.tab.locator("#comment-need").inner_text() == "needed") == differs


def test_a_vote_is_edited_withdrawn_and_cast_again(page, site, who):
    ready_to_save(page)
    page.save()
    page.open_item(1)
    assert page.tab.locator("#comment").input_value() == "all fits"
    assert "Nothing has changed" in page.tab.locator("#todo").inner_text()
    page.reject("question_validity")
    page.save()
    page.open_item(1)
    page.tab.locator("#withdraw").click()
    page.tab.locator("#standing").wait_for(state="detached")
    page.ready("#second")
    # What was said is still there to start from.
    assert page.tab.locator("[name=question_validity][value=reject]").is_checked()
    page.save()
    kinds = [vote.kind for vote in acts(site, who)]
    assert kinds == [VoteKind.VERDICT, VoteKind.VERDICT, VoteKind.WITHDRAWAL, VoteKind.VERDICT]


def test_the_page_says_what_a_commit_lacks(page):
    todo = page.tab.locator("#commit-todo")
    page.tab.goto(f"{page.address}/items/1-c1/1")
    page.ready("#first")
    assert todo.inner_text() == "Write an answer first."
    page.tab.locator("#open-answer").fill("mine")
    assert todo.inner_text() == ""
    page.tab.goto(f"{page.address}/items/1-c0/1")
    page.ready("#first")
    assert todo.inner_text() == "Choose an option first."
    page.tab.locator("#answers input").first.check()
    assert todo.inner_text() == ""


def test_a_skip_is_kind_and_can_be_undone(page, site, who):
    page.open_next()
    page.tab.locator("#skip summary").click()
    assert "always all right" in page.tab.locator("#skip").inner_text()
    page.tab.locator("#skip-send").click()
    assert "Choose one" in page.tab.locator("#skip-why").inner_text()
    page.tab.locator("#skip [value=distress]").check()
    assert "Choose one" not in page.tab.locator("#skip-why").inner_text()
    page.tab.locator("#skip summary").click()
    page.skip("distress")
    (vote,) = acts(site, who)
    assert vote.skip_reason is SkipReason.DISTRESS
    page.tab.goto(f"{page.address}/items/1-c0/1")
    assert page.tab.locator("video").count() == 0
    page.tab.locator("#withdraw").click()
    page.ready("#first")
    assert page.tab.locator("video").count() == 1


def test_a_closed_item_is_read_only(page, site, who):
    page.open_item(4)
    page.answer_anything()
    with ReviewDesk(database(site)) as desk:
        desk.close_item(CLOSING, Closing.REPLACED)
    # The page that is still open learns of it without losing a word.
    page.tab.locator("#comment").fill("too late")
    page.tab.locator("#trouble", has_text="closed").wait_for()
    page.tab.reload()
    page.tab.locator("#closed").wait_for()
    assert page.tab.locator("#save, #skip, #withdraw").count() == 0
    assert all(box.is_disabled() for box in page.tab.locator("#second input").all())


# Drafts


def test_what_is_typed_survives_a_reload(page, site, who):
    page.open_next()
    page.answer_anything()
    page.watch()
    page.reject("question_validity", 2)
    page.tab.locator("#comment").fill(HOSTILE)
    page.tab.locator("#saved", has_text="Saved ").wait_for()
    wait_for(lambda: HOSTILE[:20] in str(draft(site, who)))
    page.tab.evaluate("localStorage.clear()")
    page.tab.reload()
    page.ready("#second")
    assert page.tab.locator("#comment").input_value() == HOSTILE
    assert page.tab.locator("[name=question_validity][value=reject]").is_checked()
    group = page.tab.locator("[data-verdict=question_validity]")
    assert group.locator(".reasons input").nth(1).is_checked()
    page.until("document.getElementById('watched-hint').textContent.includes('enough')")


def draft(site, who, place=SINGLE):
    return site.state.site.store.work(who, place).draft_json


def test_a_draft_waits_out_a_lost_connection(page, site, who):
    page.open_next()
    page.choose([1])
    page.tab.locator("#saved", has_text="Saved ").wait_for()
    page.context.set_offline(True)
    page.choose([2])
    page.tab.locator("#saved", has_text="Offline: will retry").wait_for()
    letter = page.tab.locator(".choice input").nth(1).get_attribute("value")
    assert f'"{letter}"' not in draft(site, who).split("answer")[1].split("]")[0]
    page.context.set_offline(False)
    page.tab.locator("#saved", has_text="Saved ").wait_for()
    assert f'"{letter}"' in draft(site, who).split("answer")[1].split("]")[0]


# Acts


def test_an_act_made_offline_is_sent_once_and_not_acknowledged_before(page, site, who):
    ready_to_save(page)
    page.context.set_offline(True)
    page.tab.locator("#save").click()
    box = page.tab.locator("#outbox")
    box.get_by_text("Not sent yet: verdict on item 1. You are offline.").wait_for()
    page.tab.wait_for_timeout(4000)
    assert page.tab.locator("#save").is_disabled()
    assert page.tab.locator("#flash").is_hidden() or "saved" not in (
        page.tab.locator("#flash").inner_text()
    )
    assert acts(site, who) == ()
    warned: list[str] = []
    page.tab.once("dialog", lambda dialog: (warned.append(dialog.type), dialog.dismiss()))
    page.tab.close(run_before_unload=True)
    wait_for(lambda: page.tab.wait_for_timeout(50) or warned)
    assert warned == ["beforeunload"]
    page.context.set_offline(False)
    page.tab.locator("#flash", has_text="verdict on item 1 was saved").wait_for()
    assert len(acts(site, who)) == 1
    assert page.votes_sent() == 1


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_what_is_not_sent_is_said_where_save_is_pressed(browser, server, site, who, size):
    page = ReviewerPage(browser, server.address, invited(site, who), size)
    page.open_next()
    page.choose([1])
    page.tab.locator("#commit").click()
    share = page.tab.locator("#watched").inner_text()
    assert f"You have watched {share} of the clip." in page.tab.locator("#confirm").inner_text()
    page.tab.locator("#confirm-yes").click()
    page.ready("#second")
    page.watch()
    page.approve("all fits")
    page.tab.locator("#saved-here", has_text="Draft saved ").wait_for()
    page.context.set_offline(True)
    page.tab.locator("#save").click()
    page.tab.locator("#outbox", has_text="Not sent yet").wait_for()
    page.tab.locator("#saved-here", has_text="Not sent yet").wait_for()
    box = page.tab.locator("#outbox").bounding_box()
    save = page.tab.locator("#save").bounding_box()
    assert 0 < save["y"] < save["y"] + save["height"] <= box["y"] + 1, "both are in view"
    assert box["y"] + box["height"] <= size[1]
    ground = "getComputedStyle(document.getElementById('save')).backgroundColor"
    still = page.tab.evaluate(ground)
    page.tab.locator("#save").hover(force=True)
    assert page.tab.evaluate(ground) == still
    page.context.set_offline(False)
    page.tab.locator("#flash", has_text="verdict on item 1 was saved").wait_for()
    page.close()


def test_a_double_click_is_one_act(page, site, who):
    page.open_next()
    page.choose([1])
    page.tab.locator("#commit").dblclick()
    page.tab.locator("#confirm-no").click()
    # Nor does a second press before anybody can have read the question.
    page.tab.evaluate(
        """() => {
          const enter = () => new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
          document.body.dispatchEvent(enter());
          document.body.dispatchEvent(enter());
        }"""
    )
    page.tab.locator("#confirm-yes:focus").wait_for()
    assert own_answer(site, who) is None
    page.tab.locator("#confirm-yes").dblclick()
    page.ready("#second")
    page.watch()
    page.approve("all fits")
    page.tab.locator("#save").dblclick()
    page.tab.wait_for_timeout(1500)
    assert len(acts(site, who)) == 1
    assert sum(path.endswith("/answer") for path, _ in page.sent) == 1
    assert page.votes_sent() == 1


def test_an_act_outlives_a_killed_server(page, site, who, server):
    ready_to_save(page)
    server.kill()
    page.tab.locator("#save").click()
    page.tab.locator("#outbox", has_text="The server cannot be reached.").wait_for()
    server.start()
    page.tab.locator("#flash", has_text="verdict on item 1 was saved").wait_for(timeout=40_000)
    assert len(acts(site, who)) == 1


def test_a_lost_acknowledgement_does_not_vote_twice(page, site, who):
    ready_to_save(page)
    asked: list[str] = []

    def lose_the_first(route):
        asked.append(route.request.post_data)
        if len(asked) > 1:
            return route.continue_()
        route.fetch()
        return route.abort()

    page.context.route("**/vote", lose_the_first)
    page.tab.locator("#save").click()
    page.tab.locator("#flash", has_text="verdict on item 1 was saved").wait_for()
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert len(acts(site, who)) == 1


def test_a_reload_sends_what_was_left(page, site, who, server):
    ready_to_save(page)
    page.context.set_offline(True)
    page.tab.locator("#save").click()
    page.tab.locator("#outbox", has_text="Not sent yet").wait_for()
    page.tab.on("dialog", lambda dialog: dialog.accept())
    page.tab.goto("about:blank")
    page.context.set_offline(False)
    page.tab.goto(server.address)
    page.tab.locator(".items [data-state=judged]").wait_for()
    assert len(acts(site, who)) == 1


def test_who_is_signed_out_keeps_what_is_unsent(page, site, who):
    ready_to_save(page)
    page.token = invited(site, who)
    page.tab.locator("#save").click()
    page.tab.locator("#outbox", has_text="Open your invite link again").wait_for()
    assert acts(site, who) == ()
    page.tab.on("dialog", lambda dialog: dialog.accept())
    page.sign_in()
    wait_for(lambda: page.tab.wait_for_timeout(50) or acts(site, who))
    assert len(acts(site, who)) == 1


def test_what_the_server_refuses_is_said_and_nothing_is_lost(page, site, who):
    ready_to_save(page)
    refusals = [{"problem": "This cannot be stored yet.", "action": "", "faults": [HOSTILE]}]

    def refuse_once(route):
        return route.fulfill(status=400, json=refusals.pop()) if refusals else route.continue_()

    page.context.route("**/vote", refuse_once)
    page.tab.locator("#save").click()
    page.tab.locator("#trouble", has_text="Your verdict was not stored.").wait_for()
    assert HOSTILE in page.tab.locator("#trouble").inner_text()
    assert page.tab.locator("#save").is_enabled()
    assert page.tab.locator("#outbox").is_hidden()
    page.save()
    assert len(acts(site, who)) == 1


# The player


def test_a_cue_loops_its_window_with_padding(page):
    page.open_next()
    page.answer_anything()
    cue = page.tab.locator(".cue").first
    cue.click()
    assert cue.get_attribute("aria-pressed") == "true"
    times = []
    end = time.monotonic() + 5
    while time.monotonic() < end:
        times.append(page.tab.evaluate(f"{VIDEO}.currentTime"))
        page.tab.wait_for_timeout(40)
    assert min(times) == pytest.approx(START - 0.5, abs=0.15)
    assert max(times) == pytest.approx(END + 0.5, abs=0.35)
    assert sum(later < earlier for earlier, later in pairwise(times)) >= 1
    page.tab.keyboard.press("Escape")
    assert cue.get_attribute("aria-pressed") == "false"
    page.until(f"{VIDEO}.currentTime > {END + 1}")


def test_shortcuts_move_the_clip(page):
    page.open_next()
    press = page.tab.keyboard.press

    def time_after(*keys: str) -> float:
        for key in keys:
            press(key)
        page.until(f"!{VIDEO}.seeking")
        return page.tab.evaluate(f"{VIDEO}.currentTime")

    page.until(f"{VIDEO}.readyState >= 2")
    assert time_after("Shift+ArrowRight", "Shift+ArrowRight") == pytest.approx(2)
    assert time_after("Shift+ArrowLeft") == pytest.approx(1)
    assert time_after("ArrowRight") == pytest.approx(FOOTAGE_SECONDS, abs=0.1)
    assert time_after("ArrowLeft") == 0
    assert time_after("l") == pytest.approx(FOOTAGE_SECONDS, abs=0.1)
    assert time_after("j") == 0
    press("k")
    page.until(f"{VIDEO}.currentTime > 0.5")
    press("k")
    at = time_after("Shift+ArrowRight")
    assert time_after(".") - at == pytest.approx(1 / 25, abs=0.005)
    assert time_after(",", ",") - at == pytest.approx(-1 / 25, abs=0.005)
    press("c")
    assert page.tab.evaluate(f"{VIDEO}.textTracks[0].mode") == "showing"
    cues = page.tab.evaluate(
        f"[...{VIDEO}.textTracks[0].cues].map((cue) => cue.getCueAsHTML().textContent)"
    )
    assert cues[0] == HOSTILE
    press("c")
    assert page.tab.evaluate(f"{VIDEO}.textTracks[0].mode") == "hidden"


def test_shortcuts_can_be_switched_off(page):
    page.open_next()
    page.tab.keyboard.press("?")
    page.tab.locator("#keys-on").uncheck()
    page.tab.keyboard.press("Escape")
    page.tab.keyboard.press("1")
    page.tab.keyboard.press("?")
    assert page.tab.locator(".choice :checked").count() == 0
    assert not page.is_true("document.getElementById('sheet').open")


def test_a_line_of_the_transcript_seeks(page):
    page.open_next()
    page.tab.locator(".line").first.click()
    page.until(f"{VIDEO}.currentTime === 0.5")
    page.tab.locator(".line[aria-current]").wait_for()


# How it looks to whom


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_pages_fit_their_width(browser, server, site, who, size):
    page = ReviewerPage(browser, server.address, invited(site, who), size)
    width = "document.documentElement.scrollWidth"
    assert page.tab.evaluate(width) == size[0]
    page.open_next()
    page.tab.locator("#skip summary").click()
    assert page.tab.evaluate(width) == size[0]
    page.answer_anything()
    page.reject("question_validity")
    assert page.tab.evaluate(width) == size[0]
    page.tab.locator("#save").scroll_into_view_if_needed()
    player = page.tab.locator("#player").bounding_box()
    assert 0 <= player["y"] <= 16, "the player stays in view"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_axe_finds_nothing_serious(browser, server, site, who, scheme, size):
    from axe_playwright_python.sync_playwright import Axe

    page = ReviewerPage(browser, server.address, invited(site, who), size, color_scheme=scheme)

    def check() -> None:
        found = Axe().run(page.tab).response["violations"]
        serious = [one for one in found if one["impact"] in {"serious", "critical"}]
        assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in serious] == []

    check()
    page.open_next()
    page.tab.locator("#skip summary").click()
    check()
    page.choose([1])
    page.tab.locator("#commit").click()
    page.tab.locator("#confirm-yes:enabled").wait_for()
    check()
    page.tab.locator("#confirm-yes").click()
    page.ready("#second")
    page.reject("question_validity")
    check()
    page.watch()
    page.approve()
    check()
    page.save()
    page.open_item(1)
    check()
    page.open_next()
    page.skip("distress")
    page.open_item(1)
    page.tab.goto(f"{page.address}/items/1-c1/1")
    check()
    page.tab.goto(f"{page.address}/items/nowhere/1")
    check()
    page.tab.goto(f"{page.address}/enter/token")
    check()
    page.close()


# What else can go wrong


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_page_without_its_script_says_so(browser, server, site, who, motion):
    opened = ReviewerPage(browser, server.address, invited(site, who), reduced_motion=motion)
    opened.tab.route("**/static/review.js", lambda route: route.abort())
    opened.tab.goto(f"{server.address}/items/1-c0/1")
    notice = opened.tab.get_by_text("This page has not loaded whole")
    assert not notice.is_visible()
    notice.wait_for(state="visible", timeout=20_000)
    opened.tab.unroute("**/static/review.js")
    opened.tab.get_by_text("Load it again").click()
    opened.ready("#question")
    time.sleep(9)
    assert not notice.is_visible()
    opened.close()


def test_a_low_window_hides_no_verdict(browser, server, site, who):
    opened = ReviewerPage(browser, server.address, invited(site, who), (480, 320))
    opened.open_next()
    opened.answer_anything()
    opened.watch()
    opened.approve("all fits")
    opened.save()
    assert acts(site, who)
    opened.close()
