"""Screening, differential functioning, linking, short forms."""

import numpy as np
import pytest

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.fit import fit_irt
from psychollm.irt.groups.logistic import differential_functioning
from psychollm.irt.linking import link_scales
from psychollm.irt.screen import item_screen
from psychollm.irt.short_form import short_form


def test_miskeyed_dead_and_empty_items_are_found(simulated):
    slopes = np.array([1.5] * 10 + [-1.5, 0.0])
    answers = simulated(600, slopes, np.linspace(-1, 1, 12), 1)
    answers[:, 4] = 1
    screen = item_screen(fit_irt(answers), answers)
    assert np.flatnonzero(screen.miskeyed).tolist() == [10]
    assert np.flatnonzero(screen.dead).tolist() == [4]
    assert np.flatnonzero(screen.empty).tolist() == [11]
    assert "1 can be shown to be miskeyed: 10" in screen.summary()
    assert screen.to_frame()["item"][0] == 10


def test_a_dozen_models_prove_nothing_against_a_noisy_item(simulated):
    answers = simulated(12, np.full(200, 0.3), np.zeros(200), 2)
    screen = item_screen(fit_irt(answers), answers)
    assert (np.nan_to_num(screen.p_value, nan=1.0) < 0.05).any()
    assert not screen.miskeyed.any()


def test_screen_holds_its_level_on_shuffled_answers():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        answers = rng.random((60, 8)) < 0.5
        alarms += item_screen(fit_irt(answers, model="1pl"), answers).miskeyed.any()
    assert alarms <= 12  # of 5 expected: false alarm of this test below 0.3 %


def test_rest_correlation_is_the_correlation(simulated):
    answers = simulated(80, np.ones(6), np.zeros(6), 4)
    screen = item_screen(fit_irt(answers), answers)
    for j in range(6):
        rest = np.delete(answers, j, axis=1).mean(axis=1)
        expected = np.corrcoef(answers[:, j], rest)[0, 1]
        np.testing.assert_allclose(screen.rest_correlation[j], expected, atol=1e-12)


def two_groups(simulated, seed, impact=0.0, n=800):
    ability = np.concatenate([np.zeros(n), np.full(n, impact)])
    rng = np.random.default_rng(seed)
    z = 1.4 * (rng.normal(size=(2 * n, 1)) + ability[:, None] - np.linspace(-1, 1, 10))
    return z, np.repeat(["old", "new"], n), rng


def test_uniform_and_nonuniform_functioning_are_told_apart(simulated):
    z, groups, rng = two_groups(simulated, 5, impact=0.5)
    z[800:, 3] += 1.2
    z[800:, 6] *= 0.2
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    result = differential_functioning(answers, groups)
    assert np.flatnonzero(result.flagged).tolist() == [3, 6]
    assert result.uniform[3] < 1e-4 < result.nonuniform[3]
    assert result.nonuniform[6] < 1e-4
    assert result.log_odds[3] > 0.7
    assert result.groups == ("old", "new")
    assert result.rounds >= 2
    assert "2 of 10 items" in result.summary()
    assert result.to_frame()["size"][0] == "negligible"


def test_functioning_holds_its_level(simulated):
    alarms = 0
    for seed in range(40):
        z, groups, rng = two_groups(simulated, 100 + seed, n=250)
        answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
        alarms += differential_functioning(answers, groups).flagged.any()
    assert alarms <= 7  # of 2 expected: false alarm of this test below 0.4 %


def test_swapping_groups_turns_the_shift(simulated):
    z, groups, rng = two_groups(simulated, 6)
    z[800:, 3] += 1.0
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    one = differential_functioning(answers, groups)
    two = differential_functioning(answers[::-1], groups[::-1])
    np.testing.assert_allclose(two.log_odds, -one.log_odds, atol=1e-6)
    np.testing.assert_allclose(two.statistic, one.statistic, atol=1e-6)


def test_functioning_agrees_with_statsmodels(simulated):
    sm = pytest.importorskip("statsmodels.api")
    z, groups, rng = two_groups(simulated, 7)
    answers = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    result = differential_functioning(answers, groups, purify=False)
    score, group = answers.mean(axis=1), (groups == "new").astype(float)
    score = (score - score.mean()) / score.std()
    columns = np.column_stack([np.ones(score.size), score, group, score * group])
    for j in (0, 4):
        fits = [sm.Logit(answers[:, j], columns[:, :k]).fit(disp=0) for k in (2, 3, 4)]
        np.testing.assert_allclose(result.statistic[j], 2 * (fits[2].llf - fits[0].llf), atol=1e-7)
        np.testing.assert_allclose(result.log_odds[j], fits[1].params[2], atol=1e-5)


