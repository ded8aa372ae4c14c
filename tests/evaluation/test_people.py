"""What people are asked, drawn by seed, and the files of what they said."""

import asyncio
import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from evaluation.analyses.humans import analyse as analyse_humans
from evaluation.analyses.values import Study
from evaluation.error_categories import scheme
from evaluation.judging import judging
from evaluation.manifest import read_manifest
from evaluation.people.exporting import export_rows, standings
from evaluation.people.files import read_people, refuse_unproposed
from evaluation.people.importing import GIVEN, import_baseline
from evaluation.people.opening import (
    baseline_tasks,
    endorse_tasks,
    error_tasks,
    label_tasks,
    open_study,
)
from evaluation.people.rows import LEVELS, Decision, Draw, ErrorsRow, Kind
from evaluation.people.sampling import draw_items
from evaluation.people.store import Elsewhere, Finished, PeopleStore
from evaluation.people.study import FILE_NAME, PeopleStudy, read_study
from evaluation.report.analyses import make_study
from evaluation.report.items import item_details
from evaluation.report.runs import read_runs
from evaluation.score import refuse_unscored, score_folder
from evaluation.scoring import ScoringError
from psychemme.cli import compare  # noqa: F401
from psychemme.cli.app import app as verbs
from psychemme.cli.people import people as app
from psychemme.clients.cards import load_cards
from psychemme.config import load_settings
from psychemme.errors import ConfigError, MediaError, RunError
from psychemme.media.blobs import sha256_file
from psychemme.vocabulary import Capability, Format
from tests.support.judges import evaluated_run, have_judged, honest
from tests.support.model_server import ModelServer
from tests.support.people import ADDRESS, PEOPLE, error_labels, study_at, tasks_of
from tests.support.releases import make_release, question
from tests.support.report_runs import release_of, report_run, runs_of
from tests.support.review_pages import draw_footage

ROW = {"annotator": "ada", "item_id": "q0000", "answer": "A", "is_reviewer": False}
LABEL = {
    "kind": "label",
    "expert": "ada",
    "item_id": "q0000",
    "model": "m",
    "condition": "full",
    "judge": "j",
    "evidence_support": "weak",
    "logical_integrity": "acceptable",
    "answer_credit": None,
}
ENDORSE = {name: LABEL[name] for name in ("expert", "item_id", "model", "condition", "judge")} | {
    "kind": "endorse",
    "decision": "evidence_support",
    "shown": "strong",
    "planted": False,
    "endorses": False,
    "reason": "No cue says so.",
}
ERRORS = {
    "kind": "errors",
    "person": "ada",
    "item_id": "q0000",
    "model": "m",
    "condition": "full",
    "proposed": "temporal",
    "category": "attribution",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return release_of(tmp_path_factory.mktemp("release"))


def items_of(*sizes):
    capabilities = tuple(Capability)
    made = [c for c, size in zip(capabilities, sizes, strict=False) for _ in range(size)]
    return [question(n, c, Format.SINGLE) for n, c in enumerate(made)]


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# What is asked


def test_items_are_drawn_evenly_and_by_seed_alone():
    rows = items_of(10, 10)
    counts = Counter(
        name for seed in range(400) for name in draw_items(rows, 5, seed, is_stratified=False)
    )
    # Each of 20 is drawn 100 times on average, with a standard deviation of 8.7.
    assert len(counts) == 20
    assert all(65 < count < 135 for count in counts.values())
    assert draw_items(rows, 5, 7, is_stratified=False) == draw_items(
        rows[::-1], 5, 7, is_stratified=False
    )


def test_strata_get_their_share_by_largest_remainder():
    # 10 of 60, 30 and 10: 6, 3 and 1; with 5 of 97, 2 and 1 everybody has one at the least.
    for sizes, count, shares in (((60, 30, 10), 10, (6, 3, 1)), ((97, 2, 1), 5, (3, 1, 1))):
        rows = items_of(*sizes)
        by_id = {row.id: row.capability for row in rows}
        drawn = Counter(by_id[name] for name in draw_items(rows, count, 1, is_stratified=True))
        assert tuple(drawn[c] for c in tuple(Capability)[: len(sizes)]) == shares


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 300), st.integers(0, 9))
def test_a_stratified_draw_has_every_capability_and_the_asked_size(sizes, count, seed):
    rows = items_of(*sizes)
    if not len(sizes) <= count <= len(rows):
        with pytest.raises(ConfigError):
            draw_items(rows, count, seed, is_stratified=True)
        return
    drawn = draw_items(rows, count, seed, is_stratified=True)
    by_id = {row.id: row.capability for row in rows}
    assert len(set(drawn)) == count
    assert len({by_id[name] for name in drawn}) == len(sizes)


