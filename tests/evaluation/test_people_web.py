"""The pages of people studies, through the real application."""

import json
import re
from contextlib import suppress

import pytest

from evaluation.people.exporting import export_rows, standings
from evaluation.people.files import read_people
from evaluation.people.opening import invite
from evaluation.people.rows import LEVELS, Decision, Kind
from evaluation.people.store import PeopleStore
from evaluation.people.study import read_study
from evaluation.people.web.app import create_app
from psychemme.errors import RunError
from psychemme.vocabulary import Format
from tests.support.people import FILM, JUDGE, PEOPLE, Browser, study_at, task_of
from tests.support.report_runs import HOSTILE, NAMES, REASON, release_of


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return release_of(tmp_path_factory.mktemp("release"), 24)


class Served:
    """A study that is served, and a browser for each of its people."""

    def __init__(self, folder, kind, release, **settings):
        self.folder, self.release = folder, release
        self.tokens = study_at(folder, kind, release, **settings)
        self.app = create_app(folder)
        self.study = read_study(folder)
        self.browsers = {who: Browser(self.app, token) for who, token in self.tokens.items()}
        if kind is Kind.BASELINE:
            for one in self.browsers.values():
                one.declare()

    @property
    def ada(self):
        return self.browsers["ada"]

    def exported(self):
        target = self.folder.with_suffix(".jsonl")
        target.unlink(missing_ok=True)
        with suppress(RunError):
            export_rows(self.folder, target)
        if not target.exists():
            return []
        return [json.loads(line) for line in target.read_text().splitlines()]

    def number(self, person, form):
        tasks = enumerate((task_of(self.study, person, n) for n in range(1, 7)), 1)
        return next(n for n, task in tasks if task.question.format is form)


@pytest.fixture
def serve(tmp_path, release):
    made = []

    def start(kind, **settings):
        made.append(Served(tmp_path / f"study{len(made)}", kind, release, **settings))
        return made[-1]

    yield start
    for one in made:
        one.app.state.site.store.__exit__()


def full_answer(study, task):
    if study.kind is Kind.BASELINE:
        answers = {Format.SINGLE: "B", Format.MULTIPLE: ["A", "B"], Format.OPEN: "my own words"}
        return {"answer": answers[task.question.format]}
    if study.kind is Kind.ERRORS:
        return {"category": "temporal"}
    if study.kind is Kind.LABEL:
        return {d: str(LEVELS[d][1]) for d in task.decisions}
    first, *rest = task.decisions
    return dict.fromkeys(rest, "yes") | {first: "no", f"{first}_reason": "No cue says so."}


@pytest.mark.parametrize("kind", list(Kind))
def test_everything_is_answered_finished_exported_and_read(serve, kind):
    served = serve(kind)
    for who, browser in served.browsers.items():
        for number in range(1, 7):
            task = task_of(served.study, who, number)
            page = browser.get(f"/tasks/{number}")
            assert page.status_code == 200
            saved = browser.save(number, full_answer(served.study, task)).json()
            assert saved["complete"], saved
        assert "I have finished" in browser.get("/").text
        assert browser.post("/finish", data={"csrf": browser.csrf}).status_code == 303
        assert "You have finished" in browser.get("/").text
        assert browser.save(1, {}, 1).status_code == 409
    rows = served.exported()
    people = read_people([served.folder.with_suffix(".jsonl")], served.release)
    found = (*people.baseline, *people.labels, *people.endorsements, *people.errors)
    assert len(found) == len(rows)
    assert all(row["kind"] == kind and row["schema_version"] == 1 for row in rows)
    each = sum(len(t.decisions) for t in served.study.tasks) if kind is Kind.ENDORSE else 6
    assert len(rows) == len(PEOPLE) * each
    assert all(one.has_finished and one.done == 6 for one in standings(served.folder).values())


def test_a_baseline_keeps_the_releases_ids_whatever_order_a_person_saw(serve):
    served = serve(Kind.BASELINE)
    orders = set()
    for who, browser in served.browsers.items():
        number = served.number(who, Format.SINGLE)
        task = task_of(served.study, who, number)
        shown = [option.text for option in served.study.options(who, task)]
        page = browser.get(f"/tasks/{number}").text
        assert [page.index(text) for text in shown] == sorted(page.index(text) for text in shown)
        browser.save(number, {"answer": "C"})
        (row,) = [r for r in served.exported() if r["annotator"] == who]
        texts = {option.id: option.text for option in task.question.options}
        assert texts[row["answer"]] == shown[2]
        orders.add(tuple(shown))
        assert 'value="C" checked' in browser.get(f"/tasks/{number}").text
    assert served.study.orders["ada"] != served.study.orders["ben"]


