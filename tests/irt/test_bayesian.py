"""The Bayesian 2PL without PyMC: kernel, normal approximation, importance sampling, checks."""

import numpy as np
import pytest

from psychollm._base.errors import (
    CodeError,
    ConvergenceWarning,
    MissingPackageError,
    OptionError,
    ShapeError,
)
from psychollm.estimates.reasons import Reason
from psychollm.irt.bayes.bayesian import bayesian_2pl, build_model
from psychollm.irt.bayes.laplace import centring, find_mode
from psychollm.irt.bayes.predictive import predictive_check
from psychollm.irt.bayes.target import (
    HierarchicalPriors,
    Target,
    answers_of,
    grouping,
    structure_of,
)
from psychollm.irt.fit import fit_irt
from psychollm.irt.priors import Priors
from psychollm.kernels.irt_marginal import LOGIT, PROBIT, draw_abilities, marginal_gradient
from psychollm.kernels.quadrature import normal_grid
from tests.oracles.irt_marginal_slow import marginal, posterior_moments

FAMILIES = [0, 1, 2] * 8


def target_of(codes, *, families=None, domains=None, link="logit", priors=None, n=61):
    codes = np.asarray(codes)
    families = grouping("families", families, tuple(range(codes.shape[0])))
    domains = grouping("domains", domains, tuple(range(codes.shape[1])))
    priors = priors or HierarchicalPriors()
    structure = structure_of(codes.shape[1], families, domains, priors, link)
    answers = answers_of(codes, families)
    return Target(answers, families, domains, priors, link, structure, *normal_grid(n))


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(5)
    table = rng.integers(0, 2, (24, 5))
    table[rng.random(table.shape) < 0.1] = -1
    return table


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("families", [None, FAMILIES])
def test_likelihood_is_that_of_the_slow_twin(codes, link, families):
    target = target_of(codes, families=families, link=link)
    x = np.random.default_rng(1).normal(0.0, 0.6, (2, target.structure.size))
    slope, intercept, mean = target.split(x)
    found = target.pattern_log_likelihood(x)[:, target.answers.of_respondent]
    for s in range(2):
        parts = (slope[s], intercept[s], mean[s], target.nodes, np.exp(target.log_weights))
        slow = marginal(codes, target.families.of, *parts, link)
        np.testing.assert_allclose(found[s], slow, rtol=1e-12)
    np.testing.assert_allclose(target.log_likelihood(x), found.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_is_that_of_differences(codes, link):
    target = target_of(codes, families=FAMILIES, link=link)
    x = np.random.default_rng(2).normal(0.0, 0.6, target.structure.size)
    value, slope = target.gradient(x)
    assert value == pytest.approx(target.log_likelihood(x[None])[0], rel=1e-13)
    unit = 1e-5 * np.eye(x.size)
    differences = (target.log_likelihood(x + unit) - target.log_likelihood(x - unit)) / 2e-5
    np.testing.assert_allclose(slope, differences, atol=2e-7)


def test_abilities_come_from_their_exact_conditional(codes):
    target = target_of(codes, families=FAMILIES)
    x = np.repeat(
        np.random.default_rng(3).normal(0.0, 0.6, (1, target.structure.size)), 4_000, axis=0
    )
    of = target.answers.of_respondent
    rows = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[rows], np.arange(target.answers.codes.shape[0] + 1))
    uniform = np.random.default_rng(4).random((4_000, of.size))
    ability = np.empty_like(uniform)
    parts = target.split(x)
    draw_abilities(*parts, target.grid, (starts, rows), uniform, ability)
    weights = np.exp(target.log_weights)
    for i in range(0, 24, 5):
        shift = parts[2][0, target.families.of[i]]
        items = (parts[0][0], parts[1][0], target.nodes, weights, "logit")
        mean, variance = posterior_moments(codes[i], shift, *items)
        # Five standard errors: a false alarm in less than one of a million runs.
        assert ability[:, i].mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 4_000))
        assert ability[:, i].var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 4_000) + 0.01)


def test_prior_density_is_normalised_and_drawn_from():
    structure = target_of(
        np.eye(4, dtype=int)[[0, 1, 2, 3, 0, 1]], families=list("aabbcc"), domains=list("xxyy")
    ).structure
    x, h = structure.draw(3, np.random.default_rng(0))
    sd = structure.sd(h)
    from scipy.stats import halfnorm, norm

    mean = structure.m - x @ (structure.a - np.eye(structure.size)).T
    expected = norm.logpdf(x, mean, sd).sum(axis=1)
    expected += (halfnorm.logpdf(np.exp(h), scale=structure.scales) + h).sum(axis=1)
    np.testing.assert_allclose(structure.log_prior(x, h), expected, rtol=1e-12)


