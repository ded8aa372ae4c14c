"""The verbs `analyse` and `plan-power`, in this process, on files made elsewhere."""

import csv
import json
import sys
from pathlib import Path

import pytest

from psychemme.cli import app as cli
from psychemme.cli import main as _verbs  # noqa: F401
from psychemme.release.read import Release, read_release
from tests.support.report_runs import HOSTILE, release_of, report_run

HOSTILE_NAME = "[bold]m[/] =1+1"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name a release and files of two models under two conditions."""
    folder = tmp_path_factory.mktemp("files")
    release = release_of(folder / "release", 72)
    responses, judgements = [], []
    for model, conditions in ((HOSTILE_NAME, ("full", "asr-only")), ("b", ("full",))):
        for condition in conditions:
            run = report_run(release, model, 0.6)
            who = {"model": model, "condition": condition}
            responses += [x.model_dump(mode="json") | who for x in run.responses.values()]
            judgements += [
                x.model_dump(mode="json") | who | {"item_id": name}
                for name, x in run.judgements.items()
            ]
    found = ["--release", str(release.root)]
    for option, rows in (("responses", responses), ("judgements", judgements)):
        path = folder / f"{option}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        found += [f"--{option}", str(path)]
    return found


@pytest.fixture
def verb(monkeypatch, capsys, tmp_path):
    """Run a verb in `tmp_path`, and return its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["psychemme", *words])
        with pytest.raises(SystemExit) as ended:
            cli.run_app()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


def test_analyses_are_listed(verb) -> None:
    from evaluation.analyses.registry import ANALYSES

    code, said = verb("analyse", "--list")
    assert code == 0
    for name, entry in ANALYSES.items():
        assert name in said
        assert entry.line in said
    assert verb("analyse") == (code, said)


def test_the_documentation_has_every_analysis() -> None:
    from evaluation.analyses.registry import ANALYSES

    said = (Path(__file__).parents[2] / "docs" / "analyses.md").read_text(encoding="utf-8")
    headings = [line for line in said.splitlines() if line.startswith("## ")]
    for name in ANALYSES:
        assert sum(f"(`{name}`)" in heading for heading in headings) == 1


def test_an_analysis_is_printed_and_written(verb, files, tmp_path: Path) -> None:
    code, said = verb("analyse", "retention", *files, "--draws", "100")
    assert code == 0
    assert "One observation is a response to an item" in said
    assert "Rates are over the answer credit" in said
    # A file holds what was asked of anyone; the condition that most models share is analysed.
    assert "Not part of it: " in said.replace("\n", " ")
    assert "(asr-only)." in said
    assert "[bold]m[/]" in said
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")}
    assert "analyses/retention.svg" in written
    tables = {p for p in written if p.startswith("analyses/retention-tables/")}
    assert {Path(p).suffix for p in tables} == {".md", ".tex", ".csv"}
    for path in tables:
        if path.endswith(".csv"):
            with (tmp_path / path).open() as file:
                assert len({len(row) for row in csv.reader(file)}) == 1


def test_a_long_table_is_left_to_its_file(verb, files, monkeypatch) -> None:
    monkeypatch.setattr("psychemme.cli.analyse.LONGEST_PRINTED", 2)
    code, said = verb("analyse", "retention", *files, "--draws", "100")
    assert code == 0
    assert "Retention by capability, all formats: 3 rows, in its file" in said


