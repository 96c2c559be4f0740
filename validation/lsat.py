"""Analyse the five-item sections 6 and 7 of the Law School Admission Test as in the literature.

Bock and Lieberman (1970) tabulated the answers of 1,000 examinees, which are a standard example of
item response theory. Run as ``python -m validation.lsat``; it prints the table of the guide.
Takes two seconds.
"""

import argparse
from pathlib import Path

import numpy as np

from psychollm._base.numbers import p_equals
from psychollm.irt.conditional.andersen import andersen_test
from psychollm.irt.conditional.rasch import conditional_rasch
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.model_fit import model_fit

DATA = Path(__file__).parents[1] / "tests" / "golden" / "psychometrics"


def answers(name):
    """Return the answers of 1,000 examinees (1000, 5)."""
    table = np.loadtxt(DATA / f"{name}_patterns.csv", delimiter=",", skiprows=1).astype(int)
    return np.repeat(table[:, :-1], table[:, -1], axis=0)


def row(name):
    """Return the row of one section."""
    table = answers(name)
    rasch, fit = fit_irt(table, model="rasch", priors=None), fit_irt(table, priors=None)
    conditional, andersen = conditional_rasch(table), andersen_test(table)
    ratio = 2.0 * (fit.log_likelihood - rasch.log_likelihood)
    marginal = rasch.difficulty - rasch.difficulty.mean()
    gap = np.abs(conditional.difficulty - marginal).max()
    whole, items = model_fit(fit, table), item_fit(fit, table)
    return {
        "log-likelihood, Rasch": f"{rasch.log_likelihood:.2f}",
        "log-likelihood, 2PL": f"{fit.log_likelihood:.2f}",
        "2PL against Rasch, chi-square(4)": f"{ratio:.2f}",
        "slopes of the 2PL": ", ".join(f"{a:.2f}" for a in fit.slope),
        "M2(5) of the 2PL": f"{whole.m2:.2f} ({p_equals(whole.p_value)})",
        "smallest p of S-X2": f"{np.nanmin(items.p_value):.2g}",
        "conditional log-likelihood": f"{conditional.conditional_log_likelihood:.2f}",
        "conditional difficulties": ", ".join(f"{b:.2f}" for b in conditional.difficulty),
        "largest difference from the marginal difficulties": f"{gap:.3f}",
        "Andersen's LR(4), by score": f"{andersen.statistic:.2f} ({p_equals(andersen.p_value)})",
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    rows = {name: row(name) for name in ("lsat6", "lsat7")}
    print("| | LSAT6 | LSAT7 |")
    print("|---|---|---|")
    for label in rows["lsat6"]:
        print(f"| {label} | {rows['lsat6'][label]} | {rows['lsat7'][label]} |")
