"""Few clusters: intervals hold, tests keep their level, and what cannot be said is not said."""

import numpy as np
import pytest
from scipy.special import expit

from psychollm.calibration import calibration_error, calibration_panel, cox, spiegelhalter
from psychollm.calibration.influence import in_few_clusters
from psychollm.calibration.scores.cox import cox_test_of
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.clustered import telling_clusters
from psychollm.estimates.reasons import Reason

LEVELS = np.linspace(0.0, 1.0, 11)


def forecasts(n, count, rng, *, ease=None):
    """Return clusters, confidence and correctness; without `ease` models are calibrated."""
    codes = np.repeat(np.arange(n), np.round(4 * 16 ** np.linspace(0.0, 1.0, n)).astype(int))
    groups = (count, n)
    latent = rng.standard_normal((count, codes.size))
    latent += 0.5 * rng.standard_normal(groups)[:, codes]
    stated = LEVELS[np.round(10.0 * expit(1.0 + 1.2 * latent)).astype(int)]
    spread = rng.standard_normal(groups)[:, codes]
    if ease is None:
        together = np.abs(spread) < 0.6745
        chance = np.where(together, stated > rng.random(groups)[:, codes], stated)
    else:
        chance = expit(ease + 0.8 * latent + spread)
    return codes, stated, (rng.random(chance.shape) < chance) * 1.0


def test_clusters_that_tell_as_much_count_as_one_each():
    assert telling_clusters(np.array([1.0, -1.0, 1.0, -1.0])) == 4.0
    assert telling_clusters(np.array([10.0, 0.0, 0.0])) == 1.0
    assert telling_clusters(np.array([[3.0, 1.0], [4.0, 0.0]])) == pytest.approx([625 / 337, 1.0])


def test_errors_in_few_clusters_are_noticed():
    confidence, clusters = np.full(60, 0.8), np.arange(60) // 5
    spread, gathered = np.ones(60), np.ones(60)
    spread[::5] = 0.0
    gathered[:12] = 0.0
    for correct, few in ((spread, False), (gathered, True)):
        (tally,) = tallies(stated_answers(confidence, correct, clusters=clusters))
        assert in_few_clusters(tally) is few


# True values of the law above, from 1e6 questions in clusters of ten; bounds are those of a
# binomial variable of 300 with chance .93 that a share of one in 10,000 would fall below.
TRUTH = {"cox_slope": 0.507, "corp_dsc": 0.0042, "corp_mcb": 0.0834, "murphy_resolution": 0.0042}


@pytest.mark.parametrize("n", [8, 30])
def test_intervals_hold_where_errors_are_rare(n):
    codes, stated, correct = forecasts(n, 300, np.random.default_rng(n), ease=3.0)
    panel = calibration_panel(
        stated, correct, metrics=["corp_mcb", "corp_dsc", "murphy_resolution"], clusters=codes,
        bootstrap=0,
    )  # fmt: skip
    found = dict(panel.estimates)
    found["cox_slope"] = cox(stated, correct, clusters=codes, bootstrap=2, rng=0).slope
    for key, truth in TRUTH.items():
        low, high = found[key].interval[found[key].defined].T
        assert ((low <= truth) & (truth <= high)).mean() > 0.875, key


def test_kappa_holds_where_few_clusters_hold_the_errors():
    # Bounds as above, of 400 with chance .96; without the cap 92 % held.
    codes, stated, correct = forecasts(30, 400, np.random.default_rng(5), ease=3.0)
    (kappa,) = calibration_panel(
        stated, correct, metrics=["kappa"], clusters=codes, bootstrap=0
    ).estimates.values()
    low, high = kappa.interval[kappa.defined].T
    assert ((low <= 0.1488) & (high >= 0.1488)).mean() > 0.94


def yes_no(n, count, rng):
    """Return confidence and correctness of forecasters who say yes or no."""
    stated = (rng.random((count, n)) < 0.65) * 1.0
    return stated, (rng.random((count, n)) < np.where(stated > 0.5, 0.75, 0.4)) * 1.0


FIFTY = {
    "corp_dsc": 0.02787,
    "murphy_resolution": 0.02787,
    "corp_log_dsc": 0.05920,
    "meta_information": 0.08541,
}


@pytest.fixture(scope="module")
def fifty_answers():
    """Return a panel of 750 samples of fifty answers, for one set of tallies and fits."""
    stated, correct = yes_no(50, 750, np.random.default_rng(6))
    return calibration_panel(stated, correct, metrics=list(FIFTY), bootstrap=0)


@pytest.mark.parametrize(("key", "truth"), FIFTY.items())
def test_what_grows_with_its_variance_holds_with_fifty_answers(fifty_answers, key, truth):
    # Without their allowance 90 to 92 % of such samples held it, nearly all others lying below;
    # 94 % of 750 with chance .96 would be undershot by one in 300, with chance .92 by 98 in 100.
    found = fifty_answers[key]
    low, high = found.interval[found.defined].T
    assert ((low <= truth) & (truth <= high)).mean() > 0.94
    assert (high < truth).mean() < 0.03


@pytest.mark.parametrize("n", [15, 30])
def test_tests_keep_their_level(n):
    codes, stated, correct = forecasts(n, 300, np.random.default_rng(n))
    answers = stated_answers(stated, correct, clusters=codes)
    p_values = {
        "Spiegelhalter": spiegelhalter(stated, correct, clusters=codes).p_value,
        "Cox": cox_test_of(answers).p_value,
        "ECE": calibration_error(
            stated, correct, clusters=codes, n_null=99, bootstrap=2, rng=0
        ).p_value.value,
    }
    # In long runs 1 to 7 %.
    for name, p_value in p_values.items():
        assert (p_value <= 0.05).mean() < 0.105, name


def test_no_p_value_where_no_test_keeps_its_level():
    codes, stated, correct = forecasts(4, 2, np.random.default_rng(0), ease=0.8)
    tests = (
        spiegelhalter(stated, correct, clusters=codes),
        cox_test_of(stated_answers(stated, correct, clusters=codes)),
    )
    error = calibration_error(stated, correct, clusters=codes, n_null=9, bootstrap=9, rng=0)
    assert np.isfinite(tests[0].statistic).all()
    for flags, p_value in (
        *((found.flags, found.p_value) for found in tests),
        (error.p_value.flags, error.p_value.value),
    ):
        assert np.isnan(p_value).all()
        assert set(flags) == {Reason.NO_P_VALUE}
    assert "p undefined" in error.summary()
