"""BRIDGE: the difficulty of tasks and the minutes that people take for them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.estimates import wilson
from psychollm.studies import difficulty
from validation.ledger.claim import Claim, correlation, inside, resampled, shown, wide

TITLE = "Difficulty for agents and minutes for people"
SOURCE = "BRIDGE, Liu and others (2026), arXiv:2602.07267"


def claims(data: Path) -> Iterator[Claim]:
    """Fit the 2PL to the open answers; regress log minutes on difficulty."""
    tasks = pd.read_csv(data / "bridge_tasks.csv.gz", index_col="task")
    fit = psy.fit_irt(wide(data / "bridge_agents.csv.gz", "solved", columns="task"))
    tasks["here"] = pd.Series(fit.difficulty, index=list(fit.labels))
    tasks["minutes"] = np.log(tasks["human_minutes"])
    names = tasks.index.to_series()
    cybench, swe = names.str.endswith("_unguided"), names.str.contains("__")
    timed = tasks["minutes"].notna() & tasks["here"].notna()
    metr = tasks[timed & ~cybench & ~swe]
    x, y = metr["here"].to_numpy(), metr["minutes"].to_numpy()
    family = metr.index.str.split("/").str[0]
    square = resampled("R2", lambda w: correlation(x, y, w) ** 2, len(x), clusters=family)
    held = difficulty(list(metr.index), y, features=x[:, None], groups=list(family), rng=0)
    others = tasks[timed & swe & ~cybench]
    r2_swe = np.corrcoef(others["here"], others["minutes"])[0, 1] ** 2
    yield Claim(
        headline="Difficulty is linear in the logarithm of human minutes (170 METR tasks)",
        published="R² .81",
        found=f"R² {shown(square.value[0], square.interval[0])}",
        held_out=f"R² {shown(held.r_squared.value[0], held.r_squared.interval[0])} for held-out "
        "families of tasks",
        outcome=inside(0.81, square.interval[0]),
        verdict=f"This holds for the 70 % of the answers used here, and for families of tasks to "
        f"which the line was not fitted. On the {len(others)} tasks of SWE-bench, whose minutes "
        f"are given in four classes, R² is {r2_swe:.2f}.",
    )
    target = tasks[timed & cybench]
    log = target["minutes"].to_numpy()
    middle = int(np.sum(np.abs(np.median(y) - log) <= np.log(2)))
    for column, whose in (("published_difficulty", "as published"), ("here", "from open answers")):
        line = np.polyfit(metr[column], y, 1)
        off = np.polyval(line, target[column]) - log
        hits, n = int((np.abs(off) <= np.log(2)).sum()), len(off)
        bounds = wilson(hits, n)
        yield Claim(
            headline=f"Minutes of Cybench are within a factor of two; difficulties {whose}",
            published="92.3 %",
            found=f"{hits} of {n}: {shown(100 * hits / n, 100 * bounds, 0)} %",
            held_out="the line is fitted without Cybench",
            outcome=inside(0.923, bounds),
            verdict=f"Predictions are {np.exp(off.mean()):.1f} times the minutes on average. "
            f"METR's median, predicted for every task, would be right for {middle} of {n} tasks. "
            + (
                "The difficulties were fitted to all answers."
                if whose == "as published"
                else "A task of Cybench has five answers here on average: the result depends on "
                "few agents and few tasks."
            ),
        )
