"""Privileged access: the slow likelihood, false alarms, power, models at the extremes."""

import numpy as np
import pytest
from scipy import optimize

import psychollm as psy
from psychollm._base.errors import OptionError, ShapeError
from psychollm.calibration.consensus.individuation import individuation
from psychollm.calibration.stated import paired_answers
from psychollm.data.simulate_study import simulate_study
from psychollm.estimates.reasons import Reason
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.studies.shared_confidence.private_likelihood import Evidence, Likelihood
from psychollm.studies.shared_confidence.private_signal import private_signal
from tests.oracles import calibration_slow as slow

LOADINGS = np.array([0.9, 0.5, 0.7, 0.8])
THRESHOLDS = np.array([0.0, 0.8, -0.6, 0.3])


def study(seed, k=10, n=500, own=None):
    made = simulate_study(n_models=k, n_questions=n, self_knowledge=own or {}, rng=seed)
    return made.confidence, made.correctness, made.truth


def small(missing=0.0, n=25):
    made = psy.simulate_factor(
        loadings=LOADINGS, thresholds=THRESHOLDS, n_questions=n, missing=missing, rng=3
    )
    right = np.random.default_rng(4).random((4, n)) < 0.5 + 0.2 * np.sign(made.scores[:, 0])
    return made.responses, right.astype(float)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("rho", [0.0, 0.45, -0.8])
def test_likelihood_is_that_of_the_slow_twin(missing, rho):
    said, right = small(missing)
    paired = paired_answers(said, right)
    likelihood = Likelihood.of(paired, Evidence.of(paired, np.stack([LOADINGS, THRESHOLDS])), 1)
    theta = np.array([-0.4, 0.9, 0.1, 0.6, -0.2, 0.1, np.arctanh(rho)])
    used = paired.present[1]
    others = (said.values[[0, 2, 3]][:, used], LOADINGS[[0, 2, 3]], THRESHOLDS[[0, 2, 3]])
    wanted = slow.private_log_likelihood(
        paired.yes[1, used], paired.correct[1, used], others, [*theta[:-1], rho]
    )
    # SciPy's bivariate normal is good to about 1e-6 for each question.
    assert likelihood.value(theta) == pytest.approx(wanted, abs=1e-4)


LAPSES = np.array([[0.02, 0.05], [0.1, 0.0], [0.01, 0.03], [0.2, 0.02]])
CURVES = np.stack([LOADINGS, THRESHOLDS, LAPSES[:, 0], 1.0 - LAPSES[:, 1]])


@pytest.mark.parametrize("rho", [0.0, 0.45])
def test_likelihood_with_lapses_is_that_of_the_slow_twin(rho):
    said, right = small()
    paired = paired_answers(said, right)
    likelihood = Likelihood.of(paired, Evidence.of(paired, CURVES), 1)
    theta = np.array([-0.4, 0.9, 0.1, 0.6, -0.2, 0.1, np.arctanh(rho)])
    rest = [0, 2, 3]
    others = (said.values[rest], LOADINGS[rest], THRESHOLDS[rest])
    wanted = slow.private_log_likelihood(
        paired.yes[1],
        paired.correct[1],
        others,
        [*theta[:-1], rho],
        lapses=LAPSES[rest],
        own=LAPSES[1],
    )
    assert likelihood.value(theta) == pytest.approx(wanted, abs=1e-4)


def test_asymptotes_must_rise():
    said, right = small()
    given = {"loadings": LOADINGS, "thresholds": THRESHOLDS}
    with pytest.raises(
        OptionError, match=r"lower and upper of 1 are 0.9 and 0.8: they must satisfy"
    ):
        private_signal(said, right, **given, lower=[0, 0.9, 0, 0], upper=[1, 0.8, 1, 1])
    with pytest.raises(OptionError, match="lower and upper need"):
        psy.question_scores(said, upper=[0.9] * 4)


@pytest.mark.parametrize("curves", [np.stack([LOADINGS, THRESHOLDS]), CURVES])
def test_scores_are_the_gradient(curves):
    said, right = small()
    paired = paired_answers(said, right)
    likelihood = Likelihood.of(paired, Evidence.of(paired, curves), 0)
    theta = np.array([-0.4, 0.9, 0.1, 0.6, -0.2, 0.1, 0.3])
    wanted = optimize.approx_fprime(theta, likelihood.value, 1e-6)
    found = likelihood.frequency @ likelihood.scores(theta)
    # One-sided differences of step 1e-6 of a sum of 25 terms.
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.fixture(scope="module")
def nothing_private():
    """Return twelve studies of eight models without private signals, and their tests."""
    found = []
    for seed in range(12):
        said, right, _ = study(seed, k=8, n=400)
        fit = pairwise_likelihood(said)
        tested = private_signal(said, right, loadings=fit.loadings, thresholds=fit.thresholds)
        found.append((said, right, tested))
    return found


def test_false_alarms_where_confidence_knows_nothing_of_its_own(nothing_private):
    # 12 studies x 8 models with estimated loadings, nominal 5 %: Monte Carlo error 2.2 %. The
    # likelihood ratio that takes the shared score as exact is wrong about three times as often.
    alarms, naive = [], []
    for said, right, found in nothing_private:
        alarms.append(found.p_value < 0.05)
        scores = psy.question_scores(said).leave_one_out
        naive.append(individuation(said, right, scores, bootstrap=2, rng=0).p_value < 0.05)
    assert 0.0 < np.mean(alarms) < 0.11
    assert np.mean(naive) > 0.11


