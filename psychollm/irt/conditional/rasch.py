r"""Rasch models by conditional maximum likelihood.

In the Rasch model, a respondent's number of yes answers is a sufficient statistic for the
respondent's ability. Conditioning on the number of yes answers removes abilities from the
likelihood, so that no distribution of abilities is assumed. Conditional likelihood is useful, for
example, for two dozen models of three families, which are not a sample from a normal distribution.
However, the Rasch model assumes that all slopes are one.

The function `rasch_ability` estimates abilities in logits, on a scale on which difficulties have
mean 0.

* ML: the ability at which the expected number of yes answers equals the observed number.
  The ML ability solves :math:`\sum_{j \in S} P_j(\theta) = r`, and does not exist if all answers
  are yes or all answers are no.
* WLE: Warm's weighted likelihood estimate.
  Warm's estimate is finite even if all answers are yes or all answers are no.

References
----------
Andersen, E. B. (1970). Asymptotic properties of conditional maximum-likelihood estimators. Journal
of the Royal Statistical Society B, 32(2), 283-301.
https://doi.org/10.1111/j.2517-6161.1970.tb00842.x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.errors import ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.expected import Expects
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.irt.ability import Abilities, abilities_of, modes
from psychollm.irt.answers import Oriented, Respondents, answers_to, orient, patterns_of, spread
from psychollm.irt.conditional.likelihood import climb, connected, sufficient
from psychollm.irt.families import Dichotomous

MOST_ITEMS = 1500  # computing time is cubic, and memory is quadratic, in the number of items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ConditionalRasch(Expects, Result):
    """Rasch items fitted by conditional maximum likelihood.

    Attributes
    ----------
    difficulty, se : ndarray of shape (items,)
        Difficulties with mean 0, and standard errors. NaN for items without an estimate, with an
        entry in `reasons`.
    covariance : ndarray of shape (items, items)
        Covariance matrix of the difficulties.
    conditional_log_likelihood : float
        Log-likelihood given each respondent's score.
    n_parameters, n_respondents, n_informative : int
        Number of free difficulties, number of respondents, and number of respondents with varying
        answers.
    respondents : str
        Side of the table that contains the respondents.
    gradient : float
        Largest derivative at the solution.
    reasons : tuple of Reason
        Reason for each item without an estimate.
    labels, respondent_labels : tuple
        Names of items and respondents.
    convergence : Convergence
        Convergence status of the optimisation.
    """

    difficulty: FloatArray  # (J,)
    se: FloatArray  # (J,)
    covariance: FloatArray  # (J, J)
    conditional_log_likelihood: float
    n_parameters: int
    n_respondents: int
    n_informative: int
    respondents: Respondents
    gradient: float
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J
    respondent_labels: Labels  # N
    convergence: Convergence

    _EXPECTED = ("irt.predict", "of_one_ability")
    _AXES = Axes({"item": "labels"}, "difficulty", "se", "reason=reasons")

    @property
    def fitted(self) -> BoolArray:
        """Mask of the items with estimates (items,)."""
        return np.asarray(np.isfinite(self.difficulty), dtype=np.bool_)

    def summary(self) -> str:
        """Describe the fit in sentences."""
        kind = "questions" if self.respondents == "models" else "models"
        left = int((~self.fitted).sum())
        lines = [
            f"Rasch model by conditional maximum likelihood: {self.n_respondents} "
            f"{self.respondents} as respondents ({self.n_informative} of them informative), "
            f"{len(self.labels)} {kind} as items.",
            f"Conditional log-likelihood {self.conditional_log_likelihood:.2f}, "
            f"{self.n_parameters} parameters; {self.convergence.reason}.",
        ]
        if left:
            lines.append(f"{left} of {len(self.labels)} {kind} have no estimates: see `reasons`.")
        return "\n".join(lines)


def conditional_rasch(
    responses: ResponsesLike, *, respondents: Respondents = "models"
) -> ConditionalRasch:
    """Fit the Rasch model by conditional maximum likelihood.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers. With missing answers, each respondent's score is computed from the answered
        items.
    respondents : {"models", "questions"}
        Side of the table that contains the respondents; the likelihood is conditional on their
        scores. The other side contains the items.

    Returns
    -------
    ConditionalRasch
        Difficulties with standard errors and covariances.

    Raises
    ------
    CodeError
        If answers are not 0 and 1.
    ShapeError
        If there are more than 1,500 items, or no two items can be compared.

    Warns
    -----
    ConvergenceWarning
        If the optimisation did not converge.

    Examples
    --------
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> conditional_rasch(answers).difficulty.round(2)
    array([ 1.23,  0.41,  0.  , -0.34, -1.32])
    """
    table = as_responses(responses, binary=True)
    found = fit_conditional(orient(table, respondents))
    found.convergence.warn("the conditional Rasch fit")
    return found


def fit_conditional(answers: Oriented) -> ConditionalRasch:
    """Fit the Rasch model to oriented answers."""
    reasons = answers.reasons()
    check_items(answers.codes)
    keep = connected(answers.codes)
    if not keep.any():
        msg = (
            "responses: difficulties have no finite estimate, because for no two items some "
            "respondents say yes only to the first and others only to the second"
        )
        raise ShapeError(msg)
    codes = answers.codes[:, keep]
    table = sufficient(codes)
    top = climb(table)
    covariance = np.full((keep.size, keep.size), np.nan)
    covariance[np.ix_(keep, keep)] = top.covariance
    others = first_reason(
        (~keep & _linked(answers.codes, keep), Reason.UNBOUNDED), (~keep, Reason.UNIDENTIFIED)
    )
    return ConditionalRasch(
        difficulty=spread(-top.easiness, keep),
        se=spread(np.sqrt(np.diagonal(top.covariance)), keep),
        covariance=covariance,
        conditional_log_likelihood=top.log_likelihood,
        n_parameters=int(keep.sum()) - 1,
        n_respondents=len(answers.respondents),
        n_informative=int(table.n_informative),
        respondents=answers.reading,
        gradient=top.gradient,
        reasons=tuple(own or other for own, other in zip(reasons, others, strict=True)),
        labels=answers.items,
        respondent_labels=answers.respondents,
        convergence=top.convergence,
    )


def check_items(codes: IntArray) -> None:
    """Raise an error if there are too many items for conditional likelihoods."""
    if codes.shape[1] > MOST_ITEMS:
        msg = (
            f"responses: {codes.shape[1]} items are too many for conditional likelihoods (at "
            f"most "
            f"{MOST_ITEMS}): swap sides by respondents=..., or use "
            "fit_irt(model='rasch')"
        )
        raise ShapeError(msg)


def _linked(codes: IntArray, keep: BoolArray) -> BoolArray:
    """Return the items (J,) that are linked to the kept items, even if in one direction only."""
    yes, no = (codes == 1).astype(np.float64), (codes == 0).astype(np.float64)
    both = yes.T @ no
    return np.asarray((both[:, keep] + both[keep].T).any(axis=1), dtype=np.bool_)


Method = Literal["ml", "wle"]


def rasch_ability(
    fit: ConditionalRasch,
    responses: ResponsesLike,
    *,
    method: Method = "wle",
) -> Abilities:
    """Estimate abilities from answers to Rasch items.

    Parameters
    ----------
    fit : ConditionalRasch
        Fitted items; items without estimates are ignored.
    responses : Responses or table
        Answers to the same items, oriented like the fitted table; respondents may differ.
    method : {"wle", "ml"}
        Warm's weighted likelihood, or maximum likelihood.

    Returns
    -------
    Abilities
        Abilities in logits with standard errors; NaN with a reason where undefined.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.

    Examples
    --------
    >>> from psychollm.irt.conditional.rasch import conditional_rasch
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> rasch_ability(conditional_rasch(answers), [[0, 0, 1, 1, 1]]).ability.round(2)
    array([0.41])
    """
    check_choice("method", method, Method)
    as_responses(responses, binary=True)
    answers = answers_to(responses, fit.labels, fit.respondents)
    keep = fit.fitted
    patterns = patterns_of(answers.codes[:, keep], 2)
    easiness = -fit.difficulty[keep]
    parameters = np.column_stack([np.ones(easiness.size), easiness])
    estimates = modes(method, Dichotomous("rasch", "logit"), parameters, patterns.codes)
    return abilities_of(patterns, method, estimates, answers.respondents)