def test_options_differ_in_order_between_people(serve):
    served = serve(Kind.BASELINE)
    choices = [task for task in served.study.tasks if task.question.options]
    ada, ben = ([served.study.options(who, t) for t in choices] for who in PEOPLE)
    assert ada != ben


def test_cannot_answer_counts_as_answered_and_is_told_apart(serve):
    served = serve(Kind.BASELINE)
    number = served.number("ada", Format.SINGLE)
    assert not served.ada.save(number, {"cannot_answer": []}).json()["complete"]
    assert served.ada.save(number, {"cannot_answer": ["yes"]}, 1).json()["complete"]
    (row,) = served.exported()
    assert row["answer"] is None
    assert row["cannot_answer"] is True
    assert row["is_reviewer"] is False
    assert row["seconds"] == 1.5
    refused = served.ada.post("/finish", data={"csrf": served.ada.csrf})
    assert refused.status_code == 409
    assert "5 are not answered yet" in refused.text


def test_annotators_declare_first_and_reviewers_are_kept_out(tmp_path, release):
    tokens = study_at(tmp_path / "s", Kind.BASELINE, release)
    app = create_app(tmp_path / "s")
    ada = Browser(app, tokens["ada"])
    assert "I did not review" in ada.get("/").text
    for path in ("/tasks/1", "/media/1.mp4"):
        assert ada.get(path).status_code == 403
    assert ada.save(1, {"cannot_answer": ["yes"]}).status_code == 403
    ada.declare("yes")
    ada.declare("no")
    assert "cannot answer them" in ada.get("/").text
    assert ada.get("/tasks/1").status_code == 403
    assert standings(tmp_path / "s")["ada"].is_reviewer is True
    assert standings(tmp_path / "s")["ben"].is_reviewer is None


def test_a_baseline_page_knows_no_reference_and_no_transcript_beside_captions(serve):
    served = serve(Kind.BASELINE)
    pinned = (served.folder / "study.json").read_text()
    assert "PRIVATE" not in pinned
    pages = "".join(served.ada.get(f"/tasks/{n}").text for n in range(1, 7))
    assert "PRIVATE" not in pages
    outside = re.sub(r"<template.*?</template>", "", pages, flags=re.DOTALL)
    assert "Could you hold" not in outside


@pytest.mark.parametrize("kind", [Kind.LABEL, Kind.ENDORSE, Kind.ERRORS])
def test_pages_hide_who_answered_and_who_judged(serve, kind):
    served = serve(kind)
    pages = "".join(served.ada.get(f"/tasks/{n}").text for n in range(1, 7))
    assert JUDGE not in pages
    assert "PRIVATE-CUE" in pages
    for name in NAMES:
        assert name.split("&")[0] not in pages
    assert (REASON in pages) is (kind is Kind.ENDORSE)
    assert "planted" not in pages


def test_blind_experts_are_blind_even_to_the_studys_file(serve):
    served = serve(Kind.LABEL)
    assert REASON not in (served.folder / "study.json").read_text()
    assert all(task.judgement is None for task in served.study.tasks)


def test_a_planted_page_differs_from_an_honest_one_in_the_label_alone(serve):
    served = serve(Kind.ENDORSE)
    place = next(n for n, task in enumerate(served.study.tasks) if task.planted)
    number = served.study.orders["ada"].index(place) + 1
    (decision, level), *_ = served.study.tasks[place].planted.items()
    own = getattr(served.study.tasks[place].judgement, decision)
    planted = served.ada.get(f"/tasks/{number}").text
    tasks = [t.model_copy(update={"planted": {}}) for t in served.study.tasks]
    honest = served.study.model_copy(update={"tasks": tuple(tasks)})
    object.__setattr__(served.app.state.site, "study", honest)
    plain = served.ada.get(f"/tasks/{number}").text
    differing = [
        (one, two)
        for one, two in zip(planted.splitlines(), plain.splitlines(), strict=True)
        if one != two
    ]
    assert len(differing) == 1
    assert str(level).replace("_", " ") in differing[0][0]
    assert str(own).replace("_", " ") in differing[0][1]


