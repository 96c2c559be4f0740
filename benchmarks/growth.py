"""Measure how time and memory grow with the table, and write docs/growth_tables.md.

    python -m benchmarks.growth [--only JOB ...] [--largest CELLS] [--before REVISION]

Each job runs in a fresh process with one thread, once on a small table, so that compiled code is
warm, and then on the table that is measured. Time is the processor's, so that other programs on
the machine hardly count. Peak memory is that of the process, with the interpreter, compiled code
and the table. A job that exceeds the limit is stopped. Figures are kept in benchmarks/growth.csv,
so that a run with ``--only`` replaces only its own; ``--before`` fills the columns of an earlier
revision, in a work tree of its own. Another program that does the same as a job, or a part of it,
is measured after the job in the same way (`benchmarks.growth_peers`); its cell is empty if it is
not installed.
"""

import argparse
import csv
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "growth.csv"
FIELDS = ("job", "models", "questions", "before_s", "before_mb", "after_s", "after_mb", "peer_s")
SIZES = ((20, 1_000), (60, 10_000), (300, 30_000))
COUNTED = (*SIZES, (60, 1_000_000))
SMALL = (6, 120)
MEMORY = 10 * 2**30  # bytes; a job that needs more is stopped
THREADS = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
} | {"POLARS_MAX_THREADS": "1"}


