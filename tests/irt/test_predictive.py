"""What a posterior predicts beside what was answered."""

import numpy as np

from psychollm.irt.bayes.bayesian import bayesian_2pl
from psychollm.irt.bayes.predictive import predictive_check


def test_misfit_shows():
    """A second dimension in two of twelve items: their covariance is not the model's."""
    rng = np.random.default_rng(0)
    ability = np.repeat(rng.normal(size=(500, 2)), [2, 10], axis=1)
    answers = rng.random(ability.shape) < 1.0 / (1.0 + np.exp(-2.0 * ability))
    check = predictive_check(bayesian_2pl(answers, n_draws=300, rng=0), n=100, rng=0)
    assert check.statistic[-1] == "pair_misfit"
    assert check.p_value[-1] == 0.0
