"""Words and bounds of a verdict on dimensionality."""

from dataclasses import replace

import numpy as np
import pytest

import psychollm as psy
from psychollm.data.pair_counts import CountedAnswers
from psychollm.estimates.verdict import SMALLEST, Outcome
from psychollm.factor.one_factor.residuals import ResidualTest, pair_residuals
from psychollm.studies.dimensionality.lapse_tests import WithLapses, reported_share
from psychollm.studies.dimensionality.lapses import one_factor_with_lapses
from psychollm.studies.dimensionality.study import n_factors
from psychollm.studies.dimensionality.two_factors import compare_two_factors
from psychollm.studies.dimensionality.verdict import (
    Evidence,
    share_interval,
    shared_interval,
    verdict,
)

EVIDENCE = {
    "p_shared": 0.002,
    "p_one": 0.41,
    "shared_interval": (0.0, 0.4),
    "share": 0.008,
    "share_interval": (0.0, 0.012),
    "p_share": 0.4,
    "p_second": 0.41,
    "counted": True,
    "empty_cells": "keep_margins",
    "alpha": 0.05,
}


LARGE = {"share": 0.051, "share_interval": (0.02, 0.06), "p_share": 0.01}
SKEWED = {"share": 0.02, "share_interval": (0.005, 0.03), "p_share": 0.01}


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    score = rng.standard_normal(800)
    yes = 0.9 * score + 0.4 * rng.standard_normal((8, 800)) > np.linspace(-1, 1, 8)[:, None]
    lapse = rng.random(yes.shape) < 0.1
    yes = np.where(lapse, rng.random(yes.shape) < 0.5, yes)
    answers = CountedAnswers.of(psy.Responses(yes.astype(int)))
    fit = one_factor_with_lapses(answers.table)
    return WithLapses(
        fit=fit,
        test=null(0.4),
        second_share=null(0.4),
        two_factors=compare_two_factors(answers, fit, level=0.95),
    )


def with_tests(fit, p_with, p_share, gap=(-30.0, -10.0)):
    """Tests with the given p-values, and difference of two factors in log-likelihood."""
    difference = replace(
        fit.two_factors.difference, value=np.array([np.mean(gap)]), interval=np.array([gap])
    )
    return replace(
        fit,
        test=null(p_with),
        second_share=null(p_share),
        two_factors=replace(fit.two_factors, difference=difference),
    )


def null(p_value):
    """A test of which the verdict reads the p-value alone."""
    return ResidualTest(
        observed=1.0,
        draws=np.array([0.0, 2.0]),
        p_value=p_value,
        p_value_se=0.0,
        n=2,
        scheme="one_factor_with_lapses",
        statistic="",
        alternative="greater",
        factors=1,
        loadings=np.zeros(1),
        labels=(0,),
    )


@pytest.mark.parametrize(
    ("change", "p_with", "n", "words"),
    [
        ({}, None, 1, "one factor is found; the second eigenvalue is an artefact"),
        (
            {"counted": False},
            None,
            1,
            "one factor is found; the second eigenvalue is no larger than expected by chance",
        ),
        ({"p_second": 0.01}, None, 1, "need no continuity correction"),
        (
            {"share_interval": (0.0, 0.08)},
            None,
            1,
            "one factor is found; .* explains at least 2.5 % .* be excluded. .* artefact",
        ),
        ({}, 0.4, 1, "one factor, with lapses: .* explains at most 1.2 % of the"),
        (
            {"share_interval": (0.0, 0.08)},
            0.4,
            1,
            "with lapses: .* up to 8.0 % .* cannot be excluded",
        ),
        (
            {"p_one": 0.002},
            0.4,
            1,
            "without lapses one factor is rejected (p = .002), with lapses it is not (p = .453)",
        ),
        (
            LARGE,
            0.04,
            2,
            "at least two factors: .* lapses (p = .004), and a second factor explains 5.1 %",
        ),
        (
            {"p_share": 0.2},
            0.04,
            1,
            "one dominant factor with local dependence: .* is within the range expected by chance",
        ),
        (
            {"p_share": 0.02},
            0.15,
            1,
            "with local dependence: .* is reported only if p is at most 0.0175",
        ),
        ({"p_share": 0.5}, 0.04, 1, "one factor, with lapses: "),
        (LARGE | {"p_share": 0.2}, 0.01, 2, "at least two factors: "),
        (
            {"share": 0.011, "p_share": 0.01},
            0.01,
            2,
            "with local dependence: .* explains only 1.1 %",
        ),
        (
            SKEWED,
            0.01,
            2,
            "with local dependence: .* heavy-tailed factor, or a few similar models",
        ),
        (
            LARGE | {"near_copies": (("a", "b"), ("c", "d", "e"))},
            0.01,
            2,
            "at least two factors: .* more similar than the factor explains: a and b; c, d",
        ),
        (
            {"p_shared": 0.3},
            None,
            0,
            "there is no significant common factor: .* a factor with correlations",
        ),
        (
            {"p_shared": 0.3, "shared_interval": (0.0, 0.08)},
            None,
            0,
            "there is no relevant common factor: .* is below 0.1",
        ),
    ],
)
def test_sentences(change, p_with, n, words, fit):
    numbers = EVIDENCE | change
    lapses = None
    if p_with is not None:
        lapses = with_tests(fit, p_with, numbers["p_share"])
    found = n_factors(numbers["p_shared"], lapses, numbers["alpha"])
    text = verdict(Evidence(n_factors=found, lapses=lapses, **numbers))
    assert found == n
    for part in words.split(" .* "):
        assert part in text


