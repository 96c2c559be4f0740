"""The verdict: one factor, several, none, and the artefact of extreme yes rates."""

import numpy as np
import pytest
from scipy.special import ndtri

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ShapeError, ValidityWarning
from psychollm.estimates.verdict import Outcome, SmallestEffects
from psychollm.factor.number_of_factors.parallel import leading


@pytest.fixture(scope="module")
def moderate():
    made = psy.simulate_factor(
        loadings=[0.8] * 8, thresholds=np.linspace(-0.8, 0.8, 8), n_questions=600, rng=1
    )
    return made.responses


def seed_pattern(seed):
    """Strictly one factor: 19 models, yes rates 1 to 99 %, loadings without a trend."""
    rng = np.random.default_rng(seed)
    return psy.simulate_factor(
        loadings=rng.uniform(0.75, 0.97, 19),
        thresholds=np.linspace(ndtri(0.01), ndtri(0.99), 19),
        n_questions=200,
        rng=seed,
    ).responses


def varying(answers):
    rates = answers.yes_rates
    kept = [m for m, rate in zip(answers.models, rates, strict=True) if 0 < rate < 1]
    return answers.select(models=kept)


def test_the_pattern_of_extreme_yes_rates_is_called_an_artefact():
    """PC1 55 %, PC2 30 %, R2 .95 were reported as structure; one factor gives them by a rule."""
    shares, r2, named = [], [], 0
    for seed in range(3):
        result = psy.dimensionality(
            varying(seed_pattern(seed)),
            empty_cells="add_half",
            missing="global",
            n_null=39,
            rng=seed,
        )
        shares.append(result.spectrum.shares[:2])
        r2.append(float(result.spectrum.quadratic_r2.observed))
        named += result.n_factors == 1 and "artefact" in result.verdict
        assert result.factors_by_rule["permutation null, 95 %"] >= 2
    assert np.mean(shares, axis=0) == pytest.approx([0.55, 0.28], abs=0.05)
    assert np.mean(r2) == pytest.approx(0.95, abs=0.04)
    assert named >= 2  # each of the two tests behind it errs in 5 % of tables


def test_one_moderate_factor(moderate):
    result = psy.dimensionality(moderate, n_null=99, rng=1)
    assert result.n_factors == 1
    # Eight models and 600 questions do not show that there is no second factor that matters.
    assert result.second_factor() is Outcome.OPEN
    assert result.verdict.startswith(
        "One factor is found; a second factor that explains at least 2.5 % of the latent "
    )
    assert result.findings()["verdict"].outcome is Outcome.OPEN
    larger = SmallestEffects(second_share=0.1)
    assert result.second_factor(smallest=larger) is Outcome.SMALL
    assert result.summary(smallest=larger).startswith("One factor is found; the second ")
    assert "artefact" not in result.verdict
    assert "Tests without continuity correction" in result.summary()
    assert result.to_frame().shape == (8, 11)
    assert result.full_information.loadings == pytest.approx(result.pairwise.loadings, abs=0.05)


def test_two_factors():
    made = psy.simulate_factor(
        loadings=np.kron(np.eye(2), np.full((5, 1), 0.8)),
        thresholds=np.tile(np.linspace(-1, 1, 5), 2),
        n_questions=1000,
        factor_correlation=[[1, 0.5], [0.5, 1]],
        rng=1,
    )
    result = psy.dimensionality(made.responses, n_null=99, rng=1)
    assert result.n_factors == 2
    assert result.verdict.startswith("At least two factors")
    assert result.second_factor() is Outcome.ABOVE


def test_no_factor():
    rng = np.random.default_rng(3)
    codes = (rng.random((8, 500)) < np.linspace(0.1, 0.9, 8)[:, None]).astype(int)
    result = psy.dimensionality(codes, n_null=99, rng=2)
    assert result.n_factors == 0
    assert result.verdict.startswith("There is no significant common factor")
    assert result.shared_factor() is Outcome.OPEN
    larger = SmallestEffects(correlation=0.4)
    assert result.shared_factor(smallest=larger) is Outcome.SMALL
    assert result.findings(smallest=larger).verdict.startswith(
        "There is no relevant common factor"
    )


def test_the_number_of_factors_does_not_depend_on_coding_order_or_rule(moderate):
    base = psy.dimensionality(moderate, n_null=49, rng=1)
    order = np.random.default_rng(0).permutation(8)
    for other in (
        moderate.flip([2, 5]),
        moderate.select(models=[moderate.models[i] for i in order]),
    ):
        result = psy.dimensionality(other, n_null=49, rng=1)
        assert result.n_factors == base.n_factors
        assert result.one_factor_test.observed == pytest.approx(
            base.one_factor_test.observed, abs=1e-2
        )
    rule = psy.dimensionality(moderate, empty_cells="none", n_null=49, rng=1)
    assert np.array_equal(rule.one_factor_test.draws, base.one_factor_test.draws)


def test_the_same_seed_gives_the_same_answer_for_any_number_of_jobs(moderate):
    one = psy.dimensionality(moderate, n_null=49, rng=3)
    two = psy.dimensionality(moderate, n_null=49, rng=3, n_jobs=2)
    assert one.verdict == two.verdict
    assert np.array_equal(one.spectrum.one_factor.draws, two.spectrum.one_factor.draws)
    assert np.array_equal(one.second_share.draws, two.second_share.draws)


def test_constant_models_are_left_out_by_name(moderate):
    codes = np.vstack([moderate.values, np.ones(600), np.full(600, np.nan)])
    table = psy.Responses(codes, models=[*"abcdefgh", "eager", "silent"])
    with pytest.warns(ValidityWarning, match=r"'eager' \(always said yes\)"):
        result = psy.dimensionality(table, n_null=19, rng=1)
    assert dict(result.excluded) == {"eager": "always said yes", "silent": "answered nothing"}
    assert result.labels == tuple("abcdefgh")
    assert "excluded: 'silent', answered nothing" in result.summary()


def test_missing_answers(moderate):
    codes = moderate.values.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.2] = np.nan
    assert psy.dimensionality(codes, n_null=49, rng=1).n_factors == 1


@pytest.mark.parametrize(
    ("answers", "options", "error"),
    [
        ([[1, 0, 1, 0]] * 3, {}, ShapeError),
        ([[0, 1, 2, 1]] * 5, {}, CodeError),
        ([[1, 0, 1, 0]] * 5, {"empty_cells": "magic"}, OptionError),
        ([[1, 0, 1, 0]] * 5, {"n_null": 0}, OptionError),
        ([[1, 0, 1, 0]] * 5, {"alpha": 5}, OptionError),
    ],
)
def test_bad_input(answers, options, error):
    with pytest.raises(error):
        psy.dimensionality(answers, **options)


def test_leading_counts_to_the_first_that_falls_short():
    assert leading(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0])) == 1
    assert leading(np.array([3.0, 2.0]), np.array([1.0, 1.0])) == 2
    assert leading(np.array([3.0, np.nan]), np.array([4.0, 1.0])) == 0


def test_factors_of_the_questions(moderate):
    rows = np.tile([[0, 1, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 0, 1]], (8, 1))
    with pytest.warns(ValidityWarning, match=r'pass of="questions" to correlate the columns'):
        psy.dimensionality(rows, n_null=3, rng=1)
    one = psy.dimensionality(moderate.transpose(), of="questions", n_null=19, rng=1)
    assert one.verdict == psy.dimensionality(moderate, n_null=19, rng=1).verdict
