"""Forecasts, and how earlier ones did."""

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
