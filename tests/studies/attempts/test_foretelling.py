"""What more attempts would show than were made."""

import numpy as np
from scipy.stats import betabinom

import psychollm as psy
from psychollm.estimates.reasons import Reason
from tests.studies.attempts.tables import COUNTS, counts


def test_foretold_values_are_those_of_the_beta_binomial():
    rng = np.random.default_rng(11)
    table = counts(rng.binomial(3, rng.beta(0.5, 0.5, (1, 4000))), 3)
    found = psy.attempts(table, **COUNTS, k=3, rng=1).foretell((3, 6), n_draws=200)
    truth = [
        1 - betabinom(6, 0.5, 0.5).pmf(0),
        betabinom(6, 0.5, 0.5).pmf(6),
    ]
    np.testing.assert_allclose(found.value[2:], truth, atol=0.02)
    assert found.flags[:2] == (Reason.NONE, Reason.NONE)  # as many as were made
    assert found.interval[0].tolist() == [found.value[0]] * 2


def test_one_attempt_foretells_nothing():
    found = psy.attempts(counts([[1, 0, 1]], 1), **COUNTS, k=1, rng=1).foretell(3)
    assert set(found.flags) == {Reason.ONE_ATTEMPT}
    assert np.isnan(found.value).all()
