"""CORP: golden values, slow twins, scikit-learn, laws, bands, tests, degenerate and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.calibration.scores.corp import (
    CORP,
    corp,
    corp_metric,
    isotonic_fits,
    recalibrated_shares,
)
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from tests.calibration.test_proper_scores import CASES, PAIRS, case
from tests.oracles import proper_scores_slow as slow

FEW = {"bootstrap": 20, "n_bands": 20, "rng": 0}
PARTS = ("miscalibration", "discrimination", "uncertainty")


def parts(confidence, correct, *scores, clip=0.001):
    """Return MCB, DSC and UNC of one model without drawing anything."""
    metric = corp_metric(*(scores or ("brier",)), clip=clip)
    (tally,) = tallies(stated_answers(confidence, correct))
    columns = metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])
    return columns[0, : len(metric.names)]


@pytest.mark.parametrize(("name", "model"), CASES)
@pytest.mark.parametrize(("score", "prefix"), [("brier", "corp"), ("log", "corp_log")])
def test_golden(golden, name, model, score, prefix):
    confidence, correct, first, _ = case(golden, name, model)
    found = corp(confidence, correct, score=score, clip=0.001, **FEW)
    for field, key in zip(PARTS, ("mcb", "dsc", "unc"), strict=True):
        value = getattr(found, field).value[0]
        assert value == pytest.approx(first[f"{prefix}_{key}"], abs=1e-7)
    total = "corp_score" if score == "brier" else "log_loss_clip1e3"
    assert found.mean_score.value[0] == pytest.approx(first[total], abs=1e-7)


@given(PAIRS)
def test_fit_is_that_of_the_slow_twin_and_of_sklearn(pair):
    confidence, correct = pair
    fit = recalibrated_shares(tallies(stated_answers(*pair))[0])
    levels, expected = slow.isotonic(confidence, correct)
    np.testing.assert_allclose(fit, expected, atol=1e-14)
    isotonic = pytest.importorskip("sklearn.isotonic")
    sklearn = isotonic.IsotonicRegression().fit(confidence, correct).predict(levels)
    np.testing.assert_allclose(fit, sklearn, atol=1e-14)


@given(PAIRS, st.integers(0, 2**31))
def test_weighted_fits(pair, seed):
    confidence, correct = pair
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, confidence.size)
    (tally,) = tallies(stated_answers(*pair, weights=weights))
    expected = slow.isotonic(confidence, correct, weights)[1]
    np.testing.assert_allclose(recalibrated_shares(tally), expected, atol=1e-12)


@given(PAIRS)
def test_parts_are_those_of_the_slow_twin(pair):
    confidence, correct = pair
    found = parts(*pair, "brier", "log", clip=0.02)
    np.testing.assert_allclose(found[:3], slow.corp(*pair, slow.brier), atol=1e-13)
    clipped, unclipped = (lambda f, y: slow.log_score(f, y, 0.02)), _exact_log
    levels, fit = slow.isotonic(confidence, correct)
    best = unclipped([fit[list(levels).index(f)] for f in confidence], correct)
    mean = unclipped([correct.mean()] * correct.size, correct)
    # A fit that is certain costs nothing, whatever the clip.
    expected = [clipped(confidence, correct) - best, mean - best, mean]
    np.testing.assert_allclose(found[3:], np.maximum(expected, 0.0), atol=1e-12)


def _exact_log(confidence, correct):
    pairs = zip(confidence, correct, strict=True)
    return -sum(np.log(f if y == 1 else 1 - f) for f, y in pairs) / len(correct)


@given(PAIRS)
def test_laws(pair):
    confidence, correct = pair
    mcb, dsc, unc = parts(*pair)
    assert mcb >= 0
    assert 0 <= dsc <= unc + 1e-15
    assert mcb - dsc + unc == pytest.approx(slow.brier(*pair), abs=1e-14)
    flipped = parts(1 - confidence, 1 - correct)
    np.testing.assert_allclose(flipped, [mcb, dsc, unc], atol=1e-13)
    twice = parts(np.tile(confidence, 2), np.tile(correct, 2))
    np.testing.assert_allclose(twice, [mcb, dsc, unc], atol=1e-13)


@given(PAIRS, st.randoms(use_true_random=False))
def test_shuffling_questions_changes_nothing(pair, random):
    confidence, correct = pair
    order = random.sample(range(correct.size), correct.size)
    shuffled = parts(confidence[order], correct[order], "brier", "log")
    np.testing.assert_array_equal(parts(*pair, "brier", "log"), shuffled)


@given(PAIRS)
def test_discrimination_depends_on_the_order_of_confidence_alone(pair):
    confidence, correct = pair
    found, squared = parts(*pair), parts(confidence**2, correct)
    np.testing.assert_array_equal(found[1:], squared[1:])


def test_a_recalibrated_model_is_calibrated():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(size=300)
    correct = (rng.uniform(size=300) < confidence**2).astype(float)
    fit = recalibrated_shares(tallies(stated_answers(confidence, correct))[0])
    again = parts(fit[np.argsort(np.argsort(confidence))], correct)
    assert again[0] == pytest.approx(0.0, abs=1e-15)
    assert again[1] == pytest.approx(parts(confidence, correct)[1])


def test_confidences_without_answers_have_no_fit():
    fits = isotonic_fits(np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(fits, [[np.nan, 0.5, np.nan]])
    found = corp([0.2, 0.5, 0.9], [0, 1, 1], weights=[0, 1, 1], **FEW)
    np.testing.assert_array_equal(found.curves[0].recalibrated, [np.nan, 1.0, 1.0])


def test_curve_and_bands():
    rng = np.random.default_rng(4)
    confidence = rng.choice(np.linspace(0.05, 0.95, 10), size=500)
    correct = (rng.uniform(size=500) < confidence).astype(float)
    curve = corp(confidence, correct, n_bands=400, bootstrap=10, rng=1).curve(0)
    assert curve.n.sum() == 500
    assert (np.diff(curve.recalibrated) >= 0).all()
    for band, middle in (
        (curve.consistency_band, curve.confidence),
        (curve.confidence_band, curve.recalibrated),
    ):
        assert (band[:, 0] <= middle + 1e-12).all()
        assert (middle <= band[:, 1] + 1e-12).all()
        assert (np.diff(band, axis=0) >= 0).all()
    assert list(curve.to_frame().columns[:5]) == [
        "model",
        "confidence",
        "observed",
        "recalibrated",
        "n",
    ]


def test_consistency_bands_hold_calibrated_curves():
    """100 calibrated models of 300 answers, ten levels: 95 % of the points, give or take 3."""
    rng = np.random.default_rng(8)
    confidence = rng.choice(np.linspace(0.05, 0.95, 10), size=(100, 300))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    found = corp(confidence, correct, n_bands=200, bootstrap=2, rng=1)
    inside = [
        (curve.consistency_band[:, 0] <= curve.recalibrated)
        & (curve.recalibrated <= curve.consistency_band[:, 1])
        for curve in found.curves
    ]
    assert 0.93 <= np.mean(inside) <= 0.98


@pytest.mark.parametrize("score", ["brier", "log"])
def test_false_alarms_of_the_test(score):
    """250 calibrated models, nominal 10 %: outside [5, 15] % once in a hundred times."""
    rng = np.random.default_rng(9)
    confidence = rng.beta(4, 2, size=(250, 100))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    found = corp(confidence, correct, score=score, n_bands=39, bootstrap=2, rng=1)
    assert 0.05 <= (found.p_value.value <= 0.10).mean() <= 0.15
    assert abs(found.expected.value.mean() / found.miscalibration.value.mean() - 1) < 0.1


def test_miscalibration_is_found():
    rng = np.random.default_rng(10)
    confidence = rng.uniform(0.5, 1.0, size=(20, 300))
    correct = (rng.uniform(size=confidence.shape) < confidence - 0.25).astype(float)
    found = corp(confidence, correct, n_bands=99, bootstrap=100, rng=1)
    assert (found.p_value.value == 0.01).all()
    assert (found.miscalibration.interval[:, 0] > 0.005).all()
    assert (found.miscalibration.value > found.expected.interval[:, 1]).all()


def test_models_are_drawn_alike_whoever_else_is_there():
    rng = np.random.default_rng(11)
    confidence = np.round(rng.uniform(size=(3, 60)), 1)
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    together = corp(confidence, correct, **FEW)
    alone = corp(confidence[1], correct[1], **FEW)
    np.testing.assert_array_equal(
        together.curves[1].confidence_band, alone.curves[0].confidence_band
    )
    jobs = corp(confidence, correct, **FEW | {"bootstrap": Bootstrap(20, n_jobs=2)})
    np.testing.assert_array_equal(
        jobs.curves[2].consistency_band, together.curves[2].consistency_band
    )
    np.testing.assert_array_equal(jobs.p_value.value, together.p_value.value)


def test_many_distinct_confidences_share_cells():
    """Noise in cells is close to noise without: 600 answers against the same in 512 and less."""
    rng = np.random.default_rng(12)
    confidence = rng.beta(4, 2, size=900)
    correct = (rng.uniform(size=900) < confidence).astype(float)
    fine = corp(confidence, correct, bootstrap=300, n_bands=2, rng=1)
    coarse = corp(np.round(confidence, 2), correct, bootstrap=300, n_bands=2, rng=1)
    for field in ("miscalibration", "discrimination"):
        bounds = [getattr(found, field).interval[0, 1] for found in (fine, coarse)]
        assert bounds[0] == pytest.approx(bounds[1], rel=0.25)


def test_degenerate_models():
    nan = np.nan
    confidence = [[nan] * 4, [0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6], [0.5] * 4]
    correct = [[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    found = corp(confidence, correct, **FEW)
    assert found.discrimination.flags == (
        Reason.NO_ANSWERS,
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.CONSTANT,
    )
    np.testing.assert_array_equal(found.discrimination.value, [nan, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.uncertainty.value, [nan, 0.0, 0.0, 0.25])
    assert found.miscalibration.value[1] == pytest.approx(slow.brier(confidence[1], correct[1]))
    assert np.isnan(found.p_value.value[0])
    assert found.curves[0].confidence.size == 0
    logarithmic = corp([1.0, 0.5, 0.2], [1, 0, 1], score="log", **FEW)
    assert logarithmic.miscalibration.flags == (Reason.CLIPPED,)
    assert logarithmic.discrimination.flags == (Reason.NONE,)


def test_one_question_or_cluster_has_no_interval():
    one = corp([0.4], [1], **FEW)
    assert one.miscalibration.value[0] == pytest.approx(0.36)
    assert np.isnan(one.miscalibration.interval).all()
    cluster = corp([0.4, 0.8, 0.9], [1, 0, 1], clusters=[0, 0, 0], **FEW)
    assert cluster.miscalibration.flags == (Reason.ONE_CLUSTER,)


def test_tables_and_labels():
    found = corp([[0.4, 0.8, 0.9]], [[1, 0, 1]], **FEW)
    assert {"miscalibration", "p_value", "flag"} <= set(found.to_frame().columns)
    with pytest.raises(LabelError, match="is not a model"):
        found.curve("x")
    assert CORP.names[0] == "MCB"


@pytest.mark.parametrize(
    "options", [{"score": "spherical"}, {"clip": 0.6}, {"n_bands": 1}, {"bootstrap": 1}]
)
def test_options_that_do_not_exist_are_refused(options):
    with pytest.raises(OptionError):
        corp([0.5, 0.6], [0, 1], **options)


def test_bad_tables_are_refused():
    with pytest.raises(CodeError, match="confidence"):
        corp([1.5, 0.6], [0, 1])
    with pytest.raises(ShapeError, match="correctness has"):
        corp([[0.5, 0.6]], [[0, 1, 1]])


def test_a_sentence_per_model():
    lines = corp([[0.4, 0.8, 0.9], [np.nan] * 3], [[1, 0, 1]] * 2, **FEW).summary().split("\n")
    assert lines[0].startswith("0: ")
    assert lines[-1].endswith("undefined, no question has both confidence and correctness.")
