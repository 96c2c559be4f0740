r"""Correlations of ratings with performance, perplexity and style; comparison with people.

For each condition, totals are correlated over models with another measure, by ranks. A measure
that varies by condition also has a correlation within models. The correlation within models shows,
for example, whether a model rates itself lower under conditions in which it is less sure. Let
:math:`x_{mc}` be the measure of model m in cell c (a condition, or a level of difficulty within
one), and :math:`y_{mc}` its mean rating. Equation (1) removes the main effects of models and
cells.

.. math:: x'_{mc} = x_{mc} - \bar x_{m\cdot} - \bar x_{\cdot c} + \bar x_{\cdot\cdot}.    \quad (1)

Spearman's coefficient of all x' and y' is the correlation within models. The interval is a
Student's t interval around artanh r, with the jackknife standard error over models.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.errors import LabelError
from psychollm._base.numbers import p_equals, percent, with_interval
from psychollm._base.ranks import midranks
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.estimates.verdict import FEWEST, SmallestEffects, Verdicts, outcome
from psychollm.studies.inference_boundary.monitoring_link import rank_link
from psychollm.studies.people.norm import HumanNorm
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import PERSON, as_frame, of_totals
from psychollm.studies.self_efficacy.table import (
    EfficacyTable,
    by_model,
    efficacy_table,
)

if TYPE_CHECKING:
    import pandas as pd

WITHIN = "within models"
_FEWEST_WITHIN = 5  # smallest number of models for an interval
_HALF = 0.5
_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EfficacyLink(Result):
    """Rank correlation of ratings and another measure over models, under one condition.

    Examples
    --------
    >>> import pandas as pd
    >>> rated = pd.Series([1.0, 2, 3, 4], index=list("abcd"))
    >>> link("perplexity", "none", rated, -rated, Resampling(n=20, rng=0)).value
    -1.0
    """

    measure: str
    condition: Hashable
    value: float  # Spearman's coefficient
    interval: FloatArray  # (2,) NaN with fewer than four models
    p_value: float  # two-sided permutation p-value
    totals: FloatArray  # (models,)
    other: FloatArray  # (models,)
    labels: Labels  # (models,) models with both measures
    at_ceiling: float  # proportion of models at the highest possible value; NaN if unbounded
    ceiling: bool  # whether the ceiling substantially reduces the power
    level: float
    flag: Reason


def link(
    measure: str,
    condition: Hashable,
    totals: pd.Series,
    other: pd.Series,
    resampling: Resampling,
    *,
    best: float | None = None,
) -> EfficacyLink:
    """Correlate totals with another measure by rank, over the models that have both."""
    # `best` is the highest possible value of the measure. There is a ceiling effect if half of the
    # models reach this value, or if the mean is within 5 % of it.
    labels = [one for one in totals.dropna().index if np.isfinite(other.get(one, np.nan))]
    x = np.array([totals[one] for one in labels], dtype=np.float64)
    y = np.array([other[one] for one in labels], dtype=np.float64)
    ranked = rank_link(
        x,
        y,
        tuple(labels),
        n_null=max(resampling.n, 1),
        level=resampling.level,
        rng=resampling.rng,
    )
    top = float(np.mean(y == best)) if best is not None and y.size else np.nan
    full = best is not None and y.size > 0 and (top >= _HALF or y.mean() >= _NEARLY_ALL * best)
    return EfficacyLink(
        measure=measure,
        condition=condition,
        value=ranked.value,
        interval=ranked.interval,
        p_value=ranked.p_value,
        totals=x,
        other=y,
        labels=tuple(labels),
        at_ceiling=top,
        ceiling=bool(full),
        level=resampling.level,
        flag=ranked.flag,
    )


def performance_links(
    table: EfficacyTable, resampling: Resampling
) -> dict[Hashable, EfficacyLink] | None:
    """Correlate totals with the proportion of passed tasks by condition; None without tasks."""
    if table.tasks is None:
        return None
    base = table.base
    totals = by_model(base, "total", "condition")
    done = table.tasks[table.tasks["persona"].isin(set(base["persona"]))]
    reached = by_model(done, "correct", "condition")
    return {
        condition: link(
            "performance",
            condition,
            totals[condition],
            reached[condition],
            resampling,
            best=1.0,
        )
        for condition in totals.columns
        if condition in reached.columns
    }


def measure_links(
    table: EfficacyTable, measures: Mapping[str, pd.DataFrame], resampling: Resampling
) -> dict[str, dict[Hashable, EfficacyLink]]:
    """Correlate totals with the measures of `as_measures`, by condition."""
    totals = by_model(table.base, "total", "condition")
    links: dict[str, dict[Hashable, EfficacyLink]] = {}
    for name, values in measures.items():
        own = values[values["model"].isin(totals.index)]
        if own.empty:
            msg = f"measures[{name!r}] has none of the models {listed(totals.index.tolist())}"
            raise LabelError(msg)
        every = own[own["condition"].isna()].groupby("model")["value"].mean()
        links[name] = {}
        for condition in totals.columns:
            here = own[own["condition"] == condition].groupby("model")["value"].mean()
            other = here.combine_first(every)
            links[name][condition] = link(name, condition, totals[condition], other, resampling)
    return links


def within_models(
    table: EfficacyTable, measures: Mapping[str, pd.DataFrame], level: float
) -> dict[str, Estimate]:
    """Return the correlation within models of each measure by condition."""
    found = {}
    for name, values in measures.items():
        known = values[values["condition"].notna() & np.isfinite(values["value"])]
        graded = (known["level"] > 0).any() and (table.base["level"] > 0).any()
        cell = ["condition", "level"] if graded else ["condition"]
        rated = table.base.pivot_table("share", "model", cell, sort=False)
        other = known.pivot_table("value", "model", cell, sort=False)
        both = [one for one in rated.columns if one in other.columns]
        x, y = (one.reindex(index=rated.index)[both] for one in (other, rated))
        if len(both) > 1 and (x.notna() & y.notna()).any(axis=None):
            held = np.isfinite(x.to_numpy() + y.to_numpy()).all(axis=1)
            found[name] = _within(name, x[held].to_numpy(), y[held].to_numpy(), level)
    return found


def _within(name: str, x: FloatArray, y: FloatArray, level: float) -> Estimate:
    m = len(x)
    value = _apart(x, y)
    flag, se, bounds = Reason.NONE, np.nan, np.full(2, np.nan)
    if m < _FEWEST_WITHIN:
        flag = Reason.TOO_FEW
    elif not abs(value) < 1.0:
        flag = Reason.ALL_TIED if np.isnan(value) else Reason.AT_BOUND
    else:
        rest = np.array([_apart(*(np.delete(one, i, axis=0) for one in (x, y))) for i in range(m)])
        with np.errstate(divide="ignore"):
            z, others = np.arctanh(value), np.arctanh(rest)
        se = float((m - 1.0) / np.sqrt(m) * others.std(ddof=1))
        bounds = np.tanh(z + np.array([-1.0, 1.0]) * stdtrit(m - 1.0, 0.5 + 0.5 * level) * se)
        flag = Reason.NONE if np.isfinite(bounds).all() else Reason.NO_SPREAD
    return Estimate(
        name=f"rank correlation with {name}",
        value=np.array([value]),
        se=np.array([se * (1.0 - value**2)]),
        interval=bounds[None],
        n=np.array([float(m)]),
        flags=(flag,),
        method="jackknife over models",
        level=level,
        labels=(WITHIN,),
        axis="of",
    )


def _apart(x: FloatArray, y: FloatArray) -> float:
    """Return Spearman's coefficient of the residuals of two tables by equation (1)."""
    left = []
    for one in (x, y):
        rest = one - one.mean(axis=1, keepdims=True)
        rest -= rest.mean(axis=0)
        # Rounding errors must not break ties.
        ranks = midranks(np.round(rest / max(np.abs(one).max(), 1e-300), 12).ravel())
        left.append(ranks - ranks.mean())
    scale = np.sqrt((left[0] ** 2).sum() * (left[1] ** 2).sum())
    return float(left[0] @ left[1] / scale) if scale > 0.0 else np.nan


