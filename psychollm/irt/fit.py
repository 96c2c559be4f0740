r"""Item response models by marginal maximum likelihood.

A respondent of ability :math:`\theta \sim N(0, 1)` answers item j with yes with probability

.. math:: P_j(\theta) = g_j + (u_j - g_j)\,F(a_j \theta + d_j),                       \quad (1)

answers independent given the ability, which is integrated out. F is logistic or normal; the Rasch
and 1PL models share one slope (Rasch as :math:`a = 1` and an ability with a free standard
deviation), the 2PL has none of the asymptotes, the 3PL g, the 4PL both.

Both readings of a table are of use: models as respondents and questions as items says which
questions discriminate; questions as respondents and models as items says how steeply each model's
answers follow what the models share.

References
----------
Bock, R. D., & Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters:
Application of an EM algorithm. Psychometrika, 46(4), 443-459.
https://doi.org/10.1007/BF02293801
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.coerce import check_binary
from psychollm.data.responses import Responses, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Oriented, Patterns, Respondents, orient, patterns_of, spread
from psychollm.irt.climb import Summit, climb, curvature
from psychollm.irt.estimates import columns_of
from psychollm.irt.families import Dichotomous, Link, Model
from psychollm.irt.likelihood import Problem
from psychollm.irt.polytomous import Graded, LogLinear, family_of
from psychollm.irt.priors import NO_PRIORS, Priors, default_priors
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

StandardErrors = Literal["observed", "cross_product", "sandwich"]
POLYTOMOUS = ("graded", "gpcm", "nominal")
AnyFamily: TypeAlias = Dichotomous | Graded | LogLinear
Reading: TypeAlias = tuple[Oriented, BoolArray, tuple[Reason, ...]]

VAGUE = 4.0  # standard error of a logit asymptote beyond which data say nothing about it


def fit_irt(
    responses: Responses | pd.DataFrame | ArrayLike,
    *,
    model: Model = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    priors: Priors | Literal["auto"] | None = "auto",
    standard_errors: StandardErrors = "observed",
) -> IRTFit:
    """Fit an item response model by marginal maximum likelihood.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers, or codes 0, 1, 2, ... for the last three models; missing ones are left
        out, which is right where they are missing at random given the answers seen.
    model : {"rasch", "1pl", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Which parameters items have: graded response, generalized partial credit and nominal are
        for more than two answers, all of which each item must show.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial
        credit and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Whose abilities are integrated out; the others are the items.
    priors : Priors, "auto" or None
        "auto" puts weak priors on slopes and intercepts below 500 respondents, and on asymptotes
        always; None maximises the likelihood alone. The result says what was used.
    standard_errors : {"observed", "cross_product", "sandwich"}
        From the observed information, the cross products of scores, or both.

    Raises
    ------
    CodeError
        If answers to a dichotomous model are not 0 and 1.
    ShapeError
        If there are fewer than two respondents or no item varies.
    OptionError
        If an option does not exist.

    Warns
    -----
    ConvergenceWarning
        If the climb did not end at a top, as for a 3PL without priors that the data do not
        determine.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(-(rng.normal(size=(2000, 1)) * [1.5, 1, 1] - [0, 1, -1])))
    >>> fit = fit_irt(rng.random((2000, 3)) < chance)
    >>> fit.slope.shape, fit.convergence.converged
    ((3,), True)
    """
    check_choice("model", model, Model)
    check_choice("link", link, Link)
    check_choice("standard_errors", standard_errors, StandardErrors)
    answers = orient(_table(responses, model, link), respondents)
    _check_size(answers)
    used = _priors(priors, model, link, len(answers.respondents))
    family = family_of(model, link, max(answers.n_categories, 2))
    found = fit_answers(answers, family, priors=used, standard_errors=standard_errors)
    found.convergence.warn(f"the {model} fit")
    return found


def fit_answers(
    answers: Oriented,
    family: AnyFamily,
    *,
    priors: Priors,
    standard_errors: StandardErrors | None = "observed",
    start: FloatArray | None = None,
) -> IRTFit:
    """Fit a family to oriented answers, from given parameters (J, p) if there are any.

    Without `standard_errors` there are none, which saves the curvature at the top.
    """
    reasons = answers.reasons(family.n_categories)
    keep = np.array([not reason for reason in reasons])
    codes = answers.codes if keep.all() else answers.codes[:, keep]
    patterns = patterns_of(codes, family.n_categories)
    problem = Problem(family, patterns, *_prior_arrays(priors, family))
    begin = _start(family, patterns)
    if start is not None:
        begin = np.where(np.isfinite(start[keep]).all(axis=1, keepdims=True), start[keep], begin)
    summit = climb(problem, begin)
    return _result(problem, family, summit, (answers, keep, reasons), priors, standard_errors)


def _table(responses: object, model: Model, link: Link) -> Responses:
    """Return the table, its answers checked against the model."""
    table = as_responses(responses)
    if model not in POLYTOMOUS:
        check_binary(table)
    elif link == "probit" and model != "graded":
        msg = f"link='probit' does not exist for model={model!r}, which is log-linear: use 'logit'"
        raise OptionError(msg)
    return table


def _prior_arrays(priors: Priors, family: AnyFamily) -> tuple[FloatArray, FloatArray]:
    """Return prior means and precisions of the parameters of an item (p,)."""
    if isinstance(family, Dichotomous):
        return priors.arrays(len(family.names))
    return priors.steps(family.n_slopes, family.n_categories - 1)


def _check_size(answers: Oriented) -> None:
    """Raise if there are too few respondents to speak of a distribution."""
    if len(answers.respondents) < 2:
        msg = (
            f"responses: respondents={answers.reading!r} leaves one respondent: a distribution of "
            "abilities needs at least two"
        )
        raise ShapeError(msg)


def _priors(priors: object, model: Model, link: Link, n_respondents: int) -> Priors:
    """Return the priors that the argument means."""
    if priors is None:
        return NO_PRIORS
    if isinstance(priors, Priors):
        return priors
    if priors == "auto":
        return default_priors(model, link, n_respondents)
    msg = f"priors={priors!r} must be 'auto', None or Priors(slope=(mean, sd), ...)"
    raise OptionError(msg)


def _start(family: AnyFamily, patterns: Patterns) -> FloatArray:
    """Return a start from shares of answers and the signs of item-rest covariances."""
    answered, answers = patterns.codes >= 0, range(patterns.n_categories)
    weight = patterns.frequency @ answered
    counts = np.stack([patterns.frequency @ (patterns.codes == c) for c in answers], axis=1)
    shares = (counts + 1.0 / len(answers)) / (weight[:, None] + 1.0)
    centred = np.where(answered, patterns.codes - shares @ np.arange(len(answers)), 0.0)
    rest = centred.sum(axis=1)
    weighted = centred * patterns.frequency[:, None]
    shared = weighted.T @ rest - np.einsum("uj,uj->j", weighted, centred)
    signs = np.where((shared >= 0.0) | family.tied, 1.0, -1.0)
    return family.start(shares, signs)


def _covariance(problem: Problem, summit: Summit, kind: StandardErrors | None) -> FloatArray:
    """Return covariance blocks (J, p, p); NaN where the information is singular."""
    items, p = summit.point.parameters.shape
    matrix = curvature(problem, summit.point, summit.grid) if kind else None
    if kind is None or matrix is None:
        return np.full((items, p, p), np.nan)
    blocks = matrix.covariance(kind).copy()
    held = summit.point.frozen
    blocks[np.repeat(held[:, :, None], p, axis=2) | np.repeat(held[:, None], p, axis=1)] = np.nan
    return blocks


def _qualified(summit: Summit, variances: FloatArray, *, asymptotes: bool) -> list[Reason]:
    """Return what must be said beside each fitted item's estimates."""
    parameters, frozen = summit.point.parameters, summit.point.frozen
    told = []
    for j in range(parameters.shape[0]):
        vague = asymptotes and ((variances[j, 2:] > VAGUE**2).any() or frozen[j, 2:].any())
        if frozen[j, : 2 if asymptotes else None].any():
            told.append(Reason.UNBOUNDED)
        else:
            told.append(Reason.UNIDENTIFIED if vague else Reason.NONE)
    return told


