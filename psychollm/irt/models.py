"""Families and priors of item models, by name."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.types import BoolArray
from psychollm.data.labels import Labels, listed
from psychollm.irt.families import (
    ASYMPTOTES,
    YES_OR_NO,
    Codes,
    Dichotomous,
    Family,
    Link,
    Model,
)
from psychollm.irt.mixed import Member, Mixed
from psychollm.irt.polytomous import SEVERAL_ANSWERS
from psychollm.irt.priors import (
    FEW,
    KAPPA,
    NO_PRIORS,
    POPULATION,
    PROBIT_SCALE,
    ItemPopulation,
    Normal,
    Priors,
    without_number,
)

ItemModels: TypeAlias = Model | Mapping[Hashable, Model] | Sequence[Model]


def _yes_or_no(model: Model, link: Link, n_categories: int, codes: Codes) -> Family:
    return Dichotomous(model, link)


MODELS: Mapping[Model, Callable[[Model, Link, int, Codes], Family]] = {
    **dict.fromkeys(YES_OR_NO, _yes_or_no),
    **SEVERAL_ANSWERS,
}
# (mean, SD) of priors, used with fewer than `FEW` answers per item, and always for asymptotes
FIXED: dict[str, Normal] = {
    "slope": (1.0, 0.75),
    "intercept": (0.0, 2.5),
    "guessing": (-1.4, 0.7),
    "upper": (3.0, 0.7),
    "answer_slope": (1.0, 2.0),
}
WIDE_SLOPE = (2.0, 4.0)  # wide enough to affect only weakly identified slopes
RARE = 20  # with fewer answers outside the most frequent code, a slope is weakly identified


def _check(model: str) -> None:
    if model not in MODELS:
        msg = f"model={model!r} is not an option: use one of {', '.join(map(repr, MODELS))}"
        raise OptionError(msg)


def all_yes_or_no(models: Collection[Model]) -> bool:
    """Return whether no item has more than two answer categories."""
    return all(kind_of(model).yes_or_no for model in set(models))


def curve_columns(models: Collection[Model]) -> list[str]:
    """Return the names of the parameters that results report for these models."""
    names = {name for model in set(models) for name in kind_of(model).priors}
    return ["slope", "intercept", "difficulty", *(name for name in ASYMPTOTES if name in names)]


def models_of_items(model: ItemModels, labels: Labels) -> tuple[Model, ...]:
    """Return the model of each item."""
    if isinstance(model, str):
        _check(model)
        return (model,) * len(labels)
    if isinstance(model, Mapping):
        strange = [label for label in model if label not in set(labels)]
        absent = [label for label in labels if label not in model]
        if strange or absent:
            wrong = f"names {listed(strange)}, which are not among"
            if not strange:
                wrong = f"leaves out {listed(absent)} of"
            msg = f"model {wrong} the items {listed(labels)}: name the model of each"
            raise LabelError(msg)
        models = tuple(model[label] for label in labels)
    else:
        models = tuple(model)
    if len(models) != len(labels):
        msg = f"model has {len(models)} entries for {len(labels)} items: name the model of each"
        raise ShapeError(msg)
    for one in set(models):
        _check(one)
    alone = sorted(one for one in set(models) if kind_of(one).tied)
    if alone and len(set(models)) > 1:
        msg = (
            f"model={alone[0]!r} has one slope for all items and cannot be mixed with others: use "
            "'2pl' for its items"
        )
        raise OptionError(msg)
    return models


def codes_of(has_answer: BoolArray) -> list[Codes]:
    """Return the codes of each item's answers from a mask (J, C)."""
    return [tuple(np.flatnonzero(row).tolist()) for row in has_answer]


def family_of(model: Model, link: Link, n_categories: int, codes: Codes = ()) -> Family:
    """Return the family of items of one model with the same answer categories."""
    return MODELS[model](model, link, n_categories, codes)


def kind_of(model: Model) -> Family:
    """Return the model's family with two answers and the logit link, to look up properties."""
    return family_of(model, "logit", 2)


