"""The mixed model: lme4, statsmodels, the slow likelihood, coverage, its bounds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.contrasts.condition_scores import condition_scores
from psychollm.reliability.contrasts.conditions import kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import _fitted, mixed_model
from psychollm.reliability.contrasts.random_intercept import (
    InterceptDesign,
    InterceptFit,
    against_first,
    variance_draws,
)
from tests.effort import examples
from tests.oracles import conditions_slow as slow
from tests.reliability.golden_cases import gses

CASES = ["gses_a", "gses_b"]


@pytest.mark.parametrize("case", CASES)
def test_golden_mixed_model(golden, case):
    frame, r, python = gses(golden, case)
    wanted, tol = r["lme"], 1e-4
    # lme4 was given every repeat as a row of its own: its figures test the fit, not the design.
    table = condition_scores(frame["total"], frame["condition"], frame["model"])
    fit = _fitted(table, table.conditions.index("comp"), Resampling(n=99, rng=0))
    levels = ["comp", "none", "social", "summ"]
    assert wanted["levels"] == ["(Intercept)", *(f"condition{name}" for name in levels[1:])]
    names = [fit.means.place("comp")]
    places = [fit.contrasts.place(f"{name} - comp") for name in levels[1:]]
    found = {
        "est": [*fit.means.value[names], *fit.contrasts.value[places]],
        "se": [*fit.means.se[names], *fit.contrasts.se[places]],
        "df_satterthwaite": [*fit.mean_df[names], *fit.contrast_df[places]],
    }
    found["t"] = np.array(found["est"]) / found["se"]
    for key, values in found.items():
        np.testing.assert_allclose(values, wanted[key], rtol=tol, err_msg=key)
    np.testing.assert_allclose(fit.contrast_t[places], wanted["t"][1:], rtol=tol)
    p = [2 * stats.t.sf(abs(found["t"][0]), fit.mean_df[names[0]]), *fit.contrast_p[places]]
    # A p-value of 1e-28 moves by 107 times what t moves by.
    np.testing.assert_allclose(p, wanted["p"], rtol=1e-2)
    assert fit.variances.value[0] == pytest.approx(wanted["var_model"], rel=tol)
    assert fit.variances.value[1] == pytest.approx(wanted["var_resid"], rel=tol)
    assert fit.intraclass.value[0] == pytest.approx(wanted["icc"], rel=tol)
    assert (fit.variances.flags[0] is Reason.AT_BOUND) == wanted["singular"]
    assert fit.f_statistic == pytest.approx(wanted["anova_F"], rel=tol)
    assert fit.p_value == pytest.approx(wanted["anova_p"], rel=1e-2)
    assert fit.reml_criterion == pytest.approx(wanted["reml"], rel=tol)
    assert fit.log_likelihood == pytest.approx(wanted["loglik_ml"], rel=tol)
    # statsmodels stops early: its estimates agree to three digits, and are not the truth.
    params, se = python["mixedlm_params"], python["mixedlm_bse"]
    assert fit.means.value[names[0]] == pytest.approx(params["Intercept"], abs=1e-6)
    assert fit.means.se[names[0]] == pytest.approx(se["Intercept"], rel=1e-3)
    for place, name in zip(places, levels[1:], strict=True):
        key = f"C(condition)[T.{name}]"
        assert fit.contrasts.value[place] == pytest.approx(params[key], abs=1e-6)
        assert fit.contrasts.se[place] == pytest.approx(se[key], rel=1e-4)
    residual = python["mixedlm_resid_var"]
    assert fit.variances.value[1] == pytest.approx(residual, rel=1e-4)
    assert fit.variances.value[0] == pytest.approx(params["model Var"] * residual, rel=1e-3)


def test_models_under_one_condition_each():
    """The variance between models is what conditions are compared with: 8 degrees of freedom."""
    score, _, model = crossed(np.random.default_rng(10), 10, 1, 5, spread=2.0)
    group = model % 2
    fit = mixed_model(score, group, model, bootstrap=50, rng=0)
    means = score.reshape(10, 5).mean(axis=1)
    wanted = stats.ttest_ind(means[0::2], means[1::2])
    assert fit.f_df[1] == pytest.approx(8)
    assert fit.p_value == pytest.approx(wanted.pvalue, rel=1e-6)
    ranks = kruskal_wallis(score, group, models=model, bootstrap=50, rng=0)
    assert ranks.p_value == pytest.approx(stats.kruskal(means[0::2], means[1::2]).pvalue)
    assert ranks.note == ""


SEEDS = st.integers(0, 10_000)


def crossed(rng, n_models=10, n_conditions=3, repeats=2, spread=1.0):
    model = np.repeat(np.arange(n_models), n_conditions * repeats)
    condition = np.tile(np.repeat(np.arange(n_conditions), repeats), n_models)
    score = spread * rng.normal(size=n_models)[model] + rng.normal(size=model.size)
    return score, condition, model


def row_fit(*rows):
    """The fit with a row for each score, as lme4 and statsmodels take repeats."""
    return _fitted(condition_scores(*rows), 0, Resampling(n=2, rng=0))


@given(SEEDS)
@examples(15)
def test_fit_is_the_maximum_of_the_slow_likelihood(seed):
    rng = np.random.default_rng(seed)
    score, condition, model = crossed(rng, 6, 3, 2)
    kept = rng.uniform(size=score.size) < 0.8
    kept[[0, 2, 4, 6, 7, 13]] = True
    score, condition, model = score[kept], condition[kept], model[kept]
    fit = row_fit(score, condition, model)
    codes = [pd.factorize(part)[0].tolist() for part in (condition, model)]
    at = fit.variances.value
    best = slow.restricted_deviance(score, *codes, *at)
    assert fit.reml_criterion == pytest.approx(best, abs=1e-9)
    for scale in ([1.01, 1], [0.99, 1], [1, 1.01], [1, 0.99], [1.01, 0.99]):
        moved = at * scale + [1e-4 * (at[0] == 0) * (scale[0] > 1), 0]
        assert slow.restricted_deviance(score, *codes, *moved) >= best - 1e-10
    if at[0] > 0.05:
        contrast = np.eye(3)[1] - np.eye(3)[0]
        wanted = slow.satterthwaite(score, *codes, *at, contrast)
        assert fit.contrast_df[0] == pytest.approx(wanted, rel=1e-3)


def test_statsmodels_agrees_to_its_precision():
    sm = pytest.importorskip("statsmodels.api")
    score, condition, model = crossed(np.random.default_rng(1))
    fit = row_fit(score, condition, model)
    design = np.eye(3)[condition]
    theirs = sm.MixedLM(score, design, groups=model).fit(reml=True, method="powell")
    np.testing.assert_allclose(theirs.fe_params, fit.means.value, atol=1e-8)
    assert theirs.scale == pytest.approx(fit.variances.value[1], rel=1e-4)
    assert float(theirs.cov_re[0, 0]) == pytest.approx(fit.variances.value[0], rel=1e-3)
    assert -2 * theirs.llf == pytest.approx(fit.reml_criterion, abs=1e-6)


def test_balanced_fit_is_the_analysis_of_variance():
    score, condition, model = crossed(np.random.default_rng(2), 12, 4, 1)
    fit = mixed_model(score, condition, model, bootstrap=999, rng=0)
    table = score.reshape(12, 4)
    off = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    within = (off**2).sum() / 33
    between = 4 * table.mean(1).var(ddof=1)
    assert fit.variances.value[1] == pytest.approx(within)
    assert fit.variances.value[0] == pytest.approx((between - within) / 4)
    f = 12 * table.mean(0).var(ddof=1) / within
    assert fit.f_statistic == pytest.approx(f)
    assert fit.f_df == (3, pytest.approx(33))
    assert fit.p_value == pytest.approx(stats.f.sf(f, 3, 33))
    # The bootstrap's p-value is that of F but for its noise, 4 standard errors.
    noise = 4 * np.sqrt(fit.p_value * (1 - fit.p_value) / 999)
    assert fit.bootstrap_p_value == pytest.approx(fit.p_value, abs=noise + 0.001)
    # The interval of the residual variance is the chi-square one, but for the noise of draws.
    bounds = 33 * within / stats.chi2.ppf([0.975, 0.025], 33)
    np.testing.assert_allclose(fit.variances.interval[1], bounds, rtol=0.08)
    compared = compare_all(fit.means, df=33)
    assert compared.value.shape == (6,)
    np.testing.assert_allclose(compared.se, np.sqrt(2 * within / 12), rtol=0.1)


def test_models_without_spread_lie_at_the_bound():
    rng = np.random.default_rng(6)
    score, condition, model = crossed(rng, 10, 2, 3, spread=0.0)
    score -= np.array([score[model == m].mean() for m in range(10)])[model]
    fit = mixed_model(score, condition, model, bootstrap=50, rng=0)
    assert fit.variances.value[0] == 0.0
    assert fit.variances.flags[0] is Reason.AT_BOUND
    np.testing.assert_allclose(fit.contrast_df, 9.0)  # not pooled


def test_coverage_of_the_mixed_model():
    """600 data sets; 0.925 is 2.8 standard errors below 0.95. Long runs give 0.945 to 0.955."""
    rng = np.random.default_rng(5)
    hits = np.zeros(4)
    for _ in range(600):
        score, condition, model = crossed(rng, 10, 3, 2)
        fit = InterceptFit.of(InterceptDesign.of(condition, model).reduced(score[None]))
        between, residual = variance_draws(fit, Resampling(n=500, rng=rng))
        draws = np.stack([between, residual, between / (between + residual)])
        bounds, true = percentile_interval(draws.T, 0.95), np.array([1.0, 1.0, 0.5])
        hits[:3] += (bounds[:, 0] <= true) & (true <= bounds[:, 1])
        contrast = against_first(3)[:1]
        spread = np.sqrt(contrast @ fit.covariance @ contrast.T)[0, 0]
        t = (contrast @ fit.means)[0] / spread
        hits[3] += abs(t) <= stats.t.ppf(0.975, fit.freedom(contrast)[0])
    assert (hits / 600 > 0.925).all()
