"""The evaluation report as files: what it says, what it must not say, and that its forms agree."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.comparisons import Measure
from evaluation.inputs import make_policy
from evaluation.manifest import RunManifest
from evaluation.report.cohorts import Shown, differences, make_cohorts
from evaluation.report.formats import FLAGGED, Table, as_csv, as_latex, as_markdown, text
from evaluation.report.items import item_details
from evaluation.report.page import write_report
from evaluation.report.runs import notes_of, read_runs
from evaluation.report.tables import make_tables
from evaluation.runs import Plan, evaluations
from evaluation.score_json import as_json
from psychemme.clients.cards import load_cards
from psychemme.config import load_settings
from psychemme.errors import ReleaseError, RunError
from psychemme.release.read import Release, read_release
from psychemme.vocabulary import Capability
from tests.support.commands import run
from tests.support.releases import make_release
from tests.support.report_runs import HOSTILE, REASON, release_of, report_run, runs_of

PRIVATE = ("PRIVATE-CUE", "PRIVATE-POINT", REASON, "evidence_reason", '"reference"', '"credit"')
DRAWS = 500


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release_of(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def pages(release: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    runs = runs_of(release)
    return {
        "public": write_report(release, runs, folder / "public", draws=DRAWS),
        "private": write_report(
            release, runs, folder / "private", draws=DRAWS, with_references=True
        ),
    }


def data_of(page: Path) -> dict:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    return json.loads(found.group(1))


def rows_of(page: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((page.parent / "tables" / f"{name}.csv").read_text())))


def test_the_public_report_holds_nothing_private(release: Release, pages: dict) -> None:
    every = [p for p in pages["public"].parent.rglob("*") if p.is_file()]
    assert len(every) == 1 + 9 * 3
    for path in every:
        # The page's own script names what it would show.
        said = re.sub(r"<script>.*?</script>", "", path.read_text(), flags=re.DOTALL)
        assert not [word for word in PRIVATE if word in said], path
        assert str(release.root) not in said
    page = pages["public"].read_text()
    assert 'class="stamp"' not in page
    assert "(private)" not in page
    for item in data_of(pages["public"])["items"]:
        assert "reference" not in item
        assert all("credit" not in r and "judgement" not in r for r in item["responses"])


def test_scores_of_items_change_nothing_in_the_public_items(release: Release) -> None:
    """Non-interference: what the script gets is the same whatever was right."""
    seen = report_run(release, "m", 0.5)
    blind = replace(seen, judgements={}, scored=replace(seen.scored, items=()))
    names = sorted(seen.responses)
    assert item_details(release, [seen], names, False) == item_details(
        release, [blind], names, False
    )


def test_the_private_report_says_so_and_shows_it(pages: dict) -> None:
    page = pages["private"].read_text()
    assert "<strong>private</strong>" in page
    item = data_of(pages["private"])["items"][0]
    assert item["reference"]["answer"] == "A"
    assert item["reference"]["cues"][0]["description"].startswith("PRIVATE-CUE")
    response = item["responses"][0]
    assert set(response["credit"]) == {"a", "c", "v"}
    assert response["judgement"]["evidence_reason"].startswith(REASON)


def test_an_example_release_is_announced(pages: dict, tmp_path: Path) -> None:
    words = "Example release: these scores measure nothing."
    assert words in pages["public"].read_text()
    real = release_of(tmp_path / "real", example=False)
    page = write_report(real, [report_run(real, "m", 0.5)], tmp_path / "out", draws=DRAWS)
    assert words not in page.read_text()


def test_hostile_words_stay_words(pages: dict) -> None:
    for page in pages.values():
        said = page.read_text()
        outside = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", said, flags=re.DOTALL)
        assert said.count("<script") == 2
        assert said.count("</script>") == 2
        assert "<img" not in said
        assert "<b>|co" not in outside
        assert "&lt;b&gt;|co&lt;/b&gt;" in outside
        assert not re.search(r"\b(src|href)=\"(?!#)", outside)
        assert " style=" not in outside
    raw = [r["raw"] for item in data_of(pages["public"])["items"] for r in item["responses"]]
    assert any(HOSTILE in text for text in raw if text.startswith("I cannot"))


def test_the_same_runs_give_the_same_bytes(release: Release, pages: dict, tmp_path: Path) -> None:
    write_report(release, runs_of(release), tmp_path, draws=DRAWS)
    first = pages["public"].parent
    for path in sorted(p for p in first.rglob("*") if p.is_file()):
        assert (tmp_path / path.relative_to(first)).read_bytes() == path.read_bytes()


def test_a_report_removes_what_an_earlier_one_wrote_and_nothing_else(
    release: Release, tmp_path: Path
) -> None:
    write_report(release, runs_of(release), tmp_path, draws=DRAWS)
    page, tables = tmp_path / "index.html", tmp_path / "tables"
    assert (tables / "differences.csv").exists()
    for name in ("mine.csv", "Notes.md"):
        (tables / name).write_text("mine")
    outside = tmp_path / "outside.csv"
    outside.write_text("mine")
    listed = 'name="psychemme-files" content="'
    page.write_text(page.read_text().replace(listed, f"{listed}tables/../outside.csv "))
    write_report(release, runs_of(release)[:1], tmp_path, draws=DRAWS)
    assert not (tables / "differences.csv").exists()
    assert (tables / "leaderboard.csv").exists()
    assert [p.read_text() for p in (tables / "mine.csv", tables / "Notes.md", outside)] == [
        "mine"
    ] * 3


def test_symbols_are_told_where_they_are_used(pages: dict) -> None:
    losses = pages["public"].read_text().split('id="losses-1"')[1].split("</section>")[0]
    for symbol in ("a: answer credit", "c: 1 with", "ẽ and l̃: the weights", "v = a c ẽ l̃"):
        assert symbol in losses


def test_the_leaderboard_agrees_with_the_json_of_score(release: Release, tmp_path: Path) -> None:
    runs = [report_run(release, name, 0.6) for name in ("a", "b")]
    page = write_report(release, runs, tmp_path)
    found = {row["run"]: row for row in rows_of(page, "leaderboard")}
    for one in runs:
        shown, row = as_json(one.scored, intervals=True), found[one.name]
        assert int(row["planned"]) == shown["n"] == len(release.questions)
        assert int(row["failed"]) == sum(shown["failures"].values())
        for column, measure in (("Raw", "raw"), ("Verified", "verified")):
            ends = [shown[measure], *shown[f"{measure}_ci"]]
            assert [float(row[f"{column}{end}"]) for end in ("", " low", " high")] == (
                pytest.approx(ends)
            )
        by_capability = {r["run"]: r for r in rows_of(page, "capabilities-raw")}[one.name]
        for code, pool in shown["capabilities"].items():
            assert float(by_capability[f"{code} (n={pool['n']})"]) == pytest.approx(pool["raw"])


def unescaped(cell: str) -> str:
    cell = re.sub(r"\\text(backslash|bar|less|greater)\{\}", lambda m: _SIGNS[m[1]], cell)
    cell = cell.replace("\\dag{}", "†").replace("$-$", "−").replace("--", "–")
    return re.sub(r"\\([^a-z])", r"\1", cell).strip()


_SIGNS = {"backslash": "\\", "bar": "|", "less": "<", "greater": ">"}


def test_the_three_formats_hold_the_same_cells(release: Release) -> None:
    tables = make_tables(make_cohorts(runs_of(release), DRAWS))
    assert len(tables) == 9
    for table in tables:
        wanted = [[text(cell).strip() for cell in row] for row in table.rows]
        markdown = [
            [unescaped(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in as_markdown(table).splitlines()
            if line.startswith("|")
        ]
        assert markdown[2:] == wanted, table.name
        latex = as_latex(table).split("\\midrule\n")[1].split("\\bottomrule")[0]
        lines = [line.removesuffix(" \\\\") for line in latex.splitlines()]
        found = [[unescaped(cell) for cell in re.split(r"(?<!\\)&", line)] for line in lines]
        assert found == wanted, table.name
        rows = list(csv.reader(io.StringIO(as_csv(table))))
        assert len({len(row) for row in rows}) == 1
        for row, cells in zip(csv.DictReader(io.StringIO(as_csv(table))), table.rows, strict=True):
            for column, cell in zip(table.columns, cells, strict=True):
                if isinstance(cell, Shown) and cell.point is not None:
                    assert float(row[column]) == pytest.approx(100 * cell.point, abs=1e-4)


def test_names_are_harmless_in_every_format() -> None:
    name = "=a|b\\c_{d}\n%$#&~^<x>`[l](u)"
    table = Table(name="t", title="T", columns=("run", "n"), rows=((name, 1),))
    latex = as_latex(table)
    assert "\n%" not in latex
    assert r"\textbackslash{}c\_\{d\} \%\$\#\&\textasciitilde{}\textasciicircum{}" in latex
    line = as_markdown(table).splitlines()[4]
    assert line == r"| =a\|b\\c\_{d} %\$#\&\~^\<x\>\`\[l\](u) | 1 |"
    assert as_csv(table).splitlines()[1].startswith("'=a|b")


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (Shown(), "–"),
        (Shown(point=0.5), "50.0"),
        (Shown(point=0.5, low=0.4, high=0.61), "50.0 [40.0, 61.0]"),
        (Shown(point=0.5, low=0.4, high=0.6, excluded=0.06), "50.0 [40.0, 60.0]†"),
        (Shown(point=0.5, excluded=0.6), "50.0 [withheld]†"),
        (Shown(low=0.4, high=0.6, is_bounds=True), "40.0 to 60.0"),
        (Shown(point=-0.1, low=-0.2, high=0.05, is_difference=True), "−10.0 [−20.0, +5.0]"),
        (Shown(point=-0.00001, is_difference=True), "0.0"),
        (0.0002, "<0.001"),
        (0.04, "0.040"),
        ("a\x1b[31m\u202eb", "a [31m b"),
    ],
)
def test_a_cell_reads(shown: object, wanted: str) -> None:
    assert text(shown) == wanted


def test_stages_sum_to_one_hundred_and_labels_to_their_denominator(release: Release) -> None:
    (cohort,) = make_cohorts(runs_of(release), DRAWS)
    for row in cohort.rows:
        assert sum(row.losses) == pytest.approx(1)
        assert row.losses[-1] == pytest.approx(row.figures[Measure.VERIFIED, None].point)
        assert sum(row.support.values()) == sum(row.logic.values()) == row.labelled
        assert row.planned == len(release.questions) == row.ok + row.failed + row.unscored


def test_who_made_the_items_is_shown_and_not_ranked(release: Release, pages: dict) -> None:
    (cohort,) = make_cohorts(runs_of(release), DRAWS)
    ranks = {row.run.manifest.model: row.ranks for row in cohort.rows}
    assert ranks["signal"] == {}
    assert cohort.ranked == {"full": len(ranks) - 1}
    assert all(1 <= low <= high <= len(ranks) - 1 for low, high in ranks["random"].values())
    assert "self: made these items, unranked" in pages["public"].read_text()


def test_ranks_are_among_runs_of_one_condition(release: Release, tmp_path: Path) -> None:
    """A run under less input, or more, takes no place from a run of another model."""
    full = [report_run(release, "strong", 0.9, failing=0), report_run(release, "weak", 0.2)]
    found = report_run(release, "strong", 0.9, failing=0)
    blind = replace(
        found,
        name="strong (question-only|x)",
        manifest=found.manifest.model_copy(update={"condition": "question-only|x"}),
        scored=replace(found.scored, condition="question-only|x"),
    )
    (alone,) = make_cohorts(full, DRAWS)
    (cohort,) = make_cohorts([*full, blind], DRAWS)
    ranks = {row.run.name: row.ranks for row in cohort.rows}
    assert ranks == {row.run.name: row.ranks for row in alone.rows} | {
        blind.name: dict.fromkeys((Measure.RAW, Measure.VERIFIED), (1, 1))
    }
    assert ranks["weak (full)"][Measure.RAW] == (2, 2)
    page = write_report(release, [*full, blind], tmp_path, draws=DRAWS).read_text()
    words = "each condition apart: 2 of full, 1 of question-only"
    assert f"{words}|x." in page
    assert f"{words}\\|x." in (tmp_path / "tables" / "leaderboard.md").read_text()


def test_differences_turn_with_the_run_they_are_against(release: Release) -> None:
    (cohort,) = make_cohorts(runs_of(release), DRAWS)
    one, other = (row.run.name for row in cohort.rows[:2])
    forth = [d for d in differences(cohort, one) if d.run == other]
    back = [d for d in differences(cohort, other) if d.run == one]
    assert len(forth) == len(back) == 3 * 9
    for a, b in zip(forth, back, strict=True):
        assert (a.figure, a.p, a.p_holm) == (b.figure, b.p, b.p_holm)
        if a.shown.point is not None:
            assert a.shown.point == -b.shown.point
            assert (a.shown.low, a.shown.high) == (-b.shown.high, -b.shown.low)


def test_unscored_items_give_bounds_and_no_comparison(release: Release, tmp_path: Path) -> None:
    runs = [report_run(release, "gap", 0.7, unanswered=5), report_run(release, "whole", 0.6)]
    (cohort,) = make_cohorts(runs, DRAWS)
    gap = next(row for row in cohort.rows if row.run.manifest.model == "gap")
    shown = gap.figures[Measure.RAW, None]
    assert shown.is_bounds
    assert shown.point is None
    assert shown.low < shown.high
    assert (gap.unscored, gap.ranks, gap.losses, cohort.pairs) == (5, {}, None, ())
    page = write_report(release, runs, tmp_path, draws=DRAWS).read_text()
    assert "unscored: transport or judge" in page


def test_fewer_capabilities_are_labelled(tmp_path: Path) -> None:
    few = (Capability.GROUNDING, Capability.MEMORY)
    release = read_release(make_release(tmp_path / "few", 12, few))
    page = write_report(release, [report_run(release, "m", 0.5)], tmp_path / "out", draws=DRAWS)
    assert "2 of 8 capabilities" in page.read_text()


def test_runs_over_other_items_are_a_cohort_of_their_own(release: Release, tmp_path: Path) -> None:
    memory = report_run(release, "b", 0.6, only=frozenset({Capability.MEMORY}))
    page = write_report(release, [memory, report_run(release, "a", 0.6)], tmp_path, draws=DRAWS)
    assert [row["run"] for row in rows_of(page, "leaderboard")] == ["a (full)"]
    (row,) = rows_of(page, "leaderboard-2")
    assert (row["run"], row["planned"], row["Raw"]) == ("b (full)", "6", "")
    assert "undefined here: no item asks about" in page.read_text()


def test_a_release_of_an_unknown_profile_has_no_domains(tmp_path: Path) -> None:
    release = release_of(tmp_path / "r", 16, profile="none")
    page = write_report(release, [report_run(release, "m", 0.5)], tmp_path / "out", draws=DRAWS)
    assert "Situated Empathic" not in page.read_text()
    assert 'title="Timing"' in page.read_text()


async def baselines(root: Path, *models: str) -> list[Path]:
    import asyncio

    release = read_release(root)
    plan = Plan(release, (), root.parent / "runs", make_policy("full", "matched"))
    settings = load_settings(root)
    async with evaluations(plan, models, settings, load_cards(), asyncio.Event()) as found:
        for one in found:
            await one.finish()
        return [one.folder for one in found]


async def test_run_folders_are_read(tmp_path: Path) -> None:
    folders = await baselines(make_release(tmp_path / "release"), "random", "longest-option")
    release, runs = read_runs([*folders, folders[0]], load_cards())
    names = [one.name for one in runs]
    assert names == ["random (full) #1", "longest-option (full)", "random (full) #2"]
    assert runs[0].notes == ("baseline without a language model",)
    assert runs[0].manifest.items == tuple(runs[0].responses)
    write_report(release, runs, tmp_path / "out", draws=DRAWS)
    with pytest.raises(RunError, match="is not a run"):
        read_runs([tmp_path], load_cards())
    other = make_release(tmp_path / "other", 12)
    with pytest.raises(ReleaseError, match="checksum"):
        read_runs(folders, load_cards(), other)


def test_shared_families_are_noted(release: Release) -> None:
    cards = load_cards()
    manifest = report_run(release, "claude-opus-5", 0.5).manifest
    alike: RunManifest = manifest.model_copy(update={"family": "claude"})
    assert notes_of(alike, release, "claude-opus-5", cards) == ("shares a family with the judge",)
    assert notes_of(alike, release, "judge-27b", cards) == ()
    unknown = manifest.model_copy(update={"family": "unknown"})
    assert notes_of(unknown, release, "no-such-model", cards) == ()


def test_the_command_writes_the_report_of_runs(tmp_path: Path) -> None:
    root = make_release(tmp_path / "release")
    run(tmp_path, "evaluate", str(root), "--model", "random", "--out", str(tmp_path / "runs"))
    folder = str(next((tmp_path / "runs").glob("*random*")))
    out = tmp_path / "out"
    run(tmp_path, "report", folder, "--out", str(out))
    assert "PRIVATE-CUE" not in (out / "index.html").read_text()
    assert (out / "tables" / "leaderboard.tex").exists()
    run(tmp_path, "report", folder, "--out", str(out), "--with-references")
    assert "PRIVATE-CUE" in (out / "index.html").read_text()
    said = run(tmp_path, "report", str(tmp_path), "--out", str(out), expect=1)
    assert "is not a run" in said.stderr


def test_how_replies_were_read_is_told(release: Release, tmp_path: Path) -> None:
    one = report_run(release, "m", 0.5)
    sent = {name: {"media": [{"kind": "image"}] * 3} for name in one.responses}
    page = write_report(release, [replace(one, sent=sent)], tmp_path, draws=DRAWS).read_text()
    assert "144 image, over 48 items" in page
    assert "read 0 of 48 replies" in page


def test_a_long_reply_is_cut_and_says_so(release: Release, tmp_path: Path) -> None:
    one = report_run(release, "m", 0.5)
    long = {
        name: each.model_copy(update={"raw": "x" * 1_000_000})
        for name, each in one.responses.items()
    }
    page = write_report(release, [replace(one, responses=long)], tmp_path, draws=DRAWS)
    assert page.stat().st_size < 3_000_000
    assert "[cut: 20,000 of 1,000,000 characters are shown]" in page.read_text()


def test_every_dagger_is_explained(release: Release, tmp_path: Path) -> None:
    runs = [report_run(release, name, 0.5) for name in ("m", "n")]
    page = write_report(release, runs, tmp_path, draws=DRAWS)
    for table in (page.parent / "tables").glob("*.md"):
        assert "95% interval" not in table.read_text() or FLAGGED in table.read_text()
    assert page.read_text().count(FLAGGED) == 3