def test_the_same_seed_gives_the_same_bytes(verb, files, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert verb("analyse", "retention", *files, "--draws", "100", "--out", folder)[0] == 0
    other = ("--seed", "7", "--out", "other")
    assert verb("analyse", "retention", *files, "--draws", "100", *other)[0] == 0
    found = {
        folder: [p.read_bytes() for p in sorted((tmp_path / folder).rglob("*.*"))]
        for folder in ("one", "two", "other")
    }
    assert found["one"] == found["two"]
    assert found["one"] != found["other"]


def test_an_analysis_as_json(verb, files) -> None:
    code, said = verb("analyse", "retention", *files, "--draws", "100", "--json")
    assert code == 0
    found = json.loads(said)
    assert found["name"] == "retention"
    assert len(found["runs"]) == 2
    assert {"unit", "denominator", "tables", "notes", "title"} <= found.keys()
    assert HOSTILE[:20] not in said
    cell = found["tables"][0]["rows"][0][1]
    assert 0 <= cell["low"] <= cell["point"] <= cell["high"] <= 1


def test_a_full_report_of_files(verb, files, tmp_path: Path, monkeypatch) -> None:
    from evaluation.report import analyses as parts

    kept = {name: parts.ANALYSES[name] for name in ("retention", "humans")}
    monkeypatch.setattr(parts, "ANALYSES", kept)
    code, said = verb("report", *files, "--full", "--out", "page")
    assert (code, said.strip()) == (0, "Evaluation report: page/index.html")
    page = (tmp_path / "page" / "index.html").read_text()
    assert 'href="#analysis-retention"' in page
    assert "Not applicable to these runs: 1" in page
    assert (tmp_path / "page" / "tables" / "retention.csv").exists()
    people = tmp_path / "people.jsonl"
    people.write_text('{"kind": "baseline"}\n')
    code, said = verb("report", *files, "--full", "--people", str(people))
    assert code == 1
    assert "people.jsonl:1" in said.replace("\n", "")
    assert verb("report", *files, "--people", str(people))[0] == 2


def said_by_ada(files: list[str], path: Path, **open_answer: object) -> list[dict]:
    """Write what ada answered to every item: the reference, or words."""
    release = read_release(Path(files[1]))
    rows = [
        {"annotator": "ada", "item_id": name, "answer": one.answer, "is_reviewer": False}
        | ({} if release.questions[name].options else open_answer)
        for name, one in release.references().items()
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return rows


def test_people_in_a_file_are_beside_models_in_files(verb, files, tmp_path: Path) -> None:
    given = (*files, "--people", "people.jsonl", "--draws", "100")
    rows = said_by_ada(files, tmp_path / "people.jsonl", credit=1)
    code, said = verb("analyse", "humans", *given, "--json")
    assert code == 0
    found = json.loads(said)
    assert len(found["runs"]) == 3
    raw = {row[0]: row[1:] for row in found["tables"][0]["rows"]}
    assert raw["human ada (full)"][0] == len(rows)
    assert raw["human ada (full)"][2]["point"] == 1
    # Models alone are of any other analysis.
    assert len(json.loads(verb("analyse", "retention", *given, "--json")[1])["runs"]) == 2
    code, _ = verb("report", *files, "--full", "--people", "people.jsonl", "--out", "page")
    assert code == 0
    assert 'href="#analysis-humans"' in (tmp_path / "page" / "index.html").read_text()


def test_an_open_answer_that_nobody_credited_names_what_to_do(verb, files, tmp_path) -> None:
    said_by_ada(files, tmp_path / "people.jsonl")
    code, said = verb("analyse", "humans", *files, "--people", "people.jsonl")
    said = said.replace("\n", " ")
    assert code == 1
    assert "human ada (full): 20 of 72 items are unscored" in said
    assert "`credit`" in said
    assert "psychemme people import" in said


def test_power_from_files(verb, files) -> None:
    code, said = verb("plan-power", *files, "--json")
    assert code == 0
    assert [row["items"] for row in json.loads(said)["plans"]] == [9] * 16
    assert verb("plan-power", *files, "--sd", "40")[0] == 2


def test_every_analysis_says_once_that_it_is_unadjusted(verb, files) -> None:
    said = verb("analyse", "retention", *files, "--draws", "100")[1]
    assert said.count("Exploratory") == 1
    assert "fewer than 20 episodes" in said.replace("\n", " ")


def test_an_item_without_a_line_stops_a_report_and_an_analysis(verb, files, tmp_path: Path) -> None:
    lines = Path(files[3]).read_text().splitlines(keepends=True)
    (tmp_path / "r.jsonl").write_text("".join(lines[1:]))
    given = (*files[:2], "--responses", "r.jsonl", *files[4:])
    for words in (("report", *given, "--full"), ("analyse", "retention", *given)):
        code, said = verb(*words)
        assert code == 1
        assert "unscored" in said
    code, said = verb("report", *given, "--allow-unscored", "--full", "--out", "page")
    assert code == 0
    (told,) = (line for line in said.splitlines() if line.startswith("Left out:"))
    assert told.startswith("Left out: 8 of 13 analyses (retention, ")
    assert "items are unscored (missing 1)" in told


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("analyse", "nothing"), "There is no analysis 'nothing'."),
        (("analyse", "retention", "nowhere"), "nowhere is not a run."),
        (("plan-power", "--discordance", "2"), "cannot be 5.0% apart."),
        (("plan-power", "--sd", "40", "--difference", "0"), "not above 0"),
        (("plan-power", "--sd", "40", "--icc", "0", "--items-per-episode", "inf"), "1 or more"),
    ],
)
def test_errors_end_without_a_traceback(verb, words: tuple[str, ...], fault: str) -> None:
    code, said = verb(*words)
    assert code == 1
    assert fault in said.replace("\n", " ")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("analyse", "retention"),
        ("analyse", "retention", "run", "--responses", "r.jsonl"),
        ("plan-power",),
        ("plan-power", "one"),
        ("plan-power", "--sd", "40", "--discordance", "30"),
        ("plan-power", "--sd", "40", "--items-per-episode", "3"),
        ("plan-power", "--sd", "inf"),
        ("plan-power", "--sd", "nan"),
        ("plan-power", "--sd", "-1"),
    ],
)
def test_usage_is_told(verb, words: tuple[str, ...]) -> None:
    assert verb(*words)[0] == 2


