r"""`measurement_invariance`: nested multi-group models with increasing equality constraints.

The difference of two uncorrected statistics is distributed as a weighted sum of chi-squares. With
derivatives :math:`\Delta_1` of the larger model, :math:`\Delta_0` of the smaller model, :math:`P =
\Delta_1^\top W \Delta_1` and :math:`H = \Delta_1^{+} \Delta_0`, the weights are the eigenvalues of
:math:`U \Gamma`,

.. math:: U = W \Delta_1 \big( P^{-1} - H (H^\top P H)^{-1} H^\top \big) \Delta_1^\top W. \quad (1)

The scale and the shift of the corrected difference follow from the sum and the sum of squares of
the weights (Satorra, 2000; Asparouhov & Muthen, 2010). The difference of two corrected statistics
is not a valid test.

A non-significant difference does not establish that the equality constraints hold. The RMSEA of
the difference test measures the loss of fit due to the constraints. With the statistic T on d
degrees of freedom, and n units in total in G groups,

.. math:: \mathrm{RMSEA}_D = \sqrt{\max\Big(\frac{G (T - d)}{d\,(n - G)}, 0\Big)}.        \quad (2)

The interval of this RMSEA inverts the noncentral chi-square distribution of T. The constraints are
established if the loss of fit is below the smallest effect of interest (Yuan & Chan, 2016;
Savalei, Brace & Fouladi, 2024).

References
----------
Yuan, K.-H., & Chan, W. (2016). Measurement invariance via multigroup SEM: Issues and solutions
with chi-square-difference tests. Psychological Methods, 21(3), 405-426.
https://doi.org/10.1037/met0000080

Savalei, V., Brace, J. C., & Fouladi, R. T. (2024). We need to change how we compute RMSEA for
nested model comparisons in structural equation modeling. Psychological Methods, 29(3), 480-493.
https://doi.org/10.1037/met0000537

Satorra, A. (2000). Scaled and adjusted restricted tests in multi-sample analysis of moment
structures. In R. D. H. Heijmans, D. S. G. Pollock, & A. Satorra (Eds.), Innovations in
multivariate statistical analysis (pp. 233-247). Kluwer.

Asparouhov, T., & Muthen, B. (2010). Simple second order chi-square correction. Mplus technical
appendix.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import InputError, OptionError
from psychollm._base.numbers import p_equals, signed, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.factor.confirmatory import LoadingPattern
from psychollm.factor.fit import rmsea_of
from psychollm.factor.invariance.fit import GroupCorrelations, Sample, fit_sample, sample_of
from psychollm.factor.invariance.model import LEVELS, Invariance
from psychollm.factor.invariance.result import GroupFactors
from psychollm.factor.robust_test import Quadratic, RobustTest, inverse_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitDifference(Result):
    """Difference in fit between two nested models.

    Attributes
    ----------
    larger, smaller : str
        Names of the models.
    chi_square, df, p_value : float
        Corrected difference test; NaN if the models have the same degrees of freedom.
    unscaled : float
        Difference of the uncorrected statistics.
    cfi, rmsea, srmr : float
        Fit index of the smaller model minus fit index of the larger model.
    rmsea_d : float
        RMSEA of the difference test, by equation (2).
    rmsea_d_interval : ndarray of shape (2,)
        90 % interval of `rmsea_d`.
    test : str
        Correction of the difference test.
    """

    larger: str
    smaller: str
    chi_square: float
    df: float
    p_value: float
    unscaled: float
    cfi: float
    rmsea: float
    srmr: float
    rmsea_d: float
    rmsea_d_interval: FloatArray  # (2,)
    test: RobustTest

    _AXES = Axes(
        {},
        "larger",
        "smaller",
        "chi_square",
        "df",
        "p_value",
        "unscaled",
        "cfi",
        "rmsea",
        "srmr",
        "rmsea_d",
        "rmsea_d_{bound}=rmsea_d_interval",
        "test",
    )

    def outcome(self, *, alpha: float = 0.05, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether the loss of fit is significant, negligible or inconclusive.

        Parameters
        ----------
        alpha : float
            Significance level: probability of rejecting true equality constraints.
        smallest : SmallestEffects
            Smallest effects of interest; only `rmsea` is used.
        """
        return outcome(
            self.rmsea_d_interval, smallest=smallest.rmsea, rejected=self.p_value <= alpha
        )

    def summary(self, *, alpha: float = 0.05, smallest: SmallestEffects = SMALLEST) -> str:
        """Describe the loss of fit due to the equality constraints.

        Parameters
        ----------
        alpha : float
            Significance level: probability of rejecting true equality constraints.
        smallest : SmallestEffects
            Smallest effects of interest; only `rmsea` is used.
        """
        told = {
            Outcome.ABOVE: "the equalities are rejected",
            Outcome.SMALL: f"the loss of fit is negligible (RMSEA below {smallest.rmsea:g})",
            Outcome.OPEN: "inconclusive",
        }[self.outcome(alpha=alpha, smallest=smallest)]
        return (
            f"{self.smaller} against {self.larger}: chi-square({self.df:g}) = "
            f"{self.chi_square:.2f}, {p_equals(self.p_value)}; CFI {signed(self.cfi, 3)}, RMSEA "
            f"{signed(self.rmsea, 3)}, SRMR {signed(self.srmr, 3)}; RMSEA of the difference "
            f"{with_interval(self.rmsea_d, self.rmsea_d_interval, 3)}: {told}."
        )


