"""Fit of items, respondents, pairs and the whole model."""

import itertools

import numpy as np
import pytest

from psychollm._base.errors import ShapeError
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.margins import layout_of, margin_covariance
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.fit_statistics.sum_scores import score_distribution, with_item, without_each
from tests.irt.test_fit import MIRT, fitted
from tests.oracles import irt_slow


def numbers(table):
    return np.array([[np.nan if x is None else x for x in row] for row in table], dtype=float)


# mirt's Rasch optima are off by 4e-6 in the parameters, which statistics multiply.
def tolerance(name):
    return 1e-5 if "2PL" in name else 5e-4


@pytest.mark.parametrize("name", MIRT)
def test_m2(name, mirt, data_of):
    row, atol = mirt[name]["M2"], tolerance(name)
    result = model_fit(fitted(mirt[name], data_of), data_of(mirt[name]["data"]))
    np.testing.assert_allclose(result.m2, row["M2"], atol=atol)
    assert result.df == row["df"]
    for ours, theirs in (("p_value", "p"), ("rmsea", "RMSEA"), ("srmsr", "SRMSR")):
        np.testing.assert_allclose(getattr(result, ours), row[theirs], atol=1e-5)
    np.testing.assert_allclose([result.cfi, result.tli], [row["CFI"], row["TLI"]], atol=1e-5)
    # mirt finds the limits by a search that stops at 1e-4
    limits = [row["RMSEA_5"], row["RMSEA_95"]]
    np.testing.assert_allclose(result.rmsea_interval, limits, atol=2e-4)
    assert f"M2({row['df']})" in result.summary()


@pytest.mark.parametrize("name", MIRT)
def test_item_fit(name, mirt, data_of):
    row = mirt[name]["itemfit"]
    result = item_fit(fitted(mirt[name], data_of), data_of(mirt[name]["data"]))
    pairs = {"zh": "Zh", "infit": "infit", "outfit": "outfit", "s_x2": "S_X2", "df": "df.S_X2"}
    pairs |= {"z_infit": "z.infit", "z_outfit": "z.outfit", "p_value": "p.S_X2"}
    pairs |= {"rmsea": "RMSEA.S_X2"}
    for ours, theirs in pairs.items():
        np.testing.assert_allclose(
            getattr(result, ours), row[theirs], atol=tolerance(name), err_msg=ours
        )


@pytest.mark.parametrize("name", MIRT)
def test_pairs_and_respondents(name, mirt, data_of):
    row, answers = mirt[name], data_of(mirt[name]["data"])
    fit, atol = fitted(row, data_of), tolerance(name)
    pairs = local_dependence(fit, answers)
    np.testing.assert_allclose(pairs.q3, numbers(row["Q3"]), atol=1e-5)
    theirs = numbers(row["LD_X2"])
    low, high = np.tril_indices(len(theirs), -1), np.triu_indices(len(theirs), 1)
    np.testing.assert_allclose(pairs.x2[low], np.abs(theirs[low]), atol=atol)
    np.testing.assert_allclose(pairs.signed[high], theirs[high], atol=1e-5)
    people = person_fit(fit, answers)
    for ours in ("zh", "infit", "outfit"):
        key = f"{'Zh' if ours == 'zh' else ours}_first50"
        np.testing.assert_allclose(getattr(people, ours)[:50], row[key], atol=atol)


def test_sum_scores_are_those_of_all_patterns():
    yes = np.array([0.2, 0.5, 0.9, 0.35])
    curves = np.stack([1 - yes, yes], axis=1)[:, :, None]
    full = score_distribution(curves)
    np.testing.assert_allclose(full[:, 0], irt_slow.sum_score_probabilities(yes))
    found = dict(without_each(curves))
    assert sorted(found) == [0, 1, 2, 3]
    for j, scores in found.items():
        rest = irt_slow.sum_score_probabilities(np.delete(yes, j))
        np.testing.assert_allclose(scores[:, 0], rest)