# What must be done at least: (name of a rate, how often), by the size of the table.
Least = Callable[[int, int], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another program that does the same as a job, or a part of it."""

    call: str  # a function of `benchmarks.growth_peers`
    does: str  # what the program computes, and what it leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A call whose growth is measured."""

    name: str
    make: Callable[[int, int], tuple[Any, ...]]
    call: Callable[..., object]
    least: Least
    why: str  # how `least` is counted
    peer: Peer | None = None
    sizes: tuple[tuple[int, int], ...] = SIZES


def chances(models: int, questions: int) -> np.ndarray:
    """Return probabilities of right answers of a logistic model with slopes."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0.5, 1.0, (models, 1)) - rng.normal(0.0, 1.2, questions)
    logits *= np.exp(0.3 * rng.normal(size=questions))
    return 1.0 / (1.0 + np.exp(-logits))


def binary(models: int, questions: int) -> tuple[np.ndarray]:
    """Return right (1) and wrong (0) answers."""
    rng = np.random.default_rng(2)
    return ((rng.random((models, questions)) < chances(models, questions)).astype(np.int8),)


def with_gaps(models: int, questions: int) -> tuple[np.ndarray]:
    """Return answers, a fifth of them missing."""
    (answers,) = binary(models, questions)
    absent = np.random.default_rng(3).random(answers.shape) < 0.2
    return (np.where(absent, np.nan, answers),)


def said_and_right(models: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return yes and no before the answer from one factor, and whether the answer is right."""
    from benchmarks.simulated import one_factor

    return one_factor(models, questions, seed=2), one_factor(models, questions, seed=3)


def stated(models: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence in steps of one twentieth, and whether the answer is right."""
    (right,) = binary(models, questions)
    rng = np.random.default_rng(4)
    confidence = rng.beta(4.0, 2.0, size=right.shape) * 0.7 + 0.3 * right
    return np.round(confidence * 20.0) / 20.0, right.astype(np.float64)


def choices(models: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the options that models chose (questions, models), and the key."""
    (right,) = binary(models, questions)
    rng = np.random.default_rng(5)
    key = rng.integers(4, size=questions)
    wrong = (key[:, None] + rng.integers(1, 4, (questions, models))) % 4
    return np.where(right.T == 1, key[:, None], wrong), key


def graded(models: int, questions: int) -> tuple[np.ndarray]:
    """Return scores of questions (rows) by models (columns), of three group factors."""
    rng = np.random.default_rng(6)
    general, groups = rng.normal(size=(questions, 1)), rng.normal(size=(questions, 3))
    noise = rng.normal(size=(questions, models))
    return (general + groups[:, np.arange(models) % 3] + noise,)


def items(models: int, questions: int) -> tuple[np.ndarray]:
    """Return such scores of models (rows) by questions (columns)."""
    return (np.ascontiguousarray(graded(questions, models)[0]),)


def long_file(models: int, questions: int) -> tuple[str]:
    """Write answers as a long table in Parquet and return its path."""
    from validation.large_table import write

    path = Path(tempfile.mkdtemp(dir=os.environ.get("GROWTH_FOLDER"))) / "long.parquet"
    write(path, models, questions, 1.0)
    return (str(path),)


def psy(name: str, **options: Any) -> Callable[..., object]:
    """Return a call of the library by a dotted name, found when it is called."""

    def call(*data: Any) -> object:
        import psychollm

        found: Any = psychollm
        for part in name.split("."):
            found = getattr(found, part)
        return found(*data, **options)

    return call


def peer_of(job: Job) -> Callable[..., object]:
    """Return the call of the peer of a job."""
    from benchmarks import growth_peers  # which an earlier revision does not have

    assert job.peer is not None
    found: Callable[..., object] = getattr(growth_peers, job.peer.call)
    return found


def cells(models: int, questions: int) -> float:
    """Return the number of cells of a table."""
    return float(models) * questions


def pairs(models: int) -> float:
    """Return the number of pairs of models."""
    return models * (models - 1) / 2


OMEGA = Peer(
    "omega",
    "`omega` of R's psych with three group factors, for the table and 500 resamples; without the "
    "jackknife of alpha and lambda 6",
)

JOBS = (
    Job(
        name="read_pair_counts",
        make=long_file,
        call=psy("data.read_pair_counts"),
        least=lambda k, n: {"word": pairs(k) * n / 64},
        why="one AND and one population count for each pair and 64 questions",
        peer=Peer(
            "pair_counts",
            "polars reads the file into a wide table, and NumPy multiplies its transpose by it; "
            "without missing answers and tables larger than memory",
        ),
        sizes=COUNTED,
    ),
    Job(
        name="shared_confidence",
        make=said_and_right,
        call=psy("shared_confidence", rng=1),
        least=lambda k, n: {"word": 4 * 499 * pairs(k) * n / 64},
        why="pair counts of the 499 replicates of each of four nulls",
        peer=Peer(
            "parallel_analysis",
            "`fa.parallel` of R's psych with tetrachoric correlations of the confidence and 499 "
            "resamples under independence; without the other three nulls, correctness and the "
            "bootstrap",
        ),
    ),
    Job(
        name="dimensionality",
        make=lambda k, n: said_and_right(k, n)[:1],
        call=psy("dimensionality", rng=1),
        least=lambda k, n: {"word": 4 * 499 * pairs(k) * n / 64},
        why="pair counts of the 499 replicates of each of four nulls",
        peer=Peer(
            "parallel_analysis",
            "`fa.parallel` of R's psych with tetrachoric correlations and 499 resamples under "
            "independence; without the other three nulls and the test of one factor",
        ),
    ),
    Job(
        name="compare",
        make=binary,
        call=psy("compare", rng=1),
        least=lambda k, n: {"product": k * k * n / 2},
        why="one product for each pair and question (covariances of scores)",
        peer=Peer(
            "paired_tests",
            "`ttest_rel` of SciPy for each pair, with Holm's adjustment by statsmodels; without "
            "simultaneous intervals, ranks and power",
        ),
    ),
    Job(
        name="evaluation_card",
        make=binary,
        call=psy("evaluation_card", rng=1),
        least=lambda k, n: {"product": k * k * n / 2 + k * n * n / 4},
        why="one product for each pair of models and question (covariances of scores), and one in "
        "single precision, which takes half the time, for each pair of questions and model "
        "(duplicates)",
    ),
    Job(
        name="question_audit",
        make=choices,
        call=psy("question_audit", rng=1),
        least=lambda k, n: {"exp": 2 * cells(k, n)},
        why="two fits, each with one logistic function per cell",
        peer=Peer(
            "item_statistics",
            "`score.multiple.choice` of R's psych, which computes frequencies of options, "
            "item-total correlations and alpha; without probabilities of wrong keys",
        ),
    ),
    Job(
        name="predict_answers",
        make=with_gaps,
        call=psy("predict_answers", rng=1),
        least=lambda k, n: {"product": 11 * 54 * cells(k, n)},
        why="eleven fits (five folds of answers, five of models and questions, and all data), "
        "each of which computes the 54 first and second moments of eight factors and an intercept "
        "once per cell",
        peer=Peer(
            "prediction",
            "mirt for Python, one fit of the 2PL (one factor) and its probabilities; without "
            "cross-validation",
        ),
    ),
    Job(
        name="item_bank",
        make=binary,
        call=psy("item_bank", rng=1),
        least=lambda k, n: {"exp": 9 * cells(k, n)},
        why="nine fits (eight folds and all data), each with one logistic function per cell",
    ),
    Job(
        name="calibration_panel",
        make=stated,
        call=psy("calibration.calibration_panel", rng=1),
        least=lambda k, n: {"add": 2000 * cells(k, n)},
        why="one addition for each cell and each of 2,000 resamples",
        peer=Peer(
            "brier_and_auroc",
            "two of the 55 metrics, the Brier score and AUROC of scikit-learn, in SciPy's "
            "`bootstrap` with 2,000 resamples for each model",
        ),
    ),
    Job(
        name="fit_irt",
        make=binary,
        call=psy("fit_irt"),
        least=lambda k, n: {"product": 2 * 61 * cells(k, n)},
        why="one step with 61 nodes, two products per cell and node",
        peer=Peer(
            "two_parameter",
            "mirt for Python, the 2PL by marginal maximum likelihood with 21 nodes; without a "
            "prior, standard errors, and questions on which all models give the same answer",
        ),
    ),
    Job(
        name="omega (models as items)",
        make=graded,
        call=psy("reliability.omega", rng=1),
        least=lambda k, n: {"product": 500 * k * k * n / 2},
        why="covariances of 500 resamples",
        peer=OMEGA,
    ),
    Job(
        name="omega (questions as items)",
        make=items,
        call=psy("reliability.omega", rng=1),
        least=lambda k, n: {"product": 500 * n * n * k / 2},
        why="covariances of 500 resamples",
        peer=OMEGA,
        sizes=((20, 100), (60, 300), (60, 1_000)),
    ),
)


# One process per measurement


def child(job: Job, models: int, questions: int, limit: float, *, peer: bool) -> None:
    """Measure a job or its peer in this process, and print seconds and megabytes."""
    call = peer_of(job) if peer else job.call
    try:
        call(*job.make(*SMALL))
    except ModuleNotFoundError:
        if not peer:
            raise
        print(json.dumps(["", ""]))  # not installed
        return
    data = job.make(models, questions)
    spent = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent + limit + 1), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
    began = used()
    try:
        result = call(*data)
    except MemoryError:
        print(json.dumps(["", f"> {MEMORY / 1e6:.0f}"]))
        return
    seconds = result if isinstance(result, float) else used() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps([f"{seconds:.3g}", f"{peak / 1e6:.0f}"]))


