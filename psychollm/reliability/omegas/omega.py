r"""Omega: proportion of total-score variance due to all factors or to a general factor.

Alpha assumes that all items measure one factor with equal loadings. Omega allows different
loadings, a general factor, group factors and unique variance (`omega_fit` has the formulas).
*Omega total* is the reliability of the sum score. *Omega hierarchical* is the proportion of
sum-score variance due to the general factor; it is low if the sum depends on several factors.
*Omega asymptotic* is the limit of this proportion if the number of similar items increases to
infinity.

References
----------
McDonald, R. P. (1999). Test theory: A unified treatment. Erlbaum.

Zinbarg, R. E., Revelle, W., Yovel, I., & Li, W. (2005). Cronbach's alpha, Revelle's beta, and
McDonald's omega-h: Their relations with each other and two alternative conceptualizations of
reliability. Psychometrika, 70, 123-133. https://doi.org/10.1007/s11336-003-0974-7
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_fraction, plain_array
from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels, listed
from psychollm.data.matrix_input import correlation_matrix
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY, less_bias_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Replicates, Resampling, resample
from psychollm.factor.exploratory.extract import check_identified, degrees_of_freedom
from psychollm.reliability.omegas.omega_fit import (
    COEFFICIENTS,
    SUBSCALES,
    OmegaFit,
    OmegaMethod,
    bare_numbers,
    fit_omega,
    no_fit,
    refit_in_blocks,
)
from psychollm.reliability.omegas.omega_of_loadings import coefficient_rows
from psychollm.reliability.scales.alpha_intervals import ResamplingInterval
from psychollm.reliability.scales.moments import (
    Incomplete,
    centred_covariance,
    centred_items,
    correlation,
)
from psychollm.reliability.scales.score_table import (
    ScaleScores,
    ScoreTable,
    scale_scores,
    score_table,
)

if TYPE_CHECKING:
    import pandas as pd

_SINGULAR = 1e-10
_STACK_BYTES = 64_000_000  # size of the correlations unpacked at a time
LOST = 0.5  # largest proportion of improper resamples at which intervals are computed
_BARE = {"alpha", "lambda6"}
_METHOD = "bias-corrected bootstrap over respondents, clipped to [0, 1]"
# With one factor, these coefficients are 0 or 1 by definition, so an interval would be misleading.
_TRIVIAL = {"asymptotic", "explained_common_variance", "specific", "group_specific"}


NAMES = {
    "hierarchical": "omega hierarchical",
    "total": "omega total",
    "asymptotic": "omega asymptotic",
    "explained_common_variance": "explained common variance",
    "specific": "proportion of group factors",
    "alpha": "standardised alpha",
    "lambda6": "lambda 6",
    "group_total": "omega of subscales",
    "group_general": "proportion of the general factor in subscales",
    "group_specific": "proportion of the group factor in subscales",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Omega(Result):
    """Omega coefficients of one scale, with the factor solution.

    Examples
    --------
    >>> from psychollm.reliability.omegas.omega import omega
    >>> R = np.kron(np.full((3, 3), 0.3) + np.diag([0.3, 0.2, 0.1]), np.ones((3, 3)))
    >>> np.fill_diagonal(R, 1.0)
    >>> found = omega(R)
    >>> found.hierarchical.value.round(4), found.group_general.value.round(4)
    (array([0.7105]), array([0.4091, 0.45  , 0.5   ]))
    """

    hierarchical: Estimate  # (1,) proportion of total-score variance due to the general factor
    total: Estimate  # (1,) reliability of the total score: proportion due to all factors
    asymptotic: Estimate  # (1,) proportion of the explained variance due to the general factor
    explained_common_variance: Estimate  # (1,) Σg² / (Σg² + ΣF²)
    specific: Estimate  # (1,) proportion of total-score variance due to group factors
    alpha: Estimate  # (1,) standardised alpha
    lambda6: Estimate  # (1,) Guttman's lambda 6
    group_total: Estimate  # (factors,) omega of the subscale of each group factor
    group_general: Estimate  # (factors,) part of group_total due to the general factor
    group_specific: Estimate  # (factors,) part of group_total due to the group factor
    general: FloatArray  # (items,) loadings; NaN for a zero-variance item
    groups: FloatArray  # (items, factors)
    uniquenesses: FloatArray  # (items,)
    # (factors, factors) correlations before extracting the general factor
    factor_correlation: FloatArray
    second_order: FloatArray  # (factors,) loadings of factors on the general factor
    member: tuple[Any, ...]  # (items,) subscale of each item
    reversed: BoolArray  # (items,) whether a negative general loading was reversed
    items: tuple[Any, ...]
    n: float  # number of rows; NaN for a matrix
    identified: bool  # whether there are three factors or more
    heywood: bool  # whether a uniqueness of an item or factor is at its bound

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per coefficient; subscales are last."""
        return coefficient_rows(self, NAMES)

    def loadings(self) -> "pd.DataFrame":
        """Return a table of loadings, uniqueness and subscale, with one row per item."""
        import pandas as pd

        table: dict[str, Any] = {"item": list(self.items), "general": self.general}
        names = self.group_total.labels
        table |= dict(zip(names, self.groups.T, strict=True))
        table |= {"uniqueness": self.uniquenesses, "subscale": list(self.member)}
        return pd.DataFrame(table | {"reversed": self.reversed})

    def summary(self) -> str:
        """Return sentences that describe the findings.

        Examples
        --------
        >>> from psychollm.reliability.omegas.omega import omega
        >>> R = np.full((5, 5), 0.5) + 0.5 * np.eye(5)
        >>> print(omega(R, n_factors=1).summary().splitlines()[0])
        Sum-score reliability (omega total) is 0.83.
        """
        m, k = self.groups.shape[1], len(self.items)
        factors = "1 factor" if m == 1 else f"{m} group factors"
        rows = f"{self.n:g} respondents, " if np.isfinite(self.n) else ""
        total, general = self.total, self.hierarchical
        if not np.isfinite(total.value[0]):
            return f"Omega is undefined: {total.flags[0]} ({rows}{k} items, {factors})."
        lines = [
            f"Sum-score reliability (omega total) is {total.text()}.",
            f"The general factor explains {100 * general.value[0]:.0f} % of score variance (omega "
            f"hierarchical {general.text()}).",
            f"{rows}{k} items, {factors}.",
        ]
        notes = dict.fromkeys(str(flag) for flag in (total.flags[0], general.flags[0]) if flag)
        lines += [f"{note[0].upper()}{note[1:]}." for note in notes]
        if m > 1 and np.isfinite(self.n) and np.isnan(total.interval).any():
            lines.append("For an interval of omega total use one factor: n_factors=1.")
        if self.reversed.any():
            turned = listed(
                [item for item, back in zip(self.items, self.reversed, strict=True) if back]
            )
            lines.append(f"Reversed items: {turned}.")
        return "\n".join(lines)


