"""Time the paired bootstrap beside a naive row loop, on the same draws, in one run.

    python benchmarks/bootstrap.py [--draws 10000] [--only-fast]

17 models x 1,000 items x 630 episodes; Raw and Verified of all eight capabilities and their macro
mean, for every model and for all 136 pairs, each with its percentile interval. The naive loop
gathers the rows of the drawn episodes, draw by draw, and takes numpy's mean over them for every
model and capability; the requirement is at most 1/15 of its time. A second loop, whose means are
vectorised over the models, is timed for comparison. All take their intervals from
`numpy.percentile`. Ours also computes ranks and p-values. On a machine that does other work,
compare CPU times, or measure again.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from evaluation.comparisons import Comparison, Measure, compare, figures
from evaluation.episode_table import EpisodeTable
from evaluation.scoring import EvidenceSupport, ItemScore, LogicalIntegrity
from psychemme.vocabulary import Capability, Format

MODELS, ITEMS, EPISODES = 17, 1000, 630
COUNTS = dict(zip(Capability, (186, 320, 97, 72, 97, 94, 61, 73), strict=True))
ALLOWED = 1 / 15


def make_runs() -> dict[str, list[ItemScore]]:
    """Return made-up scores with the capability counts of the paper (Table 7)."""
    rng = np.random.default_rng(7)
    capabilities = [capability for capability, n in COUNTS.items() for _ in range(n)]
    rng.shuffle(capabilities)
    episodes = np.concatenate([np.arange(EPISODES), rng.integers(0, EPISODES, ITEMS - EPISODES)])
    support, logic = list(EvidenceSupport), list(LogicalIntegrity)
    return {
        f"model-{model:02}": [
            ItemScore(
                item_id=f"item-{item:04}",
                episode_id=f"episode-{episodes[item]:03}",
                recording_group=f"group-{episodes[item] // 2:03}",
                capability=capabilities[item],
                format=Format.OPEN,
                a=float(rng.choice([0.0, 0.5, 1.0], p=[0.3, 0.1, 0.6])),
                c=1,
                support=support[rng.integers(5)],
                logic=logic[rng.integers(5)],
            )
            for item in range(ITEMS)
        ]
        for model in range(MODELS)
    }


def ours(runs: dict[str, list[ItemScore]], draws: int) -> Comparison:
    """Return the intervals this package computes."""
    table = EpisodeTable.of(runs, tuple(Capability))
    wanted = figures(tuple(Capability), (Measure.RAW, Measure.VERIFIED))
    return compare(table, wanted, draws)


def plain_means(credit: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return the mean of each capability and model (8, 17) over drawn rows, cell by cell."""
    return np.array([[model[held == k].mean() for model in credit] for k in range(8)])


def vectorised_means(credit: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return the same means, with all models at once."""
    return np.array([credit[:, held == k].mean(axis=1) for k in range(8)])


def row_loop(runs: dict[str, list[ItemScore]], draws: int, means: Callable) -> tuple:
    """Return the bounds (2, 18, 17) and (2, 18, 136) of a row loop."""
    first = next(iter(runs.values()))
    episode_of = np.array([one.episode_id for one in first])
    rows = [np.flatnonzero(episode_of == episode) for episode in np.unique(episode_of)]
    capability = np.array([list(Capability).index(one.capability) for one in first])
    a = np.array([[one.a for one in run] for run in runs.values()])
    v = np.array([[one.v for one in run] for run in runs.values()])
    one, other = np.array(list(combinations(range(MODELS), 2))).T
    singles, pairs = np.empty((draws, 18, MODELS)), np.empty((draws, 18, len(one)))
    indices = np.random.default_rng(42).integers(0, EPISODES, (draws, EPISODES))
    for draw in range(draws):
        taken = np.concatenate([rows[episode] for episode in indices[draw]])
        for place, credit in ((0, a), (9, v)):
            found = means(credit[:, taken], capability[taken])
            singles[draw, place] = found.mean(axis=0)
            singles[draw, place + 1 : place + 9] = found
        pairs[draw] = singles[draw][:, one] - singles[draw][:, other]
    return tuple(np.percentile(drawn, [2.5, 97.5], axis=0) for drawn in (singles, pairs))


def timed(name: str, job: Callable) -> tuple:
    """Return a job's result and wall seconds, and print its time and the memory so far."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = job()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:28} {wall:7.2f} s wall  {cpu:7.2f} s CPU  peak {peak:5.0f} MB", flush=True)
    return result, wall


def main() -> int:
    """Print the times and their ratio; return 1 where it is above what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--only-fast", action="store_true", help="leave the loops out")
    options = parser.parse_args()
    runs = make_runs()
    print(f"draws {options.draws}, models {MODELS}, items {ITEMS}, episodes {EPISODES}")
    found, fast = timed("ours", lambda: ours(runs, options.draws))
    if options.only_fast:
        return 0
    (singles, pairs), slow = timed("naive loop", lambda: row_loop(runs, options.draws, plain_means))
    _, other = timed(
        "loop vectorised over models", lambda: row_loop(runs, options.draws, vectorised_means)
    )
    low = np.array([one.estimate.low for one in found.runs]).reshape(18, MODELS)
    pair_low = np.array([one.difference.low for one in found.pairs]).reshape(18, -1)
    apart = max(np.abs(low - singles[0]).max(), np.abs(pair_low - pairs[0]).max())
    print(f"largest difference of a lower bound {apart:.1e}")
    print(
        f"ratio 1/{slow / fast:.1f} (allowed 1/{1 / ALLOWED:.0f}); vectorised 1/{other / fast:.1f}"
    )
    return 0 if fast <= ALLOWED * slow and apart < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
