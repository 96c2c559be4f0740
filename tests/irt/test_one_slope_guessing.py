"""The one-parameter logistic with guessing: one slope, a guessing parameter for each item."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from psychollm import load
from psychollm.irt.ability import ability
from psychollm.irt.families import YES_OR_NO, YesOrNo
from psychollm.irt.fit import fit_irt
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.irt.thresholds import thresholds

SLOPE, INTERCEPTS, GUESSING = 1.6, np.linspace(-1.5, 1.0, 8), np.linspace(0.1, 0.3, 8)
PRIORS = Priors(guessing=(-1.4, 0.7))
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(81)


def drawn(n, seed):
    """Answers of n respondents with abilities N(0, 1)."""
    rng = np.random.default_rng(seed)
    chance = GUESSING + (1 - GUESSING) * expit(SLOPE * rng.normal(size=(n, 1)) + INTERCEPTS)
    return (rng.random(chance.shape) < chance).astype(float)


def objective(flat, answers):
    """Return minus the marginal log-likelihood and log prior, by definition."""
    slope, intercepts, logits = flat[0], flat[1:9, None], flat[9:, None]
    p = expit(logits) + (1 - expit(logits)) * expit(slope * NODES + intercepts)
    no = (1 - expit(logits)) * np.maximum(expit(-slope * NODES - intercepts), 1e-300)
    rows = answers[:, :, None] * np.log(p) + (1 - answers[:, :, None]) * np.log(no)
    marginal = np.log(np.exp(rows.sum(axis=1)) @ (WEIGHTS / WEIGHTS.sum()))
    return -marginal.sum() + 0.5 * (((logits + 1.4) / 0.7) ** 2).sum()


def test_direct_optimisation_ends_at_the_same_top():
    answers = drawn(600, 1)
    fit = fit_irt(answers, model="1plg", priors=PRIORS)
    start = np.concatenate([[1.0], np.zeros(8), np.full(8, -1.4)])
    best = minimize(objective, start, args=(answers,), method="BFGS", options={"gtol": 1e-5})
    assert fit.convergence.converged
    np.testing.assert_allclose(fit.convergence.objective, -best.fun, rtol=1e-9)
    # the mirror image of the abilities is as high
    np.testing.assert_allclose(fit.slope, abs(best.x[0]), atol=1e-4)
    np.testing.assert_allclose(fit.intercept, best.x[1:9], atol=2e-4)
    np.testing.assert_allclose(fit.guessing, expit(best.x[9:]), atol=1e-4)
    assert fit.n_parameters == 17


def test_parameters_are_recovered():
    fit = fit_irt(drawn(20_000, 2), model="1plg")
    assert np.ptp(fit.slope) == 0.0
    assert abs(fit.slope[0] - SLOPE) < 4 * fit.se_slope[0]
    assert (np.abs(fit.intercept - INTERCEPTS) < 4 * fit.se_intercept).all()
    assert (np.abs(fit.guessing - GUESSING) < 4 * fit.se_guessing).all()


def test_few_respondents_have_items_of_one_population():
    answers = np.hstack([drawn(60, seed) for seed in range(3, 8)])
    fit = fit_irt(answers, model="1plg")
    assert isinstance(fit.priors, ItemPopulation)
    assert fit.priors.names == ("intercept", "logit_guessing")
    assert fit.convergence.converged
    assert np.ptp(fit.slope) == 0.0
    assert np.isfinite(fit.se_slope).all()
    assert fit.posterior_sd == pytest.approx(1.0, abs=0.02)


def test_everything_made_of_a_fit_knows_it(tmp_path):
    answers = drawn(400, 9)
    fit = fit_irt(answers, model="1plg")
    assert {"guessing", "se_guessing"} <= set(fit.to_frame().columns)
    assert "upper" not in fit.to_frame().columns
    assert np.isfinite(ability(fit, answers).ability).all()
    even = thresholds(fit).threshold[:, 0]
    curve = fit.guessing + (1 - fit.guessing) * expit(fit.slope * even + fit.intercept)
    np.testing.assert_allclose(curve, 0.5, rtol=1e-12)
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").guessing, fit.guessing)
    groups = fit_irt_groups(answers, np.repeat(["a", "b"], 200), model="1plg")
    assert groups.convergence.converged
    assert np.ptp(groups.slope) == 0.0


def test_an_upper_asymptote_alone_would_be_read_as_guessing():
    """The third parameter of a curve is the lower asymptote, whatever its name."""
    for asymptotes in [("upper",), ("upper", "guessing"), ("floor",)]:
        with pytest.raises(ValueError, match="derive a class from Family"):
            YesOrNo(asymptotes)
    known = [(), ("guessing",), ("guessing", "upper")]
    assert all(one.asymptotes in known for one in YES_OR_NO.values())