def test_the_verdict_names_the_model_that_lapses_most(fit):
    lapses = with_tests(fit, 0.4, 0.4)
    text = verdict(Evidence(n_factors=1, lapses=lapses, **EVIDENCE))
    rate = fit.fit.rate
    most = rate.labels[int(np.argmax(rate.value))]
    assert "the median model answers" in text
    assert f"(most: {most}, " in text


@pytest.mark.parametrize(
    ("gap", "n", "words"),
    [
        ((2.0, 40.0), 2, "two factors describe the answers better than one factor with lapses"),
        ((-20.0, 6.0), 1, "the reason is unclear: either a second factor explains 5.1 %"),
        ((-40.0, -6.0), 1, "one factor, with lapses: the median model answers"),
    ],
)
def test_likelihoods_decide_between_lapses_and_a_second_factor(gap, n, words, fit):
    lapses = with_tests(fit, 0.4, 0.4, gap)
    found = n_factors(0.002, lapses, 0.05)
    assert found == n
    evidence = Evidence(n_factors=found, lapses=lapses, **EVIDENCE | LARGE)
    assert words in verdict(evidence)
    assert evidence.second(SMALLEST) is (Outcome.ABOVE if n == 2 else Outcome.OPEN)
    # The proportion of variance beside lapses is reported only if lapses explain the answers.
    without = null(0.01)
    assert (reported_share(without, lapses, 0.05) is without) == (gap[1] > 0.0)
    assert lapses.evident == (gap[1] < 0.0)


def test_factors_of_questions_are_described_in_words_about_questions(fit):
    lapses = with_tests(fit, 0.4, 0.4)
    text = verdict(Evidence(n_factors=1, lapses=lapses, of="questions", **EVIDENCE))
    assert " of the models answer the median question at random (most: " in text
    rng = np.random.default_rng(2)
    answers = (rng.random((300, 6)) < 0.4).astype(int)
    answers[:, 2] = 1
    with pytest.warns(psy.errors.ValidityWarning, match=r"2 \(always answered yes\)"):
        found = psy.dimensionality(answers, of="questions", n_null=19, rng=1)
    assert found.of == "questions"
    assert repr(found).startswith("Dimensionality of 5 questions: ")
    assert "agreement between questions" in found.verdict
    assert "of questions" in str(found.findings())
    with pytest.raises(
        psy.errors.ShapeError, match="at least 4 questions with varying answers, got 3"
    ):
        psy.dimensionality(answers[:, :4], of="questions", n_null=19)


def test_a_small_second_factor_needs_no_decision(fit):
    evidence = Evidence(n_factors=1, lapses=with_tests(fit, 0.4, 0.4, (-9.0, 9.0)), **EVIDENCE)
    assert "explains at most 1.2 % of the latent variance" in verdict(evidence)


def test_near_copies_are_named_and_a_second_factor_is_not():
    rng = np.random.default_rng(3)
    made = psy.simulate_factor(
        loadings=[0.8] * 19, thresholds=np.linspace(-1, 1, 19), n_questions=1500, rng=3
    )
    codes = made.responses.codes.copy()
    for copy, of in ((3, 2), (8, 6), (9, 6)):
        codes[copy] = np.where(rng.random(1500) < 0.8, codes[of], codes[copy])
    result = psy.dimensionality(codes, n_null=49, rng=1)
    assert sorted(result.near_copies) == [(2, 3), (6, 8, 9)]
    assert "2 and 3" in result.verdict
    assert "6, 8 and 9" in result.verdict
    halves = psy.simulate_factor(
        loadings=np.kron(np.eye(2), np.full((5, 1), 0.8)),
        thresholds=np.tile(np.linspace(-1, 1, 5), 2),
        n_questions=1500,
        factor_correlation=[[1, 0.6], [0.6, 1]],
        rng=1,
    )
    assert psy.dimensionality(halves.responses, n_null=49, rng=1).near_copies == ()


def test_a_correlation_of_all_pairs_is_bounded_by_their_residuals():
    thresholds = np.linspace(-0.8, 0.8, 10)
    upper = []
    for seed in range(20):
        made = psy.simulate_factor(
            loadings=[np.sqrt(0.1)] * 10, thresholds=thresholds, n_questions=500, rng=seed
        )
        left = pair_residuals(made.responses, loadings=np.zeros(10))
        upper.append(shared_interval(left.largest_eigenvalue, thresholds, left.n, 0.05)[1])
    assert min(upper) > 0.1
    independent = (np.random.default_rng(1).random((10, 4000)) < 0.5).astype(int)
    left = pair_residuals(independent, loadings=np.zeros(10))
    assert shared_interval(left.largest_eigenvalue, np.zeros(10), left.n, 0.05)[1] < 0.05
    assert shared_interval(1e6, np.zeros(10), left.n, 0.05) == (0.0, 1.0)


def test_a_share_of_a_second_factor_is_bounded_by_those_of_one_factor():
    draws = np.linspace(0.01, 0.03, 201)
    low, high = share_interval(0.05, draws, 0.05)
    assert low == pytest.approx(0.05 - 0.0295)
    assert high == pytest.approx(0.05 + 0.0295 - 0.02)
    assert share_interval(0.02, draws, 0.05)[0] == 0.0


def test_components_of_binary_answers_are_those_of_their_pearson_correlations():
    made = psy.simulate_factor(
        loadings=[0.8] * 6, thresholds=np.linspace(-1.5, 1.5, 6), n_questions=500, rng=1
    )
    plain = psy.dimensionality(made.responses, n_null=19, rng=1).spectrum
    expected = np.linalg.eigvalsh(np.corrcoef(made.responses.codes))[::-1] / 6
    np.testing.assert_allclose(plain.binary_shares, expected, atol=1e-12)
    assert plain.binary_shares[0] < plain.shares[0]
