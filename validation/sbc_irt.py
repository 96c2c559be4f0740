"""Simulation-based calibration of the posteriors of ``bayesian_2pl``.

Items, families, domains and abilities are drawn from the prior, answers from them, and the rank of
each true value among 99 posterior draws is recorded. Over many data sets the ranks are uniform if
the posterior is right (Talts et al., 2018, arXiv:1804.06788). Data sets with an item that does not
vary are replaced. This depends only on the data, so that the ranks remain uniform.

    python -m validation.sbc_irt run METHOD DATA_SETS [grouped|plain]
    python -m validation.sbc_irt show   # docs/irt_calibration_tables.md and a picture

Ranks are appended to ``sbc_irt.csv``, one line per data set; an interrupted run can be continued.
Takes 23 minutes of CPU for the data sets in the file, 20 of them for NUTS.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.bayes.bayesian import bayesian_2pl
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.bayes.target import (
    HierarchicalPriors,
    contrasts,
    grouping,
    structure_of,
)

ITEMS, ABILITIES = 8, 4
RESPONDENTS, FEWER = 150, 60  # fewer for the sampler with groups, which is the slowest
DRAWS, THINNED = 1_000, 99
CSV = Path(__file__).with_suffix(".csv")
SCALES = [
    f"sd_{kind}_{where}" for kind in ("slope", "intercept") for where in ("within", "between")
]
QUANTITIES = [
    *(f"slope {j}" for j in range(ITEMS)),
    *(f"intercept {j}" for j in range(ITEMS)),
    *(f"ability {i}" for i in range(ABILITIES)),
    *(f"family {k}" for k in range(3)),
    *(f"domain slope {k}" for k in range(2)),
    *(f"domain intercept {k}" for k in range(2)),
    *(f"sd_{kind}_{where}" for kind in ("slope", "intercept") for where in ("within", "between")),
    "sd_families",
]
COLUMNS = [
    "method",
    "respondents",
    "groups",
    "set",
    "pareto_k",
    "r_hat",
    "divergences",
    "seconds",
    *QUANTITIES,
]
Job = tuple[str, bool, int]


def simulate(
    rng: np.random.Generator, groups: dict[str, np.ndarray], respondents: int
) -> tuple[np.ndarray, dict[str, float]]:
    """Return answers and the true values of the checked quantities."""
    families = grouping("families", groups.get("families"), tuple(range(respondents)))
    domains = grouping("domains", groups.get("domains"), tuple(range(ITEMS)))
    structure = structure_of(ITEMS, families, domains, HierarchicalPriors(), "logit")
    while True:
        x, h = (part[0] for part in structure.draw(1, rng))
        slope, intercept = np.exp(x[:ITEMS]), x[ITEMS : 2 * ITEMS]
        mean = contrasts(families.n) @ x[2 * ITEMS : 2 * ITEMS + families.n - 1]
        ability = rng.normal(size=respondents) + mean[families.of]
        z = np.outer(ability, slope) + intercept
        answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)
        if (answers.min(axis=0) < answers.max(axis=0)).all():
            break
    truth = {f"slope {j}": slope[j] for j in range(ITEMS)}
    truth |= {f"intercept {j}": intercept[j] for j in range(ITEMS)}
    truth |= {f"ability {i}": ability[i] for i in range(ABILITIES)}
    if groups:
        truth |= {f"family {k}": mean[k] for k in range(families.n)}
        first = 2 * ITEMS + families.n - 1
        truth |= {f"domain slope {k}": x[first + 1 + k] for k in range(2)}
        truth |= {f"domain intercept {k}": x[first + 4 + k] for k in range(2)}
        truth |= {name: np.exp(h[k]) for k, name in enumerate(structure.names)}
    return answers, truth


def draws_of(found: BayesianIRT) -> dict[str, np.ndarray]:
    """Return the draws of every quantity by name."""
    fields = {
        "slope": found.slope,
        "intercept": found.intercept,
        "ability": found.ability,
        "family": found.family,
        "domain slope": found.domain_slope,
        "domain intercept": found.domain_intercept,
    }
    drawn = {}
    for name, estimate in fields.items():
        drawn |= {f"{name} {k}": estimate.draws[:, k] for k in range(len(estimate.labels))}
    return drawn | {name: found.scale.draws[:, k] for k, name in enumerate(found.scale.labels)}


def one(job: Job) -> dict[str, object]:
    """Return the line of one data set."""
    method, grouped, number = job
    respondents = FEWER if grouped and method == "nuts" else RESPONDENTS
    groups = {}
    if grouped:
        groups = {"families": np.arange(respondents) % 3, "domains": np.arange(ITEMS) % 2}
    answers, truth = simulate(np.random.default_rng([2026, grouped, number]), groups, respondents)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = bayesian_2pl(
            answers,
            method=method,
            n_draws=DRAWS,
            chains=2,
            tune=500,
            rng=number,
            n_jobs=1,
            **groups,
        )
    spent = time.process_time() - began
    drawn = draws_of(found)
    step = DRAWS // THINNED
    line = {
        "method": method,
        "respondents": respondents,
        "groups": int(grouped),
        "set": number,
        "pareto_k": f"{found.pareto_k:.3f}",
        "r_hat": f"{np.max(found.r_hat):.4f}",
        "divergences": found.divergences,
        "seconds": f"{spent:.3f}",
    }
    for name, value in truth.items():
        line[name] = int((drawn[name][::step][:THINNED] < value).sum())
    return line


def run(method: str, n: int, models: tuple[bool, ...]) -> None:
    """Append the missing ones of the first `n` data sets."""
    done = set()
    if CSV.exists():
        with CSV.open(newline="") as file:
            done = {(r["method"], r["groups"], r["set"]) for r in csv.DictReader(file)}
    jobs = [
        (method, grouped, number)
        for grouped in models
        for number in range(n)
        if (method, str(int(grouped)), str(number)) not in done
    ]
    fresh = not CSV.exists()
    with CSV.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for job in jobs:
            writer.writerow(one(job))
            file.flush()


MODELS = {"plain": (False,), "grouped": (True,), "both": (False, True)}


def main() -> None:
    """Run, or show the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    ran = tasks.add_parser("run", help="append ranks of simulated data sets")
    ran.add_argument("method", choices=("laplace", "nuts"))
    ran.add_argument("data_sets", type=int)
    ran.add_argument("structure", nargs="?", choices=MODELS, default="both")
    tasks.add_parser("show", help="write the tables and the picture")
    options = parser.parse_args()
    if options.task == "run":
        run(options.method, options.data_sets, MODELS[options.structure])
    else:
        from validation.sbc_tables import show

        show(CSV, THINNED)


if __name__ == "__main__":
    main()
