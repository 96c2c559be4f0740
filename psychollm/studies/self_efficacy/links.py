"""What goes together with ratings over models: performance, perplexity, a style; and the norm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.errors import LabelError, OptionError
from psychollm._base.numbers import p_equals, percent, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate, proportion
from psychollm.estimates.findings import Finding
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.estimates.verdict import FEWEST, SmallestEffects, Verdicts, outcome
from psychollm.studies.inference_boundary.monitoring_link import rank_link
from psychollm.studies.self_efficacy.table import EfficacyTable, by_model, over_models

if TYPE_CHECKING:
    import pandas as pd

_HALF = 0.5
_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanNorm:
    """What people score on the same scale, as published for it.

    Norms belong to the words of a scale: those of the General Self-Efficacy Scale do not hold
    for other statements, such as the ones that come with this library.

    Raises
    ------
    OptionError
        If the standard deviation is not positive, or n is below 2.

    Examples
    --------
    >>> HumanNorm(mean=29.5, sd=5.3, n=1000).mean
    29.5
    """

    mean: float  # of totals
    sd: float
    n: int | None = None  # persons; None takes the norm as exact
    source: str = ""

    def __post_init__(self) -> None:
        few = self.n is not None and self.n < 2
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0) or few:
            msg = f"{self!r} needs a finite mean, a positive sd, and n of at least 2 or None"
            raise OptionError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NormComparison(Result):
    """Totals of models beside those of people.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.self_efficacy.table import efficacy_table
    >>> rows = pd.DataFrame({"model": list("abc"), "condition": "none", "i1": [1, 2, 3]})
    >>> table, norm = efficacy_table(rows, None), HumanNorm(mean=3, sd=0.5)
    >>> norm_comparison(table, norm, Resampling(n=20, rng=0)).standardised.value
    array([-2.])
    """

    norm: HumanNorm
    difference: Estimate  # (conditions,) mean total of models minus the norm
    standardised: Estimate  # (conditions,) that, in standard deviations between people
    below: Estimate  # (conditions,) share of models below the mean of people


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


def norm_comparison(
    table: EfficacyTable, norm: HumanNorm, resampling: Resampling
) -> NormComparison:
    """Compare the totals of models with those of people, under each condition."""
    # Intervals are Welch's where the number of persons is known, and Student's t over models
    # where the norm is taken as exact; those of the share are Wilson's.
    totals = by_model(table.base, "total", "condition")
    apart = over_models("difference from norm", "condition", totals - norm.mean, resampling)
    if norm.n is not None:
        apart = _welch(apart, norm.sd**2 / norm.n, norm.n - 1)
    draws = None if apart._draws is None else apart._draws / norm.sd
    known = totals.notna().sum().to_numpy(dtype=np.float64)
    return NormComparison(
        norm=norm,
        difference=apart,
        standardised=replace(
            apart,
            name="standardised difference from norm",
            value=apart.value / norm.sd,
            se=apart.se / norm.sd,
            interval=apart.interval / norm.sd,
            _draws=draws,
        ),
        below=replace(
            proportion(
                "share below norm",
                (totals < norm.mean).sum().to_numpy(dtype=np.float64),
                known,
                (known == 0, Reason.TOO_FEW),
                level=resampling.level,
                labels=apart.labels,
            ),
            axis="condition",
        ),
    )


def _welch(models: Estimate, variance: float, df: float) -> Estimate:
    """Return a mean with the uncertainty of the norm added to that of the models."""
    # A group of models without spread adds nothing; its interval is that of the norm.
    own = models.se**2
    se = np.sqrt(own + variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (own + variance) ** 2 / (own**2 / (models.n - 1.0) + variance**2 / df)
    margin = stdtrit(freedom, 0.5 + 0.5 * models.level) * se
    interval = np.stack([models.value - margin, models.value + margin], axis=1)
    return replace(models, se=se, interval=interval, method="Welch's t")


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
