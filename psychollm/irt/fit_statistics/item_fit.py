r"""Fit statistics of single items: S-X2, infit, outfit and Zh.

S-X2 (Orlando & Thissen, 2000) compares the proportion of each answer c with its expectation, at
each sum score s except the lowest and highest:

.. math:: E_{jsc} = \frac{\int P_{jc}(\theta) f_{(j)}(s - c | \theta)\,d\Phi}
                         {\int f(s | \theta)\,d\Phi},                                 \quad (1)

where f is the distribution of sum scores (Lord & Wingersky's recursion) with and without the item.
Cells are merged until no expected count is below 1. For binary items, neighbouring scores are
merged; for other items, neighbouring answers at one score (Kang & Chen, 2008). Only respondents
without missing answers are used.

References
----------
Orlando, M., & Thissen, D. (2000). Likelihood-based item-fit indices for dichotomous item response
theory models. Applied Psychological Measurement, 24(1), 50-64.
https://doi.org/10.1177/01466216000241003

Kang, T., & Chen, T. T. (2008). Performance of the generalized S-X2 item fit index for polytomous
IRT models. Journal of Educational Measurement, 45(4), 391-406.
https://doi.org/10.1111/j.1745-3984.2008.00071.x

Distributions of sum scores, and tables of answers by sum score.

Lord and Wingersky's recursion adds one item at a time: with curves :math:`P_c` of its answers

.. math:: f(s) \leftarrow \sum_c P_c\,f(s - c).                                         \quad (1)

Distributions without each item are found by recursive halving: each half is added to the
distribution of the items outside, then its complement is halved. All terms are positive, nothing
is divided out, and J items take J log J steps instead of J squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.irt.answers import code_range, spread
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.residuals import answer_residuals, mean_squares
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit

SMALLEST = 1.0  # smallest expected count of a cell


def with_item(scores: FloatArray, p: FloatArray) -> FloatArray:
    """Return the distribution of sum scores after adding an item, by equation (1) (C, Q)."""
    n = scores.shape[0]
    longer = np.zeros((n + p.shape[0] - 1, scores.shape[1]))
    for c, curve in enumerate(p):
        longer[c : c + n] += scores * curve
    return longer


def score_distribution(curves: Sequence[FloatArray]) -> FloatArray:
    """Return the distribution of sum scores (S + 1, Q) of items, (C, Q) each."""
    full = np.ones((1, curves[0].shape[1]))
    for p in curves:
        full = with_item(full, p)
    return full


def without_each(curves: Sequence[FloatArray]) -> Iterator[tuple[int, FloatArray]]:
    """Yield each item with the distribution of sum scores of all other items."""
    pending = [(0, len(curves), np.ones((1, curves[0].shape[1])))]
    while pending:
        low, high, outside = pending.pop()
        if high - low == 1:
            yield low, outside
            continue
        middle = (low + high) // 2
        left, right = outside, outside
        for p in curves[middle:high]:
            left = with_item(left, p)
        for p in curves[low:middle]:
            right = with_item(right, p)
        pending += [(middle, high, right), (low, middle, left)]


def merged_yes(yes: FloatArray, expected: FloatArray, n: FloatArray) -> tuple[float, int]:
    """Return X2 and the number of cells, after merging scores until expected counts suffice."""
    cells = [list(row) for row in zip(yes, expected, n, strict=True)]
    while len(cells) > 1:
        small = [min(e, m - e) for _, e, m in cells]
        worst = int(np.argmin(small))
        if small[worst] >= SMALLEST:
            break
        # merge towards the middle, where counts are large
        other = worst + 1 if worst < len(cells) / 2 and worst + 1 < len(cells) else worst - 1
        cells[other] = [x + y for x, y in zip(cells[other], cells[worst], strict=True)]
        del cells[worst]
    total = sum((o - e) ** 2 * m / (e * (m - e)) for o, e, m in cells if 0.0 < e < m)
    return float(total), len(cells)


def merged_answers(observed: FloatArray, expected: FloatArray) -> tuple[float, int]:
    """Return X2 and the number of free cells of a table (S, C), after merging sparse cells."""
    # Neighbouring answers at one score are merged until no expected count is below 1. If only one
    # cell then remains for a score, it is added to the next score towards the middle.
    middle = observed.shape[0] // 2
    both = np.stack([observed, expected], axis=1)  # (S, 2, C)
    low, rest = _grouped(both[:middle])
    high, other = _grouped(both[middle:][::-1])
    groups = [*low, *high]
    if groups:  # add remaining scores in the middle to a neighbouring group
        groups[len(low) - 1 if low else -1] += rest + other
    cells = [_merge(group) for group in groups]
    total = sum(float(((o - e) ** 2 / e).sum()) for o, e in cells)
    return total, sum(group.shape[1] - 1 for group in cells)


def _grouped(rows: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Merge scores from the ends inwards until two cells are large enough."""
    groups, left = [], np.zeros(rows.shape[1:])
    for row in rows:
        left = left + row
        if _merge(left).shape[1] > 1:
            groups.append(left)
            left = np.zeros_like(left)
    return groups, left


