"""Figures and tables of each measure by arm and of its differences between arms.

Both figures of a measure list the models in the same order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm.estimates.contrasts import THESE
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.arms.study import key_of

if TYPE_CHECKING:
    from psychollm.studies.arms.study import ArmStudy


def exhibits(
    study: "ArmStudy", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    return {
        key_of(name): (
            _differences(study, name, place),
            _values(study, name, place),
            Listing(table=partial(_table, study, name), instead=True),
        )
        for place, name in enumerate(study.measures)
    }


def _values(study: "ArmStudy", measure: str, place: int) -> Exhibit | None:
    """Return the figure of a measure for every model in every arm."""
    estimate, models = study.estimates[measure], _ordered(study, measure)
    drawing = forest(
        {str(arm): _placed(estimate, study.of_arm(arm), models) for arm in study.arms},
        key=f"arms-{place}",
        title=f"{measure.capitalize()} of each model in each arm",
        caption=f"{measure.capitalize()}, by model and arm. {_sorted_by(study, measure)}",
        x=measure,
    )
    return _in_order(drawing, len(models))


def _differences(study: "ArmStudy", measure: str, place: int) -> Exhibit | None:
    """Return the figure of differences between arms: pooled over models, then by model."""
    shown = {}
    rows = (*_over(study), *_ordered(study, measure))
    for one in study.contrasts[measure]:
        whole = {str(label): row for row, label in enumerate(one.pooled.labels)}
        pooled = _placed(one.pooled, whole, rows)
        each = _placed(one.each, {label: row for row, label in enumerate(one.each.labels)}, rows)
        shown[f"{one.first} - {one.second}"] = _either(pooled, each)
    drawing = forest(
        shown,
        key=f"contrasts-{place}",
        title=f"Differences in {measure} between arms",
        caption=(
            f"Differences from {study.baseline}, for each model and for the mean of the models. "
            "The interval for these models reflects the sampling of questions only; the interval "
            f"for models like these also reflects that of models. {_sorted_by(study, measure)}"
        ),
        x=f"difference in {measure}",
        reference=0.0,
        strong=[row < len(_over(study)) for row in range(len(rows))],
    )
    return _in_order(drawing, len(rows))


def _ordered(study: "ArmStudy", measure: str) -> tuple[Any, ...]:
    """Return the models in descending order of a measure in the baseline arm, for all figures."""
    row = study.of_arm(study.baseline)
    value = study.estimates[measure].value
    known = {model: value[row[model]] if model in row else np.nan for model in study.models}
    order = np.argsort(-np.array(list(known.values()), dtype=np.float64), kind="stable")
    return tuple(study.models[at] for at in order)


def _sorted_by(study: "ArmStudy", measure: str) -> str:
    return f"Models are sorted by {measure} in the arm {study.baseline}."


def _in_order(drawing: Drawing | None, n_rows: int) -> Drawing | None:
    """Return a figure whose rows keep the order of its estimates."""
    if drawing is None:
        return None
    return replace(drawing, options={**drawing.options, "order": np.arange(n_rows)})


def _over(study: "ArmStudy") -> tuple[str, ...]:
    return tuple(map(str, next(iter(study.contrasts.values()))[0].pooled.labels))


def _placed(estimate: Estimate, rows: Mapping[Any, int], labels: Sequence[Any]) -> Estimate:
    """Return an estimate with one row per label; labels that are not in `rows` have NaN."""
    at = [rows.get(label) for label in labels]

    def column(values: np.ndarray) -> np.ndarray:
        empty = np.full(values.shape[1:], np.nan)
        return np.array([empty if row is None else values[row] for row in at])

    return replace(
        estimate,
        value=column(estimate.value),
        se=column(estimate.se),
        interval=column(estimate.interval).reshape(-1, 2),
        n=column(estimate.n),
        flags=tuple(Reason.NO_SCORES if row is None else estimate.flags[row] for row in at),
        labels=tuple(labels),
        axis="model",
        df=None,
        _pilot_df=None,
        _draws=None,
    )


def _either(first: Estimate, second: Estimate) -> Estimate:
    """Return the first estimate, with its undefined rows replaced by the second estimate."""
    here = np.isfinite(first.value)
    both = zip(first.flags, second.flags, here, strict=True)
    return replace(
        second,
        value=np.where(here, first.value, second.value),
        se=np.where(here, first.se, second.se),
        interval=np.where(here[:, None], first.interval, second.interval),
        n=np.where(here, first.n, second.n),
        flags=tuple(a if known else b for a, b, known in both),
    )


def _table(study: "ArmStudy", measure: str) -> Table:
    """Return the table of all differences with their intervals."""
    rows = [
        (one, estimate, row)
        for one in study.contrasts[measure]
        for estimate in (one.pooled, one.each)
        for row in range(len(estimate.labels))
    ]
    p = [
        one.p_adjusted if estimate.labels[row] == THESE else np.nan for one, estimate, row in rows
    ]
    return Table.of(
        [
            name_column("difference", [f"{one.first} - {one.second}" for one, _, _ in rows]),
            text_column("of", [str(estimate.labels[row]) for _, estimate, row in rows]),
            interval_column(
                measure,
                [estimate.value[row] for _, estimate, row in rows],
                [estimate.interval[row] for _, estimate, row in rows],
                digits=3,
            ),
            p_column("p, by Holm", p),
            number_column("n", [estimate.n[row] for _, estimate, row in rows], digits=0),
        ],
        caption=(
            f"Differences in {measure}; n is the number of questions, or of models in rows for "
            "models like these"
        ),
    )
