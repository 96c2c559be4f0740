"""Graded response, partial credit, nominal."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, OptionError
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import information
from psychollm.irt.priors import Priors
from tests.oracles import irt_slow

MODELS = ["graded", "gpcm", "nominal"]


def graded_answers(n, slopes, steps, seed):
    """Answers by the graded model: how many of an item's steps a shared error falls below."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1)) * slopes + rng.logistic(size=(n, len(slopes)))
    return (z[:, :, None] > -np.asarray(steps)).sum(axis=2)


@pytest.fixture(scope="module")
def answers():
    return graded_answers(300, np.array([1.5, 1.0, 2.0, 0.8]), [1.2, -0.8], 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gaps", [False, True])
def test_twin(model, gaps, answers):
    table = answers[:80, :3].astype(float)
    if gaps:
        table[np.random.default_rng(2).random(table.shape) < 0.2] = np.nan
    fit = fit_irt(table, model=model, priors=Priors(slope=(0.5, 1.0), intercept=(0.0, 2.0)))
    rows = [[None if np.isnan(x) else int(x) for x in row] for row in table]
    k = 2 if model == "nominal" else 1
    means = np.array([0.5] * k + [0.0] * 2)
    precisions = np.array([1.0] * k + [0.25] * 2)

    def objective(flat):
        items = flat.reshape(fit.parameters.shape)
        penalty = (precisions * (items - means) ** 2).sum()
        return irt_slow.polytomous_log_likelihood(rows, items, model) - 0.5 * penalty

    flat = fit.parameters.ravel()
    np.testing.assert_allclose(fit.convergence.objective, objective(flat), atol=1e-6)
    assert np.abs(irt_slow.numeric_gradient(objective, flat)).max() < 1e-4
    if not gaps:
        inverse = np.linalg.inv(irt_slow.numeric_information(objective, flat, 1e-3))
        ours = np.sqrt(np.einsum("jpp->jp", fit.covariance)).ravel()
        np.testing.assert_allclose(ours, np.sqrt(np.diagonal(inverse)), rtol=2e-3)


@pytest.mark.parametrize("model", MODELS)
def test_two_answers_are_the_2pl(model, simulated):
    table = simulated(300, [1.0, 1.5, 0.7, 1.2], [0, 1, -1, 0.5], 3)
    one, two = fit_irt(table, priors=None), fit_irt(table, model=model, priors=None)
    np.testing.assert_allclose(two.parameters, one.parameters, atol=1e-7)
    np.testing.assert_allclose(two.covariance, one.covariance, atol=1e-7)
    np.testing.assert_allclose(two.steps[:, 0], one.intercept, atol=1e-7)
    np.testing.assert_allclose(two.se_difficulty, one.se_difficulty, atol=1e-7)
    np.testing.assert_allclose(ability(two, table).ability, ability(one, table).ability, atol=1e-6)
    np.testing.assert_allclose(information(two).item, information(one).item, rtol=1e-5, atol=1e-9)


def test_graded_recovery():
    slopes, steps = np.array([1.5, 1.0, 2.0, 0.8, 1.2]), [1.5, 0.0, -1.0]
    fit = fit_irt(graded_answers(8000, slopes, steps, 4), model="graded")
    assert (np.abs(fit.slope - slopes) < 4 * fit.se_slope).all()
    assert (np.abs(fit.steps - steps) < 4 * fit.se_steps).all()
    assert list(fit.to_frame())[-3:] == ["step_3", "se_step_3", "reason"]


def test_probit_graded(answers):
    logit = fit_irt(answers, model="graded", priors=None)
    probit = fit_irt(answers, model="graded", link="probit", priors=None)
    assert np.abs(logit.slope / probit.slope - 1.7).max() < 0.25


def test_nominal_contains_partial_credit(answers):
    small = fit_irt(answers, model="gpcm", priors=None)
    large = fit_irt(answers, model="nominal", priors=None)
    assert large.log_likelihood > small.log_likelihood
    assert large.n_parameters == small.n_parameters + 4


@pytest.mark.parametrize("model", MODELS)
def test_reversed_codes_turn_all_slopes_together_only_in_sign(model, answers):
    one = fit_irt(answers, model=model, priors=None)
    turned = answers.copy()
    turned[:, 1] = 2 - turned[:, 1]
    two = fit_irt(turned, model=model, priors=None)
    np.testing.assert_allclose(two.log_likelihood, one.log_likelihood, atol=1e-7)
    if model != "nominal":
        np.testing.assert_allclose(two.slope, one.slope * [1, -1, 1, 1], atol=1e-6)


def test_bad_input(answers):
    with pytest.raises(CodeError, match="code 2"):
        fit_irt(answers)
    with pytest.raises(OptionError, match="log-linear"):
        fit_irt(answers, model="gpcm", link="probit")
    with pytest.raises(CodeError, match="code 3 for 0, but the fit has only 0, 1, 2"):
        ability(fit_irt(answers, model="graded"), answers + (np.arange(4) == 0) * 1)
