"""The curator's pages over HTTP: who may see them, what they show, and what they change."""

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from construction.review.desk import item_status, item_statuses
from construction.review.importing import import_votes
from construction.review.votes import VoteRow
from construction.review.web.curator import make_curator_router
from construction.review.web.curator_diff import changes, word_diff
from construction.review.web.curator_edit import edited, typed_from, typed_of
from construction.review.web.curator_outcomes import read_outcomes
from construction.review.web.curator_timeline import make_timeline
from construction.review.web.curator_views import (
    Frame,
    ItemView,
    Standing,
    Wanted,
    item_page,
    queue_page,
    reason_texts,
)
from psychemme.items import Cue
from psychemme.vocabulary import Approval, CandidateState, Closing, Format, SetKind, Verdict
from psychology_kb.load import load_profile, load_review
from state.engines import open_owner
from state.leakage import LeakageStore, TrialCall
from state.review_desk import ReviewDesk
from state.review_values import Changes, GateRecord, ReviewedVersion, SetRecord
from state.runs import RunStore
from tests.construction import report_cases
from tests.support.review_web import ADDRESS, browser, curator, database, make_site
from tests.support.reviews import item_version
from tests.support.states import EPISODE

FORMS = (Format.SINGLE, Format.OPEN, Format.MULTIPLE)
NAMES = ("ada", "ben", "cleo")
ITEM, OPEN = "1-c0/1", "1-c1/1"
PAGE = f"/curator/items/{ITEM}"
HOSTILE = report_cases.HOSTILE
REJECTED = {str(Verdict.ANSWER_CORRECTNESS): str(Approval.REJECT)}
KB, REASONS = load_profile("psychemme8"), reason_texts(load_review("psychemme8"))
ROUTES = [
    (method, route.path.format(key="1-c0", version=1, clip_id="0" * 16, sha256="0" * 64))
    for route in make_curator_router().routes
    for method in route.methods
]


@pytest.fixture
def app(tmp_path):
    return make_site(tmp_path / "w", FORMS, NAMES)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A site with one judged item, on which ben disagrees; tests leave it as it is."""
    app = make_site(tmp_path_factory.mktemp("judged") / "w", FORMS, NAMES)
    judge(app, rejects=("ben",))
    return app


@pytest.fixture(scope="module")
def reader(judged):
    """The curator, looking at the judged site."""
    return curator(judged)


@pytest.fixture(scope="module")
def ada(judged):
    return browser(judged, "ada")


@pytest.fixture(scope="module")
def stored(judged):
    with ReviewDesk(database(judged)) as opened:
        yield opened


@pytest.fixture
def desk(app):
    with ReviewDesk(database(app)) as opened:
        yield opened


@pytest.fixture
def boss(app):
    return curator(app)


def judge(app, item=ITEM, rejects=(), comment="fits", names=NAMES):
    """Let reviewers answer and judge an item; those in `rejects` turn its answer down."""
    for name in names:
        who = browser(app, name)
        assert who.answer(item, "A").status_code == 200
        said = {"comment": f"{comment} says {name}"}
        if name in rejects:
            verdicts = dict.fromkeys(map(str, Verdict), str(Approval.APPROVE)) | REJECTED
            said |= {"verdicts": verdicts, "reasons": {"answer_correctness": ["wrong_answer"]}}
        assert who.vote(item, **said).status_code == 200


def send(boss, path, **fields):
    return boss.post(path, data={"csrf": boss.csrf, **fields})


class Form(HTMLParser):
    """Reads a form's fields as a browser would send them."""

    def __init__(self):
        super().__init__()
        self.fields, self.area, self.select = {}, None, None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "input" and given.get("type") in ("radio", "checkbox"):
            if "checked" in given:
                self.fields.setdefault(given["name"], []).append(given["value"])
        elif tag == "input":
            self.fields[given["name"]] = given.get("value") or ""
        elif tag == "textarea":
            self.area = given["name"]
            self.fields[self.area] = ""
        elif tag == "select":
            self.select = given["name"]
        elif tag == "option" and "selected" in given:
            self.area = self.select
            self.fields[self.area] = ""

    def handle_endtag(self, tag):
        if tag in ("textarea", "option"):
            self.area = None

    def handle_data(self, data):
        if self.area:
            self.fields[self.area] += data


