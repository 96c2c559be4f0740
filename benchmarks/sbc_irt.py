"""Simulation-based calibration of `bayesian_2pl`: are its posteriors those of the model?

Items, families, domains and abilities are drawn from the prior, answers from them, and the share
of posterior draws below each true value is noted. Over many data sets these shares are uniform if
the posterior is right (Talts et al., 2018, arXiv:1804.06788); ten bins are compared by chi-square,
and p values adjusted over quantities (Holm). Data sets with an item that does not vary are drawn
again, which depends on the data alone and leaves the shares uniform.

Run as ``python -m benchmarks.sbc_irt [data sets] [method]``.
"""

import sys
import time
import warnings

import numpy as np
from scipy.stats import chisquare

from psychollm._base.errors import ConvergenceWarning
from psychollm._base.multiplicity import adjust_p_values
from psychollm.irt.bayes.bayesian import bayesian_2pl
from psychollm.irt.bayes.target import HierarchicalPriors, contrasts, grouping, structure_of

RESPONDENTS, ITEMS = 150, 8
FAMILIES = np.arange(RESPONDENTS) % 3
DOMAINS = np.arange(ITEMS) % 2
BINS = 10


def simulate(rng: np.random.Generator, *, grouped: bool) -> tuple[np.ndarray, dict[str, float]]:
    """Return answers and the true values of what is checked."""
    families = grouping("families", FAMILIES if grouped else None, RESPONDENTS)
    domains = grouping("domains", DOMAINS if grouped else None, ITEMS)
    structure = structure_of(ITEMS, families, domains, HierarchicalPriors(), "logit")
    while True:
        x, h = (part[0] for part in structure.draw(1, rng))
        slope, intercept = np.exp(x[:ITEMS]), x[ITEMS : 2 * ITEMS]
        mean = contrasts(families.n) @ x[2 * ITEMS : 2 * ITEMS + families.n - 1]
        ability = rng.normal(size=RESPONDENTS) + mean[families.of]
        z = np.outer(ability, slope) + intercept
        answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)
        if (answers.min(axis=0) < answers.max(axis=0)).all():
            break
    truth = {f"slope {j}": slope[j] for j in range(ITEMS)}
    truth |= {f"intercept {j}": intercept[j] for j in range(ITEMS)}
    truth |= {f"ability {i}": ability[i] for i in range(3)}
    if grouped:
        truth |= {f"family {k}": mean[k] for k in range(families.n)}
        first = 2 * ITEMS + families.n - 1
        truth |= {f"domain intercept {k}": x[first + 4 + k] for k in range(2)}
        truth |= {name: np.exp(h[k]) for k, name in enumerate(structure.names)}
    return answers, truth


def shares(
    answers: np.ndarray, truth: dict[str, float], method: str, seed: int, *, grouped: bool
) -> tuple[dict[str, float], float]:
    """Return the share of draws below each true value, and Pareto k."""
    groups = {"families": FAMILIES, "domains": DOMAINS} if grouped else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = bayesian_2pl(answers, method=method, draws=1_000, chains=2, rng=seed, **groups)
    drawn = {}
    fields = [("slope", found.slope), ("intercept", found.intercept), ("ability", found.ability)]
    fields += [("family", found.family), ("domain intercept", found.domain_intercept)]
    for name, estimate in fields:
        drawn |= {f"{name} {k}": estimate.draws[:, k] for k in range(len(estimate.labels))}
    drawn |= {name: found.scale.draws[:, k] for k, name in enumerate(found.scale.labels)}
    return {
        name: float((drawn[name] < value).mean()) for name, value in truth.items()
    }, found.pareto_k


def calibration(n: int, method: str, *, grouped: bool) -> None:
    """Print a table for n data sets."""
    rng = np.random.default_rng(2026)
    table, k = [], []
    began = time.process_time()
    for seed in range(n):
        answers, truth = simulate(rng, grouped=grouped)
        row, shape = shares(answers, truth, method, seed, grouped=grouped)
        table.append(row)
        k.append(shape)
    spent = (time.process_time() - began) / n
    names = list(table[0])
    counts = np.array(
        [np.histogram([row[name] for row in table], bins=BINS, range=(0, 1))[0] for name in names]
    )
    p = chisquare(counts, axis=1).pvalue
    adjusted = adjust_p_values(p)
    said = "three families, two domains" if grouped else "no groups"
    print(f"\n{method}, {said}: {n} data sets of {RESPONDENTS} x {ITEMS}, {spent:.2f} s each,")
    print(f"Pareto k above 0.7 in {np.mean(np.array(k) > 0.7):.1%}\n")
    print("| quantity | bins of rank shares | p | adjusted |\n|---|---|---|---|")
    for name, row, one, many in zip(names, counts, p, adjusted, strict=True):
        print(f"| {name} | {' '.join(map(str, row))} | {one:.3f} | {many:.3f} |")
    print(f"\nsmallest adjusted p {adjusted.min():.3f} of {len(names)} quantities", flush=True)


def main() -> None:
    """Print both tables."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    method = sys.argv[2] if len(sys.argv) > 2 else "laplace"
    for grouped in (False, True):
        calibration(n, method, grouped=grouped)


if __name__ == "__main__":
    main()
