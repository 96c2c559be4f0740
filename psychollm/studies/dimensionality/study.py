"""`dimensionality`: is there one shared signal, several, or none, and what of it is artefact."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_fraction, check_generator
from psychollm._base.errors import ShapeError, ValidityWarning
from psychollm._base.result import Result
from psychollm._base.types import EmptyCells, FloatArray, Missing, RandomState
from psychollm.correlation.tetrachoric import tetrachoric
from psychollm.data.coerce import check_binary
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.findings import Findings, Study
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects
from psychollm.factor.one_factor.full_information import FullInformation, full_information
from psychollm.factor.one_factor.pairwise_likelihood import PairwiseLikelihood, pairwise_likelihood
from psychollm.factor.one_factor.residual_test import (
    LEAST_MODELS,
    ResidualTest,
    residual_test,
    second_share_test,
)
from psychollm.factor.one_factor.residuals import PairResiduals, pair_residuals
from psychollm.nulls.permutation import permutation_null
from psychollm.studies.dimensionality.findings import findings, frame
from psychollm.studies.dimensionality.plain_spectrum import PlainSpectrum, plain_spectrum
from psychollm.studies.dimensionality.spectrum_null import spectrum_null
from psychollm.studies.dimensionality.verdict import (
    Evidence,
    count_factors,
    n_factors,
    share_interval,
    shared_interval,
    verdict,
)

SHARE_REPLICATES = 99


class _Work(TypedDict):
    """How replicates are run."""

    rng: np.random.Generator
    n_jobs: int | None
    progress: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dimensionality(Study, Result):
    """The verdict on the number of shared factors, and all it rests on.

    Attributes
    ----------
    n_factors : {0, 1, 2}
        2 stands for "more than one normal factor"; the verdict says if the second is minor.
    shared_test, one_factor_test : ResidualTest
        Rule-free tests of no factor and of one factor: these decide.
    second_share : ResidualTest
        Share of a second factor by pairwise likelihood, beside one-factor replicates.
    spectrum : PlainSpectrum
        Tetrachoric spectrum under the empty-cell rule chosen, beside both nulls.
    factors_by_rule : mapping
        Number of factors each rule counts.
    pairwise : PairwiseLikelihood
        Precision-weighted one-factor solution.
    full_information : FullInformation
        Full-information one-factor likelihood.
    residuals : PairResiduals
        Residual pair tables under the full-information loadings.
    excluded : mapping
        Models left out, each with its reason.
    alpha : float
        Level of the tests.
    labels : tuple
        Names of the k models that took part.
    """

    n_factors: Literal[0, 1, 2]
    shared_test: ResidualTest
    one_factor_test: ResidualTest
    second_share: ResidualTest
    spectrum: PlainSpectrum
    factors_by_rule: Mapping[str, int]
    pairwise: PairwiseLikelihood
    full_information: FullInformation
    residuals: PairResiduals
    excluded: Mapping[Hashable, str]
    alpha: float
    labels: tuple[Hashable, ...]  # k

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and a finding per question asked of the data."""
        return findings(self, smallest)

    to_frame = frame

    @property
    def evidence(self) -> Evidence:
        """The numbers that the verdict rests on."""
        plain, share = self.spectrum, self.second_share
        return Evidence(
            n_factors=self.n_factors,
            p_shared=self.shared_test.p_value,
            p_one=self.one_factor_test.p_value,
            shared_interval=shared_interval(
                self.shared_test.observed,
                plain.correlation.thresholds,
                self.residuals.n,
                self.alpha,
            ),
            share=share.observed,
            share_interval=share_interval(share.observed, share.draws, self.alpha),
            p_share=share.p_value,
            second_share=float(plain.shares[1]),
            p_second=float(plain.one_factor.p_value[1]),
            counted=bool(plain.eigenvalues[1] > plain.permutation.quantile(0.95)[1]),
            empty_cells=plain.correlation.empty_cells,
            alpha=self.alpha,
        )

    @property
    def verdict(self) -> str:
        """One sentence, with the default smallest effects that matter."""
        return verdict(self.evidence)

    def shared_factor(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether models share a factor: above, smaller than what matters, or open."""
        return self.evidence.shared(smallest)

    def second_factor(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether there is a second factor: above, smaller than what matters, or open."""
        return self.evidence.second(smallest)

    def __repr__(self) -> str:
        return f"Dimensionality of {len(self.labels)} models: {self.verdict}"


def dimensionality(
    responses: ResponsesLike,
    *,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    n_null: int = 499,
    alpha: float = 0.05,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Dimensionality:
    """Judge whether models share one signal, several or none, and what of it is artefact.

    Every rule for empty cells bends the spectrum of a tetrachoric matrix: extreme yes rates alone
    make a second component and a quadratic fall-off of loadings. So the spectrum is shown beside
    its distribution under independence and under one factor, and the verdict rests on
    `residual_test`, which uses pair counts alone and needs no rule. Its false alarm rate and
    power over models, questions, yes rates and loadings are tabulated in the documentation.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers of at least four models that vary.
    empty_cells, missing : str
        Rules of the plain spectrum (see `tetrachoric`); the verdict on the number of factors does
        not depend on them.
    n_null : int
        Replicates of each null. At 499 a p-value of .05 has a Monte Carlo error of .01.
    alpha : float
        Level of the tests.
    rng : Generator, int or None
        Seed of all replicates.
    n_jobs : int or None
        Workers; the result does not depend on it.
    progress : bool
        Show progress bars (needs tqdm).

    Raises
    ------
    ShapeError
        If fewer than four models vary.
    CodeError
        If answers are not binary, or two models share no question on which both vary.

    Warns
    -----
    ValidityWarning
        If models that always gave the same answer were left out.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> result = psy.dimensionality(answers, n_null=99, rng=1)
    >>> result.n_factors
    1
    """
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    check_count("n_null", n_null)
    check_fraction("alpha", alpha)
    table, excluded = _usable(as_responses(responses))
    work: _Work = {"rng": check_generator(rng), "n_jobs": n_jobs, "progress": progress}
    none = residual_test(table, factors=0, n_null=n_null, **work)
    one = residual_test(table, factors=1, n_null=n_null, **work)
    share = second_share_test(table, n_null=min(n_null, SHARE_REPLICATES), **work)
    plain = _plain_spectrum(table, one.loadings, n_null, empty_cells, missing, work)
    count = n_factors(none.p_value, one.p_value, alpha)
    full = full_information(table, progress=progress)
    return Dimensionality(
        n_factors=count,
        shared_test=none,
        one_factor_test=one,
        second_share=share,
        spectrum=plain,
        factors_by_rule=count_factors(plain.permutation, plain.one_factor, tested=count),
        pairwise=pairwise_likelihood(table),
        full_information=full,
        residuals=pair_residuals(table, loadings=full.loadings),
        excluded=excluded,
        alpha=alpha,
        labels=table.models,
    )


def _plain_spectrum(
    table: Responses,
    loadings: FloatArray,
    n: int,
    empty_cells: EmptyCells,
    missing: Missing,
    work: _Work,
) -> PlainSpectrum:
    """Set the tetrachoric spectrum beside both nulls."""
    correlation = tetrachoric(table, empty_cells=empty_cells, missing=missing)
    permutation = permutation_null(
        table, n_null=n, empty_cells=empty_cells, missing=missing, **work
    )
    null = spectrum_null(
        table, loadings, n_null=n, empty_cells=empty_cells, missing=missing, **work
    )
    return plain_spectrum(correlation, permutation, null)


def _usable(table: Responses) -> tuple[Responses, Mapping[Hashable, str]]:
    """Leave out models whose answers do not vary, with a warning that names them."""
    check_binary(table)
    rates = table.yes_rates
    excluded: dict[Hashable, str] = {}
    for model, rate in zip(table.models, rates, strict=True):
        if np.isnan(rate):
            excluded[model] = "answered nothing"
        elif rate in (0.0, 1.0):
            excluded[model] = "always said yes" if rate == 1.0 else "always said no"
    kept = [model for model in table.models if model not in excluded]
    if len(kept) < LEAST_MODELS:
        msg = (
            f"dimensionality needs at least {LEAST_MODELS} models whose answers vary, got "
            f"{len(kept)} of {table.n_models}: with three, one factor fits any table"
        )
        raise ShapeError(msg)
    if not excluded:
        return table, excluded
    named = ", ".join(f"{model!r} ({why})" for model, why in excluded.items())
    warnings.warn(f"left out of dimensionality: {named}", ValidityWarning, stacklevel=3)
    return table.select(models=kept), excluded
