"""Variance components and decision studies: lme4, slow twins, coverage, degenerate input."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from psychollm._base.errors import ConvergenceWarning, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.components.crossed_design import CrossedDesign, Profiles
from psychollm.reliability.components.decision_study import decision_study
from psychollm.reliability.components.generalizability import generalizability
from psychollm.reliability.components.reml import (
    balanced_likelihood,
    incomplete_likelihood,
    maximise,
)
from tests.effort import examples
from tests.oracles import generalizability_slow as slow
from tests.reliability.golden_cases import runs_case, study_of

CASES = ["gtheory_a", "gtheory_b"]
LME4 = {
    "model": "person",
    "item": "item",
    "run": "run",
    "model:item": "person:item",
    "model:run": "person:run",
    "item:run": "item:run",
    "residual": "Residual",
}
EMS = dict(zip(LME4, ("p", "i", "r", "pi", "pr", "ir", "pir_e"), strict=True))
SHAPES = st.tuples(st.integers(2, 4), st.integers(2, 5), st.integers(2, 3))


@pytest.mark.parametrize("case", CASES)
def test_golden_components(golden, case):
    scores, block = runs_case(golden, case)
    values, tol = block["values"], block["tol"]
    ems, reml = study_of(scores), study_of(scores, estimation="reml")
    assert (ems.estimation, reml.estimation) == ("ems", "reml")
    for place, name in enumerate(ems.components.labels):
        assert ems.components.value[place] == pytest.approx(
            values["anova_ems"][EMS[name]], abs=tol
        )
        wanted = values["lme4_reml"][LME4[name]]
        assert reml.components.value[place] == pytest.approx(wanted, abs=tol)
        key = "Residuals" if name == "residual" else LME4[name]
        wanted = values["mean_squares"][key]
        assert ems.mean_squares[place] == pytest.approx(wanted, abs=1e-9)


def negative_case():
    """Scores whose mean squares ask for three negative components."""
    rng = np.random.default_rng(1)
    model, item = rng.normal(size=(6, 1, 1)), 0.5 * rng.normal(size=(1, 5, 1))
    return (model + item + 0.8 * rng.normal(size=(6, 5, 3))).round(1)


def test_negative_components_as_in_lme4():
    """lme4 1.1-31, tolerance 1e-12 for the optimiser; it stops about 1e-5 from the maximum."""
    scores = negative_case()
    lme4 = [0.63578897, 0.09262495, 0.0, 0.0, 0.03218020, 0.0, 0.48398685]
    fit = study_of(scores, estimation="reml")
    np.testing.assert_allclose(fit.components.value, lme4, atol=1e-5)
    assert fit.components.flags[2] is Reason.AT_BOUND
    raw = study_of(scores)
    assert (raw.components.value < 0).sum() == 3
    assert raw.components.flags[3] is Reason.NEGATIVE_COMPONENT
    assert raw.share.min() == 0.0
    scores[0, 0, 0] = scores[4, 1, 2] = np.nan
    scores[2, 3, :] = scores[5, :, 1] = np.nan
    lme4 = [0.63627797, 0.10250053, 0.0, 0.0, 0.03990147, 0.0, 0.51465116]
    fit = study_of(scores)
    assert fit.estimation == "reml"
    np.testing.assert_allclose(fit.components.value, lme4, atol=3e-5)
    assert np.isnan(fit.mean_squares).all()


@given(SHAPES, st.integers(0, 10_000))
@examples(25)
def test_mean_squares_are_those_of_the_slow_twin(shape, seed):
    scores = np.random.default_rng(seed).normal(size=shape)
    study = study_of(scores)
    np.testing.assert_allclose(study.mean_squares, slow.mean_squares(scores), atol=1e-12)
    np.testing.assert_allclose(study.components.value, slow.components(scores), atol=1e-12)
    flat = study_of(scores[:, :, 0])
    np.testing.assert_allclose(flat.components.value, slow.components(scores[:, :, 0]), atol=1e-12)


@given(SHAPES, st.integers(0, 10_000))
@examples(15)
def test_likelihood_is_that_of_the_slow_twin(shape, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=shape)
    scores[rng.uniform(size=shape) < 0.2] = np.nan
    scores[0, 0, 0] = 1.0
    variances = rng.uniform(0.1, 1, (2, 7))
    variances[1, rng.integers(0, 6)] = 0.0
    likelihood = incomplete_likelihood(scores)
    found = [likelihood(v).deviance for v in variances]
    wanted = [slow.deviance(scores, v) for v in variances]
    assert found[0] - found[1] == pytest.approx(wanted[0] - wanted[1], abs=1e-9)


@pytest.mark.parametrize("shape", [(4, 6, 3), (7, 4, 2), (3, 2, 5), (5, 4)])
def test_derivatives(shape):
    """Central differences of step 1e-5 are good to about 1e-8."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=shape)
    scores[rng.uniform(size=shape) < 0.2] = np.nan
    m = 2 ** len(shape) - 1
    at = rng.uniform(0.2, 1, m)
    likelihood = incomplete_likelihood(scores)
    for k, step in enumerate(1e-5 * np.eye(m)):
        slope = (likelihood(at + step).deviance - likelihood(at - step).deviance) / 2e-5
        assert likelihood(at).score[k] == pytest.approx(-0.5 * slope, abs=1e-6)
    # The expected information is the mean square of the score over data with these variances.
    inverse = np.linalg.inv(slow.covariance(scores, at)[0])
    parts = [slow.covariance(scores, row)[0] for row in np.eye(m)]
    p = inverse - inverse.sum(1)[:, None] * inverse.sum(0) / inverse.sum()
    wanted = [[0.5 * np.trace(p @ a @ p @ b) for b in parts] for a in parts]
    np.testing.assert_allclose(likelihood(at).information, wanted, rtol=1e-9)