def test_mode_under_normal_priors_is_that_of_fit_irt(data_of):
    answers = data_of("lsat7")
    priors = HierarchicalPriors(log_slope=None, slope=(1.0, 0.75), intercept=(0.0, 2.5))
    target = target_of(answers, priors=priors)
    mode = find_mode(target)
    fit = fit_irt(answers, priors=Priors(slope=(1.0, 0.75), intercept=(0.0, 2.5)))
    np.testing.assert_allclose(mode.x, np.concatenate([fit.slope, fit.intercept]), atol=2e-4)
    # The normal approximation has the covariance that the fit has.
    precision = mode.information + target.structure.precision(mode.h)[0]
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose(sd, np.concatenate([fit.se_slope, fit.se_intercept]), rtol=2e-3)


def test_posterior_of_one_item_is_that_of_a_grid():
    """Two parameters can be summed over a grid: what importance sampling must agree with."""
    codes = np.random.default_rng(6).integers(0, 2, (40, 2))
    priors = HierarchicalPriors(log_slope=(0.0, 0.4), intercept=(0.3, 0.8))
    target = target_of(codes[:, :1], priors=priors, n=61)
    a, d = np.meshgrid(np.linspace(-2.5, 2.5, 201), np.linspace(-3.0, 3.0, 201))
    x = np.column_stack([a.ravel(), d.ravel()])
    log_density = target.log_likelihood(x) + target.structure.log_prior(x, np.empty((len(x), 0)))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = weight @ x
    sd = np.sqrt(weight @ (x - mean) ** 2)
    found = bayesian_2pl(codes[:, :1], priors=priors, n_draws=4_000, rng=0)
    drawn = np.array([np.log(found.slope.draws).mean(), found.intercept.draws.mean()])
    np.testing.assert_allclose(drawn, mean, atol=5 * sd.max() / np.sqrt(2_000))
    assert np.log(found.slope.draws).std() == pytest.approx(sd[0], rel=0.08)
    assert found.pareto_k < 0.5


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(8)
    families = np.arange(240) % 3
    z = rng.normal(size=240) + np.array([-0.8, 0.0, 0.8])[families]
    slope, intercept = np.exp(rng.normal(0.2, 0.3, 8)), rng.normal(size=8)
    answers = rng.random((240, 8)) < 1.0 / (1.0 + np.exp(-(np.outer(z, slope) + intercept)))
    answers = answers.astype(float)
    answers[rng.random(answers.shape) < 0.03] = np.nan
    table = np.column_stack([answers, np.ones(240)])
    found = bayesian_2pl(
        table,
        families=[f"family {k}" for k in families],
        domains=["maths"] * 5 + ["law"] * 4,
        n_draws=1_000,
        rng=0,
    )
    return table, (slope, intercept), found


def test_groups_are_recovered(grouped):
    _, (slope, intercept), found = grouped
    assert found.convergence.converged
    assert found.pareto_k < 0.7
    gap = found.family.value - [-0.8, 0.0, 0.8]
    assert (np.abs(gap) < 4 * found.family.se).all()
    np.testing.assert_allclose(found.family.draws.sum(axis=1), 0.0, atol=1e-12)
    for estimate, truth in ((found.slope, slope), (found.intercept, intercept)):
        assert (np.abs(estimate.value[:8] - truth) < 4 * estimate.se[:8]).all()


def test_items_that_do_not_vary_have_no_number(grouped):
    found = grouped[2]
    assert found.reasons[8] is Reason.CONSTANT_ITEM
    for estimate in (found.slope, found.intercept, found.difficulty):
        assert np.isnan(estimate.value[8])
        assert estimate.flags[8] is Reason.CONSTANT_ITEM
    assert not found.fitted[8]


def test_result_in_words_and_tables(grouped):
    found = grouped[2]
    frame = found.to_frame()
    assert list(frame["item"]) == list(range(9))
    assert len(found.parameters) == 8 * 2 + 3 + 5 == found.effective_size.size
    assert "Pareto k" in found.summary()
    assert "'family 2'" in found.summary()
    assert found.domain_slope.labels == ("maths", "law")
    assert found.scale.labels[-1] == "sd_families"
    assert found.loo.summary().startswith("Expected log predictive density")
    assert len(found.loo.to_frame()) == 240
    assert found.to_dict()["method"] == "laplace"


def test_same_seed_same_draws(grouped):
    answers = grouped[0][:80]
    first, second = (bayesian_2pl(answers, n_draws=200, rng=3) for _ in range(2))
    np.testing.assert_array_equal(first.slope.draws, second.slope.draws)
    np.testing.assert_array_equal(first.ability.draws, second.ability.draws)


