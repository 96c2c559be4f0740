"""Abilities and information."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import information
from psychollm.irt.models import default_priors
from tests.irt.test_fit import MIRT, fitted
from tests.oracles import irt_slow


@pytest.mark.parametrize("name", ["truth_lsat6_Rasch", "truth_lsat7_2PL", "truth_lsat7_Rasch"])
def test_exact_posterior_means(name, truth, data_of):
    row = truth[name]
    scores = ability(fitted(row, data_of), row["patterns"])
    np.testing.assert_allclose(scores.ability, row["EAP"], atol=1e-7)
    np.testing.assert_allclose(scores.se, row["EAP_se"], atol=1e-6)


@pytest.mark.parametrize("name", MIRT)
def test_mirt_scores(name, mirt, data_of):
    row = mirt[name]
    fit, answers = fitted(row, data_of), data_of(row["data"])
    scores = ability(fit, answers)
    # mirt's Rasch optimum is off by 4e-6, which its scores multiply
    atol = 1e-5 if "2PL" in name else 3e-5
    np.testing.assert_allclose(scores.ability[:50], row["EAP_first50"], atol=atol)
    np.testing.assert_allclose(scores.se[:50], row["EAP_se_first50"], atol=atol)
    modes = ability(fit, answers, method="map")
    np.testing.assert_allclose(modes.ability[:50], row["MAP_first50"], atol=atol)
    np.testing.assert_allclose(scores.reliability, row["empirical_rxx"], atol=1e-5)


@pytest.mark.parametrize(
    ("model", "link"), [("2pl", "logit"), ("3pl", "logit"), ("2pl", "probit")]
)
def test_twin(model, link, simulated):
    answers = simulated(200, [1.2, 0.8, 1.5, 1.0], [0.5, 0.0, -0.5, 0.2], 4).astype(float)
    answers[:20, 1] = np.nan
    fit = fit_irt(answers, model=model, link=link, priors=default_priors([model], link, 200))
    means, modes = ability(fit, answers), ability(fit, answers, method="map")
    for n in (0, 5, 30, 60):
        row = [None if np.isnan(x) else int(x) for x in answers[n]]
        mean, sd = irt_slow.posterior_moments(row, fit.parameters, link)
        np.testing.assert_allclose([means.ability[n], means.se[n]], [mean, sd], atol=1e-7)

        def log_posterior(t, row=row):
            return np.log(irt_slow.row_likelihood(row, fit.parameters, t[0], link)) - t[0] ** 2 / 2

        at = [modes.ability[n]]
        assert abs(irt_slow.numeric_gradient(log_posterior, at)[0]) < 1e-6
        curvature = irt_slow.numeric_information(log_posterior, at, 1e-3)[0, 0]
        np.testing.assert_allclose(modes.se[n], curvature**-0.5, rtol=1e-4)


@pytest.mark.parametrize(("model", "link"), [("3pl", "logit"), ("2pl", "probit")])
def test_standard_errors_of_modes(model, link, simulated):
    # Where the information that is expected is not the one that is observed: "ml" reports the
    # curvature of the likelihood, "wle" the expected information.
    answers = simulated(400, [1.2, 0.8, 1.5, 1.0, 1.3], [0.5, 0.0, -0.5, 0.2, 0.8], 4)
    fit = fit_irt(answers, model=model, link=link)
    ml, wle = ability(fit, answers, method="ml"), ability(fit, answers, method="wle")
    inside = np.flatnonzero(np.isfinite(ml.se))
    apart = 0.0
    for n in inside[:8]:

        def log_likelihood(t, row=answers[n]):
            return np.log(irt_slow.row_likelihood(row, fit.parameters, t[0], link))

        at = ml.ability[n] / fit.ability_sd
        observed = irt_slow.numeric_information(log_likelihood, [at], 1e-3)[0, 0]
        np.testing.assert_allclose(ml.se[n], fit.ability_sd * observed**-0.5, rtol=1e-4)
        at = wle.ability[n] / fit.ability_sd
        expected = sum(irt_slow.information(item, at, link) for item in fit.parameters)
        np.testing.assert_allclose(wle.se[n], fit.ability_sd * expected**-0.5, rtol=1e-4)
        apart = max(apart, abs(observed / expected - 1.0))
    assert apart > 0.01  # the two can be told apart


def test_perfect_and_zero_scores(simulated):
    answers = simulated(300, np.full(6, 1.3), np.linspace(-1, 1, 6), 5)
    fit = fit_irt(answers)
    rows = [[1] * 6, [0] * 6, [None] * 6, [1, 0, 1, 0, 1, 0]]
    ml = ability(fit, rows, method="ml")
    assert ml.reasons[:3] == (Reason.NO_NO, Reason.NO_YES, Reason.UNSCORED)
    assert np.isnan(ml.ability).tolist() == [True, True, True, False]
    assert np.isnan(ml.se[:3]).all()
    for method in ("eap", "map", "wle"):
        scores = ability(fit, rows, method=method)
        assert np.isfinite(scores.ability[[0, 1, 3]]).all()
        assert scores.ability[0] > scores.ability[3] > scores.ability[1]
        assert np.isnan(scores.ability[2])


def test_wle_solves_its_equation(simulated):
    answers = simulated(200, [1.2, 0.8, 1.5, 1.0, 0.7], [0.5, 0.0, -0.5, 0.2, 1.0], 6)
    fit = fit_irt(answers)
    scores = ability(fit, answers, method="wle")
    for n in range(5):

        def weighted(t, row=answers[n]):
            total = sum(irt_slow.information(item, t[0]) for item in fit.parameters)
            value = irt_slow.row_likelihood(row, fit.parameters, t[0])
            return np.log(value) + 0.5 * np.log(total)

        # For the 2PL the estimate maximises the likelihood times the root of the information.
        assert abs(irt_slow.numeric_gradient(weighted, [scores.ability[n]], 1e-4)[0]) < 1e-4


def test_constant_items_take_no_part_in_likelihoods(simulated):
    answers = simulated(200, np.full(5, 1.3), np.linspace(-1, 1, 5), 8)
    answers[:, 2] = 1
    fit = fit_irt(answers, priors=None)
    short = fit_irt(answers[:, [0, 1, 3, 4]], priors=None)
    np.testing.assert_allclose(
        ability(fit, answers).ability, ability(short, answers[:, [0, 1, 3, 4]]).ability
    )
    result = information(fit)
    assert np.isnan(result.item[2]).all()
    assert np.isfinite(result.test).all()
    assert list(result.to_frame()) == ["ability", "information", "se"]


def test_bad_input(simulated):
    answers = simulated(50, np.ones(4), np.zeros(4), 9)
    fit = fit_irt(answers)
    with pytest.raises(ShapeError, match="the fit has 4"):
        ability(fit, answers[:, :3])
    with pytest.raises(OptionError, match="method='mean'"):
        ability(fit, answers, method="mean")
    with pytest.raises(OptionError, match="finite"):
        information(fit, abilities=[np.nan])
    assert ability(fit, answers).to_frame().shape == (50, 4)
