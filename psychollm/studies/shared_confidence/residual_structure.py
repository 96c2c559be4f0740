r"""Compare the residuals of confidence and of correctness after a common factor.

Do models whose confidence agrees beyond the common factor also agree in correctness? For all pairs
of models, the standardised residuals of the joint yes counts are compared with the residuals of
the joint correct counts, each from a separate one-factor model. Pairs with a common model are not
independent. Therefore, the correlation of the two kinds of residuals over pairs is tested by
Mantel's permutation of the models.

References
----------
Mantel, N. (1967). The detection of disease clustering and a generalized regression approach.
Cancer Research, 27, 209-220.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_generator
from psychollm._base.numbers import count, p_equals, signed
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.pair_counts import binary_counts
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.findings import Finding, Findings, Study
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.factor.one_factor.residuals import PairResiduals, pair_residuals

if TYPE_CHECKING:
    import pandas as pd

LEAST_MODELS = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResidualStructure(Study, Result):
    """Residuals of all pairs of models in confidence and in correctness.

    Examples
    --------
    >>> from psychollm.data.simulate_study import simulate_study
    >>> study = simulate_study(n_models=8, n_questions=600, rng=0)
    >>> found = residual_structure(
    ...     pair_residuals(study.confidence), study.correctness, n_null=99, rng=0)
    >>> found.confidence.shape, found.n_pairs
    ((8, 8), 28)
    """

    confidence: FloatArray  # (models, models) standardised residuals of joint yes counts
    correctness: FloatArray  # (models, models) standardised residuals of joint correct counts
    correlation: float  # correlation of the two over pairs of models
    p_value: float  # two-sided p-value of Mantel's test
    n_pairs: int
    n_null: int
    reason: Reason  # reason why the correlation is undefined
    labels: tuple[Any, ...]  # (models,) models with both tables

    _AXES = Axes(
        {"first": "labels", "second": "labels"}, "confidence", "correctness", pairs="upper"
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the finding; `smallest` is not used because there is no interval."""
        return Finding(
            key="remainder",
            question="Are residuals of confidence and correctness related?",
            statement=f"Not tested: {self.reason}."
            if self.reason
            else (
                "Across pairs of models, the correlation of residual agreement in confidence with "
                f"residual agreement in correctness is {signed(self.correlation)} "
                f"({p_equals(self.p_value)} by permuting models, {count(self.n_pairs)} pairs)."
            ),
            explanation=(
                "For every pair of models, the number of questions to which both said yes is "
                "compared with the number expected under the one-factor model."
            ),
            numbers={"correlation": self.correlation, "p": self.p_value},
            reason=str(self.reason),
        ).alone

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per pair of models, the largest confidence residual first."""
        return Result.to_frame(self).sort_values(
            "confidence", ascending=False, key=np.abs, kind="stable", ignore_index=True
        )


def residual_structure(
    confidence: PairResiduals,
    correctness: ResponsesLike,
    *,
    n_null: int = 9999,
    rng: RandomState = None,
) -> ResidualStructure:
    """Correlate residuals of confidence with residuals of correctness.

    Parameters
    ----------
    confidence : PairResiduals
        Residuals of confidence after removal of its common factor.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the same models; further models are ignored.
    n_null : int
        Number of permutations of the models for the p-value.
    rng : Generator, int or None
        Random generator or seed for the permutations.

    Returns
    -------
    ResidualStructure
        The correlation is NaN with a reason if fewer than four models vary in confidence and in
        correctness.

    Examples
    --------
    >>> from psychollm.data.simulate_study import simulate_study
    >>> study = simulate_study(n_models=8, n_questions=600, rng=0)
    >>> residuals = pair_residuals(study.confidence)
    >>> 0 < residual_structure(residuals, study.correctness, rng=0).p_value <= 1
    True
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    known = as_responses(correctness, argument="correctness", binary=True, needs="cells")
    return residuals_beside(confidence, known, n_null=n_null, rng=rng)


def residuals_beside(
    confidence: PairResiduals, correctness: Responses, *, n_null: int = 9999, rng: RandomState
) -> ResidualStructure:
    """Correlate residuals of confidence with the residuals of binary correctness."""
    known = correctness.select(models=confidence.labels)
    rates = binary_counts(known).yes_rates
    kept = np.flatnonzero((rates > 0) & (rates < 1))
    labels = tuple(confidence.labels[row] for row in kept)
    if len(labels) < LEAST_MODELS:
        return _nothing(labels)
    own = confidence.standardised[np.ix_(kept, kept)]
    right = pair_residuals(binary_counts(known.select(models=labels))).standardised
    pairs = np.triu_indices(len(labels), 1)
    value = _correlation(own[pairs], right[pairs])
    reason = Reason.NONE if np.isfinite(value) else Reason.CONSTANT
    return ResidualStructure(
        confidence=own,
        correctness=right,
        correlation=value,
        p_value=_mantel(own, right, value, n_null, check_generator(rng)),
        n_pairs=pairs[0].size,
        n_null=n_null,
        reason=reason,
        labels=labels,
    )


def _nothing(labels: tuple[Any, ...]) -> ResidualStructure:
    empty = np.full((len(labels), len(labels)), np.nan)
    return ResidualStructure(
        confidence=empty,
        correctness=empty.copy(),
        correlation=np.nan,
        p_value=np.nan,
        n_pairs=0,
        n_null=0,
        reason=Reason.TOO_FEW,
        labels=labels,
    )


def _correlation(x: FloatArray, y: FloatArray) -> float:
    u, v = x - x.mean(), y - y.mean()
    size = float(np.sqrt((u @ u) * (v @ v)))
    return float(u @ v) / size if size > 0 else np.nan


_CELLS_AT_ONCE = 50_000  # of permuted matrices, few enough for the cache


def _mantel(
    own: FloatArray, right: FloatArray, value: float, n: int, rng: np.random.Generator
) -> float:
    """Return the proportion of permutations with at least as strong a correlation."""
    if not np.isfinite(value):
        return np.nan
    # Permutations change neither means nor variances, so sums of products suffice.
    pairs = np.triu_indices(len(own), 1)
    u, v = own - own[pairs].mean(), right - right[pairs].mean()
    u[np.tril_indices(len(own))] = 0.0
    np.fill_diagonal(v, 0.0)  # the diagonal is NaN
    observed, draws = np.einsum("ij,ij->", u, v), np.empty(n)
    at_once = max(_CELLS_AT_ONCE // own.size, 1)
    for start in range(0, n, at_once):
        block = draws[start : start + at_once]
        order = np.array([rng.permutation(len(own)) for _ in block])
        block[:] = np.einsum("ij,bij->b", u, v[order[:, :, None], order[:, None, :]])
    return float(monte_carlo_p_value(abs(observed), np.abs(draws)))
