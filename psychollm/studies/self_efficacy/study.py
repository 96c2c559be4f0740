"""Self-efficacy ratings of models: consistency, stability and validity.

Ratings can be internally consistent (alpha) and stable (intraclass correlation) without any
self-knowledge. The study therefore also reports whether ratings correlate with performance, fall
with difficulty, follow feedback, and change with the wording of a follow-up. Models are the
sampling units: thirty rows from ten models are not thirty respondents.

References
----------
Jackson, Jensen, Hussain, & Sezgin (2025). Simulated self-assessment in large language models: A
psychometric approach to AI self-efficacy. arXiv:2511.19872.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.numbers import percent
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import RandomState
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, estimate_rows, exhibit
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import (
    SMALLEST,
    SmallestEffects,
    Verdicts,
    verdicts,
)
from psychollm.instruments.self_efficacy.result import SelfEfficacyScores
from psychollm.reliability.components.intraclass import Intraclass, intraclass
from psychollm.reliability.contrasts.conditions import RankTest, friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import MixedModel, mixed_model
from psychollm.reliability.scales.alpha_intervals import AlphaInterval
from psychollm.reliability.scales.consistency import Consistency, consistency
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.self_efficacy.effects import (
    DifficultyEffect,
    FactorEffect,
    Revision,
    difficulty,
    factor_effect,
    feedback_shift,
    revision,
)
from psychollm.studies.self_efficacy.links import (
    EfficacyLink,
    finding_of_links,
    measure_links,
    performance_links,
    totals_of_people,
    within_models,
)
from psychollm.studies.self_efficacy.measures import as_measures
from psychollm.studies.self_efficacy.table import (
    BASELINE,
    EfficacyTable,
    by_model,
    efficacy_table,
    over_models,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResponseStyle(Result):
    """Response styles under each condition, as proportions.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"model": list("aabb"), "condition": "none",
    ...                      "i1": [1, 1, 4, 3], "i2": [1, 1, 4, 4]})
    >>> self_efficacy(rows, bootstrap=20, rng=0).style.flat.value
    array([0.75])
    """

    flat: Estimate  # administrations with one rating for all statements
    lowest: Estimate  # ratings at the lowest point
    highest: Estimate  # ratings at the highest point
    disowning: Estimate  # replies that reject the premise of the statements
    incomplete: Estimate  # administrations without a total: refused, unparsed, unanswered


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfEfficacyStudy(Study, Result):
    """Self-efficacy ratings of models, their consistency, stability and validity.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"model": list("aabbcc"), "condition": ["none", "social"] * 3,
    ...                      "i1": [1, 2, 2, 3, 3, 4], "i2": [1, 2, 3, 3, 4, 4]})
    >>> study = self_efficacy(rows, bootstrap=20, rng=0)
    >>> study.means.value.round(2), study.consistency.alpha.value.round(2)
    (array([4.67, 6.  ]), array([0.95, 1.  ]))
    """

    means: Estimate  # (conditions,) mean total over models
    consistency: Consistency  # alpha of rows and of models' means
    without_flat: Consistency | None  # alpha without flat administrations
    stability: Mapping[Hashable, Intraclass]  # by condition: agreement of repeats over models
    identical: Estimate  # (conditions + "all",) proportion of ratings identical in all repeats
    style: ResponseStyle
    mixed: MixedModel  # mean total of repeats ~ condition + (1 | model)
    kruskal: RankTest  # Kruskal-Wallis test of models' means
    friedman: RankTest  # Friedman test within models
    performance: Mapping[Hashable, EfficacyLink] | None  # link with performance, by condition
    revision: Revision | None
    effects: Mapping[str, FactorEffect]  # effects of personas, placements, modes, feedback
    feedback: Estimate | None  # (feedback,) shift towards accuracy
    difficulty: DifficultyEffect | None
    links: Mapping[str, Mapping[Hashable, EfficacyLink]]  # correlations by measure and condition
    totals: pd.DataFrame  # model, condition, mean, lower, upper, n, sd
    n_items: int
    low: int
    high: int
    models: Labels
    level: float
    people: BesidePeople | None = None
    # Within-model correlations of ratings with each measure, over conditions.
    within: Mapping[str, Estimate] | None = None

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        return {"conditions": self.to_frame(), "totals": self.totals}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the findings that the data allow.

        The smallest effect of interest is `smallest.correlation` for rank correlations, and
        `smallest.share` for shifts and changes per level (scale 0 to 1). Totals have no smallest
        effect of interest.
        """
        span = f"{self.n_items * self.low} to {self.n_items * self.high}"
        items = [
            _of(
                "totals",
                f"Mean totals of {len(self.models)} models (possible range {span}):",
                estimate_rows(self.means, 1, signed=False),
                {"means": self.means},
            ),
            _of(
                "consistency",
                "Are the items internally consistent?",
                (*self.consistency.summary().splitlines(), *_style_rows(self)),
                {"alpha": self.consistency.alpha},
            ),
            _of(
                "stability",
                "Are ratings stable over repeats?",
                _stability(self),
                {"identical": self.identical},
            ),
        ]
        if np.isfinite(self.mixed.f_statistic):
            tests = (one for one in (self.friedman, self.kruskal) if np.isfinite(one.statistic))
            rows = (self.mixed.summary(), *(one.summary() for one in tests))
            numbers = {"p": self.mixed.p_value}
            items.append(_of("conditions", "Do ratings differ between conditions?", rows, numbers))
        if self.performance:
            items.append(
                finding_of_links(
                    "performance",
                    "Do totals correlate with performance?",
                    self.performance,
                    smallest,
                )
            )
        if self.revision is not None:
            items.append(_revision(self.revision))
        items += [
            _of(
                str(effect.factor),
                f"Effect of {effect.factor} on totals (compared with {effect.baseline}):",
                estimate_rows(effect.contrasts),
                {"contrasts": effect.contrasts},
            )
            for effect in self.effects.values()
        ]
        if self.feedback is not None:
            question = "Are ratings more accurate after feedback?"
            rows = estimate_rows(self.feedback)
            judged = verdicts(self.feedback, smallest=smallest.share)
            items.append(_of("feedback", question, rows, {"shift": self.feedback}, judged))
        if self.difficulty is not None:
            slopes = self.difficulty.slopes
            question = "Change per level of difficulty (scale 0 to 1):"
            judged, rows = verdicts(slopes, smallest=smallest.share), estimate_rows(slopes, 3)
            items.append(_of("difficulty", question, rows, {"slopes": slopes}, judged))
        items += [
            finding_of_links(
                str(name),
                f"Do totals correlate with {name}?",
                links,
                smallest,
                (self.within or {}).get(name),
            )
            for name, links in self.links.items()
        ]
        return exhibit(Findings(items=tuple(items)), self, smallest)

    @property
    def conditions(self) -> tuple[Any, ...]:
        """Names of the conditions, in order of appearance."""
        return self.means.labels

    def to_frame(self) -> pd.DataFrame:
        """Return one row per condition."""
        import pandas as pd

        alpha, links = self.consistency, self.performance or {}
        rows = []
        for place, condition in enumerate(self.conditions):
            at = alpha.conditions.index(condition)
            row: dict[str, Any] = {"condition": condition}
            row |= _numbers("mean", self.means, place)
            row |= _numbers("alpha", alpha.alpha, at) | _numbers(
                "alpha_of_means", alpha.of_means, at
            )
            icc = self.stability[condition].icc
            row |= _numbers("icc", icc, icc.place("ICC2"))
            row |= _numbers("identical", self.identical, place)
            for name in ("flat", "lowest", "highest", "disowning", "incomplete"):
                row |= _numbers(name, getattr(self.style, name), place)
            link = links.get(condition)
            row["performance_rho"] = np.nan if link is None else link.value
            row["performance_ceiling"] = link is not None and link.ceiling
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw totals by condition: `psychollm.plots.plot_self_efficacy`."""
        return drawn_by("plot_self_efficacy")(self, ax=ax)


def _of(
    key: str,
    question: str,
    rows: Iterable[str],
    numbers: Mapping[str, Any],
    judged: Verdicts | None = None,
) -> Finding:
    return Finding(key=key, question=question, rows=tuple(rows), numbers=numbers, outcome=judged)


def _style_rows(study: SelfEfficacyStudy) -> list[str]:
    """Return rows on uniform, extreme, rejected and incomplete ratings."""
    words = {
        "flat": "of administrations give all items the same rating",
        "lowest": "of ratings are at the lowest point of the scale",
        "highest": "of ratings are at the highest point of the scale",
        "disowning": "of replies reject the premise of the items",
        "incomplete": "of administrations have no total and are excluded",
    }
    rows = []
    for name, said in words.items():
        estimate: Estimate = getattr(study.style, name)
        if np.nan_to_num(estimate.value).any():
            top = int(np.nanargmax(estimate.value))
            rows.append(
                f"Up to {percent(estimate.value[top])} {said} (condition {estimate.labels[top]})."
            )
    return rows


def _stability(study: SelfEfficacyStudy) -> list[str]:
    rows = []
    for i, condition in enumerate(study.conditions):
        icc = study.stability[condition].icc
        rows.append(
            f"condition {condition}: ICC(A,1) {icc.text(icc.place('ICC2'), 3)}; proportion of "
            f"identical ratings {study.identical.text(i)}."
        )
    return rows


def _revision(revised: Revision) -> Finding:
    rows = []
    for i, phrasing in enumerate(revised.change.labels):
        share = revised.missing.value[i]
        missing = f"; {percent(share)} of administrations are missing" if share > 0 else ""
        rows.append(
            f"wording {phrasing}: net change {revised.change.text(i, signed=True)}; totals rise "
            f"in {percent(revised.up.value[i])} and fall in {percent(revised.down.value[i])} of "
            f"administrations{missing}."
        )
    question = "Do ratings change when models are asked whether they are confident?"
    return _of("revision", question, rows, {"change": revised.change})


def self_efficacy(
    answers: pd.DataFrame | Mapping[Hashable, SelfEfficacyScores],
    *,
    performance: pd.DataFrame | None = None,
    people: Any = None,
    measures: Mapping[str, Mapping[Any, float]] | pd.DataFrame | pd.Series | None = None,
    items: Sequence[str] | None = None,
    points: tuple[int, int] = (1, 4),
    reference: Hashable = None,
    alpha_interval: AlphaInterval | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SelfEfficacyStudy:
    """Analyse models' ratings of their own efficacy.

    Parameters
    ----------
    answers : DataFrame or mapping
        One row per administration: model, condition, and ratings in columns i1, i2, ..., with
        reversed items recoded. Optional columns: repeat, level (of difficulty, from 1), persona,
        placement, mode, feedback (blank: none), phrasing (of a follow-up; blank for first
        ratings), disowning, and, for rows after feedback, correct and n_tasks. A mapping from
        models to results of `SelfEfficacy.score` is also accepted.
    performance : DataFrame, optional
        One row per task: model, condition, correct (0 to 1); optionally level and persona. Results
        of `SelfEfficacy.score` include the rows of tasks.
    people : DataFrame, path or HumanNorm, optional
        Ratings of people, as returned by `read_people`, with the column person and either items
        (columns i1, i2, and so on) or a total; a column condition is needed if models have several
        conditions. A published norm of the scale is also accepted.
    measures : mapping of mappings or Series, Series or DataFrame, optional
        Other measures, such as the perplexity of replies (`Readings.perplexity`), as a mapping
        from the name of the measure to its values. The values are a mapping whose keys are models,
        (model, condition) or (model, condition, level). A Series with models, and optionally
        conditions and levels, in its index is also accepted. A DataFrame must have the column
        model, optionally the columns condition and level, and one column for each measure.
    items : sequence of str, optional
        Columns with ratings.
    points : (int, int)
        Lowest and highest point of the scale; results of `SelfEfficacy.score` include both points.
    reference : hashable, optional
        Label of the reference condition; by default, the first condition.
    alpha_interval : {"feldt", "duhachek", "jackknife", "bootstrap"}, optional
        Interval of alpha. If models have several rows, the default is the jackknife over models;
        "bootstrap" gives BCa intervals from resamples of models.
    bootstrap : int or Bootstrap
        Number of resamples of models, of parametric resamples of the mixed model, and of
        permutations of rank correlations.
    level, rng
        Coverage of the intervals, and random generator or seed.

    Returns
    -------
    SelfEfficacyStudy
        Models are the unit of replication of every test and interval: repeats, levels and
        statements of a model are averaged before models are compared. Only `totals` has intervals
        over the repeats of one model. The results on consistency, stability, conditions, people,
        performance and measures are based on first ratings in the plain design. In the plain
        design, the persona is "plain", tasks come first, all statements are rated at once, and
        there is no feedback. If a condition has no rating with the plain label of a factor, the
        first label in sorted order is used instead.

    Raises
    ------
    LabelError
        If a column or label does not exist, or an administration occurs twice.
    CodeError
        If a rating is not a number on the scale, or a performance is outside [0, 1].
    ShapeError, OptionError
        If there are no ratings, or an option does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"model": list("aabbcc"), "condition": "none", "repeat": [1, 2] * 3,
    ...                      "i1": [1, 1, 2, 2, 3, 4], "i2": [1, 1, 3, 3, 4, 4]})
    >>> self_efficacy(rows, bootstrap=20, rng=0).identical.value.round(2)
    array([0.83, 0.83])
    """
    table = efficacy_table(answers, performance, items=items, points=points)
    numbers = as_measures(measures)
    resampling = Resampling.of(bootstrap, level, rng)
    base, options = table.base, resampling.arguments
    scored = base["total"], base["condition"], base["model"]
    varied = base[~_flat(base, table.items).eq(1.0)]

    def alphas(rows: pd.DataFrame) -> Consistency:
        return consistency(
            rows[list(table.items)],
            respondents=rows["model"],
            by=rows["condition"],
            interval=alpha_interval,
            **options,
        )

    effects = {factor: factor_effect(table, factor, resampling) for factor in BASELINE}
    return SelfEfficacyStudy(
        means=over_models(
            "mean total", "condition", by_model(base, "total", "condition"), resampling
        ),
        consistency=alphas(base),
        without_flat=alphas(varied) if len(varied) else None,
        stability={
            condition: intraclass(_repeats(rows), level=level)
            for condition, rows in base.groupby("condition", sort=False)
        },
        identical=_identical(base, table.items, resampling),
        style=_style(table, base, resampling),
        mixed=mixed_model(*scored, reference=reference, **options),
        kruskal=kruskal_wallis(scored[0], scored[1], models=scored[2], **options),
        friedman=friedman(*scored, **options),
        performance=performance_links(table, resampling),
        revision=revision(table, resampling),
        effects={name: found for name, found in effects.items() if found is not None},
        feedback=feedback_shift(table, resampling),
        difficulty=difficulty(table, resampling),
        links=measure_links(table, numbers, resampling),
        totals=_totals(base, level),
        n_items=len(table.items),
        low=table.low,
        high=table.high,
        models=table.models,
        level=level,
        people=None if people is None else totals_of_people(table, people, points, level),
        within=within_models(table, numbers, level) or None,
    )


def _numbers(name: str, estimate: Estimate, row: int) -> dict[str, float]:
    low, high = estimate.interval[row]
    return {name: estimate.value[row], f"{name}_lower": low, f"{name}_upper": high}


def _flat(rows: pd.DataFrame, items: Sequence[str]) -> pd.Series:
    """Return 1 for rows whose ratings are all equal; NaN with fewer than two ratings (rows,)."""
    ratings = rows[list(items)]
    flat = (ratings.max(axis=1) == ratings.min(axis=1)).astype(np.float64)
    return flat.where(ratings.notna().sum(axis=1) > 1)


def _repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """Return totals (models, repeats); levels of difficulty are averaged."""
    return rows.pivot_table(
        index="model", columns="repeat", values="total", aggfunc="mean", sort=False, dropna=False
    )


def _identical(rows: pd.DataFrame, items: Sequence[str], resampling: Resampling) -> Estimate:
    """Return the proportion of ratings that are identical in all repeats."""
    cell = ["model", "condition", "level"]
    grouped = rows.groupby(cell, sort=False)[list(items)]
    same = (grouped.max() == grouped.min()).astype(np.float64).where(grouped.count() > 1)
    long = same.mean(axis=1).rename("same").reset_index()
    shares = by_model(long, "same", "condition")
    every = long.groupby("model", sort=False)["same"].mean()
    return over_models(
        "identical ratings", "condition", shares.assign(**{ALL: every}), resampling, share=True
    )


def _style(table: EfficacyTable, base: pd.DataFrame, resampling: Resampling) -> ResponseStyle:
    ratings = base[list(table.items)]
    n = ratings.notna().sum(axis=1).replace(0, np.nan)
    columns = {
        "flat": _flat(base, table.items),
        "lowest": (ratings == table.low).sum(axis=1) / n,
        "highest": (ratings == table.high).sum(axis=1) / n,
        "disowning": base["disowning"].astype(np.float64),
        "incomplete": base["total"].isna().astype(np.float64),
    }
    rows = base.assign(**columns)
    return ResponseStyle(
        **{
            name: over_models(
                f"share {name}",
                "condition",
                by_model(rows, name, "condition"),
                resampling,
                share=True,
            )
            for name in columns
        }
    )


def _totals(rows: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return each model's mean total by condition, with Student's t intervals over repeats."""
    totals = rows.groupby(["model", "condition"], sort=False)["total"].agg(
        ["mean", "count", "std"]
    )
    totals = totals.rename(columns={"count": "n", "std": "sd"}).reset_index()
    df = (totals["n"] - 1).where(totals["n"] > 1)
    spread = totals["sd"] / np.sqrt(totals["n"])
    margin = stdtrit(df.to_numpy(dtype=np.float64), 0.5 + 0.5 * level) * spread
    # If repeats are identical, no variance can be estimated, and no interval is computed.
    margin = margin.where(margin > 0)
    return totals.assign(lower=totals["mean"] - margin, upper=totals["mean"] + margin)