def test_who_does_not_endorse_says_why(serve):
    served = serve(Kind.ENDORSE)
    task = task_of(served.study, "ada", 1)
    fields = dict.fromkeys(task.decisions, "yes") | {Decision.EVIDENCE_SUPPORT: "no"}
    assert not served.ada.save(1, fields).json()["complete"]
    reason = {"evidence_support_reason": " because "}
    assert served.ada.save(1, fields | reason, 1).json()["complete"]
    row = next(r for r in served.exported() if r["decision"] == "evidence_support")
    assert row["reason"] == "because"
    assert not row["endorses"]


def test_one_person_neither_sees_nor_changes_what_another_said(serve):
    served = serve(Kind.BASELINE)
    number = served.number("ada", Format.OPEN)
    secret = "what ada alone said"
    served.ada.save(number, {"answer": secret})
    ben = served.browsers["ben"]
    pages = [ben.get("/"), *(ben.get(f"/tasks/{n}") for n in range(1, 8))]
    assert secret not in "".join(page.text for page in pages)
    for n in range(1, 7):
        ben.save(n, {"cannot_answer": ["yes"]})
    rows = [row for row in served.exported() if row["annotator"] == "ada"]
    assert [row["answer"] for row in rows] == [secret]
    forged = ben.post(
        f"/api/tasks/{number}",
        json={"fields": {"answer": "x"}, "seconds": 1, "revision": 0},
        headers={"x-csrf-token": served.ada.csrf},
    )
    assert forged.status_code == 403


def test_a_click_that_comes_twice_is_stored_once(serve):
    served = serve(Kind.BASELINE)
    first = served.ada.save(1, {"cannot_answer": ["yes"]}).json()
    again = served.ada.save(1, {"cannot_answer": ["yes"]}).json()
    assert first == again
    with PeopleStore(served.folder) as store:
        assert store.answers("ada")[served.study.orders["ada"][0]].revision == 1


def test_an_answer_from_an_old_window_is_refused_not_stored(serve):
    served = serve(Kind.ERRORS)
    assert served.ada.save(1, {"category": "norm"}).status_code == 200
    stale = served.ada.save(1, {"category": "other"})
    assert stale.status_code == 409
    assert "another window" in stale.json()["problem"]
    (row,) = served.exported()
    assert row["category"] == "norm"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Kind.BASELINE, {"answer": "Z"}),
        (Kind.BASELINE, {"answer": ["A", "nonsense"]}),
        (Kind.BASELINE, {"credit": "1"}),
        (Kind.LABEL, {"evidence_support": "great"}),
        (Kind.LABEL, {"logical_integrity": ["weak"]}),
        (Kind.ENDORSE, {"evidence_support": "perhaps"}),
        (Kind.ERRORS, {"category": "no such"}),
    ],
)
def test_what_is_no_answer_is_refused(serve, kind, fields):
    served = serve(kind)
    number = served.number("ada", Format.SINGLE) if kind is Kind.BASELINE else 1
    assert served.ada.save(number, fields).status_code == 400
    assert served.exported() == []


@pytest.mark.parametrize(
    "more",
    [
        {"fields": {"answer": "x" * 5000}},
        {"fields": {"answer": "half \ud800"}},
        {"fields": {"answer": "nul \0"}},
        {"seconds": -1},
        {"seconds": "1"},
        {"revision": 1.5},
        {"other": 1},
    ],
)
def test_bodies_that_are_not_well_formed_are_refused(serve, more):
    served = serve(Kind.BASELINE)
    body = {"fields": {"answer": "x"}, "seconds": 1.0, "revision": 0} | more
    answered = served.ada.post(
        "/api/tasks/1",
        content=json.dumps(body),
        headers={"x-csrf-token": served.ada.csrf, "content-type": "application/json"},
    )
    assert answered.status_code == 422
    assert served.exported() == []


def test_nothing_is_served_without_a_link(serve):
    served = serve(Kind.BASELINE)
    served.ada.cookies.clear()
    for path in ("/", "/tasks/1", "/media/1.mp4"):
        assert served.ada.get(path).status_code == 401
    assert served.ada.save(1, {}).status_code == 401
    assert served.ada.post("/enter", data={"token": "wrong"}).status_code == 401


