"""False positive rates and power of tests between groups.

Run as ``python -m validation.coverage_groups``. Takes half an hour, with 100 data sets in each
row. Levels are 5 %; the Monte Carlo error of a rate of 5 % is then 2.2 percentage points, or about
0.7 if the rate is a mean over ten items. Every draw is seeded.

The first table tests `differential_items` and `differential_functioning` (unadjusted p-values of
single items). There are ten yes/no items; the second group is 0.5 higher in ability, with a
standard deviation of 1.2, and one item (or three of ten) is harder for it by 0.5 on the scale of
ability. The second table tests `measurement_invariance` with six items on one factor. The second
group again has a higher mean and a larger standard deviation, and a differing item has thresholds
that are higher by 0.3. The processor time of one table is printed below both.
"""

import argparse
import time
import warnings

import numpy as np

from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.ladder import measurement_invariance
from psychollm.irt.groups.differential import differential_items
from psychollm.irt.groups.logistic import differential_functioning

ITEMS = 10
SLOPES = np.linspace(0.9, 1.6, ITEMS)
DIFFICULTIES = np.linspace(-1.2, 1.2, ITEMS)
FACTOR_ITEMS = 6


def answers(n: int, differing: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw answers of two groups of n respondents (2n, 10)."""
    second = np.arange(2 * n) >= n
    ability = rng.normal(size=2 * n) * np.where(second, 1.2, 1.0) + 0.5 * second
    gap = ability[:, None] - DIFFICULTIES
    for item in differing:
        gap[:, item] -= 0.5 * second
    return (rng.random(gap.shape) < 1.0 / (1.0 + np.exp(-SLOPES * gap))).astype(int)


def p_values(table: np.ndarray, group: np.ndarray, kind: str, rule: str) -> np.ndarray:
    """Return unadjusted p-values of all items."""
    if kind == "logistic":
        return differential_functioning(table, group, purify=rule == "purified").p_value
    return differential_items(table, group, method=kind, anchors=rule).p_value


def rates(n: int, differing: tuple[int, ...], kind: str, rule: str, data_sets: int) -> list[float]:
    """Return the shares of p-values below 5 % of items that are equal, and of the others."""
    rng = np.random.default_rng(1000 * n + len(differing))
    group = np.repeat([0, 1], n)
    found = np.array(
        [p_values(answers(n, differing, rng), group, kind, rule) for _ in range(data_sets)]
    )
    differ = np.isin(np.arange(ITEMS), differing)
    alarms = np.where(np.isfinite(found), found <= 0.05, np.nan)
    power = float(np.nanmean(alarms[:, differ])) if differ.any() else float("nan")
    return [float(np.nanmean(alarms[:, ~differ])), power]


def seconds(kind: str) -> float:
    """Return the processor time of all tests of one table, compiled and purified."""
    rng, group = np.random.default_rng(0), np.repeat([0, 1], 1_000)
    table = answers(1_000, (4,), rng)
    p_values(table[::10], group[::10], kind, "purified")
    start = time.process_time()
    p_values(table, group, kind, "purified")
    return time.process_time() - start


def table_of(n: int, cuts: np.ndarray, shift: float, rng: np.random.Generator) -> np.ndarray:
    """Draw answers (6, 2n) of two groups to items of one factor."""
    second = np.arange(2 * n) >= n
    factor = rng.normal(size=2 * n) * np.where(second, 1.2, 1.0) + 0.4 * second
    loads = np.linspace(0.5, 0.8, FACTOR_ITEMS)[:, None]
    latent = loads * factor + np.sqrt(1.0 - loads**2) * rng.normal(size=(FACTOR_ITEMS, 2 * n))
    latent[2] -= shift * second
    place = np.linspace(-0.6, 0.6, FACTOR_ITEMS)
    return np.stack([np.digitize(row, cuts + at) for row, at in zip(latent, place, strict=True)])


def steps(n: int, cuts: np.ndarray, shift: float, data_sets: int) -> dict[str, list[float]]:
    """Return, for each level, the shares of steps rejected and of items named by score tests."""
    rng = np.random.default_rng(n + cuts.size)
    group = np.repeat([0, 1], n)
    found: dict[str, list[list[float]]] = {}
    for _ in range(data_sets):
        halves = polychoric_by_group(table_of(n, cuts, shift, rng), group)
        ladder = measurement_invariance(halves, {"F": range(FACTOR_ITEMS)})
        for level, fit, step in zip(
            ladder.levels[1:], ladder.fits[1:], ladder.differences, strict=True
        ):
            tests = fit.score_tests()
            equal = np.array([item != 2 or not shift for item in tests.item])
            low = tests.p_value <= 0.05
            named = float(low[~equal].mean()) if (~equal).any() else float("nan")
            row = [step.p_value <= 0.05, fit.fit.p_value <= 0.05, float(low[equal].mean()), named]
            found.setdefault(level, []).append(row)
    return {level: np.mean(rows, axis=0).tolist() for level, rows in found.items()}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--part", choices=("items", "factors", "speed"), action="append")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = chosen.part or ["items", "factors", "speed"]
    if "items" in parts:
        print("| respondents per group | items that differ | test | anchors | alarms | power |")
        print("|---|---|---|---|---|---|")
        for n in (200, 500):
            for differing in ((), (4,), (1, 4, 7)):
                for kind in ("lr", "wald", "logistic"):
                    for rule in ("all_others", "purified"):
                        alarms, power = rates(n, differing, kind, rule, chosen.data_sets)
                        said = f"{power:.3f}" if differing else ""
                        start = f"| {n} | {len(differing)} | {kind} | {rule} "
                        print(f"{start}| {alarms:.3f} | {said} |", flush=True)
    if "factors" in parts:
        print("| units a group | answers | shift | level | step | fit | score | named |")
        print("|---|---|---|---|---|---|---|---|")
        for n in (300, 1_000):
            for cuts in (np.array([0.0]), np.array([-0.8, 0.0, 0.8])):
                for shift in (0.0, 0.3):
                    for level, row in steps(n, cuts, shift, chosen.data_sets).items():
                        start = f"| {n} | {cuts.size + 1} | {shift:g} | {level} "
                        print(start + "".join(f"| {x:.3f} " for x in row) + "|", flush=True)
    if "speed" in parts:
        for kind in ("lr", "wald", "logistic"):
            print(f"{kind}: {seconds(kind):.2f} s for 2,000 respondents x 10 items", flush=True)


if __name__ == "__main__":
    main()
