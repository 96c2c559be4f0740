"""The conditional Rasch model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.irt.conditional.andersen import andersen_test
from psychollm.irt.conditional.likelihood import connected, evaluate, sufficient
from psychollm.irt.conditional.martin_loef import martin_loef_test
from psychollm.irt.conditional.rasch import conditional_rasch, rasch_ability
from psychollm.kernels.conditional_rasch import conditional_moments
from tests.effort import examples
from tests.irt.conftest import rows
from tests.oracles import conditional_slow, irt_slow

ERM = ["eRm_RM_lsat6", "eRm_RM_lsat7"]


@pytest.fixture(scope="module")
def erm(golden):
    return rows(golden, "irt_r", "eRm")


@pytest.mark.parametrize("name", ERM)
def test_erm(name, erm, data_of):
    row, answers = erm[name], data_of(name[-5:])
    fit = conditional_rasch(answers)
    np.testing.assert_allclose(fit.difficulty, row["difficulty"], atol=1e-5)
    np.testing.assert_allclose(-fit.difficulty, row["easiness"], atol=1e-5)
    np.testing.assert_allclose(fit.se, row["se"], atol=1e-5)
    np.testing.assert_allclose(fit.conditional_log_likelihood, row["cond_loglik"], atol=1e-5)
    assert (fit.n_parameters, fit.n_respondents) == (row["npar"], row["n"])
    assert fit.convergence.converged
    assert fit.gradient < 1e-9
    scores = np.tril(np.ones((6, 5), dtype=int), -1)
    found = rasch_ability(fit, scores, method="ml")
    assert scores.sum(axis=1).tolist() == row["person_raw"]
    # eRm lays a spline through the scores between and reads off scores 0 and 5; there is no mode
    np.testing.assert_allclose(found.ability[1:5], row["person_theta"][1:5], atol=1e-5)
    assert found.reasons[0] is Reason.NO_YES
    assert found.reasons[5] is Reason.NO_NO
    assert np.isnan(found.ability[[0, 5]]).all()


@pytest.mark.parametrize("name", ERM)
def test_conditional_and_marginal_estimates_agree_roughly(name, data_of):
    from psychollm.irt.fit import fit_irt

    answers = data_of(name[-5:])
    marginal = fit_irt(answers, model="rasch", priors=None).difficulty
    fit = conditional_rasch(answers)
    np.testing.assert_allclose(fit.difficulty, marginal - marginal.mean(), atol=0.02)


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=7))
@examples(20)
def test_moments_by_enumeration(easiness):
    size = len(easiness)
    for r in range(1, size):
        counts = np.zeros(size + 1)
        counts[r] = 2.0
        logs, expected, information = conditional_moments(np.array(easiness), counts, second=True)
        np.testing.assert_allclose(np.exp(logs[r]), conditional_slow.symmetric(easiness, r))
        own = [conditional_slow.expected(easiness, r, j) for j in range(size)]
        np.testing.assert_allclose(expected, 2 * np.array(own), atol=1e-12)
        for i in range(size):
            for j in range(size):
                both = conditional_slow.expected_both(easiness, r, i, j)
                covariance = 2 * (both - own[i] * own[j])
                np.testing.assert_allclose(information[i, j], covariance, atol=1e-12)


def test_many_items_neither_overflow_nor_cancel():
    size = 800
    easiness = np.linspace(-9.0, 9.0, size)
    counts = np.zeros(size + 1)
    counts[[1, 400, 799]] = 1.0
    logs, expected, information = conditional_moments(easiness, counts, second=True)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(expected.sum(), 1200.0, rtol=1e-12)
    np.testing.assert_allclose(information.sum(axis=1), 0.0, atol=1e-9)
    # the extremes are symmetric: score 1 of e is score J - 1 of -e
    np.testing.assert_allclose(logs[1], np.log(np.exp(easiness).sum()), rtol=1e-13)


def gaps(answers, seed=2, share=0.2):
    table = answers.astype(float)
    table[np.random.default_rng(seed).random(table.shape) < share] = np.nan
    return table


def test_top_with_gaps_by_the_twin(simulated):
    table = gaps(simulated(60, np.ones(5), [1.0, 0.3, 0.0, -0.5, -1.0], 4))
    fit = conditional_rasch(table)
    lists = [[None if np.isnan(x) else int(x) for x in row] for row in table]

    def value(easiness):
        return conditional_slow.log_likelihood(lists, easiness)

    top = -fit.difficulty
    np.testing.assert_allclose(fit.conditional_log_likelihood, value(top), rtol=1e-12)
    assert np.abs(irt_slow.numeric_gradient(value, top)).max() < 1e-5
    # second differences of size 1e-4 are good to 1e-6 of the information
    inverse = np.linalg.pinv(irt_slow.numeric_information(value, top, 1e-3), rcond=1e-4)
    np.testing.assert_allclose(fit.covariance, inverse, atol=1e-4)


def test_both_readings_are_transposes(simulated):
    answers = simulated(12, np.ones(30), np.linspace(-1, 1, 30), 6)
    one = conditional_rasch(answers, respondents="questions")
    two = conditional_rasch(answers.T)
    np.testing.assert_array_equal(one.difficulty, two.difficulty)
    assert one.labels == two.labels
    assert "questions as respondents" in one.summary()
    assert list(one.to_frame()) == ["item", "difficulty", "se", "reason"]


def test_difficulties_do_not_depend_on_the_order(simulated):
    answers = simulated(80, np.ones(6), np.linspace(-1, 1, 6), 7)
    order = np.random.default_rng(1).permutation(6)
    one, two = conditional_rasch(answers), conditional_rasch(answers[::-1, order])
    np.testing.assert_allclose(two.difficulty, one.difficulty[order], atol=1e-10)
    flipped = conditional_rasch(1 - answers)
    np.testing.assert_allclose(flipped.difficulty, -one.difficulty, atol=1e-10)
    np.testing.assert_allclose(flipped.se, one.se, atol=1e-10)


def test_coverage_does_not_need_normal_abilities():
    """Two far groups of abilities: 95 % intervals cover; 400 intervals, false alarm < 1e-4."""
    truth = np.array([-1.0, -0.5, 0.5, 1.0])
    rng, inside = np.random.default_rng(8), 0
    for _ in range(100):
        ability = np.where(rng.random(300) < 0.5, -2.0, 2.0)
        chance = 1 / (1 + np.exp(-(ability[:, None] - truth)))
        fit = conditional_rasch((rng.random(chance.shape) < chance).astype(int))
        inside += int((np.abs(fit.difficulty - truth) < 1.96 * fit.se).sum())
    assert 0.90 < inside / 400 < 0.99


def test_items_without_estimates_say_why(simulated):
    answers = simulated(200, np.ones(5), np.zeros(5), 9).astype(float)
    extra = np.column_stack([answers, np.ones(200), np.full(200, np.nan), answers[:, 0]])
    alone = answers.sum(axis=1) == 5
    extra[:, 7] = np.where(alone, 1.0, 0.0)  # yes only where all else is yes: infinitely hard
    fit = conditional_rasch(extra)
    assert fit.reasons[5] is Reason.CONSTANT_ITEM
    assert fit.reasons[6] is Reason.UNANSWERED
    assert fit.reasons[7] is Reason.UNBOUNDED
    assert np.isnan(fit.difficulty[5:]).all()
    np.testing.assert_allclose(fit.difficulty[:5], conditional_rasch(answers).difficulty)
    assert "3 of 8 questions have no estimates" in fit.summary()
    apart = np.full((40, 5), np.nan)
    apart[:20, :3], apart[20:, 3:] = answers[:20, :3], answers[20:40, 3:]
    found = conditional_rasch(apart)
    assert found.reasons[4] is Reason.UNIDENTIFIED  # nobody answered items of both sets
    assert found.fitted[:3].all()


def test_bad_input(simulated):
    answers = simulated(50, np.ones(4), np.zeros(4), 1)
    with pytest.raises(CodeError):
        conditional_rasch(answers + 1)
    with pytest.raises(ShapeError, match="no two items"):
        conditional_rasch([[1, 0], [1, 0], [1, 1]])
    with pytest.raises(ShapeError, match="at most 1500"):
        conditional_rasch(np.zeros((2, 1501), dtype=int))
    fit = conditional_rasch(answers)
    with pytest.raises(ShapeError, match="same items"):
        rasch_ability(fit, answers[:, :3])
    with pytest.raises(OptionError):
        rasch_ability(fit, answers, method="eap")
    with pytest.raises(OptionError, match="not an option"):
        andersen_test(answers, split="sex")
    with pytest.raises(ShapeError, match="50 respondents"):
        andersen_test(answers, split=[1, 2])
    with pytest.raises(ShapeError, match="needs two"):
        andersen_test(answers, split=["a"] * 50)
    with pytest.raises(ShapeError, match="one group"):
        andersen_test([[1, 0], [0, 1]])
    with pytest.raises(ShapeError, match="fewer than two items"):
        andersen_test([[1, 0], [0, 1], [1, 0], [1, 0]], split=[0, 0, 1, 1])
    with pytest.raises(LabelError, match="9"):
        martin_loef_test(answers, [0, 9])
    with pytest.raises(ShapeError, match="two items"):
        martin_loef_test(answers, [0])


def test_abilities_of_perfect_scores_and_gaps(simulated):
    answers = simulated(100, np.ones(6), np.linspace(-1, 1, 6), 3).astype(float)
    fit = conditional_rasch(answers)
    table = np.array([[1.0] * 6, [0.0] * 6, [1, 1, 0, np.nan, np.nan, np.nan], [np.nan] * 6])
    warm = rasch_ability(fit, table)
    assert np.isfinite(warm.ability[:3]).all()
    assert warm.ability[1] < warm.ability[2] < warm.ability[0]
    assert warm.reasons[3] is Reason.UNSCORED
    mode = rasch_ability(fit, table, method="ml")
    at = mode.ability[2]
    p = 1 / (1 + np.exp(-(at - fit.difficulty[:3])))
    np.testing.assert_allclose(p.sum(), 2.0, atol=1e-8)
    np.testing.assert_allclose(mode.se[2], (p * (1 - p)).sum() ** -0.5, rtol=1e-8)


def test_gradient_is_zero_on_the_way_along_a_common_shift(simulated):
    table = sufficient(simulated(50, np.ones(4), np.zeros(4), 2))
    value, gradient, information = evaluate(table, np.array([0.5, 0, 0, -0.5]), second=True)
    shifted = evaluate(table, np.array([1.5, 1, 1, 0.5]), second=False)
    np.testing.assert_allclose(shifted[0], value, atol=1e-10)
    np.testing.assert_allclose([gradient.sum(), information.sum()], 0.0, atol=1e-9)
    assert not connected(np.array([[1, 0], [1, 0]])).any()
