"""Adaptive testing, simulated."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.irt.ability import ability
from psychollm.irt.adaptive import adaptive_test
from psychollm.irt.fit import fit_irt


@pytest.fixture(scope="module")
def fit(simulated):
    rng = np.random.default_rng(1)
    return fit_irt(simulated(1500, np.exp(rng.normal(0.2, 0.3, 60)), rng.normal(0, 1.5, 60), 2))


def test_beats_random_order_and_is_honest_about_its_error(fit):
    found = adaptive_test(fit, max_items=20, n=800, rng=0)
    assert (found.path_error[4:] < found.random_error[4:]).all()
    assert (np.diff(found.path_se) < 0).all()
    # Posterior standard deviations are those of the errors: 800 respondents, five standard errors.
    ratio = ((found.ability - found.truth) ** 2 / found.se**2).mean()
    assert ratio == pytest.approx(1.0, abs=5 * np.sqrt(2 / 800))
    assert found.exposure.sum() == pytest.approx(20)
    assert "In random order, " in found.summary()
    assert len(found.to_frame()) == 20


def test_stops_at_the_target(fit):
    found = adaptive_test(fit, max_items=60, target_se=0.35, n=200, rng=0)
    stopped = found.n_items < 60
    assert stopped.mean() > 0.9
    assert (found.se[stopped] <= 0.35).all()


def test_all_items_given_is_the_usual_estimate(fit):
    found = adaptive_test(fit, abilities=np.zeros(30), max_items=60, rng=0)
    assert (found.n_items == 60).all()
    whole = ability(fit, np.random.default_rng(0).integers(0, 2, (5, 60)))
    assert found.se.mean() == pytest.approx(whole.se.mean(), rel=0.15)


def test_randomesque_spreads_exposure(fit):
    plain = adaptive_test(fit, max_items=5, n=300, rng=0)
    mixed = adaptive_test(fit, max_items=5, randomesque=6, n=300, rng=0)
    assert mixed.exposure.max() < plain.exposure.max() == 1.0


@pytest.mark.parametrize(
    "options", [{"target_se": 2.0}, {"max_items": 0}, {"abilities": [np.nan]}]
)
def test_bad_options(fit, options):
    with pytest.raises(OptionError):
        adaptive_test(fit, **options)