@given(SHAPES, st.integers(0, 10_000))
@examples(20)
def test_the_two_likelihoods_agree_on_complete_data(shape, seed):
    scores = np.random.default_rng(seed).normal(size=shape)
    design = CrossedDesign(shape)
    squares = Profiles.of(scores).sums_of_squares(np.ones((1, shape[0])))[0]
    squares /= design.degrees_of_freedom
    at = np.random.default_rng(seed + 1).uniform(0.1, 1, 7)
    one, two = balanced_likelihood(design, squares)(at), incomplete_likelihood(scores)(at)
    np.testing.assert_allclose(one.score, two.score, atol=1e-9)
    np.testing.assert_allclose(one.information, two.information, rtol=1e-9, atol=1e-12)
    fits = [
        maximise(likelihood, np.ones(7))
        for likelihood in (balanced_likelihood(design, squares), incomplete_likelihood(scores))
    ]
    assert all(fit.convergence.converged for fit in fits)
    np.testing.assert_allclose(fits[0].components, fits[1].components, atol=1e-5)


@given(SHAPES, st.integers(0, 10_000))
@example((2, 3, 2), 393)  # scoring alone creeps here
@examples(20)
def test_reml_is_the_mean_squares_where_none_is_negative(shape, seed):
    rng = np.random.default_rng(seed)
    scores = 3 * rng.normal(size=(shape[0], 1, 1)) + 3 * rng.normal(size=(1, shape[1], 1))
    scores = scores + rng.normal(size=shape)
    raw, fit = study_of(scores), study_of(scores, estimation="reml")
    if (raw.components.value > 0).all():
        np.testing.assert_allclose(fit.components.value, raw.components.value, rtol=1e-6)
    else:
        assert (fit.components.value >= 0).all()


def test_a_resample_counts_as_the_scores_it_repeats():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(5, 4, 3))
    counts = np.array([2.0, 0.0, 1.0, 1.0, 1.0])
    drawn = np.repeat(scores, counts.astype(int), axis=0)
    found = Profiles.of(scores).sums_of_squares(counts[None])[0]
    np.testing.assert_allclose(found, Profiles.of(drawn).sums_of_squares(np.ones((1, 5)))[0])
    for axis in range(3):
        left_out = Profiles.of(scores, axis).left_out()
        for level in range(scores.shape[axis]):
            rest = np.delete(scores, level, axis=axis)
            wanted = Profiles.of(rest).sums_of_squares(np.ones((1, rest.shape[0])))[0]
            np.testing.assert_allclose(left_out[level], wanted, atol=1e-12)


