"""What goes together with ratings over models: performance, perplexity, a style; and people."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.numbers import p_equals, percent, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
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

_HALF = 0.5
_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EfficacyLink(Result):
    """How ratings and another number go together over models, under one condition.

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
    p_value: float  # two-sided, by permutations
    totals: FloatArray  # (models,)
    other: FloatArray  # (models,)
    labels: Labels  # (models,) with both
    at_ceiling: float  # share of models at the highest possible value; NaN if there is none
    ceiling: bool  # so many that little can be found
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
    """Correlate totals with another number by rank, over the models that have both."""
    # `best` is the highest possible value of the other number. There is a ceiling where half
    # of the models have it, or the mean is within 5 % of it.
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
    """Correlate totals with the share of tasks passed, by condition; None without tasks."""
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
    table: EfficacyTable,
    measures: Mapping[str, Mapping[Any, float]],
    resampling: Resampling,
) -> dict[str, dict[Hashable, EfficacyLink]]:
    """Correlate totals with given numbers, by model or by (model, condition), by condition."""
    import pandas as pd

    totals = by_model(table.base, "total", "condition")
    links: dict[str, dict[Hashable, EfficacyLink]] = {}
    for name, values in measures.items():
        known = {one[0] if isinstance(one, tuple) else one for one in values}
        if not known & set(totals.index):
            msg = f"measures[{name!r}] names none of the models {listed(totals.index.tolist())}"
            raise LabelError(msg)
        links[name] = {}
        for condition in totals.columns:
            other = pd.Series(
                {
                    model: values.get((model, condition), values.get(model, np.nan))
                    for model in totals.index
                },
                dtype=np.float64,
            )
            links[name][condition] = link(name, condition, totals[condition], other, resampling)
    return links


def totals_of_people(
    table: EfficacyTable, people: Any, points: tuple[int, int], level: float
) -> BesidePeople:
    """Compare the totals of models with those of people, by condition."""
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
    key: str, question: str, links: Mapping[Any, EfficacyLink], smallest: SmallestEffects
) -> Finding:
    """Return what the links of one measure show, with a row per condition."""
    every = links.values()
    numbers = {str(condition): one for condition, one in links.items()}
    outcomes = tuple(
        outcome(one.interval, smallest=smallest.correlation, enough=len(one.labels) >= FEWEST)
        for one in every
    )
    return Finding(
        key=key,
        question=question,
        rows=tuple(map(_link, every)),
        numbers=numbers,
        outcome=Verdicts(tuple(numbers), outcomes),
    )


def _link(one: EfficacyLink) -> str:
    if not np.isfinite(one.value):
        note = f"unknown ({one.flag})"
    else:
        note = (
            f"rank correlation {with_interval(one.value, one.interval)}, {p_equals(one.p_value)}"
        )
    text = f"{one.condition}: {note}, {len(one.labels)} models"
    if one.ceiling:
        text += f"; ceiling: {percent(one.at_ceiling)} of models have the highest value"
    return f"{text}."
