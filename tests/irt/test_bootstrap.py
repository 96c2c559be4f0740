"""Fit statistics beside fits of replicated answers."""

import itertools

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.data.responses import as_responses
from psychollm.irt.answers import MISSING, orient
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.priors import Priors
from psychollm.irt.replicated.bootstrap import Sampler, bootstrap_fit, table_of
from psychollm.irt.replicated.shuffle import shuffle_null, slope_null
from psychollm.irt.replicated.statistics import NAMED
from tests.irt.test_polytomous import graded_answers


@pytest.fixture(scope="module")
def table(simulated):
    answers = simulated(60, np.full(6, 1.3), np.linspace(-1, 1, 6), 4).astype(float)
    answers[:5, 0] = np.nan
    answers[7:9, 3] = np.nan
    return answers


@pytest.fixture(scope="module")
def fit(table):
    return fit_irt(table)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_statistic_has_a_null(name, fit, table):
    null = bootstrap_fit(fit, table, statistic=name, n_null=5, rng=1)
    size = {"model": 1, "items": 6, "pairs": 15, "respondents": 60}[NAMED[name].of]
    assert null.draws.shape == (5, size)
    assert len(null.labels) == size
    assert np.isfinite(null.observed).all()
    assert ((null.p_value >= 1 / 6) & (null.p_value <= 1)).all()
    assert (null.adjusted >= null.p_value - 1e-12).all() or null.alternative == "two-sided"
    assert null.to_frame().shape == (size, 6)
    assert name in null.summary()
    assert null.n_used.tolist() == [5] * size


def test_same_for_any_number_of_workers(fit, table):
    one = bootstrap_fit(fit, table, n_null=6, rng=3)
    two = bootstrap_fit(fit, table, n_null=6, rng=3, n_jobs=2)
    np.testing.assert_array_equal(one.draws, two.draws)
    shorter = bootstrap_fit(fit, table, n_null=4, rng=3)
    np.testing.assert_array_equal(one.draws[:4], shorter.draws)


def test_a_function_is_a_statistic(fit, table):
    def mean_infit(fit, responses):
        return np.nanmean(item_fit(fit, responses).infit)

    null = bootstrap_fit(fit, table, statistic=mean_infit, n_null=5, rng=1, alternative="less")
    assert (null.statistic, null.alternative, null.labels) == ("mean_infit", "less", (0,))
    both = shuffle_null(table, statistic=lambda fit, _: fit.slope.std(), n_null=5, rng=1)
    assert both.draws.shape == (5, 1)


def test_refit_starts_at_the_fit_and_ends_at_the_top(fit, table):
    """A replicate equals what a fresh fit of the same answers gives."""
    fit = fit_irt(table, priors=Priors(slope=(1.0, 0.75), intercept=(0.0, 2.5)))
    answers = orient(as_responses(table), "models")
    drawn = Sampler(fit, answers, "population").answers(np.random.default_rng(1))
    null = bootstrap_fit(
        fit,
        table,
        statistic=lambda f, _: f.parameters.ravel(),
        n_null=1,
        rng=5,
    )
    captured = []

    def keep(fit, responses):
        captured.append(responses.codes.astype(float))
        captured[-1][responses.missing] = np.nan
        return fit.parameters.ravel()

    again = bootstrap_fit(fit, table, statistic=keep, n_null=1, rng=5)
    fresh = fit_irt(captured[-1], priors=fit.priors)
    np.testing.assert_allclose(again.draws[0], fresh.parameters.ravel(), atol=1e-7)
    np.testing.assert_array_equal(null.draws, again.draws)
    assert drawn.codes.shape == (60, 6)


@pytest.mark.parametrize("model", ["2pl", "3pl", "graded", "gpcm", "nominal"])
def test_drawn_answers_follow_the_model(model, simulated):
    """Shares of answers at 4,000 abilities; standard error below 0.008."""
    data = simulated(4000, np.full(4, 1.3), np.linspace(-1, 1, 4), 4)
    if model in ("graded", "gpcm", "nominal"):
        data = graded_answers(4000, np.full(4, 1.2), [1.0, -1.0], 2)
    fit = fit_irt(data, model=model)
    answers = orient(as_responses(data), "models")
    for drawn in ("population", "posterior"):
        codes = Sampler(fit, answers, drawn).answers(np.random.default_rng(2)).codes
        for c in range(data.max() + 1):
            shares = (codes == c).mean(axis=0), (data == c).mean(axis=0)
            np.testing.assert_allclose(*shares, atol=0.035)
        for i, j in itertools.combinations(range(4), 2):
            pair = np.corrcoef(codes[:, i], codes[:, j])[0, 1]
            np.testing.assert_allclose(pair, np.corrcoef(data[:, i], data[:, j])[0, 1], atol=0.1)


