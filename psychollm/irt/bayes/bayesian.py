r"""Bayesian 2PL: the posterior of items, abilities, families and domains.

.. math:: P(y_{ij} = 1) = F(a_j \theta_i + d_j), \quad
          \theta_i \sim N(\mu_{f(i)}, 1), \quad \log a_j \sim N(\cdot, \cdot), \quad
          d_j \sim N(\cdot, \cdot).                                                       \quad (1)

Abilities are integrated out, so that the posterior has two parameters per item for any number of
respondents. Abilities are drawn afterwards from their exact conditional distribution. Each family
of respondents has its own mean ability. Each domain of items has its own mean log slope and mean
intercept. Unlike maximum likelihood, which treats estimated item parameters as known, the draws
reflect the uncertainty of these parameters.

References
----------
Bock, R. D., & Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters:
Application of an EM algorithm. Psychometrika, 46(4), 443-459.
https://doi.org/10.1007/BF02293801

Merkle, E. C., Furr, D., & Rabe-Hesketh, S. (2019). Bayesian comparison of latent variable models:
Conditional versus marginal likelihoods. Psychometrika, 84(3), 802-829.
https://doi.org/10.1007/s11336-019-09679-0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_count,
    check_fraction,
    check_generator,
)
from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.replicate import n_workers
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, orient
from psychollm.irt.bayes.laplace import Mode, centring, find_mode, laplace
from psychollm.irt.bayes.nuts import Run, sample_nuts
from psychollm.irt.bayes.pareto import TRUSTED_K, leave_one_out
from psychollm.irt.bayes.pymc_model import Form, pymc_model
from psychollm.irt.bayes.result import (
    BayesianIRT,
    Method,
    Sampled,
    diagnostics,
    estimates_of,
)
from psychollm.irt.bayes.target import (
    Answers,
    Grouping,
    HierarchicalPriors,
    Target,
    answers_of,
    grouping,
    structure_of,
)
from psychollm.irt.families import Dichotomous, Link
from psychollm.irt.likelihood import FINE, MAX_NODES, narrowest_posterior
from psychollm.kernels.irt_marginal import draw_abilities
from psychollm.kernels.quadrature import HALF_RANGE, normal_grid

START_NODES = 61
MARGIN = 0.85  # for some draws of the items, posteriors of abilities are narrower than at the mode
TRUSTED_R_HAT, TRUSTED_SIZE = 1.01, 100.0
LOO_DRAWS = 1_000
MOST_ITEMS = 2_000


def bayesian_2pl(
    responses: ResponsesLike,
    *,
    method: Method = "laplace",
    link: Link = "logit",
    respondents: Respondents = "models",
    families: Sequence[Any] | None = None,
    domains: Sequence[Any] | None = None,
    priors: HierarchicalPriors | None = None,
    n_draws: int = 2_000,
    chains: int = 4,
    tune: int = 1_000,
    target_accept: float = 0.9,
    level: float = 0.95,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> BayesianIRT:
    """Sample from the posterior of a Bayesian 2PL.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; missing answers are ignored.
    method : {"laplace", "nuts"}
        "laplace" is a normal approximation with importance resampling; Pareto k measures its
        quality. "nuts" is the No-U-Turn sampler of nutpie if installed, else of PyMC (extra
        ``bayes``).
    link : {"logit", "probit"}
        Logistic or normal-ogive curves.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    families : sequence of labels, one per respondent, optional
        Family of each respondent; families may differ in mean ability.
    domains : sequence of labels, one per item, optional
        Domain of each item; the slopes of a domain's items share a prior mean, and their
        intercepts share another.
    priors : HierarchicalPriors, optional
        Priors; by default `HierarchicalPriors()`.
    n_draws : int
        Total number of draws over all chains.
    chains, tune : int
        Number of chains, and tuning draws per chain; used with "nuts" only.
    target_accept : float
        Target acceptance rate, used with "nuts" only. Values near 1 give shorter steps and fewer
        divergences.
    level : float
        Probability mass of the shortest intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of chains run in parallel; used with "nuts" only.
    progress : bool
        Whether to show a progress bar; used with "nuts" only.

    Returns
    -------
    BayesianIRT
        Posterior of items, abilities, families and domains, with diagnostics.

    Raises
    ------
    MissingPackageError
        If ``method="nuts"`` and PyMC is not installed.
    CodeError, ShapeError, LabelError, OptionError
        If answers are not 0 and 1, if no item varies or more than 2,000 items vary, if labels do
        not match, or if an option does not exist.

    Warns
    -----
    ConvergenceWarning
        If Pareto k exceeds 0.7, chains diverge or disagree, or the effective sample size is below
        100.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(-(rng.normal(size=(400, 1)) * [1.5, 1, 1, 2] - [0, 1, -1, 0])))
    >>> found = bayesian_2pl(rng.random((400, 4)) < chance, n_draws=500, rng=0)
    >>> found.slope.value.shape, found.pareto_k < 0.7
    ((4,), True)
    """
    check_choice("method", method, Method)
    n_draws = check_count("n_draws", n_draws, low=100, high=DRAWS)
    chains = check_count("chains", chains)
    tune = check_count("tune", tune, high=DRAWS)
    check_fraction("level", level)
    check_fraction("target_accept", target_accept)
    read = _read(responses, link, respondents, families, domains, priors)
    generator = check_generator(rng)
    if method == "laplace":
        drawn = laplace(read.target, read.mode, n_draws, generator)
        x, h = drawn.x[None], drawn.h[None]
        trust = (drawn.effective_size, drawn.pareto_k, 0, n_draws)
    else:
        per_chain, seed = -(-n_draws // chains), int(generator.integers(2**31))
        cores = min(n_workers(n_jobs), chains)
        size = {"draws": per_chain, "tune": tune, "chains": chains, "cores": cores, "seed": seed}
        run = Run(size, target_accept, progress)
        chained = sample_nuts(read.target, read.mode, read.coordinates(), run)
        x, h = chained.x, chained.h
        trust = (np.nan, np.nan, chained.divergences, chains * (per_chain + tune))
    ability = _abilities(read.target, x, generator)
    return _result(read, Sampled(x, h, ability, *trust), method, level)


def build_model(
    responses: ResponsesLike,
    *,
    form: Form = "marginal",
    link: Link = "logit",
    respondents: Respondents = "models",
    families: Sequence[Any] | None = None,
    domains: Sequence[Any] | None = None,
    priors: HierarchicalPriors | None = None,
) -> Any:
    """Return the PyMC model that `bayesian_2pl` samples, for inspection or extension.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; missing answers are ignored.
    form : {"marginal", "explicit"}
        "marginal" integrates over abilities. "explicit" includes abilities as variables
        ``ability``; it is much slower, but allows further random effects.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    families : sequence of labels, one per respondent, optional
        Family of each respondent; families may differ in mean ability.
    domains : sequence of labels, one per item, optional
        Domain of each item; the slopes of a domain's items share a prior mean, and their
        intercepts share another.
    priors : HierarchicalPriors, optional
        Priors; by default `HierarchicalPriors()`.

    Returns
    -------
    pymc.Model
        Model with coordinates item, respondent, family and domain.

    Raises
    ------
    MissingPackageError
        If PyMC is not installed.
    CodeError, ShapeError, LabelError, OptionError
        If answers are not 0 and 1, if no item varies or more than 2,000 items vary, if labels do
        not match, or if an option does not exist.
    """
    check_choice("form", form, Form)
    read = _read(responses, link, respondents, families, domains, priors)
    centred = centring(read.target, read.mode)
    return pymc_model(read.target, centred, read.coordinates(), form)


@dataclass(frozen=True, slots=True)
class Read:
    """Prepared answers, with the posterior, the included items and the labels."""

    target: Target
    mode: Mode
    keep: BoolArray  # (J,)
    reasons: tuple[Reason, ...]
    items: Labels
    respondents: Labels
    families: Labels
    domains: Labels
    reading: Respondents

    def coordinates(self) -> dict[str, Labels]:
        """Return labels of included items, respondents, families and domains."""
        items = tuple(label for label, kept in zip(self.items, self.keep, strict=True) if kept)
        return {
            "item": items,
            "respondent": self.respondents,
            "family": self.families,
            "domain": self.domains,
        }


def _read(
    responses: ResponsesLike,
    link: Link,
    respondents: Respondents,
    families: Sequence[Any] | None,
    domains: Sequence[Any] | None,
    priors: HierarchicalPriors | None,
) -> Read:
    """Check and prepare the arguments."""
    check_choice("link", link, Link)
    used = HierarchicalPriors() if priors is None else priors
    if not isinstance(used, HierarchicalPriors):
        msg = f"priors={priors!r:.80} must be HierarchicalPriors(...) or None"
        raise OptionError(msg)
    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    reasons = answers.reasons()
    keep = np.array([not reason for reason in reasons])
    if len(answers.respondents) < 2 or not keep.any():
        msg = "responses: at least two respondents and an item that varies are needed"
        raise ShapeError(msg)
    _check_items(int(keep.sum()), respondents)
    groups = grouping("families", families, answers.respondents)
    all_domains = grouping("domains", domains, answers.items)
    kept = [all_domains.labels[k] for k in all_domains.of[keep]]
    items = tuple(label for label, varies in zip(answers.items, keep, strict=True) if varies)
    of_items = grouping("domains", None if domains is None else kept, items)
    collected = answers_of(answers.codes[:, keep], groups)
    target, mode = _target(collected, groups, of_items, used, link)
    return Read(
        target=target,
        mode=mode,
        keep=keep,
        reasons=reasons,
        items=answers.items,
        respondents=answers.respondents,
        families=groups.labels if groups.n > 1 else (),
        domains=of_items.labels if of_items.n > 1 else (),
        reading=respondents,
    )


def _check_items(n: int, reading: Respondents) -> None:
    """Raise an error if the joint posterior of the items would be too large."""
    if n > MOST_ITEMS:
        other = "questions" if reading == "models" else "models"
        msg = (
            f"responses: {n:,} items vary, but the joint posterior is limited to "
            f"{MOST_ITEMS:,}: "
            f"choose items, or swap sides by respondents={other!r}"
        )
        raise ShapeError(msg)


def _target(
    answers: Answers,
    families: Grouping,
    domains: Grouping,
    priors: HierarchicalPriors,
    link: Link,
) -> tuple[Target, Mode]:
    """Return the posterior, on nodes dense enough for all abilities, and its mode."""
    structure = structure_of(answers.codes.shape[1], families, domains, priors, link)

    def on(n: int) -> Target:
        return Target(answers, families, domains, priors, link, structure, *normal_grid(n))

    target = on(START_NODES)
    mode = find_mode(target)
    for _ in range(3):
        slope, intercept, _ = target.split(mode.x[None])
        items = np.column_stack([slope[0], intercept[0]])
        sd = MARGIN * narrowest_posterior(Dichotomous("2pl", link), items)
        wanted = int(min(np.ceil(2.0 * HALF_RANGE / (FINE * sd)) + 1, MAX_NODES))
        if wanted <= target.nodes.size:
            break
        target = on(wanted)
        mode = find_mode(target, mode)
    return target, mode


def _abilities(target: Target, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw abilities (chains, draws, N) given each draw of the items."""
    flat = x.reshape(-1, x.shape[2])
    of = target.answers.of_respondent
    rows = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[rows], np.arange(target.answers.codes.shape[0] + 1))
    uniform = rng.random((flat.shape[0], of.size))
    ability = np.empty_like(uniform)
    draw_abilities(*target.split(flat), target.grid, (starts, rows), uniform, ability)
    return ability.reshape(*x.shape[:2], of.size)


