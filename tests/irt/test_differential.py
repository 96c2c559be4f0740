"""Items that work differently in groups, by likelihood ratio and Wald tests."""

import numpy as np
import pytest

from psychollm._base.errors import (
    CodeError,
    ConvergenceWarning,
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.irt.groups.differential import differential_items
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.groups.logistic import differential_functioning
from psychollm.irt.priors import Priors
from tests.irt.test_groups import ITEMS, simulated


def test_the_likelihood_ratio_is_that_of_two_fits():
    data, group = simulated(300, 5, dif=0.3)
    tests = differential_items(data, group, anchors="all_others")
    equal = fit_irt_groups(data, group, priors=None)
    freed = fit_irt_groups(data, group, priors=None, free=["d"])
    ratio = 2 * (freed.log_likelihood - equal.log_likelihood)
    assert tests.statistic[3] == pytest.approx(ratio, abs=1e-6)
    assert tests.df[3] == freed.n_parameters - equal.n_parameters == 2
    given = differential_items(data, group, anchors=list("abc"))
    all_free = fit_irt_groups(data, group, priors=None, free=list("defgh"))
    tied = fit_irt_groups(data, group, priors=None, free=list("efgh"))
    ratio = 2 * (all_free.log_likelihood - tied.log_likelihood)
    assert given.statistic[3] == pytest.approx(ratio, abs=1e-6)
    assert np.isnan(given.p_value[:3]).all()
    assert given.anchors.tolist() == [True] * 3 + [False] * 5


def test_wald_in_the_rasch_model():
    data, group = simulated(300, 6, dif=0.3)
    tests = differential_items(data, group, model="1pl", method="wald", anchors="all_others")
    fit = fit_irt_groups(data, group, model="1pl", priors=None, free=["d"])
    gap = fit.intercept[1, 3] - fit.intercept[0, 3]
    assert tests.df[3] == 1
    # the covariance of the two is positive: they share the scale
    assert tests.statistic[3] > gap**2 / (fit.se_intercept[:, 3] ** 2).sum()
    ratio = differential_items(data, group, model="1pl", anchors="all_others")
    np.testing.assert_allclose(tests.statistic, ratio.statistic, rtol=0.1, atol=0.3)


@pytest.mark.parametrize("method", ["lr", "wald"])
@pytest.mark.parametrize(("model", "answers"), [("2pl", 2), ("graded", 3), ("gpcm", 3)])
def test_detection(method, model, answers):
    data, group = simulated(250, 7, dif=1.0, answers=answers)
    found = differential_items(data, group, method=method, model=model)
    assert found.flagged.tolist() == [label == "d" for label in ITEMS]
    assert found.rounds == 2
    assert found.anchors.tolist() == [label != "d" for label in ITEMS]
    assert -found.shift[1, 3] == pytest.approx(found.distance[1, 3], rel=0.2)
    assert found.shift[1, 3] < -0.05
    assert np.all(found.shift[0] == 0)
    assert found.ability_mean[1] == pytest.approx(0.4, abs=0.3)
    assert "1 of 8 tested items function differently" in repr(found)
    assert list(found.to_frame()["item"]) == ITEMS
    fit = fit_irt_groups(data, group, model=model)
    assert np.nanargmax(fit.rmsd.max(axis=0)) == 3
    assert fit.md[0, 3] > 0 > fit.md[1, 3]
    if answers == 2:
        score = differential_functioning(data, group)
        assert score.flagged[3]


def test_three_groups_and_unequal_items():
    data, group = simulated(300, 8, dif=0.8, groups="xyz")
    data = data.astype(float)
    data.loc[group == "z", "a"] = np.nan
    data.loc[group != "z", "b"] = np.nan
    found = differential_items(data, group)
    assert found.df[[0, 3, 4]].tolist() == [2, 4, 4]
    assert np.isnan(found.p_value[1])
    assert found.reasons[1].name == "UNANSWERED"
    assert found.flagged[3]
    fit = fit_irt_groups(data, group, free=["a", "d"])
    assert fit.slope[0, 0] != fit.slope[1, 0]
    assert fit.slope[0, 0] == fit.slope[2, 0]
    assert np.isnan(fit.rmsd[2, 0])
    assert len(fit.to_frame()) == 24
    assert "Items with group-specific parameters: 'a', 'd'" in repr(fit)


def test_a_constant_item_is_not_tested():
    data, group = simulated(200, 9)
    data.loc[group == "y", "c"] = 1
    data["h"] = 1
    found = differential_items(data, group)
    assert found.reasons[2].name == "TOO_FEW"
    assert found.reasons[7].name == "CONSTANT_ITEM"
    assert np.isnan([found.p_value[[2, 7]], found.flagged[[2, 7]]]).all()
    assert np.isfinite(found.p_value[[0, 1, 3, 4, 5, 6]]).all()
    with pytest.raises(CodeError, match="'c' lacks an answer in group 'y'"):
        fit_irt_groups(data, group, free=["c"])


def test_adjustments():
    data, group = simulated(200, 11, dif=0.5)
    found = {
        name: differential_items(data, group, adjustment=name, anchors="all_others").adjusted
        for name in ("holm", "bh")
    }
    assert (found["bh"] <= found["holm"] + 1e-12).all()


def test_too_few_respondents_for_the_likelihood_alone():
    data, group = simulated(13, 15)
    data.loc[group == "y"] = 1 - data.loc[group == "x"].to_numpy()[::-1]
    data.loc[:, "a"] = data["b"] = data["c"]  # one ability answers all three alike
    with pytest.warns(ConvergenceWarning, match="no maximum: use priors"):
        found = differential_items(data, group)
    assert np.isnan(found.p_value).all()
    tested = [reason.name for reason in found.reasons]
    assert set(tested) <= {"NOT_CONVERGED", "TOO_FEW"}
    assert "0 of 0 tested items function differently" in repr(found)
    held = differential_items(data, group, priors=Priors(slope=(1.0, 0.75), intercept=(0.0, 2.5)))
    assert np.isfinite(held.p_value).any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "score"}, OptionError, "method='score'"),
        ({"anchors": "best"}, OptionError, "anchors='best'"),
        ({"anchors": ["q"]}, LabelError, "anchors names 'q'"),
        ({"anchors": []}, OptionError, "anchors is empty"),
        ({"anchors": ITEMS}, ShapeError, "0 of 8 items can be tested"),
        ({"alpha": 2}, OptionError, "alpha=2"),
        ({"adjustment": "none"}, OptionError, "adjustment='none'"),
    ],
)
def test_bad_tests(options, error, message):
    data, group = simulated(60, 13)
    with pytest.raises(error, match=message):
        differential_items(data, group, **options)
