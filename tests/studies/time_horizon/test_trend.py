"""How fast horizons grow."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, ShapeError
from psychollm.estimates.reasons import Reason
from tests.studies.time_horizon.horizons import drawn


@pytest.fixture(scope="module")
def agents():
    """Eight agents, 120 tasks, and their horizons."""
    solved, minutes, horizon = drawn(np.random.default_rng(4))
    return solved, minutes, horizon, psy.time_horizon(solved, minutes, rng=1)


def test_the_trend_finds_how_fast_horizons_double(agents):
    found = agents[3]
    dates = {f"m{m}": f"{2018 + m}-01-01" for m in range(8)}  # one doubling a year
    trend = found.trend(dates)
    assert (trend.interval[:, 0] <= 365.25).all()
    assert (trend.interval[:, 1] >= 365.25).all()
    row = trend.row(0.5, "typical task")
    assert trend.doubling_days[row] == pytest.approx(365, rel=0.25)
    dates["m0"] = None
    del dates["m7"]
    assert (found.trend(dates).n_models == 6).all()
    back = found.trend([f"{2018 - m}-01-01" for m in range(8)])
    assert np.isnan(back.doubling_days).all()
    assert (back.interval[:, 1] == np.inf).all()
    assert set(back.flags) == {Reason.NOT_GROWING}
    with_dates = psy.time_horizon(*agents[:2], dates=trend.labels and {
        f"m{m}": f"{2018 + m}-01-01" for m in range(8)
    })  # fmt: skip
    assert "How many days do horizons take to double?" in with_dates.summary()
    assert with_dates.tables()["trend"].shape[0] == 4


def test_dates_that_cannot_be_used_are_refused(agents):
    found = agents[3]
    with pytest.raises(LabelError, match="dates: model 'm1' has 7.0, which is not a date"):
        found.trend(["2020-01-01", 7.0, *["2021-01-01"] * 6])
    for date in ("01/06/2023", "16/06/2023", "1.6.23", "06-16-2023"):
        with pytest.raises(LabelError, match=f"'m1' has '{date}': is the day or the month first?"):
            found.trend(["2020-01-01", date, *["2021-01-01"] * 6])
    with pytest.raises(ShapeError, match="dates: 1 models have a date"):
        found.trend({"m0": "2020-01-01"})
