"""Effective draws per CPU second of a Bayesian 2PL, 2,000 respondents x 19 items.

The script compares both methods of `bayesian_2pl` with the plain PyMC model, in which every
ability is a variable, under PyMC's own sampler. The effective size is the smallest of all slopes
and intercepts; CPU seconds are those of sampling, excluding imports and compilation. Needs the
extra ``bayes``.

Run as ``python -m benchmarks.bayes_irt_speed [--form nuts laplace]``.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from psychollm.estimates.posterior import effective_size
from psychollm.irt.bayes.bayesian import bayesian_2pl, build_model

RESPONDENTS, ITEMS = 2_000, 19
_rates: list[float] = []  # rates of the rows so far; the first is the reference


def answers() -> np.ndarray:
    """Return simulated answers."""
    rng = np.random.default_rng(0)
    slope, intercept = np.exp(rng.normal(0.0, 0.3, ITEMS)), rng.normal(0.0, 1.0, ITEMS)
    z = np.outer(rng.normal(size=RESPONDENTS), slope) + intercept
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)


def report(name: str, draws: np.ndarray, spent: float, size: float | None = None) -> None:
    """Print one row; draws are (chains, draws, parameters)."""
    if size is None:
        size = min(effective_size(draws[:, :, k]) for k in range(draws.shape[2]))
    rate = size / spent
    _rates.append(rate)
    print(
        f"| {name} | {spent:.1f} | {size:,.0f} | {rate:.1f} | {rate / _rates[0]:.0f} |", flush=True
    )


def by_laplace(table: np.ndarray) -> None:
    """Draw with the normal approximation, everything included."""
    bayesian_2pl(table[:100], n_draws=100, rng=0)
    began = time.process_time()
    found = bayesian_2pl(table, n_draws=2_000, rng=0)
    spent = time.process_time() - began
    report(
        f"laplace, all (Pareto k {found.pareto_k:.2f})",
        np.empty(0),
        spent,
        found.effective_size.min(),
    )


def sampled(name: str, trace: object, spent: float) -> None:
    """Report the draws of a trace."""
    posterior = trace["posterior"]  # type: ignore[index]
    parts = [np.asarray(posterior[field].values) for field in ("slope", "intercept")]
    report(name, np.concatenate(parts, axis=2), spent)


def by_nuts(table: np.ndarray) -> None:
    """Draw with nutpie from the marginal form."""
    import nutpie

    compiled = nutpie.compile_pymc_model(build_model(table))
    nutpie.sample(compiled, draws=10, tune=10, chains=1, cores=1, seed=0, progress_bar=False)
    for low_rank in (True, False):
        began = time.process_time()
        trace = nutpie.sample(
            compiled,
            draws=1_000,
            tune=600,
            chains=2,
            cores=1,
            seed=1,
            progress_bar=False,
            low_rank_modified_mass_matrix=low_rank,
        )
        spent = time.process_time() - began
        sampled(f"marginal, nutpie{', low rank' if low_rank else ''}", trace, spent)


def by_explicit(table: np.ndarray) -> None:
    """Draw with PyMC from the explicit form."""
    import pymc as pm

    with build_model(table, form="explicit"):
        pm.sample(draws=5, tune=5, chains=1, cores=1, progressbar=False, random_seed=0)
        began = time.process_time()
        trace = pm.sample(draws=300, tune=300, chains=2, cores=1, progressbar=False, random_seed=1)
        spent = time.process_time() - began
    sampled("explicit, PyMC", trace, spent)


RUNS: dict[str, Callable[[np.ndarray], None]] = {
    "explicit": by_explicit,
    "nuts": by_nuts,
    "laplace": by_laplace,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--form", nargs="+", choices=RUNS, default=list(RUNS))
    print(
        "| form and sampler | CPU s | effective draws | per CPU s | times |\n|---|---|---|---|---|"
    )
    for name in parser.parse_args().form:
        RUNS[name](answers())


if __name__ == "__main__":
    main()
