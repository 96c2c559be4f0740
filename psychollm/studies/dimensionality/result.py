"""Result of `dimensionality`: verdict on the number of common factors, and its evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from psychollm._base.numbers import (
    count,
    number,
    p_equals,
    p_value,
    percent,
    signed,
    with_interval,
)
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import Axis, FloatArray
from psychollm.correlation.tetrachoric import Correlation, Sensitivity
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, sentence
from psychollm.estimates.null import Null
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects
from psychollm.factor.one_factor.full_information import FullInformation
from psychollm.factor.one_factor.pairwise_likelihood import PairwiseLikelihood
from psychollm.factor.one_factor.residuals import PairResiduals, ResidualTest
from psychollm.studies.dimensionality.lapse_tests import WithLapses, reported_share
from psychollm.studies.dimensionality.lapses import OneFactorWithLapses
from psychollm.studies.dimensionality.verdict import (
    Evidence,
    share_interval,
    shared_interval,
    verdict,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn


COMPONENTS = 5  # number of eigenvalues listed
PAIRS = 3  # number of model pairs that are named


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlainSpectrum(Result):
    """Tetrachoric spectrum and its null distributions, all under one continuity correction.

    Attributes
    ----------
    correlation : Correlation
        Tetrachoric correlations, with the chosen treatment of empty cells and missing answers.
    eigenvalues, shares : ndarray of shape (k,)
        Eigenvalues in descending order, and their proportions of the total variance k.
    first_loadings, second_loadings : ndarray of shape (k,)
        Loadings on the first two components, with signs that make their sums nonnegative.
    second_replicates : ndarray of shape (n, k)
        Loadings on the second component in each one-factor replicate.
    permutation, one_factor : Null
        Eigenvalues under independence and under one factor, shape (k,).
    quadratic : ndarray of shape (3,)
        Coefficients of the regression of first loadings on thresholds: constant, linear and
        quadratic.
    quadratic_r2 : Null
        R squared of the regression of first loadings on thresholds, and its distribution in
        one-factor replicates.
    congruence : float
        Tucker's congruence of `second_loadings` with the second component of the replicates.
    null_congruence : float
        Reference value for `congruence`: median over replicates of the congruence of the
        replicate's second component with the main direction of all replicates' second components.
    sensitivity : Sensitivity
        Number of pairs with an empty cell, and proportions of variance under every continuity
        correction.
    """

    correlation: Correlation
    eigenvalues: FloatArray  # (k,)
    shares: FloatArray  # (k,)
    first_loadings: FloatArray  # (k,)
    second_loadings: FloatArray  # (k,)
    second_replicates: FloatArray  # (n, k)
    permutation: Null
    one_factor: Null
    quadratic: FloatArray  # (3,)
    quadratic_r2: Null
    congruence: float
    null_congruence: float
    sensitivity: Sensitivity

    @property
    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue; negative if the matrix is not positive semidefinite."""
        return float(self.eigenvalues[-1])

    @property
    def binary_shares(self) -> FloatArray:
        """Eigenvalues of phi correlations of binary answers, as proportions of their sum (k,).

        Pearson correlations of binary answers depend on yes rates. The components of such
        correlations therefore show dimensions that the underlying continuous variables do not
        have.
        """
        counts = self.correlation.counts
        yes, n = counts.yes, counts.n
        with np.errstate(invalid="ignore", divide="ignore"):
            joint = counts.joint - yes * yes.T / n
            phi = joint / np.sqrt(yes * (n - yes) * yes.T * (n - yes.T)) * n
        phi = np.where(np.isfinite(phi), phi, 0.0)
        np.fill_diagonal(phi, 1.0)
        return np.asarray(np.linalg.eigvalsh(phi)[::-1] / len(phi), dtype=np.float64)

    @property
    def n_empty(self) -> int:
        """Number of pairs whose 2 x 2 table has an empty cell."""
        return self.sensitivity.n_empty


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dimensionality(Study, Result):
    """Verdict on the number of common factors, and its evidence.

    Attributes
    ----------
    n_factors : {0, 1, 2}
        Number of factors; 2 means more than one factor, even after allowing for lapses. The
        verdict reports whether the second factor is minor, and whether lapses or a second factor
        describe the answers equally well.
    shared_test, one_factor_test : ResidualTest
        Tests of the hypotheses of no factor and of one normal factor, which need no continuity
        correction.
    second_share : ResidualTest
        Second factor's proportion of variance by pairwise likelihood, compared with one-factor
        replicates.
    with_lapses : WithLapses or None
        Fit of one factor with lapses, and tests for a second factor. If one normal factor is
        rejected, the fit and tests with lapses are computed and decide the verdict.
    spectrum : PlainSpectrum
        Tetrachoric spectrum under the chosen continuity correction, with its null distributions
        under independence and under one factor.
    factors_by_rule : mapping
        Number of factors according to each rule.
    pairwise : PairwiseLikelihood
        Precision-weighted one-factor solution.
    full_information : FullInformation
        Full-information one-factor fit without lapses.
    residuals : PairResiduals
        Residual pair tables under `one_factor_model`.
    near_copies : tuple of tuples
        Groups of models that agree more than the factor predicts, if one factor is rejected.
    excluded : mapping
        Excluded models, with the reasons for exclusion.
    alpha : float
        Significance level of the tests.
    labels : tuple
        Names of the k models included.
    of : {"models", "questions"}
        Side of the table whose factors are counted. With "questions", the descriptions above apply
        with questions in place of models.
    """

    n_factors: Literal[0, 1, 2]
    shared_test: ResidualTest
    one_factor_test: ResidualTest
    second_share: ResidualTest
    with_lapses: WithLapses | None
    spectrum: PlainSpectrum
    factors_by_rule: Mapping[str, int]
    pairwise: PairwiseLikelihood
    full_information: FullInformation
    residuals: PairResiduals
    near_copies: tuple[tuple[Hashable, ...], ...]
    excluded: Mapping[Hashable, str]
    alpha: float
    labels: tuple[Hashable, ...]  # k
    of: Axis = "models"

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, the tests that decide it, and the tetrachoric eigenvalues."""
        evidence = self.evidence
        left_out = (f"excluded: {model!r}, {why}" for model, why in self.excluded.items())
        rules = (f"{rule:<26}{count:>3}" for rule, count in self.factors_by_rule.items())
        return Findings(
            items=(
                Finding(
                    statement=sentence(verdict(evidence, smallest)),
                    rows=tuple(left_out),
                    numbers={"n_factors": self.n_factors},
                    outcome=evidence.second(smallest)
                    if self.n_factors
                    else evidence.shared(smallest),
                ),
                _tests(self),
                _spectrum(self),
                Finding(
                    key="rules",
                    question="Number of factors by rule:",
                    rows=tuple(rules),
                    numbers=dict(self.factors_by_rule),
                ),
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per component: eigenvalue, proportion of variance, null distributions.

        Columns ``permutation_...`` describe the null distribution under independence. Columns
        ``one_factor_...`` describe the null distribution under one factor with the observed
        thresholds. Columns ``..._p_se`` are Monte Carlo errors of the p-values.
        """
        import pandas as pd

        plain = self.spectrum
        columns: dict[str, object] = {
            "component": np.arange(1, plain.eigenvalues.size + 1),
            "eigenvalue": plain.eigenvalues,
            "share": plain.shares,
        }
        for name, null in (("permutation", plain.permutation), ("one_factor", plain.one_factor)):
            columns[f"{name}_mean"] = null.mean
            columns[f"{name}_95"] = null.quantile(0.95)
            columns[f"{name}_p"] = null.p_value
            columns[f"{name}_p_se"] = null.p_value_se
        return pd.DataFrame(columns)

    @property
    def evidence(self) -> Evidence:
        """Numbers on which the verdict is based."""
        plain, lapses = self.spectrum, self.with_lapses
        share = reported_share(self.second_share, lapses, self.alpha)
        return Evidence(
            share=share.observed,
            share_interval=share_interval(share.observed, share.draws, self.alpha),
            p_share=share.p_value,
            alpha=self.alpha,
            lapses=lapses,
            n_factors=self.n_factors,
            p_shared=self.shared_test.p_value,
            p_one=self.one_factor_test.p_value,
            shared_interval=shared_interval(
                self.shared_test.observed,
                plain.correlation.thresholds,
                self.residuals.n,
                self.alpha,
            ),
            p_second=float(plain.one_factor.p_value[1]),
            counted=bool(plain.eigenvalues[1] > plain.permutation.quantile(0.95)[1]),
            empty_cells=plain.correlation.empty_cells,
            near_copies=self.near_copies,
            of=self.of,
        )

    @property
    def one_factor(self) -> FullInformation | OneFactorWithLapses:
        """Fitted one-factor model, which includes lapses if they are significant."""
        lapses = self.with_lapses
        return lapses.fit if lapses is not None and lapses.evident else self.full_information

    @property
    def one_factor_model(self) -> Literal["normal ogive", "with lapses"]:
        """Name of the fitted one-factor model."""
        return "normal ogive" if self.one_factor is self.full_information else "with lapses"

    @property
    def lapses(self) -> Estimate | None:
        """Lapse rates of the models; None if one normal factor is not rejected."""
        return None if self.with_lapses is None else self.with_lapses.fit.rate

    @property
    def model_comparison(self) -> Mapping[str, tuple[float, int]]:
        """Log-likelihood and number of parameters of each fitted model."""
        full = self.full_information
        models = {"normal ogive": (full.log_likelihood, full.n_parameters)}
        if self.with_lapses is not None:
            fit, two = self.with_lapses.fit, self.with_lapses.two_factors
            models["with lapses"] = (fit.log_likelihood, fit.n_parameters)
            models["two factors"] = (two.log_likelihood, two.n_parameters)
        return models

    def shared_factor(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether a common factor is significant, negligible or inconclusive."""
        return self.evidence.shared(smallest)

    def second_factor(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether a second factor is significant, negligible or inconclusive."""
        return self.evidence.second(smallest)

    def __repr__(self) -> str:
        return f"Dimensionality of {len(self.labels)} {self.of}: {self.verdict}"

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Plot eigenvalues, loadings and nulls: `psychollm.plots.plot_factor_structure`."""
        return drawn_by("plot_factor_structure")(self, ax=ax)


def _tests(result: Dimensionality) -> Finding:
    """Return the finding on the tests, which need no continuity correction."""
    fit = result.full_information
    lapses = result.with_lapses
    gain = ""
    if lapses is not None:
        twice = 2.0 * (lapses.fit.log_likelihood - fit.log_likelihood)
        added = lapses.fit.n_parameters - fit.n_parameters
        gain = f"; the statistic for lapses is {number(twice, 1)} for {added} asymptotes"
    rows = (
        f"The log-likelihood with one factor is {number(fit.log_likelihood, 1)}; the "
        "likelihood-ratio statistic against a model without factors is "
        f"{number(2.0 * (fit.log_likelihood - fit.independence), 1)} for "
        f"{fit.n_parameters // 2} loadings{gain}.",
        f"Largest residuals of pairs of {result.of}, in standard errors: {_pairs(result)}.",
    )
    return told_tests(result, rows)


class Tested(Protocol):
    """Protocol of a result with three tests of the number of factors."""

    @property
    def shared_test(self) -> ResidualTest:
        """Test of the null hypothesis that there is no common factor."""

    @property
    def one_factor_test(self) -> ResidualTest:
        """Test of the null hypothesis that there is one common factor."""

    @property
    def second_share(self) -> ResidualTest:
        """Test of a second factor's proportion of variance."""

    @property
    def with_lapses(self) -> WithLapses | None:
        """Tests of one factor and of a second factor's proportion, allowing for lapses."""

    @property
    def alpha(self) -> float:
        """Significance level of the tests."""


def told_tests(result: Tested, rows: tuple[str, ...]) -> Finding:
    """Return the finding on the three tests, followed by `rows`."""
    none, one, lapses = result.shared_test, result.one_factor_test, result.with_lapses
    share = reported_share(result.second_share, lapses, result.alpha)
    middle, top = np.quantile(share.draws, [0.5, 0.95])
    allowed = ""
    if lapses:
        rejected = lapses.rejected(result.alpha)
        allowed = (
            f"; with lapses it is {_judged(rejected=rejected)} (scores of a second factor: "
            f"{_p(lapses.test)}; with its proportion {p_equals(lapses.p_value)})"
        )
        rows = (_likelihoods(lapses), *rows)
    without, with_one = (
        (
            f"{number(test.observed)} (95 % of replicates are below "
            f"{number(float(test.quantile(0.95)))})"
        )
        for test in (none, one)
    )
    return Finding(
        key="tests",
        question="Tests without continuity correction, on which the verdict is based:",
        statement=(
            f"a model without common factors is {_rejected(none, result.alpha)}; a one-factor "
            f"model is {_rejected(one, result.alpha)}{allowed}. A second factor explains "
            f"{percent(share.observed, 1)} of the latent variance; in simulated data with one "
            f"factor, the median of this proportion is {percent(middle, 1)} and its 95 % "
            f"quantile {percent(top, 1)}."
        ),
        rows=(
            (
                f"The largest residual eigenvalue is {without} without a common factor and "
                f"{with_one} with one."
            ),
            *rows,
        ),
        numbers={"no shared factor": none.p_value, "one factor": one.p_value}
        | ({"one factor with lapses": lapses.p_value} if lapses else {}),
    )


def _likelihoods(lapses: WithLapses) -> str:
    """Return text that compares one factor with lapses and two factors by their likelihood."""
    found = lapses.two_factors.difference
    return (
        "The log-likelihood of two factors without lapses, minus that of one factor with lapses "
        "and Schwarz's correction for the loadings, is "
        f"{with_interval(found.value[0], found.interval[0], 1)}."
    )


def _rejected(test: ResidualTest, alpha: float) -> str:
    return f"{_judged(rejected=test.p_value <= alpha)} ({_p(test)})"


def _judged(*, rejected: bool) -> str:
    return "rejected" if rejected else "compatible with the answers"


def _p(test: ResidualTest) -> str:
    return f"{p_equals(test.p_value)} ± {p_value(test.p_value_se)}"


def _pairs(result: Dimensionality) -> str:
    """Return text on the pairs with the largest residuals, often pairs of related models."""
    left = result.residuals
    first, second = np.triu_indices(len(left.labels), 1)
    z = left.standardised[first, second]
    top = np.argsort(-np.abs(z), kind="stable")[:PAIRS]
    return "; ".join(
        f"{left.labels[first[i]]} with {left.labels[second[i]]} {signed(z[i], 1)}" for i in top
    )


def _spectrum(result: Dimensionality) -> Finding:
    """Return the finding on the eigenvalues, which depend on the continuity correction."""
    plain = result.spectrum
    bend = plain.quadratic_r2
    low, high = np.nanquantile(bend.draws, [0.05, 0.95])
    k = plain.eigenvalues.size
    empty = f"No pair of {result.of} has an empty cell in its 2 x 2 table."
    if plain.n_empty:
        verb, whose = ("has", "its correlation depends")
        if plain.n_empty > 1:
            verb, whose = ("have", "their correlations depend")
        empty = (
            f"{count(plain.n_empty)} of {count(k * (k - 1) // 2)} pairs of {result.of} {verb} an "
            f"empty cell in the 2 x 2 table; {whose} on the continuity correction."
        )
    permuted, one = plain.permutation.quantile(0.95), plain.one_factor.quantile(0.95)
    rows = [f"{'':>10}{'eigenvalue':>11}{'share':>8}{'permuted':>10}{'one factor':>12}{'p':>8}"]
    rows += [
        f"{i + 1:>10}{plain.eigenvalues[i]:>11.2f}{percent(plain.shares[i], 1):>8}"
        f"{permuted[i]:>10.2f}{one[i]:>12.2f}{p_value(plain.one_factor.p_value[i]):>8}"
        for i in range(min(COMPONENTS, k))
    ]
    rules = (
        f"{rule} {percent(share[0])}/{percent(share[1])}"
        for rule, share in zip(plain.sensitivity.rules, plain.sensitivity.shares, strict=True)
    )
    return Finding(
        key="spectrum",
        question="Eigenvalues of the tetrachoric correlations:",
        statement=(
            f"with the continuity correction {plain.correlation.empty_cells!r}, the first "
            f"component of the tetrachoric correlations explains {percent(plain.shares[0])} and "
            f"the second {percent(plain.shares[1])} of the total variance, including noise. "
            f"{empty} A quadratic function of the threshold explains the loadings on the first "
            f"component with R2 = {number(float(bend.observed))}; in simulated one-factor data "
            f"with the same thresholds, R2 is {number(low)} to {number(high)} "
            f"({p_equals(float(bend.p_value))}). The loadings on the second component have a "
            f"congruence of {number(plain.congruence)} with the main direction of these loadings "
            "in simulated one-factor data; the median congruence of a single simulated data set "
            "with this "
            f"direction is {number(plain.null_congruence)}."
        ),
        rows=(
            *rows,
            "(permuted, one factor: 95 % quantiles; p under one factor)",
            f"smallest eigenvalue {number(plain.min_eigenvalue)}",
            f"first/second share by rule: {', '.join(rules)}",
        ),
        numbers={"eigenvalues": plain.eigenvalues, "shares": plain.shares},
    )
