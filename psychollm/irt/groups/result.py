"""Items and abilities of several groups of respondents on one scale."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import signed
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.expected import Expects
from psychollm.data.labels import Labels, listed, positions
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents
from psychollm.irt.families import Link, Model
from psychollm.irt.known import items_of
from psychollm.irt.models import curve_columns
from psychollm.irt.priors import FEW_RESPONDENTS, ItemPopulation, Priors
from psychollm.irt.result import IRTFit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupIRTFit(Expects, Result):
    """Item response model of G groups, with standard normal abilities in the first group.

    Attributes
    ----------
    model, link, respondents : str
        Item model, link function, and side of the table that has abilities.
    item_models : tuple of str
        Model of each item; `model` is "mixed" if they differ.
    groups, n_respondents : tuple and ndarray of shape (G,)
        Names of the groups, with the reference first, and their numbers of respondents.
    ability_mean, se_ability_mean, ability_sd, se_ability_sd : ndarray of shape (G,)
        Means and SDs of abilities, with standard errors. In the first group, the mean and SD are
        fixed at 0 and 1, except for the SD in the Rasch model.
    slope, intercept, difficulty, guessing, upper : ndarray of shape (G, items)
        Estimates, equal in all groups for items not in `free`; NaN for items that could not be
        fitted.
    se_slope, se_intercept, se_difficulty, se_guessing, se_upper : ndarray of shape (G, items)
        Standard errors from the observed information, or posterior SDs with a hierarchical prior.
    steps, se_steps : ndarray of shape (items, answers - 1)
        Intercepts of the steps between answers. Step c is the log odds of P(y >= c) in the graded
        model, of c against c - 1 in the partial credit model, and of c against 0 in the nominal
        model. A step is NaN if an item has no answer c, or no answer below c. For items with
        steps, `intercept` and `difficulty` refer to the mean step, and `slope` refers to the last
        answer.
    rmsd, md : ndarray of shape (G, items)
        Root mean squared and mean difference between a group's answers and the curves, over the
        group's abilities, as proportions of the highest score.
    free : tuple
        Items with their own parameters in every group.
    log_likelihood, aic, bic : float
        Marginal log-likelihood without priors, with AIC and BIC.
    n_parameters : int
        Number of free parameters.
    gradient : float
        Largest derivative of the objective at the solution.
    priors : Priors or ItemPopulation
        Prior of the item parameters.
    reasons : tuple of Reason
        Reason for each item without an estimate.
    labels, respondent_labels : tuple
        Names of items and respondents.
    parameters : ndarray of shape (G, items, p)
        Parameters on the scale of the optimisation (slope, intercept, logits of asymptotes), on
        which the abilities of the group are N(0, 1).
    has_answer : bool ndarray of shape (items, codes)
        Mask of the codes that occur as answers of an item.
    group_of : int ndarray of shape (respondents,)
        Index in `groups` of each respondent's group.
    convergence : Convergence
        Convergence status of the optimisation.
    """

    model: Model | Literal["mixed"]
    item_models: tuple[Model, ...]  # J
    link: Link
    respondents: Respondents
    groups: tuple[Hashable, ...]  # G
    n_respondents: IntArray  # (G,)
    ability_mean: FloatArray  # (G,)
    se_ability_mean: FloatArray  # (G,)
    ability_sd: FloatArray  # (G,)
    se_ability_sd: FloatArray  # (G,)
    slope: FloatArray  # (G, J)
    intercept: FloatArray  # (G, J)
    difficulty: FloatArray  # (G, J)
    guessing: FloatArray  # (G, J)
    upper: FloatArray  # (G, J)
    se_slope: FloatArray  # (G, J)
    se_intercept: FloatArray  # (G, J)
    se_difficulty: FloatArray  # (G, J)
    se_guessing: FloatArray  # (G, J)
    se_upper: FloatArray  # (G, J)
    steps: FloatArray  # (G, J, C - 1)
    se_steps: FloatArray  # (G, J, C - 1)
    rmsd: FloatArray  # (G, J)
    md: FloatArray  # (G, J)
    free: Labels
    log_likelihood: float
    aic: float
    bic: float
    n_parameters: int
    gradient: float
    priors: Priors | ItemPopulation
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J
    parameters: FloatArray  # (G, J, p)
    has_answer: BoolArray  # (J, C)
    respondent_labels: Labels  # N
    group_of: IntArray  # (N,)
    convergence: Convergence

    _EXPECTED = ("irt.predict", "of_groups")

    def _axes(self) -> Axes:
        names = curve_columns(self.item_models)
        steps = [Interleaved("step_{}=steps", "se_step_{}=se_steps")]
        free = set(self.free)
        return Axes(
            {"group": "groups", "item": "labels"},
            *(f"{prefix}{name}" for name in names for prefix in ("", "se_")),
            *(steps if self.steps.shape[2] > 1 else []),
            "rmsd",
            "md",
            ("free", lambda fit: [label in free for label in fit.labels]),
            "reason=reasons",
            arrays={
                "group item": (
                    "slope intercept difficulty guessing upper "
                    "se_slope se_intercept se_difficulty se_guessing se_upper rmsd md"
                ),
                "group item step": "steps se_steps",
                "group": "ability_mean ability_sd",
            },
        )

    @property
    def scale(self) -> Literal["population", "respondents"]:
        """Reference of the scale: "population", or "respondents" with a hierarchical prior."""
        return "respondents" if isinstance(self.priors, ItemPopulation) else "population"

    @property
    def fitted(self) -> BoolArray:
        """Mask of the items with estimates (items,)."""
        return np.asarray(np.isfinite(self.slope).all(axis=0), dtype=np.bool_)

    def of_group(self, group: Hashable) -> IRTFit:
        """Return the items of one group on its own scale, for scoring and prediction.

        Parameters
        ----------
        group : hashable
            Name of the group.

        Raises
        ------
        LabelError
            If no group has this name.

        Examples
        --------
        >>> from psychollm.irt import fit_irt_groups
        >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
        >>> fit = fit_irt_groups(answers, ["a", "b"] * 300, model="rasch")
        >>> fit.of_group("b").predict(answers[:2]).shape
        (2, 5)
        """
        (row,) = positions("group", self.groups, [group])
        return items_of(
            self.parameters[row],
            self.item_models,
            self.has_answer,
            link=self.link,
            respondents=self.respondents,
            labels=self.labels,
            reasons=self.reasons,
        )

    def summary(self) -> str:
        """Describe the fit and the abilities of the groups."""
        lines = [
            f"{self.model.upper()} with {self.link} link: {len(self.labels)} items, groups of "
            f"{self.respondents} {listed(self.groups)}.",
            f"Log-likelihood {self.log_likelihood:.2f}, {self.n_parameters} parameters, "
            f"AIC {self.aic:.1f}, BIC {self.bic:.1f}; priors: {self.priors}.",
        ]
        for g, group in enumerate(self.groups):
            mean = f"mean {signed(self.ability_mean[g])}"
            spread = f"SD {self.ability_sd[g]:.2f}"
            if g:
                mean += f" ({self.se_ability_mean[g]:.2f})"
            if np.isfinite(self.se_ability_sd[g]):
                spread += f" ({self.se_ability_sd[g]:.2f})"
            lines.append(
                f"{group!r}, {self.n_respondents[g]} {self.respondents}: {mean}, {spread}."
            )
        if isinstance(self.priors, ItemPopulation):
            lines.append(
                f"Abilities of these respondents of {self.groups[0]!r} have mean 0 and SD 1."
            )
            lines += self.priors.cautions(int(self.n_respondents.sum()))
            if self.n_respondents.min() < FEW_RESPONDENTS:
                lines.append(
                    f"With {self.n_respondents.min()} respondents in a group 95 % intervals of "
                    "means have about 90 % coverage."
                )
        if self.free:
            lines.append(f"Items with group-specific parameters: {listed(self.free)}.")
        worst = np.unravel_index(np.nanargmax(self.rmsd), self.rmsd.shape)
        lines.append(
            f"Largest RMSD {self.rmsd[worst]:.3f}: {self.labels[worst[1]]!r} in "
            f"{self.groups[worst[0]]!r}."
        )
        return "\n".join(lines)
