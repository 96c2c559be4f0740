"""The F-beta sweep: golden values, exact crossings, baselines, bands, winners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError
from psychollm.calibration.decisions.confusion import confusion
from psychollm.calibration.decisions.f_beta import f_beta, f_score, lower_envelope
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from tests.calibration.test_confusion import golden_case
from tests.oracles import calibration_slow as slow

# tp, further yes, further correct of up to six models
COUNTS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=6
)


def answers(seed=0, k=5, n=300):
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.2, 0.9, k)[:, None]
    said = rng.random((k, n)) < rates
    right = rng.random((k, n)) < np.where(said, 0.7, 0.45)
    return said.astype(float), right.astype(float)


def test_golden(golden):
    said, right, block = golden_case(golden, "binconf_a")
    betas = [0.1, 0.25, 0.5, 1, 2, 4, 10]
    sweep = f_beta(said, right, betas=betas, bootstrap=2, rng=0)
    for row, model in enumerate(sweep.labels):
        wanted = [block["values"][model][f"fbeta_{beta}"] for beta in betas]
        np.testing.assert_allclose(sweep.value[row], wanted, rtol=1e-12)


def test_curves_are_harmonic_means_of_precision_and_recall():
    said, right = answers()
    sweep, table = f_beta(said, right, bootstrap=2, rng=0), confusion(said, right)
    for m, place in np.ndindex(sweep.value.shape):
        wanted = slow.f_beta(table.precision.value[m], table.recall.value[m], sweep.betas[place])
        assert sweep.value[m, place] == pytest.approx(wanted, rel=1e-12)


@given(COUNTS)
def test_leaders_are_best_between_their_crossings(counts):
    tp, more_yes, more_correct = np.array(counts, dtype=float).T
    yes, correct = tp + more_yes, tp + more_correct
    leaders, crossings = lower_envelope(tp, yes, correct)
    if not (tp > 0).any():
        assert leaders.size == 0
        return
    assert len(crossings) == len(leaders) - 1
    assert (np.diff(crossings) > 0).all()
    edges = np.concatenate([[1e-3], crossings, [1e3]])
    for leader, low, high in zip(leaders, edges, edges[1:], strict=False):
        if low < high:
            beta = np.sqrt(low * high)
            score = f_score(tp, yes, correct, beta)
            assert score[leader] == pytest.approx(np.nanmax(score), rel=1e-12)


def test_crossings_are_exact():
    said, right = answers()
    sweep, table = f_beta(said, right, bootstrap=2, rng=0), confusion(said, right)
    assert len(sweep.crossings) > 0
    for beta, first, second in zip(
        sweep.crossings, sweep.leaders, sweep.leaders[1:], strict=False
    ):
        score = f_score(table.tp, table.tp + table.fp, table.tp + table.fn, beta)
        assert score[first] == pytest.approx(score[second], rel=1e-13)
        assert score[first] == pytest.approx(score.max(), rel=1e-13)


def test_grid_winners_agree_with_the_leaders():
    sweep = f_beta(*answers(3), bootstrap=2, rng=0)
    segment = np.searchsorted(sweep.crossings, sweep.betas)
    np.testing.assert_array_equal(sweep.winner, sweep.leaders[segment])


def test_baselines():
    said, right = answers(1)
    sweep = f_beta(said, right, betas=[0.5, 1, 3], bootstrap=2, rng=0)
    always = f_beta(np.ones_like(said), right, betas=[0.5, 1, 3], bootstrap=2, rng=0)
    np.testing.assert_allclose(sweep.all_yes, always.value, rtol=1e-12)
    np.testing.assert_allclose(always.rate_matched, always.value, rtol=1e-12)
    for place, beta in enumerate(sweep.betas):
        wanted = slow.random_yes_f_beta(right[2].mean(), said[2].mean(), beta)
        # 400,000 draws: standard error about .001.
        assert sweep.rate_matched[2, place] == pytest.approx(wanted, abs=0.005)


def test_an_always_yes_model_of_accuracy_two_thirds_scores_point_eight():
    sweep = f_beta([[1, 1, 1]], [[1, 1, 0]], betas=[1], bootstrap=2, rng=0)
    assert sweep.value[0, 0] == pytest.approx(0.8)
    assert sweep.beats_all_yes[0, 0] == 0.0
    assert sweep.reason == (Reason.NO_NO,)


def test_bootstrap_is_that_of_repeated_questions():
    said, right = answers(2, k=3, n=60)
    sweep = f_beta(said, right, betas=[1.0], bootstrap=4000, rng=5)
    rng = np.random.default_rng(9)
    draws = []
    for _ in range(4000):
        drawn = rng.integers(60, size=60)
        hits = (said[:, drawn] * right[:, drawn]).sum(axis=1)
        draws.append(2 * hits / (said[:, drawn].sum(axis=1) + right[:, drawn].sum(axis=1)))
    wanted = np.quantile(draws, [0.025, 0.975], axis=0).T
    # Monte Carlo error of a 2.5 % quantile from 4,000 draws with sd .06: about .003 on each side.
    np.testing.assert_allclose(sweep.interval[:, 0], wanted, atol=0.015)


def test_bands_cover_the_truth():
    # Independent yes and correct: the true F1 is the rate-matched one. 300 questions, nominal
    # 95 %; 80 x 10 bands have a Monte Carlo error of .008.
    rng = np.random.default_rng(4)
    truth = 2 * 0.6 * 0.7 / (0.6 + 0.7)
    inside = []
    for _ in range(80):
        said, right = rng.random((10, 300)) < 0.7, rng.random((10, 300)) < 0.6
        band = f_beta(said, right, betas=[1.0], bootstrap=200, rng=rng).interval[:, 0]
        inside.append((band[:, 0] <= truth) & (truth <= band[:, 1]))
    assert 0.91 < np.mean(inside) < 0.97


def test_win_probabilities_sum_to_one():
    sweep = f_beta(*answers(), bootstrap=50, rng=0)
    np.testing.assert_allclose(sweep.win_probability.sum(axis=0), 1.0)
    twins = f_beta([[1, 0, 1]] * 2, [[1, 1, 0]] * 2, betas=[1.0], bootstrap=50, rng=0)
    assert twins.win_probability[0, 0] == twins.win_probability[1, 0]
    assert twins.leaders.tolist() == [0]


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_same_bits_for_any_number_of_jobs(n_jobs):
    one, many = (
        f_beta(*answers(), bootstrap=Bootstrap(37, n_jobs=jobs), rng=1) for jobs in (1, n_jobs)
    )
    np.testing.assert_array_equal(one.interval, many.interval)
    np.testing.assert_array_equal(one.win_probability, many.win_probability)


@given(st.permutations(range(5)))
def test_order_of_models_does_not_matter(order):
    said, right = answers()
    first = f_beta(said, right, betas=[0.5, 2], bootstrap=5, rng=1)
    second = f_beta(said[order], right[order], betas=[0.5, 2], bootstrap=5, rng=1)
    np.testing.assert_array_equal(first.interval[order], second.interval)
    np.testing.assert_array_equal(np.array(order)[second.leaders], first.leaders)


def test_models_that_say_nothing_or_know_nothing():
    said = [[0, 0, 0], [0, 0, 0], [np.nan] * 3, [1, 1, 0]]
    right = [[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]]
    sweep = f_beta(said, right, betas=[1.0], bootstrap=20, rng=0)
    assert sweep.reason == (
        Reason.NO_YES_NO_CORRECT,
        Reason.NO_YES,
        Reason.NO_ANSWERS,
        Reason.NONE,
    )
    np.testing.assert_array_equal(sweep.value[:, 0], [np.nan, 0.0, np.nan, 0.0])
    assert sweep.leaders.size == 0
    assert sweep.winner.tolist() == [-1]
    assert np.isnan(sweep.interval[[0, 2]]).all()
    assert len(sweep.leaders_frame()) == 0


def test_missing_answers_count_for_nothing():
    said, right = answers(k=2, n=50)
    padded = [np.hstack([part, np.full((2, 10), np.nan)]) for part in (said, right)]
    first = f_beta(said, right, betas=[1.0], bootstrap=2, rng=0)
    second = f_beta(*padded, betas=[1.0], bootstrap=2, rng=0)
    np.testing.assert_array_equal(first.value, second.value)


@pytest.mark.parametrize("betas", [[0.0], [-1.0], [np.inf], [np.nan], [[1.0, 2.0]]])
def test_bad_betas(betas):
    with pytest.raises(OptionError, match="betas"):
        f_beta([[1, 0]], [[1, 0]], betas=betas)


def test_the_callers_betas_stay_writable():
    betas = np.array([1.0, 2.0])
    f_beta([[1, 0]], [[1, 0]], betas=betas, bootstrap=2, rng=0)
    betas[0] = 3.0


def test_tables():
    sweep = f_beta(*answers(k=2), betas=[0.5, 1, 2], bootstrap=5, rng=0)
    assert len(sweep.to_frame()) == 6
    leaders = sweep.leaders_frame()
    assert leaders["from_beta"].iloc[0] == 0.0
    assert leaders["to_beta"].iloc[-1] == np.inf