def form_of(boss, page=PAGE):
    """Return the fields of the form that edits an item."""
    form = Form()
    form.feed(boss.get(f"{page}/edit").text)
    return form.fields


def test_every_route_is_listed():
    assert len(ROUTES) == 16


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_serves_anyone_but_the_curator(judged, ada, method, path):
    stranger = TestClient(judged, base_url=ADDRESS, follow_redirects=False)
    assert stranger.request(method, path).status_code == 401
    refused = ada.request(method, path, headers={"x-csrf-token": ada.csrf})
    assert refused.status_code == 403
    assert "1-c0" not in refused.text


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "POST"])
def test_no_change_is_made_without_the_sessions_own_token(reader, stored, path):
    before = stored.board()
    fields = {"reviewer": "ada", "set": "main", "author": "x", "note": "x", "name": "x"}
    for csrf in ({}, {"csrf": "0" * 64}):
        assert reader.post(path, data=fields | csrf).status_code == 403
    assert stored.board() == before


def test_the_overview_counts_items_and_reviewers(reader):
    text = reader.get("/curator").text
    assert "3 verdicts an item" in text
    assert "Close 1 complete" in text
    assert "1 item with differing verdicts" in text
    assert text.count("too fast 1") == 3  # judged in 14 s, the episode lasts 20 s
    assert "What the flags mean" in text


def test_a_new_link_is_shown_once_and_works(app, boss, desk):
    shown = send(boss, "/curator/invite", reviewer="zoe", name="Zoe", background="PhD")
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    link = shown.text.split(f'value="{ADDRESS}/enter/')[1].split('"')[0]
    assert link not in boss.get("/curator").text
    assert "Zoe" in boss.get("/curator").text
    fresh = TestClient(app, base_url=ADDRESS, follow_redirects=False)
    assert fresh.post("/enter", data={"token": link}).status_code == 303
    renewed = send(boss, "/curator/renew", reviewer="zoe")
    assert renewed.status_code == 200
    assert fresh.get("/").status_code == 401
    assert send(boss, "/curator/revoke", reviewer="zoe").status_code == 303
    token = renewed.text.split(f'value="{ADDRESS}/enter/')[1].split('"')[0]
    assert fresh.post("/enter", data={"token": token}).status_code == 400
    assert send(boss, "/curator/invite", reviewer="zoe", name="Zoe").status_code == 400
    assert send(boss, "/curator/invite", reviewer="../x", name="Zoe").status_code == 400
    assert send(boss, "/curator/revoke", reviewer="nobody").status_code == 400


def test_closing_ends_complete_items_only(app, boss, desk):
    judge(app)
    judge(app, "1-c1/1", names=NAMES[:2])
    assert send(boss, "/curator/close", set="main").status_code == 303
    assert desk.version(("1-c0", 1)).closing is Closing.APPROVED
    assert desk.version(("1-c1", 1)).closing is None
    assert send(boss, "/curator/close", set="other").status_code == 400


def test_only_a_calibration_set_is_discussed(app, boss, desk):
    assert send(boss, "/curator/discuss", set="main").status_code == 400
    first = SetRecord(name="first", kind=SetKind.CALIBRATION, reviewers_per_item=2, opened_at=1)
    desk.change(lambda board: Changes(sets=(first,)))
    assert send(boss, "/curator/discuss", set="first").status_code == 303
    (first,) = (record for record in desk.sets() if record.name == "first")
    assert first.discussed_at is not None