def test_more_items_than_there_are_is_an_error():
    with pytest.raises(ConfigError, match="has 3 items, not 4"):
        draw_items(items_of(3), 4, 0, is_stratified=False)


def test_cases_are_spread_over_capabilities_and_labels(release):
    tasks = endorse_tasks(release, runs_of(release), 40, 1, 0.1)
    strata = Counter((t.question.capability, t.judgement.evidence_support) for t in tasks)
    assert max(strata.values()) <= min(strata.values()) + 1 or len(strata) == 40
    assert len(tasks) == 40
    assert {t.words.model for t in tasks} > {"ardent-9b"}


def test_cases_can_be_drawn_as_they_come(release):
    every = label_tasks(release, runs_of(release), 10_000, 1)
    drawn = label_tasks(release, runs_of(release), 40, 1, Draw.RANDOM)
    assert len(drawn) == 40
    assert {task.model_dump_json() for task in drawn} < {task.model_dump_json() for task in every}
    assert drawn != label_tasks(release, runs_of(release), 40, 2, Draw.RANDOM)
    assert drawn != label_tasks(release, runs_of(release), 40, 1)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_planted_decisions_are_as_many_as_said_and_far_from_the_judges_own(release, share):
    tasks = endorse_tasks(release, runs_of(release), 50, 3, share)
    decisions = sum(len(task.decisions) for task in tasks)
    planted = [(t, *pair) for t in tasks for pair in t.planted.items()]
    assert share <= len(planted) / decisions < share + 1 / decisions
    for task, decision, level in planted:
        levels = list(LEVELS[decision])
        own = getattr(task.judgement, decision)
        assert abs(levels.index(level) - levels.index(own)) >= 2
        assert task.shown(decision) == level
    assert tasks == endorse_tasks(release, runs_of(release), 50, 3, share)
    assert tasks != endorse_tasks(release, runs_of(release), 50, 4, share)


def test_fewer_planted_than_a_tenth_is_refused(release):
    with pytest.raises(ConfigError, match=r"not from 0\.1 to 0\.3"):
        endorse_tasks(release, runs_of(release), 50, 3, 0.05)


def test_code_decides_the_credit_of_choice_items(release):
    for task in label_tasks(release, runs_of(release), 40, 1):
        assert (Decision.ANSWER_CREDIT in task.decisions) is not task.question.format.is_choice


def test_runs_that_nobody_judged_have_nothing_to_label(release):
    silent = report_run(release, "m", 0.5, explains=False)
    with pytest.raises(RunError, match="psychemme judge"):
        label_tasks(release, [silent], 10, 1)


def test_responses_are_told_apart_by_model_and_condition(release):
    run = report_run(release, "m", 0.5)
    with pytest.raises(RunError, match=r"Two runs are of m \(full\)"):
        label_tasks(release, [run, run], 10, 1)


def test_errors_are_proposed_for_responses_alone(release):
    tasks = tasks_of(Kind.ERRORS, release, 10)
    assert len({task.proposed for task in tasks}) > 2
    assert all(task.judgement is None for task in tasks)
    labels = error_labels(release)
    with pytest.raises(RunError, match="psychemme errors"):
        error_tasks(release, report_run(release, "m", 0.5).responses.values(), labels, 3, 1)


def test_a_study_is_pinned_as_it_was_opened(tmp_path, release):
    study_at(tmp_path / "s", Kind.ENDORSE, release)
    study = read_study(tmp_path / "s")
    assert PeopleStudy.model_validate_json((tmp_path / "s" / FILE_NAME).read_text()) == study
    assert all(sorted(order) == list(range(6)) for order in study.orders.values())
    with pytest.raises(RunError, match="holds a study already"):
        study_at(tmp_path / "s", Kind.LABEL, release)


