"""Coverage of time horizons, and a comparison with METR's: docs/time_horizon.md.

``python -m validation.horizon_rates --write [AGENTS.csv.gz TASKS.csv.gz PUBLISHED.csv.gz]``
rewrites ``docs/time_horizon_tables.md``. Twelve models with horizons of half a minute to two hours
try tasks of an eighth of a minute to sixteen hours, in families of two to three. A task of twice
the length is harder by 1.4 logits; tasks of equal length differ by an SD of 2.6, as in METR's
tasks. None, two fifths or four fifths of this variance is between families, and half of the
variance of log minutes is between families. In the last rows the model is wrong: slopes differ
between models by an SD of a third, the residuals have three degrees of freedom, or scores are
means of five attempts. With the data of BRIDGE (columns model, task, solved; task, human_minutes;
McGill-NLP/BRIDGE, CC BY 4.0) and METR's published horizons (model, horizon_minutes, ci_low,
ci_high; epoch-research/benchmark-stitching, MIT), both kinds of horizons are compared.
Takes fifteen minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit

from psychollm.studies.time_horizon.study import time_horizon
from validation.attempts_rates import markdown

OUT = Path(__file__).parents[1] / "docs" / "time_horizon_tables.md"
SHARES, SLOPE, SCATTER = (0.5, 0.8), 1.4, 2.6
MODELS = 12
SIZES = ((8, 4), (20, 8), (60, 24))  # tasks, families
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
# Names of METR's models in the tables of BRIDGE, where they differ.
SAME = {"gpt-4-0125": "gpt-4-0125-preview", "gpt-4-1106": "gpt-4-1106-preview",
        "o1-preview": "o1-preview-2024-09-12", "claude-3-opus": "claude-3-opus-20240229",
        "gpt-4-turbo": "gpt-4-turbo-2024-04-09", "gpt-3": "davinci-002", "gpt2": "gpt2-xl",
        "gpt-4o-2024-05-13": "", "o1": "o1-2024-12-17_medium",
        "claude-3-7-sonnet-20250219": "claude-3-7-sonnet-20250219_16K"}  # fmt: skip


def drawn(rng, tasks, families, part, kind):
    """Return whether models solved tasks, log2 minutes, families, and the true log2 horizons."""
    family = np.concatenate([np.arange(families), rng.integers(families, size=tasks - families)])
    length = 3.5 + 3.0 * (rng.normal(size=families)[family] + rng.normal(size=tasks)) / np.sqrt(2)

    def residual(size):
        if kind != "heavy tails":
            return rng.normal(size=size)
        return rng.standard_t(3, size) / np.sqrt(3.0)

    easy = np.sqrt(part) * residual(families)[family] + np.sqrt(1.0 - part) * residual(tasks)
    ability = SLOPE * np.linspace(-1.0, 7.0, MODELS)
    slope = np.full(MODELS, SLOPE)
    if kind == "slopes differ":
        steeper = np.exp(np.random.default_rng(7).normal(0.0, 0.33, MODELS))
        ability, slope = ability * steeper, slope * steeper
    odds = ability[:, None] - slope[:, None] * length + SCATTER * easy
    runs = 5 if kind == "five attempts" else 1
    return rng.binomial(runs, expit(odds)) / runs, length, family, (ability, slope)


def truth(ability, slope, kind):
    """Return true log2 horizons (definitions, shares, models)."""
    draws = SCATTER * NODES
    weight = WEIGHTS
    if kind == "heavy tails":
        rng = np.random.default_rng(3)
        draws = SCATTER * rng.standard_t(3, 40_000) / np.sqrt(3.0)
        weight = np.full(draws.size, 1.0 / draws.size)
    out = np.empty((2, len(SHARES), len(ability)))
    for place, share in enumerate(SHARES):
        out[1, place] = (ability - logit(share)) / slope
        for row, (a, b) in enumerate(zip(ability, slope, strict=True)):
            out[0, place, row] = brentq(
                lambda x, a=a, b=b, share=share: float(weight @ expit(a - b * x + draws)) - share,
                -60.0, 60.0,
            )  # fmt: skip
    return out


def coverage(rng, n_tables):
    """Return rows of coverage and of open intervals, per cent."""
    cases = [(*size, part, "") for size in SIZES for part in (0.0, 0.4, 0.8)]
    cases += [(60, 24, 0.4, kind) for kind in ("slopes differ", "heavy tails", "five attempts")]
    rows = []
    for tasks, families, part, kind in cases:
        held, open_, wide = [], [], []
        true = None
        for _ in range(n_tables):
            solved, length, family, model = drawn(rng, tasks, families, part, kind)
            if true is None:
                true = truth(*model, kind)
            found = time_horizon(solved, 2.0**length, share=SHARES, families=family)
            bounds = np.log2(np.maximum(
                np.array([[one.interval for one in by] for by in found.estimates]), 1e-300
            ))  # fmt: skip
            bounds[bounds < -900.0] = -np.inf
            held.append((bounds[..., 0] <= true) & (true <= bounds[..., 1]))
            open_.append(np.isinf(bounds).any(axis=-1).mean(axis=(1, 2)))
            gap = bounds[..., 1] - bounds[..., 0]
            wide.append(np.median(gap[:, 0], axis=-1))
        hits = 100 * np.mean(held, axis=(0, 3))
        name = f"{tasks}, {families}, {part:.0%}".replace("%", " %") + (
            f", {kind}" if kind else ""
        )
        rows.append(
            [name, *hits.ravel(), *(100 * np.mean(open_, axis=0)), *np.median(wide, axis=0)]
        )
        print(rows[-1][0], np.round(rows[-1][1:], 1), flush=True)
    return rows


def published(agents, tasks, metr):
    """Return rows that compare METR's 50 % horizons with ours on BRIDGE's tasks of METR."""
    own = agents[agents["task"].str.contains("/") & ~agents["task"].str.contains("__")]
    often = own["model"].value_counts()
    table = own[own["model"].isin(often[often > 60].index)].pivot_table(
        index="model", columns="task", values="solved"
    )
    minutes = tasks.set_index("task")["human_minutes"].reindex(table.columns)
    family = [task.split("/")[0] for task in table.columns]
    found = time_horizon(table, minutes, families=family)
    frame = found.to_frame().set_index(["model", "share", "definition"])
    known = metr.set_index("model")
    rows = []
    for row in found.order:
        model = found.labels[row]
        name = SAME.get(model, model)
        if name not in known.index:
            continue
        theirs = known.loc[name]
        cells = [
            "{:.3g} [{:.3g}, {:.3g}]".format(*frame.loc[(model, 0.5, one)].iloc[:3])
            for one in found.definitions
        ]
        inside = frame.loc[(model, 0.5, "all tasks")]
        within = inside["lower"] <= theirs["horizon_minutes"] <= inside["upper"]
        value = "{:.3g} [{:.3g}, {:.3g}]".format(*theirs.iloc[:3])
        rows.append([name, value, *cells, "yes" if within else "no"])
    ratio = [
        frame.loc[(model, 0.8, "all tasks"), "minutes"]
        / frame.loc[(model, 0.8, "typical task"), "minutes"]
        for model in found.labels
    ]
    print(found.summary())
    return rows, found, float(np.exp(np.mean(np.log(ratio)))), float(np.median(ratio))


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--picture", type=Path, help="where the figure of BRIDGE's agents goes")
    options = parser.parse_args()
    if options.picture:
        found = published(*(pd.read_csv(path) for path in options.files))[1]
        found.plot().figure.savefig(options.picture, dpi=110, bbox_inches="tight")
        return
    rng = np.random.default_rng(1)
    head = ["tasks, families, proportion of residual variance between families",
            "all tasks, 50 %", "all tasks, 80 %",
            "typical task, 50 %", "typical task, 80 %", "open, all tasks", "open, typical task",
            "width, all tasks", "width, typical task"]  # fmt: skip
    parts = []
    if options.files:
        rows, found, mean, middle = published(*(pd.read_csv(path) for path in options.files))
        parts += [
            "### METR's published horizons",
            markdown(["model", "METR", "all tasks", "typical task", "METR within"], rows, 2),
            f"Tasks of equal length differ by an SD of {found.scatter:.1f} logits, which is "
            f"{found.doublings:.1f} doublings of their length. The 80 % horizon over all tasks is "
            f"{mean:.2f} times that of a typical task (geometric mean; median {middle:.2f}).",
        ]
    parts += ["### Simulated tasks", markdown(head, coverage(rng, options.tables), 1)]  # fmt: skip
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
