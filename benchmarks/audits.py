"""Audit 100,000 items: seconds of each audit, seconds of all, peak memory, and how both grow.

    python -m benchmarks.audits [--items 100000]

A tenth of the items is audited first. Nothing compares all pairs, so that ten times the items take
about ten times as long; the requirement is all audits within five minutes of one core's time, in
less than 4 GB with the items, and at most twenty times as long as a tenth. The last round has one
question asked of every item, where each pair is a near-duplicate.
"""

import argparse
import resource
import sys
import time

from construction.audits.registry import AUDITS
from construction.audits.similar import SIMILAR_AUDITS
from construction.audits.values import AuditItem, AuditSettings
from tests.support.audit_items import clean_items

ALLOWED_SECONDS, ALLOWED_MB, ALLOWED_GROWTH = 300, 4096, 20


def letters(number: int) -> str:
    """Return a word for a number; other digits would make other questions."""
    return "".join(chr(97 + int(digit)) for digit in str(number))


def peak() -> float:
    """Return the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(items: list[AuditItem], audits: tuple = AUDITS) -> float:
    """Print the wall and CPU seconds of each audit; return the sum of CPU seconds."""
    walls, cpus = 0.0, 0.0
    for audit in audits:
        wall, cpu = time.perf_counter(), time.process_time()
        found = audit.run(items, AuditSettings())
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        walls, cpus = walls + wall, cpus + cpu
        tail = f"{found.count:>7,} of {found.of:,}"
        print(f"  {audit.name:20} {wall:7.2f} s  CPU {cpu:7.2f} s  {tail}", flush=True)
    print(f"  {'all':20} {walls:7.2f} s  CPU {cpus:7.2f} s  peak {peak():,.0f} MB", flush=True)
    return cpus


def main() -> int:
    """Print the times; return 1 where they are above what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    count = parser.parse_args().items
    items = clean_items(count)
    print(f"{count:,} items made, {peak():,.0f} MB held by them")
    print(f"{count // 10:,} items")
    tenth = timed(items[: count // 10])
    print(f"{count:,} items")
    whole = timed(items)
    print(f"{count:,} items of one question")
    alike = [
        i.model_copy(update={"question": f"{items[0].question} {letters(n)}"})
        for n, i in enumerate(items)
    ]
    worst = timed(alike, SIMILAR_AUDITS)
    growth = whole / tenth
    print(f"ten times the items take {growth:.1f} times as long (allowed {ALLOWED_GROWTH})")
    within = max(whole, worst) <= ALLOWED_SECONDS and peak() <= ALLOWED_MB
    return 0 if within and growth <= ALLOWED_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