def fit_difference(larger: GroupFactors, smaller: GroupFactors) -> FitDifference:
    """Test the equality constraints of a model against a model without these constraints.

    Parameters
    ----------
    larger, smaller : GroupFactors
        Models fitted to the same data, with `smaller` nested in `larger`. The correction of the
        larger model is used.

    Returns
    -------
    FitDifference
        Scaled difference test, and differences of the fit indices.

    Raises
    ------
    InputError
        If the models were not fitted to the same data, or cannot be nested in this order.

    Examples
    --------
    >>> from psychollm.correlation.by_group import polychoric_by_group
    >>> from psychollm.factor.invariance.fit import confirmatory_groups
    >>> rng = np.random.default_rng(1)
    >>> codes = np.digitize(rng.normal(size=800) + rng.normal(size=(4, 800)), [-1, 1])
    >>> halves = polychoric_by_group(codes, np.repeat(["a", "b"], 400))
    >>> free = confirmatory_groups(halves, {"F": range(4)})
    >>> equal = confirmatory_groups(halves, {"F": range(4)}, invariance="scalar")
    >>> fit_difference(free, equal).df
    6.0
    """
    from scipy.stats import chi2

    for name, model in (("larger", larger), ("smaller", smaller)):
        if not isinstance(model, GroupFactors):
            msg = (
                f"{name} is a {type(model).__name__}: pass two results of confirmatory_groups, "
                "one with fewer equalities, of the same groups"
            )
            raise InputError(msg)
    _check_nested(larger, smaller)
    weighted = larger._weights[:, None] * larger._derivatives
    inverse = inverse_of(larger._derivatives.T @ weighted)[0]
    held = np.linalg.lstsq(larger._derivatives, smaller._derivatives, rcond=None)[0]
    inner, rank = inverse_of(held.T @ (larger._derivatives.T @ weighted) @ held)
    meat = weighted.T @ larger._gamma @ weighted
    product = (inverse - held @ inner @ held.T) @ meat
    difference = Quadratic(
        statistic=smaller.standard_fit.chi_square - larger.standard_fit.chi_square,
        df=larger._derivatives.shape[1] - rank,
        trace=float(np.trace(product)),
        trace_squared=float(np.sum(product * product.T)),
    )
    statistic, df = difference.corrected(larger.test) if difference.df else (np.nan, 0.0)
    groups = len(larger.n)
    cost, interval = rmsea_of(float(statistic), df, (float(larger.n.sum()) - groups) / groups)
    return FitDifference(
        larger=_named(larger),
        smaller=_named(smaller),
        chi_square=float(statistic),
        df=float(df),
        p_value=float(chi2.sf(statistic, df)) if df else float("nan"),
        unscaled=difference.statistic,
        cfi=smaller.fit.cfi - larger.fit.cfi,
        rmsea=smaller.fit.rmsea - larger.fit.rmsea,
        srmr=smaller.fit.srmr - larger.fit.srmr,
        rmsea_d=cost,
        rmsea_d_interval=interval,
        test=larger.test,
    )


