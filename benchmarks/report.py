"""Time the full report of 17 models x 1,000 items, with every analysis, and weigh its page.

    python benchmarks/report.py [--models 17] [--items 1000] [--out FOLDER]

Runs are synthetic, and read from one file of responses and one of judgements. Beside the models'
full runs there are the controls of two of them, five people on 300 items, experts who review the
judge, and sorted failures, so that every analysis applies. Returns 1 above the 60 s that are
allowed on 2 cores; on a machine that does other work, look at CPU seconds.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evaluation.analyses.registry import ANALYSES  # noqa: E402
from evaluation.error_categories import scheme  # noqa: E402
from evaluation.inputs import InputPolicy  # noqa: E402
from evaluation.people.rows import FAR, LEVELS, Decision  # noqa: E402
from evaluation.report.analyses import make_study, section_of  # noqa: E402
from evaluation.report.page import write_report  # noqa: E402
from evaluation.report.runs import ReportRun, read_files  # noqa: E402
from psychemme.clients.cards import load_cards  # noqa: E402
from psychemme.release.read import Release, read_release  # noqa: E402
from psychemme.vocabulary import Capability  # noqa: E402
from tests.support.releases import make_release  # noqa: E402
from tests.support.report_runs import report_run  # noqa: E402

ALLOWED = 60
CONTROLS = ("question-only", "asr-only", "visual-only", "single-image")
FRAMES = tuple(f"full+frames-{count}" for count in (0, 8, 32, 64))
HISTORIES = ("none", "mismatched:42", "mismatched:2026", "mismatched:3407")
PEOPLE = ("ada", "ben", "cleo", "dan", "eve")
JUDGE = "judge-27b"


def main() -> int:
    """Print the time of each part and of the whole; return 1 where it is above what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=17)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        root = make_release(work / "release", given.items, profile="psychemme8")
        release = read_release(root)
        runs = [
            report_run(release, f"model-{number:02}", 0.4 + number / 40)
            for number in range(given.models)
        ]
        runs += [one for run in runs[:2] for one in controls(release, run.manifest.model)]
        write_runs(work, runs)
        write_rows(work / "people.jsonl", reviews(runs[0]))
        write_rows(work / "errors.jsonl", (row for run in runs[:17] for row in sorted_errors(run)))
        seconds = full_report(root, work, people(release), given.out or work / "report")
    return int(seconds > ALLOWED)


def write_runs(work: Path, runs: list[ReportRun]) -> None:
    """Write responses and judgements of `runs` as files made elsewhere."""
    write_rows(
        work / "responses.jsonl",
        (
            response.model_dump(mode="json")
            | {"condition": run.manifest.condition, "sent": run.sent[name]}
            for run in runs
            for name, response in run.responses.items()
        ),
    )
    write_rows(
        work / "judgements.jsonl",
        (
            judgement.model_dump(mode="json") | who(run, name) | {"judge": JUDGE}
            for run in runs
            for name, judgement in run.judgements.items()
        ),
    )


