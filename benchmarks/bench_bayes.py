"""Bayesian 2PL, 2,000 respondents x 19 items: effective draws per CPU second, and its kernel.

The reference is the plain PyMC model, in which every ability is a variable, under PyMC's own
sampler, with 3 effective draws per CPU second (``python -m benchmarks.bayes_irt_speed``). Aims are
30 times as many by NUTS, and 90 times by the normal approximation.
"""

import time
from importlib.util import find_spec

import numpy as np

from benchmarks.bayes_irt_speed import answers
from psychollm.estimates.posterior import effective_size
from psychollm.irt.bayes.bayesian import bayesian_2pl
from psychollm.irt.bayes.target import (
    HierarchicalPriors,
    Target,
    answers_of,
    grouping,
    structure_of,
)
from psychollm.kernels.quadrature import normal_grid


class Density:
    """The marginal log-likelihood with its gradient, the cost of one step of a sampler."""

    params = ([21, 61, 201],)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        codes = answers().astype(np.int64)
        everyone, all_items = (grouping("f", None, tuple(range(n))) for n in codes.shape)
        priors = HierarchicalPriors()
        structure = structure_of(19, everyone, all_items, priors, "logit")
        read = answers_of(codes, everyone)
        self.target = Target(
            read, everyone, all_items, priors, "logit", structure, *normal_grid(nodes)
        )
        self.x = np.random.default_rng(0).normal(0.0, 0.3, structure.size)
        self.target.gradient(self.x)

    def time_gradient(self, nodes: int) -> None:
        self.target.gradient(self.x)

    def time_value(self, nodes: int) -> None:
        self.target.log_likelihood(self.x[None])


class Laplace:
    """The normal approximation with resampling, all steps included."""

    def setup(self) -> None:
        self.answers = answers()
        bayesian_2pl(self.answers[:100], n_draws=100, rng=0)

    def time_laplace(self) -> None:
        bayesian_2pl(self.answers, n_draws=2_000, rng=0)

    def track_effective_per_cpu_second(self) -> float:
        began = time.process_time()
        found = bayesian_2pl(self.answers, n_draws=2_000, rng=0)
        return float(found.effective_size.min() / (time.process_time() - began))

    def track_pareto_k(self) -> float:
        return bayesian_2pl(self.answers, n_draws=2_000, rng=0).pareto_k

    track_effective_per_cpu_second.unit = "draws per CPU second"  # type: ignore[attr-defined]
    track_pareto_k.unit = "k"  # type: ignore[attr-defined]


class Chains:
    """The No-U-Turn sampler of nutpie; skipped where the extra ``bayes`` is not installed."""

    timeout = 600

    def setup(self) -> None:
        if find_spec("pymc") is None or find_spec("nutpie") is None:
            raise NotImplementedError
        self.answers = answers()
        bayesian_2pl(self.answers, method="nuts", n_draws=100, chains=1, tune=20, rng=0)

    def track_effective_per_cpu_second(self) -> float:
        """All steps after compilation, including leave-one-out and abilities."""
        began = time.process_time()
        found = bayesian_2pl(
            self.answers, method="nuts", n_draws=2_000, chains=2, tune=600, rng=1, n_jobs=1
        )
        spent = time.process_time() - began
        draws = np.concatenate([found.slope.draws, found.intercept.draws], axis=1)
        by_chain = draws.reshape(2, -1, draws.shape[1])
        return float(min(effective_size(by_chain[:, :, k]) for k in range(draws.shape[1])) / spent)

    track_effective_per_cpu_second.unit = "draws per CPU second"  # type: ignore[attr-defined]
