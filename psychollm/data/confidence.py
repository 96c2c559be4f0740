"""Reported confidence split into yes and no by an explicit rule.

Yes means that the reported confidence exceeds the model's threshold: ``value > threshold`` (or
``value >= threshold``). The scale of confidence is arbitrary (0-1, 0-10, 0-100). The rule and the
thresholds are recorded with the result.

The threshold can be given in several ways:

* A number is the threshold of all models.
* A mapping or an array contains one threshold per model.
* ``"model_median"`` and ``"model_mean"`` are the median and the mean of each model's own reports.
* ``"model_balanced"`` is the midpoint between two neighbouring reported values of a model that
  gives the yes rate nearest to one half (the higher of two equally near midpoints).

Models report few distinct values, so half of a model's answers may *equal* its median. All answers
at the median become no with ``>``, and yes with ``>=``, so the yes rate may differ greatly from
one half. No report equals the threshold ``"model_balanced"``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from psychollm._base.checks import float_array, n_dimensions
from psychollm._base.entry import warn
from psychollm._base.errors import LabelError, OptionError, ShapeError, ValidityWarning
from psychollm._base.types import AnyArray, BoolArray, CodeArray, FloatArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels

ThresholdRule: TypeAlias = Literal["model_median", "model_mean", "model_balanced"]
Threshold: TypeAlias = float | ThresholdRule | Mapping[Any, float] | AnyArray


def cut_points(values: FloatArray, models: Labels, threshold: Threshold) -> FloatArray:
    """Return the threshold of each model (models,); NaN if required reports are missing."""
    if isinstance(threshold, str):
        return _own_cuts(values, threshold)
    if isinstance(threshold, Mapping):
        cuts = _mapped_cuts(models, threshold)
    else:
        cuts = float_array(threshold, "threshold")
        if cuts.shape not in {(), (len(models),)}:
            msg = f"threshold has shape {cuts.shape}: pass one number, or one for each of the "
            raise ShapeError(msg + f"{len(models)} models")
    if not np.isfinite(cuts).all():
        msg = f"{parameter('threshold', threshold)} must be finite"
        raise OptionError(msg)
    return np.array(np.broadcast_to(cuts, len(models)))


def _mapped_cuts(models: Labels, threshold: Mapping[Any, float]) -> FloatArray:
    absent = [model for model in models if model not in threshold]
    known = set(models)
    unknown = [model for model in threshold if model not in known]
    if absent or unknown:
        fault = f"lacks model {absent[0]!r}" if absent else f"names {unknown[0]!r}"
        msg = f"threshold {fault}: its keys must be the models of the table"
        raise LabelError(msg)
    return float_array([threshold[model] for model in models], "threshold")


def _own_cuts(values: FloatArray, rule: str) -> FloatArray:
    rules: dict[str, Callable[[FloatArray], Any]] = {
        "model_median": np.median,
        "model_mean": np.mean,
        "model_balanced": _balanced,
    }
    if rule not in rules:
        listed = ", ".join(repr(name) for name in get_args(ThresholdRule))
        given = parameter("threshold", rule)
        msg = f"{given} is not a rule: use a number, a mapping, an array or {listed}"
        raise OptionError(msg)
    rows = [row[~np.isnan(row)] for row in values]
    return np.array([rules[rule](row) if row.size else np.nan for row in rows])


def _balanced(stated: FloatArray) -> float:
    """Return the midpoint of neighbouring values that gives a yes rate nearest to one half."""
    distinct, counts = np.unique(stated, return_counts=True)
    if distinct.size == 1:
        return float(distinct[0])
    yes_rate = 1.0 - np.cumsum(counts)[:-1] / stated.size
    distance = np.round(np.abs(yes_rate - 0.5), 12)
    best = distance.size - 1 - int(np.argmin(distance[::-1]))
    return float((distinct[best] + distinct[best + 1]) / 2)


def split(
    values: FloatArray, models: Labels, *, cuts: FloatArray, strict: bool = True
) -> tuple[CodeArray, BoolArray]:
    """Return codes (1 if a report exceeds its model's threshold, else 0) and the missing mask."""
    missing = np.isnan(values)
    column = cuts[:, None]
    yes = values > column if strict else values >= column
    _warn_outside(values, models, cuts)
    return yes.astype(np.int16), missing


def _warn_outside(values: FloatArray, models: Labels, cuts: FloatArray) -> None:
    low = np.min(values, axis=1, where=~np.isnan(values), initial=np.inf)
    high = np.max(values, axis=1, where=~np.isnan(values), initial=-np.inf)
    outside = np.flatnonzero(((cuts < low) | (cuts > high)) & (low <= high))
    if not outside.size:
        return
    shown = ", ".join(
        f"{models[i]!r} states {low[i]:g} to {high[i]:g}, threshold {cuts[i]:g}"
        for i in outside[:3]
    )
    more = f" and {outside.size - 3} more" if outside.size > 3 else ""
    msg = (
        f"the threshold is outside the range of {outside.size} model(s), so that all their "
        f"answers are the same: {shown}{more}; is {parameter('threshold')} on the scale of the "
        "values?"
    )
    warn(msg, ValidityWarning)


def describe_rule(threshold: Threshold, *, strict: bool) -> str:
    """Return the rule in words, as recorded in `Responses.coding`."""
    sign = ">" if strict else ">="
    if isinstance(threshold, str):
        return f"stated confidence {sign} {threshold.replace('_', ' ')}"
    if isinstance(threshold, Mapping) or n_dimensions(threshold, "threshold"):
        return f"stated confidence {sign} a cut per model"
    return f"stated confidence {sign} {float(threshold):g}"