def write_rows(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def who(run: ReportRun, name: str) -> dict[str, Any]:
    """Return what names a response."""
    return {
        "item_id": name,
        "model": run.manifest.model,
        "condition": run.manifest.condition,
    }


def people(release: Release) -> list[ReportRun]:
    """Return five people's runs over the first 300 items."""
    asked = tuple(release.questions)[:300]
    return [
        person(report_run(release, f"human {name}", 0.85, failing=0, explains=False), asked)
        for name in PEOPLE
    ]


def person(run: ReportRun, asked: tuple[str, ...]) -> ReportRun:
    """Return a run as one of a person who was asked these items."""
    kept = tuple(item for item in run.scored.items if item.item_id in asked)
    return replace(
        run,
        manifest=run.manifest.model_copy(update={"is_human": True, "items": asked}),
        scored=replace(run.scored, items=kept),
        responses={name: run.responses[name] for name in asked},
    )


def reviews(run: ReportRun) -> Iterator[dict[str, Any]]:
    """Yield what five experts say of 300 judgements, blind and shown, a tenth of those planted."""
    chance = Random(3)
    for name, judgement in islice(run.judgements.items(), 300):
        own = {
            "evidence_support": str(judgement.evidence_support),
            "logical_integrity": str(judgement.logical_integrity),
        }
        planted = chance.random() < 0.1
        levels = [str(level) for level in LEVELS[Decision.EVIDENCE_SUPPORT]]
        at = levels.index(own["evidence_support"])
        shown = chance.choice([level for n, level in enumerate(levels) if abs(n - at) >= FAR])
        for expert in PEOPLE:
            row = who(run, name) | {"expert": expert, "judge": JUDGE}
            seen = own | {"evidence_support": chance.choice((own["evidence_support"], "weak"))}
            yield row | {"kind": "label", "answer_credit": judgement.answer_credit} | seen
            for decision, label in own.items():
                is_planted = planted and decision == "evidence_support"
                yield row | {
                    "kind": "endorse",
                    "decision": decision,
                    "shown": shown if is_planted else label,
                    "planted": is_planted,
                    "endorses": chance.random() < (0.3 if is_planted else 0.9),
                }


def sorted_errors(run: ReportRun) -> Iterator[dict[str, Any]]:
    """Yield a category for every failure of a run."""
    chance, known = Random(run.name), scheme()
    for item in run.scored.items:
        if item.a != 1 and run.responses[item.item_id].answer is not None:
            category = chance.choice(known.ids)
            sorted_by = {"classifier": "c-9b", "scheme": known.label, "category": category}
            yield who(run, item.item_id) | sorted_by


def controls(release: Release, model: str) -> Iterator[ReportRun]:
    """Yield a model's runs under the conditions that are compared."""
    for place, label in enumerate(CONTROLS + FRAMES):
        yield under(label, report_run(release, model, 0.35, seed=place))
    memory = frozenset({Capability.MEMORY})
    for place, history in enumerate(HISTORIES):
        run = report_run(release, model, 0.3, seed=place, only=memory)
        yield under(f"full+history-{history}", run)


def under(label: str, run: ReportRun) -> ReportRun:
    """Return a run as one under the condition `label`."""
    policy = InputPolicy.of_label(label)
    manifest = run.manifest.model_copy(update={"condition": label, "policy": policy})
    scored = replace(run.scored, condition=label)
    return replace(run, name=scored.name, manifest=manifest, scored=scored)


def full_report(root: Path, work: Path, humans: list[ReportRun], out: Path) -> float:
    """Return the wall seconds of the whole, and print those of each part."""
    paths = [work / "responses.jsonl", work / "judgements.jsonl"]
    (release, runs), total = timed("reading", lambda: read_files(root, *paths, load_cards()))
    runs += humans
    study = make_study(release, runs, [work / "people.jsonl"], [work / "errors.jsonl"])
    parts = []
    for name in ANALYSES:
        section, seconds = timed(name, lambda name=name: section_of(name, study))
        if section.analysis is None:
            print(f"  {name}: {section.why}")
        parts.append(section)
        total += seconds
    page, seconds = timed("the rest", lambda: write_report(release, runs, out, analysed=parts))
    total += seconds
    drawn = sum(len(part.analysis.drawings) for part in parts if part.analysis)
    print(
        f"{len(runs)} runs x {len(release.questions)} items: {total:.1f} s wall "
        f"(allowed {ALLOWED}), page {page.stat().st_size / 2**20:.1f} MiB, {drawn} drawings"
    )
    return total


def timed(name: str, job: Callable[[], Any]) -> tuple[Any, float]:
    """Return a job's result and wall seconds, and print its time and the memory so far."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = job()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:14} {wall:6.2f} s wall  {cpu:6.2f} s CPU  peak {peak:5.0f} MB", flush=True)
    return result, wall


if __name__ == "__main__":
    sys.exit(main())
