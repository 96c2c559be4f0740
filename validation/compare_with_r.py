"""Compare tetrachoric correlations of psychollm with those of R's psych, lavaan and polycor.

Every program reads the same CSV files in one run. Errors of psychollm are relative to thirty-digit
arithmetic, on pairs drawn at random. Errors of the R packages are distances from psychollm's
matrix, over pairs without an empty cell, for which all programs estimate the same quantity. Takes
one minute of CPU.

    python validation/compare_with_r.py
    python validation/compare_with_r.py --sizes 19x10000 50x10000 100x5000 200x2000 --repeats 1
"""

import argparse
import csv
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import psychollm as psy  # noqa: E402
from benchmarks.simulated import one_factor  # noqa: E402

# CPU seconds of the compiled kernels of EGAnet 2.5.0 (C) and EFAtools 1.0.0.9000 (C++), called
# directly on tables of the same shapes; they were measured once, on another day, when psych 2.2.9
# took the seconds in the first line, and do not belong to this run.
QUOTED = {
    "psych 2.2.9 (then)": {"19x10000": 0.098, "50x10000": 0.7, "100x5000": 2.59, "200x2000": 9.17},
    "EGAnet 2.5.0": {"19x10000": 0.006, "50x10000": 0.037, "100x5000": 0.074, "200x2000": 0.124},
    "EFAtools 1.0.0": {"19x10000": 0.006, "50x10000": 0.04, "100x5000": 0.081, "200x2000": 0.155},
}


def median_seconds(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return median CPU and elapsed seconds; short calls are repeated until measurable."""
    start = time.perf_counter()
    call()
    loops = max(1, int(0.05 / max(time.perf_counter() - start, 1e-7)))
    cpu, elapsed = [], []
    for _ in range(repeats):
        began, clock = time.process_time(), time.perf_counter()
        for _ in range(loops):
            call()
        cpu.append((time.process_time() - began) / loops)
        elapsed.append((time.perf_counter() - clock) / loops)
    return statistics.median(cpu), statistics.median(elapsed)


def exact_error(correlation: psy.correlation.Correlation, pairs: int = 20) -> float:
    """Return the largest error in rho over some pairs, by one step of 30-digit Newton."""
    k = len(correlation.labels)
    rng = np.random.default_rng(1)
    empty = correlation.counts.empty_cells() > 0
    rows, columns = np.nonzero(np.tril(~empty, -1))
    chosen = rng.choice(rows.size, min(pairs, rows.size, k * (k - 1) // 2), replace=False)
    return max(newton_step(correlation, rows[c], columns[c]) for c in chosen)


def newton_step(correlation: psy.correlation.Correlation, i: int, j: int) -> float:
    """Return how far a 30-digit Newton step moves the estimate of one pair."""
    with mpmath.workdps(30):
        counts = correlation.counts
        n = mpmath.mpf(counts.n[i, j])
        h, k = (
            -mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(counts.yes[a, b]) / n - 1)
            for a, b in ((i, j), (j, i))
        )

        def density(r: mpmath.mpf) -> mpmath.mpf:
            exponent = (h * h - 2 * r * h * k + k * k) / (2 * (1 - r * r))
            return mpmath.exp(-exponent) / (2 * mpmath.pi * mpmath.sqrt(1 - r * r))

        rho = mpmath.mpf(correlation.matrix[i, j])
        independent = mpmath.ncdf(-h) * mpmath.ncdf(-k)
        both = independent + mpmath.quad(density, [0, rho / 2, rho])
        return float(abs((both - counts.joint[i, j] / n) / density(rho)))


def run_r(folder: Path, repeats: int, cases: list[str]) -> list[dict[str, str]]:
    """Return the times that the R script measured; none, with a reason, where it cannot run."""
    program = shutil.which("Rscript")
    if program is None:
        print("R skipped: Rscript is not on the path (Debian: r-cran-psych, -lavaan, -polycor)")
        return []
    script = Path(__file__).with_suffix(".R")
    subprocess.run([program, str(script), str(folder), str(repeats), *cases], check=True)
    times = folder / "times.csv"
    if not times.exists():
        print("R skipped: none of psych, lavaan and polycor is installed")
        return []
    with times.open(newline="") as file:
        return list(csv.DictReader(file))


def distance(path: Path, correlation: psy.correlation.Correlation) -> float:
    """Return the largest distance of a matrix from ours, over pairs without an empty cell."""
    other = np.loadtxt(path, delimiter=",", skiprows=1)
    usable = np.tril(correlation.counts.empty_cells() == 0, -1)
    return float(np.max(np.abs(other - correlation.matrix)[usable]))


def compare(sizes: list[str], repeats: int) -> None:
    """Print one table: program, size, seconds, error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = {}
        print("| program | models x questions | CPU s | elapsed s | largest error |")
        print("|---|---|---|---|---|")
        for size in sizes:
            answers = one_factor(*map(int, size.split("x")))
            header = ",".join(f"m{i}" for i in range(len(answers)))
            path = folder / f"{size}.csv"
            np.savetxt(path, answers.T, fmt="%d", delimiter=",", header=header, comments="")
            table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int16).T
            responses = psy.Responses(table)
            ours[size] = psy.tetrachoric(responses)
            cpu, elapsed = median_seconds(lambda r=responses: psy.tetrachoric(r), repeats)
            error = exact_error(ours[size])
            print(f"| psychollm | {size} | {cpu:.5f} | {elapsed:.5f} | {error:.1e} |", flush=True)
        for row in run_r(folder, repeats, sizes):
            size, method = row["case"], row["method"]
            error = distance(folder / f"{size}.{method}.csv", ours[size])
            label = f"{row['package']} ({method})"
            cpu, elapsed = float(row["cpu"]), float(row["elapsed"])
            print(f"| {label} | {size} | {cpu:.3f} | {elapsed:.3f} | {error:.1e} |")
    print(
        "\nQuoted, CPU seconds (compiled kernels alone; measured on another day, not in this run)"
    )
    for program, seconds in QUOTED.items():
        print(
            f"  {program:<20}", *(f"{s}: {seconds.get(s, float('nan'))}" for s in sizes), sep="  "
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", default=["19x10000", "50x10000"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    compare(options.sizes, options.repeats)


if __name__ == "__main__":
    main()
