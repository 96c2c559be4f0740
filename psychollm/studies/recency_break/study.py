"""Test whether a model scores lower on questions published after a date.

A model may have an advantage on questions that were published before its training ended, because
it may have seen them. Lower scores on later questions alone are no evidence of such an advantage,
because later questions may be harder. The break is the difference in scores that remains after
adjustment for the difficulty estimated from the other models
(`psychollm.studies.recency_break.difference`). Models of one lineage share training data, so they
are tested jointly and count once.

References
----------
Jain, N., Han, K., Gu, A., et al. (2024). LiveCodeBench: Holistic and contamination free evaluation
of large language models for code. arXiv:2403.07974.

Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing. Wiley.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.errors import ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.dates import day_of, days_of, picked
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.means.repeated_scores import answers_of, means_of
from psychollm.studies.recency_break.difference import (
    FEWEST,
    POWERS,
    Breaks,
    Unit,
    difficulty_of,
    means_of_lineages,
    permuted,
    strata_of,
)
from psychollm.studies.recency_break.result import DateChange, RecencyBreak

_FEWEST_LINEAGES = 3
_MOST_CUTS = 40
_LEAST_SHARE = 0.1  # smallest proportion of questions on each side of a candidate date


def recency_break(
    scores: Any,
    *,
    published: Any,
    cutoff: Any = None,
    families: Any = None,
    level: float = 0.95,
    n_null: int = 999,
    rng: RandomState = None,
) -> RecencyBreak:
    """Test whether models score lower on recent questions than difficulty explains.

    Parameters
    ----------
    scores : DataFrame, Responses, ScoreLog or array_like (models, questions)
        Scores on any scale; NaN if missing. Repeats are averaged.
    published : Series, mapping or array_like (questions,)
        Publication date of each question. Questions without a date are omitted.
    cutoff : date, Series, mapping or array_like (models,), optional
        Date after which a model cannot have seen a question, as one date for all models or one per
        model. The latest date within a lineage is used. Models without a date are not tested. By
        default, all dates are searched for the largest drop, and the null distribution repeats
        this search.
    families : array_like (models,), optional
        Lineage of each model, such as its base model. By default each model is its own lineage.
    level : float
        Coverage of the intervals; lineages with adjusted p-values up to 1 - level are flagged.
    n_null : int
        Number of permutations of the dates among questions of similar difficulty.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    RecencyBreak
        Changes in performance at the date that difficulty does not explain, with p-values adjusted
        for the number of lineages. Changes are NaN with a reason if either side of the date has
        too few questions.

    Raises
    ------
    CodeError
        If a score is not a finite number.
    LabelError, ShapeError
        If dates or families do not match, a date is invalid, or there are fewer than three
        lineages.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> days = pd.date_range("2024-01-01", periods=200)
    >>> odds = np.linspace(-1, 1, 6)[:, None] + 1.5 * rng.normal(size=200)
    >>> odds[0, :120] += 2  # the first model has seen what was published by the end of April
    >>> scores = rng.random((6, 200)) < 1 / (1 + np.exp(-odds))
    >>> found = recency_break(scores, published=days, cutoff="2024-04-29", rng=1)
    >>> found.to_frame()[["model", "change", "adjusted", "alarm"]].round(3).head(2)
       model  change  adjusted  alarm
    0      0  -0.413     0.001   True
    1      1   0.128     1.000  False
    """
    check_fraction("level", level)
    check_count("n_null", n_null, low=19)
    source = check_generator(rng)
    answers = answers_of(scores, "scores")
    values, models = means_of(answers, "scores"), answers.models
    lineage, names = _lineages(families, models)
    days = days_of(published, answers.questions, argument="published", kind="question")
    known = np.isfinite(days) & np.isfinite(values).any(axis=0)
    if known.sum() < 2 * FEWEST:
        msg = (
            f"published: {int(known.sum())} questions have a date and a score, but at least "
            f"{2 * FEWEST} are required, {FEWEST} on each side of a date"
        )
        raise ShapeError(msg)
    values, days = values[:, known], days[known]
    own = _cutoffs(cutoff, models)
    latest = np.full(len(names), np.nan)
    if own is not None:
        with np.errstate(invalid="ignore"):
            np.fmax.at(latest, lineage, own)
    several = len(names) < len(models)
    units, overall = _units(values, lineage, with_models=several)
    of = np.concatenate([np.arange(len(names)), lineage]) if several else np.arange(len(names))
    wanted = np.concatenate([latest, latest[lineage] if own is None else own])[: of.size]
    cuts = _searched(days) if own is None else np.unique(wanted[np.isfinite(wanted)])
    if not cuts.size:
        cuts = np.array([days.max()])
    breaks = Breaks(units, days, cuts)
    z = breaks.z()
    chosen = None
    if own is not None:
        chosen = np.where(np.isfinite(wanted), np.searchsorted(cuts, wanted), -1)
    place = _places(z, chosen, of, len(names))
    observed = z[np.arange(of.size), place]
    draws = permuted(breaks, strata_of(overall), chosen, n_null, source)
    p_value = monte_carlo_p_value(observed, draws, alternative="less")
    count = len(names)
    # The minimum over lineages adjusts each p-value for the number of lineages.
    most = np.where(np.isnan(draws[:, :count]), np.inf, draws[:, :count]).min(axis=1)
    adjusted = monte_carlo_p_value(
        observed[:count], np.repeat(most[:, None], count, axis=1), alternative="less"
    )
    untested = np.zeros(of.size, dtype=np.bool_) if own is None else ~np.isfinite(wanted)

    def change(rows: IntArray, labels: Labels) -> DateChange:
        return _change(
            breaks, rows, labels, place, observed, p_value, untested, level, searched=own is None
        )

    rows = count + np.arange(len(models)) if several else lineage
    return RecencyBreak(
        by_lineage=change(np.arange(count), names),
        by_model=change(rows, models),
        adjusted=adjusted,
        lineage=lineage,
        lineages=names,
        labels=models,
        searched=own is None,
        draws=most,
        reliability=float(np.median([unit.reliability for unit in units[:count]])),
        n_questions=int(known.sum()),
        first_day=float(days.min()),
        last_day=float(days.max()),
        span=float(np.nanmax(values) - np.nanmin(values)),
        level=level,
    )


def _lineages(families: Any, models: Labels) -> tuple[IntArray, Labels]:
    labels = list(models) if families is None else unit_labels(
        picked(families, models), models, argument="families", kind="model"
    )  # fmt: skip
    lineage, names = numbered(labels)
    if len(names) < _FEWEST_LINEAGES:
        msg = (
            f"{'families' if families is not None else 'scores'}: {len(names)} lineages of "
            "models, but estimating difficulty from the others takes at least "
            f"{_FEWEST_LINEAGES}"
        )
        raise ShapeError(msg)
    return lineage, names


def _cutoffs(cutoff: Any, models: Labels) -> FloatArray | None:
    """Return each model's cutoff date, NaN if unknown; None if the study searches for it."""
    if cutoff is None:
        return None
    many = isinstance(cutoff, Mapping) or (np.ndim(cutoff) > 0 and not isinstance(cutoff, str))
    if not many:
        return np.full(len(models), day_of(cutoff, "cutoff"))
    return days_of(cutoff, models, argument="cutoff", kind="model", some=True)


