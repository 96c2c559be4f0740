"""A few items stand for all."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.irt.short_form import short_form


@pytest.mark.parametrize("method", ["information", "error"])
def test_short_form_beats_random_items(method, simulated):
    slopes = np.tile([2.0, 0.2, 0.2], 40)
    answers = simulated(80, slopes, np.linspace(-2, 2, 120), 12)
    result = short_form(answers, 12, method=method)
    assert len(set(result.items)) == 12
    assert result.rmse < result.random_rmse
    assert result.rank_correlation > 0.8
    assert "12 items predict" in result.summary()
    assert result.to_frame().shape == (80, 3)
    np.testing.assert_array_equal(
        short_form(answers, 12, method=method).predicted, result.predicted
    )


def test_short_form_of_everything_is_everything(simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 13)
    result = short_form(answers, 10, method="error", n_folds=4)
    assert set(result.items) == set(range(10))
    assert result.rmse < 1e-10


def test_short_form_bad_input(simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 14).astype(float)
    with pytest.raises(OptionError, match="more than the 10"):
        short_form(answers, 11)
    with pytest.raises(ShapeError, match="two per fold"):
        short_form(answers[:6], 3)
    answers[0, 0] = np.nan
    with pytest.raises(ShapeError, match="complete answers"):
        short_form(answers, 3)