def test_studies_on_one_host_keep_apart(serve):
    one, two = serve(Kind.BASELINE), serve(Kind.BASELINE)
    entered = Browser(two.app, two.tokens["ada"])
    cookies = {name for browser in (one.ada, entered) for name in browser.cookies}
    assert len(cookies) == 2
    for name, value in one.ada.cookies.items():
        entered.cookies.set(name, value)
    assert entered.get("/").status_code == 200
    pages = [served.ada.get("/tasks/1").text for served in (one, two)]
    stores = {re.search(r"people-[0-9a-f]{16}", page)[0] for page in pages}
    assert stores == cookies


def test_a_new_link_ends_the_one_before(serve):
    served = serve(Kind.BASELINE)
    token = invite(served.folder, "ada")
    assert served.ada.get("/").status_code == 401
    assert Browser(served.app, token).get("/").status_code == 200
    assert served.browsers["ben"].get("/").status_code == 200


def test_links_are_kept_as_hashes(serve):
    served = serve(Kind.LABEL)
    kept = b"".join(path.read_bytes() for path in served.folder.rglob("*") if path.is_file())
    assert all(token.encode() not in kept for token in served.tokens.values())


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "null"},
    ],
)
def test_other_sites_change_nothing(serve, headers):
    served = serve(Kind.BASELINE)
    for path in ("/enter", "/declare", "/finish", "/leave", "/api/tasks/1"):
        data = {"csrf": served.ada.csrf, "is_reviewer": "yes", "token": served.tokens["ben"]}
        assert served.ada.post(path, data=data, headers=headers).status_code == 403


def test_every_change_needs_the_pages_own_token(serve):
    served = serve(Kind.BASELINE)
    for path in ("/declare", "/finish", "/leave", "/api/tasks/1"):
        for csrf in ("", served.browsers["ben"].csrf):
            data = {"csrf": csrf, "is_reviewer": "no"}
            assert served.ada.post(path, data=data).status_code == 403, path


def test_every_response_is_marked(serve):
    served = serve(Kind.LABEL)
    for path in ("/", "/tasks/1", "/static/task.js", "/nowhere"):
        headers = served.ada.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert served.ada.get("/", headers={"host": "evil.example"}).status_code == 400
    cookie = Browser(served.app, served.tokens["ada"]).post(
        "/enter", data={"token": served.tokens["ada"]}
    )
    assert "HttpOnly" in cookie.headers["set-cookie"]
    assert "samesite=lax" in cookie.headers["set-cookie"].lower()


def test_behind_tls_cookies_travel_over_nothing_else(tmp_path, release):
    tokens = study_at(tmp_path / "s", Kind.LABEL, release)
    app = create_app(tmp_path / "s", is_secure=True, hosts=("people.example.org",))
    ada = Browser(app, tokens["ada"], "https://people.example.org")
    entered = ada.post("/enter", data={"token": tokens["ada"]})
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("__Host-people-")
    assert "Secure" in cookie
    assert ada.get("/").status_code == 200


def test_footage_comes_in_ranges_and_only_of_own_tasks(serve):
    served = serve(Kind.BASELINE)
    part = served.ada.get("/media/1.mp4", headers={"range": "bytes=10-19"})
    assert part.status_code == 206
    assert part.content == FILM[10:20]
    assert part.headers["cache-control"] == "no-store"
    for path in ("/media/7.mp4", "/media/0.mp4", "/media/..%2fstudy.json", "/media/1.mp4/x"):
        assert served.ada.get(path).status_code == 404


def test_a_study_without_footage_says_so_nowhere(serve):
    served = serve(Kind.LABEL, film=None)
    assert "<video" not in served.ada.get("/tasks/1").text
    assert served.ada.get("/media/1.mp4").status_code == 404


@pytest.mark.parametrize("kind", list(Kind))
def test_hostile_words_stay_words(serve, kind):
    served = serve(kind, is_hostile=True)
    number = served.number("ada", Format.OPEN) if kind is Kind.BASELINE else 1
    given = full_answer(served.study, task_of(served.study, "ada", number))
    texts = {name: HOSTILE for name in given if name.endswith("reason") or kind is Kind.BASELINE}
    served.ada.save(number, given | texts)
    for path in ("/", f"/tasks/{number}"):
        page = served.ada.get(path).text
        assert "<img" not in page
        assert "</script><script>" not in page
        # Annotators see no question before its clip.
        assert ("{{7*7}}" in page) is (path != "/" or kind is not Kind.BASELINE)
