"""Few steps, and abilities as fine as many items make them."""

import numpy as np

from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt


def test_many_items_and_few_models(simulated):
    rng = np.random.default_rng(1)
    slopes, intercepts = rng.lognormal(0, 0.35, 1500), rng.normal(size=1500)
    answers = simulated(30, slopes, intercepts, 2)
    fit = fit_irt(answers)
    assert fit.convergence.converged
    assert fit.convergence.iterations <= 25
    assert fit.gradient <= 2e-3  # of the standard errors, in the last round
    scores = ability(fit, answers)
    assert 0.03 < np.median(scores.se) < 0.09
    assert np.unique(scores.ability.round(6)).size == 30  # no two models on one node
    truth = np.random.default_rng(2).normal(size=30)  # as the simulator draws them
    assert np.corrcoef(scores.ability, truth)[0, 1] > 0.99
