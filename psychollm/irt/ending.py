"""Final state of a fit of items, from which the result is constructed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import (
    Sides,
    code_range,
    spread,
)
from psychollm.irt.climb import Summit
from psychollm.irt.families import Family, Model
from psychollm.irt.likelihood import Problem
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.irt.result import IRTFit

StandardErrors = Literal["observed", "cross_product", "sandwich"]

VAGUE = 4.0  # asymptotes (logits) with a larger standard error are not informed by the data


@dataclass(frozen=True, slots=True)
class FittedItems:
    """All items of a table, with a mask of the fitted items."""

    answers: Sides
    has_answer: BoolArray  # (J, C)
    models: tuple[Model, ...]  # (J,)
    kept: BoolArray  # (J,)
    reasons: tuple[Reason, ...]  # (J,) reason why an item is not fitted, or a qualification


@dataclass(frozen=True, slots=True)
class Ending:
    """Final point of a fit, for the items with estimates."""

    family: Family
    parameters: FloatArray  # (J, p)
    frozen: BoolArray  # (J, p)
    log_likelihood: float
    gradient: float
    posterior_sd: float
    n_patterns: int
    n_nodes: int
    convergence: Convergence


def ending_of(problem: Problem, summit: Summit) -> Ending:
    """Return the final point of an optimisation."""
    point, nodes = summit.point, summit.grid.nodes
    mass = point.state.mass / point.state.mass.sum()
    return Ending(
        family=problem.family,
        parameters=point.parameters,
        frozen=point.frozen,
        log_likelihood=point.state.log_likelihood,
        gradient=point.steepness,
        posterior_sd=float(np.sqrt(mass @ (nodes - mass @ nodes) ** 2)),
        n_patterns=problem.patterns.frequency.size,
        n_nodes=nodes.size,
        convergence=summit.convergence,
    )


def result_of(
    end: Ending,
    covariance: FloatArray,
    items: FittedItems,
    priors: Priors | ItemPopulation,
    kind: StandardErrors | None,
) -> IRTFit:
    """Return the result for all items, on the scale of the model."""
    family, models, respondents = end.family, items.models, items.answers.respondents
    variances = np.einsum("jpp->jp", covariance)
    qualified = iter(_qualified(end, variances))
    shown = [
        (Reason.PRIOR_ALONE if reason else next(qualified)) if kept else reason
        for reason, kept in zip(items.reasons, items.kept.tolist(), strict=True)
    ]
    parameters = np.where(family.absent, np.nan, end.parameters)
    columns = family.columns(parameters, covariance, end.frozen)
    columns |= {"parameters": parameters, "covariance": covariance}
    size = int(np.isfinite(parameters).sum()) - (len(parameters) - 1 if family.tied else 0)
    return IRTFit(
        **{name: spread(values, items.kept) for name, values in columns.items()},
        model=models[0] if len(set(models)) == 1 else "mixed",
        item_models=models,
        link=family.link,
        has_answer=items.has_answer,
        respondents=items.answers.reading,
        ability_sd=float(parameters[0, 0]) if family.unit_slope else 1.0,
        se_ability_sd=float(np.sqrt(variances[0, 0])) if family.unit_slope else np.nan,
        posterior_sd=end.posterior_sd,
        standard_errors=kind or "none",
        log_likelihood=end.log_likelihood,
        aic=2.0 * size - 2.0 * end.log_likelihood,
        bic=float(np.log(len(respondents))) * size - 2.0 * end.log_likelihood,
        gradient=end.gradient,
        n_parameters=size,
        n_respondents=len(respondents),
        n_patterns=end.n_patterns,
        n_nodes=end.n_nodes,
        priors=priors,
        reasons=_with_gaps(tuple(shown), items.has_answer),
        labels=items.answers.items,
        respondent_labels=respondents,
        convergence=end.convergence,
        families=(),
        family_correlation=np.zeros(0),
        respondent_weight=np.zeros(0),
        alike=(),
    )


def _qualified(end: Ending, variances: FloatArray) -> list[Reason]:
    """Return the flags of each fitted item."""
    held, asymptotes = end.frozen & ~end.family.absent, end.family.asymptotes
    vague = ((variances > VAGUE**2) | held) & asymptotes
    lost = held & ~asymptotes
    return [
        Reason.UNBOUNDED if beyond.any() else Reason.UNIDENTIFIED if unknown.any() else Reason.NONE
        for beyond, unknown in zip(lost, vague, strict=True)
    ]


def _with_gaps(reasons: tuple[Reason, ...], has_answer: BoolArray) -> tuple[Reason, ...]:
    """Flag items with an unused answer code between used codes."""
    low, high = code_range(has_answer)
    gaps = high - low + 1 > has_answer.sum(axis=1)
    return tuple(
        Reason.UNUSED_ANSWER if gap and not reason else reason
        for reason, gap in zip(reasons, gaps.tolist(), strict=True)
    )
