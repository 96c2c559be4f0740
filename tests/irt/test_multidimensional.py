"""Several abilities: exact optima, twins, properties, standard errors."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, ndtr

from psychollm._base.errors import ConvergenceWarning
from psychollm.estimates.reasons import Reason
from psychollm.factor.exploratory.rotate import rotate
from psychollm.irt.answers import patterns_of
from psychollm.irt.fit import fit_irt
from psychollm.irt.models import default_priors
from psychollm.irt.multidimensional import curvature as curvature_file
from psychollm.irt.multidimensional import (
    fit_multidimensional,
    multidimensional_ability,
)
from psychollm.irt.multidimensional.climb import climb, em_step
from psychollm.irt.multidimensional.curvature import errors_of_functions, information
from psychollm.irt.multidimensional.fit import exploratory_start
from psychollm.irt.multidimensional.population import SlopeCurves
from psychollm.irt.multidimensional.problem import Place, at, echelon, make_problem, pivots_of
from psychollm.irt.multidimensional.result import _matched
from psychollm.irt.multidimensional.scale import standardised
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.kernels.adaptive_rules import product_rule, quasi_random_rule
from tests.oracles import irt_multidimensional_slow as slow

SIX = np.arange(6) % 2 == np.arange(2)[:, None]
SIX = SIX.T  # items 0, 2, 4 on the first ability, the others on the second


def simulate(n, loads, *, slope=1.3, rho=0.4, seed=0, link="logit", gaps=0.0):
    rng = np.random.default_rng(seed)
    items, m = loads.shape
    slopes = loads * slope * rng.lognormal(0, 0.25, items)[:, None]
    intercepts = 0.8 * rng.normal(size=items)
    phi = np.full((m, m), rho)
    np.fill_diagonal(phi, 1.0)
    z = rng.normal(size=(n, m)) @ np.linalg.cholesky(phi).T @ slopes.T + intercepts
    curve = expit(z) if link == "logit" else ndtr(z)
    answers = (rng.random(z.shape) < curve).astype(float)
    answers[rng.random(z.shape) < gaps] = np.nan
    return answers, slopes, intercepts, phi


def problem_of(answers, loads, *, exploratory=False, link="logit", eta=0.0, sd=None):
    codes = np.where(np.isnan(answers), -1, answers).astype(np.int64)
    items, m = loads.shape
    free = np.column_stack([loads | exploratory, np.ones(items, dtype=bool)])
    precisions = np.zeros(m + 1) if sd is None else np.full(m + 1, sd**-2.0)
    return make_problem(
        patterns_of(codes, 2),
        free,
        link,
        exploratory=exploratory,
        correlated=True,
        means=np.zeros(m + 1),
        precisions=precisions,
        eta=eta,
    )


def evaluated(problem, place, nodes=31):
    m = problem.dimensions
    return at(problem, place, product_rule(nodes, m), np.zeros((problem.frequency.size, m)))


def test_exact_optimum():
    answers, *_ = simulate(300, SIX, slope=1.1)
    fit = fit_multidimensional(answers, SIX, priors=None)
    ours = np.concatenate([fit.slopes[SIX], fit.intercepts, [fit.factor_correlation[0, 1]]])
    exact, value = slow.maximum(answers, SIX, ours + 1e-3, slow.nodes_of(2))
    np.testing.assert_allclose(ours, exact, atol=1e-6)
    np.testing.assert_allclose(fit.log_likelihood, value, atol=1e-7)
    assert fit.convergence.converged
    assert fit.gradient < 1e-6


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("m", [2, 3])
def test_twin(link, gaps, m):
    loads = np.arange(7)[:, None] % m == np.arange(m)
    answers, slopes, intercepts, phi = simulate(
        12, loads, slope={2: 1.3, 3: 0.6}[m], seed=m, link=link, gaps=gaps
    )
    codes = np.where(np.isnan(answers), -1, answers).astype(np.int64)
    problem = problem_of(answers, loads, link=link)
    point = evaluated(
        problem, Place(np.column_stack([slopes, intercepts]), phi), 41 - 10 * (m - 2)
    )
    where = patterns_of(codes, 2).of_respondent
    rule = slow.nodes_of(m, {2: 61, 3: 31}[m])
    exact = slow.log_likelihoods(answers, slopes, intercepts, phi, rule, link)
    np.testing.assert_allclose(point.patterns[where], exact, atol=1e-6)
    for u in range(3):
        mean, covariance = slow.posterior_moments(answers[u], slopes, intercepts, phi, rule, link)
        np.testing.assert_allclose(point.mean[where[u]], mean, atol=1e-5)
        np.testing.assert_allclose(point.covariance[where[u]], covariance, atol=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("n", [120, 600])
def test_one_dimension_is_fit_irt(link, n):
    answers, *_ = simulate(n, np.ones((8, 1), dtype=bool), gaps=0.1)
    one = fit_irt(answers, link=link, priors=default_priors(["2pl"], link, n))
    fit = fit_multidimensional(answers, 1, link=link)
    np.testing.assert_allclose(fit.slopes[:, 0], one.slope, atol=1e-7)
    np.testing.assert_allclose(fit.intercepts, one.intercept, atol=1e-7)
    np.testing.assert_allclose(fit.se_slopes[:, 0], one.se_slope, rtol=1e-5)
    np.testing.assert_allclose(fit.se_intercepts, one.se_intercept, rtol=1e-5)
    np.testing.assert_allclose(fit.log_likelihood, one.log_likelihood, atol=1e-6)
    assert fit.n_parameters == one.n_parameters
    assert fit.aic == pytest.approx(one.aic, abs=1e-6)
    assert fit.priors == one.priors
    table = np.ones((8, 1))
    np.testing.assert_allclose(
        fit_multidimensional(answers, table, link=link).slopes, fit.slopes, atol=1e-7
    )


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("exploratory", [True, False])
def test_gradient_and_information(link, exploratory):
    answers, slopes, intercepts, phi = simulate(60, SIX, link=link, gaps=0.1)
    problem = problem_of(answers, SIX, exploratory=exploratory, link=link, eta=1.0, sd=0.7)
    if exploratory:
        phi = np.eye(2)
        slopes = slopes + 0.2
    place = Place(np.column_stack([slopes, intercepts]), phi)
    point = evaluated(problem, place)
    free = np.ones(point.gradient.size, dtype=bool)
    free[: problem.free.size] = problem.free.ravel()
    matrix = np.full((free.size, free.size), np.nan)
    for p in np.flatnonzero(free):
        step = np.zeros(free.size)
        step[p] = 1e-4
        up = evaluated(problem, place.moved(step, 1.0))
        down = evaluated(problem, place.moved(step, -1.0))
        slope = (up.objective - down.objective) / 2e-4
        np.testing.assert_allclose(point.gradient[p], slope, atol=2e-4)
        matrix[p] = (down.gradient - up.gradient) / 2e-4
    matrix = matrix[np.ix_(free, free)]
    if exploratory:  # singular along the rotation: compare the matrix, not its inverse
        matrix += np.eye(len(matrix))
        problem_ridge = problem_of(answers, SIX, exploratory=True, link=link, eta=1.0, sd=0.7)
        point.complete[:] += np.eye(3)
        found = information(problem_ridge, point, product_rule(21, 2))
    else:
        found = information(problem, point, product_rule(21, 2))
    inverse = found.inverse()[np.ix_(free, free)]
    np.testing.assert_allclose(inverse @ matrix, np.eye(len(matrix)), atol=2e-4)


@pytest.mark.parametrize("exploratory", [True, False])
def test_em_never_lowers_the_likelihood(exploratory):
    answers, *_ = simulate(300, SIX)
    problem = problem_of(answers, SIX, exploratory=exploratory)
    rng = np.random.default_rng(0)
    slopes = np.where(problem.free[:, :2], rng.uniform(0.5, 2, (6, 2)), 0.0)
    point = evaluated(problem, Place(np.column_stack([slopes, np.zeros(6)]), np.eye(2)), 21)
    for _ in range(15):
        after = evaluated(problem, em_step(problem, point, expand=False), 21)
        assert after.objective >= point.objective - 1e-9
        point = after
    start = exploratory_start(patterns_of(answers.astype(np.int64), 2), 2, "logit")
    path = climb(problem, start, points=None).em_objectives
    assert (np.diff(path) >= -1e-9 * abs(path[0])).all()


def test_rotation_leaves_the_likelihood():
    answers, slopes, intercepts, _ = simulate(200, SIX)
    problem = problem_of(answers, SIX, exploratory=True)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0]
    plain = evaluated(problem, Place(np.column_stack([slopes, intercepts]), np.eye(2)), 41)
    turned = evaluated(problem, Place(np.column_stack([slopes @ turn, intercepts]), np.eye(2)), 41)
    np.testing.assert_allclose(turned.log_likelihood, plain.log_likelihood, atol=1e-7)


@pytest.fixture(scope="module")
def explored():
    answers, *_ = simulate(800, np.arange(10)[:, None] % 2 == np.arange(2))
    return answers, fit_multidimensional(answers, 2)


@pytest.mark.parametrize("by", [rotate, partial(rotate, method="varimax")])
def test_rotated_fit(explored, by):
    answers, fit = explored
    turned = fit.rotated(by)
    shared = fit.loadings @ fit.loadings.T
    again = turned.loadings @ turned.factor_correlation @ turned.loadings.T
    np.testing.assert_allclose(again, shared, atol=1e-10)
    np.testing.assert_allclose(turned.communalities, fit.communalities, atol=1e-10)
    np.testing.assert_allclose(turned.discrimination, fit.discrimination, atol=1e-10)
    np.testing.assert_allclose(turned.difficulty, fit.difficulty, atol=1e-10)
    oblique = turned.rotation == "oblimin"
    assert np.isfinite(turned.se_slopes).all()
    assert (turned.se_factor_correlation[0, 1] > 0.01) == oblique
    place = Place(turned.parameters.copy(), turned.factor_correlation.copy())
    problem = problem_of(answers, np.ones((10, 2), dtype=bool))
    value = evaluated(problem, place).log_likelihood
    np.testing.assert_allclose(value, fit.log_likelihood, atol=1e-5)
    mine, theirs = (
        multidimensional_ability(turned, answers),
        multidimensional_ability(fit, answers),
    )
    spread = np.einsum(
        "nk,kl,nl->n", mine.ability, np.linalg.inv(turned.factor_correlation), mine.ability
    )
    np.testing.assert_allclose(spread, (theirs.ability**2).sum(axis=1), atol=1e-4)


def test_errors_of_rotated_slopes_do_not_depend_on_the_pivots(explored):
    answers, fit = explored
    problem = problem_of(answers, np.ones((10, 2), dtype=bool), exploratory=True)
    assert fit.pivots
    assert np.count_nonzero(fit.slopes == 0.0) == 1
    names = [label for label in fit.labels if label not in fit.pivots]
    kept = [fit.labels.index(label) for label in names]
    other = fit_multidimensional(answers[:, kept], 2)
    assert set(other.pivots) <= set(range(len(kept)))
    # Other items, hence other pivots; the errors of what both share are alike, not equal.
    both = fit.rotated(rotate).se_slopes[kept], other.rotated(rotate).se_slopes
    assert np.nanmax(np.abs(np.log(both[0] / both[1]))) < 1.0
    assert problem.n_parameters == fit.n_parameters


def test_exploratory_rotated_finds_the_truth(explored):
    answers, fit = explored
    turned = fit.rotated(rotate)
    loads = np.arange(10)[:, None] % 2 == np.arange(2)
    confirmed = fit_multidimensional(answers, loads)
    order = [0, 1] if abs(turned.slopes[0, 0]) > abs(turned.slopes[0, 1]) else [1, 0]
    gap = (turned.slopes[:, order] - confirmed.slopes)[loads]
    assert np.abs(gap).max() < 0.35
    gap = turned.factor_correlation[0, 1] - confirmed.factor_correlation[0, 1]
    assert abs(gap) < 0.15
    assert fit.log_likelihood > confirmed.log_likelihood


def test_flipping_an_item_flips_its_slopes():
    answers, *_ = simulate(400, SIX)
    flipped = answers.copy()
    flipped[:, 2] = 1 - flipped[:, 2]
    one, other = (fit_multidimensional(a, SIX, priors=None) for a in (answers, flipped))
    signs = np.array([1, 1, -1, 1, 1, 1])
    np.testing.assert_allclose(other.slopes, one.slopes * signs[:, None], atol=1e-6)
    np.testing.assert_allclose(other.intercepts, one.intercepts * signs, atol=1e-6)
    np.testing.assert_allclose(other.factor_correlation, one.factor_correlation, atol=1e-6)


def test_both_readings_and_order():
    answers, *_ = simulate(300, SIX, gaps=0.1)
    one = fit_multidimensional(answers, SIX)
    other = fit_multidimensional(answers.T, SIX, respondents="questions")
    np.testing.assert_allclose(other.slopes, one.slopes, atol=1e-9)
    order = np.random.default_rng(0).permutation(300)
    again = fit_multidimensional(answers[order], SIX)
    np.testing.assert_allclose(again.slopes, one.slopes, atol=1e-7)


def test_quasi_random_agrees_with_quadrature():
    answers, *_ = simulate(400, SIX)
    exact = fit_multidimensional(answers, SIX)
    drawn = fit_multidimensional(answers, SIX, integration="quasi_random", n_points=256)
    assert drawn.integration == "quasi_random"
    gap = (drawn.slopes - exact.slopes)[SIX] / exact.se_slopes[SIX]
    assert np.abs(gap).max() < 3 * drawn.integration_error < 0.6
    assert abs(drawn.log_likelihood - exact.log_likelihood) < 0.5
    np.testing.assert_allclose(drawn.se_slopes[SIX], exact.se_slopes[SIX], rtol=0.05)


def test_rules():
    points, log_weights, used, step = quasi_random_rule(256, 3, 50, shift=2)
    assert (used, step, points.shape) == (256, 256, (256 * 50, 3))
    density = np.exp(log_weights - 0.5 * (points**2).sum(axis=1))
    moments = (points**2 * density[:, None]).sum(axis=0) / 50
    np.testing.assert_allclose(moments, 1.0, atol=0.01)
    np.testing.assert_allclose(points[::2], -points[1::2])
    points, log_weights, _, _ = product_rule(7, 3)
    density = np.exp(log_weights - 0.5 * (points**2).sum(axis=1))
    np.testing.assert_allclose((points**4).T @ density, 3.0, atol=1e-9)


def test_information_without_the_matrix(monkeypatch):
    loads = np.arange(40)[:, None] % 2 == np.arange(2)
    answers, *_ = simulate(10, loads)
    problem = problem_of(answers, loads, eta=1.0, sd=0.5)
    place = Place(np.column_stack([loads * 0.7, np.zeros(40)]), np.eye(2))
    point = climb(problem, place, points=None).point
    rule = product_rule(3, 2)
    dense = information(problem, point, rule)
    monkeypatch.setattr(curvature_file, "DENSE", 10)
    few = information(problem, point, rule)
    step = np.append(problem.free.ravel(), True) * np.random.default_rng(0).normal(size=121)
    np.testing.assert_allclose(few.solve(step), dense.solve(step), atol=1e-10)
    blocks, end = few.blocks()
    full = dense.inverse()
    np.testing.assert_allclose(blocks[3], full[9:12, 9:12], atol=1e-12)
    np.testing.assert_allclose(end, full[-1:, -1:], atol=1e-12)
    fit = fit_multidimensional(answers, 2).rotated(rotate)
    assert fit.convergence.converged
    assert np.isfinite(fit.slopes[fit.fitted]).all()


def test_bifactor():
    loads = np.column_stack([np.ones(9), np.arange(9) < 4]).astype(bool)
    rng = np.random.default_rng(3)
    slopes = np.where(loads, 1.2, 0.0)
    z = rng.normal(size=(1500, 2)) @ slopes.T
    fit = fit_multidimensional(rng.random(z.shape) < expit(z), loads, correlated=False)
    assert fit.convergence.converged
    np.testing.assert_allclose(fit.factor_correlation, np.eye(2))
    assert (np.abs(fit.slopes - slopes)[loads] < 5 * fit.se_slopes[loads]).all()


def test_recovery():
    loads = np.arange(12)[:, None] % 2 == np.arange(2)
    answers, slopes, intercepts, phi = simulate(3000, loads, seed=5)
    fit = fit_multidimensional(answers, loads)
    # 12 slopes, 12 intercepts, 1 correlation: all within 4 standard errors but once in 600 runs.
    assert (np.abs(fit.slopes - slopes)[loads] < 4 * fit.se_slopes[loads]).all()
    assert (np.abs(fit.intercepts - intercepts) < 4 * fit.se_intercepts).all()
    assert abs(fit.factor_correlation[0, 1] - phi[0, 1]) < 4 * fit.se_factor_correlation[0, 1]
    loadings, thresholds = standardised(np.column_stack([slopes, intercepts]), phi, "logit")
    assert (np.abs(fit.loadings - loadings)[loads] < 4 * fit.se_loadings[loads]).all()
    np.testing.assert_allclose(fit.thresholds, thresholds, atol=0.1)


def test_priors_of_a_fit_to_few_models():
    answers, *_ = simulate(25, np.arange(14)[:, None] % 2 == np.arange(2), seed=2)
    fit = fit_multidimensional(answers, 2)
    assert fit.priors == Priors(slope=(0.0, 1.25), intercept=(0.0, 2.5))
    assert fit.convergence.converged
    assert np.isfinite(fit.slopes).all()
    assert "fixed priors conflict with this scale" in fit.summary()
    loads = np.arange(14)[:, None] % 2 == np.arange(2)
    assert isinstance(fit_multidimensional(answers, loads).priors, ItemPopulation)
    confirmed = fit_multidimensional(answers[:, :8], loads[:8])
    assert confirmed.correlation_prior == 1.0
    assert abs(confirmed.factor_correlation[0, 1]) < 1.0
    assert "|Phi|^1" in confirmed.summary()


@pytest.mark.parametrize("integration", ["quadrature", "quasi_random"])
def test_a_limit_of_steps_is_kept_and_said(integration, simulated):
    answers = simulated(200, np.linspace(0.8, 1.5, 6), np.linspace(-1, 1, 6), 3)
    with pytest.warns(ConvergenceWarning, match="max_iterations=4 was reached"):
        fit = fit_multidimensional(
            answers, 2, integration=integration, n_points=32, max_iterations=4
        )
    assert fit.convergence.iterations <= 6  # a cycle of EM is three


def test_pivots_point_in_different_directions_and_become_triangular():
    slopes = np.array([[1.0, 1.0, 0.0], [1.0, 1.1, 0.0], [0.0, 1.0, 0.0]])
    assert pivots_of(Place(slopes, np.eye(2))).tolist() == [1, 2]
    turned = echelon(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0, 1]))
    assert turned.round(3).tolist() == [[1.414, 0.0, 0.0], [0.707, 0.707, 0.0]]


def test_columns_take_order_and_signs_of_a_model():
    matched = _matched(np.array([[0.0, 1.0], [-1.0, 0.5]]), np.eye(2))
    assert matched.round(1).tolist() == [[1.0, 0.0], [0.5, 1.0]]


def test_errors_of_functions():
    errors = errors_of_functions(np.ones((1, 2)), np.eye(2), np.array([True, True]))
    np.testing.assert_allclose(errors, [1.41421356])


def test_few_respondents_are_on_the_scale_stated():
    rng = np.random.default_rng(4)
    own = (np.arange(120) >= 60).astype(int)
    theta = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.4], [0.4, 1.0]], size=30)
    theta = (theta - theta.mean(axis=0)) / theta.std(axis=0)
    slope, difficulty = rng.lognormal(0.0, 0.35, 120), rng.normal(size=120)
    z = slope * (theta[:, own] - difficulty)
    answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    answers[:, 0] = 1.0
    fit = fit_multidimensional(answers, np.eye(2)[own])
    assert fit.scale == "respondents"
    assert fit.convergence.converged
    assert fit.integration_error < 0.01
    assert fit.reasons[0] is Reason.PRIOR_ALONE
    found, se = fit.slopes[np.arange(120), own], fit.se_slopes[np.arange(120), own]
    assert (fit.slopes[np.arange(120), 1 - own] == 0.0).all()
    assert 0.85 < np.median(found / slope) < 1.15
    # 119 intervals: more than five standard errors of a coverage of 0.95
    assert np.mean((np.abs(found - slope) < 1.96 * se)[1:]) > 0.85
    scored = multidimensional_ability(fit, answers)
    assert scored.ability.std(axis=0) == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.abs(scored.ability - theta) < 1.96 * scored.se) > 0.8
    true = np.corrcoef(theta.T)[0, 1]
    assert fit.factor_correlation[0, 1] == pytest.approx(true, abs=0.2)


def test_coordinates_of_several_slopes():
    rng = np.random.default_rng(7)
    free = np.array([[True, False], [False, True], [True, True]])
    curves = SlopeCurves(free, 0.25)
    items = np.column_stack([np.where(free, rng.lognormal(size=(3, 2)), 0.5), rng.normal(size=3)])
    place = curves.of(items)
    shown = items.copy()
    shown[:, :-1] *= free
    np.testing.assert_allclose(curves.parameters(place, np.nan), shown, rtol=1e-12)
    step = 1e-6
    for k in range(3):
        away = np.eye(3)[k] * step
        ends = [curves.parameters(place + sign * away, np.nan) for sign in (1.0, -1.0)]
        change = (ends[0] - ends[1]) / (2.0 * step)
        np.testing.assert_allclose(change, curves.jacobian(place)[:, :, k], atol=1e-8)
    mean, sd = np.array([0.3, -0.2]), np.array([1.2, 0.8])
    moved, turn = curves.rescaled(place, np.nan, mean, sd)
    theta = rng.normal(size=(5, 2))
    before, after = curves.parameters(place, np.nan), curves.parameters(moved, np.nan)
    expected = (mean + sd * theta) @ before[:, :-1].T + before[:, -1]
    np.testing.assert_allclose(theta @ after[:, :-1].T + after[:, -1], expected, atol=1e-12)
    for k in range(3):
        away = np.eye(3)[k] * step
        ends = [curves.rescaled(place + sign * away, np.nan, mean, sd)[0] for sign in (1.0, -1.0)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), turn[:, :, k], atol=1e-8)