def omega(
    data: Any,
    *,
    n_factors: int = 3,
    method: OmegaMethod = "minres",
    flip: bool = True,
    tolerance: float = 1e-12,
    respondents: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    interval: ResamplingInterval = "jackknife",
    bootstrap: Bootstrap | int = 500,
    level: float = 0.95,
    rng: RandomState = None,
) -> Omega:
    r"""Compute omega total, hierarchical and asymptotic from scores or correlations.

    Parameters
    ----------
    data : Responses, DataFrame or array_like (rows, items), or Correlation, Smoothing, matrix
        Scores of respondents on the items of one scale, or correlations of the items. Correlations
        are a symmetric table with unit diagonal, or an object with ``matrix`` and ``labels``; the
        result then has no intervals. Pearson correlations of binary items are too small: use
        `omega_categorical` or ``omega(tetrachoric(data, of="questions"))`` instead.
    n_factors : int
        Number of group factors. With three or more group factors, the general factor is
        identified. With two group factors, their loadings on the general factor are set equal. A
        single factor is itself the general factor. Solutions with one or two factors are flagged.
    method : {"minres", "ml", "principal_axis"}
        Extraction method: minimum residuals, maximum likelihood or principal axes. Extraction of
        principal axes is slow.
    flip : bool
        Whether to reverse items with negative loadings on the general factor; reversed items are
        flagged. If False, items with negative loadings reduce omega.
    tolerance : float
        Tolerance for principal axes: the iteration stops when the sum of communalities changes by
        less than this value.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements; the jackknife and the bootstrap omit or
        resample whole respondents.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    interval : {"jackknife", "bootstrap"}
        Method for the intervals of alpha, lambda 6 and omega of one factor; the jackknife over
        respondents uses the scale log(1 - omega). Omegas of several factors always use the
        interval, equation (1).
    bootstrap : int or Bootstrap
        Number of resamples of respondents; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Omega
        Coefficients and factor solution; undefined values are NaN with a reason. A Heywood case (a
        uniqueness at its bound) is flagged, because the solution is improper. With several
        factors, intervals are NaN if the solution is improper in the sample or in more than half
        of the resamples. An improper solution indicates too many factors or too few respondents.

    Raises
    ------
    ShapeError
        If the factors are not identified because there are too few items.
    InputError
        If the matrix is not a correlation matrix, or if it is not positive definite and
        ``method="ml"``.
    CodeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid.

    Notes
    -----
    Results agree to 1e-5 with the R package psych 2.2.9 (oblimin rotation,
    Schmid-Leiman, equal general loadings of two factors). For principal axes, psych uses
    ``tolerance=1e-3``.

    With several factors the interval of an omega :math:`\hat\omega` is

    .. math:: \hat\omega - b \pm z \sqrt{s^2 + b^2}.                                      \quad (1)

    The interval is clipped to [0, 1]. Here s is the standard deviation over resamples, and b is
    the mean over resamples minus the estimate. The bias b arises because rotation underestimates
    the factor correlations. ``python -m validation.interval_coverage --only omega`` estimates the
    coverage.

    References
    ----------
    Zinbarg, R. E., Revelle, W., Yovel, I., & Li, W. (2005). Cronbach's alpha, Revelle's beta, and
    McDonald's omega-h: Their relations with each other and two alternative conceptualizations of
    reliability. Psychometrika, 70, 123-133. https://doi.org/10.1007/s11336-003-0974-7

    Schmid, J., & Leiman, J. M. (1957). The development of hierarchical factor solutions.
    Psychometrika, 22(1), 53-61. https://doi.org/10.1007/BF02289209

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 1)) + rng.normal(size=(200, 6))
    >>> found = omega(scores, n_factors=1, bootstrap=0)
    >>> found.total.value.round(2), found.total.method
    (array([0.85]), 'jackknife over respondents, log(1 - x)')
    """
    check_choice("method", method, OmegaMethod)
    n_factors = check_count("n_factors", n_factors)
    check_choice("interval", interval, ResamplingInterval)
    tolerance = check_fraction("tolerance", tolerance)
    settings = _Settings(n_factors, method, flip, tolerance)
    options = Resampling.of(bootstrap, level, rng, interval=interval)
    if _is_matrix(data):
        return _of_matrix(data, settings, level)
    table = score_table(data, respondents=respondents, keys=keys)
    check_identified(len(table.items), n_factors, of="items")
    return _of_scores(table, scale_scores(table, 0, missing), settings, options)


