"""Abilities, information, fit statistics and linking of items with several answers."""

import dataclasses

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.irt.ability import ability
from psychollm.irt.adaptive import adaptive_test
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit, merged_answers, s_x2
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.information import information
from psychollm.irt.linking import link_scales
from psychollm.irt.models import default_priors
from psychollm.irt.screen import item_screen
from psychollm.irt.short_form import short_form
from psychollm.irt.thresholds import thresholds
from tests.irt.test_polytomous import MODELS, graded_answers
from tests.oracles import irt_slow, polytomous_slow


@pytest.fixture(scope="module")
def answers():
    return graded_answers(400, np.array([1.5, 1.0, 2.0, 0.8]), [1.2, -0.8], 1)


@pytest.fixture(scope="module")
def fits(answers):
    return {model: fit_irt(answers, model=model, priors=None) for model in MODELS}


def lists(table):
    return [[None if x < 0 or np.isnan(x) else int(x) for x in row] for row in table]


ROWS = np.array([[1, 2, 0, 1], [2, 1, 2, 1], [0, 1, np.nan, 0], [1, np.nan, np.nan, 1]])


@pytest.mark.parametrize("model", MODELS)
def test_abilities_by_the_twin(model, fits):
    fit = fits[model]
    items = fit.parameters.tolist()
    for method in ("ml", "map", "wle"):
        found = ability(fit, ROWS, method=method)
        for row, theta, se in zip(lists(ROWS), found.ability, found.se, strict=True):
            first, second = polytomous_slow.first_and_second(
                lambda x, row=row: polytomous_slow.log_likelihood(row, items, x, model), theta
            )
            expected, skew = polytomous_slow.information_and_skew(items, theta, model, row)
            target = first + {"ml": 0.0, "map": -theta, "wle": 0.5 * skew / expected}[method]
            np.testing.assert_allclose(target, 0.0, atol=1e-6)  # differences of step 1e-4
            curvature = expected if method == "wle" else -second + (method == "map")
            np.testing.assert_allclose(se, curvature**-0.5, rtol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_scores_without_a_mode(model, fits):
    table = np.array([[2] * 4, [0] * 4, [1] * 4, [0, 0, 0, 2]])
    mode = ability(fits[model], table, method="ml")
    if model != "nominal":  # whose slopes need not rise with the code
        assert mode.reasons[:2] == (Reason.UNBOUNDED,) * 2
        assert np.isnan(mode.ability[:2]).all()
    assert np.isfinite(mode.ability[2:]).all()
    for method in ("wle", "eap", "map"):
        assert np.isfinite(ability(fits[model], table, method=method).ability).all()


@pytest.mark.parametrize("model", MODELS)
def test_warm_has_less_bias_than_the_mode(model, fits):
    """At a true ability of 1.5 with 12 items; 2,000 answers, standard error of a mean 0.01."""
    fit = fits[model]
    rng = np.random.default_rng(3)
    p = np.exp(fit.family.log_probabilities(fit.parameters, np.array([1.5])))[:, :, 0]
    # three independent answers to each item stand for twelve items
    codes = np.stack([rng.choice(3, p=row / row.sum(), size=(2000, 3)) for row in p], axis=1)
    table = codes.reshape(2000, -1)
    table_of_any_fit = np.repeat(np.arange(3), 4)[:, None].repeat(12, axis=1)
    long = fit_irt(table_of_any_fit, model=model, priors=default_priors([model], "logit", 12))
    parameters = np.repeat(fit.parameters, 3, axis=0)
    object.__setattr__(long, "parameters", parameters)
    mode = ability(long, table, method="ml").ability
    warm = ability(long, table, method="wle").ability
    assert abs(np.mean(warm) - 1.5) < 0.05
    assert np.nanmean(mode) - 1.5 > np.mean(warm) - 1.5


@pytest.mark.parametrize("model", MODELS)
def test_information_by_the_twin(model, fits):
    fit = fits[model]
    found = information(fit, abilities=[-1.0, 0.3, 2.0])
    for k, theta in enumerate(found.abilities):
        for j, item in enumerate(fit.parameters.tolist()):
            expected, _ = polytomous_slow.information_and_skew([item], theta, model)
            np.testing.assert_allclose(found.item[j, k], expected, rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gaps", [False, True])
def test_mean_squares_by_the_twin(model, gaps, fits, answers):
    fit, table = fits[model], answers[:40].astype(float)
    if gaps:
        table[np.random.default_rng(2).random(table.shape) < 0.2] = np.nan
    at = ability(fit, table).ability
    items = fit.parameters.tolist()
    cells = np.full((5, *table.shape), np.nan)
    for v, row in enumerate(lists(table)):
        if any(x is not None for x in row):
            np.testing.assert_allclose(
                at[v], polytomous_slow.posterior_mean(row, items, model), atol=1e-7
            )
        for j, x in enumerate(row):
            if x is not None:
                cells[:, v, j] = polytomous_slow.moments(items[j], at[v], x, model)
    gap, w, fourth, surprise, surprise_variance = cells
    for axis, found in ((0, item_fit(fit, table)), (1, person_fit(fit, table))):
        n = (~np.isnan(gap)).sum(axis=axis)
        outfit, infit = np.nanmean(gap**2 / w, axis), np.nansum(gap**2, axis) / np.nansum(w, axis)
        np.testing.assert_allclose(found.outfit, outfit, atol=1e-6)
        np.testing.assert_allclose(found.infit, infit, atol=1e-6)
        zh = np.nansum(surprise, axis) / np.sqrt(np.nansum(surprise_variance, axis))
        np.testing.assert_allclose(found.zh, zh, atol=1e-6)
        spread = np.minimum(np.sqrt(np.nansum(fourth / w**2, axis) / n**2 - 1 / n), np.sqrt(2))
        z = (np.cbrt(outfit) - 1) * 3 / spread + spread / 3
        np.testing.assert_allclose(found.z_outfit, z, atol=1e-5)
    residual = np.ma.masked_invalid(gap)
    q3 = local_dependence(fit, table).q3
    np.testing.assert_allclose(q3[0, 1], np.ma.corrcoef(residual[:, 0], residual[:, 1])[0, 1])


@pytest.mark.parametrize("model", MODELS)
def test_s_x2_by_the_twin(model, fits, answers):
    fit, items = fits[model], fits[model].parameters.tolist()
    statistic, df = s_x2(fit, answers)
    totals = answers.sum(axis=1)
    for j in range(4):
        shares = polytomous_slow.answers_by_score(items, model, j)
        observed = np.zeros_like(shares)
        np.add.at(observed, (totals, answers[:, j]), 1)
        expected = shares * observed.sum(axis=1, keepdims=True)
        expected[expected < 1e-12] = 0.0
        value, cells = merged_answers(observed[1:-1], expected[1:-1])
        np.testing.assert_allclose(statistic[j], value, rtol=1e-5)
        assert df[j] == cells - len(items[j])
    assert (item_fit(fit, answers).p_value > 1e-3).all()


def test_merging_keeps_all_answers():
    rows = [  # observed and expected answers at six scores
        ([8.0, 1, 0], [7.5, 1.2, 0.3]),  # its last two together
        ([5, 3, 2], [4, 4, 2]),
        ([0, 0, 1], [0.1, 0.2, 0.7]),  # sparse, in the middle: joins the score before
        ([0, 1, 0], [0.0, 0.4, 0.6]),  # the same
        ([0, 4, 9], [0.2, 5, 7.8]),
        ([0, 0, 1], [0.0, 0.0, 1.0]),  # sparse, at the end: joins the next score
    ]
    value, cells = merged_answers(*(np.array(side) for side in zip(*rows, strict=True)))
    groups = [
        ([8, 1], [7.5, 1.5]),
        ([5, 4, 3], [4.1, 4.6, 3.3]),
        ([4, 10], [5.2, 8.8]),
    ]
    direct = sum((o - e) ** 2 / e for row in groups for o, e in zip(*row, strict=True))
    np.testing.assert_allclose(value, direct)
    assert cells == 4


@pytest.mark.parametrize("model", MODELS)
def test_pairs_by_the_twin(model, fits, answers):
    fit = fits[model]
    pairs = local_dependence(fit, answers)
    assert (pairs.df[np.triu_indices_from(pairs.df, 1)] == 4).all()
    patterns = polytomous_slow.pattern_probabilities(fit.parameters.tolist(), model)
    expected = np.zeros((3, 3))
    for pattern, p in patterns.items():
        expected[pattern[1], pattern[3]] += 400 * p
    observed = np.zeros((3, 3))
    np.add.at(observed, (answers[:, 1], answers[:, 3]), 1)
    x2 = ((observed - expected) ** 2 / expected).sum()
    np.testing.assert_allclose(pairs.x2[1, 3], x2, rtol=1e-6)
    np.testing.assert_allclose(abs(pairs.signed[1, 3]), np.sqrt(x2 / 800), rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("statistic", ["m2", "m2_star", "c2"])
def test_limited_information_by_the_twin(model, statistic, fits, answers):
    fit = fits[model]
    found = model_fit(fit, answers, statistic=statistic)
    items = fit.parameters.tolist()
    value, df = polytomous_slow.limited_information(answers.tolist(), items, model, statistic)
    if df <= 0:
        assert found.reason is Reason.NO_FREEDOM
        assert np.isnan([found.m2, found.p_value, found.rmsea, found.cfi]).all()
        assert "no degrees of freedom" in found.summary()
        return
    assert found.df == df
    np.testing.assert_allclose(found.m2, value, rtol=1e-5)  # derivatives by differences
    assert found.p_value > 1e-4


def test_two_answers_need_one_statistic(simulated):
    table = simulated(300, np.ones(5), np.zeros(5), 4)
    fit = fit_irt(table, priors=None)
    one, two, three = (model_fit(fit, table, statistic=s) for s in ("m2", "m2_star", "c2"))
    np.testing.assert_allclose([two.m2, three.m2], one.m2, rtol=1e-9)
    assert (one.statistic, two.statistic, three.statistic) == ("M2", "M2*", "C2")
    assert model_fit(fit, table).statistic == "M2"
    graded = fit_irt(table, model="graded", priors=None)
    np.testing.assert_allclose(model_fit(graded, table).m2, one.m2, rtol=1e-6)
    assert model_fit(graded, table).statistic == "C2"
    with pytest.raises(OptionError, match="m3"):
        model_fit(fit, table, statistic="m3")


@pytest.mark.parametrize("model", MODELS)
def test_order_of_items_does_not_matter(model, answers):
    order = np.array([2, 0, 3, 1])
    one = fit_irt(answers, model=model, priors=None)
    two = fit_irt(answers[:, order], model=model, priors=None)
    fits = [model_fit(f, x, statistic="m2") for f, x in ((one, answers), (two, answers[:, order]))]
    np.testing.assert_allclose(fits[1].m2, fits[0].m2, rtol=1e-6)
    items = [item_fit(f, x) for f, x in ((one, answers), (two, answers[:, order]))]
    np.testing.assert_allclose(items[1].s_x2, items[0].s_x2[order], rtol=1e-5)
    np.testing.assert_allclose(items[1].outfit, items[0].outfit[order], rtol=1e-5)
    pairs = local_dependence(two, answers[:, order])
    expected = local_dependence(one, answers).x2[np.ix_(order, order)]
    np.testing.assert_allclose(pairs.x2, expected, rtol=1e-4)


@pytest.mark.parametrize("model", ["graded", "gpcm"])
def test_reversed_codes_change_no_statistic(model, answers):
    one = fit_irt(answers, model=model, priors=None)
    two = fit_irt(2 - answers, model=model, priors=None)
    np.testing.assert_allclose(
        model_fit(two, 2 - answers).m2, model_fit(one, answers).m2, rtol=1e-6
    )
    items = item_fit(one, answers), item_fit(two, 2 - answers)
    np.testing.assert_allclose(items[1].outfit, items[0].outfit, rtol=1e-5)
    np.testing.assert_allclose(items[1].zh, items[0].zh, atol=1e-5)
    found = thresholds(two).threshold, thresholds(one).threshold
    # the ability keeps its sign where slopes stay positive: thresholds turn round
    signs = np.sign(two.slope * one.slope)[:, None]
    turned = np.where(signs > 0, -found[1][:, ::-1], found[1][:, ::-1])
    np.testing.assert_allclose(found[0], turned, atol=1e-5)


def test_a_second_ability_is_found():
    one = graded_answers(800, np.full(4, 1.5), [1.0, -1.0], 1)
    two = graded_answers(800, np.full(4, 1.5), [1.0, -1.0], 2)
    table = np.column_stack([one, two])
    fit = fit_irt(table, model="graded", priors=None)
    assert model_fit(fit, table).p_value < 1e-6
    good = graded_answers(800, np.full(8, 1.5), [1.0, -1.0], 3)
    assert model_fit(fit_irt(good, model="graded", priors=None), good).p_value > 1e-3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", ["stocking_lord", "haebara", "mean_sigma", "mean_mean"])
def test_linking_undoes_a_known_move(model, method, fits):
    one = fits[model]
    two = fit_irt(graded_answers(100, np.ones(4), [1.0, -1.0], 5), model=model)
    # abilities of the second fit are theta_2 = (theta_1 - 0.4) / 1.3
    object.__setattr__(two, "parameters", one.family.rescaled(one.parameters, 0.4, 1.3))
    if model == "nominal" and method != "haebara":
        with pytest.raises(OptionError, match="use 'haebara'"):
            link_scales(one, two, method=method)
        return
    found = link_scales(one, two, method=method)
    np.testing.assert_allclose([found.scale, found.shift], [1.3, 0.4], atol=1e-6)
    assert found.rmsd < 1e-6


def test_fits_of_different_answers_are_not_linked(fits):
    five = fit_irt(graded_answers(300, np.ones(4), [2.0, 1.0, 0.0, -1.0], 5), model="graded")
    with pytest.raises(OptionError, match="of 5 answers"):
        link_scales(fits["graded"], five)


@pytest.mark.parametrize("model", MODELS)
def test_thresholds_have_even_odds(model, fits):
    fit = fits[model]
    found = thresholds(fit)
    if model == "nominal":
        assert np.isnan(found.threshold).all()
        assert found.reasons == (Reason.NO_EVEN_ODDS,) * 4
        return
    for j, item in enumerate(fit.parameters.tolist()):
        for c in (1, 2):
            at = found.threshold[j, c - 1]
            p = irt_slow.polytomous_probabilities(item, at, model)
            np.testing.assert_allclose(sum(p[c:]), 0.5, atol=1e-9)
    assert (np.diff(found.threshold, axis=1) > 0).all()
    assert found.to_frame().shape == (8, 4)
    for j in range(4):  # the delta method by differences

        def second(flat, j=j):
            moved = fit.parameters.copy()
            moved[j] = flat
            again = dataclasses.replace(fit, parameters=moved)
            return thresholds(again).threshold[j, 1]

        direction = irt_slow.numeric_gradient(second, fit.parameters[j])
        expected = np.sqrt(direction @ fit.covariance[j] @ direction)
        np.testing.assert_allclose(found.se[j, 1], expected, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_adaptive_test_of_several_answers(model, fits):
    found = adaptive_test(fits[model], max_items=3, n=400, rng=1)
    assert found.path_error[-1] < 0.75 < np.std(found.truth)
    assert (np.diff(found.path_se) < 0).all()


def test_miskeyed_item_of_several_answers():
    table = graded_answers(300, np.full(8, 1.5), [1.0, -1.0], 3)
    table[:, 2] = 2 - table[:, 2]
    screen = item_screen(fit_irt(table, model="graded"), table)
    assert np.flatnonzero(screen.miskeyed).tolist() == [2]
    np.testing.assert_allclose(screen.yes_rate, table.mean(axis=0) / 2)
    correlation = np.corrcoef(table[:, 0], table[:, 1:].sum(axis=1))[0, 1]
    np.testing.assert_allclose(screen.rest_correlation[0], correlation)


@pytest.mark.parametrize("method", ["information", "error"])
def test_short_form_of_several_answers(method):
    table = graded_answers(60, np.linspace(0.3, 2.0, 20), [1.0, -1.0], 6)
    found = short_form(table, 8, method=method, n_folds=3, rng=1)
    np.testing.assert_allclose(found.full, table.mean(axis=1) / 2)
    assert found.rank_correlation > 0.8
    assert found.rmse < np.std(found.full) / 2
    whole = short_form(table, 20, method=method, n_folds=3, rng=1)
    assert whole.rmse < (0.06 if method == "information" else 1e-12)  # expectations shrink


def test_too_many_margins():
    table = graded_answers(60, np.ones(40), [1.5, 0.5, -0.5, -1.5], 1)
    fit = fit_irt(table, model="graded")
    with pytest.raises(ShapeError, match="margins"):
        model_fit(fit, table, statistic="m2")
    assert model_fit(fit, table).df == 40 * 39 // 2 - 40  # C2: 40 x 4 shares + 780 - 200