@pytest.mark.parametrize(
    "names", [[], ["ada", "ada"], ["Ada", "ada"], ["../ada"], ["a b"], ["\x1b[31m"], ["zoë"]]
)
def test_names_that_are_none_are_refused(tmp_path, release, names):
    tasks = baseline_tasks(release, 3, 1)
    with pytest.raises(ConfigError):
        open_study(tmp_path / "s", Kind.BASELINE, release, tasks, names, 1, address=ADDRESS)
    assert not (tmp_path / "s").exists()


def test_a_study_can_be_read_by_its_owner_alone(tmp_path, release):
    study_at(tmp_path / "s", Kind.BASELINE, release, film=None)
    with PeopleStore(tmp_path / "s") as store:
        store.keep("ada", 0, {"cannot_answer": True}, 1.0, 0)
        made = [tmp_path / "s", *(tmp_path / "s").iterdir()]
        assert {path.name for path in made} > {"study.json", "people.db", "people.db-wal"}
        export_rows(tmp_path / "s", tmp_path / "out.jsonl")
        for path in (*made, tmp_path / "out.jsonl"):
            assert path.stat().st_mode & 0o077 == 0, path


def test_what_a_kill_left_half_made_goes_with_the_next_opening(tmp_path, release):
    (tmp_path / "s" / "media" / ".part-x").mkdir(parents=True)
    (tmp_path / "s" / "media" / ".part-x" / "part.mp4").touch()
    (tmp_path / "s" / ".part-0").touch()
    study_at(tmp_path / "s", Kind.LABEL, release, film=None)
    assert list((tmp_path / "s").rglob(".part-*")) == []


def test_newer_studies_are_refused_by_name(tmp_path):
    (tmp_path / FILE_NAME).write_text('{"schema_version": 2}')
    with pytest.raises(RunError, match="schema version 2; this reads 1"):
        read_study(tmp_path)
    with pytest.raises(RunError, match="is no study"):
        read_study(tmp_path / "none")


@pytest.fixture
def answered(tmp_path, release):
    """A study with one answer."""
    study_at(tmp_path / "s", Kind.BASELINE, release)
    with PeopleStore(tmp_path / "s") as store:
        store.keep("ada", 0, {"cannot_answer": True}, 1.0, 0)
    return tmp_path / "s"


def test_rows_say_what_release_they_are_about(tmp_path, release, answered):
    export_rows(answered, tmp_path / "out.jsonl")
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    facts = release.manifest
    about = {"name": facts.name, "version": facts.version, "checksum": release.checksum}
    assert row["release"] == about
    other = release_of(tmp_path / "other", 12)
    assert row["item_id"] in other.questions
    with pytest.raises(ScoringError, match=r"out\.jsonl:1: the row is about .* with checksum"):
        read_people([tmp_path / "out.jsonl"], other)


def test_an_export_replaces_an_export_and_nothing_else(tmp_path, answered):
    target = tmp_path / "out.jsonl"
    export_rows(answered, target)
    export_rows(answered, target)
    inside = tmp_path / "link"
    inside.symlink_to(answered / "out.jsonl")
    kept = tmp_path / "kept.txt"
    kept.write_text("words")
    for other in (answered / "study.json", inside, kept, tmp_path):
        with pytest.raises(RunError, match="--out"):
            export_rows(answered, other)
    assert kept.read_text() == "words"
    assert read_study(answered).kind is Kind.BASELINE


def test_a_study_that_cannot_be_written_is_read(tmp_path, answered, monkeypatch):
    monkeypatch.setattr("evaluation.store.os.access", lambda *_: False)
    assert standings(answered)["ada"].done == 1
    assert export_rows(answered, tmp_path / "out.jsonl")["ada"].total == 6
    with pytest.raises(RunError, match=r"people\.db cannot be written"):
        PeopleStore(answered)
    (answered / "people.db").write_bytes(b"no database" * 200)
    with pytest.raises(RunError, match=r"people\.db cannot be used"):
        standings(answered)


