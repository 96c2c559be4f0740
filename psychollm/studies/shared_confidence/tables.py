"""The tables of `shared_confidence`: what it found, model by model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.shared_confidence.study import SharedConfidence


def spread_over(
    labels: Sequence[Hashable], some: Sequence[Hashable], values: FloatArray
) -> FloatArray:
    """Return the values of some models in the place of each model, NaN for the others."""
    place = {label: position for position, label in enumerate(labels)}
    found = np.full(len(labels), np.nan)
    found[[place[label] for label in some]] = values
    return found


def models_frame(study: SharedConfidence) -> pd.DataFrame:
    """Return one row per model: rates, threshold, loading, areas, tests, flags."""
    import pandas as pd

    table, own, private = study.confusion, study.individuation, study.private_signal
    columns: dict[str, object] = {"model": list(study.labels), "n": table.n}
    for estimate in (table.yes_rate, table.accuracy, table.overconfidence):
        _add(columns, estimate.name.replace(" ", "_"), estimate)
    for estimate in (table.precision, table.recall, table.specificity):
        columns[estimate.name] = estimate.value
    columns |= {"threshold": study.thresholds, "loading": study.loadings}
    for name in ("shared", "own", "own_minus_cut"):
        _add(columns, f"auroc_{name}", getattr(own, name))
    _add(columns, "odds_ratio", own.odds_ratio)
    columns["odds_ratio_p_adjusted"] = own.p_adjusted
    _add(columns, "private_correlation", private.correlation)
    columns["private_p_adjusted"] = private.p_adjusted
    _add(columns, "ensemble_gain", study.ensemble.gain)
    columns["flags"] = flags(study)
    return pd.DataFrame(columns)


def flags(study: SharedConfidence) -> list[str]:
    """Return what the screen says of each model of the study, as one text."""
    reasons = dict(zip(study.screen.models, study.screen.reasons, strict=True))
    return ["; ".join(reasons[label]) for label in study.labels]


def _add(columns: dict[str, object], name: str, estimate: Estimate) -> None:
    columns[name] = estimate.value
    columns[f"{name}_lower"], columns[f"{name}_upper"] = estimate.interval.T


def loadings_frame(study: SharedConfidence) -> pd.DataFrame:
    """Return one row per model: threshold and loading, with and without empty-cell rule."""
    # ``loading`` is that of the full-information solution, which needs no rule;
    # ``first_component`` and its ``quadratic_fit`` on the threshold belong to the plain
    # tetrachoric spectrum, which the rule for empty cells bends.
    import pandas as pd

    found = study.dimensionality
    full, plain = found.full_information, found.spectrum
    thresholds = plain.correlation.thresholds
    fit = np.vander(thresholds, 3, increasing=True) @ plain.quadratic
    columns: dict[str, object] = {
        "model": list(study.labels),
        "yes_rate": study.confusion.yes_rate.value,
    }
    parts = (
        ("threshold", full.labels, full.thresholds),
        ("threshold_se", full.labels, full.se_thresholds),
        ("loading", full.labels, full.loadings),
        ("loading_se", full.labels, full.se_loadings),
        ("first_component", plain.correlation.labels, plain.first_loadings),
        ("quadratic_fit", plain.correlation.labels, fit),
    )
    for name, labels, values in parts:
        columns[name] = spread_over(study.labels, labels, values)
    return pd.DataFrame(columns)
