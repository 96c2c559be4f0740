"""What is left of the pair tables after the shared factor."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import loadings_of_models
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.factor.one_factor.pairwise_likelihood import kernel_counts, pairwise_likelihood
from psychollm.kernels.pairwise_likelihood import pair_weights, residuals

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairResiduals(Result):
    """Observed and expected joint yes counts of all pairs under one factor.

    Attributes
    ----------
    observed, expected : ndarray of shape (k, k)
        Questions to which both said yes; expected given the pair's own yes rates. NaN where a
        pair says nothing.
    standardised : ndarray of shape (k, k)
        Observed minus expected, over the standard error given both margins (its square plus half
        a count); zero on the diagonal and where a pair says nothing.
    n : ndarray of shape (k, k)
        Questions that both answered.
    largest_eigenvalue : float
        Of `standardised`: the statistic of `psychollm.factor.one_factor.residual_test`.
    labels : tuple
        Names of the models.
    """

    observed: FloatArray  # (k, k)
    expected: FloatArray  # (k, k)
    standardised: FloatArray  # (k, k)
    n: FloatArray  # (k, k)
    largest_eigenvalue: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {"second": "labels", "first": "labels"},
        "observed",
        "expected",
        "standardised",
        "n",
        pairs="lower",
    )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair, the largest residual first."""
        frame = Result.to_frame(self).sort_values(
            "standardised", ascending=False, key=np.abs, kind="stable", ignore_index=True
        )
        frame.insert(0, "first", frame.pop("first"))
        return frame


def pair_residuals(
    responses: ResponsesLike | PairCounts,
    *,
    loadings: ArrayLike | None = None,
) -> PairResiduals:
    """Compare the joint yes counts of all pairs with what one factor expects.

    Parameters
    ----------
    responses : Responses, PairCounts, or table of shape (models, questions)
        Binary answers, or their counts.
    loadings : array of shape (models,), optional
        Loadings of a fit, such as `full_information`'s; by default `pairwise_likelihood`'s. Models
        with NaN are left at zero residual.

    Raises
    ------
    ShapeError
        If there is not one loading per model.
    OptionError
        If one is not within (-1, 1).

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.residuals import pair_residuals
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> pair_residuals(answers).to_frame().columns.tolist()
    ['first', 'second', 'observed', 'expected', 'standardised', 'n']
    """
    if isinstance(responses, PairCounts):
        pairs = responses
    else:
        pairs = PairCounts.count(as_responses(responses))
    given = pairwise_likelihood(pairs).loadings if loadings is None else loadings
    used = loadings_of_models(given, pairs.labels)
    counts, tau, rate = kernel_counts(pairs)
    tau[np.isnan(used)] = np.nan
    tau[:, np.isnan(used)] = np.nan
    z = np.empty_like(tau)
    filled = np.nan_to_num(used)
    residuals(counts, tau, rate, filled[:, None], z)
    weight, density, joint = np.empty_like(tau), np.empty_like(tau), np.empty_like(tau)
    pair_weights(tau, rate, filled, weight, density, joint)
    informative = ~np.isnan(tau) & ~np.eye(filled.size, dtype=np.bool_)
    return PairResiduals(
        observed=np.where(informative, counts[0], np.nan),
        expected=np.where(informative, counts[2] * joint, np.nan),
        standardised=z,
        n=counts[2],
        largest_eigenvalue=float(np.linalg.eigvalsh(z)[-1]),
        labels=pairs.labels,
    )