# Files


def test_rows_of_every_kind_are_read(tmp_path, release):
    said = {"schema_version": 1, "note": "kept by somebody else"}
    path = write(tmp_path / "f.jsonl", ROW | said, LABEL | said, ENDORSE | said, ERRORS | said)
    people = read_people([path], release)
    assert people.baseline[0].answer == "A"
    assert people.labels[0].evidence_support == "weak"
    assert people.endorsements[0].reason == "No cue says so."
    assert people.errors[0].category == "attribution"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (ROW | {"is_reviewer": True}, "'ada' reviewed items"),
        ({k: v for k, v in ROW.items() if k != "is_reviewer"}, "is_reviewer: Field required"),
        (ROW | {"item_id": "q9999"}, "no item 'q9999'"),
        (ROW | {"answer": "Z"}, "'Z' does not answer the single item"),
        (ROW | {"answer": ["A", "B"]}, "does not answer the single item"),
        (ROW | {"answer": None}, "cannot_answer"),
        (ROW | {"cannot_answer": True}, "cannot_answer"),
        (ROW | {"credit": 1}, "choice item with a credit"),
        (ROW | {"credit": 0.7}, "credit"),
        (ROW | {"item_id": "q0002", "answer": " "}, "does not answer the open item"),
        (ROW | {"annotator": ""}, "annotator"),
        (ROW | {"kind": "vote"}, "kind 'vote' is none of"),
        (ROW | {"schema_version": 2}, "schema version 2; this reads 1"),
        (LABEL | {"evidence_support": "great"}, "evidence_support"),
        (LABEL | {"answer_credit": 1}, "choice item with a credit"),
        (LABEL | {"item_id": "q0002"}, "lacks `answer_credit`"),
        (ENDORSE | {"shown": "great"}, "`shown` 'great' is no evidence_support"),
        (ENDORSE | {"planted": "no"}, "planted"),
        (ERRORS | {"category": 3}, "category"),
        (ERRORS | {"category": "zzz"}, "'zzz' is no category"),
        (ERRORS | {"proposed": "zzz"}, "'zzz' is no category"),
        (ENDORSE | {"decision": "answer_credit", "shown": 1}, "choice item with a credit"),
        (ROW | {"release": {"name": "r", "version": "1", "checksum": "f" * 64}}, "checksum ffff"),
        (ROW | {"release": {"name": "r"}}, "version"),
        (ROW | {"item_id": "q0002", "answer": None, "cannot_answer": True, "credit": 1}, "credit"),
        (ROW | {"annotator": "FIRST"}, "'FIRST' and 'first' are alike"),
        *((ROW | {"annotator": name}, "annotator") for name in (" ", "..", "ad\u202ea", "a\nb")),
        (LABEL | {"expert": ".."}, "expert"),
        (ERRORS | {"person": "\u2067a"}, "person"),
    ],
)
def test_faults_name_file_and_line(tmp_path, release, row, fault):
    path = write(tmp_path / "f.jsonl", ROW | {"annotator": "first"}, row)
    with pytest.raises(ScoringError) as caught:
        read_people([path], release)
    assert f"{path}:2" in str(caught.value)
    assert fault in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n\n", "[1]\n", "{\n", '{"a": NaN}\n', "\udc80"])
def test_files_that_are_none_are_refused(tmp_path, release, content):
    path = tmp_path / "f.jsonl"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ScoringError, match=r"f\.jsonl"):
        read_people([path], release)


def test_names_are_read_without_the_blanks_around_them(tmp_path, release):
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps(ROW | {"annotator": " ada\t"}), encoding="utf-8-sig")
    assert read_people([path], release).baseline[0].annotator == "ada"
    with pytest.raises(ScoringError, match=r"f\.jsonl:2: annotator 'ada'.* stands twice"):
        read_people([write(path, ROW, ROW | {"annotator": "ada "})], release)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [({"model": "zzz"}, "of no run"), ({"proposed": "norm"}, "'norm', which nobody proposed")],
)
def test_people_saw_failures_of_these_runs_as_they_were_sorted(changed, fault):
    row = ErrorsRow.model_validate(ERRORS)
    known = [("m", "full")], {("m", "full", "q0000"): {"temporal"}}
    refuse_unproposed([row], *known)
    with pytest.raises(ScoringError, match=fault):
        refuse_unproposed([row.model_copy(update=changed)], *known)


