"""A 2PL by this library and by other programs: time on one core, distance from the exact maximum.

Each fit runs once untimed, so that compilation and imports are excluded, and then timed (process
CPU time). The result of a program is judged by the log-likelihood at nodes close enough for the
narrowest posterior, and by the largest distance of a slope or intercept from the exact maximum.
For 100 models x 5,000 questions the likelihood alone has no maximum, because some questions
separate the models without error; errors relative to the true values are shown instead.

Needs ``pip install theta-irt mirt girth`` (GPL-free); a program that is not installed is left out.
Run as ``OPENBLAS_NUM_THREADS=1 python -m validation.irt_peers [--large]``, which writes
docs/irt_peers_tables.md.

Takes one minute of CPU by the times in its table, and two with ``--large``, without compilation.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.bench_irt import two_parameter
from psychollm.irt.answers import patterns_of
from psychollm.irt.families import Dichotomous
from psychollm.irt.fit import fit_irt
from psychollm.irt.likelihood import Problem, expectation, grid_for

TABLE = Path(__file__).parents[1] / "docs" / "irt_peers_tables.md"
SMALL = [(10_000, 19), (2_000, 100)]
LARGE = (100, 5_000)
FAMILY = Dichotomous("2pl", "logit")
Fit = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def ours(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit with this library, standard errors included; weak priors below 500 respondents."""
    found = fit_irt(answers)
    return found.slope, found.intercept


def theta(points: int, tolerance: float) -> Fit:
    """Return the fit of theta-irt, without standard errors."""

    def fit(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import theta

        found = theta.fit(answers, n_points=points, tol=tolerance)
        return np.asarray(found.a), -np.asarray(found.a) * np.asarray(found.b)

    return fit


def mirt(points: int, tolerance: float, *, errors: bool) -> Fit:
    """Return the fit of mirt for Python."""

    def fit(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import mirt

        found = mirt.fit_mirt(
            answers, n_quadpts=points, tol=tolerance, compute_standard_errors=errors
        )
        a = np.asarray(found.model.discrimination)
        return a, -a * np.asarray(found.model.difficulty)

    return fit


def girth(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit with girth: 41 nodes, no standard errors."""
    import girth

    found = girth.twopl_mml(answers.T.astype(np.int64))
    return found["Discrimination"], -found["Discrimination"] * found["Difficulty"]


PEERS: list[tuple[str, str, Fit]] = [
    ("psychollm", "psychollm, with standard errors", ours),
    ("theta", "theta-irt, defaults (61 nodes)", theta(61, 1e-4)),
    ("theta", "theta-irt, 121 nodes, tol 1e-8", theta(121, 1e-8)),
    ("mirt", "mirt, defaults (21 nodes), with standard errors", mirt(21, 1e-4, errors=True)),
    ("mirt", "mirt, 61 nodes", mirt(61, 1e-4, errors=False)),
    ("mirt", "mirt, 121 nodes, tol 1e-8", mirt(121, 1e-8, errors=False)),
    ("girth", "girth, defaults (41 nodes)", girth),
]
AT_LARGE = ["psychollm, with", "theta-irt, defaults", "mirt, 61 nodes"]


def log_likelihood(answers: np.ndarray, slope: np.ndarray, intercept: np.ndarray) -> float:
    """Return the marginal log-likelihood at nodes close enough."""
    keep = np.isfinite(slope) & (answers.min(axis=0) < answers.max(axis=0))
    parameters = np.column_stack([slope, intercept])[keep]
    problem = Problem(
        FAMILY, patterns_of(answers[:, keep].astype(np.int64), 2), np.zeros(2), np.zeros(2)
    )
    return expectation(problem, parameters, grid_for(FAMILY, parameters)).log_likelihood


def timed(fit: Fit, answers: np.ndarray, times: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the least CPU seconds of `times` warm fits, and the estimates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope, intercept = fit(answers)
        least = np.inf
        for _ in range(times):
            began = time.process_time()
            slope, intercept = fit(answers)
            least = min(least, time.process_time() - began)
    return least, slope, intercept


def small(size: tuple[int, int]) -> list[str]:
    """Return the rows of a size that has an exact maximum."""
    answers = two_parameter(*size)[0].codes
    exact = fit_irt(answers, priors=None)
    top = log_likelihood(answers, exact.slope, exact.intercept)
    rows = []
    for module, name, fit in PEERS:
        if find_spec(module) is None:
            continue
        spent, slope, intercept = timed(fit, answers, 3)
        loss = top - log_likelihood(answers, slope, intercept)
        far = max(np.abs(slope - exact.slope).max(), np.abs(intercept - exact.intercept).max())
        rows.append(
            f"| {size[0]:,} x {size[1]} | {name} | {spent:.3f} "
            f"| {max(loss, 0.0):.1e} | {far:.1e} |"
        )
        print(rows[-1], flush=True)
    return rows


def large() -> list[str]:
    """Return the rows of few models and many questions."""
    responses, true_slope, true_difficulty, _ = two_parameter(*LARGE)
    answers = responses.codes
    rows = []
    for module, name, fit in PEERS:
        if find_spec(module) is None or not name.startswith(tuple(AT_LARGE)):
            continue
        spent, slope, intercept = timed(fit, answers, 1)
        with np.errstate(all="ignore"):
            difficulty = -intercept / slope
        slopes = np.sqrt(np.nanmean((slope - true_slope) ** 2))
        middle = np.nanmedian(np.abs(difficulty - true_difficulty))
        rows.append(
            f"| {name} | {spent:.1f} | {slopes:.2f} | {np.nanmax(slope):.1f} | {middle:.2f} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="100 models x 5,000 questions too")
    options = parser.parse_args()
    found = [name for name in ("theta-irt", "mirt", "girth") if find_spec(name.split("-")[0])]
    lines = [
        "Versions: " + ", ".join(f"{name} {version(name)}" for name in found) + ".",
        "",
        "| respondents x items | fit | CPU s, warm | log-likelihood below the maximum "
        "| largest deviation of a slope or intercept |",
        "|---|---|---|---|---|",
        *(row for size in SMALL for row in small(size)),
    ]
    if options.large:
        lines += [
            "",
            "100 models x 5,000 questions:",
            "",
            "| fit | CPU s, warm | error of slopes (RMS) | largest slope "
            "| error of difficulties (median) |",
            "|---|---|---|---|---|",
            *large(),
        ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
