"""Fit statistics of single respondents."""

from __future__ import annotations

from dataclasses import dataclass

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.irt.fit_statistics.residuals import answer_residuals, mean_squares
from psychollm.irt.result import IRTFit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PersonFit(Result):
    """Fit statistics of each respondent.

    Attributes
    ----------
    zh : ndarray of shape (respondents,)
        Standardised log-likelihood (Drasgow's Zh). Values below -2 indicate answers that are
        unlikely for the ability, for example because of guessing or contamination.
    infit, outfit, z_infit, z_outfit : ndarray of shape (respondents,)
        Mean squares (expected value 1) and their z-scores.
    labels : tuple
        Names of the respondents.
    """

    zh: FloatArray  # (N,)
    infit: FloatArray  # (N,)
    outfit: FloatArray  # (N,)
    z_infit: FloatArray  # (N,)
    z_outfit: FloatArray  # (N,)
    labels: Labels  # N

    _AXES = Axes({"respondent": "labels"}, "zh", "infit", "outfit", "z_infit", "z_outfit")


def person_fit(fit: IRTFit, responses: ResponsesLike) -> PersonFit:
    """Compute Zh, infit and outfit of every respondent at the posterior mean of its ability.

    Parameters
    ----------
    fit : IRTFit
        Fitted model.
    responses : Responses or table
        The answers used in the fit.

    Returns
    -------
    PersonFit
        Fit statistics of each respondent.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> person_fit(fit_irt(answers, model="rasch"), answers).zh.shape
    (600,)
    """
    residuals = answer_residuals(fit, responses)
    squares = mean_squares(residuals, axis=1)
    return PersonFit(
        zh=squares.zh,
        infit=squares.infit,
        outfit=squares.outfit,
        z_infit=squares.z_infit,
        z_outfit=squares.z_outfit,
        labels=residuals.labels,
    )