def test_a_report_refuses_what_people_said_of_runs_that_it_lacks(tmp_path, release):
    path = write(tmp_path / "f.jsonl", ERRORS | {"model": "zzz"})
    with pytest.raises(ScoringError, match="model 'zzz', condition 'full' is of no run"):
        make_study(release, runs_of(release), [path])


def test_open_answers_have_a_credit_all_or_none(tmp_path, release):
    names = [name for name, row in release.questions.items() if not row.options][:3]
    first, second, third = (ROW | {"item_id": name, "answer": "text"} for name in names)
    other = third | {"annotator": "ben"}
    silent = third | {"answer": None, "cannot_answer": True}
    path = write(tmp_path / "f.jsonl", first | {"credit": 0.5}, silent, other)
    assert len(read_people([path], release).baseline) == 3
    with pytest.raises(ScoringError, match=r"f\.jsonl:2: only some open answers of 'ada'"):
        read_people([write(path, first | {"credit": 0.5}, second)], release)


def test_nobody_says_the_same_twice_even_in_two_files(tmp_path, release):
    one, two = write(tmp_path / "1.jsonl", ROW), write(tmp_path / "2.jsonl", ROW | {"answer": "B"})
    with pytest.raises(ScoringError, match=r"2\.jsonl:1: annotator 'ada', item_id 'q0000' stands"):
        read_people([one, two], release)


# Import


def answers(release, who, right=True, without=()):
    references = release.references()
    for name, row in release.questions.items():
        if name in without:
            continue
        said = references[name].answer if right else ("D" if row.options else "leave")
        answer = [said, "C"] if row.format is Format.MULTIPLE and not right else said
        yield {"annotator": who, "item_id": name, "answer": answer, "is_reviewer": False}


def credited(release, rows, credit):
    return [
        row | ({} if release.questions[row["item_id"]].options else {"credit": credit})
        for row in rows
    ]


def test_annotators_become_runs_that_are_scored_and_compared(tmp_path, release):
    ada = credited(release, answers(release, "ada"), 1)
    ben = credited(release, answers(release, "ben", right=False), 0)
    ben[0] = {
        "annotator": "ben",
        "item_id": ben[0]["item_id"],
        "answer": None,
        "cannot_answer": True,
        "is_reviewer": False,
    }
    path = write(tmp_path / "f.jsonl", *ada, *ben)
    folders = import_baseline([path], release, tmp_path / "runs")
    manifests = [read_manifest(folder) for folder in folders]
    assert [m.model for m in manifests] == ["human ada", "human ben"]
    assert all(m.is_human and not m.is_self and m.condition == "full" for m in manifests)
    scored = [score_folder(folder) for folder in folders]
    refuse_unscored(scored)
    assert [one.bounds()[0].raw for one in scored] == [1, 0]
    assert scored[1].failures == {"refusal": 1}
    assert scored[0].failures == {}
    compared = CliRunner().invoke(verbs, ["compare", *map(str, folders)], catch_exceptions=False)
    assert "human ben" in compared.stdout
    with pytest.raises(RunError, match="--fresh") as refused:
        import_baseline([path], release, tmp_path / "runs")
    assert "--resume" not in str(refused.value)
    again = import_baseline([path], release, tmp_path / "runs", is_fresh=True)
    assert [one.name[-2:] for one in again] == ["-2", "-2"]


