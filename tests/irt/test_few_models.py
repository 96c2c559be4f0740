"""Few steps, and abilities as fine as many items make them."""

import numpy as np
import pandas as pd
import pytest

from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.priors import ItemPopulation


def test_many_items_and_few_models(simulated):
    rng = np.random.default_rng(1)
    slopes, intercepts = rng.lognormal(0, 0.35, 1000), rng.normal(size=1000)
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


def test_many_items_of_few_respondents_are_fitted_by_their_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    logits = rng.lognormal(0.0, 0.3, 150) * (rng.normal(size=(12, 1)) - rng.normal(size=150))
    chance = 1.0 / (1.0 + np.exp(-logits))
    answers = pd.DataFrame((rng.random(logits.shape) < chance).astype(float))
    answers.iloc[3, 20:60] = np.nan
    apart = fit_irt(answers)
    monkeypatch.setattr("psychollm.irt.fit.MANY", 100)
    cells = fit_irt(answers)
    assert isinstance(cells.priors, ItemPopulation)
    assert cells.gradient != apart.gradient
    for way in ("slope", "intercept"):
        se = getattr(apart, f"se_{way}")
        assert np.abs(getattr(cells, way) - getattr(apart, way)).max() < 0.01 * se.min()
        np.testing.assert_allclose(getattr(cells, f"se_{way}"), se, rtol=0.02)
    assert cells.alike == apart.alike
    pd.testing.assert_frame_equal(cells.to_frame(), apart.to_frame(), rtol=0.02, atol=0.01)
