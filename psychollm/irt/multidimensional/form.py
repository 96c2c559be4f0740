"""Pattern of loadings, with its checks and priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from psychollm._base.checks import check_count, n_dimensions, plain_array
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.frames import labelled
from psychollm._base.types import BoolArray
from psychollm.data.labels import Labels, listed
from psychollm.irt.answers import Oriented
from psychollm.irt.families import Link
from psychollm.irt.models import default_priors
from psychollm.irt.priors import FEW, NO_PRIORS, POPULATION, PROBIT_SCALE, Priors

SLOPE_SD, INTERCEPT_SD = 1.25, 2.5  # SDs of priors with several abilities, logit scale
CORRELATION_EXPONENT = 1.0  # exponent of the prior of correlations with few respondents


@dataclass(frozen=True, slots=True)
class Shape:
    """Pattern of loadings of all items (J, m), with names of abilities and form of the model."""

    loads: BoolArray
    names: tuple[str, ...]
    exploratory: bool
    correlated: bool


def shape_of(dimensions: Any, items: Labels, *, correlated: bool) -> Shape:
    """Return the pattern of loadings for the argument `dimensions`."""
    if n_dimensions(dimensions, "dimensions") == 0:
        m = check_count("dimensions", dimensions)
        names = tuple(f"ability_{k + 1}" for k in range(m))
        everywhere = np.ones((len(items), m), dtype=np.bool_)
        return Shape(loads=everywhere, names=names, exploratory=True, correlated=False)
    names = ()
    dimensions = labelled(dimensions)
    if hasattr(dimensions, "columns") and hasattr(dimensions, "index"):
        names = tuple(str(name) for name in dimensions.columns)
        if tuple(dimensions.index) != items:
            unknown = [label for label in items if label not in set(dimensions.index)]
            if unknown:
                msg = f"dimensions has no rows for items {listed(unknown)}"
                raise LabelError(msg)
            dimensions = dimensions.loc[list(items)]
    values = plain_array(dimensions, "dimensions")
    if values.ndim != 2 or values.shape[0] != len(items) or not values.shape[1]:
        msg = (
            f"dimensions must be a number, or a table of {len(items)} items by abilities, got "
            f"shape {values.shape}"
        )
        raise ShapeError(msg)
    if not np.isin(values, (0, 1)).all():
        msg = "dimensions: a table must hold True where an item loads and False elsewhere"
        raise OptionError(msg)
    names = names or tuple(f"ability_{k + 1}" for k in range(values.shape[1]))
    return Shape(
        loads=values.astype(np.bool_), names=names, exploratory=False, correlated=correlated
    )


def check_size(shape: Shape, keep: BoolArray, answers: Oriented) -> None:
    """Raise an error if there are too few items or respondents for the abilities."""
    m, items, n = shape.loads.shape[1], int(keep.sum()), len(answers.respondents)
    if n <= max(m, 1):
        msg = (
            f"responses: respondents={answers.reading!r} leaves {n} respondents for {m} "
            "abilities: use fewer abilities, or swap sides by respondents="
        )
        raise ShapeError(msg)
    if shape.exploratory:
        if m > 1 and items * (items - 1) // 2 < items * m - m * (m - 1) // 2:
            msg = (
                f"dimensions={m}: the {items} items with variance have fewer pairs than "
                "slopes: use "
                "fewer abilities"
            )
            raise ShapeError(msg)
        return
    used = shape.loads[keep].sum(axis=0)
    least = 2 if shape.correlated and m > 1 else 3
    if m > 1 and (used < least).any():
        k = int(np.flatnonzero(used < least)[0])
        msg = (
            f"dimensions: {used[k]} items with variance load on {shape.names[k]!r}, but at "
            f"least "
            f"{least} are needed: add items or omit the ability"
        )
        raise ShapeError(msg)
    empty = np.flatnonzero(~shape.loads.any(axis=1))
    if empty.size:
        lost = listed([answers.items[j] for j in empty])
        msg = f"dimensions: items {lost} load on no ability: omit them"
        raise ShapeError(msg)


def has_population(priors: object, shape: Shape, items: int, n_respondents: int) -> bool:
    """Return whether the prior is hierarchical."""
    # Exploratory slopes on several abilities have arbitrary signs and therefore no population
    # distribution.
    one_form = not shape.exploratory or shape.loads.shape[1] == 1
    few = n_respondents < FEW and items >= POPULATION
    return isinstance(priors, str) and priors == "auto" and few and one_form


def priors_of(priors: object, shape: Shape, link: Link, n_respondents: int) -> Priors:
    """Return the priors that the argument `priors` selects."""
    m = shape.loads.shape[1]
    if priors is None:
        return NO_PRIORS
    if isinstance(priors, Priors):
        if shape.exploratory and m > 1 and priors.slope and priors.slope[0] != 0.0:
            msg = (
                f"priors: slope=({priors.slope[0]:g}, {priors.slope[1]:g}) favours one rotation, "
                "which is arbitrary in the exploratory form: use a mean of 0"
            )
            raise OptionError(msg)
        return priors
    if priors != "auto":
        msg = f"priors={priors!r} must be 'auto', None or Priors(slope=(mean, sd), ...)"
        raise OptionError(msg)
    if m == 1:
        return default_priors(["2pl"], link, n_respondents)
    if n_respondents >= FEW:
        return NO_PRIORS
    scale = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
    return Priors(slope=(0.0, SLOPE_SD * scale), intercept=(0.0, INTERCEPT_SD * scale))


def correlation_exponent(
    priors: Priors | Literal["auto"] | None, shape: Shape, n_respondents: int
) -> float:
    """Return the exponent of the prior of the correlations of abilities; 0 means no prior."""
    wanted = isinstance(priors, str) and n_respondents < FEW
    return CORRELATION_EXPONENT if wanted and shape.correlated else 0.0
