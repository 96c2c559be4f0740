"""LSAT6 and LSAT7 as in the literature."""

import numpy as np
import pytest

from psychollm.irt.fit import fit_irt
from tests.irt.conftest import rows
from tests.irt.test_fit import MIRT, fitted
from tests.oracles import irt_slow


@pytest.fixture(scope="module")
def published(golden):
    return rows(golden, "published_irt", "")


def test_lsat6_of_ltm(published, data_of):
    row = published["ltm_LSAT_2PL"]
    fit = fit_irt(data_of("lsat6"), priors=None)
    found = [fit.log_likelihood, fit.aic, fit.bic]
    np.testing.assert_allclose(found, [row["loglik"], row["AIC"], row["BIC"]], atol=2e-3)
    np.testing.assert_allclose(fit.slope, row["discrimination"], atol=2e-3)
    np.testing.assert_allclose(fit.se_slope, row["discrimination_se"], atol=2e-3)
    # quotients of intercepts and slopes, up to 3.4: ltm's own stop is 2e-3 of them away
    np.testing.assert_allclose(fit.difficulty, row["difficulty"], rtol=2e-3)
    np.testing.assert_allclose(fit.se_difficulty, row["difficulty_se"], rtol=4e-3)
    for pattern, frequency in row["expected_pattern_freq"].items():
        codes = [int(code) for code in pattern]
        chance = np.exp(irt_slow.log_likelihood([codes], fit.parameters.tolist()))
        np.testing.assert_allclose(1000 * chance, frequency, atol=0.01 * frequency)


def test_lsat7_of_mirt(published, data_of):
    row = published["mirt_default_LSAT7_2PL"]
    fit = fit_irt(data_of("lsat7"), priors=None)
    np.testing.assert_allclose(fit.slope, row["a"], atol=2e-3)
    np.testing.assert_allclose(fit.intercept, row["d"], atol=2e-3)
    np.testing.assert_allclose(fit.log_likelihood, row["loglik"], atol=2e-3)


@pytest.mark.parametrize("name", MIRT)
def test_what_else_mirt_prints(name, mirt, data_of):
    row = mirt[name]
    fit = fitted(row, data_of)
    found = [fit.aic, fit.bic, fit.ability_sd**2]
    # the variance of abilities moves by twice what mirt's standard deviation is off, 1e-6
    np.testing.assert_allclose(found, [row["AIC"], row["BIC"], row["latent_var"]], atol=2e-5)
    if "2PL" in name:
        np.testing.assert_allclose(fit.se_slope, row["se_a"], atol=1e-4)  # Oakes, by differences
        np.testing.assert_allclose(fit.difficulty, row["b"], atol=1e-5)
    for ours, theirs in (("cross_product", "crossprod"), ("sandwich", "sandwich")):
        again = fitted(row, data_of, standard_errors=ours)
        expected = row["se_d_by_type"][theirs]
        # ours meet the exact ones of irt_truth.json to 1e-6
        np.testing.assert_allclose(again.se_intercept, expected, atol=2e-5)
