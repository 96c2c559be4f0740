"""The logistic factor model: updates, recovery, what it says where nothing is known."""

import numpy as np
import pytest

from psychollm.irt.factors.rounds import records, unpacked
from psychollm.irt.logistic_factors import Answers, fit_logistic_factors
from psychollm.kernels.logistic_factors import update_rows
from tests.oracles import logistic_factors_slow


def _logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def _table(rng, n, m, rank, *, filled=0.7, slope=0.0):
    known = rng.standard_normal(m)
    eta = 1.5 * rng.standard_normal((n, 1)) + 1.2 * rng.standard_normal(m) + slope * known
    eta = eta + 0.8 * rng.standard_normal((n, rank)) @ rng.standard_normal((m, rank)).T
    answers = (rng.random((n, m)) < _logistic(eta)).astype(float)
    return np.where(rng.random((n, m)) < filled, answers, np.nan), _logistic(eta), known


def _vectors(rng, count, d, known):
    roots = rng.standard_normal((count, d - known, d - known))
    around = np.zeros((count, d, d))
    around[:, known:, known:] = roots @ roots.transpose(0, 2, 1) / d + 0.1 * np.eye(d - known)
    mean = rng.standard_normal((count, d))
    mean[:, :known] = 1.0
    return mean, around


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize(("d", "known"), [(1, 0), (2, 0), (3, 1), (5, 1)])
def test_updates_agree_with_the_slow_ones(d, known, bound):
    rng = np.random.default_rng(3)
    m, n = 6, 9
    values = np.where(rng.random((m, n)) < 0.7, rng.random((m, n)), np.nan)  # shares of a yes
    values[2] = np.nan
    own, other = _vectors(rng, m, d, known), _vectors(rng, n, d, 0)
    other[0][:, -1], other[1][:, -1], other[1][:, :, -1] = 1.0, 0.0, 0.0
    precision = np.linalg.inv(_vectors(rng, 1, d - known, 0)[1][0])
    centre = rng.standard_normal((m, d - known))
    expected = logistic_factors_slow.updated(values, precision, centre, known, own, other, bound)
    triangle = np.tril_indices(d)
    mean, packed = own[0].copy(), np.ascontiguousarray(own[1][:, *triangle])
    columns = records(np.delete(other[0], -1, axis=1), other[1][:, :-1, :-1], d - 1)
    sums = np.zeros_like(columns)
    found = update_rows(
        Answers.of(values)(0, m), columns, (precision, centre), (mean, packed), sums, bound
    )
    np.testing.assert_allclose(mean, expected[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(unpacked(packed, d), expected[1], rtol=1e-9, atol=1e-11)
    for i in range(n):
        at = other[0][i], other[1][i]
        total, pull = logistic_factors_slow.sums(values[:, i], at, expected, bound)
        np.testing.assert_allclose(sums[i, :-d], total[triangle], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(sums[i, -d:], pull, rtol=1e-8, atol=1e-10)
    if not bound:
        truth = logistic_factors_slow.log_likelihood(values, expected, other)
        np.testing.assert_allclose(found, truth, rtol=1e-9)


@pytest.mark.parametrize("variance", [0.05, 0.5, 1.5])
def test_the_parabola_has_slope_and_curvature_of_the_expected_likelihood(variance):
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    for mean in (-3.0, -0.5, 0.0, 1.0, 2.5):
        chance = _logistic(mean + np.sqrt(variance) * nodes)
        p = weights @ chance / weights.sum()
        bend = weights @ (chance * (1.0 - chance)) / weights.sum()
        square = variance + mean**2
        weight, slope = logistic_factors_slow.parabola(1.0, mean, square, bound=False)
        # MacKay's approximation is within a hundredth.
        assert abs(slope - weight * mean - (1.0 - p)) < 0.01
        assert abs(weight - bend) < 0.01


def test_probabilities_of_empty_cells_come_close_to_the_true_ones():
    answers, truth, _ = _table(np.random.default_rng(5), 60, 200, 2)
    hidden = np.isnan(answers)
    rms = {
        rank: np.sqrt(
            np.mean(
                (fit_logistic_factors(answers, rank=rank, rng=1).probabilities() - truth)[hidden]
                ** 2
            )
        )
        for rank in (0, 2)
    }
    # Two factors with 42 answers a column leave some error; without them it is a third more.
    assert rms[2] < 0.15
    assert rms[0] > 1.3 * rms[2]


def test_features_predict_columns_without_answers():
    answers, truth, known = _table(np.random.default_rng(7), 40, 150, 0, slope=2.0)
    answers[:, :30] = np.nan
    features = known[:, None]
    told = fit_logistic_factors(answers, rank=1, columns=features, rng=1).probabilities()
    blind = fit_logistic_factors(answers, rank=1, rng=1).probabilities()
    errors = [np.mean((guess - truth)[:, :30] ** 2) for guess in (told, blind)]
    assert errors[0] < 0.6 * errors[1]
    assert np.ptp(blind[0, :30]) < 0.05  # columns of which nothing is known are alike


def test_new_rows_are_scored_as_if_they_had_been_there():
    answers, _, _ = _table(np.random.default_rng(11), 80, 120, 1)
    fit = fit_logistic_factors(answers, rank=1, rng=1)
    again = fit.score_rows(answers[:5])
    np.testing.assert_allclose(again.mean, fit.rows.mean[:5], atol=0.1)
    np.testing.assert_allclose(fit.probabilities(again), fit.probabilities()[:5], atol=0.02)
    nothing = fit.score_rows(np.full((1, 120), np.nan))
    np.testing.assert_allclose(nothing.covariance[0], np.linalg.inv(fit.row_precision))


def test_uncertainty_of_a_row_shrinks_its_predictions():
    answers, _, _ = _table(np.random.default_rng(13), 80, 120, 0)
    fit = fit_logistic_factors(answers, rank=0, rng=1)
    few = np.full((1, 120), np.nan)
    few[0, :4] = 1.0
    scored = fit.score_rows(few)
    mean, variance = fit.logits(scored)
    assert variance.min() > 0.2
    # The mean probability lies nearer to one half than that of the mean logit.
    inward = np.abs(fit.probabilities(scored) - 0.5) < np.abs(_logistic(mean) - 0.5)
    assert inward[np.abs(mean) > 0.05].all()


def test_constant_tables_stay_finite():
    fit = fit_logistic_factors(np.ones((4, 6)), rank=2, rng=0)
    assert (fit.probabilities() > 0.8).all()
    assert (fit.probabilities() < 1.0).all()


def test_same_seed_same_fit():
    answers, _, _ = _table(np.random.default_rng(17), 20, 30, 1)
    first, second = (fit_logistic_factors(answers, rank=2, rng=4).probabilities() for _ in "ab")
    assert np.array_equal(first, second)
