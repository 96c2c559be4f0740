"""Result of fitting an item response model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import count
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.expected import Expects
from psychollm.data.labels import Labels, listed
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, code_shares
from psychollm.irt.families import Family, Link, Model
from psychollm.irt.models import codes_of, curve_columns, family_of_items
from psychollm.irt.priors import ItemPopulation, Priors, spread_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes as Drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IRTFit(Expects, Result):
    r"""Items fitted by marginal maximum likelihood or with a hierarchical prior.

    P(yes) = g + (u - g) F(slope * ability + intercept), with difficulty -intercept / slope.

    Attributes
    ----------
    model, link, respondents : str
        Item model, link function, and side of the table whose units are the respondents.
    slope, intercept, difficulty, guessing, upper : ndarray of shape (items,)
        Estimates. Values are NaN for items that could not be fitted, and `reasons` gives the
        reason. Asymptotes that the model lacks are 0 and 1.
    se_slope, se_intercept, se_difficulty, se_guessing, se_upper : ndarray of shape (items,)
        Standard errors of the kind given by `standard_errors`; NaN where undefined.
    steps, se_steps : ndarray of shape (items, answers - 1)
        Intercepts of the steps between answers. Step c is the log odds of P(y >= c) in the graded
        model, of c against c - 1 in the partial credit model, and of c against 0 in the nominal
        model. A step is NaN if an item has no answer c, or no answer below c. For items with
        steps, `intercept` and `difficulty` refer to the mean step, and `slope` refers to the last
        answer.
    item_models : tuple of str
        Model of each item; `model` is "mixed" if they differ.
    has_answer : bool ndarray of shape (items, codes)
        Mask of the codes that occur as answers of an item.
    ability_sd, se_ability_sd : float
        SD of abilities: 1, except in the Rasch model, whose slopes are 1.
    posterior_sd : float
        SD of abilities implied by their posteriors, relative to `ability_sd`: square root of the
        sum of the variance of posterior means and the mean posterior variance. Values far from 1
        mean that fixed priors distort the scale.
    parameters, covariance : ndarray of shape (items, p) and (items, p, p)
        Parameters on the scale of the optimisation (slope, intercept, logits of asymptotes, for
        N(0, 1) abilities) and their covariances. Items with fewer parameters are padded with NaN.
        With a hierarchical prior, parameters are posterior means, and covariances are posterior
        covariances.
    log_likelihood, aic, bic : float
        Marginal log-likelihood without priors, with AIC and BIC.
    gradient : float
        Largest derivative of the objective at the solution. With a hierarchical prior, root mean
        square change of parameters in the last iteration, in units of standard errors.
    n_parameters, n_respondents, n_patterns, n_nodes : int
        Numbers of parameters, respondents, distinct answer patterns and quadrature nodes.
    priors : Priors or ItemPopulation
        Prior of the item parameters.
    reasons : tuple of Reason
        For each item, the reason why it has no estimate, or a caution about its estimate.
    labels, respondent_labels : tuple
        Names of items and respondents.
    families, family_correlation, respondent_weight : tuple, ndarray (F,), ndarray (N,)
        Families, residual correlation between members of each family (NaN for families of one
        member), and weight of each respondent; empty if the fit has no families.
    alike : tuple of tuples of labels
        Groups of respondents with significantly correlated residuals, in fits without families.
        Each group consists of respondents that are linked by residual correlations of at least
        .15; the family-wise error rate over all pairs is 1 %.
    convergence : Convergence
        Convergence status; `objective` includes the priors.
    """

    model: Model | Literal["mixed"]
    item_models: tuple[Model, ...]  # J
    link: Link
    respondents: Respondents
    has_answer: BoolArray  # (J, C)
    slope: FloatArray  # (J,)
    intercept: FloatArray  # (J,)
    difficulty: FloatArray  # (J,)
    guessing: FloatArray  # (J,)
    upper: FloatArray  # (J,)
    se_slope: FloatArray  # (J,)
    se_intercept: FloatArray  # (J,)
    se_difficulty: FloatArray  # (J,)
    se_guessing: FloatArray  # (J,)
    se_upper: FloatArray  # (J,)
    steps: FloatArray  # (J, C - 1)
    se_steps: FloatArray  # (J, C - 1)
    ability_sd: float
    se_ability_sd: float
    posterior_sd: float
    parameters: FloatArray  # (J, p)
    covariance: FloatArray  # (J, p, p)
    standard_errors: str
    log_likelihood: float
    aic: float
    bic: float
    gradient: float
    n_parameters: int
    n_respondents: int
    n_patterns: int
    n_nodes: int
    priors: Priors | ItemPopulation
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J
    respondent_labels: Labels  # N
    convergence: Convergence
    families: Labels  # F
    family_correlation: FloatArray  # (F,)
    respondent_weight: FloatArray  # (N,) or (0,)
    alike: tuple[Labels, ...]

    _EXPECTED = ("irt.predict", "of_one_ability")

    def _axes(self) -> Axes:
        names = curve_columns(self.item_models)
        steps = [Interleaved("step_{}=steps", "se_step_{}=se_steps")]
        return Axes(
            {"item": "labels"},
            *(["model=item_models"] if len(set(self.item_models)) > 1 else []),
            *(f"{prefix}{name}" for name in names for prefix in ("", "se_")),
            *(steps if self.n_categories > 2 else []),
            "reason=reasons",
        )

    @property
    def n_categories(self) -> int:
        """Number of answer categories: highest code plus one."""
        return int(self.has_answer.shape[1])

    @property
    def shares(self) -> FloatArray:
        """Codes (items, codes) scaled to 0 for an item's lowest answer and 1 for its highest."""
        return code_shares(self.has_answer)

    @property
    def family(self) -> Family:
        """Item model of the fitted items, with methods for their curves."""
        return self.family_of(self.fitted)

    def family_of(self, items: BoolArray) -> Family:
        """Return the item model of some items, with methods for their curves.

        Parameters
        ----------
        items : ndarray of shape (items,)
            Mask of the items.
        """
        models = [self.item_models[j] for j in np.flatnonzero(items)]
        return family_of_items(
            models, self.link, codes_of(self.has_answer[items]), self.n_categories
        )

    @property
    def estimated(self) -> BoolArray:
        """Mask of the items with estimates, including estimates from the prior alone (items,)."""
        return np.asarray(np.isfinite(self.parameters[:, 0]), dtype=np.bool_)

    @property
    def fitted(self) -> BoolArray:
        """Mask of the items with variance, whose estimates depend on the data (items,)."""
        rests = np.array([reason is Reason.PRIOR_ALONE for reason in self.reasons])
        return np.asarray(self.estimated & ~rests, dtype=np.bool_)

    @property
    def scale(self) -> Literal["population", "respondents"]:
        """Reference of the scale, on which abilities have mean 0 and SD 1.

        "population" means that respondents are a sample, and standard errors of items include the
        sampling error of respondents. "respondents" means that these respondents define the scale,
        as with a hierarchical prior.
        """
        return "respondents" if isinstance(self.priors, ItemPopulation) else "population"

    def summary(self) -> str:
        """Describe the fit in sentences."""
        kind = "questions" if self.respondents == "models" else "models"
        rest = int((self.estimated & ~self.fitted).sum())
        left = int((~self.estimated).sum())
        fitted = int(self.fitted.sum())
        first = f"{count(fitted)} of {count(len(self.labels))} {kind} were calibrated"
        if rest:
            first += f"; {count(rest)} without variance depend on the prior alone (see `reasons`)"
        if left:
            first += f"; {count(left)} have no estimates (see `reasons`)"
        lines = [f"{first}."]
        if isinstance(self.priors, ItemPopulation):
            weight = self.respondent_weight.sum() or self.n_respondents
            lines += self.priors.cautions(round(float(weight)))
        ended = self.convergence
        state = "converged" if ended.converged else f"not converged: {ended.reason}"
        lines.append(
            f"{self.model.upper()} with {self.link} link, {count(self.n_respondents)} "
            f"{self.respondents} as respondents, {state}."
        )
        if self.family.unit_slope:
            lines.append(f"The abilities have a standard deviation of {self.ability_sd:.3f}.")
        lines += [
            self._scale_in_words(),
            *self._dependence_in_words(),
            f"Priors: {self.priors}.",
            f"Log-likelihood {self.log_likelihood:.2f}, {self.n_parameters} parameters, "
            f"AIC {self.aic:.1f}, BIC {self.bic:.1f}; {self.n_nodes} quadrature nodes, "
            f"{ended.iterations} iterations, gradient {self.gradient:.1e}.",
        ]
        return "\n".join(lines)

    def _dependence_in_words(self) -> list[str]:
        """Return residual correlations within families, or a warning about similar respondents."""
        who, n = self.respondents, self.n_respondents
        if self.families:
            several = self.family_correlation[np.isfinite(self.family_correlation)]
            between = f" ({several.min():.2f} to {several.max():.2f})" if several.size else ""
            mean = several.mean() if several.size else 0.0
            return [
                f"The {n} {who} are from {len(self.families)} families. Residuals within families "
                f"correlate {mean:.2f}{between}: the effective number of {who} is "
                f"{self.respondent_weight.sum():.1f}."
            ]
        if not self.alike:
            return []
        alike = sum(map(len, self.alike))
        return [
            f"Warning: residuals of {alike} of {n} {who} correlate: "
            f"{'; '.join(map(listed, self.alike[:3]))}{'; ...' if len(self.alike) > 3 else ''}. "
            "Intervals assume independence and are too narrow: pass families=."
        ]

    def _scale_in_words(self) -> str:
        """Return a sentence on the reference of the scale, with a warning about distortion."""
        whose = f"these {self.n_respondents} {self.respondents}"
        if self.families:
            whose += ", weighted by family,"
        if self.scale == "population":
            whose = f"the population of {self.respondents}"
        return f"Abilities of {whose} have mean 0 and SD 1; " + spread_in_words(
            self.posterior_sd, self.priors, ""
        )

    def plot(
        self,
        *,
        what: Literal["probability", "information", "test", "map"] = "probability",
        abilities: Any = None,
        items: Sequence[Any] | None = None,
        ax: Drawn | None = None,
    ) -> Drawn:
        """Draw item curves, test information or a Wright map.

        Parameters
        ----------
        what : {"probability", "information", "test", "map"}
            Item curves (`psychollm.plots.plot_item_curves`), test information
            (``plot_test_information``), or Wright map of respondents and items
            (``plot_wright_map``).
        abilities : Abilities, optional
            Result of `ability`. The Wright map requires abilities; the plot of test information
            shows the abilities as ticks.
        items : sequence of labels, optional
            Items to colour and label.
        ax : Axes, optional
            Axes to draw on; by default a new figure.

        Raises
        ------
        OptionError
            If `what` is unknown, or `abilities` is missing for the map.
        LabelError
            If an item is not in the fit.
        ShapeError
            If no item could be fitted.
        """
        if what == "map":
            return drawn_by("plot_wright_map")(self, abilities, ax=ax)
        if what == "test":
            ticks = None if abilities is None else abilities.ability
            return drawn_by("plot_test_information")(self, abilities=ticks, ax=ax)
        return drawn_by("plot_item_curves")(self, what=what, items=items, ax=ax)
