"""Result of a Bayesian 2PL: estimates, abilities, groups and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.expected import Expects
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.posterior import effective_size, r_hat, shortest_interval
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, spread
from psychollm.irt.bayes.draws import inference_data
from psychollm.irt.bayes.pareto import LeaveOneOut
from psychollm.irt.bayes.target import HierarchicalPriors, Target
from psychollm.irt.families import Link

Method: TypeAlias = Literal["laplace", "nuts"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BayesianIRT(Expects, Result):
    """Posterior of a Bayesian 2PL, with abilities standard normal within families.

    Values are posterior means (medians for `difficulty`), and standard errors are posterior SDs.
    Intervals are the shortest intervals with the given probability mass. The `draws` of all
    estimates come from the same joint posterior.

    Attributes
    ----------
    slope, intercept, difficulty : Estimate
        Item parameters; NaN with a reason for zero-variance items.
    ability : Estimate
        Abilities of all respondents, drawn from their conditional distribution given answers and
        items.
    family : Estimate
        Mean abilities of families, with sum zero; empty without families.
    domain_slope, domain_intercept : Estimate
        Mean (log) slopes and mean intercepts of domains; empty without domains.
    scale : Estimate
        SDs between families, and between and within domains.
    parameters : tuple of str
        Names of the parameters in `effective_size`, `r_hat` and `mcse`: (log) slopes and
        intercepts, families, scales.
    effective_size, r_hat, mcse : ndarray of shape (parameters,)
        Effective sample sizes, R-hat (NaN for "laplace", whose draws are independent) and Monte
        Carlo standard errors of posterior means.
    pareto_k : float
        Pareto k of the importance ratios; NaN for "nuts".
    divergences : int
        Number of divergent transitions; 0 for "laplace".
    loo : LeaveOneOut
        Leave-one-out prediction of respondents, from the marginal likelihood.
    method, link, respondents : str
        Method, link function, and side of the table that has abilities.
    priors : HierarchicalPriors
        Priors of the model.
    n_draws, n_chains, n_respondents, n_patterns, n_nodes : int
        Numbers of draws, chains, respondents, distinct answer patterns and quadrature nodes.
    reasons : tuple of Reason
        Reason for each item without an estimate.
    labels, respondent_labels, family_labels, domain_labels : tuple
        Names of items, respondents, families and domains; families and domains may be empty.
    convergence : Convergence
        Convergence status of the sampler.
    """

    slope: Estimate
    intercept: Estimate
    difficulty: Estimate
    ability: Estimate
    family: Estimate
    domain_slope: Estimate
    domain_intercept: Estimate
    scale: Estimate
    parameters: tuple[str, ...]
    effective_size: FloatArray  # (parameters,)
    r_hat: FloatArray  # (parameters,)
    mcse: FloatArray  # (parameters,)
    pareto_k: float
    divergences: int
    loo: LeaveOneOut
    method: Method
    link: Link
    respondents: Respondents
    priors: HierarchicalPriors
    n_draws: int
    n_chains: int
    n_respondents: int
    n_patterns: int
    n_nodes: int
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J
    respondent_labels: Labels  # N
    family_labels: Labels
    domain_labels: Labels
    convergence: Convergence
    _target: Target
    _sampled: Sampled

    _EXPECTED = ("irt.predict", "of_draws")
    _AXES = Axes(
        {"item": "labels"},
        *(
            column
            for name in ("slope", "intercept", "difficulty")
            for column in (
                f"{name}={name}.value",
                f"sd_{name}={name}.se",
                f"{{bound}}_{name}={name}.interval",
            )
        ),
        "reason=reasons",
    )

    @property
    def fitted(self) -> BoolArray:
        """Mask of the items with estimates (items,)."""
        return self.slope.defined

    def summary(self) -> str:
        """Describe the fit and its diagnostics in sentences."""
        kind = "questions" if self.respondents == "models" else "models"
        lines = [
            f"Bayesian 2PL with {self.link} link: {self.n_respondents} {self.respondents} as "
            f"respondents, {int(self.fitted.sum())} of {len(self.labels)} {kind} as items.",
            f"Priors: {self.priors}.",
            self._trust(),
            self.loo.summary(),
        ]
        if self.family_labels:
            best = int(np.argmax(self.family.value))
            lines.append(
                f"The SD between families is {self.scale.value[-1]:.2f}; the most able family is "
                f"{self.family_labels[best]!r}, "
                f"{self.family.text(best, signed=True)}."
            )
        return "\n".join(lines)

    def _trust(self) -> str:
        """Return a sentence on the quality of the draws."""
        draws = f"{self.n_draws} draws, {self.effective_size.min():.0f} effective or more"
        if self.method == "laplace":
            quality = f"Normal approximation, resampled: {draws}, Pareto k {self.pareto_k:.2f}"
        else:
            quality = (
                f"No-U-Turn sampler, {self.n_chains} chains: {draws}, R-hat at most "
                f"{np.nanmax(self.r_hat):.3f}, {self.divergences} divergences"
            )
        return quality + ("." if self.convergence.converged else f": {self.convergence.reason}.")

    def to_arviz(self) -> Any:
        """Return the posterior as ArviZ inference data with labelled coordinates.

        The groups of the ArviZ object are posterior (with abilities), sample_stats, log_likelihood
        (marginal, one value per respondent), posterior_predictive, prior, prior_predictive and
        observed_data. The type of the object is InferenceData with ArviZ 0 and DataTree with ArviZ
        1.

        Raises
        ------
        MissingPackageError
            If ArviZ is not installed.
        """
        return inference_data(self)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Draws of either method, with chains as the first axis, and diagnostics."""

    x: FloatArray  # (chains, draws, P)
    h: FloatArray  # (chains, draws, H)
    ability: FloatArray  # (chains, draws, N)
    effective_size: float  # effective size of importance weights; NaN for chains
    pareto_k: float
    divergences: int
    iterations: int

    def flat(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x, h and abilities, with chains and draws combined into one axis."""
        n = self.x.shape[0] * self.x.shape[1]
        return self.x.reshape(n, -1), self.h.reshape(n, -1), self.ability.reshape(n, -1)


def estimates_of(
    target: Target,
    sampled: Sampled,
    keep: BoolArray,
    reasons: tuple[Reason, ...],
    names: dict[str, Labels],
    level: float,
) -> dict[str, Estimate]:
    """Return the estimates of the result, by name of the attribute."""
    x, h, ability = sampled.flat()
    slope, intercept, mean = target.split(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        difficulty = -intercept / slope
    found = {}
    drawn = {"slope": slope, "intercept": intercept, "difficulty": difficulty}
    for name, draws in drawn.items():
        full = spread(draws.T, keep).T
        centre = np.median if name == "difficulty" else np.mean
        found[name] = _estimate(name, full, names["item"], "item", level, reasons, centre)
    found["ability"] = _estimate("ability", ability, names["respondent"], "respondent", level)
    shown = mean if names["family"] else mean[:, :0]
    found["family"] = _estimate("mean ability", shown, names["family"], "family", level)
    first, domains = target.n_likelihood, len(names["domain"])
    for kind, name in enumerate(("domain_slope", "domain_intercept")):
        start = first + kind * (domains + 1) + 1
        part = x[:, start : start + domains] if domains else x[:, :0]
        found[name] = _estimate(name.replace("_", " "), part, names["domain"], "domain", level)
    scales = target.structure.names
    found["scale"] = _estimate("standard deviation", np.exp(h), scales, "scale", level)
    return found


def _estimate(
    name: str,
    draws: FloatArray,
    labels: Sequence[Any],
    axis: str,
    level: float,
    flags: tuple[Reason, ...] | None = None,
    centre: Any = np.mean,
) -> Estimate:
    """Return posterior means (or medians), standard deviations and shortest intervals."""
    size = draws.shape[1]
    interval = shortest_interval(draws, level) if size else np.empty((0, 2))
    return Estimate(
        name=name,
        value=centre(draws, axis=0),
        se=draws.std(axis=0, ddof=1),
        interval=interval,
        n=np.full(size, float(len(draws))),
        flags=flags if flags is not None else (Reason.NONE,) * size,
        method="posterior, shortest interval",
        level=level,
        labels=tuple(labels),
        axis=axis,
        _draws=draws,
    )


def diagnostics(
    target: Target, sampled: Sampled, labels: dict[str, Labels]
) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray]:
    """Return names of parameters, effective sizes, R-hat and Monte Carlo standard errors."""
    first = "log_slope" if target.priors.positive else "slope"
    names = [f"{kind}[{item}]" for kind in (first, "intercept") for item in labels["item"]]
    names += [f"family_mean[{family}]" for family in labels["family"]]
    names += list(target.structure.names)
    items = 2 * target.n_items
    means = sampled.x[..., items : target.n_likelihood]
    if labels["family"]:
        from psychollm.irt.bayes.target import contrasts

        means = means @ contrasts(target.families.n).T
    table = np.concatenate([sampled.x[..., :items], means, sampled.h], axis=2)
    found = np.full((3, table.shape[2]), np.nan)
    for k in range(table.shape[2]):
        draws = table[:, :, k]
        if np.isnan(sampled.effective_size):
            found[0, k], found[1, k] = effective_size(draws), r_hat(draws)
        else:
            found[0, k] = sampled.effective_size
        found[2, k] = draws.std(ddof=1) / np.sqrt(found[0, k])
    return tuple(names), found[0], found[1], found[2]
