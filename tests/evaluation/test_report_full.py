"""The full report: each analysis over its runs, those that do not apply, and one safe page."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.analyses.registry import ANALYSES, Entry, find
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study
from evaluation.inputs import InputPolicy
from evaluation.report import analyses as parts
from evaluation.report.analyses import make_study, of_one_condition, runs_for, sections
from evaluation.report.cohorts import Shown, make_cohorts
from evaluation.report.formats import Number, Table, as_csv, text
from evaluation.report.page import write_report
from evaluation.report.runs import ReportRun, notes_of
from evaluation.scoring import ScoringError
from psychemme.clients.cards import load_cards
from psychemme.errors import ConfigError
from psychemme.release.read import Release
from psychemme.vocabulary import Capability
from tests.support.report_runs import HOSTILE, release_of, report_run, runs_of

DRAWS = 200
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><text>{HOSTILE}</text></svg>'


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release_of(tmp_path_factory.mktemp("release"))


def under(label: str, run: ReportRun) -> ReportRun:
    policy = InputPolicy.of_label(label) or InputPolicy()
    manifest = run.manifest.model_copy(update={"condition": label, "policy": policy})
    scored = replace(run.scored, condition=label)
    return replace(run, name=scored.name, manifest=manifest, scored=scored)


def person(run: ReportRun) -> ReportRun:
    return replace(run, manifest=run.manifest.model_copy(update={"is_human": True}))


def tiny(study: Study) -> Analysis:
    """Count the runs: what a page shows of any analysis."""
    names = tuple((run.name, place) for place, run in enumerate(study.runs))
    few = Table(name="tiny", title=f"Few {HOSTILE}", columns=("run", "place"), rows=names)
    many = Table(
        name="tiny-many",
        title="Many",
        columns=("row", "n"),
        rows=tuple((f"{i}", i) for i in range(50)),
    )
    return Analysis(
        name="tiny",
        title="Tiny",
        unit="a run",
        denominator="runs",
        tables=(few, many),
        drawings=(Drawing(name="tiny", alt=f"A drawing {HOSTILE}", svg=SVG),),
        notes=(f"A note {HOSTILE}",),
    )


def absent(study: Study) -> Analysis:
    raise NotApplicable(f"Nothing {HOSTILE} here.", "Bring some.")


def faulty(study: Study) -> Analysis:
    raise ScoringError("m and n differ in 3 items.", "Analyse them apart.")


@pytest.fixture
def registry(monkeypatch) -> None:
    known = {"tiny": tiny, "absent": absent, "faulty": faulty}
    monkeypatch.setattr(parts, "ANALYSES", {name: Entry(name, "A line.") for name in known})
    monkeypatch.setattr(parts, "find", known.__getitem__)


@pytest.fixture
def page(registry, release: Release, tmp_path: Path) -> Path:
    runs = runs_of(release)
    analysed = sections(make_study(release, runs, draws=DRAWS))
    return write_report(release, runs, tmp_path / "out", analysed=analysed, draws=DRAWS)


def test_each_analysis_is_a_section_or_has_a_reason(page: Path) -> None:
    said = page.read_text()
    assert said.count('aria-labelledby="analysis-tiny"') >= 1
    assert '<a href="#analysis-tiny">Tiny</a>' in said
    assert 'href="#analyses"' in said
    assert "One observation is a run. Rates are over runs." in said
    assert "Not applicable to these runs: 1" in said
    assert "Left out, for something is missing: 1" in said
    assert "here. Bring some." in said
    assert "m and n differ in 3 items. Analyse them apart." in said
    assert "Many (50 rows)</summary>" in said


def test_the_page_stays_one_safe_file(page: Path) -> None:
    said = page.read_text()
    assert "img-src data:" in said
    outside = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", said, flags=re.DOTALL)
    images = re.findall(r'<img[^>]*src="([^"]*)"', outside)
    assert len(images) == 1
    assert base64.b64decode(images[0].removeprefix("data:image/svg+xml;base64,")).decode() == SVG
    assert said.count("<script") == 2
    assert "<img src=x" not in outside
    assert not re.search(r"\b(src|href)=\"(?!#|data:image/svg)", outside)
    assert " style=" not in outside


def test_tables_and_drawings_are_files(page: Path) -> None:
    assert (page.parent / "figures" / "tiny.svg").read_text() == SVG
    for name in ("tiny", "tiny-many"):
        assert all(
            (page.parent / "tables" / f"{name}.{end}").exists() for end in ("md", "tex", "csv")
        )


def test_without_analyses_the_page_is_as_it_was(release: Release, tmp_path: Path) -> None:
    page = write_report(release, runs_of(release), tmp_path, draws=DRAWS)
    said = page.read_text()
    assert "img-src" not in said
    assert "#analyses" not in said
    assert not (tmp_path / "figures").exists()


def test_analyses_of_one_condition_take_the_models_that_share_it(release: Release) -> None:
    models = [report_run(release, name, 0.6) for name in ("a", "b")]
    ablated = [under("asr-only", models[0]), under("visual-only", models[0])]
    memory = under(
        "full+history-none", report_run(release, "a", 0.6, only=frozenset({Capability.MEMORY}))
    )
    mine = report_run(release, "signal", 0.9, is_self=True)
    guess = report_run(release, "random", 0.25)
    ada = person(report_run(release, "human ada", 0.9))
    every = [*ablated, memory, mine, guess, ada, *models]
    assert of_one_condition(every) == tuple(models)
    assert runs_for("voting", every) == tuple(models)
    assert runs_for("humans", every) == (*models, ada)
    assert runs_for("history", every) == (*ablated, memory, mine, guess, *models)
    # A tie of conditions goes to full; baselines and the maker are better than nothing.
    assert of_one_condition([ablated[0], models[0]]) == (models[0],)
    assert of_one_condition([mine, guess, ada]) == (mine, guess)
    assert of_one_condition([ada]) == ()


def test_annotators_in_a_file_are_runs_unless_they_are_there(release: Release, tmp_path) -> None:
    name = next(iter(release.questions))
    path = tmp_path / "people.jsonl"
    row = {"annotator": "ada", "item_id": name, "answer": None, "cannot_answer": True}
    path.write_text(json.dumps(row | {"is_reviewer": False}))
    run = report_run(release, "a", 0.6)
    study = make_study(release, [run], [path])
    assert [one.name for one in study.runs] == ["a (full)", "human ada (full)"]
    ada = person(report_run(release, "human ada", 0.9))
    assert make_study(release, [run, ada], [path]).runs == (run, ada)
    assert runs_for("modality", study.runs) == runs_for("retention", study.runs) == (run,)


def test_tables_say_which_intervals_promise_too_much(monkeypatch) -> None:
    cells = [
        Shown(point=0.5, low=0.4, high=0.6, episodes=20),
        Shown(point=0.5, low=0.4, high=0.6, episodes=19),
        Number(point=1.0, low=1.0, high=1.0, episodes=3),
        Shown(point=0.5),
    ]
    table = Table(name="t", title="T", columns=("a", *"bcde"), rows=(("r", *cells),), note="Note.")
    plain_ = tiny(Study(release=None, runs=()))  # type: ignore[arg-type]
    made = plain_.model_copy(update={"tables": (table, plain_.tables[0])})
    monkeypatch.setattr(parts, "find", lambda _name: lambda _study: made)
    found = parts.analysed("tiny", Study(release=None, runs=()))  # type: ignore[arg-type]
    assert found.tables[0].note == (
        "Note. 2 of 3 intervals rest on fewer than 20 episodes and are too narrow. "
        "1 of 3 intervals have no width: all draws agree, which is no certainty."
    )
    assert found.tables[1].note == plain_.tables[0].note
    assert sum(note.startswith("Exploratory") for note in found.notes) == 1


def test_numbers_are_no_percents_and_csv_has_their_digits() -> None:
    cells = (Number(point=-0.123456789012, low=-1 / 3, high=0.5, excluded=0.06), 0.1234567890123)
    table = Table(
        name="t",
        title="T",
        columns=("a", "alpha", "p", "mean", "share"),
        rows=(("r", *cells, Number(point=2.25, decimals=1), Shown(point=1 / 3)),),
    )
    assert [text(cell) for cell in table.rows[0][1:4:2]] == ["−0.12 [−0.33, 0.50]†", "2.2"]
    assert text(Number()) == "–"
    assert text(Number(point=-0.001)) == "0.00"
    head, row = as_csv(table).splitlines()
    assert head.startswith("a,alpha,alpha low,alpha high,alpha excluded,p,mean,mean low")
    assert row == (
        "r,-0.123456789012,-0.333333333333,0.5,0.06,0.123456789012,2.25,,,0,33.3333333333,,,0"
    )


def test_a_condition_of_another_tool_is_compared_with_none(release: Release) -> None:
    run = report_run(release, "a", 0.6)
    foreign = under("closed captions", run)
    assert runs_for("modality", [run, foreign]) == (run,)
    assert runs_for("judge-review", [run, foreign]) == (run, foreign)
    assert runs_for("retention", [foreign]) == (foreign,)


def test_people_are_marked_and_unranked(release: Release) -> None:
    ada = person(report_run(release, "human ada", 0.9))
    assert notes_of(ada.manifest, release, None, load_cards()) == ("human, unranked",)
    (cohort,) = make_cohorts([ada, report_run(release, "m", 0.6)], DRAWS)
    assert cohort.ranked == {"full": 1}
    assert {row.run.name: bool(row.ranks) for row in cohort.rows} == {
        "human ada (full)": False,
        "m (full)": True,
    }


def test_every_analysis_is_known_by_name() -> None:
    for name in ANALYSES:
        assert callable(find(name))
    with pytest.raises(ConfigError, match="There is no analysis"):
        find("__init__")


def test_every_analysis_is_in_the_full_report(release: Release, tmp_path: Path) -> None:
    """No table takes another's file, whatever the runs; what applies is drawn."""
    runs = [
        report_run(release, name, skill) for name, skill in (("a", 0.8), ("b", 0.5), ("c", 0.6))
    ]
    runs += [
        under(label, report_run(release, "a", 0.5))
        for label in ("question-only", "full+frames-4", "full+frames-8")
    ]
    memory = frozenset({Capability.MEMORY})
    runs += [
        under(f"full+history-{kind}", report_run(release, "a", 0.4, only=memory))
        for kind in ("none", "mismatched:42")
    ]
    analysed = sections(make_study(release, runs, draws=DRAWS))
    assert [one.name for one in analysed] == list(ANALYSES)
    applied = {one.name for one in analysed if one.analysis}
    people = {"humans", "judge-review", "errors"}
    assert applied >= ANALYSES.keys() - people
    tables = [table.name for one in analysed if one.analysis for table in one.analysis.tables]
    drawings = [x.name for one in analysed if one.analysis for x in one.analysis.drawings]
    assert len({*tables}) == len(tables)
    assert len({*drawings}) == len(drawings) >= len(applied)
    write_report(release, runs, tmp_path, analysed=analysed, draws=DRAWS)
    plain = {p.stem for p in (tmp_path / "tables").glob("*.csv")} - {*tables}
    write_report(release, runs, tmp_path / "plain", draws=DRAWS)
    assert plain == {p.stem for p in (tmp_path / "plain" / "tables").glob("*.csv")}
