"""Coverage of the intervals of loadings of yes/no answers.

Eight items measure one factor. If all thresholds are equal, no cell of a pair's table is empty. If
thresholds alternate between 1.5 and -1.5, the cell of a hard yes and an easy no is nearly always
empty, and the tetrachoric correlation depends on the continuity correction.
"""

from functools import partial

import numpy as np

from psychollm.correlation.polychoric import polychoric
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import loading_errors
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from validation.coverage_cases import Case, Intervals, collected

LOADINGS = np.linspace(0.5, 0.8, 8)
WEAKEST, STRONGEST = 0, 7
REACH = 1.959963984540054


def normal(estimate: float, se: float) -> np.ndarray:
    return np.array([estimate - REACH * se, estimate + REACH * se])


def loadings(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, thresholds: np.ndarray
) -> Intervals:
    del jobs
    names = {"weakest": WEAKEST, "strongest": STRONGEST}

    def one() -> dict[str, np.ndarray]:
        noise = rng.standard_normal((8, n)) * np.sqrt(1 - LOADINGS**2)[:, None]
        latent = LOADINGS[:, None] * rng.standard_normal(n) + noise
        answers = (latent > thresholds[:, None]).astype(int)
        correlation = polychoric(answers)
        solution = factor_analysis(correlation, 1)
        found = {}
        if solution.heywood.any():
            delta = np.full((8, 2), np.nan)
        else:
            covariance = correlation.covariance()
            delta = loading_errors(solution, covariance=covariance).interval[:, 0]
        pairwise, full = pairwise_likelihood(answers), full_information(answers)
        for name, i in names.items():
            found[f"loading_errors, {name}"] = delta[i]
            found[f"pairwise_likelihood, {name}"] = normal(pairwise.loadings[i], pairwise.se[i])
            found[f"full_information, {name}"] = normal(full.loadings[i], full.se_loadings[i])
        return found

    methods = ("loading_errors", "pairwise_likelihood", "full_information")
    truth = {f"{way}, {name}": LOADINGS[i] for way in methods for name, i in names.items()}
    return collected(one, count, truth)


CASES = [
    Case(
        "loadings",
        scenario,
        partial(loadings, thresholds=np.array(thresholds)),
        (300, 1000, 5000),
    )
    for scenario, thresholds in (
        ("all thresholds 0", [0.0] * 8),
        ("all thresholds 1.5", [1.5] * 8),
        ("thresholds 1.5 and -1.5 in turn", [1.5, -1.5] * 4),
    )
]