def _units(
    values: FloatArray, lineage: IntArray, *, with_models: bool
) -> tuple[list[Unit], FloatArray]:
    """Return lineages (and models) as units, and the difficulty estimated from all lineages."""
    means = means_of_lineages(values, lineage)
    others = [difficulty_of(means[np.arange(len(means)) != one]) for one in range(len(means))]
    units = [Unit(scores, *other) for scores, other in zip(means, others, strict=True)]
    if with_models:
        units += [Unit(row, *others[of]) for row, of in zip(values, lineage, strict=True)]
    return units, difficulty_of(means)[0]


def _searched(days: FloatArray) -> FloatArray:
    """Return dates with enough questions before and after the date."""
    ordered = np.sort(days)
    least = max(FEWEST, int(np.ceil(_LEAST_SHARE * days.size)))
    held = np.unique(ordered[least - 1 : days.size - least])
    if held.size > _MOST_CUTS:
        held = held[np.unique(np.linspace(0, held.size - 1, _MOST_CUTS).round().astype(int))]
    return held


def _places(z: FloatArray, chosen: IntArray | None, of: IntArray, count: int) -> IntArray:
    """Return the index of each unit's cut date; units of a lineage share a searched date."""
    if chosen is not None:
        return np.maximum(chosen, 0)
    best = np.where(np.isnan(z[:count]), np.inf, z[:count]).argmin(axis=1)
    return np.asarray(best[of])


def _change(
    breaks: Breaks,
    rows: IntArray,
    labels: Labels,
    place: IntArray,
    z: FloatArray,
    p_value: FloatArray,
    untested: BoolArray,
    level: float,
    *,
    searched: bool,
) -> DateChange:
    """Return the changes of the units in `rows`; untested units have NaN and a reason."""
    value, interval, raw, sides = zip(
        *(breaks.fitted(row, int(place[row]), level) for row in rows), strict=True
    )
    there, none = np.array(sides), untested[rows]
    few = there.min(axis=1) < FEWEST
    bare = none | few | np.isnan(z[rows]) | np.isnan(value)
    with_level = np.where(bare[:, None], np.nan, np.array(interval))
    half = stdtrit(np.maximum(there.sum(axis=1) - POWERS - 1.0, 1.0), 0.5 + level / 2.0)
    return DateChange(
        change=Estimate(
            name="change",
            value=np.where(bare, np.nan, value),
            se=(with_level[:, 1] - with_level[:, 0]) / (2.0 * half),
            interval=with_level,
            n=np.where(none, 0.0, there.sum(axis=1)),
            flags=first_reason(
                (none, Reason.NO_DATE),
                (few, Reason.ONE_SIDE),
                (bare, Reason.CONSTANT),
                (np.full(bare.shape, searched), Reason.DATE_SEARCHED),
            ),
            method="t, variance by question",
            level=level,
            labels=labels,
        ),
        raw=np.where(none, np.nan, np.array(raw)),
        z=np.where(bare, np.nan, z[rows]),
        p_value=np.where(bare, np.nan, p_value[rows]),
        cutoff=np.where(none, np.nan, breaks.cuts[place[rows]]),
        before=np.where(none, 0.0, there[:, 0]),
        after=np.where(none, 0.0, there[:, 1]),
    )
