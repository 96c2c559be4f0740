"""Bias and coverage of item-bank sessions, of fixed size and stopped at a width, by true score.

    python -m benchmarks.item_bank_stopping --write        # docs/item_bank_stopping_tables.md

A bank of 40 simulated models and 1,000 questions (2PL, difficulties of standard deviation 1.5)
asks new ones: "like" models answer by the same 2PL at the ability that gives the true score,
"unlike" ones are right at random, whatever the question. Seed 1.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import psychollm as psy

OUT = Path(__file__).parents[1] / "docs" / "item_bank_stopping_tables.md"
TRUTHS = (0.02, 0.065, 0.3, 0.5, 0.92)
QUESTIONS, KNOWN, NEW = 1000, 40, 10


def main() -> None:
    """Play the sessions, print, and write the table if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="sessions of each new model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    ease, slope = rng.normal(0, 1.5, QUESTIONS), np.exp(0.3 * rng.normal(size=QUESTIONS))

    def chance(ability):
        return 1.0 / (1.0 + np.exp(-(slope * np.asarray(ability)[:, None] + ease)))

    def draw(chances, n):
        return (rng.random((n, QUESTIONS)) < chances).astype(int)

    bank = psy.item_bank(draw(chance(rng.normal(size=KNOWN)), KNOWN), rng=given.seed)
    lines = [
        "Bias in points with its standard error, share of 95 % intervals that cover, and mean "
        f"number of questions; {NEW * given.repeats} sessions a row, seed {given.seed}.",
        "",
        "| new models | true score | 100 questions | until ±3 points | until ±5 points |",
        "|---|---:|---|---|---|",
    ]
    for kind in ("like", "unlike"):
        for truth in TRUTHS:
            own = truth
            if kind == "like":
                own = chance([brentq(lambda x: chance([x]).mean() - truth, -20.0, 20.0)])  # noqa: B023
            new = psy.Responses(draw(own, NEW), models=[f"new {k}" for k in range(NEW)])
            found = psy.replay(
                bank, new, sizes=(100,), half_widths=(0.03, 0.05), designs=("bank",),
                n_repeats=given.repeats, rng=given.seed,
            )  # fmt: skip
            error = 100.0 * (found.estimates - found.truth[:, None]).reshape(3, -1)
            se = error.std(axis=1, ddof=1) / np.sqrt(error.shape[1])
            cells = [
                f"{error[k].mean():+.2f} ± {se[k]:.2f}, {100 * found.coverage[k]:.1f} %, "
                f"{found.asked[k]:.0f}"
                for k in range(3)
            ]
            lines.append(f"| {kind} those of the bank | {truth:g} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if given.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
