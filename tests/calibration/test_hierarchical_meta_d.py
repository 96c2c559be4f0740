"""The hierarchical M-ratio: HMeta-d, the slow twin, recovery, degenerate input, PyMC if there."""

import json

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import ConvergenceWarning, MissingPackageError, OptionError
from psychollm.calibration.two_choice import hierarchical_meta_d_nuts as nuts
from psychollm.calibration.two_choice.hierarchical_meta_d import (
    _judged,
    hierarchical_meta_d,
    hierarchical_meta_d_from_counts,
)
from psychollm.calibration.two_choice.hierarchical_meta_d_quadrature import (
    Curves,
    _weights,
    curves,
    sample,
)
from psychollm.calibration.two_choice.meta_d import meta_d
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.posterior import (
    effective_size,
    r_hat,
    shortest_interval,
)
from psychollm.estimates.reasons import Reason
from psychollm.kernels.meta_d_group import profile
from tests.oracles import meta_d_slow as slow

GROUPS = ["metad_group_a", "metad_group_b"]


def wide(golden, case):
    frame = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    columns = ("stimulus", "response", "rating")
    return [frame.pivot_table(index="model", columns="trial", values=name) for name in columns]


def reference(golden, case):
    path = golden / "metacognition" / f"{case}.expected.json"
    return json.loads(path.read_text())["blocks"][0]["values"]


def compare(found, values, *, slack):
    """Compare with HMeta-d: Monte Carlo error of both, and `slack` posterior SDs for models."""
    order = [found.labels.index(name) for name in values["subjects"]]
    mu = values["mu_logMratio"]
    tolerance = 4 * mu["mcse"] + 0.05
    assert mu["rhat"] < 1.01
    assert mu["ess"] > 400
    assert found.log_m_ratio.value[0] == pytest.approx(mu["mean"], abs=tolerance)
    assert found.log_m_ratio.se[0] == pytest.approx(mu["sd"], rel=0.15)
    np.testing.assert_allclose(found.log_m_ratio.interval[0], mu["hdi95"], atol=0.4 * mu["sd"])
    group = values["group_Mratio_exp_mean"]
    assert found.group_m_ratio.value[0] == pytest.approx(group, rel=tolerance)
    sigma = values["sigma_logMratio"]
    assert found.spread.value[0] == pytest.approx(sigma["mean"], abs=0.03)
    assert np.median(found.spread.draws) == pytest.approx(sigma["median"], abs=0.03)
    sd = np.array(values["Mratio_sd"])
    assert np.abs((found.m_ratio.value[order] - values["Mratio_mean"]) / sd).max() < slack
    assert np.abs((found.median[order] - values["Mratio_median"]) / sd).max() < slack
    np.testing.assert_allclose(found.m_ratio.se[order], sd, rtol=0.2)
    return order


@pytest.mark.parametrize("case", GROUPS)
def test_golden_quadrature(golden, case):
    values = reference(golden, case)
    trials = wide(golden, case)
    found = hierarchical_meta_d(*trials, n_draws=6000, rng=0)
    # d' and the criteria have no group here: models differ by up to .15 posterior SDs.
    order = compare(found, values, slack=0.25)
    np.testing.assert_allclose(found.d_prime.value[order], values["d1_mean"], atol=0.15)
    assert found.convergence.converged
    assert found.convergence.reason == "quadrature"
    own = meta_d(*trials, bootstrap=0)
    for i, place in enumerate(order):
        n = own.counts[place]
        row = np.concatenate([n[0, 0, ::-1], n[0, 1], n[1, 0, ::-1], n[1, 1]])
        np.testing.assert_array_equal(row, values["counts"][i])


def test_golden_nuts(golden):
    # One group, and few draws: at full size (6,000 draws; HMeta-d has 18,000) both groups agree
    # in the mean of log M to .0001 and .003, in all models to .06 posterior standard deviations.
    pytest.importorskip("pymc")
    values = reference(golden, "metad_group_b")
    found = hierarchical_meta_d(
        *wide(golden, "metad_group_b"), method="nuts", n_draws=1200, chains=2, tune=500, rng=1
    )
    order = compare(found, values, slack=0.25)
    np.testing.assert_allclose(found.d_prime.value[order], values["d1_mean"], atol=0.06)
    assert found.convergence.converged
    assert (found.r_hat < 1.05).all()
    assert values["sigma_logMratio"]["rhat"] < 1.05
    assert (found.mcse[:2] < 0.03).all()


def test_pymc_likelihood_is_the_kernel():
    pytest.importorskip("pymc")
    made = simulate_meta_d(d_prime=[1.5, 1.0], criterion=0.2, n_questions=300, rng=0)
    tables = meta_d(made.stimulus, made.response, made.rating, bootstrap=0).counts
    m, k = np.array([1.1, -0.3]), np.array([0.2, -0.1])
    cuts = np.stack([-k, k], axis=1)[:, :, None] + np.array([0.4, 0.9, 1.7])
    tensor = nuts.require("pytensor.tensor", extra="bayes", purpose="a test")
    edge = tensor.as_tensor_variable(np.stack([-k, k], axis=1))
    found = nuts._ratings(tensor, tables, tensor.as_tensor_variable(m), edge, cuts).eval()
    expected = sum(
        slow.log_likelihood(tables[i], m[i], k[i], -cuts[i, 0, ::-1], cuts[i, 1]) for i in (0, 1)
    )
    assert float(found) == pytest.approx(expected, abs=1e-8)


