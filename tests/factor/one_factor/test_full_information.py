"""Full-information likelihood: its slow twin, published data, missing answers, bounds."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.factor.one_factor.full_information import full_information
from tests.oracles import full_information_slow as slow

LOADINGS = np.array([0.9, 0.5, 0.7, 0.8, 0.6])
THRESHOLDS = np.array([0.0, 1.5, -1.0, 0.5, -0.3])


def table(n, seed, missing=0.0):
    return psy.simulate_factor(
        loadings=LOADINGS, thresholds=THRESHOLDS, n_questions=n, missing=missing, rng=seed
    ).responses


@pytest.mark.parametrize(("n", "missing"), [(40, 0.0), (30, 0.2)])
def test_estimate_is_the_top_of_the_slow_likelihood(n, missing):
    answers = table(n, 4, missing)
    fit = full_information(answers)

    def value(parameters):
        return slow.log_likelihood(answers.values, parameters[:5], parameters[5:])

    best = np.concatenate([fit.loadings, fit.thresholds])
    assert fit.log_likelihood == pytest.approx(value(best), abs=1e-6)
    for i in range(0, 10, 4):
        step = np.zeros(10)
        step[i] = 1e-3
        sides = value(best + step), value(best - step)
        slope = (sides[0] - sides[1]) / 2e-3
        bend = (sides[0] + sides[1] - 2 * fit.log_likelihood) / 1e-6
        assert bend < 0
        assert abs(slope / bend) < 2e-3  # distance to the top; standard errors are .05 and more


def test_lsat6_agrees_with_the_published_two_parameter_logistic(shared):
    """Bock & Lieberman's LSAT 6: normal ogive and logistic differ by up to .05 in loadings."""
    folder = shared / "golden" / "psychometrics" / "data"
    frame = pd.read_csv(folder / "lsat6_patterns.csv")
    codes = np.repeat(frame.iloc[:, :5].to_numpy(), frame["freq"], axis=0).T
    fit = full_information(codes)
    assert fit.convergence.converged
    assert fit.log_likelihood == pytest.approx(-2466.653, abs=0.1)
    slope = np.array([0.8253715, 0.7229499, 0.8904748, 0.6885502, 0.6574516]) / 1.702
    assert fit.loadings == pytest.approx(slope / np.sqrt(1 + slope**2), abs=0.06)
    assert fit.thresholds == pytest.approx([-1.433, -0.550, -0.133, -0.716, -1.126], abs=0.01)


def test_estimates_and_standard_errors_are_right_over_replications():
    fits = [full_information(table(1000, seed)) for seed in range(100)]
    for field, truth in (("loadings", LOADINGS), ("thresholds", THRESHOLDS)):
        estimates = np.array([getattr(fit, field) for fit in fits])
        errors = np.mean([getattr(fit, f"se_{field}") for fit in fits], axis=0)
        assert np.allclose(estimates.mean(axis=0), truth, atol=0.02)
        # The standard deviation of 100 replications is known to 7 %; three of these.
        assert np.allclose(errors, estimates.std(axis=0), rtol=0.25)


def test_answers_missing_at_random_given_answers_do_not_bias():
    """Later models skip questions the first refused: pairs are biased, full information is not."""
    made = psy.simulate_factor(loadings=[0.9] * 5, thresholds=[0] * 5, n_questions=40_000, rng=1)
    codes = made.responses.values.copy()
    codes[2:, codes[0] == 0] = np.nan
    fit = full_information(codes)
    # Standard errors are .01: three of these.
    assert fit.loadings == pytest.approx(np.full(5, 0.9), abs=0.03)
    assert fit.thresholds == pytest.approx(np.zeros(5), abs=0.05)


def test_bounds_and_models_left_out():
    rng = np.random.default_rng(0)
    f = rng.standard_normal(400)
    rows = [f > cut for cut in (-1, 0, 1)] + [f + rng.standard_normal(400) > 0, f > -9]
    fit = full_information(np.array(rows, dtype=int))
    assert fit.at_bound[:3].any()
    assert np.isnan(fit.se_loadings[fit.at_bound]).all()
    assert fit.reasons[4] == "always gave the same answer"
    assert np.isnan(fit.loadings[4])
    assert fit.to_frame().shape == (5, 7)


def test_many_models_get_more_nodes():
    few = full_information(table(20_000, 1))
    sharp = psy.simulate_factor(
        loadings=[0.95] * 40, thresholds=np.linspace(-2, 2, 40), n_questions=300, rng=1
    )
    assert few.n_nodes == 61
    assert full_information(sharp.responses).n_nodes > 100


def test_tables_that_one_factor_does_not_fit_take_tens_of_evaluations(monkeypatch):
    """Cross products are no Newton matrix there: steps along them took hundreds."""
    rng = np.random.default_rng(0)
    loadings = rng.uniform(0.05, 1.5, (20, 1))
    families = rng.normal(size=(4, 6000))[rng.integers(0, 4, 20)]
    latent = loadings * rng.normal(size=6000) + rng.uniform(0, 2, (20, 1)) * families
    latent += rng.normal(size=latent.shape)
    codes = (latent > latent.std(axis=1, keepdims=True) * rng.normal(0, 1.2, (20, 1))).astype(int)
    module = import_module("psychollm.factor.one_factor.full_information")
    evaluate, calls = module._evaluate, []
    monkeypatch.setattr(module, "_evaluate", lambda *a: (calls.append(1), evaluate(*a))[1])
    fit = full_information(codes)
    assert fit.convergence.converged
    assert len(calls) < 60


def test_progress_shows_the_steps(capsys):
    full_information(table(200, 1), progress=True)
    assert "full information" in capsys.readouterr().err


def test_flipping_a_model_flips_its_loading_and_threshold():
    answers = table(500, 3)
    fit, flipped = full_information(answers), full_information(answers.flip([1]))
    assert flipped.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-5)
    assert flipped.loadings[1] == pytest.approx(-fit.loadings[1], abs=1e-3)
    assert flipped.thresholds[1] == pytest.approx(-fit.thresholds[1], abs=1e-3)