@dataclass(frozen=True, slots=True)
class _Settings:
    """Options of the fit and of its intervals."""

    n_factors: int
    method: OmegaMethod
    flip: bool
    tolerance: float

    def fit(self, matrix: FloatArray) -> OmegaFit | None:
        return fit_omega(matrix, self.n_factors, self.method, self.tolerance)


def _is_matrix(data: Any) -> bool:
    """Return whether data are correlations: a symmetric table with unit diagonal."""
    if hasattr(data, "matrix") and hasattr(data, "labels"):
        return True
    if hasattr(data, "codes"):  # the data are `Responses`
        return False
    array = plain_array(data, "data")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "fiub":
        return False
    ones = bool(np.allclose(np.diagonal(array), 1.0, rtol=0.0, atol=1e-8))
    return ones and bool(np.allclose(array, array.T, rtol=0.0, atol=1e-8, equal_nan=True))


def _of_matrix(data: Any, settings: _Settings, level: float) -> Omega:
    """Return omega of correlations; intervals would require scores of respondents."""
    matrix, items = correlation_matrix(data)
    check_identified(len(matrix), settings.n_factors, of="items")
    fit = settings.fit(matrix)
    if fit is None:
        msg = f"n_factors={settings.n_factors} is too many for the items of the matrix: use fewer"
        raise InputError(msg)
    varying = np.ones(len(items), dtype=np.bool_)
    value = refit_in_blocks(fit, matrix[None], varying[None], flip=settings.flip)[0][0]
    return _Parts(settings, fit, Replicates.unknown(value, level), np.nan).omega(items, varying)