def test_power_and_recovery():
    # Private weight .6 of both answers: true correlation given the factor .283. 12 studies of
    # 2,000 questions; the standard error of one estimate is about .07. The other models tell the
    # factor; .005 is what Holm's adjustment asks of the smallest p-value of ten models.
    found = []
    for seed in range(12):
        said, right, truth = study(seed, n=2000, own={4: 0.6})
        known = np.full(right.values.shape, np.nan)
        known[4] = right.values[4]
        result = private_signal(said, known, loadings=truth.loadings, thresholds=truth.thresholds)
        found.append((result.correlation.value[4], result.p_value[4]))
    rho, p = np.array(found).T
    assert rho.mean() == pytest.approx(0.283, abs=0.05)
    assert np.mean(p < 0.005) > 0.8


def test_interval_of_the_mean_covers_zero(nothing_private):
    # Nominal 95 %: fewer than 10 of 12 by chance in 2 of 100 draws.
    intervals = [found.mean_interval for *_, found in nothing_private]
    assert sum(low <= 0 <= high for low, high in intervals) >= 10


def test_models_that_cannot_be_tested_have_a_reason():
    said, right, truth = study(1, k=6, n=80)
    answers, known = np.array(said.values), np.array(right.values)
    answers[0], answers[1] = 1.0, 0.0
    known[2], known[3] = 1.0, 0.0
    answers[4] = np.nan
    loadings = np.where(np.arange(6) < 2, np.nan, truth.loadings)
    loadings[4] = np.nan
    found = private_signal(answers, known, loadings=loadings, thresholds=truth.thresholds)
    assert found.reason[:5] == (
        Reason.NO_NO,
        Reason.NO_YES,
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.NO_ANSWERS,
    )
    assert np.isnan(found.p_value[:5]).all()
    assert np.isfinite(found.p_value[5])
    assert found.n_models == 1


def test_an_estimate_at_its_bound_has_a_one_sided_interval():
    said, right, truth = study(2, k=6, n=60)
    known = np.array(right.values)
    known[3] = said.values[3]
    known = psy.Responses(known, models=said.models, questions=said.questions)
    found = private_signal(said, known, loadings=truth.loadings, thresholds=truth.thresholds)
    assert found.reason[3] is Reason.AT_BOUND
    assert found.correlation.value[3] == 1.0
    low, high = found.correlation.interval[3]
    assert 0.0 < low < 1.0 == high
    assert found.p_value[3] < 1e-3
    assert found.n_models == sum(not reason for reason in found.reason)


def test_answers_as_likely_under_any_correlation_have_a_reason():
    # The likelihood of the first model is flat: no number but infinity fits its answers better.
    right = np.zeros((4, 8))
    right[:, 0] = 1.0
    said = np.zeros((4, 8))
    said[0, 7] = said[1, 2] = said[2, [0, 2, 3, 4, 5]] = said[3, [2, 3, 7]] = 1.0
    found = private_signal(
        said,
        right,
        loadings=[0.9995, 0.33, -0.04, 0.54],
        thresholds=[0.4, 0.08, 0.24, 0.08],
    )
    assert found.reason == (Reason.UNIDENTIFIED, *[Reason.AT_BOUND] * 3)
    assert np.isnan(found.correlation.value[0])
    np.testing.assert_array_equal(found.correlation.interval[0], [-1.0, 1.0])
    assert found.p_value[0] > 0.9
    assert found.n_models == 0
    assert np.isnan([found.mean, found.mean_p]).all()


def test_the_mean_of_mirror_images_has_no_standard_error():
    said, right = np.random.default_rng(0).integers(0, 2, (2, 60))
    found = private_signal(
        [said, 1 - said], [right, right], loadings=[0.5, -0.5], thresholds=[0.1, -0.1]
    )
    assert found.n_models == 2
    assert found.mean == pytest.approx(0.0, abs=1e-9)
    assert np.isnan([*found.mean_interval, found.mean_p]).all()


def test_a_model_outside_the_factor_solution_is_tested_with_the_factor_of_the_others():
    said, right, truth = study(3, k=6, n=300)
    loadings = truth.loadings.copy()
    loadings[2] = np.nan
    inside = private_signal(said, right, loadings=truth.loadings, thresholds=truth.thresholds)
    outside = private_signal(said, right, loadings=loadings, thresholds=truth.thresholds)
    # The same likelihood, reached from another start.
    assert outside.correlation.value[2] == pytest.approx(inside.correlation.value[2], abs=1e-3)


def test_labels_and_order_of_questions_do_not_matter():
    said, right, truth = study(4, k=5, n=200)
    order = np.random.default_rng(0).permutation(200)
    first, second = (
        private_signal(
            said.values[:, rows],
            right.values[:, rows],
            loadings=truth.loadings,
            thresholds=truth.thresholds,
        )
        for rows in (slice(None), order)
    )
    np.testing.assert_allclose(first.correlation.value, second.correlation.value, atol=1e-8)
    np.testing.assert_allclose(first.mean_interval, second.mean_interval, atol=1e-8)


def test_bad_input():
    with pytest.raises(ShapeError, match="one number for each of the 1 models"):
        private_signal([[1, 0]], [[1, 0]], loadings=[0.5, 0.5], thresholds=[0.0])
