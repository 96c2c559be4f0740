"""Differential functioning by logistic regression."""

import numpy as np
import pytest

from psychollm._base.errors import (
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.estimates.reasons import Reason
from psychollm.irt.groups.logistic import differential_functioning
from tests.irt.test_groups import simulated


def two_groups(simulated, seed, impact=0.0, n=800):
    ability = np.concatenate([np.zeros(n), np.full(n, impact)])
    rng = np.random.default_rng(seed)
    z = 1.4 * (rng.normal(size=(2 * n, 1)) + ability[:, None] - np.linspace(-1, 1, 10))
    return z, np.repeat(["old", "new"], n), rng


def test_uniform_and_nonuniform_functioning_are_told_apart(simulated):
    z, groups, rng = two_groups(simulated, 5, impact=0.5)
    z[800:, 3] += 1.2
    z[800:, 6] *= 0.2
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    result = differential_functioning(answers, groups)
    assert np.flatnonzero(result.flagged == 1).tolist() == [3, 6]
    assert result.uniform[3] < 1e-4 < result.nonuniform[3]
    assert result.nonuniform[6] < 1e-4
    assert result.log_odds[3] > 0.7
    assert result.groups == ("old", "new")
    assert result.rounds >= 2
    assert "10 of 10 items tested, 2 function differently" in result.summary()
    assert result.to_frame()["size"][0] == "negligible"


def test_functioning_holds_its_level(simulated):
    alarms = 0
    for seed in range(40):
        z, groups, rng = two_groups(simulated, 100 + seed, n=250)
        answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
        alarms += np.any(differential_functioning(answers, groups).flagged == 1)
    assert alarms <= 7  # of 2 expected: false alarm of this test below 0.4 %


def test_swapping_groups_turns_the_shift(simulated):
    z, groups, rng = two_groups(simulated, 6)
    z[800:, 3] += 1.0
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    one = differential_functioning(answers, groups)
    two = differential_functioning(answers[::-1], groups[::-1])
    np.testing.assert_allclose(two.log_odds, -one.log_odds, atol=1e-6)
    np.testing.assert_allclose(two.statistic, one.statistic, atol=1e-6)


def test_functioning_agrees_with_statsmodels(simulated):
    sm = pytest.importorskip("statsmodels.api")
    z, groups, rng = two_groups(simulated, 7)
    answers = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    result = differential_functioning(answers, groups, purify=False)
    score, group = answers.mean(axis=1), (groups == "new").astype(float)
    score = (score - score.mean()) / score.std()
    columns = np.column_stack([np.ones(score.size), score, group, score * group])
    for j in (0, 4):
        fits = [sm.Logit(answers[:, j], columns[:, :k]).fit(disp=0) for k in (2, 3, 4)]
        np.testing.assert_allclose(result.statistic[j], 2 * (fits[2].llf - fits[0].llf), atol=1e-7)
        np.testing.assert_allclose(result.log_odds[j], fits[1].params[2], atol=1e-5)


def test_functioning_of_untestable_items(simulated):
    answers = simulated(100, np.ones(5), np.zeros(5), 8)
    answers[:, 0] = 1
    answers[:50, 1] = 1
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert result.reasons[:2] == (Reason.CONSTANT_ITEM, Reason.TOO_FEW)
    assert np.isnan([result.p_value[:2], result.flagged[:2]]).all()
    assert result.summary().startswith("3 of 5 items tested, 0 function differently")
    assert result.size[0] == ""
    with pytest.raises(LabelError, match="two different labels, got 3"):
        differential_functioning(answers, np.arange(100) % 3)
    with pytest.raises(ShapeError, match="99 labels"):
        differential_functioning(answers, np.zeros(99))
    with pytest.raises(ShapeError, match="at least 3"):
        differential_functioning(answers[:, :2], np.repeat([0, 1], 50))


def test_adjustments_of_regressions():
    data, group = simulated(200, 11, dif=0.5)
    holm, bh = (differential_functioning(data, group, adjustment=name) for name in ("holm", "bh"))
    assert bh.flagged.sum() >= holm.flagged.sum()
    with pytest.raises(OptionError, match="adjustment='none'"):
        differential_functioning(data, group, adjustment="none")