def totals_of_people(
    table: EfficacyTable, people: Any, points: tuple[int, int], level: float
) -> BesidePeople:
    """Compare the totals of models with the totals of people, by condition."""
    if isinstance(people, HumanNorm):
        return of_totals(
            table.base, dict.fromkeys(map(str, table.conditions), people), level=level
        )
    frame = as_frame(people)
    if "condition" not in frame.columns:
        if len(table.conditions) > 1:
            msg = f"people has no column 'condition': models have {listed(table.conditions)}"
            raise LabelError(msg)
        frame = frame.assign(condition=str(table.conditions[0]))
    if "total" not in frame.columns or set(table.items) <= set(frame.columns):
        rated = frame.rename(columns={PERSON: "model"})
        numeric = {name: rated[name].astype(np.float64) for name in table.items if name in rated}
        given = efficacy_table(rated.assign(**numeric), None, items=table.items, points=points)
        frame = given.base.rename(columns={"model": PERSON})
    totals = frame.assign(total=frame["total"].astype(np.float64))
    means = totals.groupby(["condition", PERSON], sort=False)["total"].mean()
    by = {str(name): one.to_numpy() for name, one in means.groupby("condition", sort=False)}
    return of_totals(table.base, by, level=level)


def finding_of_links(
    key: str,
    question: str,
    links: Mapping[Any, EfficacyLink],
    smallest: SmallestEffects,
    within: Estimate | None = None,
) -> Finding:
    """Return the finding on the correlations of one measure, with a row per condition."""
    every = links.values()
    numbers: dict[str, Any] = {str(condition): one for condition, one in links.items()}
    found = [(one.interval, len(one.labels)) for one in every]
    rows = [*map(_link, every)]
    if within is not None:
        numbers[WITHIN] = within
        found.append((within.interval[0], within.n[0]))
        rows.append(
            f"{WITHIN}, across conditions: rank correlation {within.text(0)}, "
            f"{within.n[0]:.0f} models."
        )
    outcomes = tuple(
        outcome(bounds, smallest=smallest.correlation, enough=n >= FEWEST) for bounds, n in found
    )
    return Finding(
        key=key,
        question=question,
        rows=tuple(rows),
        numbers=numbers,
        outcome=Verdicts(tuple(numbers), outcomes),
    )


def _link(one: EfficacyLink) -> str:
    if not np.isfinite(one.value):
        note = f"rank correlation undefined ({one.flag})"
    else:
        note = (
            f"rank correlation {with_interval(one.value, one.interval)}, {p_equals(one.p_value)}"
        )
    text = f"condition {one.condition}: {note}, {len(one.labels)} models"
    if one.ceiling:
        text += f"; ceiling effect: {percent(one.at_ceiling)} of models have the highest value"
    return f"{text}."