def test_functioning_of_untestable_items(simulated):
    answers = simulated(100, np.ones(5), np.zeros(5), 8)
    answers[:, 0] = 1
    answers[:50, 1] = 1
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert result.reasons[:2] == (Reason.CONSTANT_ITEM, Reason.TOO_FEW)
    assert np.isnan(result.p_value[:2]).all()
    assert result.size[0] == ""
    with pytest.raises(LabelError, match="two different labels, got 3"):
        differential_functioning(answers, np.arange(100) % 3)
    with pytest.raises(ShapeError, match="99 labels"):
        differential_functioning(answers, np.zeros(99))
    with pytest.raises(ShapeError, match="at least 3"):
        differential_functioning(answers[:, :2], np.repeat([0, 1], 50))


@pytest.mark.parametrize("method", ["stocking_lord", "haebara", "mean_sigma", "mean_mean"])
@pytest.mark.parametrize("model", ["2pl", "rasch", "3pl"])
def test_linking_recovers_a_known_change_of_scale(method, model, simulated):
    answers = simulated(800, np.linspace(0.8, 1.6, 8), np.linspace(-1, 1, 8), 9)
    fit = fit_irt(answers, model=model)
    moved = fit.family.rescaled(fit.parameters, 0.7, 1.5)  # ability_1 = 0.7 + 1.5 ability_2
    from dataclasses import replace

    other = replace(fit, parameters=moved)
    result = link_scales(fit, other, method=method)
    sd = fit.ability_sd
    np.testing.assert_allclose([result.scale, result.shift], [1.5, 0.7 * sd], atol=1e-5)
    assert result.rmsd < 1e-6
    np.testing.assert_allclose(result.moved([0.0, 1.0]), [0.7 * sd, 0.7 * sd + 1.5], atol=1e-5)


def test_linking_matches_items_by_label(simulated):
    slopes, intercepts = np.full(12, 1.3), np.linspace(-1.5, 1.5, 12)
    names = [f"q{j}" for j in range(12)]
    one = Responses.from_array(simulated(2000, slopes, intercepts, 10), questions=names)
    harder = simulated(2000, slopes, intercepts + 1.3 * 0.8, 11)  # abler by 0.8
    two = Responses.from_array(harder, questions=names)
    first = fit_irt(one.select(questions=names[:8]))
    second = fit_irt(two.select(questions=names[4:]))
    result = link_scales(first, second)
    assert result.labels == ("q4", "q5", "q6", "q7")
    assert abs(result.shift - 0.8) < 0.2
    assert abs(result.scale - 1.0) < 0.2
    assert result.to_frame().shape == (4, 2)
    with pytest.raises(ShapeError, match="share 1 items"):
        link_scales(first, fit_irt(two.select(questions=names[7:])))
    with pytest.raises(OptionError, match="only fits of one model"):
        link_scales(first, fit_irt(two, model="1pl"))


@pytest.mark.parametrize("method", ["information", "error"])
def test_short_form_beats_random_items(method, simulated):
    slopes = np.tile([2.0, 0.2, 0.2], 40)
    answers = simulated(80, slopes, np.linspace(-2, 2, 120), 12)
    result = short_form(answers, 12, method=method)
    assert len(set(result.items)) == 12
    assert result.rmse < result.random_rmse
    assert result.rank_correlation > 0.8
    assert "12 items predict" in result.summary()
    assert result.to_frame().shape == (80, 3)
    np.testing.assert_array_equal(
        short_form(answers, 12, method=method).predicted, result.predicted
    )


def test_short_form_of_everything_is_everything(simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 13)
    result = short_form(answers, 10, method="error", n_folds=4)
    assert set(result.items) == set(range(10))
    assert result.rmse < 1e-10


def test_short_form_bad_input(simulated):
    answers = simulated(20, np.ones(10), np.zeros(10), 14).astype(float)
    with pytest.raises(OptionError, match="more than the 10"):
        short_form(answers, 11)
    with pytest.raises(ShapeError, match="two per fold"):
        short_form(answers[:6], 3)
    answers[0, 0] = np.nan
    with pytest.raises(ShapeError, match="complete answers"):
        short_form(answers, 3)
