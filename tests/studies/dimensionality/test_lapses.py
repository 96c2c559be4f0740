"""One signal or two where models lapse and guess."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtri

import psychollm as psy
from benchmarks.lapsing import simulate
from psychollm.data.pair_counts import CountedAnswers
from psychollm.estimates.verdict import Outcome
from psychollm.studies.dimensionality.lapses import one_factor_with_lapses
from psychollm.studies.dimensionality.two_factors import compare_two_factors
from validation.lapses import CELLS

BY_KEY = {cell.key: cell for cell in CELLS}
UNRELATED = "test levels 0_20_300_10-90_0.0_0.0", "test levels .3_20_1000_10-90_0.0_0.0"


def table(key, seed):
    return simulate(BY_KEY[key], np.random.default_rng(seed))


@cache
def judged(key, seed):
    """Return the study of a simulated table."""
    return psy.dimensionality(table(key, seed)[0], n_null=39, rng=seed)


def test_lapses_and_guesses_are_no_second_factor():
    # Without allowing for them, these tests say two in most tables (docs/lapses_tables.md).
    two, without = 0, 0
    for key in ("one_19_2000_10-90_0.01_0.0", "one_14_500_10-90_0.01_0.0"):
        for seed in range(3):
            result = judged(key, seed)
            two += result.n_factors == 2
            without += result.one_factor_test.p_value <= 0.05
    assert two == 0
    assert without >= 5


def test_what_the_verdict_says_of_lapses():
    yes, loading, rate = table("one_19_2000_10-90_0.04_0.0", 1)
    result = psy.dimensionality(yes, n_null=39, rng=1)
    assert result.n_factors == 1
    assert result.verdict.startswith("One factor, with lapses: the median model answers ")
    assert "one factor is rejected (p = .025), with lapses it is not (p = " in result.verdict
    assert result.one_factor_model == "with lapses"
    assert result.one_factor is result.with_lapses.fit
    assert result.lapses is result.with_lapses.fit.rate
    assert result.lapses.value == pytest.approx(rate, abs=0.02)
    # Lapses left in, loadings of .90 come out at about .82.
    assert np.mean(result.full_information.loadings - loading) < -0.05
    assert np.mean(result.one_factor.loadings - loading) == pytest.approx(0.0, abs=0.01)
    compared = result.model_comparison
    assert compared["with lapses"][0] > compared["normal ogive"][0] + 100
    assert compared["with lapses"][1] == 2 * compared["normal ogive"][1]
    assert "one factor with lapses" in result.findings()["tests"].numbers
    assert abs(result.residuals.standardised).max() < 4.5
    assert result.with_lapses.fit.to_frame().columns.tolist()[:3] == [
        "model",
        "loading",
        "se_loading",
    ]


@pytest.mark.parametrize(
    "key", ["second .05_19_500_10-90_0.01_0.0", "halves .8_19_500_10-90_0.01_0.0"]
)
def test_two_factors_are_found_beside_lapses(key):
    yes, _, _ = table(key, 2)
    result = psy.dimensionality(yes, n_null=39, rng=1)
    assert result.n_factors == 2
    assert result.second_factor() is Outcome.ABOVE
    assert result.verdict.startswith("At least two factors: one factor is rejected, also with")
    share = result.with_lapses.second_share.observed
    assert share == pytest.approx(0.05 if key.startswith("second") else 0.08, abs=0.02)


def test_a_second_factor_that_extreme_models_read_is_not_taken_for_lapses():
    yes, _, _ = table("ext_19_2000_10-90_0.01_0.0", 3)
    assert psy.dimensionality(yes, n_null=39, rng=1).n_factors == 2


def test_lapses_do_not_take_the_place_of_a_factor_of_the_hard_questions():
    # One factor with lapses of 15 to 35 % is compatible with most of these tables.
    found = [judged(key, seed) for key in UNRELATED for seed in range(2)]
    assert [one.n_factors for one in found] == [2] * 4
    assert all(one.with_lapses.two_factors.better for one in found)
    assert all(one.second_share.observed > 0.1 for one in found)
    assert all(one.one_factor_model == "normal ogive" for one in found)
    few = [judged("test levels .3_20_300_10-90_0.0_0.0", seed) for seed in range(3)]
    undecided = [one for one in few if one.with_lapses.undecided(0.05)]
    assert undecided
    assert {one.second_factor() for one in undecided} == {Outcome.OPEN}


def test_the_likelihood_of_two_factors_is_that_of_the_multidimensional_fit():
    rng = np.random.default_rng(8)
    yes, _, _ = simulate(BY_KEY[UNRELATED[0]], rng)
    answers = CountedAnswers.of(psy.Responses(yes[:8]))
    one = one_factor_with_lapses(answers.table)
    two = compare_two_factors(answers, one, level=0.95)
    fit = psy.irt.fit_multidimensional(
        yes[:8], 2, link="probit", respondents="questions", priors=None
    )
    # Pairwise estimates are close to the maximum of the likelihood.
    assert fit.log_likelihood - 1.0 < two.log_likelihood < fit.log_likelihood + 1e-3
    assert two.n_parameters == fit.n_parameters
    expected = two.log_likelihood - one.log_likelihood - 3.5 * np.log(yes.shape[1])
    assert two.difference.value[0] == pytest.approx(expected, abs=1e-6)


def test_tables_without_lapses_fit_none():
    made = psy.simulate_factor(
        loadings=[0.8] * 8, thresholds=np.linspace(-1, 1, 8), n_questions=800, rng=1
    )
    result = psy.dimensionality(made.responses, n_null=39, rng=1)
    assert result.with_lapses is None
    assert result.lapses is None
    assert result.one_factor_model == "normal ogive"
    assert list(result.model_comparison) == ["normal ogive"]


def test_rates_of_models_that_never_lapse_begin_at_zero_beside_one_that_does():
    cell = next(cell for cell in CELLS if cell.kind == "alone")
    yes, _, rate = simulate(cell, np.random.default_rng(3))
    fit = one_factor_with_lapses(psy.Responses(yes))
    low, high = fit.rate.interval.T
    lapses = int(np.argmax(rate))
    assert 0.05 < low[lapses] <= rate[lapses] <= high[lapses]
    assert np.mean(low[rate == 0.0] == 0.0) >= 0.8


def test_rates_that_differ_between_models_are_covered():
    # Asymptotes taken as independent covered .86 (docs/lapse_rates_tables.md: .94).
    cell = next(cell for cell in CELLS if cell.kind == "uneven" and cell.rates == "10-90")
    covered = []
    for seed in range(6):
        yes, _, rate = simulate(cell, np.random.default_rng([seed, 1]))
        low, high = one_factor_with_lapses(psy.Responses(yes)).rate.interval.T
        covered += ((low <= rate) & (rate <= high)).tolist()
    assert np.mean(covered) > 0.9


def test_rates_begin_at_zero_where_answers_show_no_lapses():
    made = psy.simulate_factor(
        loadings=[0.8] * 8, thresholds=np.linspace(-1, 1, 8), n_questions=800, rng=1
    )
    full = psy.factor.full_information(made.responses)
    fit = one_factor_with_lapses(made.responses, without=full.log_likelihood)
    assert not fit.evident
    assert (fit.rate.interval[:, 0] == 0.0).all()
    assert (fit.rate.value < 0.05).all()


def test_missing_answers_and_extreme_models():
    yes, _, rate = table("one_19_2000_1-99_0.01_0.0", 5)
    codes = yes.astype(float)
    codes[np.random.default_rng(1).random(codes.shape) < 0.3] = np.nan
    result = psy.dimensionality(codes, n_null=39, rng=1)
    fit = result.with_lapses.fit
    assert result.n_factors == 1
    assert fit.convergence.converged
    assert fit.rate.value.mean() == pytest.approx(rate.mean(), abs=0.005)
    assert np.isfinite(fit.rate.interval).all()


def test_scores_alone_decide_where_they_are_far_from_one_factor():
    lapses = judged("levels .8_19_2000_10-90_0.01_0.0", 1).with_lapses
    assert lapses.far
    assert lapses.second_shown(0.05)
    assert not judged("one_19_2000_10-90_0.01_0.0", 1).with_lapses.far


def test_the_result_is_saved_whole_and_repeats(tmp_path):
    yes, _, _ = table("one_14_500_10-90_0.01_0.0", 0)
    one, other = (psy.dimensionality(yes, n_null=39, rng=4, n_jobs=jobs) for jobs in (1, 2))
    assert one.with_lapses is not None
    assert one.with_lapses.test.draws.tolist() == other.with_lapses.test.draws.tolist()
    assert one.verdict == other.verdict
    one.save(tmp_path / "result.psy")
    again = psy.load(tmp_path / "result.psy")
    assert again.verdict == one.verdict
    assert again.summary() == one.summary()


def test_scans_judge_a_sample_of_the_questions_with_lapses():
    rng = np.random.default_rng(5)
    n, tau = 3000, -ndtri(np.linspace(0.2, 0.8, 8))
    latent = 0.9 * rng.standard_normal(n) + np.sqrt(0.19) * rng.standard_normal((8, n))
    yes = np.where(rng.random((8, n)) < 0.04, rng.random((8, n)) < 0.5, latent > tau[:, None])
    found = psy.studies.shared_signals(psy.Responses(yes.astype(int)), n_null=39, rng=1)
    assert found.n_factors == 1
    assert "with lapses" in found.verdict
