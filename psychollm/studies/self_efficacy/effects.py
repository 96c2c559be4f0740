"""Effects on ratings: follow-ups, the design, personas, feedback, difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.contrasts.conditions import RankTest, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import MixedModel, mixed_model
from psychollm.studies.self_efficacy.table import (
    BASELINE,
    CELL,
    EfficacyTable,
    by_model,
    over_models,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Revision(Result):
    """Effect of asking "are you confident?" on the total, by phrasing.

    A model that confirms its ratings without repeating them counts as missing, not as unchanged.
    If many totals are missing, the proportions describe only models that follow the instruction.

    All estimates share their resamples of models: ``change.difference("too_modest",
    "sceptical")`` tests whether ratings follow the phrasing.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.self_efficacy.table import efficacy_table
    >>> rows = pd.DataFrame({"model": ["a", "a", "b", "b"], "condition": "none",
    ...     "phrasing": ["", "neutral"] * 2, "repeat": 1, "i1": [4, 3, 3, 3]})
    >>> revision(efficacy_table(rows, None), Resampling(n=20, rng=0)).change.value
    array([-0.5])
    """

    change: Estimate  # (phrasings,) mean net change of the total
    up: Estimate  # (phrasings,) proportion of administrations whose total rises
    down: Estimate  # (phrasings,)
    unchanged: Estimate  # (phrasings,)
    missing: Estimate  # (phrasings,) proportion of administrations without both totals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorEffect(Result):
    """Effect of one factor of the design on the total.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.self_efficacy.table import efficacy_table
    >>> rows = pd.DataFrame({"model": list("aabbcc"), "condition": "none",
    ...     "mode": ["all_at_once", "one_by_one"] * 3, "i1": [4, 3, 3, 3, 2, 1]})
    >>> found = factor_effect(efficacy_table(rows, None), "mode", Resampling(n=20, rng=0))
    >>> found.contrasts.value.round(2)
    array([-0.67])
    """

    factor: str
    baseline: str
    contrasts: Estimate  # (labels - 1,) difference of totals within models and conditions
    mixed: MixedModel  # mean total of repeats and conditions ~ factor + (1 | model)
    ranks: RankTest  # Kruskal-Wallis test of the same means
    accuracy: Estimate | None  # (labels - 1,) difference in task performance; personas only


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DifficultyEffect(Result):
    """Ratings and performance by level of difficulty.

    Ratings and performance are on a scale from 0 to 1, so that their slopes can be compared:
    ``slopes.difference("efficacy", "performance")``.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.self_efficacy.table import efficacy_table
    >>> rows = pd.DataFrame({"model": list("aabb"), "condition": "social", "level": [1, 2] * 2,
    ...                      "i1": [4, 1, 4, 4]})
    >>> done = rows[["model", "condition", "level"]].assign(correct=[1, 0, 1, 0])
    >>> difficulty(efficacy_table(rows, done), Resampling(n=20, rng=0)).slopes.value
    array([-0.5, -1. ])
    """

    efficacy: Estimate  # (levels,)
    performance: Estimate  # (levels,)
    slopes: Estimate  # (2,) change per level of efficacy and of performance


def revision(table: EfficacyTable, resampling: Resampling) -> Revision | None:
    """Return effects of follow-ups on totals by administration, None if there is no follow-up."""
    rows = table.rows
    again = rows[rows["phrasing"] != ""]
    if not len(again):
        return None
    same = [*(name for name in CELL if name != "phrasing"), "repeat"]
    before = rows.loc[rows["phrasing"] == "", [*same, "total"]]
    both = again.merge(before, on=same, suffixes=("", "_before"), how="left")
    change = both["total"] - both["total_before"]
    known = change.notna()
    columns = {
        "change": change,
        "up": (change > 0).where(known).astype(np.float64),
        "down": (change < 0).where(known).astype(np.float64),
        "unchanged": (change == 0).where(known).astype(np.float64),
        "missing": change.isna().astype(np.float64),
    }
    both = both.assign(**columns)
    parts = {
        name: over_models(
            "change of total" if name == "change" else f"share {name}",
            "phrasing",
            by_model(both, name, "phrasing"),
            resampling,
            share=name != "change",
        )
        for name in columns
    }
    return Revision(**parts)


def factor_effect(
    table: EfficacyTable, factor: str, resampling: Resampling
) -> FactorEffect | None:
    """Return the effect of a factor on totals; None if it has only one label."""
    rows = table.rows if factor == "feedback" else table.first
    rows = rows[rows["phrasing"] == ""]
    compared = rows.groupby("condition")[factor].transform("nunique") > 1
    rows = rows[compared]
    labels = list(dict.fromkeys(rows[factor].tolist()))
    if len(labels) < 2:
        return None
    baseline = BASELINE[factor] if BASELINE[factor] in labels else sorted(labels, key=str)[0]
    named = rows.assign(**{factor: rows[factor].replace("", "none")})
    plain = baseline or "none"
    options = resampling.arguments
    # Average over repeats first, so that all conditions have the same weight.
    kept = [name for name in CELL if name != factor]
    cells = named.groupby([*kept, factor], sort=False)["total"].mean().reset_index()
    given = cells["total"], cells[factor]
    return FactorEffect(
        factor=factor,
        baseline=plain,
        contrasts=_contrasts(named, factor, plain, "total", resampling),
        mixed=mixed_model(*given, cells["model"], reference=plain, **options),
        ranks=kruskal_wallis(*given, models=cells["model"], **options),
        accuracy=_accuracy(table, plain, resampling) if factor == "persona" else None,
    )


def feedback_shift(table: EfficacyTable, resampling: Resampling) -> Estimate | None:
    """Return the reduction of the rating error by feedback; None if there is no feedback."""
    # The error is the distance between the total, scaled to 0 to 1, and the proportion of tasks
    # passed; the reduction is the error before minus the error after.
    rows = table.rows[table.rows["phrasing"] == ""]
    after = rows[rows["feedback"] != ""]
    if not len(after):
        return None
    same = [name for name in CELL if name not in {"feedback", "phrasing"}]
    before = rows[rows["feedback"] == ""].groupby(same, sort=False)["share"].mean()
    both = after.join(before.rename("share_before"), on=same)
    true = both["correct"] / both["n_tasks"].where(both["n_tasks"] > 0)
    gained = (both["share_before"] - true).abs() - (both["share"] - true).abs()
    gains = by_model(both.assign(gained=gained), "gained", "feedback")
    return over_models("shift towards accuracy", "feedback", gains, resampling)


def difficulty(table: EfficacyTable, resampling: Resampling) -> DifficultyEffect | None:
    """Return ratings and performance by level; None if either has fewer than two levels.

    Parameters
    ----------
    table : EfficacyTable
        Table with levels of difficulty in the ratings and in the tasks.
    resampling : Resampling
        Coverage of the intervals, and resamples of models.
    """
    base = table.base
    rated = base[base["level"] > 0]
    if table.tasks is None or rated["level"].nunique() < 2:
        return None
    used = sorted(set(base["persona"]), key=str)
    done = table.tasks[
        table.tasks["persona"].isin(used) & table.tasks["condition"].isin(rated["condition"])
    ]
    done = done[done["level"].isin(rated["level"])]
    if done["level"].nunique() < 2:
        return None
    efficacy = by_model(rated.sort_values("level"), "share", "level")
    reached = by_model(done.sort_values("level"), "correct", "level").reindex(efficacy.index)
    slopes = efficacy.iloc[:, :0].assign(efficacy=_slopes(efficacy), performance=_slopes(reached))
    return DifficultyEffect(
        efficacy=over_models("efficacy", "level", efficacy, resampling, share=True),
        performance=over_models("performance", "level", reached, resampling, share=True),
        slopes=over_models("change per level", "of", slopes, resampling),
    )


def _slopes(values: pd.DataFrame) -> Any:
    """Return the least-squares slope of each row over its column labels (rows,)."""
    x = np.array(values.columns, dtype=np.float64)
    matrix = values.to_numpy(dtype=np.float64)
    x = np.where(np.isfinite(matrix), x, np.nan)
    n = np.isfinite(matrix).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = x - np.nansum(x, axis=1, keepdims=True) / n
        slope = np.nansum(centred * matrix, axis=1) / np.nansum(centred**2, axis=1)
    return np.where(n[:, 0] > 1, slope, np.nan)


def _contrasts(
    rows: pd.DataFrame, factor: str, baseline: str, column: str, resampling: Resampling
) -> Estimate:
    """Return mean differences from the baseline by model, with all other factors held constant."""
    kept = [name for name in CELL if name != factor and name in rows.columns]
    table = rows.pivot_table(
        index=kept, columns=factor, values=column, aggfunc="mean", sort=False, observed=True
    )
    others = [label for label in dict.fromkeys(rows[factor].tolist()) if label != baseline]
    apart = table.reindex(columns=[baseline, *others])
    apart = apart[others].sub(apart[baseline], axis=0)
    means = apart.groupby(level="model", sort=False).mean()
    return over_models(f"difference from {baseline}", factor, means, resampling)


def _accuracy(table: EfficacyTable, baseline: str, resampling: Resampling) -> Estimate | None:
    tasks = table.tasks
    if tasks is None or tasks["persona"].nunique() < 2 or baseline not in set(tasks["persona"]):
        return None
    return _contrasts(tasks, "persona", baseline, "correct", resampling)