def _merge(row: FloatArray) -> FloatArray:
    """Merge adjacent categories at one score (2, C) until expected counts are large enough."""
    cells = row[:, row[1] > 0.0]
    while cells.shape[1] > 1:
        worst = int(np.argmin(cells[1]))
        if cells[1, worst] >= SMALLEST:
            break
        beside = [k for k in (worst - 1, worst + 1) if 0 <= k < cells.shape[1]]
        other = min(beside, key=lambda k: cells[1, k])
        cells[:, other] += cells[:, worst]
        cells = np.delete(cells, worst, axis=1)
    return cells


MOST_ITEMS = 400  # largest number of items for S-X2, whose computing time is quadratic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ItemFit(Result):
    """Fit statistics of each item.

    Attributes
    ----------
    s_x2, df, p_value, rmsea : ndarray of shape (items,)
        S-X2 with degrees of freedom, p-value and RMSEA. S-X2 values are NaN if there are no
        degrees of freedom, or more than 400 items.
    infit, outfit, z_infit, z_outfit, zh : ndarray of shape (items,)
        Infit and outfit mean squares at the posterior means of abilities (expected value 1), their
        z-scores, and the standardised log-likelihood Zh. Mean squares are usually below 1, because
        abilities are estimated from the same answers.
    n_complete : int
        Number of respondents used for S-X2.
    labels : tuple
        Names of the items.
    """

    s_x2: FloatArray  # (J,)
    df: FloatArray  # (J,)
    p_value: FloatArray  # (J,)
    rmsea: FloatArray  # (J,)
    infit: FloatArray  # (J,)
    outfit: FloatArray  # (J,)
    z_infit: FloatArray  # (J,)
    z_outfit: FloatArray  # (J,)
    zh: FloatArray  # (J,)
    n_complete: int
    labels: Labels  # J

    _AXES = Axes(
        {"item": "labels"},
        "s_x2",
        "df",
        "p_value",
        "rmsea",
        "infit",
        "outfit",
        "z_infit",
        "z_outfit",
        "zh",
    )


def item_fit(fit: IRTFit, responses: ResponsesLike) -> ItemFit:
    """Compute S-X2, infit, outfit and Zh of every item.

    Parameters
    ----------
    fit : IRTFit
        Fitted model.
    responses : Responses or table
        The answers used in the fit.

    Returns
    -------
    ItemFit
        Fit statistics of each item.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> item_fit(fit_irt(answers, model="rasch"), answers).df
    array([2., 2., 2., 2., 2.])
    """
    from scipy.stats import chi2

    keep = fit.fitted
    squares = mean_squares(answer_residuals(fit, responses), axis=0)
    codes = codes_for(fit, responses)
    complete = codes[(codes >= 0).all(axis=1)]
    statistic, df = s_x2(fit, complete)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(df > 0, chi2.sf(statistic, df), np.nan)
        rmsea = np.sqrt(np.maximum(statistic - df, 0.0) / (df * max(complete.shape[0] - 1, 1)))
    return ItemFit(
        s_x2=spread(np.where(df > 0, statistic, np.nan), keep),
        df=spread(df, keep),
        p_value=spread(p_value, keep),
        rmsea=spread(np.where(df > 0, rmsea, np.nan), keep),
        infit=spread(squares.infit, keep),
        outfit=spread(squares.outfit, keep),
        z_infit=spread(squares.z_infit, keep),
        z_outfit=spread(squares.z_outfit, keep),
        zh=spread(squares.zh, keep),
        n_complete=complete.shape[0],
        labels=fit.labels,
    )


def s_x2(fit: IRTFit, complete: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return S-X2 and degrees of freedom of the fitted items."""
    parameters = fit.parameters[fit.fitted]
    items = len(parameters)
    free = np.isfinite(parameters).sum(axis=1)  # a shared slope also counts, as in mirt
    statistic, df = np.full(items, np.nan), np.zeros(items)
    if items > MOST_ITEMS or not complete.shape[0]:
        return statistic, df
    grid = grid_for(fit.family, parameters)
    weights = np.exp(grid.log_weights)
    table = np.exp(fit.family.log_probabilities(parameters, grid.nodes))
    low, high = code_range(fit.has_answer[fit.fitted])
    curves = [p[a : b + 1] for p, a, b in zip(table, low, high, strict=True)]
    at_score = score_distribution(curves) @ weights
    complete = complete - low
    totals = complete.sum(axis=1)
    n = np.bincount(totals, minlength=at_score.size)[1:-1].astype(np.float64)
    rate = n / np.maximum(at_score[1:-1], 1e-300)
    for j, others in without_each(curves):
        expected = _expected(others, curves[j], weights)[1:-1] * rate[:, None]
        observed = _observed(totals, complete[:, j], expected.shape)
        if len(curves[j]) == 2:
            statistic[j], cells = merged_yes(observed[:, 1], expected[:, 1], n)
        else:
            statistic[j], cells = merged_answers(observed, expected)
        df[j] = max(cells - free[j], 0)
    return statistic, df


def _expected(others: FloatArray, curves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return probabilities of sum scores and answers (S + 1, C), the numerator of equation (1)."""
    answers, size = curves.shape[0], others.shape[0]
    table = np.zeros((size + answers - 1, answers))
    for c in range(answers):
        table[c : c + size, c] = others @ (weights * curves[c])
    return table


def _observed(totals: IntArray, codes: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """Return counts of each answer at each score except the extremes (S - 1, C)."""
    scores, answers = shape
    flat = np.bincount(totals * answers + codes, minlength=(scores + 2) * answers)
    return flat.reshape(-1, answers)[1 : scores + 1].astype(np.float64)
