"""Coverage of 95 % intervals (estimate +- 1.96 standard errors) of item response models.

    python -m validation.coverage_irt ten-items        # 2PL, ten items: kinds of standard errors
    python -m validation.coverage_irt run CELL [DATA_SETS]   # e.g. 2pl 30 300 two_clusters
    python -m validation.coverage_irt show             # docs/irt_coverage_tables.md

``run`` fits few respondents and many items with the default priors, and appends one line per data
set to ``coverage_irt.csv``. An interrupted run can be continued, and cells may run in parallel.
True values are transformed to the scale of the fit: if that is the scale of these respondents,
true abilities are standardised to mean 0 and standard deviation 1, and items are transformed
accordingly. With two groups of equal size, the standard deviation is that of the second group's
abilities in units of the first group's, divided by the true ratio, and the mean is that of the
second population.

Takes one minute for ``ten-items``, extrapolated from three data sets in 500, and half an hour of
CPU for the fits in the file.
"""

import argparse
import csv
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.groups.result import GroupIRTFit
from psychollm.irt.multidimensional.abilities import multidimensional_ability
from psychollm.irt.multidimensional.fit import fit_multidimensional
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.result import IRTFit

DATA_SETS, FEWER = 500, 100
SLOPES = np.linspace(0.7, 1.8, 10)
INTERCEPTS = np.linspace(-1.5, 1.5, 10)
Z = 1.959964
STEPS = np.array([0.9, 0.0, -0.9])  # steps of graded items around their intercept
WIDE = 1.5  # SD of difficulties in "wide" cells, else 1
LOW = {"tenth": 0.1, "quarter": 0.25}  # asymptotes that all items share
BETWEEN = 0.9  # distance of two clusters from their midpoint, such that the total SD is 1
CSV = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "irt_coverage_tables.md"
MODELS = ("2pl", "rasch", "3pl", "graded", "gpcm", "mixed", "groups", "two_abilities")
SEVERAL = ("graded", "gpcm")  # answers
NAMES = {
    "mixed": "half 2pl, half graded",
    "groups": "2pl, two groups",
    "two_abilities": "2pl, two abilities",
}
SECOND_MEAN, SECOND_SD = 0.5, 1.2  # mean and SD of the second group's abilities
CORRELATION = 0.4  # correlation of two abilities
CELL = ("model", "respondents", "items", "abilities")
FIGURES = (
    "slope_ratio",
    "posterior_sd",
    "sd_of_estimates",
    "rmse",
    "rmse_population",
    "slopes",
    "intercepts",
    "ability_intervals",
    "converged",
    "rounds",
    "cpu",
)
SHAPES = ((15, 200), (30, 300), (30, 3_000), (100, 1_000), (100, 5_000))
Cell = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class Truth:
    """Abilities (n,) or (n, 2), slopes (J,), intercepts (J, steps) and answers (n, J)."""

    ability: np.ndarray
    slope: np.ndarray
    steps: np.ndarray
    answers: np.ndarray


