"""Curves of risk against coverage: coverages in any order, tables, models without answers."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.calibration.discrimination.ranking import scored_answers
from psychollm.calibration.metric import estimate_all
from psychollm.calibration.selection.risk_coverage import risk_coverage
from psychollm.calibration.selection.selective import (
    risk_at_coverage,
    risk_at_coverage_metric,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling


def test_yes_and_no_are_a_curve_of_two_points():
    yes = np.array([[1, 1, 1, 0, 0]])
    right = np.array([[1, 1, 0, 0, 1]])
    curve = risk_coverage(yes, right, coverages=np.arange(1, 6) / 5, bootstrap=2)
    np.testing.assert_allclose(curve.risk[0], [1 / 3] * 3 + [1.5 / 4, 2 / 5], atol=1e-15)
    assert curve.aurc.value[0] == pytest.approx(curve.risk[0].mean(), abs=1e-15)
    assert curve.thresholds_frame()["coverage"].tolist() == [0.6, 1.0]


def test_coverages_may_come_in_any_order():
    answers = scored_answers([[4.0, 3.0, 2.0, 1.0]], [[1, 0, 1, 0]])
    metric = risk_at_coverage_metric([1.0, 0.25, 0.75])
    found = estimate_all([metric], answers, Resampling(n=5, rng=0))
    np.testing.assert_allclose([each.value[0] for each in found], [0.5, 0.0, 1 / 3])


def test_curve_as_a_table():
    scores, right = [[0.9, 0.8, 0.3], [0.5, 0.4, np.nan]], [[1, 0, 1], [1, 1, 0]]
    curve = risk_coverage(scores, right, coverages=[1.0, 0.5], rng=0, bootstrap=10)
    assert curve.coverages.tolist() == [0.5, 1.0]
    frame = curve.to_frame()
    assert frame["model"].tolist() == [0, 0, 1, 1]
    assert frame["best"].tolist() == pytest.approx([0.0, 1 / 3, 0.0, 0.0])
    assert (frame["lower"] <= frame["risk"]).all()
    assert (frame["risk"] <= frame["upper"]).all()
    assert curve.thresholds_frame().shape == (5, 4)
    assert curve.flags[1] is Reason.NO_WRONG


@pytest.mark.parametrize("coverage", [0.0, 1.01, -0.5, np.nan, "all"])
def test_coverage_is_a_share(coverage):
    with pytest.raises(OptionError, match="coverage"):
        risk_at_coverage([[1.0, 2.0]], [[1, 0]], coverage=coverage)
    if coverage != "all":
        with pytest.raises(OptionError, match="coverages"):
            risk_coverage([[1.0, 2.0]], [[1, 0]], coverages=[coverage])


def test_a_model_without_answers_has_no_risk_at_any_coverage():
    confidence = np.array([[0.9, 0.4, 0.7], [np.nan] * 3])
    found = risk_coverage(confidence, np.array([[1, 0, 1], [1, 0, 1]]), bootstrap=20, rng=0)
    assert np.isfinite(found.risk[0]).all()
    assert np.isnan(found.risk[1]).all()
