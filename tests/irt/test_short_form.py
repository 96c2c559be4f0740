"""A few items stand for all."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from psychollm import Responses
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.irt.short_form import _best, short_form
from psychollm.irt.short_form_choice import Pool, choose
from psychollm.irt.short_form_rules import Curves, Predictor, _climb

WAYS = ["factor", "information", "error", "stratified", "random"]


@pytest.fixture
def answers(simulated):
    return simulated(80, np.tile([2.0, 0.2, 0.2], 40), np.linspace(-2, 2, 120), 12)


@pytest.mark.parametrize("method", ["auto", "factor", "information", "error"])
def test_short_form_beats_random_items(method, answers):
    result = short_form(answers, 12, method=method)
    assert len(set(result.items)) == 12
    assert result.rmse < result.random_rmse
    assert result.rank_correlation > 0.8
    assert "12 items predict" in result.summary()
    assert "Selection: by" in result.summary()
    assert result.to_frame().shape == (80, 3)
    np.testing.assert_array_equal(
        short_form(answers, 12, method=method).predicted, result.predicted
    )


def test_auto_takes_what_predicts_best(answers):
    found = short_form(answers, 12)
    assert {way for way, _ in found.tried} == set(WAYS)
    assert (found.method, found.rule) in found.tried
    # Honest, and so a little above the winner's own error.
    assert found.tried_rmse.min() <= found.rmse < 1.3 * found.tried_rmse.min()
    alone = short_form(answers, 12, method=found.method)
    assert {way for way, _ in alone.tried} == {found.method, "random"}


def test_each_fold_is_predicted_by_what_did_best_on_the_others():
    errors = np.array([[0.0, 0.0, 9.0, 9.0], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    fold = np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(_best(errors, fold, np.array([True, True, False])), [1, 0, 1])
    np.testing.assert_array_equal(_best(errors, fold, np.array([True, True, True])), [2, 0, 2])


def test_where_random_is_best_it_says_so(answers):
    found = replace(short_form(answers, 12), method="random")
    assert "No selection method beat random items. Selection: random" in found.summary()
    alone = short_form(answers, 12, method="random").summary()
    assert "Selection: random" in alone
    assert "No selection" not in alone


@pytest.mark.parametrize("method", WAYS)
def test_short_form_of_everything_is_everything(method, simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 13)
    result = short_form(answers, 10, method=method, n_folds=4)
    assert set(result.items) == set(range(10))
    assert result.rmse < 1e-10
    np.testing.assert_allclose(
        result.predict(answers[:, list(result.items)]).value, answers.mean(axis=1), atol=1e-12
    )


def test_short_form_bad_input(simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 14).astype(float)
    with pytest.raises(OptionError, match="exceeds the number of questions, 10"):
        short_form(answers, 11)
    with pytest.raises(OptionError, match="method="):
        short_form(answers, 3, method="best")
    with pytest.raises(ShapeError, match="two per fold"):
        short_form(answers[:6], 3)
    with pytest.raises(ShapeError, match="exceeds the number of families, 2"):
        short_form(answers, 3, families=["a", "b"] * 10)
    with pytest.raises(LabelError, match="no entry for model 19"):
        short_form(answers, 3, families=dict.fromkeys(range(19), "a"))
    with pytest.raises(CodeError, match="question 1 is 1.5: answers to it lie between 0 and 1"):
        short_form(np.where(np.arange(10) == 1, 1.5, answers), 3)
    answers[0, 0] = np.nan
    with pytest.raises(ShapeError, match="complete answers"):
        short_form(answers, 3)
    with pytest.raises(ShapeError, match="model 0, question 0 has no answer"):
        short_form(answers / 2, 3)


def test_families_are_held_out_together(simulated):
    # Four copies of each model: without families one copy predicts another.
    rng = np.random.default_rng(3)
    first = simulated(20, np.full(60, 0.3), np.linspace(-1, 1, 60), 15)
    table = np.repeat(first, 4, axis=0)
    kin = np.repeat(np.arange(20), 4)
    order = rng.permutation(80)
    apart = short_form(table[order], 10, method="error")
    together = short_form(table[order], 10, method="error", families=kin[order])
    assert together.rmse > 1.15 * apart.rmse
    named = pd.DataFrame(table[order], index=[f"m{k}" for k in range(80)])
    by_name = dict(zip(named.index, kin[order].tolist(), strict=True))
    mapped = short_form(named, 10, method="error", families=by_name)
    np.testing.assert_array_equal(mapped.predicted, together.predicted)


def test_partial_credit_is_what_codes_are(simulated):
    rng = np.random.default_rng(4)
    ability = rng.normal(size=(60, 1))
    codes = (4 / (1 + np.exp(rng.normal(size=40) - ability - rng.normal(size=(60, 40))))).round()
    codes[0], codes[1] = 0, 4  # every item has its lowest and highest answer
    graded = short_form(Responses(codes.astype(int)), 8)
    shares = short_form(codes / 4, 8)
    assert shares.items == graded.items
    np.testing.assert_allclose(shares.predicted, graded.predicted)
    np.testing.assert_allclose(shares.full, codes.mean(axis=1) / 4)
    assert shares.rmse < np.std(shares.full) / 3
    new = codes[:3, list(graded.items)]
    np.testing.assert_allclose(graded.predict(new).value, shares.predict(new / 4).value)


def test_predict_takes_answers_in_any_form(answers):
    table = pd.DataFrame(answers, columns=[f"q{k}" for k in range(120)])
    form = short_form(table, 12)
    row = table.iloc[3]
    known = form.predict(table).value[3]
    chosen = row[list(form.items)]
    for given in (row, dict(row), chosen[::-1], dict(chosen), chosen.to_numpy(), table.iloc[[3]]):
        found = form.predict(given)
        assert found.value == pytest.approx([known])
        assert found.interval[0, 0] < known < found.interval[0, 1]
        assert found.se == pytest.approx([form.rmse])
    assert form.predict(Responses(table)).value == pytest.approx(form.predict(table).value)
    with pytest.raises(LabelError, match="answers to"):
        form.predict(chosen.iloc[1:])
    with pytest.raises(ShapeError, match="3 without names, but the form has 12"):
        form.predict([1, 0, 1])
    with pytest.raises(CodeError, match="lie between 0 and 1"):
        form.predict([2] * 12)
    with pytest.raises(ShapeError, match="has no answer"):
        form.predict([np.nan] * 12)


def test_intervals_of_new_models_cover(simulated):
    # 60 models make the form, 540 others are predicted: nominal 95 %.
    table = simulated(600, np.tile([1.5, 0.7], 75), np.linspace(-2, 2, 150), 16)
    form = short_form(table[:60], 20)
    found = form.predict(table[60:])
    full = table[60:].mean(axis=1)
    assert np.sqrt(np.mean((found.value - full) ** 2)) < 1.3 * form.rmse
    inside = (found.interval[:, 0] <= full) & (full <= found.interval[:, 1])
    assert 0.91 < inside.mean() < 0.99
    assert (found.interval >= 0).all()
    assert (found.interval <= 1).all()


def test_curves_are_at_the_top_of_their_posterior(simulated):
    scores = simulated(40, [1.0, 2.0, 0.5], [0.0, 1.0, -1.0], 17) * [1.0, 0.5, 1.0]
    z = np.random.default_rng(5).normal(size=40)
    prior = ((0.8, 0.3), (0.2, 1.5))
    slope, intercept, *_ = _climb(scores, z, np.ones(3), np.zeros(3), prior)

    def loss(point, answers):
        height = point[1] + point[0] * z
        fit = answers @ height - np.logaddexp(0.0, height).sum()
        return -fit + sum((x - m) ** 2 / (2 * v) for x, (m, v) in zip(point, prior, strict=True))

    for item in range(3):
        top = optimize.minimize(loss, [1.0, 0.0], args=(scores[:, item],), tol=1e-10).x
        assert [slope[item], intercept[item]] == pytest.approx(top, abs=1e-5)


def test_curves_recover_the_items(simulated):
    slopes, intercepts = np.tile([0.5, 1.5], 100), np.linspace(-1.5, 1.5, 200)
    curves = Curves.of(simulated(500, slopes, intercepts, 18).astype(float))
    assert np.corrcoef(curves.slope, slopes)[0, 1] > 0.9
    assert np.corrcoef(curves.intercept, intercepts)[0, 1] > 0.95


def test_the_rule_of_curves_is_the_mean_of_its_posterior(simulated):
    pool = Pool(simulated(50, np.ones(30), np.linspace(-1, 1, 30), 19).astype(float))
    chosen, answers = np.arange(5), np.array([[1.0, 0.0, 1.0, 1.0, 0.5]])
    found = Predictor.fit(pool.scores, chosen, pool.curves, pool.total, "curves")(answers)
    nodes = np.linspace(-8, 8, 4001)
    chance = 1 / (1 + np.exp(-pool.curves.intercept - np.outer(nodes, pool.curves.slope)))
    likelihood = np.exp(-0.5 * nodes**2)
    for item in chosen:
        likelihood *= chance[:, item] ** answers[0, item]
        likelihood *= (1 - chance[:, item]) ** (1 - answers[0, item])
    rest = (likelihood @ chance[:, 5:]).sum() / likelihood.sum()
    assert found == pytest.approx([(answers.sum() + rest) / 30], abs=1e-6)


def test_a_factor_model_chooses_what_lowers_the_variance_most(simulated):
    pool = Pool(simulated(40, np.linspace(0.2, 2, 15), np.linspace(-1, 1, 15), 20).astype(float))
    found = choose("factor", pool, 5, np.random.default_rng(0))
    loadings, uniqueness = pool.factors
    total = loadings.sum(axis=0)

    def variance(items):
        own = loadings[items]
        prior = np.eye(loadings.shape[1])
        return total @ np.linalg.inv(prior + own.T @ (own / uniqueness[items][:, None])) @ total

    chosen: list[int] = []
    for _ in range(5):
        left = [j for j in range(15) if j not in chosen]
        chosen.append(min(left, key=lambda j: variance([*chosen, j])))
    np.testing.assert_array_equal(found, chosen)


def test_choosing_by_error_lowers_the_error_left_out(simulated):
    scores = simulated(40, np.linspace(0.2, 2, 12), np.linspace(-1, 1, 12), 22).astype(float)
    found = choose("error", Pool(scores), 4, np.random.default_rng(0))
    full = scores.mean(axis=1)

    def error(items):
        x, squares = scores[:, items].sum(axis=1), []
        for i in range(40):
            rest = np.arange(40) != i
            slope, start = np.polyfit(x[rest], full[rest], 1)
            squares.append((full[i] - start - slope * x[i]) ** 2)
        return np.mean(squares)

    chosen: list[int] = []
    for _ in range(4):
        left = [j for j in range(12) if j not in chosen]
        chosen.append(min(left, key=lambda j: error([*chosen, j])))
    np.testing.assert_array_equal(found, chosen)


@pytest.mark.parametrize("way", WAYS)
def test_a_choice_has_no_item_twice(way, simulated):
    pool = Pool(simulated(12, np.ones(40), np.linspace(-3, 3, 40), 21).astype(float))
    for n_items in (1, 7, 39, 40):
        assert len(set(choose(way, pool, n_items, np.random.default_rng(n_items)))) == n_items
