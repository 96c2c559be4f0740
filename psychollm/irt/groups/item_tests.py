"""Items tested one by one: with parameters of their own in every group, and without."""

from typing import Literal, NamedTuple

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.groups.fit import inverse_information
from psychollm.irt.groups.population import Groups, Top, information, maximise
from psychollm.irt.groups.reading import GroupAnswers

ItemTest = Literal["lr", "wald"]


class Fitted(NamedTuple):
    """A problem with its maximum."""

    problem: Groups
    top: Top

    @property
    def size(self) -> int:
        """Free parameters."""
        return self.problem.n_parameters


class Tested(NamedTuple):
    """Statistic, degrees of freedom, p-value (3, J) and differences of scores (2, G, J)."""

    tests: FloatArray
    differences: FloatArray


def fitted(answers: GroupAnswers, free: BoolArray, near: Fitted | None = None) -> Fitted:
    """Fit with items in `free` (J,) apart, started from another fit if there is one."""
    problem = answers.model(free)
    if near is None:
        return Fitted(problem, maximise(problem, answers.start(problem.places)))
    x = near.problem.places.with_free(near.top.at.x, problem.places)
    return Fitted(problem, maximise(problem, x))


def tests_of_items(
    answers: GroupAnswers, base: Fitted, free: BoolArray, able: BoolArray, method: ItemTest
) -> Tested:
    """Test items in `able`, each by letting it go, or tying it where the base has it free."""
    from scipy.stats import chi2

    tests = np.full((3, free.size), np.nan)
    differences = np.full((2, len(answers.names), free.size), np.nan)
    if not base.top.convergence.converged:
        return Tested(tests, differences)
    for j in np.flatnonzero(able).tolist():
        larger = base
        if not free[j] or method == "lr":
            other = free.copy()
            other[j] = not free[j]
            neighbour = fitted(answers, other, base)
            larger, smaller = (base, neighbour) if free[j] else (neighbour, base)
        differences[:, :, j] = _differences(larger, j, answers.shares[j])
        tests[:2, j] = _wald(larger, j) if method == "wald" else _ratio(larger, smaller)
    tests[2] = chi2.sf(tests[0], tests[1])
    return Tested(tests, differences)


def _ratio(larger: Fitted, smaller: Fitted) -> tuple[float, float]:
    """Return the likelihood ratio and its degrees of freedom; NaN where a climb failed."""
    df = float(larger.size - smaller.size)
    if not (larger.top.convergence.converged and smaller.top.convergence.converged):
        return float("nan"), df
    return max(2.0 * (larger.top.at.objective - smaller.top.at.objective), 0.0), df


def _wald(larger: Fitted, item: int) -> tuple[float, float]:
    """Return Wald's statistic that one item is the same in all groups."""
    places = larger.problem.places.items[:, item]
    contrasts = []
    for k in np.flatnonzero(~larger.problem.absent[item]):
        own = list(dict.fromkeys(places[:, k].tolist()))
        for place in own[1:]:
            row = np.zeros(larger.top.at.x.size)
            row[place], row[own[0]] = 1.0, -1.0
            contrasts.append(row)
    matrix = np.stack(contrasts)
    problem, top = larger
    known = information(problem, top.at, top.grids)
    spreads = matrix @ inverse_information(known) @ matrix.T
    if not larger.top.convergence.converged or not np.isfinite(spreads).all():
        return float("nan"), float(len(matrix))
    gap = matrix @ larger.top.at.x
    return float(gap @ np.linalg.solve(spreads, gap)), float(len(matrix))


def _differences(larger: Fitted, item: int, shares: FloatArray) -> FloatArray:
    """Return signed and root mean squared differences of expected scores (2, G)."""
    # shares are the scores of the item's answers (C,).
    problem, top = larger
    items, means, sds = problem.unpack(top.at.x)
    out = np.zeros((2, len(items)))
    for g, (own, grid) in enumerate(zip(problem.problems, top.grids, strict=True)):
        nodes = means[g] + sds[g] * grid.nodes
        twice = own.family.select(np.array([item, item]))
        score = shares @ np.exp(twice.log_probabilities(items[[g, 0], item], nodes))
        gap, weight = score[0] - score[1], np.exp(grid.log_weights)
        out[:, g] = weight @ gap, np.sqrt(weight @ gap**2)
    return out
