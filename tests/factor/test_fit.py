"""Fit of factor models: what other programs print, and where there is no chi-square."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm.correlation.polychoric import polychoric
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import loading_errors
from psychollm.factor.fit import fit_indices, fit_of_loadings, likelihood_ratio
from psychollm.factor.number_of_factors.rules import sampling_adequacy
from tests.factor.golden_cases import where
from validation.extraction_minima import simulated_correlation


@pytest.mark.parametrize(
    ("row", "given"), where(lambda row: row["fm"] in ("minres", "ml") and row["RMSEA"])
)
def test_printed_fit(row, given):
    found = factor_analysis(
        given["R"], row["nfactors"], method=row["fm"], rotation="none", n=given["n"]
    )
    fit = found.fit
    loose = "harman8_f3" in row["id"]  # psych stops at a uniqueness of .005 by another path
    assert fit.chi_square == pytest.approx(row["STATISTIC"], rel=3e-3 if loose else 1e-5)
    assert fit.p_value == pytest.approx(row["PVAL"], rel=1e-2, abs=1e-6)
    assert fit.srmr == pytest.approx(row["rms"], abs=1e-5)
    assert fit.tli == pytest.approx(row["TLI"], abs=1e-5)
    # psych takes T / (d n) - 1 / (n - 1) under the root, and Steiger n in both places.
    mixed = max(fit.chi_square / (fit.df * fit.n) - 1 / (fit.n - 1), 0.0) ** 0.5
    assert mixed == pytest.approx(row["RMSEA"][0], abs=1e-5)
    assert fit.rmsea == pytest.approx(row["RMSEA"][0], abs=2e-4)
    np.testing.assert_allclose(fit.rmsea_interval, row["RMSEA"][1:3], atol=8e-4)
    assert fit.bic == pytest.approx(row["BIC"], rel=1e-4, abs=0.02)
    assert fit.sabic == pytest.approx(row["SABIC"], rel=1e-4, abs=0.02)
    assert fit.df == found.degrees_of_freedom == row["dof"]
    assert fit.baseline_chi_square == pytest.approx(row["null.chisq"])
    assert fit.baseline_df == row["null.dof"]


def random_correlation(k, m, seed, n=200):
    rng = np.random.default_rng(seed)
    L = rng.uniform(-0.2, 0.9, (k, m)) / np.sqrt(m)
    data = rng.normal(size=(n, m)) @ L.T + rng.normal(size=(n, k)) * 0.6
    return np.corrcoef(data, rowvar=False)


def asymptotic_covariance(R, n=200):
    """A positive definite covariance of the correlations, as large as theirs."""
    p = len(R) * (len(R) - 1) // 2
    A = np.random.default_rng(0).normal(size=(p, 5 * p))
    return A @ A.T / (5 * p) / n


def test_a_large_covariance_of_correlations_scales_the_test():
    R = random_correlation(8, 1, 0)
    C = asymptotic_covariance(R)
    once = factor_analysis(R, 1, method="dwls", covariance=C, n=200).fit
    twice = factor_analysis(R, 1, method="dwls", covariance=2 * C, n=200).fit
    assert once.test == "scaled and shifted"
    assert twice.chi_square < once.chi_square
    assert factor_analysis(R, 1, covariance=C, n=200).fit.test == "scaled and shifted"


def test_ordered_answers_have_no_normal_theory_test():
    answers = psy.load_example("shared_confidence").confidence
    poly = polychoric(answers)
    for correlation in (psy.tetrachoric(answers), poly, psy.smooth(poly)):
        found = factor_analysis(correlation, 2, n=500)
        numbers = found.fit.to_frame().set_index("index")["value"]
        tested = ["chi_square", "p_value", "baseline_chi_square", "rmsea", "rmsea_lower"]
        tested += ["close_fit_p_value", "cfi", "tli", "bic", "sabic"]
        assert numbers[tested].isna().all()
        assert found.fit.srmr > 0
        assert "chi-square(" not in found.summary()
        assert "no chi-square: normal theory is not valid, pass covariance" in found.summary()
        assert np.isnan(sampling_adequacy(correlation, n=500).chi_square)
        with pytest.raises(
            OptionError, match=r"underestimates .* ordered answers: pass covariance"
        ):
            loading_errors(found)
    robust = factor_analysis(poly, 2, covariance=poly.covariance())
    assert "chi-square(134)" in robust.summary()
    assert "scaled and shifted" in robust.summary()
    # Of a bare matrix nothing is known but what the caller says.
    R = simulated_correlation(np.random.default_rng(0), weak=False)[0]
    assert "chi-square(" in factor_analysis(R, 1, n=500).summary()
    assert "observations: pass n" in factor_analysis(R, 1).summary()


def test_without_degrees_of_freedom_there_is_no_rmsea():
    assert np.isnan(fit_indices((0.0, 0.0), (9.0, 3.0), residuals=np.zeros(3), n=99).rmsea)


def test_likelihood_ratio_of_a_perfect_model():
    assert likelihood_ratio(np.eye(3), np.eye(3), 100, 1) == (0.0, 0.0, 0.0)


def test_fit_of_exact_loadings():
    R = np.full((4, 4), 0.36) + 0.64 * np.eye(4)
    found = fit_of_loadings(R, np.full((4, 1), 0.6), "ml", 100, None, None, normal=False)
    assert found.summary() == (
        "SRMR 0.000; no chi-square: normal theory is not valid, pass covariance"
    )
