"""Items whose distribution is estimated with them: the scale stated is the scale estimated."""

import warnings

import numpy as np
import pytest

from psychollm._base.errors import ConvergenceWarning
from psychollm.estimates.reasons import Reason
from psychollm.irt import item_population as round_of_items
from psychollm.irt.ability import ability
from psychollm.irt.answers import patterns_of
from psychollm.irt.families import Dichotomous
from psychollm.irt.fit import fit_irt
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.item_coordinates import turns
from psychollm.irt.likelihood import COARSE, grid_for
from psychollm.irt.models import family_of, family_of_items, item_population
from psychollm.irt.one_ability import ItemCurves, OneAbility
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.kernels.item_posteriors import DAMPING, find_roots, turn_covariances
from tests.oracles import item_population_slow as slow


def drawn(n, items, seed):
    """Return abilities with mean 0 and SD 1, slopes, intercepts, answers."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    theta = (theta - theta.mean()) / theta.std()
    slope, difficulty = rng.lognormal(0.0, 0.35, items), rng.normal(size=items)
    chance = 1.0 / (1.0 + np.exp(-slope * (theta[:, None] - difficulty)))
    return theta, slope, -slope * difficulty, (rng.random(chance.shape) < chance).astype(float)


def test_the_scale_stated_is_the_scale_estimated():
    theta, slope, intercept, answers = drawn(30, 300, 1)
    fit = fit_irt(answers)
    found = ability(fit, answers)
    assert fit.convergence.converged
    assert fit.posterior_sd == pytest.approx(1.0, abs=0.02)
    assert found.ability.std() == pytest.approx(1.0, abs=0.05)
    assert 0.9 < np.median(fit.slope / slope) < 1.1
    # 300 intervals: more than five standard errors of a coverage of 0.95
    assert np.mean(np.abs(fit.slope - slope) < 1.96 * fit.se_slope) > 0.88
    assert np.mean(np.abs(fit.intercept - intercept) < 1.96 * fit.se_intercept) > 0.88
    assert np.abs(found.ability - theta).max() < 5 * found.se.max()
    assert fit.scale == "respondents"


@pytest.mark.parametrize(("items", "kind"), [(4, Priors), (9, Priors), (10, ItemPopulation)])
def test_few_items_have_no_distribution_to_estimate(items, kind, simulated):
    # with four, slopes and the spread of abilities could slip to zero without end
    fit = fit_irt(simulated(30, np.ones(items), np.zeros(items), 7))
    assert fit.convergence.converged
    assert isinstance(fit.priors, kind)


def test_a_wrong_key_shows():
    _, _, _, answers = drawn(100, 200, 2)
    answers[:, 7] = 1.0 - answers[:, 7]
    fit = fit_irt(answers)
    assert fit.slope[7] < 0.0
    assert (np.delete(fit.slope, 7) > 0.0).mean() > 0.98


@pytest.mark.parametrize("model", ["rasch", "1plg", "2pl", "3pl"])
def test_items_that_do_not_vary_rest_on_the_prior(model):
    _, _, _, answers = drawn(14, 80, 3)
    answers[:, 0], answers[:, 1], answers[:, 2] = 1.0, 0.0, np.nan
    fit = fit_irt(answers, model=model)
    assert all(reason is Reason.PRIOR_ALONE for reason in fit.reasons[:3])
    assert np.isfinite(fit.se_intercept[:3]).all()
    assert fit.intercept[0] > fit.intercept[2] > fit.intercept[1]
    assert fit.se_intercept[2] > np.median(fit.se_intercept[3:])
    assert "depend on the prior" in fit.summary()
    nowhere = answers.copy()
    nowhere[0, 0] = 0.0  # the only model to miss an item that all others solve
    assert ability(fit, nowhere).ability[0] < ability(fit, answers).ability[0]


def test_order_does_not_matter():
    _, _, _, answers = drawn(20, 60, 4)
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(20), rng.permutation(60)
    one, two = fit_irt(answers), fit_irt(answers[rows][:, columns])
    np.testing.assert_allclose(two.slope, one.slope[columns], rtol=1e-9)
    np.testing.assert_allclose(two.se_slope, one.se_slope[columns], rtol=1e-8)


def test_probit_is_logit_in_other_units():
    _, _, _, answers = drawn(40, 200, 6)
    logit, probit = fit_irt(answers), fit_irt(answers, link="probit")
    ratio = np.median(logit.slope / probit.slope)
    assert 1.6 < ratio < 1.85


YES_OR_NO_ITEMS = [[1.3, 0.4, -1.0, 2.0], [1.3, -2.0, -1.5, 3.0]]
ITEMS = {
    **dict.fromkeys(("rasch", "1plg", "2pl", "3pl", "4pl"), YES_OR_NO_ITEMS),
    "graded": [[1.3, 2.0, 0.4, -1.0], [0.4, 0.5, 0.2, -2.0]],
    "gpcm": [[1.3, 2.0, 0.4, -1.0], [0.4, -0.5, 0.2, 1.0]],
    "nominal": [[0.5, 1.0, 2.0, 0.3, 0.1, -1.0], [-0.5, 1.0, -2.0, 0.3, 0.1, -1.0]],
}


@pytest.mark.parametrize("model", ITEMS)
def test_coordinates_go_there_and_back(model):
    family = family_of(model, "logit", 4)
    items = np.array(ITEMS[model])[:, : len(family.names)]
    way = family.coordinates
    place = way.of(items)
    assert len(way.names) == place.shape[1]
    np.testing.assert_allclose(way.parameters(place, 1.3), items, rtol=1e-12)
    step = 1e-6
    for k in range(place.shape[1]):
        away = np.zeros(place.shape[1])
        away[k] = step
        change = way.parameters(place + away, 1.3) - way.parameters(place - away, 1.3)
        expected = way.jacobian(place)[:, :, k]
        np.testing.assert_allclose(change[:, way.first :] / (2 * step), expected, atol=1e-8)


@pytest.mark.parametrize("model", ["graded", "gpcm", "nominal"])
@pytest.mark.parametrize("codes", [(0, 1, 2, 3), (0, 1, 3), (1, 2, 3), (0, 2)])
def test_an_item_with_some_of_the_answers_is_one_with_all(model, codes):
    whole = family_of(model, "logit", 4)
    items, nodes = np.array(ITEMS[model]), np.linspace(-2.0, 2.0, 5)
    codes = np.array(codes)
    own = family_of(model, "logit", codes.size, tuple(codes.tolist()))
    curves = np.exp(own.log_probabilities(items @ whole.restriction(codes).T, nodes))
    every = np.exp(whole.log_probabilities(items, nodes))
    if model == "graded":  # answers left out are those of the one below
        below = np.searchsorted(codes, np.arange(4), side="right") - 1
        expected = np.stack(
            [every[:, np.maximum(below, 0) == k].sum(axis=1) for k in range(len(codes))], 1
        )
    else:  # odds of the others stay as they are
        expected = every[:, codes] / every[:, codes].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(curves, expected, rtol=1e-10)


@pytest.mark.parametrize("model", [*ITEMS, "mixed"])
def test_gradients_are_those_of_all_moments(model):
    rng = np.random.default_rng(3)
    if model == "mixed":
        family = family_of_items(["graded", "graded"], "logit", [(0, 1, 2, 3), (0, 2)], 4)
        items = np.array([[1.3, 2.0, 0.4, -1.0], [0.4, 0.5, 0.0, 0.0]])
    else:
        family = family_of(model, "logit", 4)
        items = np.array(ITEMS[model])[:, : len(family.names)]
    counts = rng.random((2, family.n_categories, 7))
    nodes = np.linspace(-2.0, 2.0, 7)
    expected = family.moments(items, nodes, counts)[0]
    np.testing.assert_allclose(family.gradient(items, nodes, counts), expected, atol=1e-12)


def several_answers(n, items, seed):
    """Return abilities with mean 0 and SD 1, slopes, intercepts of steps, graded answers."""
    theta, slope, intercept, _ = drawn(n, items, seed)
    steps = intercept[:, None] + [0.9, 0.0, -0.9]
    chance = 1.0 / (1.0 + np.exp(-slope[:, None] * theta[:, None, None] - steps))
    rng = np.random.default_rng([seed, 1])
    return theta, slope, steps, (rng.random((n, items, 1)) < chance).sum(axis=2).astype(float)


def test_several_answers_are_on_the_scale_stated():
    theta, slope, steps, answers = several_answers(30, 150, 1)
    fit = fit_irt(answers, model="graded")
    found = ability(fit, answers)
    assert isinstance(fit.priors, ItemPopulation)
    assert fit.convergence.converged
    assert fit.posterior_sd == pytest.approx(1.0, abs=0.02)
    assert found.ability.std() == pytest.approx(1.0, abs=0.05)
    assert 0.9 < np.median(fit.slope / slope) < 1.1
    known = np.isfinite(fit.se_steps)
    assert known.mean() > 0.8
    # 150 intervals: more than five standard errors of a coverage of 0.95
    assert np.mean(np.abs(fit.slope - slope) < 1.96 * fit.se_slope) > 0.86
    assert np.mean((np.abs(fit.steps - steps) < 1.96 * fit.se_steps)[known]) > 0.86
    assert np.abs(found.ability - theta).max() < 5 * found.se.max()
    assert "gap" in fit.summary()


@pytest.mark.parametrize("model", ["graded", "gpcm", "nominal"])
def test_items_of_several_answers_rest_on_the_prior_where_they_do_not_vary(model):
    _, _, _, answers = several_answers(20, 40, 3)
    answers[:, 0], answers[:, 1], answers[:, 2] = 3.0, 0.0, np.nan
    fit = fit_irt(answers, model=model)
    assert fit.convergence.converged
    assert all(reason is Reason.PRIOR_ALONE for reason in fit.reasons[:3])
    assert np.isfinite(fit.steps[:3]).all()
    assert fit.intercept[0] > fit.intercept[2] > fit.intercept[1]
    again = ability(fit, answers)
    assert np.isfinite(again.ability).all()


def test_the_summary_says_where_simulations_found_bias_or_too_little_coverage():
    _, _, _, few = drawn(15, 60, 8)
    _, _, _, more = drawn(30, 60, 8)
    assert "Slopes are about 5 % too large" in fit_irt(few).summary()
    assert "too large" not in fit_irt(few, model="rasch").summary()
    assert "too large" not in fit_irt(more).summary()
    assert "93 % for intercepts" in fit_irt(more, model="3pl").summary()
    assert "coverage" not in fit_irt(more).summary()


def test_difficulties_further_apart_than_answers_can_tell_are_named():
    rng = np.random.default_rng(9)
    z = 0.2 * rng.normal(size=(14, 1)) + rng.normal(3.0, 3.0, size=200)
    answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_irt(answers, max_iterations=60)
    assert (~fit.fitted).mean() > 0.3
    assert "do not report items that depend on the prior" in fit.summary()


def test_twin(monkeypatch):
    _, _, _, answers = drawn(7, 3, 11)
    family, population = Dichotomous("2pl", "logit"), item_population("2pl", "logit")
    rng = np.random.default_rng(12)
    mean = population.mean + 0.3 * rng.normal(size=(3, 2))
    root = np.array([[0.3, 0.0], [0.1, 0.5]])
    covariance = np.stack([scale * root @ root.T for scale in (1.0, 0.5, 2.0)])
    weight = np.array([1.0, 0.7, 1.2])
    items = round_of_items.Items(
        mean=mean,
        covariance=covariance,
        weight=weight,
        step=np.array([[0.0, 0.0], [0.1, -0.2], [-0.3, 0.2]]),
        stride=np.array([1.0, 0.6, 0.3]),
        slope=np.nan,
        population=population,
    )
    monkeypatch.setattr(round_of_items, "_rescaled", lambda curves, moved, told: moved)
    monkeypatch.setattr(round_of_items, "_with_population", lambda moved, *anchor: moved)
    patterns = patterns_of(answers.astype(np.int64), 2)
    curves = ItemCurves(family, family)
    abilities = OneAbility(family, (patterns,), np.zeros(1), np.ones(1))
    kind = round_of_items.Kind(curves, np.arange(3), population)
    (moved,), _ = round_of_items._round([kind], abilities, [items], 0.0)
    grid = grid_for(family, curves.parameters(mean, np.nan), COARSE)
    kappa = population.kappa
    weights = slow.posteriors(answers, mean, covariance, kappa, grid.nodes, grid.log_weights)
    for j in range(3):
        mean_j, covariance_j, stride_j = slow.updated(
            answers[:, j],
            weights,
            grid.nodes,
            (mean[j], covariance[j]),
            (population.mean, population.covariance, weight[j]),
            kappa,
            DAMPING,
            items.step[j],
            items.stride[j],
        )
        np.testing.assert_allclose(moved.mean[j], mean_j, atol=1e-7)
        np.testing.assert_allclose(moved.covariance[j], covariance_j, atol=1e-7)
        assert moved.stride[j] == pytest.approx(stride_j, abs=1e-7)


MODELS = ["2pl"] * 40 + ["graded"] * 40 + ["3pl"] * 3


def mixed_answers(seed):
    """Return abilities, slopes and answers of 30 respondents to items of `MODELS`."""
    theta, slope, intercept, yes_or_no = drawn(30, len(MODELS), seed)
    rng = np.random.default_rng([seed, 2])
    steps = intercept[:, None] + [0.9, 0.0, -0.9]
    chance = 1.0 / (1.0 + np.exp(-slope[:, None] * theta[:, None, None] - steps))
    several = (rng.random((30, len(MODELS), 1)) < chance).sum(axis=2)
    graded = np.array(MODELS) == "graded"
    guessed = np.where(np.array(MODELS) == "3pl", rng.random(yes_or_no.shape) < 0.2, False)
    return theta, slope, np.where(graded, several, np.maximum(yes_or_no, guessed))


def test_items_of_several_models_are_on_the_scale_stated():
    theta, slope, answers = mixed_answers(4)
    fit = fit_irt(answers, model=MODELS)
    found = ability(fit, answers)
    assert fit.convergence.converged
    assert fit.posterior_sd == pytest.approx(1.0, abs=0.03)
    for model in ("2pl", "graded"):
        own = np.array(MODELS) == model
        assert (
            0.8 < np.median((fit.slope / slope)[own]) < 1.2
        )  # 40 items: a standard error of 0.08
    # 83 intervals: more than five standard errors of a coverage of 0.95
    assert np.mean(np.abs(fit.slope - slope) < 1.96 * fit.se_slope) > 0.83
    assert np.abs(found.ability - theta).max() < 5 * found.se.max()
    assert "estimated from 40 graded items" in fit.summary()
    assert fit.priors.of("graded").names == ("slope", "easiness", "gap_1", "gap_2")


def test_models_of_few_items_lean_on_the_others():
    _, _, answers = mixed_answers(5)
    answers = answers.astype(float)
    answers[:, -3:] = 1.0  # three items with guessing, solved by all
    fit = fit_irt(answers, model=MODELS)
    few, many = fit.priors.of("3pl"), fit.priors.of("2pl")
    assert fit.convergence.converged
    assert np.isfinite(fit.slope[-3:]).all()
    assert few.n_items == 3
    assert few.mean[0] == pytest.approx(many.mean[0], abs=0.5)
    assert few.mean[1] < many.mean[1] + 5 * np.sqrt(many.covariance[1, 1])


def test_unanswered_items_of_each_model_are_as_the_others_of_it():
    _, _, answers = mixed_answers(6)
    answers = answers.astype(float)
    answers[:, [0, 40]] = np.nan
    fit = fit_irt(answers, model=MODELS)
    assert np.isfinite(fit.steps[40]).all()
    assert np.isnan(fit.steps[0, 1:]).all()
    for j, model in ((0, "2pl"), (40, "graded")):
        middle = fit.priors.of(model).kappa * np.sinh(fit.priors.of(model).mean[0])
        assert fit.slope[j] == pytest.approx(middle, rel=0.15)


def test_groups_of_respondents_with_items_of_several_models():
    _, slope, answers = mixed_answers(7)
    fit = fit_irt_groups(answers, np.repeat(["a", "b"], 15), model=MODELS)
    assert fit.convergence.converged
    assert fit.scale == "respondents"
    assert 0.7 < np.median(fit.slope[0] / slope) < 1.4


def test_points_about_an_item_have_its_moments():
    family = family_of("2pl", "logit", 2)
    points = family.points(np.array([[1.0, 0.5]]), 4.0 * np.eye(2)[None])[:, 0]
    np.testing.assert_allclose(points.mean(axis=0), [1.0, 0.5])
    np.testing.assert_allclose(np.cov(points.T, bias=True), 4.0 * np.eye(2), atol=1e-12)


def test_points_about_thresholds_keep_their_order():
    family = family_of_items(["graded"] * 2, "logit", [(0, 1, 2, 3), (0, 2)], 4)
    items = np.array([[1.2, 1.0, 0.2, -0.5], [0.8, 0.3, 0.0, 0.0]])
    blocks = np.full((2, 4, 4), np.nan)
    blocks[0], blocks[1, :2, :2] = 0.3 * np.eye(4), 0.3 * np.eye(2)
    points = family.points(items, blocks)
    assert (np.diff(points[:, 0, 1:]) < 0.0).all()
    np.testing.assert_allclose(points.mean(axis=0), items, atol=0.02)


@pytest.mark.parametrize(("model", "answers"), [("2pl", 2), ("graded", 3), ("gpcm", 3)])
def test_a_perfect_scale_has_no_maximum(model, answers):
    table = np.repeat(np.arange(answers), 4)[:, None].repeat(12, axis=1)
    with pytest.warns(ConvergenceWarning, match="perfect Guttman scale"):
        fit = fit_irt(table, model=model)
    assert not fit.convergence.converged
    assert np.isfinite(fit.slope).all()


def test_small_matrices_are_worked_on_as_by_linear_algebra():
    rng = np.random.default_rng(6)
    there, linear, here, root = np.tril(rng.normal(size=(4, 5, 3, 3))) + 3.0 * np.eye(3)
    turn = turns(there, linear, here)
    assert turn == pytest.approx(np.linalg.solve(there, linear @ here), abs=1e-13)
    assert turns(there, linear[0], here)[1:] == pytest.approx(
        np.linalg.solve(there, linear[0] @ here)[1:], abs=1e-13
    )
    covariance = root @ root.transpose(0, 2, 1)
    found, moved = np.empty_like(root), covariance.copy()
    assert find_roots(covariance, found)
    assert found == pytest.approx(root, abs=1e-13)
    turn_covariances(turn, moved)
    assert moved == pytest.approx(turn @ covariance @ turn.transpose(0, 2, 1), abs=1e-12)
    covariance[2, 1, 1] = -1.0
    assert not find_roots(covariance, found)
