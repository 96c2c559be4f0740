"""Evaluate `sbc_irt`: tests of uniform ranks, a table for the documentation, and a figure."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import binom, chisquare, f

from psychollm._base.multiplicity import adjust_p_values
from psychollm.plots.canvas import BLUE, DEEP_ORANGE, GRID, MUTED, dress, name_axes

BINS = 10
DOCS = Path(__file__).parents[1] / "docs"
TABLE = DOCS / "irt_calibration_tables.md"
PICTURE = DOCS / "_static" / "irt" / "sbc.png"
SHADES = (GRID, "#d5d9e0")  # a band for each number of data sets, fewest first
METHODS = {"laplace": BLUE, "nuts": DEEP_ORANGE}
PANELS = [
    ("no groups", "0", ("slope", "intercept", "ability")),
    ("groups", "1", ("slope", "intercept", "ability")),
    ("groups", "1", ("family", "domain", "sd")),
]
NAMES = {"family": "family mean", "domain": "domain mean", "sd": "standard deviation"}
Runs = dict[tuple[str, str, str], list[dict[str, str]]]
Ranks = dict[str, np.ndarray]


def read(path: Path) -> Runs:
    """Return the lines of each run (method, groups, respondents) of enough data sets to test."""
    runs: Runs = defaultdict(list)
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            runs[line["method"], line["groups"], line["respondents"]].append(line)
    return {key: lines for key, lines in sorted(runs.items()) if len(lines) > 5 * BINS}


def ranks_of(lines: list[dict[str, str]]) -> Ranks:
    """Return the ranks (data sets,) of every quantity of a run."""
    names = [name for name in lines[0] if name[-1].isdigit() or name.startswith("sd_")]
    return {
        name: np.array([int(line[name]) for line in lines]) for name in names if lines[0][name]
    }


def by_kind(ranks: Ranks) -> dict[str, list[str]]:
    """Return names of quantities by kind."""
    kinds = defaultdict(list)
    for name in ranks:
        kinds[name.split("_")[0].split(" ")[0]].append(name)
    return dict(kinds)


def bins_of(rank: np.ndarray, draws: int) -> np.ndarray:
    """Return the bin of each rank 0 to `draws`."""
    return rank * BINS // (draws + 1)


def single(rank: np.ndarray, draws: int) -> float:
    """Return p of chi-square for one quantity."""
    return float(chisquare(np.bincount(bins_of(rank, draws), minlength=BINS)).pvalue)


def pooled(ranks: list[np.ndarray], draws: int) -> tuple[np.ndarray, float]:
    """Return counts of bins of several quantities, and p by Hotelling's test.

    Quantities of one data set are dependent, but data sets are independent. The test is therefore
    whether the mean proportion of each bin over data sets is a tenth.
    """
    table = np.stack([bins_of(rank, draws) for rank in ranks], axis=1)
    shares = (table[:, :, None] == np.arange(BINS)).mean(axis=1)
    n, free = len(shares), BINS - 1
    gap = shares[:, :-1].mean(axis=0) - 1.0 / BINS
    t2 = n * gap @ np.linalg.solve(np.cov(shares[:, :-1].T), gap)
    p = f.sf(t2 * (n - free) / (free * (n - 1)), free, n - free)
    return np.bincount(table.ravel(), minlength=BINS), float(p)


def band(n: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the simultaneous 95 % band of cumulative rank counts of uniform samples."""
    rng = np.random.default_rng(0)
    chance = np.arange(1, draws + 1) / (draws + 1)
    sample = rng.integers(0, draws + 1, (2_000, n))
    paths = np.array([np.bincount(row, minlength=draws + 1).cumsum()[:-1] for row in sample])
    tails = np.minimum(binom.cdf(paths, n, chance), binom.sf(paths - 1, n, chance))
    gamma = np.quantile(tails.min(axis=1), 0.05)
    return binom.ppf(gamma, n, chance) / n - chance, binom.isf(gamma, n, chance) / n - chance


