"""False positive rate and power of the one-factor test.

For every cell of a grid (models, questions, spread of yes rates, loadings, truth) data sets are
simulated, the one-factor model is fitted, and its residual statistic is compared with parametric
bootstrap draws, by the kernels that `psychollm.dimensionality` runs. A cell's row is appended to
the CSV as soon as it is done; a later call with the same arguments continues where this one
stopped. A call with more replicates runs its cells again, and the last row of a cell is used.

    python -m validation.operating_characteristics --replicates 1000 --bootstrap 39 --jobs 2
    python -m validation.operating_characteristics --table docs/operating_characteristics.md

With B bootstrap draws the test (b + 1) / (B + 1) <= 0.05 is exact for B = 19, 39, 59, 99, ...;
more than 39 draws add a little power and do not change the false positive rate. Takes about an
hour of CPU, by the times in its table.
"""

import argparse
import csv
import itertools
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import joblib
import numba
import numpy as np
from scipy.special import ndtri

import psychollm
from psychollm.factor.one_factor.residuals import (
    draw_statistics,
    fitted_residual_eigenvalue,
    start,
)
from psychollm.kernels.one_factor import count_answers, margin_thresholds
from psychollm.kernels.pair_counts import pack_rows

MODELS = (10, 19, 40)
QUESTIONS = (200, 1000, 5000)
RATES = {"moderate": (0.2, 0.8), "extreme": (0.02, 0.98)}
LOADINGS = ("0.5", "0.5-0.95", "0.95")
TRUTHS = (
    ("one", 1.0),
    *itertools.product(("split", "mixed"), (0.8, 0.5, 0.0)),
)
LEVEL = 0.05
SEED = 20261121


@dataclass(frozen=True)
class Cell:
    """One line of the grid; `factors` is "one", or how two groups of models meet thresholds."""

    factors: str
    correlation: float
    models: int
    questions: int
    rates: str
    loadings: str

    def thresholds(self) -> np.ndarray:
        low, high = RATES[self.rates]
        return -ndtri(np.linspace(low, high, self.models))

    def loading_matrix(self) -> np.ndarray:
        """Loadings on two orthogonal axes, shape (models, 2)."""
        size = self._sizes()
        second = self._second_group()
        rest = np.sqrt(1.0 - self.correlation**2)
        first_axis = np.where(second, size * self.correlation, size)
        return np.column_stack([first_axis, np.where(second, size * rest, 0.0)])

    def _sizes(self) -> np.ndarray:
        if self.loadings != "0.5-0.95":
            return np.full(self.models, float(self.loadings))
        spread = np.linspace(0.5, 0.95, self.models)
        return np.random.default_rng(5).permutation(spread)

    def _second_group(self) -> np.ndarray:
        index = np.arange(self.models)
        return index >= self.models // 2 if self.factors == "split" else index % 2 == 1


def grid() -> Iterator[Cell]:
    """Every cell, the null ones first."""
    for (factors, correlation), models, questions, rates, loadings in itertools.product(
        TRUTHS, MODELS, QUESTIONS, RATES, LOADINGS
    ):
        yield Cell(factors, correlation, models, questions, rates, loadings)


def simulate(cell: Cell, rng: np.random.Generator) -> np.ndarray:
    """Simulate the answers (models, questions) of one data set."""
    loadings = cell.loading_matrix()
    rest = np.sqrt(1.0 - np.sum(loadings**2, axis=1))
    latent = loadings @ rng.standard_normal((2, cell.questions))
    latent += rest[:, None] * rng.standard_normal((cell.models, cell.questions))
    return latent > cell.thresholds()[:, None]


def p_value(
    yes: np.ndarray, rng: np.random.Generator, bootstrap: int, answered: np.ndarray | None = None
) -> float:
    """Test one factor in answers (models, questions), some not given."""
    models, questions = yes.shape
    mask = np.empty((0, 0), dtype=np.uint64) if answered is None else pack_rows(answered)
    n = np.full((models, models), float(questions))
    counts = (np.empty_like(n), np.empty_like(n), n)
    count_answers(pack_rows(yes), mask, counts)
    fitted = start(counts)
    observed = fitted_residual_eigenvalue(counts, fitted)
    seeds = rng.integers(0, 2**64, size=(bootstrap, 2), dtype=np.uint64)
    draws = draw_statistics(
        fitted_residual_eigenvalue, fitted, margin_thresholds(counts), questions, mask, n, seeds
    )
    return float((np.sum(draws >= observed) + 1) / (bootstrap + 1))


def run_data_set(cell: Cell, seed: np.random.SeedSequence, bootstrap: int) -> float:
    """Simulate and test."""
    rng = np.random.default_rng(seed)
    return p_value(simulate(cell, rng), rng, bootstrap)


def run_cell(cell: Cell, number: int, replicates: int, bootstrap: int, jobs: int) -> dict:
    """Test `replicates` data sets; the seeds depend on the cell's place in the grid only."""
    seeds = np.random.SeedSequence([SEED, number]).spawn(replicates)
    began = time.process_time()
    batches = np.array_split(np.arange(replicates), min(replicates, 10 * jobs))
    work = (
        joblib.delayed(lambda batch: [run_data_set(cell, seeds[i], bootstrap) for i in batch])(
            batch
        )
        for batch in batches
    )
    p = np.concatenate(joblib.Parallel(n_jobs=jobs, prefer="threads")(work))
    rate = float(np.mean(p <= LEVEL))
    return {
        "cell": number,
        **asdict(cell),
        "replicates": replicates,
        "bootstrap": bootstrap,
        "rejected": int(np.sum(p <= LEVEL)),
        "rate": round(rate, 4),
        "rate_se": round(float(np.sqrt(max(rate * (1 - rate), 1 / replicates) / replicates)), 4),
        "ms_per_test": round(1e3 * (time.process_time() - began) / replicates, 2),
    }