def test_predictive_checks(grouped):
    check = predictive_check(grouped[2], n=100, rng=0)
    assert len(check.to_frame()) == 18
    inside = (check.observed >= check.interval[:, 0]) & (check.observed <= check.interval[:, 1])
    assert inside.mean() > 0.8
    assert "replicates" in check.summary()
    prior = predictive_check(grouped[2], kind="prior", n=100, rng=0)
    assert np.ptp(prior.interval, axis=1).mean() > 2 * np.ptp(check.interval, axis=1).mean()


def test_miskeyed_item_shows_under_free_slopes():
    rng = np.random.default_rng(1)
    answers = rng.random((300, 6)) < 1.0 / (1.0 + np.exp(-1.5 * rng.normal(size=(300, 1))))
    answers[:, 2] = ~answers[:, 2]
    found = bayesian_2pl(answers, priors=HierarchicalPriors(log_slope=None), n_draws=500, rng=0)
    assert found.slope.interval[2, 1] < 0.0
    assert (np.delete(found.slope.interval[:, 0], 2) > 0.0).all()


def test_long_tests_get_more_nodes():
    rng = np.random.default_rng(2)
    answers = rng.random((12, 150)) < 1.0 / (1.0 + np.exp(-3.0 * rng.normal(size=(12, 1))))
    with pytest.warns(ConvergenceWarning, match="method='nuts'"):
        found = bayesian_2pl(answers, n_draws=100, rng=0)
    assert found.n_nodes > 150


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "vi"}, OptionError),
        ({"link": "cauchit"}, OptionError),
        ({"n_draws": 5}, OptionError),
        ({"priors": 3}, OptionError),
        ({"families": [1, 2]}, ShapeError),
        ({"domains": [1]}, ShapeError),
    ],
)
def test_bad_options(options, error):
    answers = np.random.default_rng(0).integers(0, 2, (30, 3))
    with pytest.raises(error):
        bayesian_2pl(answers, **options)


def test_bad_answers():
    with pytest.raises(CodeError):
        bayesian_2pl([[0, 2], [1, 1]])
    with pytest.raises(ShapeError):
        bayesian_2pl(np.ones((5, 3), dtype=int))


def test_pymc_is_named_where_it_is_missing():
    pymc_there = True
    try:
        import pymc  # noqa: F401
    except ImportError:
        pymc_there = False
    if pymc_there:
        pytest.skip("PyMC is installed")
    with pytest.raises(MissingPackageError, match=r"psychollm\[bayes\]"):
        build_model(np.random.default_rng(0).integers(0, 2, (30, 3)))


def test_more_items_than_are_drawn_jointly_are_refused_with_a_way_out():
    codes = np.random.default_rng(0).integers(0, 2, (12, 2_100))
    with pytest.raises(ShapeError, match="respondents='questions'"):
        bayesian_2pl(codes)


def test_items_of_domains_are_centred_as_far_as_data_know_them():
    rng = np.random.default_rng(4)
    shares = []
    for n in (20, 2_000):
        z = rng.normal(size=(n, 1)) + rng.normal(0.0, 2.0, 6)
        codes = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)
        target = target_of(codes, domains=[0, 0, 0, 1, 1, 1])
        shares.append(centring(target, find_mode(target)))
        assert {name: c.shape for name, c in shares[-1].items()} == {
            "slope": (6,),
            "intercept": (6,),
        }
    for name, few in shares[0].items():
        assert ((few >= 0.0) & (few < 1.0)).all()
        assert np.median(shares[1][name]) > np.median(few)
    assert centring(target_of(codes), find_mode(target_of(codes))) == {}


@pytest.mark.parametrize("link", [LOGIT, PROBIT])
def test_no_likelihood_exceeds_one_however_far_a_sampler_strays(link):
    """What nearly cancels must not leave noise: slopes of 1e30 once gave +1e17."""
    starts, yes = np.array([0, 2]), np.array([0, 1])
    none = np.array([0, 0]), np.empty(0, dtype=np.int64)
    data = (starts, yes, *none, np.array([5.0]), np.array([0, 1]))
    nodes = np.linspace(-5.0, 5.0, 41)
    log_weights = -0.5 * nodes**2
    grid = (data, nodes, log_weights - np.log(np.exp(log_weights).sum()), link)
    for size in (1e13, 1e30):
        by_a, by_d, by_mu = np.empty(3), np.empty(3), np.empty(1)
        a, d = size * np.array([1.0, 0.33, -2.1]), np.array([430.0, -646.0, 12.0])
        value = marginal_gradient(a, d, np.zeros(1), grid, by_a, by_d, by_mu)
        assert value <= 1e-6
        assert np.isfinite(by_a).all()
