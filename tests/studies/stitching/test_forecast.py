"""Forecasts, and how earlier ones did."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError, LabelError
from psychollm.studies.stitching.result import StitchedBenchmarks


def test_a_forecast_and_how_earlier_ones_did(found: StitchedBenchmarks) -> None:
    ahead = found.forecast("2027-06-01", benchmark="b2")
    one, best = ahead.value[:, 0]
    assert best >= one - 0.01
    assert {"origin", "score", "value", "lower", "upper"} <= set(ahead.backtest.columns)
    summary = ahead.backtest_summary()
    assert (summary["covered"].between(0, 1)).all()
    assert set(ahead.backtest["benchmark"]) == {"b2"}
    assert (ahead.backtest["date"] > ahead.backtest["origin"]).all()
    with pytest.raises(LabelError, match="benchmark 'x' is unknown"):
        found.forecast("2027-06-01", benchmark="x")
    with pytest.raises(InputError, match="is not a date"):
        found.forecast("soon")


def test_predictions_do_not_depend_on_the_signs_of_eigenvectors(
    found: StitchedBenchmarks, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = found.predict("m3")
    eigh = np.linalg.eigh

    def flipped(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigh(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    pd.testing.assert_frame_equal(found.predict("m3"), before)
