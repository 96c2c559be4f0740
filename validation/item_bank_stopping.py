"""Bias and coverage of item-bank sessions of fixed size or stopped at a width, by true score.

    python -m validation.item_bank_stopping --write        # docs/item_bank_stopping_tables.md

A bank of 40 simulated models and 1,000 questions (2PL, difficulties of standard deviation 1.5) is
used with eight new models of each true score, 25 times each. "Like" models answer by the same 2PL
at the ability that gives the score; "unlike" models are right at random, independently of the
question. Seed 1. Takes a minute and a half, extrapolated from three sessions in 25.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import psychollm as psy

OUT = Path(__file__).parents[1] / "docs" / "item_bank_stopping_tables.md"
TRUTHS = (0.02, 0.065, 0.3, 0.92)
QUESTIONS, KNOWN, NEW = 1000, 40, 8


def main() -> None:
    """Play the sessions, print, and write the table if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truths", type=float, nargs="+", default=TRUTHS)
    parser.add_argument("--repeats", type=int, default=25, help="sessions of each new model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    ease, slope = rng.normal(0, 1.5, QUESTIONS), np.exp(0.3 * rng.normal(size=QUESTIONS))

    def chance(ability):
        return 1.0 / (1.0 + np.exp(-(slope * np.asarray(ability)[:, None] + ease)))

    known = rng.random((KNOWN, QUESTIONS)) < chance(rng.normal(size=KNOWN))
    bank = psy.item_bank(known.astype(int), rng=given.seed)
    lines = [
        "Each cell gives the bias in points with its standard error over new models, the "
        "proportion of 95 % intervals that cover, and the mean number of questions "
        f"({NEW * given.repeats} sessions per row, seed {given.seed}).",
        "",
        "| new models | true score | 100 questions | until ±3 points | until ±5 points |",
        "|---|---:|---|---|---|",
    ]
    for kind in ("like", "unlike"):
        for truth in given.truths:
            own = truth
            if kind == "like":
                ability = brentq(lambda x, t: chance([x]).mean() - t, -20.0, 20.0, (truth,))
                own = chance(np.full(NEW, ability))
            rows = rng.random((NEW, QUESTIONS)) < own
            found = psy.replay(
                bank, psy.Responses(rows.astype(int), models=[f"n{k}" for k in range(NEW)]),
                sizes=(100,), half_widths=(0.03, 0.05), designs=("bank",),
                n_repeats=given.repeats, rng=given.seed,
            )  # fmt: skip
            cells = [
                f"{100 * bias:+.2f} ± {100 * se:.2f}, {100 * covered:.1f} %, {asked:.0f}"
                for bias, se, covered, asked in zip(
                    found.bias, found.bias_se, found.coverage, found.asked, strict=True
                )
            ]
            lines.append(f"| {kind} those of the bank | {truth:g} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if given.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