def test_diagnostics_are_those_of_arviz():
    arviz = pytest.importorskip("arviz_stats", reason="the arrays' door of ArviZ 1")
    chains = np.random.default_rng(0).normal(size=(4, 500)).cumsum(axis=1) / 10
    chains += np.random.default_rng(1).normal(size=(4, 500))
    base = arviz.base.array_stats
    assert r_hat(chains) == pytest.approx(float(base.rhat(chains, chain_axis=0, draw_axis=1)))
    assert effective_size(chains) == pytest.approx(
        float(base.ess(chains, chain_axis=0, draw_axis=1)), rel=0.02
    )


def test_missing_package(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr("psychollm._base.optional.import_module", absent)
    made = simulate_meta_d(d_prime=[1.5, 1.0], n_questions=200, rng=0)
    with pytest.raises(MissingPackageError, match=r"psychollm\[bayes\]"):
        hierarchical_meta_d(made.stimulus, made.response, made.rating, method="nuts")


def test_profile_is_the_slow_twin():
    table = np.array([[[30.0, 25, 12], [14, 8, 3]], [[9, 10, 6], [15, 24, 31]]])
    grid = np.linspace(-2, 1, 31)
    out = np.empty((31, 3))
    profile(table, np.array(slow.type_1(table)), False, grid, 20, out)
    for i in (0, 15, 30):
        assert out[i, 0] == pytest.approx(slow.group_log_likelihood(table, grid[i]), abs=1e-5)


@pytest.mark.parametrize("sigma", [0.003, 0.1, 2.0])
def test_weights_integrate_a_broken_line(sigma):
    grid, values = np.linspace(-2, 1, 31), np.random.default_rng(0).random(31)
    drawn = np.random.default_rng(1).normal(-0.33, sigma, 400_000)
    broken = np.interp(drawn, grid, values)
    found = _weights(grid, np.array([-0.33]), np.array([sigma]))[0] @ values
    # Within 4.5 Monte Carlo standard errors.
    assert abs(found - broken.mean()) < 4.5 * broken.std() / np.sqrt(400_000) + 1e-9


def test_normal_curves_have_the_posterior_of_a_normal_model():
    # Curves with one narrow peak: mu and sigma are those of twenty known values.
    log_m = np.linspace(-5, 3, 2001)
    known = np.random.default_rng(3).normal(-0.5, 0.4, 20)
    likelihood = np.exp(-0.5 * ((log_m - known[:, None]) / 0.03) ** 2)
    flat = np.zeros((20, log_m.size))
    drawn = sample(
        Curves(log_m, likelihood, np.zeros(20), flat, flat), 4000, np.random.default_rng(0)
    )
    # The prior N(0, 1) moves the mean of 20 values by 1/120 of itself.
    assert drawn.mu.mean() == pytest.approx(known.mean(), abs=0.02)
    assert drawn.mu.std() == pytest.approx(known.std() / np.sqrt(20), rel=0.15)
    assert np.median(drawn.sigma) == pytest.approx(known.std(ddof=1), rel=0.1)
    np.testing.assert_allclose(drawn.log_m.mean(axis=0), known, atol=0.01)
    np.testing.assert_allclose(drawn.log_m.std(axis=0), 0.03, rtol=0.1)


def test_recovery_and_shrinkage():
    rng = np.random.default_rng(7)
    ratios = np.exp(rng.normal(np.log(0.7), 0.2, 24))
    made = simulate_meta_d(
        d_prime=rng.normal(1.5, 0.3, 24), m_ratio=ratios, n_questions=300, meta_c="fixed", rng=8
    )
    trials = made.stimulus, made.response, made.rating
    found = hierarchical_meta_d(*trials, n_draws=2000, rng=0)
    # Within four posterior standard deviations.
    assert abs(found.log_m_ratio.value[0] - np.log(0.7)) < 4 * found.log_m_ratio.se[0]
    alone = meta_d(*trials, meta_c="fixed", bootstrap=0)
    assert found.m_ratio.value.std() < alone.m_ratio.value.std()
    assert found.m_ratio.se.mean() < alone.m_ratio.se.mean()
    error = np.abs(found.m_ratio.value - ratios).mean()
    assert error < np.abs(alone.m_ratio.value - ratios).mean()
    assert found.m_ratio.difference(0, 1).n_resamples == 2000
    again = hierarchical_meta_d(*trials, n_draws=2000, rng=0)
    np.testing.assert_array_equal(again.m_ratio.draws, found.m_ratio.draws)
    assert "24 models" in found.summary()
    assert list(found.to_frame()["model"]) == list(range(24))
    assert found.parameters[:3] == ("mean", "spread", 0)
    assert np.isnan(found.r_hat).all()
    np.testing.assert_array_equal(found.effective_size, 2000)


def test_left_out_and_negative_models():
    made = simulate_meta_d(
        d_prime=[1.5, 1.5, 1.5, 1.5], m_ratio=[0.8, 0.8, -0.4, 0.8], n_questions=400, rng=1
    )
    response = made.response.copy()
    response[3] = made.stimulus  # without errors
    found = hierarchical_meta_d(made.stimulus, response, made.rating, n_draws=500, rng=0)
    assert found.m_ratio.flags[3] == Reason.EMPTY_RESPONSE
    assert np.isnan(found.m_ratio.value[3])
    assert 0 < found.m_ratio.value[2] < found.m_ratio.value[0]
    assert found.log_m_ratio.n[0] == 3
    lonely = hierarchical_meta_d(made.stimulus, response[2:], made.rating[2:], n_draws=500, rng=0)
    assert lonely.log_m_ratio.flags == (Reason.TOO_FEW,)
    assert lonely.m_ratio.flags == (Reason.TOO_FEW, Reason.EMPTY_RESPONSE)
    assert np.isnan(lonely.m_ratio.value).all()
    assert np.isnan(lonely.group_m_ratio.value[0])
    assert "too few" in lonely.summary()


def test_scaled_criterion_and_counts():
    counts = np.array([[60, 40, 20, 12], [50, 45, 25, 10], [70, 30, 15, 15]])
    found = hierarchical_meta_d_from_counts(
        counts, counts[:, ::-1], meta_c="scaled", n_draws=500, rng=0
    )
    # Without bias the criterion lies at zero wherever it is placed.
    fixed = hierarchical_meta_d_from_counts(counts, counts[:, ::-1], n_draws=500, rng=0)
    np.testing.assert_allclose(found.m_ratio.value, fixed.m_ratio.value, atol=1e-6)
    assert found.meta_c == "scaled"


def test_chains_are_judged():
    draws = np.random.default_rng(0).normal(size=(4, 500))
    agreed = nuts.Chains(draws, draws, draws[..., None], draws[..., None], divergences=0)
    assert _judged(agreed, 1).converged
    apart = draws + np.arange(4)[:, None]
    ended = _judged(nuts.Chains(apart, draws, draws, draws, divergences=99), 1)
    assert not ended.converged
    assert "R-hat" in ended.reason
    assert "99 divergences" in ended.reason
    with pytest.warns(ConvergenceWarning, match="R-hat"):
        ended.warn("x")


@pytest.mark.parametrize(
    ("n", "divergences", "ratio", "size", "complaint"),
    [
        (1000, 10, 1.01, 100.0, ""),  # 1 % of the draws; as high as may be; a tenth of few
        (1000, 11, 1.01, 100.0, "11 divergences"),
        (1000, 0, 1.02, 100.0, "R-hat 1.020"),
        (1000, 0, np.nan, 100.0, "R-hat nan"),
        (1000, 0, 1.0, 99.0, "effective size 99"),
        (8000, 0, 1.0, 400.0, ""),  # 400, not a tenth of many
        (8000, 0, 1.0, 399.0, "effective size 399"),
    ],
)
def test_when_chains_are_trusted(n, divergences, ratio, size, complaint, monkeypatch):
    module = "psychollm.calibration.two_choice.hierarchical_meta_d"
    monkeypatch.setattr(f"{module}.r_hat", lambda draws: ratio)
    monkeypatch.setattr(f"{module}.effective_size", lambda draws: size)
    draws = np.zeros((4, n // 4))
    result = _judged(nuts.Chains(draws, draws, draws, draws, divergences=divergences), 7)
    assert (result.converged, result.iterations) == (not complaint, 7)
    assert result.reason == (
        f"{complaint}: raise n_draws and tune" if complaint else "chains agree"
    )


def test_shortest_interval():
    draws = np.random.default_rng(0).exponential(size=(20_000, 1))
    low, high = shortest_interval(draws, 0.95)[0]
    assert low < 0.001
    assert high == pytest.approx(-np.log(0.05), rel=0.05)


def test_curves_step_follows_the_surest_model():
    table = np.array([[[[400.0, 300], [200, 100]], [[150, 50], [300, 500]]]])
    found = curves(table, np.array([[1.37, -0.16]]), np.array([0.01]), scaled=False)
    assert found.log_m[1] - found.log_m[0] == pytest.approx(0.004)
    assert found.likelihood.max() == 1.0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "jags"}, "'quadrature', 'nuts'"),
        ({"n_draws": 10}, "n_draws"),
        ({"chains": 0}, "chains"),
        ({"level": 1.0}, "level"),
        ({"meta_c": "free"}, "meta_c"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(OptionError, match=match):
        hierarchical_meta_d_from_counts([[5, 3, 2, 1]] * 2, [[1, 2, 3, 5]] * 2, **options)