def test_a_skip_is_given_to_somebody_else(app, boss, desk):
    ada = browser(app, "ada")
    skip = {"skip_reason": "distress", "comment": "", "seconds": 1, "request_id": "skip-0001"}
    assert ada.say(f"/api/items/{ITEM}/skip", skip).status_code == 200
    assert "Assign 1 missing reviewer<" in boss.get("/curator").text
    send(boss, "/curator/invite", reviewer="zoe", name="Zoe")
    assert send(boss, "/curator/assign").status_code == 303
    assert "zoe" in {a.reviewer_id for a in desk.version(("1-c0", 1)).assigned}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 3),
        ("set=main&stage=open", 2),
        ("stage=complete", 1),
        ("stage=replaced", 0),
        ("format=open", 1),
        ("capability=G", 3),
        ("capability=R", 0),
        ("set=nothing", 0),
        ("page=2", 3),
    ],
)
def test_the_queue_is_filtered(reader, query, count):
    text = reader.get(f"/curator/queue?{query}").text
    assert f">{count} item" in text
    assert text.count('<th scope="row">') == (0 if "page" in query else count)


def test_a_long_queue_has_pages():
    main = SetRecord(name="main", kind=SetKind.REVIEW, reviewers_per_item=5, opened_at=0)
    many = [
        ReviewedVersion(item=item_version(f"1-c{n}"), set_name="main", opened_at=0)
        for n in range(250)
    ]
    standing = Standing({"main": main}, item_statuses(many, {"main": main}))
    last = queue_page(standing, Wanted(of_set="main", page=3), Frame(""))
    assert last.count('<th scope="row">') == 50
    assert "Page 3 of 3" in last
    assert 'href="/curator/queue?set=main&amp;page=2"' in last


def test_disagreements_show_reasons_and_comments_and_notes_change_no_vote(app, boss, desk):
    judge(app, rejects=("ben",))
    judge(app, OPEN)
    text = boss.get("/curator/disagreements").text
    assert "they never override a vote" in text
    assert "Another answer is better supported." in text
    assert "fits says ben" in text
    assert "1-c1" not in text
    before = desk.version(("1-c0", 1))
    for note in ("first", "second"):
        sent = send(boss, f"{PAGE}/note", author="Cu Rator", note=note, back="1")
        assert sent.headers["location"] == "/curator/disagreements?done=noted"
    after = desk.version(("1-c0", 1))
    assert [note.note for note in after.notes] == ["first", "second"]
    assert (after.votes, after.answers, after.closing) == (before.votes, before.answers, None)
    for author, note in (("", "x"), ("x", ""), ("x", "n" * 4001)):
        assert send(boss, f"{PAGE}/note", author=author, note=note).status_code == 400
    assert send(boss, "/curator/items/1-cx/1/note", author="x", note="x").status_code in (400, 404)


def test_the_dossier_shows_votes_and_says_what_is_missing(reader, stored):
    text = reader.get(PAGE).text
    own = [answer.answer for answer in stored.version(("1-c0", 1)).answers.values()]
    assert text.count("as the reference") == own.count("A")
    assert text.count('<span class="no">differs') == len(NAMES) - own.count("A")
    assert "Another answer is better supported." in text
    assert "No gate has been run on this version." in text
    assert "No leakage trial is stored." in text
    assert "has not been edited" in text
    for place in ("1-cx/1", "1-c0/9", "1-c0/x"):
        assert reader.get(f"/curator/items/{place}").status_code == 404


def test_gates_say_what_they_found(app, boss, desk):
    desk.record_gate(("1-c0", 1), GateRecord(gate="leakage", outcome="warn", detail=HOSTILE))
    text = boss.get(PAGE).text
    assert '<span class="chip warn">warn</span> <b>leakage</b>' in text
    assert HOSTILE in unescape(text)
    assert "<script>window" not in text
    with RunStore(database(app)) as runs:
        runs.settle("1-c0", CandidateState.GATED, reason="solved_without_the_clip")
    assert "solved without the clip" in boss.get(PAGE).text