def _of_scores(
    table: ScoreTable, scale: ScaleScores, settings: _Settings, options: Resampling
) -> Omega:
    """Return omega with jackknife or bootstrap intervals over respondents."""
    centred = centred_items(scale.values)
    matrix, varying = _in_place(centred, np.ones(scale.n))
    undefined = _why_undefined(scale, matrix, varying, settings)
    fit = None if undefined else settings.fit(matrix)
    if fit is None:
        reason = undefined or Reason.FEWER_FACTORS
        return _undefined(table, float(scale.n), settings, reason, options.level)

    k = len(varying)
    below = np.tril_indices(k, -1)
    # If there are more pairs of items than respondents, resamples are stored instead of
    # correlations, which are recomputed.
    short = len(table.respondents) < below[0].size

    def packed(counts: FloatArray) -> FloatArray:
        """Return correlations below the diagonal and a mask of varying items, by resample."""
        drawn = [_in_place(centred, row[scale.respondent]) for row in counts]
        return np.stack([np.concatenate([matrix[below], vary]) for matrix, vary in drawn])

    def stacks(rows: FloatArray) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Yield correlation matrices, and masks of varying items, for blocks of resamples."""
        step = max(1, _STACK_BYTES // (8 * k * k))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            yield _unpacked(packed(part) if short else part, below, k)

    def solved(rows: FloatArray, lost: float = 1.0) -> tuple[FloatArray, BoolArray]:
        # Resamples are solved in stacks, because a stack of small problems takes little more time
        # than one problem.
        numbers, proper = [], []
        spare = lost * len(rows)  # number of improper solutions at which the refits stop
        for matrices, vary in stacks(rows):
            share = max(spare, 0.0) / len(matrices)
            found = refit_in_blocks(fit, matrices, vary, flip=settings.flip, lost=share)
            numbers.append(found[0])
            proper.append(found[1])
            spare -= float((~found[1]).sum())
        return np.concatenate(numbers), np.concatenate(proper)

    def bare(rows: FloatArray) -> FloatArray:
        """Return coefficients that require no factor solution, and NaN for other coefficients."""
        found = [bare_numbers(fit, *stack, flip=settings.flip) for stack in stacks(rows)]
        return np.concatenate(found)

    found = resample(np.copy if short else packed, len(table.respondents), options)
    value, several, loose = solved(found.value[None])[0][0], settings.n_factors > 1, Reason.NONE
    left_out = bare(found.left_out) if several else solved(found.left_out)[0]
    draws = found.draws
    if draws is not None and several and (fit.heywood or not fit.converged):
        draws = bare(draws)
    elif draws is not None:
        numbers, proper = solved(draws, LOST if several else 1.0)
        if several and (~proper).mean() > LOST:
            numbers, loose = bare(draws), Reason.IMPROPER
        draws = numbers
    replicates = replace(found, value=value, left_out=left_out, draws=draws)
    parts = _Parts(settings, fit, replicates, float(scale.n), scale.reason, loose)
    return parts.omega(table.items, varying)


def _undefined(
    table: ScoreTable, n: float, settings: _Settings, reason: Reason, level: float
) -> Omega:
    k, m = len(table.items), settings.n_factors
    value = np.full(len(COEFFICIENTS) + len(SUBSCALES) * m, np.nan)
    replicates = Replicates.unknown(value, level)
    fit = no_fit(k, m, settings.method, settings.tolerance)
    varying = np.zeros(k, dtype=np.bool_)
    return _Parts(settings, fit, replicates, n, reason).omega(table.items, varying)


def _in_place(centred: FloatArray, counts: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return correlations of all items (0 for zero-variance items) and a mask of varying items."""
    correlations, varying = correlation(centred_covariance(centred, counts))
    matrix = np.eye(varying.size)
    matrix[np.ix_(varying, varying)] = correlations
    return matrix, varying


def _unpacked(
    rows: FloatArray, below: tuple[IntArray, IntArray], k: int
) -> tuple[FloatArray, BoolArray]:
    matrices = np.repeat(np.eye(k)[None], len(rows), axis=0)
    n_pairs = below[0].size
    matrices[:, below[0], below[1]] = matrices[:, below[1], below[0]] = rows[:, :n_pairs]
    return matrices, rows[:, n_pairs:] == 1.0


def _why_undefined(
    scale: ScaleScores, matrix: FloatArray, varying: BoolArray, settings: _Settings
) -> Reason:
    """Return the reason why the scores have no factor solution."""
    m, k = settings.n_factors, int(varying.sum())
    if scale.n < 3:
        return Reason.FEW_RESPONDENTS
    if not varying.any():
        return Reason.NO_VARIANCE
    if m >= k or degrees_of_freedom(k, m) < 0:
        return Reason.CONSTANT_ITEMS
    if not np.isfinite(matrix).all():
        return Reason.TOO_FEW
    if settings.method == "ml" and np.linalg.eigvalsh(matrix)[0] <= _SINGULAR:
        return Reason.SINGULAR
    return Reason.NONE