def _result(read: Read, sampled: Sampled, method: Method, level: float) -> BayesianIRT:
    """Return the result that summarises the draws."""
    target, names = read.target, read.coordinates()
    parameters, sizes, ratios, errors = diagnostics(target, sampled, names)
    ended = _judged(sampled, sizes, ratios)
    ended.warn("the Bayesian 2PL")
    flat = sampled.flat()[0]
    some = flat[:: -(-len(flat) // LOO_DRAWS)]
    loo = leave_one_out(
        target.pattern_log_likelihood(some), target.answers.of_respondent, read.respondents
    )
    everyone = names | {"item": read.items}
    return BayesianIRT(
        **estimates_of(target, sampled, read.keep, read.reasons, everyone, level),
        parameters=parameters,
        effective_size=sizes,
        r_hat=ratios,
        mcse=errors,
        pareto_k=sampled.pareto_k,
        divergences=sampled.divergences,
        loo=loo,
        method=method,
        link=target.link,
        respondents=read.reading,
        priors=target.priors,
        n_draws=flat.shape[0],
        n_chains=sampled.x.shape[0],
        n_respondents=len(read.respondents),
        n_patterns=target.answers.codes.shape[0],
        n_nodes=target.nodes.size,
        reasons=read.reasons,
        labels=read.items,
        respondent_labels=read.respondents,
        family_labels=read.families,
        domain_labels=read.domains,
        convergence=ended,
        _target=target,
        _sampled=sampled,
    )


def _judged(sampled: Sampled, sizes: FloatArray, ratios: FloatArray) -> Convergence:
    """Return the convergence status of the draws."""
    complaints, n = [], sampled.x.shape[0] * sampled.x.shape[1]
    advice = "raise draws and tune"
    if np.isfinite(sampled.effective_size):
        advice = "use method='nuts'"
        if not sampled.pareto_k <= TRUSTED_K:
            complaints.append(f"Pareto k {sampled.pareto_k:.2f}")
    elif sampled.divergences > 0.005 * n:
        complaints.append(f"{sampled.divergences} divergences")
        advice = "raise target_accept, draws and tune"
    if np.isfinite(ratios).any() and np.nanmax(ratios) > TRUSTED_R_HAT:
        complaints.append(f"R-hat {np.nanmax(ratios):.3f}")
    if not sizes.min() >= min(TRUSTED_SIZE, 0.1 * n):
        complaints.append(f"effective size {sizes.min():.0f}")
    reason = f"{', '.join(complaints)}: {advice}" if complaints else "draws can be trusted"
    return Convergence(
        converged=not complaints,
        iterations=sampled.iterations,
        reason=reason,
        objective=float("nan"),
    )