def test_trials_of_the_leakage_filter_are_listed_by_version(app, boss):
    place = {"candidate_key": "1-c0", "probe": "question", "protocol": "p", "trial": 0}
    call = dict.fromkeys(
        ("text", "finish_reason", "asked", "request_key", "prompt_id", "prompt_hash"), "x"
    )
    with LeakageStore(database(app)) as trials:
        for version, model in ((1, "<b>text-only"), (2, "of another version")):
            one = place | call | {"version": version, "model": model, "asked": model}
            facts = {"attempt": 0, "answer": "A", "credit": 1.0, "parameters_json": "{}"}
            trials.record(TrialCall.model_validate(one | facts))
    text = boss.get(PAGE).text
    assert "No leakage trial is stored." not in text
    assert "&lt;b&gt;text-only" in text
    assert "of another version" not in text


def test_outcomes_of_models_appear_when_they_are_laid_in(app, boss):
    folder = app.state.site.workspace.root / "outcomes"
    folder.mkdir()
    row = {"item_id": "c0", "model": HOSTILE, "condition": "full", "outcome": "ok", "answer": ["A"]}
    others = [
        row | {"item_id": "1-c0", "model": "text-only", "condition": "leakage"},
        row | {"item_id": "c1", "model": "elsewhere"},
        row | {"answer_credit": 2, "model": "broken"},
    ]
    lines = [json.dumps(one) for one in (row, *others)] + ["no json", ""]
    (folder / "run.jsonl").write_text("\n".join(lines))
    found = read_outcomes(folder.parent, {"c0", "1-c0"})
    assert [one.model for one in found.answers] == [HOSTILE]
    assert [one.model for one in found.trials] == ["text-only"]
    assert [fault.split(":")[0] for fault in found.faults] == [
        "run.jsonl, line 4",
        "run.jsonl, line 5",
    ]
    text = boss.get(PAGE).text
    assert HOSTILE in unescape(text)
    assert "<script>window" not in text
    assert "elsewhere" not in text
    assert "2 lines could not be read" in text


def test_an_edit_makes_a_version_and_voids_the_votes(app, boss, desk):
    judge(app, names=NAMES[:2])
    send(boss, "/curator/invite", reviewer="zoe", name="Zoe")
    fields = form_of(boss)
    fields |= {"question": "What is asked for first?", "editor": "Cu Rator", "reason": "清楚一些"}
    saved = boss.post(f"{PAGE}/edit", data=fields)
    assert (saved.status_code, saved.headers["location"]) == (
        303,
        "/curator/items/1-c0/2?done=edited",
    )
    old, new = desk.version(("1-c0", 1)), desk.version(("1-c0", 2))
    assert old.closing is Closing.REPLACED
    assert new.item.question == "What is asked for first?"
    assert new.item.revealed == old.item.revealed
    assert (new.edit.editor, new.edit.reason) == ("Cu Rator", "清楚一些")
    assert new.votes == {}
    assert {a.reviewer_id: a.is_unblinded for a in new.assigned}.items() >= {
        ("zoe", False),
        ("cleo", False),
    }
    text = boss.get("/curator/items/1-c0/2").text
    assert "<del>" in text
    assert "清楚一些" in text
    assert ">unblinded<" in text
    refused = boss.get(f"{PAGE}/edit")
    assert refused.status_code == 409
    assert "A newer version replaces this one." in refused.text
    assert boss.post(f"{PAGE}/edit", data=fields).status_code == 409


def test_an_item_of_a_discussed_set_is_not_edited_and_the_pages_say_why(tmp_path):
    app = make_site(tmp_path / "w", FORMS, NAMES, kind=SetKind.CALIBRATION)
    boss = curator(app)
    fields = form_of(boss)
    assert send(boss, "/curator/discuss", set="main").status_code == 303
    why = "discussed: votes on a new version would not count."
    refused = boss.post(f"{PAGE}/edit", data=fields | {"editor": "Cu", "reason": "clearer"})
    assert (refused.status_code, why in refused.text) == (409, True)
    text = boss.get(PAGE).text
    assert why in text
    assert f"{PAGE}/edit" not in text