def family_of_items(
    models: Sequence[Model], link: Link, categories: Sequence[Codes], n_categories: int
) -> Family:
    """Return the family of items, given each item's model and answer codes."""
    kinds = list(zip(models, categories, strict=True))
    distinct = sorted(set(kinds))
    everything = tuple(range(n_categories))
    if len(distinct) == 1 and distinct[0][1] == everything:
        return family_of(distinct[0][0], link, n_categories)
    members = []
    for model, codes in distinct:
        regular = codes == tuple(range(len(codes)))
        family = family_of(model, link, len(codes), () if regular else codes)
        items = np.array([j for j, kind in enumerate(kinds) if kind == (model, codes)])
        members.append(Member(family, np.array(codes), items))
    return Mixed(tuple(members), link, n_categories, len(kinds))


def all_answers(models: Sequence[Model], has_answer: BoolArray) -> BoolArray:
    """Return a mask (J, C) of possible answers, common to all items with the same item model."""
    everything, every = np.zeros_like(has_answer), np.array(models)
    for model in set(models):
        rows = every == model
        seen = np.flatnonzero(has_answer[rows].any(axis=0))
        alone = rows.all() and not kind_of(model).yes_or_no
        highest = has_answer.shape[1] - 1 if alone else seen.max(initial=1)
        everything[rows, : highest + 1] = True
    return everything


def item_population(model: Model, link: Link, n_categories: int = 2) -> ItemPopulation:
    """Return the distribution of a model's items before estimation."""
    unit = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
    kappa = KAPPA * unit
    known: dict[str, Normal] = {
        "intercept": (0.0, 2.0 * unit),
        "slope": (float(np.arcsinh(unit / kappa)), 0.4),
        "answer_slope": (1.0, 1.0),
        "gap": (0.0, 0.5),
        "easiness": (0.0, 1.2),
        **{f"logit_{name}": FIXED[name] for name in ASYMPTOTES},
    }
    names = family_of(model, link, n_categories).coordinates.names
    mean, sd = np.array([known[without_number(name)] for name in names]).T
    return ItemPopulation(names=names, mean=mean, covariance=np.diag(np.square(sd)), kappa=kappa)


def default_priors(
    models: Collection[Model], link: Link, per_item: float, rarest: float = np.inf
) -> Priors:
    """Return fixed priors for fits without a hierarchical prior."""
    # With fewer than 500 answers per item, slopes and intercepts have weak priors. Asymptotes
    # always have a prior, because data rarely determine them. Slopes may have no finite estimate
    # in models with asymptotes, or if few answers are outside the most frequent code (`rarest`).
    scale = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
    wanted = {name for model in set(models) for name in kind_of(model).priors}
    known = FIXED
    if per_item >= FEW:
        known = FIXED | {"slope": WIDE_SLOPE}
        steep = rarest < RARE or not wanted.isdisjoint(ASYMPTOTES)
        wanted &= {*ASYMPTOTES, *(["slope"] if steep else [])}
    units = dict.fromkeys(("slope", "intercept"), scale)
    return Priors(
        **{
            name: (known[name][0] * units.get(name, 1.0), known[name][1] * units.get(name, 1.0))
            for name in wanted
        }
    )


def proper(priors: Priors | ItemPopulation, models: Collection[Model]) -> bool:
    """Return whether zero-variance items have estimates."""
    if isinstance(priors, ItemPopulation):
        return True
    needed = {name for model in set(models) for name in kind_of(model).priors}
    return all_yes_or_no(models) and all(getattr(priors, name) is not None for name in needed)


def chosen_priors(
    priors: object,
    models: Sequence[Model],
    link: Link,
    per_item: float,
    n_categories: int,
    rarest: float = np.inf,
) -> Priors | ItemPopulation:
    """Return the priors that the argument `priors` selects."""
    if priors is None:
        return NO_PRIORS
    if isinstance(priors, Priors | ItemPopulation):
        return priors
    if priors == "auto":
        few = per_item < FEW and len(models) >= POPULATION
        if few:
            return item_population(models[0], link, n_categories)
        return default_priors(models, link, per_item, rarest)
    msg = f"priors={priors!r} must be 'auto', None or Priors(slope=(mean, sd), ...)"
    raise OptionError(msg)