def test_covariance_of_margins_is_that_of_all_patterns():
    rng = np.random.default_rng(1)
    curves, weights = rng.uniform(0.1, 0.9, (4, 7)), rng.dirichlet(np.ones(7))
    patterns = np.array(list(itertools.product((0, 1), repeat=4)))
    chance = sum(
        w * np.prod(np.where(patterns, p, 1 - p), axis=1)
        for w, p in zip(weights, curves.T, strict=True)
    )
    pairs = [patterns[:, i] * patterns[:, j] for i, j in itertools.combinations(range(4), 2)]
    margins = np.column_stack([patterns, *pairs])
    mean = chance @ margins
    expected = (margins * chance[:, None]).T @ margins - np.outer(mean, mean)
    both = np.stack([1 - curves, curves], axis=1)
    found = margin_covariance(layout_of("m2", np.ones((4, 2), dtype=bool)), both, weights)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_dependent_pair_is_found(simulated):
    answers = simulated(2000, np.full(20, 1.3), np.linspace(-1, 1, 20), 3)
    copied = np.random.default_rng(1).random(2000) < 0.3
    answers[copied, 5] = answers[copied, 2]
    fit = fit_irt(answers)
    first = local_dependence(fit, answers).to_frame().iloc[0]
    assert (first["item"], first["other"]) == (2, 5)
    assert first["signed"] > 0.1
    assert model_fit(fit, answers).p_value < 1e-6


def test_strange_respondent_is_found(simulated):
    answers = simulated(500, np.full(20, 1.5), np.linspace(2, -2, 20), 4)
    answers[7] = np.arange(20) >= 10  # misses what is easy, solves what is hard
    people = person_fit(fit_irt(answers), answers)
    assert people.zh.argmin() == 7
    assert people.to_frame().shape == (500, 6)


def test_missing_and_constant(simulated):
    answers = simulated(300, np.full(6, 1.2), np.linspace(-1, 1, 6), 5).astype(float)
    answers[:, 3] = 1.0
    answers[:40, 0] = np.nan
    answers[5] = np.nan
    fit = fit_irt(answers)
    items, people = item_fit(fit, answers), person_fit(fit, answers)
    assert np.isnan(items.s_x2[3])
    assert np.isfinite(items.s_x2[[0, 1, 2, 4, 5]]).all()
    assert items.n_complete == 260
    assert np.isnan(people.outfit[5])
    assert np.isnan(local_dependence(fit, answers).q3[3]).all()
    assert model_fit(fit, answers).n_complete == 260
    assert items.to_frame().shape[0] == 6


def test_no_degrees_of_freedom(simulated):
    answers = simulated(200, np.ones(3), np.zeros(3), 6)
    result = model_fit(fit_irt(answers, priors=None), answers)
    assert (result.df, np.isnan(result.m2)) == (0, True)
    assert np.isnan(item_fit(fit_irt(answers), answers).s_x2).all()


def test_m2_needs_two_respondents_who_answered_all(simulated):
    answers = simulated(200, np.ones(4), np.zeros(4), 7)
    fit = fit_irt(answers, model="rasch")
    one, two = answers.astype(float), answers.astype(float)
    one[1:, 0] = two[2:, 0] = np.nan
    with pytest.raises(ShapeError, match="fewer than two"):
        model_fit(fit, one)
    assert model_fit(fit, two).n_complete == 2


def test_bad_input(simulated):
    answers = simulated(30, np.ones(4), np.zeros(4), 7)
    fit = fit_irt(answers)
    with pytest.raises(ShapeError, match="the fit has 4"):
        item_fit(fit, answers[:, 1:])
    with pytest.raises(ShapeError, match="fewer than two"):
        model_fit(fit, np.where(np.arange(4) == 0, np.nan, answers))
    many = simulated(30, np.ones(101), np.zeros(101), 8)
    with pytest.raises(ShapeError, match="at most 100 items"):
        model_fit(fit_irt(many), many)


def test_sum_scores_with_one_item_more():
    one = with_item(np.ones((1, 1)), np.array([[0.75], [0.25]]))
    assert one.ravel().tolist() == [0.75, 0.25]