def test_a_dossier_says_what_was_cast_elsewhere_and_what_was_answered_unwatched(app, boss):
    ada, ben = browser(app, "ada"), browser(app, "ben")
    early = {"answer": "A", "seconds": 0, "watched": 0.12, "request_id": "answer-1"}
    assert ada.say(f"/api/items/{ITEM}/answer", early).status_code == 200
    other = {
        "verdicts": dict.fromkeys(map(str, Verdict), str(Approval.APPROVE)) | REJECTED,
        "reasons": {"answer_correctness": ["other"]},
    }
    assert ada.vote(ITEM, seconds=0, **other).status_code == 200
    assert ben.answer(ITEM).status_code == 200
    text = boss.get(PAGE).text
    assert text.count("after 12% of the clip") == 1
    assert "<li>Something else</li>" in text
    assert re.findall(r'data-label="Time">(.*?)</td>', text) == ["–"] * 3
    assert "too fast" not in text
    overview = boss.get("/curator").text
    assert "answered early 1" in overview
    assert "too fast 1" not in overview


def test_a_dossier_claims_nothing_of_imported_votes_and_names_conflicts(app, boss):
    rows = [
        VoteRow(
            candidate_id="1-c0",
            reviewer="ada",
            blind_answer="A",
            verdicts=dict.fromkeys(Verdict, Approval.APPROVE),
        ),
        VoteRow(candidate_id="1-c1", reviewer="ada", skipped="conflict_of_interest"),
    ]
    with ReviewDesk(database(app)) as desk:
        import_votes(desk, rows, load_review("psychemme8"))
    text = boss.get(PAGE).text
    assert re.findall(r'data-label="Watched">(\S)', text) == ["–"] * 3
    assert text.count(">imported</span>") == 1
    assert "of the clip</span>" not in text
    assert text.count("declined: conflict of interest</span>") == 1
    assert "does not count: conflict of interest" in text
    assert "0 of 3 verdicts" in text


def test_the_open_format_is_not_mistaken_for_a_stage(reader):
    assert '<span class="chip">open question</span>' in reader.get(f"/curator/items/{OPEN}").text
    assert "open question, <bdi>" in reader.get("/curator/queue").text


@pytest.mark.parametrize(
    ("item", "changed", "field", "said"),
    [
        (ITEM, {}, "question", "Nothing is changed."),
        (ITEM, {"question": " "}, "question", "Write the question."),
        (ITEM, {"reason": ""}, "reason", "Say why the item is changed."),
        (ITEM, {"right": []}, "options", "Mark exactly one option as right."),
        (ITEM, {"right": ["0", "1"]}, "options", "Mark exactly one option as right."),
        (ITEM, {"option-2": "FETCH  a drink"}, "option-2", "says the same as an earlier one"),
        (ITEM, {"option-2": "fetch a drink."}, "option-2", "says the same as an earlier one"),
        (ITEM, {"option-2": "Fetch a drink\ufe0f"}, "option-2", "says the same as an earlier one"),
        (ITEM, {"question": "\u200b\u3164"}, "question", "Write the question."),
        (ITEM, {"editor": "\u200b"}, "editor", "Say who edits."),
        (OPEN, {"answer": "\u2800"}, "answer", "Write a reference"),
        (ITEM, {"option-1": "\u3164", "option-2": ""}, "options", "at least two options"),
        (ITEM, {"option-1": "", "option-2": ""}, "options", "at least two options"),
        (ITEM, {"cue-0-text": ""}, "cues", "Give at least one cue."),
        (ITEM, {"cue-0-end": "21"}, "cue-0", "inside the episode (0 to 20 s)"),
        (ITEM, {"cue-0-start": "6.5", "cue-0-end": "7.5"}, "cue-0", "overlaps the transcript"),
        (ITEM, {"cue-0-start": "nan"}, "cue-0", "Give times in seconds"),
        (ITEM, {"cue-0-start": HOSTILE}, "cue-0", "Give times in seconds"),
        (ITEM, {"cue-0-modality": "smell"}, "cue-0", "Choose one of"),
        (ITEM, {"decision_time": "25"}, "decision_time", "inside the episode"),
        (ITEM, {"decision_time": "1e999"}, "decision_time", "Give times in seconds"),
        (OPEN, {"required": []}, "answer", "at least one required key point"),
        (OPEN, {"answer": ""}, "answer", "Write a reference"),
        ("1-c2/1", {"right": ["0"]}, "options", "at least two options as right"),
        ("1-c2/1", {"right": ["0", "1", "2"]}, "options", "fewer than all"),
    ],
)
def test_faults_are_shown_where_they_are_and_nothing_is_stored(
    reader, stored, item, changed, field, said
):
    page = f"/curator/items/{item}"
    fields = {"editor": "Cu", "reason": "why not"}
    fields = form_of(reader, page) | fields | changed
    refused = reader.post(f"{page}/edit", data=fields)
    assert refused.status_code == 400
    fault = refused.text.split(f'id="fault-{field}-1"')[1].split("</p>")[0]
    assert said in unescape(fault)
    assert "why not" in refused.text or "reason" in changed
    assert "<script>window" not in refused.text
    assert stored.version((item[:4], 1)).closing is None
    assert len(stored.versions()) == len(FORMS)


