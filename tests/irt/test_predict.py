"""Expected answers of a fit: against the posterior on a fine grid, and what is unknown."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError


def _logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def _answers(seed=3, n=300, items=8):
    rng = np.random.default_rng(seed)
    ability = rng.standard_normal((n, 1))
    chance = _logistic(1.3 * ability + np.linspace(-1.5, 1.5, items))
    answers = (rng.random((n, items)) < chance).astype(float)
    answers[rng.random((n, items)) < 0.1] = np.nan
    return answers


def test_expected_answers_are_those_of_the_posterior_on_a_grid():
    answers = _answers()
    fit = psy.fit_irt(answers, model="2pl")
    theta = np.linspace(-6.0, 6.0, 2001)
    curves = _logistic(fit.slope[:, None] * theta + fit.intercept[:, None])
    for row in range(5):
        density = np.exp(-0.5 * theta**2)
        for j, answer in enumerate(answers[row]):
            if np.isfinite(answer):
                density *= curves[j] if answer else 1.0 - curves[j]
        exact = curves @ density / density.sum()
        # The posterior is taken as normal: with eight items it is skewed a little.
        np.testing.assert_allclose(fit.predict(answers)[row], exact, atol=0.01)


def test_a_model_without_answers_is_drawn_from_the_population():
    answers = _answers()
    fit = psy.fit_irt(answers, model="2pl")
    table = np.vstack([answers[:2], np.full(8, np.nan)])
    expected = fit.predict(table)[2]
    theta = np.random.default_rng(1).standard_normal(400_000)
    simulated = _logistic(fit.slope[:, None] * theta + fit.intercept[:, None]).mean(axis=1)
    np.testing.assert_allclose(expected, simulated, atol=0.004)


def test_the_scale_of_the_rasch_model_does_not_matter():
    answers = _answers()
    rasch = psy.fit_irt(answers, model="rasch")
    assert rasch.ability_sd != pytest.approx(1.0, abs=0.05)
    residual = np.nanmean(answers - rasch.predict(answers), axis=0)
    assert np.abs(residual).max() < 0.01  # as many yes as expected of each item


def test_labels_select_and_order_and_items_without_estimate_are_nan():
    frame = pd.DataFrame(_answers(), columns=list("abcdefgh"))
    frame["h"] = 1.0
    fit = psy.fit_irt(frame, model="rasch")
    chosen = fit.predict(frame, models=[4, 2], questions=["c", "a"])
    np.testing.assert_array_equal(chosen, fit.predict(frame)[np.ix_([4, 2], [2, 0])])
    assert np.isnan(fit.predict(frame, questions=["h"])).all() == (not fit.estimated[7])
    with pytest.raises(LabelError, match="'z'"):
        fit.predict(frame, questions=["z"])


def test_questions_as_respondents_give_models_by_questions():
    answers = _answers(n=200, items=8).T  # 8 models, 200 questions
    fit = psy.fit_irt(answers, respondents="questions", model="rasch")
    assert fit.predict(answers).shape == (8, 200)
    right = psy.fit_irt(answers.T, model="rasch").predict(answers.T).T
    np.testing.assert_allclose(fit.predict(answers), right, atol=1e-6)


def test_graded_answers_are_expected_between_lowest_and_highest():
    rng = np.random.default_rng(5)
    ability = rng.standard_normal((400, 1))
    codes = np.clip(np.round(1.5 + ability + rng.standard_normal((400, 6))), 0, 3)
    fit = psy.fit_irt(codes, model="graded")
    expected = fit.predict(codes)
    assert ((expected > 0.0) & (expected < 1.0)).all()
    np.testing.assert_allclose(expected.mean(axis=0), codes.mean(axis=0) / 3.0, atol=0.01)


def test_several_abilities_expect_as_many_yes_as_there_are():
    rng = np.random.default_rng(7)
    abilities = np.repeat(rng.standard_normal((600, 2)), 4, axis=1)
    answers = (rng.random((600, 8)) < _logistic(1.5 * abilities + 0.4)).astype(float)
    pattern = np.repeat(np.eye(2), 4, axis=0)
    fit = psy.irt.fit_multidimensional(answers, pattern)
    hidden = answers.copy()
    hidden[:, 0] = np.nan
    expected = fit.predict(hidden)
    np.testing.assert_allclose(expected.mean(axis=0), answers.mean(axis=0), atol=0.02)
    own, other = (np.corrcoef(expected[:, 0], expected[:, j])[0, 1] for j in (1, 5))
    assert own > other + 0.2  # a hidden answer follows its own ability


def test_conditional_rasch_says_nothing_of_who_answered_nothing():
    answers = np.nan_to_num(_answers(), nan=0.0)
    fit = psy.irt.conditional_rasch(answers)
    expected = fit.predict(np.vstack([answers[:3], np.full(8, np.nan)]))
    assert np.isfinite(expected[:3]).all()
    assert np.isnan(expected[3]).all()


def test_groups_expect_by_their_own_population():
    answers = _answers(n=400)
    group = np.repeat(["a", "b"], 200)
    rng = np.random.default_rng(4)
    easier = rng.random((200, 8)) < 0.4
    answers[200:] = np.where(np.isfinite(answers[200:]) & easier, 1.0, answers[200:])
    fit = psy.irt.fit_irt_groups(answers, group)
    expected = fit.predict(answers)
    single = psy.fit_irt(answers).predict(answers)
    gaps = [abs(np.nanmean((answers - one)[200:])) for one in (expected, single)]
    assert gaps[0] < 0.005 < gaps[1]  # one population draws the second group towards the first
    own = fit.of_group("b").predict(answers[200:])
    # Products of matrices round by their shape, in other ways with each BLAS.
    np.testing.assert_allclose(own, expected[200:], rtol=1e-13)
    turned = psy.irt.fit_irt_groups(answers.T, group, respondents="questions")
    np.testing.assert_allclose(turned.predict(answers.T), expected.T, atol=1e-6)


@pytest.mark.parametrize("model", ["rasch", "graded", "3pl"])
def test_one_group_of_several_is_the_fit_of_one(model):
    answers = np.nan_to_num(_answers(n=400), nan=0.0)
    fit = psy.irt.fit_irt_groups(answers, np.tile(["a", "b"], 200), model=model)
    alone = psy.fit_irt(answers, model=model, priors=fit.priors)
    np.testing.assert_allclose(fit.predict(answers), alone.predict(answers), atol=0.05)


def test_who_is_in_no_group_is_named():
    frame = pd.DataFrame(_answers(), index=[f"m{k}" for k in range(300)])
    fit = psy.irt.fit_irt_groups(frame, np.tile(["a", "b"], 150))
    with pytest.raises(LabelError, match=r"stranger.*of_group"):
        fit.predict(frame.rename(index={"m0": "stranger"}))
    with pytest.raises(LabelError, match="'c'"):
        fit.of_group("c")


def test_draws_of_a_bayesian_fit_expect_what_they_draw():
    answers = _answers()
    fit = psy.irt.bayesian_2pl(answers, n_draws=400, rng=0)
    expected = fit.predict(answers)
    # The abilities were drawn by themselves, given answers and items.
    slope, intercept, ability = (
        getattr(fit, name).draws for name in ("slope", "intercept", "ability")
    )
    drawn = _logistic(slope[:, None] * ability[:, :, None] + intercept[:, None]).mean(axis=0)
    np.testing.assert_allclose(expected, drawn, atol=0.06)  # 400 draws
    assert np.abs((expected - drawn).mean()) < 0.002


def test_families_of_a_bayesian_fit_have_their_means():
    answers = _answers()
    family = np.repeat(["low", "high"], 150)
    answers[150:] = np.where(np.isfinite(answers[150:]), 1.0, np.nan)
    answers[150:, ::2] = _answers(seed=8)[150:, ::2]
    names = [f"m{k}" for k in range(300)]
    frame = pd.DataFrame(answers, index=names)
    fit = psy.irt.bayesian_2pl(frame, families=family, n_draws=200, rng=0)
    silent = pd.DataFrame(np.full((3, 8), np.nan), index=["m0", "m299", "new"])
    low, high, new = fit.predict(pd.concat([silent, frame[2:4]])).mean(axis=1)[:3]
    assert low < new < high
