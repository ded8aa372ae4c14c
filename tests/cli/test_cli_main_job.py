"""The main job from clips to candidates, as a curator runs it."""

import json
from pathlib import Path

import pytest

from psychemme.canonical import digest
from tests.support.commands import read, run

CANDIDATE_KEYS = {
    "id",
    "episode_id",
    "capability",
    "format",
    "state",
    "rounds",
    "question",
    "options",
    "answer",
    "cues",
    "maker",
}
CELL_KEYS = {
    "capability",
    "format",
    "source_group",
    "duration_band",
    "target",
    "attempts",
    "accepted",
    "discarded",
    "failed",
    "yield",
    "deficit",
}


@pytest.fixture(scope="session")
def generated(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import shutil

    copy = shutil.copytree(prepared, tmp_path_factory.mktemp("generated") / "workspace")
    run(copy, "generate", "--model", "signal", "--count", "40")
    return Path(copy)


def test_every_clip_is_accounted_for(prepared: Path) -> None:
    clips = read(prepared, "clips", "list")
    assert len(clips) == 5
    assert {clip["status"] for clip in clips} == {"prepared"}
    assert {"id", "path", "status", "reason", "duration"} <= clips[0].keys()


def test_counts_reconcile_in_table_json_and_database(generated: Path) -> None:
    report = read(generated, "coverage")
    totals = report["totals"]
    parts = ("accepted", "discarded", "failed", "pending")
    assert totals["started"] == sum(totals[part] for part in parts) == 40
    assert set(report["cells"][0]) == CELL_KEYS
    for part in ("accepted", "discarded", "failed"):
        assert sum(cell[part] for cell in report["cells"]) == totals[part]
    candidates = read(generated, "candidates", "list")
    for part in parts:
        assert sum(c["state"] == part for c in candidates) == totals[part]
    table = run(generated, "coverage").stdout
    assert f"started 40  accepted {totals['accepted']}" in table


def test_accepted_cues_lie_in_their_episodes_and_match_the_transcript(generated: Path) -> None:
    lengths = {e["id"]: e["duration"] for e in read(generated, "episodes", "list")}
    candidates = read(generated, "candidates", "list")
    accepted = [c for c in candidates if c["state"] == "accepted"]
    assert accepted
    for candidate in accepted:
        assert candidate.keys() >= CANDIDATE_KEYS
        for cue in candidate["cues"]:
            assert set(cue) == {"start", "end", "modality", "description"}
            if cue["modality"] != "history":
                assert 0 <= cue["start"] < cue["end"] <= lengths[candidate["episode_id"]]


def test_one_seed_gives_the_same_bytes(generated: Path, workspace: Path) -> None:
    run(workspace, "generate", "--model", "signal", "--count", "40", "--concurrency", "3")
    again = run(workspace, "candidates", "list", "--json").stdout
    assert again == run(generated, "candidates", "list", "--json").stdout


@pytest.mark.slow
def test_another_seed_gives_other_candidates(generated: Path, workspace: Path) -> None:
    run(workspace, "generate", "--model", "signal", "--count", "40", "--seed", "7")
    assert read(workspace, "candidates", "list") != read(generated, "candidates", "list")


def test_ids_tell_nothing_without_the_shuffle_key(generated: Path, workspace: Path) -> None:
    (workspace / "shuffle.key").write_text("17" * 32)
    run(workspace, "generate", "--model", "signal", "--count", "6")
    found, others = read(workspace, "candidates", "list"), read(generated, "candidates", "list")
    assert {one["id"] for one in found}.isdisjoint(one["id"] for one in others)
    # As the Answer Agent's role could try: it reads id, episode and format.
    tried = {
        digest([42, pick, one["episode_id"], one["capability"], one["format"]])[:16]
        for one in (*found, *others)
        for pick in range(40)
    }
    assert tried.isdisjoint(one["id"] for one in (*found, *others))


def test_a_second_run_says_resume_or_fresh(generated: Path) -> None:
    refused = run(generated, "generate", "--model", "signal", "--count", "40", expect=1)
    assert "--resume" in refused.stderr
    assert "--fresh" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow
def test_fresh_starts_another_run_and_deletes_nothing(workspace: Path) -> None:
    run(workspace, "generate", "--model", "signal", "--count", "6")
    run(workspace, "generate", "--model", "signal", "--count", "5", "--fresh")
    assert read(workspace, "coverage", "--run", "1")["totals"]["started"] == 6
    assert read(workspace, "coverage", "--run", "2")["totals"]["started"] == 5
    assert read(workspace, "coverage")["totals"]["started"] == 11


def test_resume_refuses_what_changed_and_names_it(workspace: Path) -> None:
    run(workspace, "generate", "--model", "signal", "--count", "4")
    run(workspace, "generate", "--resume")
    refused = run(workspace, "generate", "--resume", "--seed", "9", expect=1)
    assert "seed was 42, is 9" in refused.stderr


def test_until_covered_ends_with_every_cell_met_or_infeasible(
    workspace: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "targets:\n"
        "  - {capability: G, format: single, count: 3}\n"
        "  - {capability: W, format: open, count: 1}\n"
        "total: 4\n"
        "sampling: {batch: 2, close_after: 4}\n"
    )
    run(workspace, "generate", "--model", "signal", "--until-covered", "--plan", str(plan))
    report = read(workspace, "coverage")
    met, infeasible = sorted(report["cells"], key=lambda cell: cell["capability"])
    assert met["accepted"] >= 3
    assert (infeasible["accepted"], infeasible["attempts"]) == (0, 4)


def test_show_tells_every_round(generated: Path) -> None:
    one = read(generated, "candidates", "list")[0]
    shown = read(generated, "candidates", "show", one["id"])
    assert shown["outcome"]["state"] == one["state"]
    assert len(shown["rounds"]) == one["rounds"] + 1
    missing = run(generated, "candidates", "show", "nothing", expect=1)
    assert "no candidate 'nothing'" in missing.stderr


def test_report_writes_the_page(generated: Path, tmp_path: Path) -> None:
    done = run(generated, "report", "--out", str(tmp_path / "page"))
    assert (tmp_path / "page" / "index.html").exists()
    assert "index.html" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("generate", "--model", "signal"), 2, "--count"),
        (("generate", "--count", "2"), 1, "--model signal"),
        (("generate", "--resume"), 1, "no run to resume"),
        (("generate", "--model", "nobody", "--count", "2"), 1, "PSYCHEMME_BASE_URL"),
        (("clips", "add", "missing.mp4"), 1, "missing.mp4"),
        (("coverage", "--run", "9"), 1, "no run 9"),
        (("no-such-verb",), 2, "No such command"),
    ],
)
def test_errors_name_value_rule_and_action(
    workspace: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    failed = run(workspace, *words, expect=code)
    assert said in failed.stderr
    assert "Traceback" not in failed.stderr


def test_doctor_names_settings_and_their_origin(prepared: Path) -> None:
    shown = json.loads(run(prepared, "doctor", "--json", PSYCHEMME_SEED="5").stdout)
    assert shown["settings"]["seed"] == {"value": 5, "origin": "environment"}
    assert shown["settings"]["concurrency"]["origin"] == "default"
    assert all(check["ok"] or check["action"] for check in shown["checks"])


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "clips", "list", expect=1)
    assert "psychemme init" in refused.stderr
