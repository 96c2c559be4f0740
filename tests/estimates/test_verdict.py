"""Verdicts: three outcomes, how often each is wrong, and no absence taken as evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm.calibration.panels.panel import CalibrationPanel
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    outcome,
    verdicts,
)


def estimate(interval, n, df=None):
    bounds = np.asarray(interval, dtype=float)
    return Estimate(
        name="x",
        value=bounds.mean(axis=1),
        se=np.ones(len(bounds)),
        interval=bounds,
        n=np.asarray(n, dtype=float),
        flags=(Reason.NONE,) * len(bounds),
        method="none",
        level=0.95,
        labels=tuple("abcdef"[: len(bounds)]),
        df=df,
    )


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [
        ((0.61, 0.72), Outcome.ABOVE),
        ((0.21, 0.42), Outcome.BELOW),
        ((0.48, 0.53), Outcome.SMALL),
        ((0.501, 0.53), Outcome.SMALL),  # not nothing, but too little to matter
        ((0.501, 0.56), Outcome.ABOVE),
        ((0.24, 0.96), Outcome.OPEN),
        ((0.449, 0.52), Outcome.OPEN),  # it may matter
        ((np.nan, 0.7), Outcome.OPEN),
    ],
)
def test_outcomes(interval, wanted):
    assert outcome(interval, null=0.5, smallest=0.05) is wanted


def test_an_adjusted_test_decides_what_is_shown():
    assert outcome((0.1, 0.4), smallest=0.05, rejected=False) is Outcome.OPEN
    assert outcome((-0.01, 0.4), smallest=0.05, rejected=True) is Outcome.ABOVE
    assert outcome((0.1, 0.4), smallest=0.05, enough=False) is Outcome.OPEN


@given(st.floats(-2, 2), st.floats(0, 2), st.floats(0.01, 1))
def test_mirrored_intervals_have_mirrored_outcomes(low, width, smallest):
    mirror = {Outcome.ABOVE: Outcome.BELOW, Outcome.BELOW: Outcome.ABOVE}
    found = outcome((low, low + width), smallest=smallest)
    other = outcome((-low - width, -low), smallest=smallest)
    assert other is mirror.get(found, found)


def test_too_few_units_leave_it_open():
    found = verdicts(estimate([[0.1, 0.2]] * 3, [8, 30, np.nan]), smallest=0.05)
    assert found.outcomes == (Outcome.OPEN, Outcome.ABOVE, Outcome.OPEN)
    few = verdicts(estimate([[0.1, 0.2]], [300], df=np.array([3.0])), smallest=0.05)
    assert few.outcomes == (Outcome.OPEN,)
    one = verdicts(estimate([[0.1, 0.2]], [300], df=np.array([np.nan])), smallest=0.05)
    assert one.outcomes == (Outcome.OPEN,)


def verdict(panel: CalibrationPanel) -> str:
    return panel.summary().partition("\n\n")[0]


def test_how_often_verdicts_are_wrong():
    """Means of 40 values, 4,000 times each; bounds are 3.5 standard errors from the long run."""
    rng = np.random.default_rng(0)
    wrong = {}
    for true in (0.0, 0.5):
        values = rng.normal(true, 1.0, (4000, 40))
        mean, se = values.mean(axis=1), stats.sem(values, axis=1)
        margin = stats.t.ppf(0.975, 39) * se
        found = [
            outcome((low, high), smallest=0.5)
            for low, high in zip(mean - margin, mean + margin, strict=True)
        ]
        wrong[true] = np.mean([one.shown if true == 0 else one is Outcome.SMALL for one in found])
    assert wrong[0.0] < 0.05 + 0.012  # shown where there is nothing
    assert wrong[0.5] < 0.025 + 0.009  # small where it just matters


def test_smallest_effects_are_checked():
    with pytest.raises(OptionError, match="auroc=-0.1 must be a positive number"):
        SmallestEffects(auroc=-0.1)
    with pytest.raises(OptionError, match="smallest effect 'auc' does not exist"):
        SMALLEST.with_values({"auc": 0.1})


def test_counts_name_and_add_up():
    found = Verdicts(tuple("abcd"), (Outcome.ABOVE, Outcome.ABOVE, Outcome.BELOW, Outcome.OPEN))
    words = dict.fromkeys((Outcome.ABOVE, Outcome.BELOW, Outcome.SMALL), ("is x", "are x"))
    wanted = "2 of 4 models are x, and 1 (c) is x; the result for the other model is inconclusive"
    assert counted(found, words) == wanted
    nothing = Verdicts(("a", "b"), (Outcome.OPEN,) * 2)
    assert counted(nothing, words) == "the results are inconclusive for both models"
    told = counted(nothing, words, whether="whether they are x")
    assert told == "for both models it is unclear whether they are x"


def panel(n, slope, rng):
    said = rng.uniform(size=(1, n))
    right = (rng.uniform(size=(1, n)) < 0.5 + slope * (said - 0.5)).astype(int)
    return psy.calibration_panel(said, right, metrics=["overconfidence", "auroc"], rng=0)


def test_eight_answers_show_nothing_of_a_model():
    few = panel(8, 0.3, np.random.default_rng(1))
    low, high = few["auroc"].interval[0]
    assert low < 0.5 < high
    assert "chance" not in few.summary()
    assert "it is unclear whether confidence discriminates" in few.summary().lower()
    many = panel(20_000, 0.0, np.random.default_rng(2))
    assert "Discrimination is within 0.05 of chance" in verdict(many)
    assert "unbiased within 5 points" in verdict(many)
    strict = SmallestEffects(auroc=1e-4, share=1e-4)
    assert "it is unclear whether" in many.summary(smallest=strict).lower()
    knows = panel(500, 0.9, np.random.default_rng(3))
    assert "Confidence discriminates between correct and wrong answers" in verdict(knows)


@pytest.mark.parametrize(
    ("name", "value"), [("share", 3.0), ("auroc", 0.6), ("kappa", 1.5), ("r_squared", 2.0)]
)
def test_no_effect_exceeds_its_largest_value(name: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"smallest effect {name}={value}.*at most"):
        SmallestEffects(**{name: value})
    assert SmallestEffects(rmsea=2.0).changed == ("rmsea",)


def test_a_share_is_a_proportion_of_the_range_of_scores() -> None:
    right = (np.random.default_rng(1).random((2, 400)) < [[0.8], [0.6]]).astype(float)
    share, graded = psy.compare(right, rng=1), psy.compare(1.0 + 9.0 * right, rng=1)
    assert (share.span, graded.span) == (1.0, 9.0)
    wide = SmallestEffects(share=0.35)
    assert "equivalent (±35 points)" in share.findings(smallest=wide).verdict
    assert "equivalent (±3.15)" in graded.findings(smallest=wide).verdict
    np.testing.assert_allclose(graded.to_exclude(0.45), share.to_exclude(0.05))
    with pytest.raises(OptionError, match="at most 1: 3 points are 0.03"):
        share.to_exclude(3)