def _named(model: GroupFactors) -> str:
    free = len(model.free)
    return model.invariance + (f" without {free} item{'s' * (free > 1)}" if free else "")


def _check_nested(larger: GroupFactors, smaller: GroupFactors) -> None:
    """Raise an error for models fitted to different data, or given in the wrong order."""
    same = larger.labels == smaller.labels and larger.groups == smaller.groups
    if not same or not np.allclose(larger._weights, smaller._weights, rtol=1e-12):
        msg = (
            "larger and smaller are models of different data: fit both to the same table and "
            "groups"
        )
        raise InputError(msg)
    if larger._derivatives.shape[1] < smaller._derivatives.shape[1]:
        msg = (
            f"the {_named(larger)} model has fewer parameters than the {_named(smaller)} one: "
            "pass the model with more of them first"
        )
        raise InputError(msg)
    if smaller.objective < larger.objective * (1.0 - 1e-6) - 1e-12:
        msg = (
            f"the {_named(smaller)} model fits better than the {_named(larger)} one: it is not "
            "nested in it"
        )
        raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasurementInvariance(Result):
    """Sequence of models with increasing invariance between groups.

    Attributes
    ----------
    levels : tuple of str
        Level of invariance of each model, from least to most restrictive.
    fits : tuple of GroupFactors
        Fitted models.
    differences : tuple of FitDifference
        Comparison of each model with the previous model.
    alpha : float
        Significance level of each step.
    """

    levels: tuple[Invariance, ...]
    fits: tuple[GroupFactors, ...]
    differences: tuple[FitDifference, ...]
    alpha: float

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> tuple[Outcome, ...]:
        """Return for each step whether the loss of fit is significant, negligible or inconclusive.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `rmsea` is used.
        """
        return tuple(
            step.outcome(alpha=self.alpha, smallest=smallest) for step in self.differences
        )

    @property
    def holds(self) -> Invariance | None:
        """Highest level at which invariance is established, or None."""
        shown = [one is Outcome.SMALL for one in self.outcomes()]
        reached = shown.index(False) if not all(shown) else len(shown)
        return self.levels[reached] if reached else None

    @property
    def broken(self) -> Invariance | None:
        """First significantly violated level of invariance; None if no level is violated."""
        steps = zip(self.levels[1:], self.outcomes(), strict=True)
        return next((level for level, one in steps if one is Outcome.ABOVE), None)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the fit of each model and its difference from the previous model."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for k, fit in enumerate(self.fits):
            names = ("chi_square", "df", "p_value", "cfi", "rmsea", "srmr")
            row: dict[str, Any] = {"invariance": fit.invariance}
            row |= {name: getattr(fit.fit, name) for name in names}
            step = self.differences[k - 1] if k else None
            row |= {
                f"difference_{name}": getattr(step, name) if step else float("nan")
                for name in names
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def summary(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Describe the highest level at which invariance is established.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `rmsea` is used.
        """
        first = self.fits[0]
        lines = [
            f"{len(first.labels)} items in groups {listed(first.groups)}; the {first.invariance} "
            f"model: {first.fit.summary()}."
        ]
        lines += [step.summary(alpha=self.alpha, smallest=smallest) for step in self.differences]
        judged = self.outcomes(smallest=smallest)
        if Outcome.ABOVE in judged:
            broken = self.levels[judged.index(Outcome.ABOVE) + 1]
            lines.append(
                f"The {broken} model is rejected at {self.alpha:g}: see its score_tests()."
            )
        elif judged:
            lines.append(
                f"No step is rejected at {self.alpha:g}"
                + "; invariance is inconclusive." * (Outcome.OPEN in judged)
                + f"; each loss of fit is negligible (RMSEA below {smallest.rmsea:g})."
                * (Outcome.OPEN not in judged)
            )
        return "\n".join(lines)


def measurement_invariance(
    correlations: GroupCorrelations,
    model: LoadingPattern,
    *,
    levels: Sequence[Invariance] | None = None,
    free: Sequence[Hashable] = (),
    test: RobustTest = "scaled_shifted",
    alpha: float = 0.05,
) -> MeasurementInvariance:
    """Test measurement invariance between groups by a sequence of nested models.

    Parameters
    ----------
    correlations : mapping
        Mapping from the name of each group to its result of `polychoric`, as `polychoric_by_group`
        returns it. Groups are independent sets of units. The first group is the reference. Each
        item must have the same answer categories in all groups.
    model : mapping
        Mapping from the name of each factor to the labels of its items.
    levels : sequence of str, optional
        Levels to fit, least restrictive first. The default levels are the levels that the items
        can distinguish: "configural", "scalar" and "strict" for binary items. The level
        "thresholds" needs an item with at least four answer categories.
    free : sequence of labels
        Items with their own thresholds and loadings in each group, at all levels (partial
        invariance).
    test : {"scaled_shifted", "satorra_bentler", "mean_variance", "standard"}
        Correction of the test statistic.
    alpha : float
        Significance level of each step.

    Returns
    -------
    MeasurementInvariance
        Models, and scaled difference tests between successive models.

    Raises
    ------
    OptionError, LabelError, ShapeError, CodeError, InputError
        If the model does not match the groups, if the answer categories of an item differ between
        groups, or if the parameters are not identified.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.correlation.by_group import polychoric_by_group
    >>> rng = np.random.default_rng(1)
    >>> latent = 0.8 * rng.normal(size=900) + 0.6 * rng.normal(size=(6, 900))
    >>> yes = latent.T > np.linspace(-1, 1, 6)
    >>> halves = polychoric_by_group(yes.T, np.arange(900) % 2)
    >>> found = measurement_invariance(halves, {"F": range(6)})
    >>> found.levels, found.holds
    (('configural', 'scalar', 'strict'), 'scalar')
    """
    check_choice("test", test, RobustTest)
    check_fraction("alpha", alpha)
    sample, pattern = sample_of(correlations, model)
    chosen = _levels(levels, sample)
    fits = tuple(fit_sample(sample, pattern, tuple(model), kind, free, test) for kind in chosen)
    return MeasurementInvariance(
        levels=chosen,
        fits=fits,
        differences=tuple(fit_difference(larger, smaller) for larger, smaller in pairwise(fits)),
        alpha=alpha,
    )


def _levels(levels: Sequence[Invariance] | None, sample: Sample) -> tuple[Invariance, ...]:
    """Return the levels of invariance to fit, in their order."""
    if levels is None:
        most = int(sample.cuts.max())
        if most < 2:
            return ("configural", "scalar", "strict")
        return tuple(level for level in LEVELS if most > 2 or level != "thresholds")
    for name in levels:
        check_choice("levels", name, Invariance)
    order = [LEVELS.index(name) for name in levels]
    if not order or sorted(set(order)) != order:
        msg = f"levels={tuple(levels)!r} must be some of {LEVELS}, each once and in this order"
        raise OptionError(msg)
    return tuple(levels)