def _result(
    problem: Problem,
    family: AnyFamily,
    summit: Summit,
    read: Reading,
    priors: Priors,
    kind: StandardErrors | None,
) -> IRTFit:
    """Put the estimates among all items, on the scale of the model."""
    answers, keep, reasons = read
    covariance = _covariance(problem, summit, kind)
    variances = np.einsum("jpp->jp", covariance)
    told = iter(_qualified(summit, variances, asymptotes=isinstance(family, Dichotomous)))
    all_reasons = tuple(reason or next(told) for reason in reasons)
    parameters = summit.point.parameters.copy()
    point = summit.point
    columns = columns_of(family, parameters, covariance, point.frozen)
    size = parameters.size - (parameters.shape[0] - 1 if family.tied else 0)
    log_likelihood = point.state.log_likelihood
    rasch = family.model == "rasch"
    return IRTFit(
        **{name: spread(values, keep) for name, values in columns.items()},
        model=family.model,
        link=family.link,
        n_categories=family.n_categories,
        respondents=answers.reading,
        ability_sd=float(parameters[0, 0]) if rasch else 1.0,
        se_ability_sd=float(np.sqrt(variances[0, 0])) if rasch else np.nan,
        standard_errors=kind or "none",
        log_likelihood=log_likelihood,
        aic=2.0 * size - 2.0 * log_likelihood,
        bic=float(np.log(len(answers.respondents))) * size - 2.0 * log_likelihood,
        gradient=point.steepness,
        n_parameters=size,
        n_respondents=len(answers.respondents),
        n_patterns=problem.patterns.frequency.size,
        n_nodes=summit.grid.nodes.size,
        priors=priors,
        reasons=all_reasons,
        labels=answers.items,
        respondent_labels=answers.respondents,
        convergence=summit.convergence,
    )


def codes_for(fit: IRTFit, responses: object) -> IntArray:
    """Return the codes (respondents, fitted items) of a table read as the fit read its own.

    Raises
    ------
    CodeError
        If a code is one that the fit does not have.
    ShapeError
        If the table does not have the fit's items.
    """
    table = as_responses(responses)
    answers = orient(table, fit.respondents)
    if answers.items != fit.labels:
        msg = (
            f"responses have {len(answers.items)} items ({answers.items[:3]}...), the fit has "
            f"{len(fit.labels)} ({fit.labels[:3]}...): pass the same items in the same order"
        )
        raise ShapeError(msg)
    if answers.codes.max() >= fit.n_categories:
        msg = f"responses hold code {answers.codes.max()}, but the fit knows 0 to "
        raise CodeError(msg + f"{fit.n_categories - 1}")
    return np.asarray(answers.codes[:, fit.fitted], dtype=np.int64)