def draw(cell: Cell, seed: int) -> Truth:
    """Draw a data set: slopes lognormal, difficulties normal, lower asymptotes near 0.2."""
    model, n, items, distribution = cell
    rng = np.random.default_rng([n, items, seed, distribution != "two_clusters"])
    theta = rng.normal(size=n)
    if distribution == "two_clusters":
        side = np.where(np.arange(n) < n // 2, -BETWEEN, BETWEEN)
        theta = side + np.sqrt(1.0 - BETWEEN**2) * theta
    if model == "groups":
        theta = np.where(np.arange(n) < n // 2, theta, SECOND_MEAN + SECOND_SD * theta)
    slope = np.ones(items) if model == "rasch" else rng.lognormal(0.0, 0.35, items)
    spread = WIDE if distribution == "wide" else 1.0
    middle = float(distribution == "hard")
    steps = -slope[:, None] * (middle + spread * rng.normal(size=(items, 1)))
    if model in SEVERAL:
        steps = steps + STEPS
    if model == "mixed":  # yes-or-no items have no second and third step
        further = np.where(np.arange(items)[:, None] < items // 2, -np.inf, STEPS[1:] - STEPS[0])
        steps = np.column_stack([steps, steps + further])
    if model == "two_abilities":
        other = CORRELATION * theta + np.sqrt(1.0 - CORRELATION**2) * rng.normal(size=n)
        theta = np.column_stack([theta, other])
    low = rng.beta(20.0, 80.0, size=items) if model == "3pl" else np.zeros(items)
    if distribution in LOW:
        low = np.full(items, LOW[distribution])
    own = theta[:, ability_of(items)] if model == "two_abilities" else theta[:, None]
    logits = own[:, :, None] * slope[:, None] + steps
    if model == "gpcm":
        total = np.cumsum(np.concatenate([np.zeros((n, items, 1)), logits], axis=2), axis=2)
        total += rng.gumbel(size=total.shape)
        return Truth(theta, slope, steps, total.argmax(axis=2))
    chance = 1.0 / (1.0 + np.exp(-logits))
    chance = low[:, None] + (1.0 - low[:, None]) * chance
    answers = (rng.random((n, items, 1)) < chance).sum(axis=2)
    return Truth(theta, slope, steps, answers)


def ability_of(items: int) -> np.ndarray:
    """Return which of two abilities each item measures: the first half the first."""
    return (np.arange(items) >= items // 2).astype(int)


def within(estimate: np.ndarray, se: np.ndarray, truth: np.ndarray) -> float:
    """Return the proportion of finite intervals that cover the true value."""
    usable = np.isfinite(se)
    return float(np.mean(np.abs(estimate - truth)[usable] <= Z * se[usable]))


def figures(cell: Cell, seed: int) -> dict[str, float]:
    """Fit one data set and return its figures."""
    truth = draw(cell, seed)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted below
        fit = fitted(cell, truth)
    cpu = time.process_time() - began
    if cell[0] == "groups":
        return group_figures(fit, truth) | {"cpu": cpu}
    if cell[0] == "two_abilities":
        return figures_of_two(fit, truth) | {"cpu": cpu}
    mean, sd = truth.ability.mean(), truth.ability.std()
    if fit.scale == "population":
        mean, sd = 0.0, 1.0
    slope, steps = truth.slope * sd, truth.steps + truth.slope[:, None] * mean
    theta = (truth.ability - mean) / sd
    found, se = fit.slope, fit.se_slope
    if cell[0] == "rasch":  # slopes are 1, and the abilities' SD is estimated
        found, se, theta = np.array([fit.ability_sd]), np.array([fit.se_ability_sd]), theta * sd
        slope = np.array([sd])
    scored = ability(fit, truth.answers)
    step, se_step = step_estimates(fit)
    return {
        "slope_ratio": float(np.nanmedian(found / slope)),
        "posterior_sd": fit.posterior_sd,
        "sd_of_estimates": float(scored.ability.std()) / (sd if cell[0] == "rasch" else 1.0),
        "rmse": float(np.sqrt(np.nanmean((found - slope) ** 2))),
        "rmse_population": float(np.sqrt(np.nanmean((found - slope / sd) ** 2))),
        "slopes": within(found, se, slope),
        "intercepts": within(step, se_step, steps),
        "ability_intervals": within(scored.ability, scored.se, theta),
        "converged": float(fit.convergence.converged),
        "rounds": fit.convergence.iterations,
        "cpu": cpu,
    }


def fitted(cell: Cell, truth: Truth) -> IRTFit | GroupIRTFit | MultidimensionalIRT:
    """Fit the model of a cell with default priors."""
    if cell[0] == "groups":
        return fit_irt_groups(truth.answers, np.arange(cell[1]) >= cell[1] // 2)
    if cell[0] == "two_abilities":
        return fit_multidimensional(truth.answers, np.eye(2)[ability_of(cell[2])])
    if cell[0] == "mixed":
        half = cell[2] // 2
        return fit_irt(truth.answers, model=["2pl"] * half + ["graded"] * (cell[2] - half))
    return fit_irt(truth.answers, model=cell[0])


def group_figures(fit: GroupIRTFit, truth: Truth) -> dict[str, float]:
    """Return the figures of a fit of two groups."""
    first, second = np.split(truth.ability, 2)
    mean, sd = (first.mean(), first.std()) if fit.scale == "respondents" else (0.0, 1.0)
    slope, steps = truth.slope * sd, truth.steps[:, 0] + truth.slope * mean
    return {
        "slope_ratio": float(np.nanmedian(fit.slope[0] / slope)),
        "posterior_sd": float(fit.ability_sd[1] / (second.std() / first.std())),
        "sd_of_estimates": float(fit.ability_sd[1]),
        "rmse": float(np.sqrt(np.nanmean((fit.slope[0] - slope) ** 2))),
        "rmse_population": float(np.sqrt(np.nanmean((fit.slope[0] - truth.slope) ** 2))),
        "slopes": within(fit.slope[0], fit.se_slope[0], slope),
        "intercepts": within(fit.intercept[0], fit.se_intercept[0], steps),
        "ability_intervals": within(
            fit.ability_mean[1:], fit.se_ability_mean[1:], np.array([SECOND_MEAN])
        ),
        "converged": float(fit.convergence.converged),
        "rounds": fit.convergence.iterations,
    }


def figures_of_two(fit: MultidimensionalIRT, truth: Truth) -> dict[str, float]:
    """Return the figures of a fit of two abilities, each measured by half of the items."""
    mean, sd = np.zeros(2), np.ones(2)
    if fit.scale == "respondents":
        mean, sd = truth.ability.mean(axis=0), truth.ability.std(axis=0)
    items = truth.slope.size
    row, own = np.arange(items), ability_of(items)
    slope, steps = truth.slope * sd[own], truth.steps[:, 0] + truth.slope * mean[own]
    found, se = fit.slopes[row, own], fit.se_slopes[row, own]
    scored = multidimensional_ability(fit, truth.answers)
    total = scored.ability.var(axis=0) + (scored.se**2).mean(axis=0)
    return {
        "slope_ratio": float(np.nanmedian(found / slope)),
        "posterior_sd": float(np.sqrt(total).mean()),
        "sd_of_estimates": float(scored.ability.std(axis=0).mean()),
        "rmse": float(np.sqrt(np.nanmean((found - slope) ** 2))),
        "rmse_population": float(np.sqrt(np.nanmean((found - truth.slope) ** 2))),
        "slopes": within(found, se, slope),
        "intercepts": within(fit.intercepts, fit.se_intercepts, steps),
        "ability_intervals": within(scored.ability, scored.se, (truth.ability - mean) / sd),
        "converged": float(fit.convergence.converged),
        "rounds": fit.convergence.iterations,
    }


def step_estimates(fit: IRTFit) -> tuple[np.ndarray, np.ndarray]:
    """Return intercepts of steps (J, steps) and their standard errors."""
    if fit.n_categories > 2:
        return fit.steps, fit.se_steps
    return fit.intercept[:, None], fit.se_intercept[:, None]


def cell_of(words: list[str]) -> tuple[Cell, int]:
    """Return the cell that a command line names, and the number of data sets."""
    model, n, items, distribution, *rest = words
    if model not in MODELS or distribution not in WORDS:
        msg = f"CELL: {{{','.join(MODELS)}}} RESPONDENTS ITEMS {{{','.join(WORDS)}}}"
        raise SystemExit(msg)
    return (model, int(n), int(items), distribution), int(rest[0]) if rest else FEWER


def kept() -> list[dict[str, str]]:
    """Return the lines that have been stored."""
    return list(csv.DictReader(CSV.open())) if CSV.exists() else []


def run(cell: Cell, data_sets: int) -> None:
    """Append the figures of data sets that are not stored yet."""
    name = [str(word) for word in cell]
    done = {int(row["set"]) for row in kept() if [row[word] for word in CELL] == name}
    if not CSV.exists():
        CSV.write_text(",".join([*CELL, "set", *FIGURES]) + "\n")
    if not done:  # compile before timing
        figures((cell[0], 16, 40, "normal"), 0)
    for seed in sorted(set(range(data_sets)) - done):
        found = figures(cell, seed)
        values = [f"{found[name]:.5g}" for name in FIGURES]
        with CSV.open("a") as file:
            file.write(",".join([*name, str(seed), *values]) + "\n")


WORDS = {
    "normal": "normal",
    "two_clusters": "two clusters",
    "wide": f"normal, difficulties of SD {WIDE}",
    "hard": "normal, difficulties of mean 1",
    "tenth": "normal, guessing 0.1 throughout",
    "quarter": "normal, guessing 0.25 throughout",
}
HEAD = (
    "| model | respondents x items | abilities | data sets | slopes, median ratio "
    "| SD of abilities | RMSE of slopes | slopes | intercepts | abilities | not converged "
    "| CPU s |"
)


def table() -> str:
    """Return one line for each cell, means over its data sets."""
    cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in kept():
        cells.setdefault(tuple(row[word] for word in CELL), []).append(row)
    lines = [HEAD, "|---" * 12 + "|"]
    for cell in sorted(cells, key=lambda one: (MODELS.index(one[0]), *map(int, one[1:3]), one[3])):
        rows = cells[cell]
        mean = {word: np.mean([float(row[word]) for row in rows]) for word in FIGURES}
        name = NAMES.get(cell[0], cell[0])
        lines.append(
            f"| {name} | {cell[1]} x {int(cell[2]):,} | {WORDS[cell[3]]} "
            f"| {len(rows)} | {mean['slope_ratio']:.3f} | {mean['posterior_sd']:.3f} "
            f"| {mean['rmse']:.3f} "
            f"| {mean['slopes']:.3f} | {mean['intercepts']:.3f} "
            f"| {mean['ability_intervals']:.3f} "
            f"| {sum(row['converged'] == '0' for row in rows)} | {mean['cpu']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw answers of n respondents with abilities N(0, 1)."""
    z = np.outer(rng.normal(size=n), SLOPES) + INTERCEPTS
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)


def coverage(n: int, kind: str, *, priors: str | None) -> tuple[float, float]:
    """Return the coverage of intervals of slopes and intercepts."""
    rng = np.random.default_rng(n)
    hits = np.zeros((2, SLOPES.size))
    tried = np.zeros(2)
    for _ in range(DATA_SETS):
        fit = fit_irt(answers(n, rng), standard_errors=kind, priors=priors)
        pairs = (
            (fit.slope - SLOPES, fit.se_slope),
            (fit.intercept - INTERCEPTS, fit.se_intercept),
        )
        for k, (gap, se) in enumerate(pairs):
            usable = np.isfinite(se)
            hits[k, usable] += np.abs(gap[usable]) <= Z * se[usable]
            tried[k] += usable.sum()
    slope, intercept = hits.sum(axis=1) / tried
    return float(slope), float(intercept)


def ten_items() -> None:
    """Print the table of ten items, maximum likelihood."""
    print("| respondents | standard errors | slopes | intercepts |")
    print("|---|---|---|---|")
    for n in (200, 500, 2_000):
        for kind in ("observed", "cross_product", "sandwich"):
            slope, intercept = coverage(n, kind, priors=None)
            print(f"| {n} | {kind} | {slope:.3f} | {intercept:.3f} |", flush=True)


def main() -> None:
    """Print or append, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("ten-items", help="print the table of ten items without priors")
    ran = tasks.add_parser("run", help="append the figures of one cell")
    ran.add_argument("cell", nargs="+", help="MODEL RESPONDENTS ITEMS ABILITIES [DATA_SETS]")
    tasks.add_parser("show", help="write docs/irt_coverage_tables.md")
    options = parser.parse_args()
    if options.task == "ten-items":
        ten_items()
    elif options.task == "run":
        run(*cell_of(options.cell))
    else:
        PAGE.write_text(table())
        print(table())


if __name__ == "__main__":
    main()
