"""One optimiser for ``fit_irt`` and ``full_information``: CPU time and change of the estimates.

Three optimisers run from the same start, on the same grid, to the same tolerance: the quasi-Newton
method of `full_information`, that of `fit_irt` in slopes and intercepts, and that of `fit_irt` in
z = artanh loading and threshold. Times are the minimum of many alternating fits. Distances are
those of loadings and thresholds from the optimum, computed to a gradient of 1e-10 in standard
errors. ``python -m validation.one_climb [--repeats 12]`` prints the table. Takes half a minute.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

import psychollm as psy
from psychollm._base.convergence import Convergence
from psychollm.data.pair_counts import CountedAnswers
from psychollm.factor.one_factor import full_information as fi
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.irt.answers import Patterns
from psychollm.irt.climb import OneGrid, Steps, ascend, at
from psychollm.irt.curvature import parts
from psychollm.irt.families import Dichotomous
from psychollm.irt.likelihood import Grid, Problem, expectation
from psychollm.irt.priors import NO_PRIORS
from psychollm.kernels.pairwise_likelihood import BOUND, Z_BOUND

SIZES = ((19, 2_000), (8, 500), (40, 5_000))
TOP, TRIES, DAMPING = 1e-10, 6, (0.01, 0.1, 1.0, 10.0, 100.0)
Climb = Callable[..., tuple[np.ndarray, Convergence]]


@dataclass(frozen=True, slots=True)
class Bounded(Dichotomous):
    """Slopes up to that of the largest loading, intercepts of any size."""

    @property
    def bounds(self) -> np.ndarray:
        """Return the largest values."""
        return np.array([BOUND / np.sqrt(1.0 - BOUND**2), 1e6])


OGIVE = Bounded("2pl", "probit")


def problem_of(patterns: fi.Patterns) -> Problem:
    """Return the answers as a problem of `fit_irt`."""
    yes, no = patterns.yes, patterns.no
    codes = np.where(yes > 0, 1, np.where(no > 0, 0, -1))
    complete = bool(codes.min() >= 0)
    answers = yes if complete else np.stack([no, yes], axis=2).reshape(len(yes), -1)
    of = Patterns(codes, answers, patterns.frequency, patterns.of_question, complete, 2)
    return Problem(OGIVE, of, *OGIVE.prior_arrays(NO_PRIORS))


def table_of(x: np.ndarray) -> np.ndarray:
    """Return slopes and intercepts (k, 2) at z and thresholds (2k,)."""
    z, threshold = x.reshape(2, -1)
    return np.stack([np.sinh(z), -threshold * np.cosh(z)], axis=1)


def in_slopes(
    patterns: fi.Patterns, grid: fi.Grid, start: np.ndarray, *, progress: bool
) -> tuple[np.ndarray, Convergence]:
    """Optimise as `fit_irt` does near the optimum."""
    problem, nodes = problem_of(patterns), Grid(grid.nodes, grid.log_weights)
    steps, point = Steps(fi.MAX_STEPS), at(problem, table_of(start), nodes)
    bar = fi.TOLERANCE * np.sqrt(np.einsum("jpp->jp", point.expected).min())
    top = ascend(OneGrid(problem, nodes), point, steps, tolerance=float(bar))
    slope, intercept = top.point.parameters.T
    x = np.concatenate([np.arcsinh(slope), -intercept / np.sqrt(1.0 + slope**2)])
    return x, steps.ended(top.point, done=top.done)


class Ogives:
    """Log-likelihood, gradient and information at z and thresholds, by those of `fit_irt`."""

    def __init__(self, problem: Problem, grid: Grid, scale: np.ndarray, x: np.ndarray) -> None:
        self.x, table = x, table_of(x)
        state = expectation(problem, table, grid)
        self.objective, k = state.objective, len(table)
        self.own, self.blocks, _ = OGIVE.moments(table, grid.nodes, state.counts)
        self.high, self.flat = np.cosh(x[:k]), np.sinh(x[:k])
        turn = np.zeros((k, 2, 2))  # derivatives of slope and intercept in z and threshold
        turn[:, 0, 0], turn[:, 1, 0], turn[:, 1, 1] = self.high, -x[k:] * self.flat, -self.high
        self.turn, self.gradient = turn, np.einsum("jp,jpa->aj", self.own, turn).ravel()
        self.pieces = partial(parts, problem, table, grid, state.counts, self.blocks, rough=True)
        self.reach = np.repeat([Z_BOUND, np.inf], k)
        self.free = (np.abs(x) < fi.NEAR * self.reach) | (self.gradient * x <= 0.0)
        self.steepness = float(np.abs(self.gradient / scale)[self.free].max(initial=0.0))

    def information(self) -> np.ndarray:
        """Return the observed information (2k, 2k)."""
        pieces, k = self.pieces(), len(self.own)
        items, whole = range(k), -pieces.missing
        whole.reshape(k, 2, k, 2)[items, :, items] += self.blocks
        own = whole.reshape(k, 2, k, 2)
        total = np.einsum("jpa,jpkq,kqb->ajbk", self.turn, own, self.turn)
        along = self.own[:, 1] * self.flat
        total[0, items, 0, items] -= self.own[:, 0] * self.flat
        total[0, items, 0, items] += self.own[:, 1] * self.x[k:] * self.high
        total[0, items, 1, items] += along
        total[1, items, 0, items] += along
        return total.reshape(2 * k, 2 * k)


class Factor:
    """The same problem in the form that `ascend` requires, with bounded steps."""

    def __init__(self, patterns: fi.Patterns, grid: fi.Grid, x: np.ndarray) -> None:
        nodes = Grid(grid.nodes, grid.log_weights)
        products = fi._evaluate(patterns, grid, x)[2]
        self.scale = np.sqrt(np.maximum(np.diagonal(products), 1e-9))
        self.at = partial(Ogives, problem_of(patterns), nodes, self.scale)

    def matrix(self, point: Ogives) -> np.ndarray:
        """Return the information."""
        return point.information()

    def newton(self, point: Ogives, matrix: np.ndarray, damping: float = 0.0) -> Ogives | None:
        """Return the point after a step, shortened if necessary; None if no step improves."""
        free = point.free
        whole = np.where(free[:, None] & free, matrix, np.eye(free.size))
        whole += np.diag(damping * self.scale**2)
        try:
            step = cho_solve(cho_factor(whole, lower=True), np.where(free, point.gradient, 0.0))
        except np.linalg.LinAlgError:
            return None
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
        for halving in range(TRIES):
            aim = np.clip(point.x + 0.5**halving * step, -point.reach, point.reach)
            reached = self.at(aim)
            if reached.objective >= point.objective - 1e-13 * abs(point.objective):
                return reached
        return None

    def em(self, point: Ogives, steps: Steps) -> Ogives | None:
        """Return the point after a step with enough damping to improve."""
        matrix = point.information()
        reached = (self.newton(point, matrix, damping) for damping in DAMPING)
        return next((one for one in reached if one is not None), None)


def in_loadings(
    patterns: fi.Patterns,
    grid: fi.Grid,
    start: np.ndarray,
    *,
    progress: bool,
    tolerance: float = fi.TOLERANCE,
) -> tuple[np.ndarray, Convergence]:
    """Optimise as `fit_irt` does, in z and thresholds."""
    factor, steps = Factor(patterns, grid, start), Steps(fi.MAX_STEPS)
    top = ascend(factor, factor.at(start), steps, tolerance=tolerance)
    return top.point.x, steps.ended(top.point, done=top.done)


def tables() -> Iterator[tuple[str, object]]:
    """Yield the tables by name."""
    for k, n in SIZES:
        rng = np.random.default_rng(k)
        truth = {"loadings": rng.uniform(0.4, 0.9, k), "thresholds": rng.normal(0.0, 0.5, k)}
        yield f"{k} x {n:,}", psy.simulate_factor(**truth, n_questions=n, rng=1).responses
    made = psy.simulate_factor(**truth, n_questions=1_000, missing=0.2, rng=1)
    yield "40 x 1,000, a fifth missing", made.responses
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(400)
    rows = [factor > cut for cut in (-1, 0, 1)] + [factor + rng.standard_normal(400) > 0]
    yield "4 x 400, a loading of 1", np.array(rows, dtype=int)
    sharp = {"loadings": [0.95] * 40, "thresholds": np.linspace(-2, 2, 40)}
    yield (
        "40 x 300, loadings of .95",
        psy.simulate_factor(**sharp, n_questions=300, rng=1).responses,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=12)
    repeats = parser.parse_args().repeats
    climbs: dict[str, Climb] = {
        "quasi-Newton": fi._climb,
        "slopes": in_slopes,
        "loadings": in_loadings,
    }
    print("| table | climb | ms | times as long | steps | from the top | log-likelihood |")
    print("|---|---|---|---|---|---|---|")
    for name, data in tables():
        answers = CountedAnswers.of(data)
        start = pairwise_likelihood(answers)

        def fitted(climb: Climb) -> fi.FullInformation:
            fi._climb = climb
            return fi.full_information(answers, start=start)  # noqa: B023

        top = fitted(partial(in_loadings, tolerance=TOP))
        least = dict.fromkeys(climbs, np.inf)
        for _ in range(repeats):
            for key, climb in climbs.items():
                begun = time.process_time()
                fitted(climb)
                least[key] = min(least[key], time.process_time() - begun)
        for key, climb in climbs.items():
            fit, ratio = fitted(climb), least[key] / least["quasi-Newton"]
            moved = np.nanmax(np.abs(fit.curves - top.curves))
            print(
                f"| {name} | {key} | {1e3 * least[key]:.2f} | {ratio:.2f} | "
                f"{fit.convergence.iterations} | {moved:.1e} | "
                f"{fit.log_likelihood - top.log_likelihood:+.0e} |",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