def test_posterior_draws_follow_the_respondent(fit, table):
    answers = orient(as_responses(table), "models")
    sampler = Sampler(fit, answers, "posterior")
    rng = np.random.default_rng(1)
    draws = np.stack([sampler.abilities(rng) for _ in range(400)])
    from psychollm.irt.ability import ability

    found = ability(fit, table)
    np.testing.assert_allclose(draws.mean(axis=0), found.ability, atol=0.2)  # 4 standard errors
    np.testing.assert_allclose(draws.std(axis=0), found.se, atol=0.2)


def test_gaps_constant_items_and_labels_stay(table):
    broken = table.copy()
    broken[:, 2] = 1.0
    fit = fit_irt(broken)
    answers = orient(as_responses(broken), "models")
    drawn = Sampler(fit, answers, "population").answers(np.random.default_rng(1))
    np.testing.assert_array_equal(drawn.codes == MISSING, np.isnan(broken))
    assert (drawn.codes[:, 2] == 1).all()
    null = bootstrap_fit(fit, broken, statistic="infit", n_null=4, rng=1)
    assert np.isnan(null.p_value[2])
    assert np.isnan(null.adjusted[2])
    assert null.n_used[2] == 0
    turned = fit_irt(broken.T, respondents="questions")
    one = bootstrap_fit(turned, broken.T, statistic="infit", n_null=4, rng=1)
    np.testing.assert_allclose(one.draws, null.draws)
    assert table_of(orient(as_responses(broken.T), "questions")).questions == tuple(range(60))


def test_copied_pair_stands_out(simulated):
    answers = simulated(120, np.full(8, 1.2), np.linspace(-1, 1, 8), 5)
    copied = np.random.default_rng(1).random(120) < 0.6
    answers[copied, 5] = answers[copied, 2]
    fit = fit_irt(answers)
    null = bootstrap_fit(fit, answers, statistic="q3", n_null=39, rng=2)
    assert null.labels[int(np.argmin(null.adjusted))] == (2, 5)
    assert null.adjusted.min() <= 0.05
    assert "(2, 5)" in null.summary()
    assert bootstrap_fit(fit, answers, statistic="q3_max", n_null=19, rng=2).p_value[0] <= 0.05


def test_strange_respondent_stands_out(simulated):
    answers = simulated(100, np.full(20, 1.5), np.linspace(2, -2, 20), 4)
    answers[7] = np.arange(20) >= 10  # misses what is easy, solves what is hard
    null = bootstrap_fit(fit_irt(answers), answers, statistic="person_zh", n_null=19, rng=3)
    assert null.adjusted.argmin() == 7
    assert null.adjusted[7] <= 0.05


def test_shuffle_null_tells_signal_from_noise(simulated):
    signal = simulated(60, np.full(10, 1.8), np.zeros(10), 2)
    assert shuffle_null(signal, statistic="objective", n_null=19, rng=1).p_value[0] == 1 / 20
    null = shuffle_null(signal, n_null=9, rng=1)
    assert null.scheme == "shuffled answers"
    slopes = slope_null(signal, n_null=9, rng=1)
    np.testing.assert_allclose(null.observed, slopes.slope)
    noise = (np.random.default_rng(5).random((40, 8)) < 0.5).astype(int)  # 1 seed in 20 fails
    assert shuffle_null(noise, statistic="objective", n_null=19, rng=1).p_value[0] > 0.05
    graded = graded_answers(80, np.full(4, 2.0), [1.0, -1.0], 2)
    found = shuffle_null(graded, statistic="objective", model="graded", n_null=19, rng=1)
    assert found.p_value[0] == 1 / 20


def test_bad_input(fit, table):
    with pytest.raises(OptionError, match="statistic='m3'"):
        bootstrap_fit(fit, table, statistic="m3")
    with pytest.raises(OptionError, match="abilities"):
        bootstrap_fit(fit, table, abilities="eap")
    with pytest.raises(OptionError, match="alternative"):
        bootstrap_fit(fit, table, alternative="more")
    with pytest.raises(OptionError, match="n_null=0"):
        bootstrap_fit(fit, table, n_null=0)
    with pytest.raises(ShapeError, match="60 x 6 are needed"):
        bootstrap_fit(fit, table[:, :4])
    with pytest.raises(ShapeError, match="50 models x 6 questions"):
        bootstrap_fit(fit, table[:50])


def test_replicates_in_which_nothing_varies():
    tiny = [[1, 0], [0, 1], [1, 1]]
    null = bootstrap_fit(fit_irt(tiny), tiny, statistic="infit", n_null=40, rng=2)
    assert (null.n_used < 40).all()
    assert null.n_used.min() > 0
    assert np.isnan(null.draws).any()
    assert ((null.p_value > 0) & (null.p_value <= 1)).all()


def test_summary_without_a_value():
    tiny = [[1, 0], [0, 1], [1, 1]]
    null = bootstrap_fit(fit_irt(tiny), tiny, statistic="m2", n_null=4, rng=2)
    assert np.isnan(null.p_value[0])
    assert "is undefined" in null.summary()
