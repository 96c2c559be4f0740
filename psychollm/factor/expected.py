r"""Expected binary answers from a factor model: probabilities averaged over factor values.

A variable is answered yes if its latent response exceeds its threshold. Given the answers of a
unit, its factors have the posterior mean :math:`\mu` and covariance C of
`psychollm.factor.factor_scores`. With a normal posterior, the probability of a yes is

.. math:: \Phi\Big(\frac{\lambda^\top\mu - \tau}
          {\sqrt{1 - \lambda^\top \Phi \lambda + \lambda^\top C \lambda}}\Big).          \quad (1)

If a solution has no thresholds, the thresholds are computed from the yes rates.
"""

from typing import Any

import numpy as np
from scipy.special import ndtr

from psychollm._base.errors import CodeError
from psychollm._base.types import FloatArray
from psychollm.data.expected import Expected
from psychollm.data.table import as_table
from psychollm.factor.factor_scores import (
    LEAST_UNIQUENESS,
    in_order,
    posterior_scores,
    thresholds_of,
)


def expected_answers(solution: Any, responses: Any) -> Expected:
    """Return the expected answers of a factor solution, with variables identified by label."""
    table = as_table(responses)
    of: Any = "questions" if _fits(solution.labels, table.questions, table.models) else "models"
    values, units = in_order(table, solution.labels, of)
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        msg = "responses: expected answers need binary data: pass answers coded 0 and 1"
        raise CodeError(msg)
    loadings = np.array(solution.loadings, dtype=np.float64).reshape(len(values), -1)
    tau = getattr(solution, "thresholds", None)
    known = np.isfinite(loadings).all(axis=1)
    tau = thresholds_of(values) if tau is None else np.array(tau)
    known &= np.isfinite(tau)
    expected = np.full(values.shape, np.nan)
    expected[known] = _chances(
        loadings[known], getattr(solution, "factor_correlation", None), tau[known], values[known]
    )
    own = solution.labels
    return (expected, own, units) if of == "models" else (expected.T, units, own)


def _fits(labels: tuple[Any, ...], questions: Any, models: Any) -> bool:
    """Return whether the variables are the questions rather than the models."""
    wanted = set(labels)
    return wanted <= set(questions) and not (wanted <= set(models) and len(models) == len(wanted))


def _chances(
    loadings: FloatArray, correlation: Any, thresholds: FloatArray, answers: FloatArray
) -> FloatArray:
    """Return the probabilities of yes by equation (1), shape (variables, units)."""
    phi = np.eye(loadings.shape[1]) if correlation is None else np.array(correlation)
    mean, covariance = posterior_scores(loadings, phi, thresholds, answers)
    silent = np.isnan(mean[:, 0])
    mean = np.where(silent[:, None], 0.0, mean)
    covariance = np.where(silent[:, None, None], phi, covariance)
    own = np.einsum("km,mn,kn->k", loadings, phi, loadings)
    unknown = np.einsum("km,umn,kn->ku", loadings, covariance, loadings)
    spread = np.sqrt(np.maximum(1.0 - own, LEAST_UNIQUENESS)[:, None] + unknown)
    return np.asarray(ndtr((loadings @ mean.T - thresholds[:, None]) / spread))
