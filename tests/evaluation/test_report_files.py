"""Reports and analyses from a release, responses and judgements alone."""

import json
from pathlib import Path

import pytest

from evaluation.report.page import write_report
from evaluation.report.runs import ReportRun, read_files
from evaluation.scoring import ScoringError
from psychemme.clients.cards import load_cards
from psychemme.errors import ConfigError
from psychemme.release.read import Release
from psychemme.vocabulary import Capability
from tests.support.report_runs import release_of, report_run

DRAWS = 200


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release_of(tmp_path_factory.mktemp("release"))


def response_lines(run: ReportRun, condition: str = "full") -> list[dict]:
    return [
        response.model_dump(mode="json") | {"condition": condition, "sent": run.sent[name]}
        for name, response in run.responses.items()
    ]


def judgement_lines(run: ReportRun, judge: str = "judge-27b", repeat: int = 0) -> list[dict]:
    who = {"model": run.manifest.model, "condition": "full", "judge": judge, "repeat": repeat}
    return [
        judgement.model_dump(mode="json") | who | {"item_id": name}
        for name, judgement in run.judgements.items()
    ]


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def of_files(
    tmp_path: Path, release: Release, responses: list[dict], judgements: list[dict], **named: str
) -> list[ReportRun]:
    written = [write(tmp_path / "r.jsonl", responses), write(tmp_path / "j.jsonl", judgements)]
    found, runs = read_files(release.root, *written, load_cards(), **named)
    assert found.checksum == release.checksum
    return runs


def test_runs_of_files_score_as_they_did(release: Release, tmp_path: Path) -> None:
    made = [report_run(release, name, 0.6) for name in ("b", "a")]
    runs = of_files(
        tmp_path,
        release,
        [line for run in made for line in response_lines(run)][::-1],
        [line for run in made for line in judgement_lines(run)],
    )
    assert [run.name for run in runs] == ["a (full)", "b (full)"]
    for run in runs:
        own = next(each for each in made if each.name == run.name)
        assert run.scored.items == own.scored.items
        assert run.sent == own.sent
        assert run.judge == "judge-27b"
        assert run.judgements == own.judgements
        assert set(run.judged) == {("judge-27b", 0)}
        assert run.manifest.items == tuple(sorted(release.questions))
        assert run.manifest.policy.label == "full"
        assert (run.manifest.decoding, run.is_from_file) == (None, True)


def test_every_judge_of_a_file_is_kept_and_one_is_chosen(release: Release, tmp_path: Path) -> None:
    run = report_run(release, "m", 0.6)
    labels = judgement_lines(run) + judgement_lines(run, "other")
    with pytest.raises(ConfigError, match="judged by judge-27b, other"):
        of_files(tmp_path, release, response_lines(run), labels)
    (found,) = of_files(tmp_path, release, response_lines(run), labels, judge="other")
    assert found.judge == "other"
    assert set(found.judged) == {("judge-27b", 0), ("other", 0)}


def test_judgements_may_name_no_judge(release: Release, tmp_path: Path) -> None:
    run = report_run(release, "m", 0.6)
    labels = [{k: v for k, v in x.items() if k != "judge"} for x in judgement_lines(run)]
    (found,) = of_files(tmp_path, release, response_lines(run), labels)
    assert found.judge is None
    assert found.scored.items == run.scored.items


def test_a_judgement_of_no_response_is_refused(release: Release, tmp_path: Path) -> None:
    run, other = report_run(release, "m", 0.6), report_run(release, "n", 0.6)
    with pytest.raises(ScoringError, match="judges n \\(full\\), of which there is no response"):
        of_files(tmp_path, release, response_lines(run), judgement_lines(other))


def test_a_condition_is_read_from_its_label(release: Release, tmp_path: Path) -> None:
    """Where history is withheld, the other items were never asked and miss no line."""
    whole = report_run(release, "m", 0.6)
    memory = report_run(release, "m", 0.6, only=frozenset({Capability.MEMORY}))
    lines = [
        *response_lines(whole, "another tool's"),
        *response_lines(memory, "full+history-none"),
        *response_lines(memory, "asr-only"),
    ]
    found = {run.manifest.condition: run for run in of_files(tmp_path, release, lines, [])}
    none, asr, foreign = (
        found[label] for label in ("full+history-none", "asr-only", "another tool's")
    )
    assert none.manifest.policy.history == "none"
    assert set(none.responses) == set(memory.responses)
    assert asr.scored.unscored["missing"] == len(whole.responses) - len(memory.responses)
    assert foreign.manifest.policy.label != foreign.manifest.condition


def test_the_method_claims_only_what_files_say(release: Release, tmp_path: Path) -> None:
    run = report_run(release, "m", 0.6)
    lines = [{k: v for k, v in line.items() if k != "sent"} for line in response_lines(run)]
    runs = of_files(tmp_path, release, lines, judgement_lines(run))
    page = write_report(release, runs, tmp_path / "out", draws=DRAWS).read_text()
    method = page.split('id="measured"')[1]
    assert "full, as its file says: how it was asked is not known" in method
    for claimed in ("1 frame a second", "Decoding", "no media", "512 px"):
        assert claimed not in method
    assert "not recorded" in method
