"""Reports and analyses from a release, responses and judgements alone."""

import json
from pathlib import Path

import pytest

from evaluation.report.analyses import make_study, sections
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


@pytest.mark.parametrize(
    "name",
    ["m ", " m", "m  n", "m\u200b", "m\u202e", "m\u00a0n", "m\ufe0f", "m\u3164", "m\n", "m\x1b[0m"],
)
@pytest.mark.parametrize("key", ["model", "condition", "judge"])
def test_names_that_look_like_others_are_refused(
    release: Release, tmp_path: Path, name: str, key: str
) -> None:
    run = report_run(release, "m", 0.6)
    lines, labels = response_lines(run), judgement_lines(run)
    (labels if key == "judge" else lines)[1][key] = name
    with pytest.raises(ScoringError, match=r"jsonl:2: the name .* show nothing"):
        of_files(tmp_path, release, lines, labels)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"item_id": "q0000", "model": "\\ud800", "condition": "full", "raw": ""}', "surrogate"),
        ('{"item_id": "q0000", "model": "m", "model": "n", "condition": "full"}', "stands twice"),
        ('{"item_id": "q0000", "model": "m", "condition": "full", "answer": NaN}', "not a finite"),
    ],
)
def test_a_line_is_read_in_one_way_only(
    release: Release, tmp_path: Path, line: str, fault: str
) -> None:
    (tmp_path / "r.jsonl").write_text(f"{line}\n")
    with pytest.raises(ScoringError, match=rf"r.jsonl:1 is not JSON: .*{fault}"):
        read_files(release.root, tmp_path / "r.jsonl", None, load_cards())


def test_a_byte_order_mark_is_no_fault(release: Release, tmp_path: Path) -> None:
    made = report_run(release, "m", 0.6)
    files = [
        write(tmp_path / "r.jsonl", response_lines(made)),
        write(tmp_path / "j.jsonl", judgement_lines(made)),
    ]
    for path in files:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    _, (run,) = read_files(release.root, *files, load_cards())
    assert run.scored.items == made.scored.items


def test_judges_with_and_without_a_name_are_told(release: Release, tmp_path: Path) -> None:
    run = report_run(release, "m", 0.6)
    labels = [*judgement_lines(run), *judgement_lines(run, "")]
    with pytest.raises(ConfigError, match=r"judged by a judge without a name, judge-27b\."):
        of_files(tmp_path, release, response_lines(run), labels)
    (found,) = of_files(tmp_path, release, response_lines(run), labels, judge="")
    assert found.scored.items == run.scored.items


def test_analyses_of_files_say_what_is_missing_and_voting_needs_no_judge(
    release: Release, tmp_path: Path
) -> None:
    made = [report_run(release, name, 0.6) for name in ("m", "n")]
    lines = [line for run in made for line in response_lines(run)]
    judged = of_files(
        tmp_path, release, lines, [line for run in made for line in judgement_lines(run)]
    )
    runs = of_files(tmp_path, release, lines, [])
    bare, whole = (
        {one.name: one for one in sections(make_study(release, found, draws=20))}
        for found in (runs, judged)
    )
    unjudged = sum(not item.scored for item in runs[0].scored.items)
    assert bare["retention"].left_out
    assert bare["retention"].why == (
        f"m (full): {unjudged} of 48 items are unscored (not_judged {unjudged}). "
        "Add the lines that are missing to --responses and --judgements."
    )
    assert not bare["modality"].left_out
    assert bare["voting"].analysis == whole["voting"].analysis


def test_a_section_lists_the_runs_that_took_part(release: Release, tmp_path: Path) -> None:
    made = [report_run(release, name, 0.6) for name in ("m", "n")]
    lines = [line for run in made for line in response_lines(run)]
    lines += response_lines(made[0], "asr-only")
    labels = [line for run in made for line in judgement_lines(run)]
    labels += [line | {"condition": "asr-only"} for line in judgement_lines(made[0])]
    runs = of_files(tmp_path, release, lines, labels)
    found = {one.name: one for one in sections(make_study(release, runs, draws=20))}
    taken = {name: [run.name for run in one.runs] for name, one in found.items()}
    assert taken["modality"] == ["m (asr-only)", "m (full)"]
    assert taken["retention"] == ["m (full)", "n (full)"]
    assert set(found["modality"].analysis.runs) == set(taken["modality"])
