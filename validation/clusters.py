"""Cost of work on one core, and the resulting time for a table of 1e10 cells on many cores.

    python -m validation.clusters --page docs/clusters.md

Reading, counting and the replicates of two nulls are timed one at a time on one core, on tables of
up to 1e8 cells. Costs that are linear in cells, pairs x words, pairs and the cube of the models
are fitted to the times of the replicates. The largest table is left out of this fit, to test the
prediction. The figures for 1e10 cells are these costs times its size; they are computed, not
measured. Takes one minute of CPU.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from psychollm._base.replicate import one_blas_thread
from psychollm.data.batches import Rule, Source
from psychollm.data.pair_counts_blocks import read_bits
from psychollm.data.responses import Responses
from psychollm.kernels.pair_counts import count_pairs, count_with_missing
from psychollm.nulls.one_factor import one_factor_null
from psychollm.nulls.permutation import permutation_null
from validation.large_table import write

GRID = [(20, 10_000), (20, 1_000_000), (100, 10_000), (100, 100_000), (400, 10_000), (400, 40_000)]
LARGEST = (1_000, 100_000)
SHAPES = [(100, 100_000_000), (1_000, 10_000_000), (10_000, 1_000_000)]
BEGIN, END = "<!-- validation/clusters.py: begin -->\n", "<!-- validation/clusters.py: end -->\n"


def best(function: Callable[[], object], times: int = 3) -> float:
    """Return the shortest processor time of a few."""
    found = []
    for _ in range(times):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def read_cost() -> float:
    """Nanoseconds per answer, from Parquet to bits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        rows = write(path, 1_000, 4_000, 1.0)
        source = Source(("model", "question", "value"), 1 << 20, Rule(None, strict=True))
        options = {"n_jobs": 1, "progress": False}
        return 1e9 * best(lambda: read_bits(path, source, **options)) / rows


def count_costs() -> tuple[float, float]:
    """Nanoseconds per pair and word of 64 questions: complete tables, and with missing answers."""
    rng = np.random.default_rng(1)
    k, words = 1_000, 1_000
    yes, answered = rng.integers(0, 1 << 63, (2, k, words), dtype=np.uint64)
    out = np.empty((3, k, k))
    complete = best(lambda: count_pairs(yes, out[0]))
    sparse = best(lambda: count_with_missing(yes & answered, answered, *out))
    size = k * (k + 1) / 2 * words
    return 1e9 * complete / size, 1e9 * sparse / size


def answers(k: int, n: int) -> Responses:
    """Return a table with one factor."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=n).astype(np.float32)
    values = np.empty((k, n), dtype=np.int8)
    for row in values:
        row[:] = 0.7 * scores + rng.standard_normal(n, dtype=np.float32) > rng.normal(0, 0.7)
    return Responses(values)


def replicate_seconds(null: Callable[..., object], table: Responses) -> float:
    """Seconds of processor time per replicate: what more replicates add."""

    def run(n: int) -> float:
        start = time.process_time()
        null(table, n_null=n, rng=1, n_jobs=1)
        return time.process_time() - start

    extra, alone = 4, min(run(1), run(1))
    while (more := run(1 + extra) - alone) < 0.5 and extra < 20_000:
        extra *= 4
    return more / extra


def features(k: float, n: float) -> np.ndarray:
    """What the time of a replicate is made of: cells, pairs x words, pairs, cube."""
    return np.array([k * n, k * k / 2 * n / 64, k * k / 2, k**3], dtype=float)


def fitted(null: Callable[..., object]) -> tuple[np.ndarray, float, float]:
    """Return costs, and seconds per replicate of the largest table: measured, predicted."""
    shapes = np.array([features(*shape) for shape in GRID])
    seconds = np.array([replicate_seconds(null, answers(*shape)) for shape in GRID])
    costs, _ = nnls(shapes / seconds[:, None], np.ones(len(GRID)))
    measured = replicate_seconds(null, answers(*LARGEST))
    return costs, measured, float(features(*LARGEST) @ costs)


def words(seconds: float) -> str:
    """Return a time of two or three digits."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"


def table() -> str:
    read, (complete, sparse) = read_cost(), count_costs()
    shuffled, one_factor = fitted(permutation_null), fitted(one_factor_null)
    k0, n0 = LARGEST
    for null, found in (("shuffled", shuffled), ("one factor", one_factor)):
        print(null, "ns per cell, pair and word, pair, cube:", 1e9 * found[0])
    lines = [
        f"Measured on one core: converting Parquet to bits takes {read:.0f} ns per answer;",
        f"counting takes {complete:.2f} ns per pair of models and word of 64 questions",
        f"({sparse:.2f} ns with missing answers). A replicate of {k0:,} models and {n0:,}",
        f"questions takes {shuffled[1]:.2f} s (shuffled within models) and {one_factor[1]:.2f} s",
        f"(one factor); costs fitted to smaller tables predict {shuffled[2]:.2f} s and",
        f"{one_factor[2]:.2f} s.",
        "",
        "Costs computed from these for 1e10 cells, in processor time of one core:",
        "",
        "| models | questions | read | count | bits | counts | replicate, shuffled "
        "| replicate, one factor |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for k, n in SHAPES:
        parts = [
            f"{k:,}",
            f"{n:,}",
            words(k * n * read * 1e-9),
            words(k * (k + 1) / 2 * n / 64 * complete * 1e-9),
            f"{k * n / 4 / 1e9:.1f} GB",
            f"{32 * k * k / 1e9:.2g} GB",
            words(features(k, n) @ shuffled[0]),
            words(features(k, n) @ one_factor[0]),
        ]
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="write the table into this page")
    options = parser.parse_args()
    with one_blas_thread():
        found = table()
    print(found)
    if options.page:
        text = options.page.read_text()
        before, rest = text.split(BEGIN)
        options.page.write_text(before + BEGIN + "\n" + found + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
