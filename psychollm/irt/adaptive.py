r"""Simulated adaptive tests, which show how many questions adaptive testing saves.

A simulated respondent answers one item at a time. Each item is the most informative one at the
current estimate, which is the posterior mean under a N(0, 1) prior. The test ends when the
posterior SD is small enough or the number of items reaches its limit. With `randomesque`, the next
item is drawn from several of the most informative items, so that respondents see different items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_generator, float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.numbers import percent
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import drawn_answers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AdaptiveTest(Result):
    """Results of simulated adaptive tests.

    Attributes
    ----------
    truth, ability, se : ndarray of shape (respondents,)
        True ability, last estimate and posterior SD of each respondent.
    n_items : int ndarray of shape (respondents,)
        Number of items that each respondent answered.
    exposure : ndarray of shape (items,)
        Proportion of respondents who received each item; NaN for items without estimates.
    path_se, path_error : ndarray of shape (steps,)
        Mean posterior SD and root mean square error after each number of items. Tests that have
        already ended contribute their last estimate.
    random_error : ndarray of shape (steps,)
        Root mean square error after each number of items, with items in random order.
    rmse, bias : float
        Root mean square error and mean error of the last estimates.
    target_se : float
        Posterior SD at which a test ends; 0 if tests end only by the number of items.
    labels : tuple
        Names of the items.
    """

    truth: FloatArray  # (N,)
    ability: FloatArray  # (N,)
    se: FloatArray  # (N,)
    n_items: IntArray  # (N,)
    exposure: FloatArray  # (J,)
    path_se: FloatArray  # (T,)
    path_error: FloatArray  # (T,)
    random_error: FloatArray  # (T,)
    rmse: float
    bias: float
    target_se: float
    labels: Labels  # J

    _AXES = Axes(
        {"n_items": None}, "mean_se=path_se", "rmse=path_error", "rmse_random=random_error"
    )

    def summary(self) -> str:
        """Describe in sentences how many items were used and how large the errors are."""
        reached = float((self.se <= self.target_se).mean()) if self.target_se else float("nan")
        ended = f"{percent(reached)} reached the target standard error {self.target_se:g}. "
        matched = np.flatnonzero(self.random_error <= self.rmse)
        random = f"{matched[0] + 1}" if matched.size else f"more than {self.random_error.size}"
        return (
            f"With {np.median(self.n_items):.0f} items (median of {self.truth.size} simulated "
            f"respondents), the root mean square error of abilities is {self.rmse:.3f}. "
            f"{ended if self.target_se else ''}In random order, {random} items are needed for the "
            f"same error. {int((self.exposure > 0).sum())} of {len(self.labels)} items were used."
        )


def adaptive_test(
    fit: IRTFit,
    *,
    abilities: ArrayLike | None = None,
    max_items: int = 30,
    target_se: float = 0.0,
    randomesque: int = 1,
    n: int = 500,
    rng: RandomState = None,
) -> AdaptiveTest:
    """Simulate an adaptive test with fitted items.

    Parameters
    ----------
    fit : IRTFit
        Fitted items, whose parameters are treated as known.
    abilities : array_like of shape (respondents,), optional
        True abilities, in population SDs; by default `n` draws from N(0, 1).
    max_items : int
        Maximum number of items.
    target_se : float
        Posterior SD at which a test ends.
    randomesque : int
        Number of most informative items from which the next item is drawn.
    n : int
        Number of respondents, if `abilities` are not given.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    AdaptiveTest
        Numbers of items and errors of the simulated tests.

    Raises
    ------
    OptionError
        If an option is out of range.
    ShapeError
        If no item could be fitted.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=(1000, 1)) + np.linspace(-2, 2, 20)
    >>> fit = fit_irt(rng.random(z.shape) < 1 / (1 + np.exp(-1.5 * z)))
    >>> found = adaptive_test(fit, max_items=8, n=200, rng=0)
    >>> bool(found.path_error[-1] < found.random_error[-1])
    True
    """
    max_items = check_count("max_items", max_items)
    randomesque = check_count("randomesque", randomesque)
    n = check_count("n", n, high=DRAWS)
    bank = _bank(fit, target_se)
    generator = check_generator(rng)
    drawn = generator.normal(size=n) if abilities is None else abilities
    truth = np.atleast_1d(float_array(drawn, "abilities"))
    if truth.ndim != 1 or not truth.size or not np.isfinite(truth).all():
        msg = f"abilities={truth.tolist()!r:.80} must be finite numbers, one per respondent"
        raise OptionError(msg)
    steps = min(max_items, bank.n_items)
    answers = drawn_answers(fit.family, bank.parameters, truth, generator)
    chosen = _run(bank, answers, steps, randomesque, target_se, generator)
    at_random = _run(bank, answers, steps, bank.n_items, 0.0, generator)
    last = chosen.mean[:, -1]
    exposure = np.full(len(fit.labels), np.nan)
    exposure[fit.fitted] = chosen.given.mean(axis=0)
    return AdaptiveTest(
        truth=truth,
        ability=last.copy(),
        se=chosen.sd[:, -1].copy(),
        n_items=chosen.given.sum(axis=1),
        exposure=exposure,
        path_se=chosen.sd.mean(axis=0),
        path_error=np.sqrt(((chosen.mean - truth[:, None]) ** 2).mean(axis=0)),
        random_error=np.sqrt(((at_random.mean - truth[:, None]) ** 2).mean(axis=0)),
        rmse=float(np.sqrt(((last - truth) ** 2).mean())),
        bias=float((last - truth).mean()),
        target_se=float(target_se),
        labels=fit.labels,
    )


@dataclass(frozen=True, slots=True)
class _Bank:
    """Curves of items on a grid of abilities."""

    parameters: FloatArray  # (J, p)
    nodes: FloatArray  # (Q,)
    log_weights: FloatArray  # (Q,)
    log_probability: FloatArray  # (J, C, Q)
    information: FloatArray  # (J, Q)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.parameters.shape[0])


@dataclass(frozen=True, slots=True)
class _Run:
    """Estimates after each item, and a mask of the items that were presented."""

    mean: FloatArray  # (N, T)
    sd: FloatArray  # (N, T)
    given: IntArray  # (N, J), 0 or 1


def _bank(fit: IRTFit, target_se: float) -> _Bank:
    """Check the arguments and return the curves of the fitted items."""
    if not fit.fitted.any():
        msg = "fit: no item has an estimate: see its `reasons`"
        raise ShapeError(msg)
    if not 0.0 <= target_se < 1.0:
        msg = f"target_se={target_se!r} must be in [0, 1), in standard deviations of abilities"
        raise OptionError(msg)
    parameters = fit.parameters[fit.fitted]
    grid = grid_for(fit.family, parameters)
    return _Bank(
        parameters,
        grid.nodes,
        grid.log_weights,
        fit.family.log_probabilities(parameters, grid.nodes),
        fit.family.information(parameters, grid.nodes),
    )


def _run(
    bank: _Bank,
    answers: IntArray,
    steps: int,
    randomesque: int,
    target_se: float,
    rng: np.random.Generator,
) -> _Run:
    """Simulate tests in which respondents answer one item at a time."""
    n = answers.shape[0]
    everyone = np.arange(n)
    joint = np.tile(bank.log_weights, (n, 1))
    given = np.zeros((n, bank.n_items), dtype=np.int64)
    mean, sd = np.empty((n, steps)), np.empty((n, steps))
    centre, spread = np.zeros(n), np.ones(n)
    for step in range(steps):
        active = everyone[spread > target_se]
        if active.size:
            item = _choose(bank, centre[active], given[active] > 0, randomesque, rng)
            given[active, item] = 1
            joint[active] += bank.log_probability[item, answers[active, item]]
            centre[active], spread[active] = _moments(joint[active], bank.nodes)
        mean[:, step], sd[:, step] = centre, spread
    return _Run(mean, sd, given)


def _choose(
    bank: _Bank, centre: FloatArray, given: BoolArray, randomesque: int, rng: np.random.Generator
) -> IntArray:
    """Return each respondent's next item, one of the most informative items not yet presented."""
    spacing = bank.nodes[1] - bank.nodes[0]
    place = np.clip(
        ((centre - bank.nodes[0]) / spacing).round().astype(int), 0, bank.nodes.size - 1
    )
    worth = np.where(given, -np.inf, bank.information[:, place].T)
    order = np.argsort(-worth, axis=1, kind="stable")
    left = (~given).sum(axis=1)
    pick = (rng.random(centre.size) * np.minimum(randomesque, left)).astype(np.int64)
    return np.asarray(order[np.arange(centre.size), pick])


def _moments(joint: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and standard deviations from log joint densities (n, Q)."""
    density = np.exp(joint - joint.max(axis=1, keepdims=True))
    density /= density.sum(axis=1, keepdims=True)
    mean = density @ nodes
    return mean, np.sqrt(np.maximum(density @ nodes**2 - mean**2, 0.0))
