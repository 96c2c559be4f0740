"""False positive rates of both DIF tests with few respondents or a difference in ability.

``python -m validation.differential_alarms`` writes docs/differential_alarms_tables.md; ``--only
functioning`` or ``--only items`` rewrites one of the two tables. Takes ten minutes.

Answers follow the 2PL model: slopes lognormal (log SD .5), difficulties normal, abilities N(0, 1)
in the first group and N(-gap, 1) in the second. All items are equal in both groups, except in the
column *power*, where one item of slope 1 and difficulty 0 is harder for the second group by one
logit. Levels are 5 %. *Alarms* is the rate of p-values at most .05 among items tested (± its
standard error, taken over tables), *any* the rate of tables in which an item is flagged after
Holm's adjustment. *Likelihood ratio* is the earlier method on the same tables: a likelihood ratio
test given the total score, which includes the item, for items with at least five of each answer in
each group. Seeds are 0 to the number of tables.

The second table tests `differential_items` with its defaults (2PL, likelihood ratio, purified
anchors) and with its Rasch model. *None tested* is the rate of tables in which a fit has no finite
maximum, so that no item has a test.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import chi2

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.groups.differential import differential_items
from psychollm.irt.groups.logistic import _logistic_fit, differential_functioning

PAGE = Path(__file__).resolve().parents[1] / "docs" / "differential_alarms_tables.md"
CELLS = (  # respondents of both groups, items, gap of abilities, part of the tables
    (12, 12, 60, 0.0, 1.0),
    (12, 12, 60, 1.0, 1 / 3),
    (12, 12, 10, 1.0, 1 / 3),
    (30, 30, 30, 1.0, 1 / 3),
    (300, 80, 20, 0.0, 1 / 3),
    (300, 80, 20, 1.0, 1 / 3),
    (300, 80, 8, 1.0, 1 / 3),
    (100, 100, 4, 1.0, 1.0),
    (300, 300, 10, 1.0, 1 / 3),
)
Cell = tuple[int, int, int, float, float]
ITEM_CELLS = (  # of `differential_items`, with its model
    ((12, 12, 60, 0.0, 1.0), "2pl"),
    ((12, 12, 60, 0.0, 1.0), "rasch"),
    ((30, 30, 30, 1.0, 1.0), "2pl"),
    ((300, 80, 20, 0.0, 1.0), "2pl"),
    ((300, 80, 20, 1.0, 1.0), "2pl"),
    ((300, 80, 8, 1.0, 1.0), "2pl"),
)
HEADS = {
    "functioning": "| respondents x items | gap (SD) | tables | likelihood ratio: tested "
    "| false positives | score test: tested | false positives | any | power | power, uniform |",
    "items": "| respondents x items | gap (SD) | model | tables | none tested | tested "
    "| false positives | any |",
}


def draw(
    cell: Cell, seed: int, harder: float = 0.0, spread: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return answers and groups of one table; slopes with this log SD."""
    first, second, items, gap, _ = cell
    rng = np.random.default_rng([first, second, items, int(10 * gap), seed])
    group = np.repeat([0, 1], [first, second])
    theta = rng.normal(size=group.size) - gap * group
    slope, difficulty = rng.lognormal(0.0, spread, items), rng.normal(size=items)
    slope[0], difficulty[0] = 1.0, 0.0
    z = slope * (theta[:, None] - difficulty)
    z[:, 0] -= harder * group
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int), group


def likelihood_ratios(answers: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return p-values of the likelihood ratio on the score, NaN if a group has few answers."""
    counts = [(answers[group == g] == a).sum(axis=0) for g in (0, 1) for a in (0, 1)]
    score = answers.mean(axis=1)
    score = (score - score.mean()) / score.std()
    columns = np.column_stack([np.ones(score.size), score, group, score * group])
    found = np.full(answers.shape[1], np.nan)
    for j in np.flatnonzero(np.min(counts, axis=0) >= 5):
        yes = answers[:, j].astype(float)
        base, full = (_logistic_fit(columns[:, :k], yes)[0] for k in (2, 4))
        found[j] = chi2.sf(2.0 * (full - base), 2)
    return found


def rate(p: np.ndarray) -> str:
    """Return the rejection rate of p-values (tables, items) and its standard error."""
    tested, low = np.isfinite(p).sum(axis=1), (p <= 0.05).sum(axis=1)
    value = low.sum() / tested.sum()
    error = np.sqrt(np.sum((low - value * tested) ** 2)) / tested.sum()
    return f"{100 * value:.1f} ± {100 * error:.1f} %"


def row(cell: Cell, tables: int) -> str:
    """Return one line of the table."""
    tables = round(tables * cell[4])
    p, old, flagged, power = [], [], [], []
    for seed in range(tables):
        answers, group = draw(cell, seed)
        found = differential_functioning(answers, group)
        p.append(found.p_value)
        flagged.append(bool((found.flagged == 1).any()))
        old.append(likelihood_ratios(answers, group))
        answers, group = draw(cell, seed, harder=1.0)
        one = differential_functioning(answers, group)
        power.append([one.p_value[0] <= 0.05, one.uniform[0] <= 0.05])
    new, before = np.array(p), np.array(old)
    both, shift = 100 * np.mean(power, axis=0)
    return (
        f"| {cell[0]} + {cell[1]} x {cell[2]} | {cell[3]:g} | {tables} "
        f"| {100 * np.isfinite(before).mean():.0f} % | {rate(before)} "
        f"| {100 * np.isfinite(new).mean():.0f} % | {rate(new)} | {100 * np.mean(flagged):.1f} % "
        f"| {both:.0f} % | {shift:.0f} % |"
    )


def item_row(cell: Cell, model: str, tables: int) -> str:
    """Return one line of the table of `differential_items`."""
    p, flagged = [], []
    for seed in range(tables):
        answers, group = draw(cell, seed, spread=0.0 if model == "rasch" else 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # shown as untested
            found = differential_items(answers, group, model=model)
        p.append(found.p_value)
        flagged.append(bool((found.flagged == 1).any()))
    values = np.array(p)
    tested = np.isfinite(values)
    return (
        f"| {cell[0]} + {cell[1]} x {cell[2]} | {cell[3]:g} | {model} | {tables} "
        f"| {100 * (~tested.any(axis=1)).mean():.0f} % | {100 * tested.mean():.0f} % "
        f"| {rate(values) if tested.any() else '–'} | {100 * np.mean(flagged):.1f} % |"
    )


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--only", choices=sorted(HEADS), help="the table to renew")
    options = parser.parse_args()
    parts = dict(zip(HEADS, PAGE.read_text().strip().split("\n\n"), strict=False))
    for name, head in HEADS.items():
        if options.only not in {None, name}:
            continue
        lines = [head, "|---" * (head.count("|") - 1) + "|"]
        jobs = [(row, (one,)) for one in CELLS]
        if name == "items":
            jobs = [(item_row, one) for one in ITEM_CELLS]
        for line, cell in jobs:
            lines.append(line(*cell, options.tables))
            print(lines[-1], flush=True)
        parts[name] = "\n".join(lines)
    PAGE.write_text("\n\n".join(parts.values()) + "\n")


if __name__ == "__main__":
    main()
