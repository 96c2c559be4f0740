"""Tests and table of models in the printed summary."""

import numpy as np

from psychollm._base.numbers import number, p_equals, p_value, percent, with_interval
from psychollm._base.shown import on_screen
from psychollm._base.types import FloatArray
from psychollm.calibration.decisions.confusion import Confusion
from psychollm.data.labels import Labels
from psychollm.estimates.findings import further
from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.shared_confidence.private_signal import PrivateSignal

_ROWS = 10


def tests_behind(dimensions: Dimensionality, private: PrivateSignal) -> str:
    """Return the tests and the estimate behind the verdict."""
    mean = with_interval(private.mean, private.mean_interval, 2, signed=True)
    return (
        f"Tests of model fit: {p_equals(dimensions.shared_test.p_value)} without a common "
        f"factor, {p_equals(dimensions.one_factor_test.p_value)} with one. A second factor "
        f"explains {percent(dimensions.evidence.share, 1)} of the latent variance. The "
        "mean residual correlation of confidence and correctness beyond the common factor is "
        f"{mean} ({p_equals(private.mean_p)})."
    )


def rows_of_models(
    labels: Labels,
    confusion: Confusion,
    thresholds: FloatArray,
    loadings: FloatArray,
    private: PrivateSignal,
) -> str:
    """Return a table of the ten models with the largest correlations beyond the factor."""
    import pandas as pd

    correlation = private.correlation
    strength = np.nan_to_num(np.abs(correlation.value), nan=-1.0)
    order = np.argsort(-strength, kind="stable")[:_ROWS]
    frame = pd.DataFrame(
        {
            "model": [str(labels[row]) for row in order],
            "yes rate": [number(confusion.yes_rate.value[row]) for row in order],
            "accuracy": [number(confusion.accuracy.value[row]) for row in order],
            "threshold": [number(thresholds[row]) for row in order],
            "loading": [number(loadings[row]) for row in order],
            "residual correlation": [correlation.text(row, 2, signed=True) for row in order],
            "p, adjusted": [p_value(private.p_adjusted[row]) for row in order],
        }
    )
    more = len(labels) - len(order)
    rest = f"\n{further(more, 'models')}" if more > 0 else ""
    # The verdict follows the p-values, so more intervals exclude zero than it names models.
    tested = int(np.isfinite(private.p_value).sum())
    rule = f"\nIntervals are pointwise; p-values are adjusted for {tested} models." * (tested > 1)
    return on_screen(frame.to_string(index=False)) + rest + rule
