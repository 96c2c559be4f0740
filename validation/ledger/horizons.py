"""METR's time horizons, from answers of the same agents that BRIDGE published."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

import psychollm as psy
from validation.ledger.claim import Claim, inside, shown, wide

TITLE = "Time horizons of agents"
SOURCE = (
    "METR, Kwa and others (2025), arXiv:2503.14499; answers of BRIDGE (70 % are used), release "
    "dates from the vendors"
)
# The agents of BRIDGE on METR's tasks, the names of METR where they differ, and release dates.
_AGENTS = {
    "gpt2": ("gpt2-xl", "2019-11-05"),
    "gpt-3": ("davinci-002", "2020-05-28"),
    "gpt-3.5-turbo-instruct": ("gpt-3.5-turbo-instruct", "2022-03-15"),
    "gpt-4-0314": ("gpt-4-0314", "2023-03-14"),
    "gpt-4-1106": ("gpt-4-1106-preview", "2023-11-06"),
    "gpt-4-0125": ("gpt-4-0125-preview", "2024-01-25"),
    "claude-3-opus": ("claude-3-opus-20240229", "2024-03-04"),
    "gpt-4-turbo": ("gpt-4-turbo-2024-04-09", "2024-04-09"),
    "gpt-4o-2024-05-13": ("", "2024-05-13"),
    "claude-3-5-sonnet-20240620": ("claude-3-5-sonnet-20240620", "2024-06-20"),
    "o1-preview": ("o1-preview-2024-09-12", "2024-09-12"),
    "claude-3-5-sonnet-20241022": ("claude-3-5-sonnet-20241022", "2024-10-22"),
    "o1": ("o1-2024-12-17_medium", "2024-12-05"),
    "claude-3-7-sonnet-20250219": ("claude-3-7-sonnet-20250219_16K", "2025-02-24"),
}


def claims(data: Path) -> Iterator[Claim]:
    """Compare horizons, the distance of 80 % from 50 %, and the doubling time."""
    tasks = pd.read_csv(data / "bridge_tasks.csv.gz", index_col="task")["human_minutes"].dropna()
    names = tasks.index.to_series()
    tasks = tasks[~names.str.endswith("_unguided") & ~names.str.contains("__")]
    solved = wide(data / "bridge_agents.csv.gz", "solved", columns="task")
    solved = solved.reindex(index=[*_AGENTS], columns=list(tasks.index))
    families = pd.Series(tasks.index.str.split("/").str[0], index=tasks.index)
    found = psy.time_horizon(solved, tasks, families=families, rng=0)
    frame = found.to_frame()
    whole = frame[frame["definition"] == "all tasks"].set_index(["model", "share"])
    half, most = whole.xs(0.5, level="share"), whole.xs(0.8, level="share")
    metr = pd.read_csv(data / "metr_published_horizons.csv.gz", index_col="model")
    pairs = [(own, name) for own, (name, _) in _AGENTS.items() if name]
    held = [
        half.loc[own, "lower"] <= metr.loc[name, "horizon_minutes"] <= half.loc[own, "upper"]
        for own, name in pairs
    ]
    out = [own for (own, _), one in zip(pairs, held, strict=True) if not one]
    yield Claim(
        headline="METR's 50 % horizons, from 0.04 to 54 minutes",
        published=f"{len(pairs)} horizons",
        found=f"{sum(held)} of {len(pairs)} inside our intervals",
        outcome="reproduced" if all(held) else "not reproduced",
        verdict="Horizons are over all tasks; intervals treat families of tasks as units. Nine "
        "names of models were matched by hand" + (f". Outside: {', '.join(out)}." if out else "."),
    )
    ratio = np.log(half["minutes"] / most["minutes"])
    known = np.isfinite(ratio)
    ratio = ratio[known].to_numpy()
    reach = t.ppf(0.975, len(ratio) - 1) * ratio.std(ddof=1) / np.sqrt(len(ratio))
    bounds = np.exp(ratio.mean() + np.array([-reach, reach]))
    typical = frame[frame["definition"] == "typical task"].set_index(["model", "share"])["minutes"]
    twice = (typical.xs(0.5, level="share") / typical.xs(0.8, level="share")).median()
    yield Claim(
        headline="80 % horizons are about five times shorter than 50 % horizons",
        published="roughly 5 times",
        found=f"{shown(np.exp(ratio.mean()), bounds, 1)} times",
        held_out=f"{twice:.1f} times for a typical task",
        outcome=inside(5.0, bounds),
        verdict=f"This is the geometric mean of {len(ratio)} agents, which share their tasks: the "
        "interval generalises to other agents but is too short for other tasks. The ratio depends "
        "on the definition of a horizon. Section 3.2.1 of the paper says 4 to 6 times, which our "
        "interval overlaps.",
    )
    dates = {own: date for own, (_, date) in _AGENTS.items()}
    order = sorted(dates, key=dates.__getitem__)
    length = half["minutes"].reindex(order)
    best = list(length[length > length.cummax().shift(fill_value=0.0)].index)
    trend = found.trend({own: dates[own] for own in best}).to_frame()
    row = trend[(trend["share"] == 0.5) & (trend["definition"] == "all tasks")].iloc[0]
    bounds = np.array([row["lower"], row["upper"]])
    yield Claim(
        headline="The horizon of the best model doubles every seven months",
        published="207 days (first version: 212)",
        found=f"{shown(row['doubling_days'], bounds, 0)} days",
        outcome=inside(207.0, bounds),
        verdict=f"The trend is for {len(best)} models from 2019 to 2025, each better than all "
        "before it.",
    )