def test_power_of_an_assumed_spread(verb, files) -> None:
    asked = ("plan-power", "--sd", "50", "--difference", "10", "--json")
    code, said = verb(*asked)
    assert code == 0
    (row,) = json.loads(said)["plans"]
    assert (row["items_needed"], row["episodes_needed"], row["detectable"]) == (197, 197, None)
    code, said = verb(*asked, "--items-per-episode", "3", "--icc", "0.2")
    (row,) = json.loads(said)["plans"]
    assert (row["items_needed"], row["episodes_needed"]) == (275, 92)
    said = verb(*asked[:-1], "--items-per-episode", "3", "--icc", "0.2")[1]
    assert any(" 3.00 " in line and " 275 " in line for line in said.splitlines())
    rows = json.loads(verb(*asked, *files[:2])[1])["plans"]
    assert [row["items"] for row in rows] == [9] * 8
    assert all(row["detectable"] > 0.1 for row in rows)
    said = verb(*asked[:-1])[1]
    assert "197" in said
    assert "normal approximation" in said


def test_power_from_two_runs(verb, files, tmp_path: Path, monkeypatch) -> None:
    from evaluation.report import runs as reading
    from psychemme.clients.cards import load_cards

    release, found = reading.read_files(
        Path(files[1]), Path(files[3]), Path(files[5]), load_cards()
    )

    def read_runs(folders: list[Path], *_: object) -> tuple[Release, list]:
        return release, [one for one in found if one.manifest.condition == "full"]

    monkeypatch.setattr(reading, "read_runs", read_runs)
    code, said = verb("plan-power", "one", "two", "--json")
    assert code == 0
    rows = json.loads(said)["plans"]
    assert [row["measure"] for row in rows] == ["raw"] * 8 + ["verified"] * 8
    for row in rows:
        assert row["items"] == 9
        assert row["items_needed"] > row["items"] > 0
    code, said = verb("plan-power", "one", "two")
    assert "Raw of" in said
    assert "Verified of" in said
