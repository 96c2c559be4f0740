"""Answers of several groups of respondents, prepared for fits."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, group_members, listed
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.irt.answers import MISSING, Patterns, Respondents, orient, patterns_of
from psychollm.irt.families import Link
from psychollm.irt.fit import fit_irt
from psychollm.irt.groups.population import Groups, Places, places_of
from psychollm.irt.likelihood import Problem, expectation, grid_for
from psychollm.irt.models import ItemModels, default_priors, models_of_items
from psychollm.irt.priors import NO_PRIORS, ItemPopulation, Priors
from psychollm.irt.result import IRTFit

FEWEST = 2  # fewest respondents in a group
LEAST_SPREAD = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupAnswers:
    """Answers by group, with the fit of all respondents as one population."""

    pooled: IRTFit
    problems: tuple[Problem, ...]  # G likelihoods for the items with estimates
    kept: BoolArray  # (J,) items with estimates
    counts: IntArray  # (G, items kept, C) counts of the answers
    prior_means: FloatArray  # (p,), or (items kept, p) if items differ
    prior_precisions: FloatArray  # same shape as `prior_means`
    names: tuple[Hashable, ...]  # G
    sizes: IntArray  # (G,)
    respondents: Labels  # (N,)
    member: IntArray  # (N,) group of each respondent

    @property
    def answered(self) -> BoolArray:
        """Whether each item has answers in each group (G, items kept)."""
        return np.asarray(self.counts.sum(axis=2) > 0, dtype=np.bool_)

    @property
    def shares(self) -> FloatArray:
        """Codes scaled to 0 for an item's lowest answer and 1 for its highest (items kept, C)."""
        return self.pooled.shares[self.kept]

    def short(self, fewest: int) -> BoolArray:
        """Return whether a group gave any of an item's answers fewer than `fewest` times."""
        rare = (self.counts < fewest) & self.pooled.has_answer[self.kept]
        return np.asarray(rare.any(axis=2) & self.answered, dtype=np.bool_)

    @property
    def items(self) -> list[Hashable]:
        """Names of the items that are kept."""
        return [self.pooled.labels[j] for j in np.flatnonzero(self.kept)]

    def chosen(self, labels: Sequence[Hashable], argument: str) -> BoolArray:
        """Return a mask of the named items; raise an error for items without estimates."""
        if isinstance(labels, str) and labels not in self.items:
            labels = tuple(labels)
        wanted = [labels] if isinstance(labels, str) else list(labels)
        strange = [label for label in wanted if label not in self.items]
        if strange:
            msg = f"{argument} names {listed(strange)}, which cannot be fitted: "
            raise LabelError(msg + listed(self.items))
        return np.array([label in wanted for label in self.items])

    def model(self, free: BoolArray) -> Groups:
        """Return the objective in which the items of `free` have group-specific parameters."""
        family = self.problems[0].family
        places = places_of(free, self.answered, len(family.names), tied=family.tied)
        return Groups(
            problems=self.problems,
            places=places,
            prior_means=self.prior_means,
            prior_precisions=self.prior_precisions,
        )

    def with_own_items(self, places: Places) -> tuple[IntArray, IntArray, tuple[Patterns, ...]]:
        """Return group-specific versions of items, with their positions and answers."""
        # The function returns the item of each version (V,), the version in each group (G, J), and
        # the answer patterns of each group, in which versions of other groups are missing.
        size = places.items.shape[2] - places.tied
        column = (places.items[:, :, -1] - places.tied) // size
        items = np.zeros(places.n_items // size, dtype=np.int64)
        items[column] = np.arange(column.shape[1])
        patterns = []
        for own, problem in zip(column, self.problems, strict=True):
            answers = problem.patterns
            codes = np.full((answers.of_respondent.size, items.size), MISSING)
            codes[:, own] = answers.codes[answers.of_respondent]
            patterns.append(patterns_of(codes, answers.n_categories))
        return items, column, tuple(patterns)

    def start(self, places: Places) -> FloatArray:
        """Return starting values: pooled items, and abilities under pooled items."""
        family = self.problems[0].family
        items = np.nan_to_num(self.pooled.parameters[self.kept])
        found = np.array([_ability(problem, items) for problem in self.problems])
        mean, sd = found[:, 0], np.maximum(found[:, 1], LEAST_SPREAD)
        x = np.empty(places.size)
        x[places.items] = family.rescaled(items, float(mean[0]), float(sd[0]))
        others = len(sd) - 1
        x[places.n_items :][:others] = (mean[1:] - mean[0]) / sd[0]
        x[places.n_items + others :] = np.log(sd[1:] / sd[0])
        return x


def _ability(problem: Problem, items: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation of a group's abilities under pooled parameters."""
    grid = grid_for(problem.family, items)
    mass = expectation(problem, items, grid).mass
    mass = mass / mass.sum()
    mean = float(mass @ grid.nodes)
    return mean, float(np.sqrt(mass @ (grid.nodes - mean) ** 2))


def read_groups(
    responses: ResponsesLike,
    groups: Sequence[Any],
    *,
    model: ItemModels,
    link: Link,
    respondents: Respondents,
    priors: Priors | Literal["auto"] | None,
    population: bool = False,
) -> GroupAnswers:
    """Split a table by groups of respondents, and fit it as one population."""
    # With `population`, "auto" may select a hierarchical prior, which tests cannot use.
    table = as_responses(responses)
    answers = orient(table, respondents)
    names, member = group_members(groups, answers.respondents, unit=respondents, fewest=FEWEST)
    if isinstance(priors, str) and priors == "auto" and not population:
        models = models_of_items(model, answers.items)
        priors = default_priors(models, link, len(answers.respondents))
    pooled = fit_irt(table, model=model, link=link, respondents=respondents, priors=priors)
    kept = pooled.fitted
    if isinstance(pooled.priors, ItemPopulation):  # items without variance also have estimates
        kept = pooled.estimated & (answers.codes >= 0).any(axis=0)
    family = pooled.family_of(kept)
    codes = answers.codes[:, kept]
    nothing = np.zeros(len(family.names))
    problems = tuple(
        Problem(family, patterns_of(codes[member == g], pooled.n_categories), nothing, nothing)
        for g in range(len(names))
    )
    counts = np.stack(
        [
            [(codes[member == g] == c).sum(axis=0) for c in range(pooled.n_categories)]
            for g in range(len(names))
        ]
    ).transpose(0, 2, 1)
    used = pooled.priors if isinstance(pooled.priors, Priors) else NO_PRIORS
    means, precisions = family.prior_arrays(used)
    found = GroupAnswers(
        pooled=pooled,
        problems=problems,
        kept=kept,
        counts=counts,
        prior_means=means,
        prior_precisions=precisions,
        names=names,
        sizes=np.bincount(member),
        respondents=answers.respondents,
        member=member,
    )
    check_linked(found, np.zeros(codes.shape[1], dtype=np.bool_), "share no item")
    return found


def check_linked(answers: GroupAnswers, free: BoolArray, what: str) -> None:
    """Raise an error for groups that no common item links to the first group."""
    links = answers.answered & ~free
    reached = np.zeros(len(links), dtype=np.bool_)
    reached[0] = True
    for _ in links:
        reached |= (links & links[reached].any(axis=0)).any(axis=1)
    apart = [answers.names[g] for g in np.flatnonzero(~reached)]
    if apart:
        msg = (
            f"groups {listed(apart)} {what} with {answers.names[0]!r}: their abilities "
            "are "
            "not on one scale"
        )
        raise ShapeError(msg)