def test_an_empty_row_is_left_out_and_the_letters_follow(boss, desk):
    fields = form_of(boss) | {"editor": "Cu", "reason": "shorter", "option-0": "", "right": ["2"]}
    fields["option-3"] = "close the door"
    assert boss.post(f"{PAGE}/edit", data=fields).status_code == 303
    item = desk.version(("1-c0", 2)).item
    assert [(o.id, o.text) for o in item.options] == [
        ("A", "fetch a drink"),
        ("B", "open it"),
        ("C", "close the door"),
    ]
    assert item.revealed.answer == "B"


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_is_sent_back_unchanged_changes_nothing(form):
    item = item_version("1-c0", form)
    typed = typed_of(item)
    unsigned, faults = edited(typed, item, KB.card(item.revealed.capability), EPISODE)
    assert unsigned is None
    assert {fault.field for fault in faults} == {"editor", "reason"}


@pytest.mark.parametrize("time", [0.1, 12.3456789, 19.99999999999, 1234.567, 1e-7])
def test_a_time_that_nobody_touched_stays_as_it_was(time):
    item = item_version("1-c0").model_copy(update={"decision_time": time})
    cue = item.revealed.cues[0].model_copy(
        update={"start": time, "end": 2 * time, "modality": "visual"}
    )
    item = item.model_copy(update={"revealed": item.revealed.model_copy(update={"cues": (cue,)})})
    typed = replace(typed_of(item), question="What else?", editor="Cu", reason="clearer")
    episode = EPISODE.model_copy(update={"duration": 9000.0})
    after, faults = edited(typed, item, KB.card(item.revealed.capability), episode)
    assert (faults, after.revealed.cues, after.decision_time) == ([], (cue,), time)


def test_times_are_shown_short_and_ends_of_lines_are_one_sign():
    item = item_version("1-c0").model_copy(update={"decision_time": 12.0})
    assert typed_of(item).decision_time == "12"
    typed = typed_from({"question": ["a\rb\r\nc\n"], "option-0": ["a\rb"]})
    assert (typed.question, typed.options[0].text) == ("a\nb\nc", "a\nb")


def test_hostile_text_is_shown_as_text_on_every_page(app, boss, desk):
    send(boss, "/curator/invite", reviewer="eve", name=HOSTILE[:90], background=HOSTILE)
    judge(app, rejects=("ben",), comment=HOSTILE)
    send(boss, f"{PAGE}/note", author=HOSTILE[:90], note=HOSTILE)
    fields = form_of(boss) | {"question": HOSTILE, "editor": "Cu", "reason": HOSTILE}
    pages = [boss.get(path).text for path in ("/curator", "/curator/disagreements", PAGE)]
    assert boss.post(f"{PAGE}/edit", data=fields | {"option-0": HOSTILE}).status_code == 303
    new = "/curator/items/1-c0/2"
    pages += [boss.get(path).text for path in ("/curator/queue", new, f"{new}/edit")]
    for text in pages:
        assert HOSTILE[:60] in unescape(text)
        assert "<script>window" not in text
        assert "<img" not in text