def used() -> float:
    """Return the processor's seconds of this process and of those it waited for."""
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    spent = [resource.getrusage(one) for one in who]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def measured(
    job: Job, models: int, questions: int, limit: float, tree: Path, *, peer: bool = False
) -> tuple[str, str]:
    """Return seconds and megabytes in a fresh process, or the limit that was exceeded."""
    env = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"}
    env |= THREADS
    if tree != ROOT:
        env["NUMBA_CACHE_DIR"] = str(tree / ".numba")
    with tempfile.TemporaryDirectory() as folder:
        env["GROWTH_FOLDER"] = folder
        done = subprocess.run(
            [
                sys.executable, "-W", "ignore", __file__, "--limit", str(limit),
                *(["--peer"] if peer else []), "--child", job.name, str(models), str(questions),
            ],
            cwd=folder, env=env, capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode == -signal.SIGXCPU:
        return f"> {limit:g}", ""
    if done.returncode:
        sys.exit(f"{job.name}, {models} x {questions}:\n{done.stderr}")
    seconds, mb = json.loads(done.stdout.splitlines()[-1])
    return seconds, mb


# The table


@cache
def rates() -> dict[str, tuple[float, str]]:
    """Return nanoseconds per elementary operation on this machine, and how each is measured."""
    rng = np.random.default_rng(0)
    large = np.ones(2**26)
    square = rng.normal(size=(768, 768))
    near = rng.normal(size=8_192)
    words = rng.integers(0, 2**63, 8_192, dtype=np.uint64)
    out, into = np.empty_like(near), np.empty_like(words)
    return {
        "byte": (fastest(large.sum) / large.nbytes, "bytes read, sum of 512 MB"),
        "product": (
            fastest(lambda: square @ square) / square.size**1.5,
            "product of matrices of 768",
        ),
        "exp": (fastest(lambda: np.exp(near, out=out)) / near.size, "`np.exp` of 8,192 numbers"),
        "add": (
            fastest(lambda: np.add(near, near, out=out)) / near.size,
            "sum of two such arrays",
        ),
        "word": (
            fastest(lambda: np.bitwise_and(words, words, out=into)) / words.size,
            "AND of two arrays of 8,192 words",
        ),
    }


def fastest(call: Callable[[], object]) -> float:
    """Return the least nanoseconds of processor time of a call, in several runs."""
    call()
    times, spent = [], 0.0
    while spent < 0.5e9:
        start = time.process_time_ns()
        for _ in range(20):
            call()
        times.append((time.process_time_ns() - start) / 20)
        spent += 20 * times[-1]
    return min(times)


def bound(job: Job, models: int, questions: int) -> float:
    """Return the seconds that the job takes at least."""
    counted = {"byte": cells(models, questions), **job.least(models, questions)}
    return sum(rates()[name][0] * often for name, often in counted.items()) / 1e9


def rows_of(path: Path) -> dict[tuple[str, int, int], dict[str, str]]:
    """Return the kept figures by job and size."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    return {(row["job"], int(row["models"]), int(row["questions"])): row for row in read}


def keep(rows: dict[tuple[str, int, int], dict[str, str]], path: Path) -> None:
    """Write the figures in the order of the jobs."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for job in JOBS:
            for size in job.sizes:
                row = rows.get((job.name, *size))
                if row is not None:
                    writer.writerow({field: row.get(field, "") for field in FIELDS})


def exponents(job: Job, rows: dict[tuple[str, int, int], dict[str, str]]) -> Iterator[str]:
    """Yield for each size the exponent of time in cells since the size before."""
    before: tuple[float, float] | None = None
    for size in job.sizes:
        text = rows.get((job.name, *size), {}).get("after_s", "")
        now = (cells(*size), float(text)) if text and not text.startswith(">") else None
        # Times below a tenth of a second are mostly the cost of a call.
        known = before is not None and now is not None and min(before[1], now[1]) >= 0.1
        yield f"{log(now[1] / before[1]) / log(now[0] / before[0]):.2f}" if known else ""
        before = now


def page(rows: dict[tuple[str, int, int], dict[str, str]]) -> str:
    """Return the tables."""
    measured_ = [f"{name} {ns:.3g} ns ({how})" for name, (ns, how) in rates().items()]
    lines = [
        f"{platform.machine()}, one thread; Python {platform.python_version()}, NumPy "
        f"{np.__version__}; {datetime.now(tz=UTC):%d %B %Y}. A job that "
        "exceeds a limit (>) is stopped; an empty cell was not measured.",
        "",
        "| job | size | before | now | peer | MB | exponent | bound |",
        "|:---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for job in JOBS:
        for size, exponent in zip(job.sizes, exponents(job, rows), strict=True):
            row = rows.get((job.name, *size))
            if row is None:
                continue
            before = row["before_s"]
            if ">" in row["before_mb"]:
                before = f">\u00a0{float(row['before_mb'].strip('> ')) / 1e3:.1f}\u00a0GB"
            lines.append(
                f"| `{job.name}` | {size[0]}\u00a0x\u00a0{size[1]:,} | {before} | "
                f"{row['after_s']} | {row.get('peer_s', '')} | {row['after_mb']} | {exponent} | "
                f"{bound(job, *size):.2g} |"
            )
    lines += ["", "The peers:", ""]
    lines += [f"* `{job.name}`: {job.peer.does}." for job in JOBS if job.peer is not None]
    alone = " or ".join(f"`{job.name}`" for job in JOBS if job.peer is None)
    lines += ["", f"No program is known that does {alone}."]
    lines += ["", "The bound consists of one read of a byte per cell and these operations:", ""]
    lines += [f"* `{job.name}`: {job.why}." for job in JOBS]
    lines += ["", f"Measured in the same run: {'; '.join(measured_)}."]
    return "\n".join(lines) + "\n"


@contextmanager
def earlier(revision: str | None) -> Iterator[Path]:
    """Check out an earlier revision in a folder of its own; without one, yield this tree."""
    if revision is None:
        yield ROOT
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "-q", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[job.name for job in JOBS], metavar="JOB")
    parser.add_argument("--least", type=float, default=0.0, help="cells of the smallest table")
    parser.add_argument("--largest", type=float, default=np.inf, help="cells of the largest table")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds of processor per job")
    parser.add_argument("--peer-limit", type=float, default=150.0, help="likewise per peer")
    parser.add_argument("--before", metavar="REVISION", help="measure an earlier revision instead")
    parser.add_argument("--write", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "growth_tables.md")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, models, questions = options.child
        job = next(job for job in JOBS if job.name == name)
        child(job, int(models), int(questions), options.limit, peer=options.peer)
        return
    rows, when = rows_of(KEPT), "before" if options.before else "after"
    jobs = [job for job in JOBS if not options.only or job.name in options.only]
    with earlier(options.before) as tree:
        for job in [] if options.write else jobs:
            has_peer = job.peer is not None and not options.before
            for size in job.sizes:
                if not options.least <= cells(*size) <= options.largest:
                    continue
                seconds, mb = measured(job, *size, options.limit, tree)
                blank = dict.fromkeys(FIELDS, "")
                blank |= {"job": job.name, "models": str(size[0]), "questions": str(size[1])}
                row = rows.setdefault((job.name, *size), blank)
                row |= {f"{when}_s": seconds, f"{when}_mb": mb}
                print(f"{job.name}, {size[0]} x {size[1]:,}: {seconds} s, {mb} MB", flush=True)
                if not options.before:
                    row["peer_s"] = ""
                if has_peer:
                    spent, needed = measured(job, *size, options.peer_limit, tree, peer=True)
                    row["peer_s"] = spent or (needed and f"{needed} MB")
                    has_peer = ">" not in row["peer_s"]
                    print(f"    peer: {row['peer_s']}", flush=True)
                keep(rows, KEPT)
                if ">" in seconds + mb:
                    break  # larger tables take longer
    options.out.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