@dataclass(frozen=True, slots=True)
class _Parts:
    """Fit and its replicates, which are used to compute all estimates."""

    settings: _Settings
    fit: OmegaFit
    replicates: Replicates
    n: float
    reason: Reason = Reason.NONE  # reason why all coefficients are undefined or qualified
    loose: Reason = Reason.NONE  # reason why several factors have no intervals

    def omega(self, items: Labels, varying: BoolArray) -> Omega:
        """Return the result."""
        fit, hierarchy, m = self.fit, self.fit.hierarchy, self.settings.n_factors
        names = tuple(f"factor_{j + 1}" for j in range(m))
        gone = np.where(varying, 0.0, np.nan)
        keys = np.where(self._turned(), -1.0, 1.0)
        return Omega(
            **self._estimates(names),
            general=hierarchy.general * keys + gone,
            groups=hierarchy.groups * keys[:, None] + gone[:, None],
            uniquenesses=hierarchy.uniquenesses + gone,
            second_order=hierarchy.second_order,
            factor_correlation=fit.factor_correlation,
            member=tuple("" if factor < 0 else names[factor] for factor in fit.member),
            reversed=keys < 0.0,
            items=items,
            n=self.n,
            identified=hierarchy.identified,
            heywood=fit.heywood,
        )

    def _estimates(self, names: Labels) -> dict[str, Estimate]:
        estimates = {
            name: self._estimate(name, slice(row, row + 1), ("all",), "condition")
            for row, name in enumerate(COEFFICIENTS)
        }
        m = len(names)
        for row, name in enumerate(SUBSCALES):
            start = len(COEFFICIENTS) + row * m
            estimates[name] = self._estimate(name, slice(start, start + m), names, "factor")
        return estimates

    def _estimate(self, name: str, rows: slice, labels: Labels, axis: str) -> Estimate:
        part = self.replicates.each(rows)
        several = self.settings.n_factors > 1 and name not in _BARE
        flags = tuple(self._flag(name, bool(np.isfinite(value))) for value in part.value)
        estimate = part.estimate(
            NAMES[name],
            scale=None if several and part.draws is not None else RELIABILITY,
            over="respondents",
            n=np.full(part.value.size, self.n),
            flags=flags,
            labels=labels,
            axis=axis,
        )
        if name in _BARE or np.isnan(self.n):
            return estimate
        if several:
            bounds, method = np.full(estimate.interval.shape, np.nan), "none: no resamples"
            if part.draws is not None:
                bounds = less_bias_interval(part.value, part.draws, part.options.level)
                method = _METHOD
            return replace(estimate, interval=bounds, method=method, flags=flags)
        if name in _TRIVIAL:
            blank = np.full(estimate.value.shape, np.nan)
            return replace(estimate, se=blank, interval=np.stack([blank, blank], axis=-1))
        low, high = np.clip(estimate.interval, 0.0, 1.0).T
        held = (low <= estimate.value) & (estimate.value <= high)
        bounds = np.where(held[:, None], np.stack([low, high], axis=-1), np.nan)
        return replace(estimate, interval=bounds)

    def _flag(self, name: str, defined: bool) -> Reason:  # noqa: FBT001
        """Return the reason why a coefficient is undefined or flagged."""
        fit = self.fit
        if np.isnan(fit.pattern).any():
            return self.reason
        if name in _BARE:
            undefined = Reason.SINGULAR if name == "lambda6" else Reason.NO_VARIANCE
            return self.reason if defined else undefined
        empty = Reason.EMPTY_SUBSCALE if name in SUBSCALES else Reason.NO_VARIANCE
        cases = (
            (not defined, empty),
            (name != "total" and not fit.hierarchy.identified, Reason.NOT_IDENTIFIED),
            (fit.heywood, Reason.HEYWOOD),
            (not fit.converged, Reason.NOT_CONVERGED),
            (bool(self.loose), self.loose),
            (bool(self._turned().any()), Reason.NEGATIVE_ITEMS),
        )
        return next((reason for holds, reason in cases if holds), self.reason)

    def _turned(self) -> BoolArray:
        """Return the mask of reversed items (items,)."""
        return np.asarray(self.settings.flip & (self.fit.hierarchy.general < 0.0))