def test_open_answers_wait_for_a_judge_and_get_their_credit_from_it(tmp_path, release):
    path = write(tmp_path / "f.jsonl", *answers(release, "ada"))
    (folder,) = import_baseline([path], release, tmp_path / "runs")
    opened = sum(not q.format.is_choice for q in release.questions.values())
    assert score_folder(folder).unscored == {"not_judged": opened}

    verdict = {
        "evidence_reason": "x",
        "logic_reason": "x",
        "evidence_support": "insufficient",
        "logical_integrity": "unevaluable",
        "answer_credit": 0.5,
    }

    async def judge():
        with ModelServer(lambda _: json.dumps(verdict)) as server:
            flags = {"base_url": server.url}
            effective = load_settings(tmp_path, flags)
            cards, stop = load_cards(tmp_path), asyncio.Event()
            async with judging(folder, "j", 1, effective, cards, stop) as job:
                return await job.finish()

    progress = asyncio.run(judge())
    assert progress.planned == progress.settled == opened
    earned = Counter(item.a for item in score_folder(folder).items)
    assert earned == {1: len(release.questions) - opened, 0.5: opened}


def test_what_an_annotator_left_out_is_unscored_never_wrong(tmp_path, release):
    left = next(n for n, q in release.questions.items() if q.options)
    rows = [*answers(release, "ada"), *answers(release, "ben", without=[left])]
    path = write(tmp_path / "f.jsonl", *credited(release, rows, 1))
    folders = import_baseline([path], release, tmp_path / "r")
    ada, ben = (score_folder(folder, judge=GIVEN) for folder in folders)
    _, runs = read_runs(folders, load_cards(tmp_path), judge=GIVEN)
    with pytest.raises(ScoringError, match=r"human ben.*import again with --fresh, or leave"):
        analyse_humans(Study(release, tuple(runs), draws=10))
    assert len(ada.items) == len(ben.items)
    assert ben.unscored == {"api_error": 1}
    with pytest.raises(ScoringError, match="1 of"):
        refuse_unscored([ben])


def test_a_report_shows_peoples_own_words_to_nobody_else(tmp_path, release):
    words = "my very own words"
    ada = credited(release, answers(release, "ada"), 1)
    ada = [row | ({"answer": words} if "credit" in row else {}) for row in ada]
    folders = import_baseline([write(tmp_path / "f.jsonl", *ada)], release, tmp_path / "r")
    _, runs = read_runs(folders, load_cards(tmp_path))
    public, private = (item_details(release, runs, sorted(release.questions), p) for p in (0, 1))
    assert words not in json.dumps(public)
    assert words in json.dumps(private)
    assert {one["responses"][0]["sent"] for one in public} == {None}
    # What was chosen is a figure, and none of a person's words.
    assert "A" in [one["responses"][0]["answer"] for one in public if one["options"]]