def table(runs: Runs, draws: int) -> str:
    """Return the table of all runs."""
    rows = [
        "| method | model | respondents | quantities | data sets | ranks in tenths | p together "
        "| smallest adjusted p of one |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (method, groups, respondents), lines in runs.items():
        ranks = ranks_of(lines)
        model = "groups" if groups == "1" else "no groups"
        each = adjust_p_values(np.array([single(rank, draws) for rank in ranks.values()]))
        adjusted = dict(zip(ranks, each, strict=True))
        for kind, names in by_kind(ranks).items():
            counts, p = pooled([ranks[name] for name in names], draws)
            said = f"{len(names)} x {NAMES.get(kind, kind)}"
            rows.append(
                f"| {method} | {model} | {respondents} | {said} | {len(lines)} "
                f"| {' '.join(map(str, counts))} | {p:.3f} "
                f"| {min(adjusted[name] for name in names):.3f} |"
            )
    return "\n".join(rows)


def health(runs: Runs) -> str:
    """Return the diagnostics of the runs, one line each."""
    said = []
    for (method, groups, respondents), lines in runs.items():
        model = "with groups" if groups == "1" else "without groups"
        spent = np.median([float(line["seconds"]) for line in lines])
        if method == "laplace":
            bad = np.mean([float(line["pareto_k"]) > 0.7 for line in lines])
            how = f"Pareto k is above 0.7 in {bad:.1%} of data sets"
        else:
            r_hat = np.quantile([float(line["r_hat"]) for line in lines], 0.9)
            split = np.mean([int(line["divergences"]) > 5 for line in lines])
            how = (
                f"R-hat is below {r_hat:.3f} in nine tenths of data sets, and {split:.1%} have "
                "more than 5 divergences"
            )
        said.append(
            f"* {method}, {model}, {respondents} respondents: {how}. A fit takes "
            f"{spent:.2f} s (median)."
        )
    return "\n".join(said)


def panel(ax: Axes, runs: Runs, groups: str, kind: str, draws: int) -> None:
    """Draw how far the distribution of ranks is from uniform, a line per quantity."""
    chance = np.arange(1, draws + 1) / (draws + 1)
    chosen = {key: lines for key, lines in runs.items() if key[1] == groups}
    for n, shade in zip(sorted({len(lines) for lines in chosen.values()}), SHADES, strict=False):
        lower, upper = band(n, draws)
        ax.fill_between(chance, lower, upper, color=shade, lw=0, zorder=0)
    for (method, _, _), lines in chosen.items():
        ranks = ranks_of(lines)
        for name in by_kind(ranks)[kind]:
            below = np.bincount(ranks[name], minlength=draws + 1).cumsum()[:-1] / len(lines)
            ax.plot(chance, below - chance, color=METHODS[method], lw=0.9, alpha=0.75)


def picture(runs: Runs, draws: int, path: Path) -> None:
    """Draw all panels."""
    figure = Figure(figsize=(8.4, 7.0), layout="constrained")
    axes = figure.subplots(3, 3, sharex=True, sharey=True)
    for row, (title, groups, kinds) in zip(axes, PANELS, strict=True):
        for ax, kind in zip(row, kinds, strict=True):
            dress(ax)
            panel(ax, runs, groups, kind, draws)
            name_axes(ax, title=NAMES.get(kind, kind))
            ax.set_title(title, loc="right", fontsize=7.5, color=MUTED)
    for ax in axes[-1]:
        name_axes(ax, x="rank of the truth, share of draws")
    for ax in axes[:, 0]:
        name_axes(ax, y="distribution minus uniform")
    handles = [Line2D([], [], color=c, lw=1.6, label=m) for m, c in METHODS.items()]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=8.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def show(path: Path, draws: int) -> None:
    """Write the table and the picture."""
    runs = read(path)
    TABLE.write_text(f"{table(runs, draws)}\n\n{health(runs)}\n", encoding="utf-8")
    picture(runs, draws, PICTURE)
    print(TABLE.read_text(encoding="utf-8"))