def append(path: Path, row: dict) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        last = {row["cell"]: row for row in csv.DictReader(file)}
    return list(last.values())


def run(options: argparse.Namespace) -> None:
    """Run every cell that the CSV does not hold yet with as many replicates."""
    done = {int(row["cell"]): int(row["replicates"]) for row in read(options.out)}
    for number, cell in enumerate(grid()):
        share = options.replicates if cell.factors == "one" else options.power_replicates
        if done.get(number, 0) >= share or cell.questions not in options.questions:
            continue
        row = run_cell(cell, number, share, options.bootstrap, options.jobs)
        append(options.out, row)
        print(",".join(str(value) for value in row.values()), flush=True)


def table(rows: list[dict]) -> str:
    """Write a Markdown page of all rows: false positives, then power side by side."""
    by_key = {(r["factors"], float(r["correlation"]), *_where(r)): r for r in rows}
    places = sorted({_where(r) for r in rows}, key=lambda w: (int(w[0]), int(w[1]), w[2:]))
    head = ["models", "questions", "yes rates", "loadings", "false positives"]
    head += [f"{kind} {c:g}" for kind, c in TRUTHS[1:]]
    head += ["ms per test"]
    lines = [" | ".join(head), " | ".join(["---:"] * len(head))]
    for place in places:
        null = by_key.get(("one", 1.0, *place))
        values = [*place, _rate(null)]
        values += [_power(by_key.get((*truth, *place))) for truth in TRUTHS[1:]]
        values += ["" if null is None else f"{float(null['ms_per_test']):.0f}"]
        lines.append(" | ".join(values))
    return "\n".join(f"| {line} |" for line in lines)


def _where(row: dict) -> tuple[str, str, str, str]:
    return row["models"], row["questions"], row["rates"], row["loadings"]


def _rate(row: dict | None) -> str:
    if row is None:
        return ""
    return f"{float(row['rate']):.3f} ± {float(row['rate_se']):.3f}"


def _power(row: dict | None) -> str:
    return "" if row is None else f"{float(row['rate']):.2f}"


def page(rows: list[dict]) -> str:
    """Write the whole page, with what was run and on what."""
    null = [row for row in rows if row["factors"] == "one"]
    rates = np.array([float(row["rate"]) for row in null])
    sizes = sorted({int(row["replicates"]) for row in null})
    power_sizes = sorted({int(row["replicates"]) for row in rows if row["factors"] != "one"})
    *most, last = (f"{size:,}" for size in sizes)
    listed = f"{', '.join(most)} or {last}" if most else last
    power_listed = " or ".join(f"{size:,}" for size in power_sizes) or "no"
    draws = " or ".join(sorted({row["bootstrap"] for row in rows}))
    return f"""# Operating characteristics of the one-factor test

The tables show how often `dimensionality` rejects one factor in simulated data, at the nominal 5 %
level.

* **False positive rate**: {listed} one-factor data sets per cell. Over {len(null)} cells the
  rate is {rates.min():.3f} to {rates.max():.3f}, with a mean of {rates.mean():.4f}.
* **Power**: {power_listed} data sets per cell. Half of the models load on one factor and half on
  another; the factors correlate 0.8, 0.5 or 0. In the rows "split", one half contains the models
  with low thresholds; in the rows "mixed", it contains every other model.

Yes rates of models are spaced evenly over 20-80 % (moderate) or 2-98 % (extreme). Each test uses
{draws} bootstrap draws, fewer than the default of `dimensionality`. This reduces power slightly
and does not change the false positive rate. ± is the Monte Carlo standard error, at most .035 for
power. "ms per test" is the processor time of a whole test, including the simulation of the data.

These rates are for the first of two steps of `dimensionality`, the test of one normal factor. For
departures from its assumptions see [What the one-factor test assumes](one_factor_departures.md).

The tables were made by `validation/operating_characteristics.py` with seed {SEED}, psychollm
{psychollm.__version__}, NumPy {np.__version__}, Numba {numba.__version__} and Python
{platform.python_version()}.

{table(rows)}

## The verdict with lapses and guesses

Column **two** gives false positive rates in the one-factor tables, and power in the two-factor
tables. Columns are explained in [What the one-factor test assumes](one_factor_departures.md).

```{{include}} lapses_tables.md
```
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000, help="data sets per null cell")
    parser.add_argument("--power-replicates", type=int, default=200, help="per two-factor cell")
    parser.add_argument("--bootstrap", type=int, default=39, help="draws per test")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--questions", type=int, nargs="+", default=QUESTIONS, help="only cells of these sizes"
    )
    parser.add_argument("--out", type=Path, default=Path("operating_characteristics.csv"))
    parser.add_argument("--table", type=Path, help="write the page of what is done, and stop")
    options = parser.parse_args()
    if options.table is None:
        run(options)
    else:
        options.table.write_text(page(read(options.out)))


if __name__ == "__main__":
    main()
