"""Judgements outlive no reference they were made under; runs are read where nobody can write."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from sqlalchemy import insert
from typer.testing import CliRunner

from evaluation import store
from evaluation.judge import reference_digest
from evaluation.score import score_folder
from evaluation.score_json import compare_runs
from evaluation.scoring import ScoringError
from evaluation.store import RunStore
from psychemme.cli import judge, score  # noqa: F401
from psychemme.cli.app import app
from psychemme.errors import RunError
from psychemme.release.read import Release, read_release
from psychemme.release.rows import ReleaseFacts
from psychemme.release.write import write_release
from tests.support.judges import audit_through, evaluated_run, honest, judge_through
from tests.support.model_server import ModelServer
from tests.support.releases import FACTS

ITEMS = 8


def corrected(release: Release, root: Path, count: int = 2) -> Path:
    """Write the release again as 2.0.0, with other references of its first open items."""
    references = release.references()
    names = [n for n, row in release.questions.items() if not row.format.is_choice][:count]
    for name in names:
        references[name] = references[name].model_copy(update={"answer": "something else"})
    facts = ReleaseFacts.model_validate(FACTS | {"profile": "psychemme8", "version": "2.0.0"})
    rows = [list(part.values()) for part in (release.questions, release.episodes, references)]
    write_release(root, facts, *rows)
    return root


async def test_only_judgements_under_the_references_at_hand_stand(tmp_path: Path) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    first = read_release(tmp_path / "release")
    second = corrected(first, tmp_path / "second")
    assert read_release(second).checksum == first.checksum
    with ModelServer(honest) as server:
        await judge_through(run, server)
        assert score_folder(run).unscored == {}
        before = score_folder(run)
        assert score_folder(run, second).unscored == {"not_judged": 2}
        with pytest.raises(ScoringError, match="different releases"):
            compare_runs(before, score_folder(run, second))
        asked = server.count()
        await judge_through(run, server, release=second)
        assert server.count() == asked + 2
        assert score_folder(run, second).unscored == {}
        lines = (run / "judgements.jsonl").read_text().splitlines()
        references = read_release(second).references()
        assert {row["item_id"]: row["reference"] for row in map(json.loads, lines)} == {
            name: reference_digest(row) for name, row in references.items()
        }
        await judge_through(run, server)
        assert server.count() == asked + 2
    assert score_folder(run) == before


async def test_an_audit_is_about_the_references_at_hand(tmp_path: Path) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    second = corrected(read_release(tmp_path / "release"), tmp_path / "second", 1)
    with ModelServer(honest) as server:
        await judge_through(run, server)
        await audit_through(run, server)
        await judge_through(run, server, release=second)
        asked = server.count()
        await audit_through(run, server, release=second)
        # Where the reference is hidden, the judge sees what it saw before.
        assert server.count() - asked == 2


async def test_judgements_of_earlier_versions_stand_for_the_version_the_run_names(
    tmp_path: Path,
) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    with ModelServer(honest) as server:
        await judge_through(run, server)
    whole = score_folder(run)
    with RunStore(run) as kept:
        references = read_release(tmp_path / "release").references()
        known = {name: {reference_digest(row)} for name, row in references.items()}
        (judged,) = kept.judgements(known).values()
    (run / "run.db").unlink()
    await evaluated_run(tmp_path / "again", ITEMS)
    (tmp_path / "again/runs").joinpath(run.name, "run.db").rename(run / "run.db")
    with RunStore(run) as kept, kept._engine.begin() as connection:
        for name, (text, _) in judged.items():
            row = {"item_id": name, "judge": "judge", "repeat": 0, "judgement_json": text}
            connection.execute(insert(store._earlier_judgements), row)
    assert score_folder(run) == whole
    second = corrected(read_release(tmp_path / "release"), tmp_path / "second")
    assert score_folder(run, second).unscored == {"not_judged": ITEMS}


async def test_a_run_is_read_where_nobody_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    with ModelServer(honest) as server:
        await judge_through(run, server)
        found = score_folder(run)
        monkeypatch.setattr(os, "access", lambda *_: False)
        before = sorted(path.name for path in run.iterdir())
        assert score_folder(run) == found
        assert sorted(path.name for path in run.iterdir()) == before
        with pytest.raises(RunError, match=r"run\.db cannot be written"):
            await judge_through(run, server)
        (run / "run.db-wal").write_bytes(b"x")
        with pytest.raises(RunError, match=r"run\.db-wal beside it"):
            score_folder(run)


async def test_a_damaged_run_names_its_file(tmp_path: Path) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    (run / "run.db").write_bytes(b"no database at all, but long enough to be read as one" * 99)
    with pytest.raises(RunError, match=r"run\.db cannot be used: file is not a database"):
        score_folder(run)


def test_the_audit_skips_what_explains_nothing_and_prints_again_without_an_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSYCHEMME_BASE_URL", raising=False)
    run = asyncio.run(evaluated_run(tmp_path, ITEMS))
    baseline = asyncio.run(evaluated_run(tmp_path, ITEMS, "random"))
    words = ["judge", str(baseline), str(run), "--model", "judge"]
    with ModelServer(honest) as server:
        at = ["--base-url", server.url]
        assert CliRunner().invoke(app, [*words, *at]).exit_code == 0
        first = CliRunner().invoke(app, [*words, *at, "--audit"])
    again = CliRunner().invoke(app, [*words, "--audit"])
    for said in (first, again):
        assert said.exit_code == 0, said.output
        assert "not audited" in said.stderr
        assert "foreign cues" in said.stdout
    alone = CliRunner().invoke(app, ["judge", str(baseline), "--model", "judge", "--audit"])
    assert "no explained response" in str(alone.exception)
    nowhere = CliRunner().invoke(app, ["judge", str(run), "--model", "other"])
    assert "cannot judge" in str(nowhere.exception)


def test_names_keep_their_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "a-very-long-model-name-" * 5
    runs = [
        str(asyncio.run(evaluated_run(tmp_path, ITEMS, f"{name}{end}"))) for end in ("one", "two")
    ]
    words = ["score", *runs, "--allow-unscored", "--intervals"]
    wide = CliRunner().invoke(app, words).stdout
    assert all(wide.count(f" {name}{end} ") == 3 for end in ("one", "two"))
    narrow = CliRunner().invoke(app, words, env={"COLUMNS": "80"}).stdout
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines()[:4])) <= 80