def test_names_that_would_share_a_folder_are_refused(tmp_path, release):
    path = write(tmp_path / "f.jsonl", ROW | {"annotator": "a b"}, ROW | {"annotator": "a_b"})
    with pytest.raises(ScoringError, match="share a folder"):
        import_baseline([path], release, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


# The verbs


def test_a_baseline_is_opened_served_and_read_by_the_command_line(tmp_path, monkeypatch):
    draw_footage(clip := tmp_path / "clip.mp4", 20)
    root = make_release(tmp_path / "r", 6, clip="clip.mp4", sha256=sha256_file(clip))
    run = CliRunner().invoke
    study, target = str(tmp_path / "study"), str(tmp_path / "out.jsonl")
    named = ["open", "baseline", str(root), "--people", ",".join(PEOPLE)]
    with socket.create_server(("127.0.0.1", 0)) as found:
        address = "http://127.0.0.1:{1}".format(*found.getsockname())
    asked = [*named, "--out", study, "--items", "3", "--address", address]
    with pytest.raises(MediaError):
        run(app, [*asked, "--media", str(tmp_path / "r")], catch_exceptions=False)
    assert not (tmp_path / "study").exists()
    opened = run(app, [*asked, "--media", str(tmp_path)], catch_exceptions=False)
    assert opened.exit_code == 0, opened.output
    links = [line for line in opened.stdout.splitlines() if "/enter/" in line]
    assert len(links) == 2
    assert f"offers the pages at {address}." in opened.output
    served = []
    monkeypatch.setattr("psychemme.pages.serving.serve_app", lambda *given: served.append(given))
    assert "begin with" not in run(app, ["serve", study], catch_exceptions=False).output
    elsewhere = run(app, ["serve", study, "--port", "0"], catch_exceptions=False).output
    assert f"Links that begin with {address} begin with http://127.0.0.1:" in elsewhere
    assert next(door.address for _, door, _ in served) == address
    films = list((tmp_path / "study" / "media").iterdir())
    assert all(p.stat().st_mode & 0o077 == 0 for p in (tmp_path / "study").rglob("*"))
    # Both episodes are the same window of the same clip.
    assert len(films) == 1
    assert len(read_study(tmp_path / "study").films) == 2
    shown = run(app, ["status", study, "--json"], catch_exceptions=False)
    assert json.loads(shown.stdout)["people"]["ada"]["total"] == 3
    assert "ada" in run(app, ["status", study], catch_exceptions=False).stdout
    renewed = run(app, ["invite", study, "ada"], catch_exceptions=False).stdout
    assert renewed.startswith(f"ada: {address}/enter/")
    assert renewed.strip() not in links
    with pytest.raises(RunError, match="Nobody has answered"):
        run(app, ["export", study, "--out", target], catch_exceptions=False)
    with PeopleStore(tmp_path / "study") as store:
        store.keep("ada", 0, {"cannot_answer": True}, 1.0, 0)
    exported = run(app, ["export", study, "--out", target], catch_exceptions=False)
    assert "ada has not finished: 1 of 3" in exported.output
    made = ["import", target, "--release", str(root), "--out", str(tmp_path / "runs")]
    assert "human_ada" in run(app, made, catch_exceptions=False).stdout


def test_a_review_of_a_judge_is_opened_from_its_run(tmp_path):
    folder = asyncio.run(evaluated_run(tmp_path))
    asyncio.run(have_judged(folder, honest, "one"))
    asyncio.run(have_judged(folder, honest, "two"))
    lines = (folder / "responses.jsonl").read_text().splitlines()
    unsorted = ["open", "errors", str(folder), "--people", "ada", "--out", str(tmp_path / "none")]
    with pytest.raises(RunError, match="Run `psychemme errors`"):
        CliRunner().invoke(app, unsorted, catch_exceptions=False)
    known = {"classifier": "c", "scheme": scheme().label, "category": "norm"}
    who = [{k: json.loads(line)[k] for k in ("item_id", "model", "condition")} for line in lines]
    write(folder / "errors.jsonl", *(one | known for one in who))
    run = CliRunner().invoke
    for kind, more in (
        ("label", ["--judge", "one", "--draw", "random"]),
        ("endorse", ["--judge", "two", "--planted", "0.2"]),
        ("errors", []),
    ):
        study = tmp_path / kind
        words = ["open", kind, str(folder), "--people", "ada", "--out", str(study), *more]
        run(app, [*words, "--cases", "8"], catch_exceptions=False)
        found = read_study(study)
        assert (found.kind, len(found.tasks), found.films) == (kind, 8, ())
        assert found.draw == ("random" if kind == "label" else "even")
        assert {task.judge for task in found.tasks} == {more[1] if more else None}
        assert [c.id for c in found.categories] == ([*scheme().ids] if kind == "errors" else [])


# What is kept


def test_many_at_once_store_one_answer(tmp_path):
    with PeopleStore(tmp_path) as store, ThreadPoolExecutor(8) as pool:

        def keep(place):
            try:
                return store.keep("ada", 0, {"answer": "AB"[place % 2]}, 1.0, 0).revision
            except Elsewhere:
                return None

        revisions = list(pool.map(keep, range(40)))
        assert store.answers("ada")[0].revision == 1
    assert set(revisions) == {1, None}


def test_what_people_said_is_never_changed(tmp_path):
    with PeopleStore(tmp_path) as store:
        store.keep("ada", 0, {"answer": "A"}, 1.0, 0)
        for words in ("UPDATE answers SET person = 'ben'", "DELETE FROM answers"):
            with pytest.raises(DBAPIError, match="append-only"), store._engine.begin() as there:
                there.execute(text(words))
        store.finish("ada")
        assert store.keep("ada", 0, {"answer": "A"}, 9.0, 0).revision == 1
        with pytest.raises(Finished):
            store.keep("ada", 0, {"answer": "B"}, 9.0, 1)
