"""False positive rates of IRT fit statistics, asymptotic and bootstrapped.

Data sets are simulated from the model, fitted and tested at 5 %. A rate above 0.05 by more than
its standard error means too many false positives; a rate below 0.05 means a loss of power. The
bootstrap has 39 replicates per data set, with which its level is exactly 5 % if it is valid.

Run as ``python -m validation.irt_fit_rates [data sets]``; it prints the two tables of the guide.
The second, for tests of the conditional Rasch model, uses five times as many data sets. Takes 40
minutes of CPU, extrapolated from three data sets per row.
"""

import argparse
import warnings

import numpy as np

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.conditional.andersen import andersen_test
from psychollm.irt.conditional.martin_loef import martin_loef_test
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.replicated.bootstrap import bootstrap_fit
from psychollm.irt.replicated.statistics import NAMED

REPLICATES = 39
LEVEL = 0.05
DESIGNS = (
    # model, respondents, items, steps of each item
    ("2pl", 25, 20, [0.0]),
    ("2pl", 100, 10, [0.0]),
    ("2pl", 500, 10, [0.0]),
    ("graded", 200, 6, [1.2, -1.2]),
)
TAIL = -1.6449  # 5 % quantile of Zh


def draw(design, seed):
    """Return answers that the model made."""
    _, respondents, items, steps = design
    rng = np.random.default_rng([seed, respondents])
    slopes, places = np.linspace(0.8, 1.8, items), np.linspace(-1.5, 1.5, items)
    z = rng.normal(size=(respondents, 1)) * slopes - rng.permutation(places)
    z = z + rng.logistic(size=z.shape)
    return (z[:, :, None] > -np.array(steps)).sum(axis=2)


def together(fit, responses):
    """Return M2 (C2), the largest Q3, S-X2 of items and X2 of pairs as one vector."""
    names = ("m2", "q3_max", "s_x2", "ld_x2")
    return np.concatenate([NAMED[name].values(fit, responses) for name in names])


def shares(values):
    """Return the rejection rate among defined tests, weighted by data set."""
    return float(np.mean(values)) if len(values) else np.nan


def one(design, seed):
    """Return rejection rates in one data set, by statistic and kind of test."""
    from scipy.stats import chi2

    answers = draw(design, seed)
    fit = fit_irt(answers, model=design[0])
    items, pairs, whole = fit.slope.size, None, model_fit(fit, answers)
    pairs = local_dependence(fit, answers)
    upper = np.triu_indices(items, 1)
    own, x2 = item_fit(fit, answers).p_value, chi2.sf(pairs.x2[upper], pairs.df[upper])
    zh = person_fit(fit, answers).zh
    null = bootstrap_fit(fit, answers, statistic=together, n_null=REPLICATES, rng=seed)
    people = bootstrap_fit(fit, answers, statistic="person_zh", n_null=REPLICATES, rng=seed)
    known = [p[np.isfinite(p)] for p in (own, x2, np.array([whole.p_value]))]
    p = null.p_value
    booted = (p[:1], p[1:2], p[2 : 2 + items], p[2 + items :], people.p_value)
    booted = [shares(part[np.isfinite(part)] <= LEVEL + 1e-9) for part in booted]
    above = np.abs(pairs.q3[upper]) > 0.2
    plain = [
        shares(known[2] <= LEVEL),
        float(above.any()),
        shares(known[0] <= LEVEL),
        shares(known[1] <= LEVEL),
        shares(zh[np.isfinite(zh)] < TAIL),
    ]
    return np.array([plain, booted])


def main(data_sets):
    """Print the table."""
    names = ("M2 (C2)", "any pair by Q3", "S-X2", "LD X2", "Zh")
    print("| model | respondents x items | statistic | asymptotic | bootstrap |")
    print("|---|---|---|---|---|")
    for design in DESIGNS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rates = np.stack([one(design, seed) for seed in range(data_sets)])
        for k, name in enumerate(names):
            cells = []
            for kind in range(2):
                values = rates[:, kind, k]
                values = values[np.isfinite(values)]
                se = values.std() / np.sqrt(max(values.size, 1))
                cells.append(f"{values.mean():.3f} ± {se:.3f}" if values.size else "none")
            if name == "any pair by Q3":
                cells[0] += " (rule 0.2)"
            print(f"| {design[0]} | {design[1]} x {design[2]} | {name} | {' | '.join(cells)} |")


def conditional(data_sets):
    """Print the table of tests of the Rasch model."""
    print("| respondents x items | Andersen's LR | Wald | any item (Holm) | Martin-Loef |")
    print("|---|---|---|---|---|")
    for n, items in ((30, 40), (100, 10), (300, 6)):
        alarms = []
        for seed in range(data_sets):
            rng = np.random.default_rng([seed, n])
            z = rng.normal(size=(n, 1)) - np.linspace(-1.0, 1.0, items)
            answers = (z + rng.logistic(size=z.shape) > 0.0).astype(int)
            split, halves = andersen_test(answers), martin_loef_test(answers, range(items // 2))
            wald = split.wald_p_value[np.isfinite(split.wald_p_value)]
            alarms.append(
                [
                    split.p_value <= LEVEL,
                    np.mean(wald <= LEVEL),
                    np.nanmin(split.adjusted) <= LEVEL,
                    halves.p_value <= LEVEL,
                ]
            )
        rates = " | ".join(f"{rate:.3f}" for rate in np.mean(alarms, axis=0))
        print(f"| {n} x {items} | {rates} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data_sets", type=int, nargs="?", default=200)
    number = parser.parse_args().data_sets
    main(number)
    conditional(5 * number)