def test_pages_hold_no_inline_script_or_style(reader):
    for path in ("/curator", "/curator/queue", "/curator/disagreements", PAGE, f"{PAGE}/edit"):
        text = reader.get(path).text
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick=" not in text
        assert text.count("<script") == 1
        assert '<script src="/static/curator.js" defer></script>' in text


def test_both_agent_paths_are_shown_round_by_round():
    found = report_cases.dossiers(hostile=HOSTILE)[0]
    main = SetRecord(name="main", kind=SetKind.REVIEW, reviewers_per_item=5, opened_at=0)
    version = ReviewedVersion(item=item_version("1-c0"), set_name="main", opened_at=0)
    view = ItemView(
        item_status(version, main),
        main,
        [version],
        found,
        read_outcomes(Path("/nowhere"), set()),
        True,
    )
    text = unescape(item_page(view, KB, REASONS, Frame("")))
    assert "Round 0" in text
    assert "Round 1" in text
    assert "revise_question" in text
    assert "options shown in the order C A D B" in text
    assert "To mend:" in text
    assert "The cue lies in speech." in text
    assert "Nobody speaks from 5.2 to 6.1 s." in text
    assert "Nobody is assigned yet." in text


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_word_diff_holds_both_texts(before, after):
    pieces = word_diff(before, after)
    assert "".join(p.text for p in pieces if p.kind != "new") == before
    assert "".join(p.text for p in pieces if p.kind != "gone") == after


def test_a_word_diff_marks_words_and_signs():
    shown = [(p.kind, p.text) for p in word_diff("the red cup", "the blue cup")]
    assert shown == [("same", "the "), ("gone", "red"), ("new", "blue"), ("same", " cup")]
    chinese = [(p.kind, p.text) for p in word_diff("他不想喝茶", "他不想喝咖啡")]
    assert chinese == [("same", "他不想喝"), ("gone", "茶"), ("new", "咖啡")]


def test_changes_name_the_parts_that_differ():
    before = item_version("1-c0")
    after = before.model_copy(update={"question": "Why?", "decision_time": 2.5})
    assert [change.part for change in changes(before, after)] == ["question", "decision time"]


def test_a_timeline_places_windows_in_percent_and_overlapping_cues_in_rows():
    cues = [
        Cue(start=0, end=10, modality="speech", description="one"),
        Cue(start=5, end=15, modality="speech", description="two"),
        Cue(start=10, end=30, modality="visual", description="too long"),
    ]
    drawn = make_timeline(EPISODE, cues, 5.0)
    lanes = [(lane.name, lane.kind, len(lane.bars)) for lane in drawn.lanes]
    assert lanes == [
        ("visual", "visual", 1),
        ("speech", "speech", 1),
        ("", "speech", 1),
        ("transcript", "transcript", 4),
    ]
    (visual,) = drawn.lanes[0].bars
    assert (visual.left, visual.width, visual.label) == (50.0, 50.0, "3")
    assert drawn.decision == 25.0
    assert [(pause.left, pause.width) for pause in drawn.pauses] == [(30.0, 10.0)]
    assert drawn.ticks[:2] == ((0, 0.0), (2, 10.0))


def test_an_edit_does_not_ask_what_another_item_of_the_episode_asks(app, boss, desk):
    other = desk.version((OPEN[:4], 1)).item.question
    fields = form_of(boss) | {
        "question": f"{other.upper()}\ufe0f?",
        "editor": "Cu",
        "reason": "why",
    }
    refused = boss.post(f"{PAGE}/edit", data=fields)
    assert refused.status_code == 400
    assert "1-c1 asks the same of this episode." in refused.text


def test_a_row_that_nobody_can_read_is_named(app, boss):
    row = (
        "INSERT INTO votes VALUES (?, 1, 'ada', 1, 'skip', NULL, NULL, NULL, '5', '', NULL, 0, 1, "
        "'x', 1)"
    )
    engine = open_owner(database(app))
    with engine.begin() as connection:
        connection.exec_driver_sql(row, (ITEM[:4],))
    engine.dispose()
    for path in ("/curator", PAGE):
        assert "vote 1 of ada: reasons: Input should be a valid" in boss.get(path).text
