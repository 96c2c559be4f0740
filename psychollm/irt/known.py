"""Items with known parameters, from a publication, an item bank or another program."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.checks import check_choice, float_array
from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels, as_labels
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, spread
from psychollm.irt.families import Link, Model
from psychollm.irt.models import codes_of, family_of, family_of_items
from psychollm.irt.priors import NO_PRIORS
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Ordered = Literal["graded", "gpcm"]
FURTHEST = 36.0  # asymptotes beyond this logit round to 0 or 1


def known_items(
    slope: ArrayLike,
    intercept: ArrayLike,
    *,
    guessing: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    ordered: Ordered = "graded",
    link: Link = "logit",
    labels: Sequence[Hashable] | None = None,
    respondents: Respondents = "models",
) -> IRTFit:
    """Return items with known parameters as a fit, for scoring and other functions.

    Parameters
    ----------
    slope : array of shape (items,)
        Slopes, on the scale of N(0, 1) abilities.
    intercept : array of shape (items,) or (items, answers - 1)
        Intercepts: minus slope times difficulty. Items with more than two answer categories have
        one intercept for each step between neighbouring categories.
    guessing, upper : array of shape (items,), optional
        Lower and upper asymptotes of binary items; by default 0 and 1.
    ordered : {"graded", "gpcm"}
        Meaning of the steps: log odds of an answer of c or more ("graded"), or of c against c - 1
        ("gpcm").
    link : {"logit", "probit"}
        Logistic or normal-ogive curves.
    labels : sequence of labels, optional
        Names of the items, used to align answers; by default 0, 1, ...
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.

    Returns
    -------
    IRTFit
        Items with the known parameters; standard errors and likelihood are NaN.

    Raises
    ------
    OptionError
        If a parameter is not finite, if asymptotes are not probabilities with `guessing` below
        `upper`, or if an option does not exist.
    ShapeError
        If the shapes do not match.

    See Also
    --------
    psychollm.ability : abilities of respondents given items.

    Examples
    --------
    >>> from psychollm.irt import ability
    >>> items = known_items([1.0, 1.5, 0.8], [0.5, 0.0, -0.5], labels=["a", "b", "c"])
    >>> ability(items, [[1, 1, 0], [0, 0, 1]]).ability.round(2)
    array([ 0.47, -0.49])
    """
    check_choice("link", link, Link)
    check_choice("ordered", ordered, Ordered)
    check_choice("respondents", respondents, Respondents)
    slopes, steps = float_array(slope, "slope"), float_array(intercept, "intercept")
    steps = steps[:, None] if steps.ndim == 1 else steps
    if slopes.ndim != 1 or steps.ndim != 2 or len(steps) != slopes.size or not steps.size:
        msg = (
            f"slope {slopes.shape} and intercept {steps.shape} must have the shapes (items,) and "
            "(items,) or (items, answers - 1)"
        )
        raise ShapeError(msg)
    names = as_labels("item", labels, slopes.size)
    logits = _logits(slopes.size, guessing, upper)
    if logits and steps.shape[1] > 1:
        msg = "guessing and upper are for binary items: omit them for more than two answers"
        raise OptionError(msg)
    model: Model = ("2pl", "3pl", "4pl")[len(logits)] if steps.shape[1] == 1 else ordered
    family = family_of(model, link, steps.shape[1] + 1)
    if link not in family.links:
        msg = f"link={link!r} does not exist for ordered={model!r}: use 'logit'"
        raise OptionError(msg)
    own = np.cumsum(steps, axis=1) if model == "gpcm" else steps
    parameters = np.column_stack([slopes, own, *logits])
    bad = np.flatnonzero(~np.isfinite(parameters).all(axis=1))
    if bad.size:
        msg = f"slope, intercept: {names[bad[0]]!r} has a parameter that is not finite"
        raise OptionError(msg)
    return items_of(
        parameters,
        (model,) * slopes.size,
        np.ones((slopes.size, family.n_categories), dtype=np.bool_),
        link=link,
        respondents=respondents,
        labels=names,
        reasons=(Reason.NONE,) * slopes.size,
    )


def items_of(
    parameters: FloatArray,
    item_models: tuple[Model, ...],
    has_answer: BoolArray,
    *,
    link: Link,
    respondents: Respondents,
    labels: Labels,
    reasons: tuple[Reason, ...],
) -> IRTFit:
    """Return a fit with known parameters (J, p); fields that depend on answers are NaN."""
    known = np.isfinite(parameters[:, 0])
    own = parameters[known]
    models = [item_models[j] for j in np.flatnonzero(known)]
    family = family_of_items(models, link, codes_of(has_answer[known]), has_answer.shape[1])
    columns = family.columns(
        own, np.full((*own.shape, own.shape[1]), np.nan), np.zeros(own.shape, dtype=np.bool_)
    )
    nothing = float("nan")
    return IRTFit(
        **{name: spread(values, known) for name, values in columns.items()},
        model=item_models[0] if len(set(item_models)) == 1 else "mixed",
        item_models=item_models,
        link=link,
        respondents=respondents,
        has_answer=has_answer,
        ability_sd=float(own[0, 0]) if family.unit_slope else 1.0,
        se_ability_sd=nothing,
        posterior_sd=nothing,
        parameters=parameters,
        covariance=np.full((*parameters.shape, parameters.shape[1]), np.nan),
        standard_errors="none",
        log_likelihood=nothing,
        aic=nothing,
        bic=nothing,
        gradient=nothing,
        n_parameters=0,
        n_respondents=0,
        n_patterns=0,
        n_nodes=0,
        priors=NO_PRIORS,
        reasons=reasons,
        labels=labels,
        respondent_labels=(),
        convergence=Convergence(
            converged=True, iterations=0, reason="parameters are known", objective=nothing
        ),
        families=(),
        family_correlation=np.zeros(0),
        respondent_weight=np.zeros(0),
        alike=(),
    )


def _logits(size: int, guessing: ArrayLike | None, upper: ArrayLike | None) -> list[FloatArray]:
    """Return the logits of the given asymptotes, (items,) each."""
    if guessing is None and upper is None:
        return []
    low = np.zeros(size) if guessing is None else float_array(guessing, "guessing")
    high = np.ones(size) if upper is None else float_array(upper, "upper")
    if low.shape != (size,) or high.shape != (size,):
        msg = f"guessing {low.shape} and upper {high.shape} must have the shape ({size},)"
        raise ShapeError(msg)
    if not ((low >= 0.0) & (low < high) & (high <= 1.0)).all():
        msg = "guessing and upper must be probabilities, guessing below upper"
        raise OptionError(msg)
    with np.errstate(divide="ignore"):
        pair = [np.log(values) - np.log1p(-values) for values in (low, high)]
    clipped = [np.clip(values, -FURTHEST, FURTHEST) for values in pair]
    return clipped if upper is not None else clipped[:1]
