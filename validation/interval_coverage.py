"""Coverage of the intervals.

Every case simulates data sets from a known distribution, computes the library's intervals, and
counts how many cover the true value. Batches are appended to the CSV as they are done, so that a
later call continues where this one stopped.

    python -m validation.interval_coverage --datasets 1000 --jobs 2
    python -m validation.interval_coverage --only "semantic entropy" --datasets 200
    python -m validation.interval_coverage --table docs/coverage_tables.md

A data set on which a metric is undefined (a resample of 50 questions without an error, say) has no
interval; it is counted separately, and coverage is the proportion among data sets with an
interval.

Takes three to six hours of CPU, extrapolated from one data set in each of 35 of its 246 cells.
"""

import argparse
import csv
import time
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np

from validation.coverage_between import CASES as BETWEEN
from validation.coverage_calibration import CASES as CALIBRATION
from validation.coverage_cases import Case
from validation.coverage_choices import CASES as CHOICES
from validation.coverage_clusters import CASES as CLUSTERS
from validation.coverage_decisions import CASES as DECISIONS
from validation.coverage_factor import CASES as FACTOR
from validation.coverage_reliability import CASES as RELIABILITY
from validation.coverage_semantic import CASES as SEMANTIC
from validation.coverage_tables import write_tables

SIZES = (50, 200, 1000)
BATCH = 50
SEED = 20261121
COUNTS = ("datasets", "covered", "undefined", "flagged", "flagged_covered")
FIELDS = ("family", "scenario", "metric", "n", "batch", *COUNTS)
CSV = Path(__file__).with_name("coverage.csv")

ROOMS: dict[str, list[Case]] = {
    "calibration": [*CALIBRATION, *DECISIONS, *CHOICES, *SEMANTIC, *BETWEEN, *CLUSTERS],
    "factor": FACTOR,
    "reliability": RELIABILITY,
}


def seed_of(case: Case, n: int, batch: int) -> np.random.Generator:
    """Return the stream of one batch: a function of what it is, not of when it runs."""
    name = zlib.crc32(f"{case.family}/{case.scenario}".encode())
    return np.random.default_rng([SEED, name, n, batch])


def done(path: Path) -> set[tuple[str, str, int, int]]:
    """Return the batches that the file holds."""
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {
            (row["family"], row["scenario"], int(row["n"]), int(row["batch"]))
            for row in csv.DictReader(file)
        }


def run_batch(case: Case, n: int, batch: int, *, jobs: int) -> list[dict[str, object]]:
    """Simulate one batch of data sets and count, metric by metric."""
    found = case.run(n, BATCH, seed_of(case, n, batch), jobs)
    rows: list[dict[str, object]] = []
    for metric, (bounds, truth, *rest) in found.items():
        defined = np.isfinite(bounds).all(axis=1)
        short = defined & rest[0] if rest else np.zeros_like(defined)
        # A true value of zero is a sum of many terms, so that it is zero only up to rounding.
        inside = (bounds[:, 0] <= truth + 1e-6) & (truth - 1e-6 <= bounds[:, 1])
        rows.append(
            {
                "family": case.family,
                "scenario": case.scenario,
                "metric": metric,
                "n": n,
                "batch": batch,
                "datasets": int(defined.sum()),
                "covered": int((inside & defined).sum()),
                "undefined": int((~defined).sum()),
                "flagged": int(short.sum()),
                "flagged_covered": int((inside & short).sum()),
            }
        )
    return rows


def run(path: Path, cases: list[Case], *, datasets: int, jobs: int) -> None:
    """Run what is missing, batch by batch, all cases in turn."""
    finished = done(path)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        for batch in range(-(-datasets // BATCH)):
            for case in cases:
                for n in case.sizes or SIZES:
                    if (case.family, case.scenario, n, batch) in finished:
                        continue
                    start = time.perf_counter()
                    writer.writerows(run_batch(case, n, batch, jobs=jobs))
                    file.flush()
                    seconds = time.perf_counter() - start
                    done_now = f"{case.family}/{case.scenario} n={n} batch {batch}"
                    print(f"{done_now}: {seconds:.1f} s", flush=True)


def totals(path: Path) -> dict[tuple[str, str, str, int], tuple[int, ...]]:
    """Return the counts per family, scenario, metric and size."""
    sums: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = (row["family"], row["scenario"], row["metric"], int(row["n"]))
            for column, name in enumerate(COUNTS):
                sums[key][column] += int(row[name] or 0)  # older rows have no flags
    return {key: tuple(value) for key, value in sums.items()}


def chosen(only: str | None) -> list[Case]:
    """Return the cases of a room or of a family; all if None."""
    return [
        case
        for room, cases in sorted(ROOMS.items())
        for case in cases
        if only in {None, room, case.family}
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="cases of one room, or of one family")
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--table", type=Path, help="write the tables and stop")
    options = parser.parse_args()
    if options.table:
        write_tables(totals(options.csv), options.table)
        return
    cases = chosen(options.only)
    if not cases:
        known = sorted({*ROOMS, *(case.family for case in chosen(None))})
        parser.error(f"--only is none of {', '.join(known)}")
    run(options.csv, cases, datasets=options.datasets, jobs=options.jobs)


if __name__ == "__main__":
    main()
