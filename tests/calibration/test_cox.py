"""Cox recalibration: golden values, slow twins, laws, separation, clusters, bad input."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.scores.cox import COX, cox, cox_metric, cox_test_of
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from tests.calibration.test_proper_scores import CASES, FEW, PAIRS, case
from tests.effort import examples
from tests.oracles import proper_scores_slow as slow

FIELDS = ("slope", "intercept", "in_the_large")


def coefficients(confidence, correct, clip=0.001):
    """Return slope, intercept and intercept given a slope of one."""
    metric = cox_metric(clip)
    (tally,) = tallies(stated_answers(confidence, correct))
    shared = metric.shared(tally)
    return metric.compute(shared, tally.correct[None], tally.wrong[None])[0]


def simulated(n=300, seed=0, slope=0.8, intercept=-0.3):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 2, size=n)
    eta = intercept + slope * np.log(confidence / (1 - confidence))
    return confidence, (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden(golden, name, model):
    confidence, correct, first, second = case(golden, name, model)
    found = cox(confidence, correct, clip=second["clip_eps"], interval="profile", **FEW)
    keys = ("cox_slope", "cox_intercept", "citl")
    for field, key in zip(FIELDS, keys, strict=True):
        assert getattr(found, field).value[0] == pytest.approx(first[key], abs=1e-7)
    keys = ("cox_slope", "cox_intercept", "calib_in_the_large")
    for field, key in zip(FIELDS, keys, strict=True):
        assert getattr(found, field).value[0] == pytest.approx(second[key], abs=1e-6)
    test = found.calibrated
    assert test.statistic[0] == pytest.approx(second["lrt_chi2_2df"], abs=1e-6)
    assert test.p_value[0] == pytest.approx(second["lrt_p"], abs=1e-6)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden_of_val_prob(golden, name, model):
    confidence, correct, first, second = case(golden, name, model)
    expected, n = second["val_prob"], correct.size
    found = cox(confidence, correct, **FEW)
    assert found.slope.value[0] == pytest.approx(expected["Slope"], abs=1e-6)
    assert found.intercept.value[0] == pytest.approx(expected["Intercept"], abs=1e-6)
    test = found.calibrated
    assert test.statistic[0] == pytest.approx(expected["U:Chi-sq"], abs=1e-6)
    assert test.p_value[0] == pytest.approx(expected["U:p"], abs=1e-6)
    unreliability = (test.statistic[0] - 2) / n
    assert unreliability == pytest.approx(expected["U"], abs=1e-6)
    base = first["corp_log_unc"] - first["log_loss_clip1e3"]
    assert (2 * n * base - 1) / n - unreliability == pytest.approx(expected["Q"], abs=1e-6)


def in_r(old, new):
    return abs(new - old) / (abs(new) + 0.1) < 1e-8


def in_statsmodels(old, new):
    return abs(new - old) <= 1e-8


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden_standard_errors(golden, name, model):
    """Those of R and statsmodels are of the last step but one: up to 2e-4 from the maximum."""
    confidence, correct, first, second = case(golden, name, model)
    found = cox(confidence, correct, interval="profile", **FEW)
    line = [found.intercept.se[0], found.slope.se[0]]
    level = found.in_the_large.se[0]
    for converged, block, names, tolerance in (
        (in_statsmodels, first, (None, "cox_slope_se", "citl_se"), 1e-7),
        (in_r, second, ("cox_intercept_se", "cox_slope_se", "calib_in_the_large_se"), 1e-6),
    ):
        theirs = [
            *slow.reweighted_errors(confidence, correct, 0.001, converged=converged),
            *slow.reweighted_errors(confidence, correct, 0.001, slope=False, converged=converged),
        ]
        for error, key in zip(theirs, names, strict=True):
            assert key is None or error == pytest.approx(block[key], abs=tolerance)
        np.testing.assert_allclose([*line, level], theirs, rtol=2e-4)
    at_maximum = slow.reweighted_errors(confidence, correct, 0.001)
    np.testing.assert_allclose(line, at_maximum, rtol=1e-7)
    (alone,) = slow.reweighted_errors(confidence, correct, 0.001, slope=False)
    assert level == pytest.approx(alone, rel=1e-7)


@given(PAIRS)
@examples(30)
def test_coefficients_are_those_of_a_general_optimiser(pair):
    assume(cox(*pair, clip=0.02, **FEW).slope.flags[0] in {Reason.NONE, Reason.CLIPPED})
    intercept, slope, _ = slow.cox(*pair, 0.02)
    assume(abs(slope) < 20)
    found = coefficients(*pair, clip=0.02)
    assert found[0] == pytest.approx(slope, abs=1e-5, rel=1e-5)
    assert found[1] == pytest.approx(intercept, abs=1e-5, rel=1e-5)
    assert found[2] == pytest.approx(slow.in_the_large(*pair, 0.02), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_profiles_are_those_of_a_general_optimiser(seed):
    confidence, correct = simulated(60, seed)
    found = cox(confidence, correct, interval="profile", **FEW)
    fall = 0.5 * 1.959963984540054**2
    for coefficient, field in enumerate(("intercept", "slope")):
        expected = slow.profile(confidence, correct, 0.001, coefficient, fall)
        np.testing.assert_allclose(getattr(found, field).interval[0], expected, atol=1e-5)
    log_likelihood = slow.cox(confidence, correct, 0.001)[2]
    honest = -60 * slow.log_score(confidence, correct, 0.001)
    assert found.calibrated.statistic[0] == pytest.approx(2 * (log_likelihood - honest), abs=1e-7)


SEPARATED = (np.array([0.2, 0.3, 0.4, 0.6, 0.7, 0.9]), np.array([0.0, 0, 0, 1, 1, 1]))


def test_separation_gives_the_penalised_estimate_and_its_profile():
    found = cox(*SEPARATED, interval="profile", **FEW)
    assert found.slope.flags == (Reason.SEPARATED,)
    assert found.calibrated.flags == (Reason.SEPARATED,)
    intercept, slope, _ = slow.cox(*SEPARATED, 0.001, penalised=True)
    assert found.slope.value[0] == pytest.approx(slope, abs=1e-5)
    assert found.intercept.value[0] == pytest.approx(intercept, abs=1e-5)
    expected = slow.profile(*SEPARATED, 0.001, 1, 0.5 * 1.959963984540054**2, penalised=True)
    np.testing.assert_allclose(found.slope.interval[0], expected, atol=1e-4)
    assert found.in_the_large.flags == (Reason.NONE,)


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([0.2, 0.5, 0.5, 0.9], [0, 0, 1, 1]),  # one confidence in common
        ([0.2, 0.3, 0.8, 0.9], [1, 1, 0, 0]),  # the wrong way round
    ],
)
def test_quasi_separation_is_seen(confidence, correct):
    found = cox(confidence, correct, **FEW)
    assert found.slope.flags == (Reason.SEPARATED,)
    assert np.isfinite(found.slope.value[0])


def test_one_class_leaves_the_level_only():
    confidence = np.array([0.5, 0.7, 0.8, 0.9])
    found = cox([confidence, confidence], [[1, 1, 1, 1], [0, 0, 0, 0]], **FEW)
    assert found.slope.flags == (Reason.NO_WRONG, Reason.NO_CORRECT)
    assert np.isnan(found.slope.value).all()
    assert np.isnan(found.calibrated.p_value).all()
    assert found.in_the_large.flags == (Reason.SEPARATED,) * 2
    expected = slow.in_the_large(confidence, np.ones(4), 0.001, penalised=True)
    assert found.in_the_large.value[0] == pytest.approx(expected, abs=1e-6)


def test_a_constant_confidence_has_a_level():
    found = cox([0.6] * 10, [1] * 8 + [0] * 2, interval="profile", **FEW)
    assert found.slope.flags == (Reason.CONSTANT,)
    assert np.isnan([found.slope.value[0], found.intercept.value[0]]).all()
    expected = np.log(4) - np.log(1.5)
    assert found.in_the_large.value[0] == pytest.approx(expected)
    assert found.in_the_large.se[0] == pytest.approx(1 / np.sqrt(10 * 0.16))


@given(PAIRS)
def test_label_flip_turns_the_intercept_round(pair):
    confidence, correct = pair
    found, flipped = coefficients(*pair), coefficients(1 - confidence, 1 - correct)
    np.testing.assert_allclose(flipped, found * [1, -1, -1], atol=1e-5)


@given(PAIRS, st.randoms(use_true_random=False))
def test_order_and_duplication_of_questions(pair, random):
    confidence, correct = pair
    order = random.sample(range(correct.size), correct.size)
    found = coefficients(*pair)
    np.testing.assert_array_equal(coefficients(confidence[order], correct[order]), found)
    if cox(*pair, **FEW).in_the_large.flags[0] is not Reason.SEPARATED:
        twice = coefficients(np.tile(confidence, 2), np.tile(correct, 2))
        np.testing.assert_allclose(twice[2], found[2], atol=1e-7)


def test_a_line_is_found_again():
    confidence, correct = simulated(200_000, slope=1.4, intercept=0.5)
    slope, intercept, _ = coefficients(np.round(confidence, 3), correct)
    assert slope == pytest.approx(1.4, abs=0.03)
    assert intercept == pytest.approx(0.5, abs=0.03)


def test_bins_of_logits_are_as_good_as_all_groups():
    confidence, correct = simulated(3000)
    metric = cox_metric()
    (tally,) = tallies(stated_answers(confidence, correct))
    shared = metric.shared(tally)
    assert shared.centres.size < tally.values.size
    counts = np.random.default_rng(0).multinomial(3000, np.full(3000, 1 / 3000), size=5)
    drawn = tally.resampled(np.vstack([np.ones(3000), counts]).astype(float))
    found = metric.compute(shared, *drawn)
    for row, weights in enumerate([np.ones(3000, int), *counts]):
        again = np.repeat(confidence, weights), np.repeat(correct, weights)
        x, y = slow.logit(again[0], 0.001), again[1]
        intercept, slope = _newton(np.column_stack([np.ones_like(x), x]), y)
        # The error of the bins is measured in the sample and taken off everywhere.
        tolerance = 1e-9 if row == 0 else 1e-6
        np.testing.assert_allclose(found[row, :2], [slope, intercept], atol=tolerance)


def _newton(design, outcome):
    beta = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        information = design.T @ (design * (p * (1 - p))[:, None])
        beta = beta + np.linalg.solve(information, design.T @ (outcome - p))
    return beta


def test_the_sandwich_is_that_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    confidence, correct = simulated(200)
    clusters = np.arange(200) // 5
    found = cox(confidence, correct, clusters=clusters, interval="profile", **FEW)
    assert found.slope.method == "t, sandwich over clusters"
    x = slow.logit(confidence, 0.001)
    model = sm.GLM(correct, sm.add_constant(x), family=sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False})
    expected = fit.bse * np.sqrt(40 / 39)
    np.testing.assert_allclose([found.intercept.se[0], found.slope.se[0]], expected, rtol=1e-6)
    away = fit.params - [0, 1]
    wald = away @ np.linalg.inv(fit.cov_params()) @ away * 39 / 40
    # Degrees of freedom are those of the clusters that make up the variances.
    score = sm.add_constant(x) * (correct - fit.fittedvalues)[:, None]
    sums = np.stack([np.bincount(clusters, column) for column in score.T], axis=1)
    moved = sums @ np.linalg.inv(-model.hessian(fit.params))
    df = ((moved**2).sum(axis=0) ** 2 / (moved**4).sum(axis=0)).min()
    hotelling = wald / 2 * (df - 1) / df
    assert found.calibrated.statistic[0] == pytest.approx(hotelling, rel=1e-5)


def test_copied_answers_are_no_evidence():
    confidence, correct = simulated(100)
    once = cox(confidence, correct, clusters=np.arange(100), interval="profile", **FEW)
    copies = [np.repeat(array, 4) for array in (confidence, correct)]
    four = cox(*copies, clusters=np.repeat(np.arange(100), 4), interval="profile", **FEW)
    assert four.slope.se[0] == pytest.approx(once.slope.se[0], rel=1e-6)
    assert four.calibrated.p_value[0] == pytest.approx(once.calibrated.p_value[0], rel=1e-6)


def test_weights_are_counts():
    confidence, correct = simulated(60)
    weights = np.random.default_rng(3).integers(1, 4, 60)
    weighted = cox(confidence, correct, weights=weights, **FEW)
    repeated = coefficients(np.repeat(confidence, weights), np.repeat(correct, weights))
    assert weighted.slope.value[0] == pytest.approx(repeated[0], abs=1e-8)
    assert weighted.calibrated.method == "Hotelling with sandwich, F"


def test_false_alarms_of_the_likelihood_ratio():
    """1,000 calibrated models of 200 answers: nominal 5 %, a share in [3, 7] % but one in 200."""
    rng = np.random.default_rng(7)
    confidence = rng.beta(4, 2, size=(1000, 200))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    p = cox_test_of(stated_answers(confidence, correct)).p_value
    assert 0.03 <= (p < 0.05).mean() <= 0.07


def test_profile_intervals_hold_the_truth():
    """600 samples of 50: 95 %, a share in [92.5, 97.5] % but one time in a hundred."""
    pairs = [simulated(50, seed) for seed in range(600)]
    confidence, correct = (np.array(part) for part in zip(*pairs, strict=True))
    found = cox(confidence, correct, interval="profile", bootstrap=2, rng=0)
    for field, truth in (("slope", 0.8), ("intercept", -0.3)):
        low, high = getattr(found, field).interval.T
        assert 0.925 <= np.mean((low <= truth) & (truth <= high)) <= 0.975


def test_degenerate_and_clipped_models():
    found = cox([[np.nan] * 3, [1.0, 0.5, 0.2]], [[1, 0, 1], [1, 0, 1]], **FEW)
    assert found.slope.flags == (Reason.NO_ANSWERS, Reason.CLIPPED)
    assert found.calibrated.flags[0] is Reason.NO_ANSWERS
    one = cox([0.4], [1], **FEW)
    assert one.slope.flags == (Reason.NO_WRONG,)
    cluster = cox([0.4, 0.6, 0.9, 0.7], [0, 1, 0, 1], clusters=[0] * 4, **FEW)
    assert np.isnan(cluster.slope.interval).all()
    assert np.isnan(cluster.calibrated.p_value[0])


def test_tables():
    frame = cox([[0.4, 0.6, 0.9, 0.7]], [[0, 1, 0, 1]], **FEW).to_frame()
    assert {"slope_se", "in_the_large_upper", "p_value", "flag"} <= set(frame.columns)
    assert COX.names[0] == "Cox slope"


@pytest.mark.parametrize("options", [{"clip": 0.7}, {"interval": "wald"}, {"level": 2.0}])
def test_options_that_do_not_exist_are_refused(options):
    with pytest.raises(OptionError):
        cox([0.5, 0.6], [0, 1], **options)


def test_bad_tables_are_refused():
    with pytest.raises(CodeError, match="confidence"):
        cox([1.5, 0.6], [0, 1])
    with pytest.raises(ShapeError, match="correctness has"):
        cox([[0.5, 0.6]], [[0, 1, 1]])


def test_a_sentence_per_model():
    lines = (
        cox([[0.4, 0.8, 0.9, 0.7], [0.5] * 4, [np.nan] * 4], [[1, 0, 1, 0]] * 3, **FEW)
        .summary()
        .split("\n")
    )
    assert lines[0].startswith("0: ")
    assert lines[-1].endswith("undefined, no question has both confidence and correctness.")
    assert "no slope, all values are the same" in lines[1]
