"""Measure tetrachoric correlations and their nulls, and write docs/pairs_tables.md.

    python -m benchmarks.pairs [--sizes 19x10000 ...]

Times are the least of several runs on one thread, in seconds of the processor. Tables solved
one at a time and together are timed in turn. The bound of one pair counts the fewest evaluations
of the integrand: 8 nodes at the start, 4 in each of two steps, and three densities, each with one
exponential function. The bound of a replicate adds, per model and 64 questions, six random words,
and one AND and one population count for each pair. R's packages solve the same tables in the same
run (`validation.compare_with_r`).
"""

import argparse
import io
import platform
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numba import njit

import psychollm as psy
from benchmarks.growth import fastest, rates
from benchmarks.simulated import one_factor
from psychollm.kernels.correlate import correlate_pairs, empty_outputs
from psychollm.kernels.table_inference import OWN_THRESHOLDS
from psychollm.kernels.tetrachoric import correlate_table, thresholds_of
from validation.compare_with_r import compare

ROOT = Path(__file__).resolve().parents[1]
SHAPE = (60, 10_000)
NULLS = ((19, 1_000), (19, 10_000))
REPLICATES = 200
EVALUATIONS = 8 + 2 * 4 + 3
RANDOM_WORDS = 6


@njit
def one_at_a_time(tables: np.ndarray, rho: np.ndarray) -> None:
    """Fill `rho` (m,) with the correlations of tables (m, 6) and their thresholds."""
    for r in range(rho.size):
        row = tables[r]
        tau = (row[4], row[5])
        rho[r] = correlate_table(row[0], row[1], row[2], row[3], tau, 1, OWN_THRESHOLDS)[0]


def counts_of(yes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return joint counts, the yes answers of each row, and the numbers of questions."""
    (k, n), answers = yes.shape, yes.astype(np.float64)
    own = np.repeat(answers.sum(axis=1)[:, None], k, axis=1)
    return answers @ answers.T, own, np.full((k, k), float(n))


def pair_row(kind: str, answers: np.ndarray) -> str:
    """Return the nanoseconds of a pair, one at a time and together."""
    joint, own, n = counts = counts_of(answers == 1)
    tau = thresholds_of(own[:, 0].copy(), np.diag(n).copy())
    i, j = np.tril_indices(len(answers), -1)
    n11, n10, n01 = joint[i, j], (own - joint)[i, j], (own - joint)[j, i]
    n00 = n[i, j] - n11 - n10 - n01
    tables, rho = np.column_stack([n11, n10, n01, n00, tau[i], tau[j]]), np.empty(len(i))
    alone = fastest(lambda: one_at_a_time(tables, rho)) / len(rho)
    out = empty_outputs(*joint.shape)

    def solve() -> None:
        out[0].fill(np.nan)  # others would be kept
        correlate_pairs(counts, tau, 1, OWN_THRESHOLDS, out)

    together = fastest(solve) / len(rho)
    differ = np.abs(out[0][i, j] - rho).max()
    least = EVALUATIONS * rates()["exp"][0]
    return (
        f"| pair, {kind} | {alone:.0f} ns | {together:.0f} ns | {alone / together:.1f} | "
        f"{least:.0f} ns | {differ:.0e} |"
    )


def null_row(models: int, questions: int) -> str:
    """Return the microseconds of a shuffled replicate."""
    responses = psy.Responses(one_factor(models, questions))

    def draw(n_null: int) -> float:
        began = time.process_time()
        psy.permutation_null(responses, n_null=n_null, rng=1)
        return time.process_time() - began

    draw(10)
    spent = min(draw(REPLICATES + 10) - draw(10) for _ in range(5)) / REPLICATES
    pairs, words = models * (models - 1) / 2, -(-questions // 64)
    word, exp = rates()["word"][0], rates()["exp"][0]
    least = words * (RANDOM_WORDS * models + 2 * pairs) * word + EVALUATIONS * pairs * exp
    size = f"{models} x {questions:,}"
    return f"| null replicate, {size} | | {spent * 1e6:.0f} µs | | {least / 1e3:.0f} µs | |"


def page(sizes: list[str]) -> str:
    """Return the tables."""
    answers = one_factor(*SHAPE)
    shuffled = np.random.default_rng(1).permuted(answers, axis=1)
    rows = [pair_row("independent answers", shuffled), pair_row("one factor", answers)]
    rows += [null_row(*size) for size in NULLS]
    peers = io.StringIO()
    with redirect_stdout(peers):
        compare(sizes, 1)
    table = [line for line in peers.getvalue().splitlines() if line.startswith("|")]
    lines = [
        f"{platform.machine()}, one thread; Python {platform.python_version()}, NumPy "
        f"{np.__version__}; {datetime.now(tz=UTC):%d %B %Y}.",
        "",
        "| | one at a time | together | ratio | bound | largest difference |",
        "|:---|---:|---:|---:|---:|---:|",
        *rows,
        "",
        "The same tables in R, in the same run:",
        "",
        *table,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", default=["19x1000", "19x10000"])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pairs_tables.md")
    options = parser.parse_args()
    options.out.write_text(page(options.sizes), encoding="utf-8")


if __name__ == "__main__":
    main()