def test_bootstrap_of_models_is_unbiased():
    """Means of 20,000 draws; their standard errors are below 1 % of the residual variance."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(8, 1, 1)) + rng.normal(size=(8, 6, 3))
    study = study_of(scores, interval="bootstrap", bootstrap=20_000)
    np.testing.assert_allclose(
        study.components.draws.mean(axis=0), study.components.value, atol=0.02
    )
    scores[0, 0, 0] = np.nan
    refitted = study_of(scores, interval="bootstrap", bootstrap=30)
    assert np.isfinite(refitted.components.interval).all()
    again = study_of(scores, interval="bootstrap", bootstrap=Bootstrap(30, n_jobs=2))
    np.testing.assert_array_equal(again.components.draws, refitted.components.draws)


@given(st.integers(0, 10_000))
@examples(20)
def test_order_units_and_doubling(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, 6, 3))
    study = study_of(scores)
    mixed = scores[rng.permutation(5)][:, rng.permutation(6)]
    np.testing.assert_allclose(
        study_of(mixed).components.value, study.components.value, atol=1e-12
    )
    other = study_of(7.0 - 10.0 * scores).components.value
    np.testing.assert_allclose(other, 100.0 * study.components.value, atol=1e-10)


def test_every_degenerate_design():
    few = study_of([[1.0, 2.0, 3.0]])
    assert few.components.flags == (Reason.TOO_FEW,) * 3
    flat = study_of(np.ones((3, 4, 2)))
    assert flat.components.flags == (Reason.ALL_TIED,) * 7
    for study in (few, flat):
        found = decision_study(study)
        assert np.isnan(found.dependability.value).all()
        assert np.isnan(found.dependability.interval).all()
        assert found.dependability.flags[0] is study.components.flags[0]
    empty = study_of(np.full((2, 3), np.nan))
    assert np.isnan(empty.components.value).all()
    single = study_of(np.random.default_rng(0).normal(size=(4, 5, 1)))
    assert single.facets == ("model", "item")
    holed = np.random.default_rng(0).normal(size=(5, 5))
    holed[2], holed[:, 3] = np.nan, np.nan
    assert study_of(holed).levels == (4, 4)
    assert study_of(holed).estimation == "ems"


def test_no_difference_between_models():
    scores = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]])
    study = study_of(scores)
    found = decision_study(study)
    assert study.components.value[0] < 0
    assert found.generalizability.value[0] == 0.0
    assert found.generalizability.flags == (Reason.NEGATIVE_COMPONENT,)


def test_scores_without_a_residual():
    scores = np.arange(4.0)[:, None] + np.arange(3.0) ** 2
    study = study_of(scores)
    assert study.components.value[2] == pytest.approx(0.0, abs=1e-25)
    assert decision_study(study).generalizability.value[0] == pytest.approx(1.0)
    with pytest.warns(ConvergenceWarning, match="restricted maximum likelihood"):
        fit = study_of(scores, estimation="reml")
    assert fit.components.flags == (Reason.NOT_CONVERGED,) * 3


def test_bad_input():
    scores = np.random.default_rng(0).normal(size=(3, 4))
    study = study_of(scores)
    with pytest.raises(OptionError, match="needs a study with several runs"):
        decision_study(study, n_runs=3)
    with pytest.raises(OptionError, match="needs a study with several runs"):
        decision_study(study, fixed="run")
    with pytest.raises(OptionError, match="n_items=0"):
        decision_study(study, n_items=[5, 0])
    with pytest.raises(OptionError, match="n_items is empty"):
        decision_study(study, n_items=[])
    with pytest.raises(OptionError, match="'reml'"):
        generalizability(scores, estimation="ml")
    with pytest.raises(OptionError, match="'pivotal'"):
        generalizability(scores, interval="wald")
    scores[0, 0] = np.nan
    with pytest.raises(OptionError, match="needs complete scores"):
        generalizability(scores, estimation="ems")
    with pytest.raises(ShapeError, match="4 dimension"):
        generalizability(np.zeros((2, 2, 2, 2)))
