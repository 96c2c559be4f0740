"""What a screen of items finds, and what it leaves alone."""

import numpy as np

from psychollm.irt.fit import fit_irt
from psychollm.irt.screen import item_screen


def test_miskeyed_dead_and_empty_items_are_found(simulated):
    slopes = np.array([1.5] * 10 + [-1.5, 0.0])
    answers = simulated(600, slopes, np.linspace(-1, 1, 12), 1)
    answers[:, 4] = 1
    screen = item_screen(fit_irt(answers), answers)
    assert np.flatnonzero(screen.miskeyed).tolist() == [10]
    assert np.flatnonzero(screen.dead).tolist() == [4]
    assert np.flatnonzero(screen.empty).tolist() == [11]
    assert "1 are significantly miskeyed: 10" in screen.summary()
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


def test_rest_correlation_where_answers_are_missing(simulated):
    answers = simulated(80, np.ones(6), np.zeros(6), 4).astype(float)
    answers[::3, 2] = np.nan
    screen = item_screen(fit_irt(answers), answers)
    seen = np.isfinite(answers[:, 2])
    rest = np.delete(answers, 2, axis=1)[seen].mean(axis=1)
    expected = np.corrcoef(answers[seen, 2], rest)[0, 1]
    np.testing.assert_allclose(screen.rest_correlation[2], expected, atol=1e-12)
