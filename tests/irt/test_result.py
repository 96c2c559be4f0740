"""What results say, and when they are trusted."""

import numpy as np
import pytest

from psychollm.irt.bayes.bayesian import _judged
from psychollm.irt.bayes.result import Sampled
from psychollm.irt.fit import fit_irt


def test_result_is_plain(simulated):
    fit = fit_irt(simulated(50, np.ones(4), np.zeros(4), 19))
    assert not fit.slope.flags.writeable
    assert fit.to_dict()["model"] == "2pl"
    assert "IRTFit" in repr(fit)


@pytest.mark.parametrize(
    ("draws", "divergences", "size", "ratio", "complaint"),
    [
        (500, 5, 100.0, 1.01, ""),  # 0.5 % of 1,000; as many as must be, as high as may be
        (500, 6, 100.0, 1.0, "6 divergences: raise target_accept, draws and tune"),
        (500, 5, 99.0, 1.0, "effective size 99: raise draws and tune"),
        (5000, 0, 100.0, 1.0, ""),  # 100, not a tenth of many
        (5000, 0, 99.0, 1.0, "effective size 99: raise draws and tune"),
        (200, 0, 40.0, np.nan, ""),  # a tenth of few
        (200, 0, 39.0, np.nan, "effective size 39: raise draws and tune"),
        (500, 0, np.nan, 1.0, "effective size nan: raise draws and tune"),
        (500, 0, 100.0, 1.02, "R-hat 1.020: raise draws and tune"),
    ],
)
def test_when_chains_are_trusted(draws, divergences, size, ratio, complaint):
    x = np.zeros((2, draws, 1))
    sampled = Sampled(x, x, x, np.nan, np.nan, divergences, 7)
    result = _judged(sampled, np.array([np.inf, size]), np.array([1.0, ratio]))
    assert (result.converged, result.iterations) == (not complaint, 7)
    assert result.reason == (complaint or "draws can be trusted")


@pytest.mark.parametrize(
    ("k", "complaint"),
    [(0.7, ""), (0.71, "Pareto k 0.71: use method='nuts'"), (np.nan, "Pareto k nan: use")],
)
def test_when_importance_weights_are_trusted(k, complaint):
    x = np.zeros((1, 1000, 1))
    result = _judged(Sampled(x, x, x, 500.0, k, 0, 1), np.array([500.0]), np.array([np.nan]))
    assert result.converged == (not complaint)
    assert result.reason.startswith(complaint or "draws can be trusted")
