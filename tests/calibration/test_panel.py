"""The panel: what holds for every metric at once, whatever the metric."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import LabelError, OptionError
from psychollm.calibration.panels.catalogue import metric_keys, panel_metrics
from psychollm.calibration.panels.panel import CalibrationPanel, calibration_panel
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from tests.effort import examples

SCALE_FREE = ("ece", "rmsce", "rmsce_debiased", "smooth_ece")


def simulated(models: int = 3, questions: int = 120, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.beta(4, 2, size=(models, questions)), 1)
    return confidence, (rng.uniform(size=confidence.shape) < confidence).astype(float)


def values(confidence: np.ndarray, correct: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric in the sample, without resamples."""
    found: dict[str, list[float]] = {key: [] for key in metric_keys()}
    for tally in tallies(stated_answers(confidence, correct)):
        for metric in panel_metrics():
            row = metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])[0]
            for output, value in zip(metric.outputs, row, strict=False):
                found[output.key].append(float(value))
    return {key: np.array(column) for key, column in found.items()}


def test_all_metrics_at_once_are_each_alone() -> None:
    confidence, correct = simulated()
    panel = calibration_panel(confidence, correct, rng=3, bootstrap=40)
    for key in metric_keys():
        alone = calibration_panel(confidence, correct, metrics=key, rng=3, bootstrap=40)[key]
        assert (alone.value == panel[key].value).all(), key
        assert np.array_equal(alone.interval, panel[key].interval, equal_nan=True), key
        assert np.array_equal(alone.draws, panel[key].draws, equal_nan=True), key


def test_the_result_does_not_depend_on_the_number_of_jobs() -> None:
    confidence, correct = simulated()
    one, two = (
        calibration_panel(confidence, correct, rng=3, bootstrap=Bootstrap(60, n_jobs=jobs))
        for jobs in (1, 2)
    )
    for key in one:
        assert np.array_equal(one[key].draws, two[key].draws, equal_nan=True), key


@examples(25)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_questions_changes_nothing_to_the_last_bit(seed: int) -> None:
    confidence, correct = simulated(seed=seed, questions=40)
    order = np.random.default_rng(seed).permutation(40)
    before, after = values(confidence, correct), values(confidence[:, order], correct[:, order])
    for key in metric_keys():
        assert np.array_equal(before[key], after[key], equal_nan=True), key


@examples(25)
@given(seed=st.integers(0, 10_000))
def test_every_answer_twice_changes_no_value(seed: int) -> None:
    confidence, correct = simulated(seed=seed, questions=40)
    once = values(confidence, correct)
    twice = values(np.tile(confidence, 2), np.tile(correct, 2))
    # What corrects for the size of the sample must change, and the log-linear correction too.
    sized = {"meta_information", "relative_meta_information", "rmsce_debiased", "brier_skill"}
    sized |= {key for key in metric_keys() if key.endswith("_corrected") or "type2" in key}
    sized |= {"beta_log_score"}  # learns from its answers
    sized |= {"e_aurc", "aurc", "augrc", "e_augrc", "aurc_normalised"}  # sums over k = 1..n
    for key in set(metric_keys()) - sized:
        assert twice[key] == pytest.approx(once[key], rel=1e-7, abs=1e-7, nan_ok=True), key


def test_intervals_hold_their_values_and_stay_in_range() -> None:
    confidence, correct = simulated(models=6, questions=300)
    panel = calibration_panel(confidence, correct, rng=0, bootstrap=300)
    for key in panel:
        lower, upper = panel[key].interval.T
        assert (lower <= upper).all(), key
        if key in {"accuracy", "auroc", "brier", "precision", "average_precision", *SCALE_FREE}:
            assert (lower >= 0).all(), key
            assert (upper <= 1).all(), key


DEGENERATE = {
    "all missing": ([np.nan] * 6, [1, 0, 1, 0, 1, 0]),
    "one question": ([0.7] + [np.nan] * 5, [1, 0, 1, 0, 1, 0]),
    "never wrong": ([0.2, 0.4, 0.6, 0.8, 0.9, 1.0], [1] * 6),
    "never correct": ([0.2, 0.4, 0.6, 0.8, 0.9, 1.0], [0] * 6),
    "constant": ([0.7] * 6, [1, 0, 1, 0, 1, 0]),
    "always yes": ([1.0] * 6, [1, 0, 1, 0, 1, 1]),
    "perfect": ([1.0, 0.0] * 3, [1, 0] * 3),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_what_is_undefined_has_a_reason_and_what_is_defined_a_value(case: str) -> None:
    confidence, correct = DEGENERATE[case]
    panel = calibration_panel(confidence, correct, rng=0, bootstrap=30)
    for key in panel:
        estimate = panel[key]
        if np.isnan(estimate.value[0]):
            assert estimate.flags[0], f"{key} is undefined without a reason"
            assert np.isnan(estimate.interval).all(), key
        if np.isinf(estimate.value[0]):
            pytest.fail(f"{key} is infinite")
        if case == "all missing":
            assert np.isnan(estimate.value[0]), key
            assert estimate.flags[0] is Reason.NO_ANSWERS, key


def test_clusters_of_one_question_are_the_plain_bootstrap() -> None:
    confidence, correct = simulated()
    plain, clustered = (
        calibration_panel(
            confidence, correct, metrics=["brier"], rng=3, bootstrap=50, clusters=clusters
        )["brier"]
        for clusters in (None, np.arange(120))
    )
    assert (plain.draws == clustered.draws).all()


def test_whole_clusters_widen_the_interval() -> None:
    confidence, correct = simulated(questions=60)
    wide = [np.repeat(table, 5, axis=1) for table in (confidence, correct)]
    clusters = np.repeat(np.arange(60), 5)
    naive = calibration_panel(*wide, metrics=["brier"], rng=0, bootstrap=400)["brier"]
    right = calibration_panel(*wide, metrics=["brier"], rng=0, bootstrap=400, clusters=clusters)[
        "brier"
    ]
    # Five copies of each question: the naive error is too small by the root of five.
    assert right.se / naive.se == pytest.approx(np.sqrt(5), rel=0.2)


def test_weights_of_whole_numbers_are_repeated_questions() -> None:
    confidence, correct = simulated(questions=30)
    weights = np.random.default_rng(1).integers(1, 4, size=30)
    weighted = calibration_panel(
        confidence, correct, metrics=["auroc", "brier", "ece", "aurc"], weights=weights, rng=0
    )
    repeated = calibration_panel(
        np.repeat(confidence, weights, axis=1),
        np.repeat(correct, weights, axis=1),
        metrics=["auroc", "brier", "ece"],
        rng=0,
        bootstrap=10,
    )
    for key in repeated:
        assert weighted[key].value == pytest.approx(repeated[key].value), key


def test_tables_and_differences() -> None:
    confidence, correct = simulated()
    names = pd.Index(["a", "b", "c"])
    panel = calibration_panel(
        pd.DataFrame(confidence, index=names),
        pd.DataFrame(correct, index=names),
        metrics=["brier", "auroc"],
        rng=0,
        bootstrap=100,
    )
    assert panel.to_frame().shape == (6, 8)
    assert panel.table().loc["a", "brier"].startswith(f"{panel['brier'].value[0]:.3f} [")
    assert panel.difference("brier", "a", "b").n_resamples == 100
    with pytest.raises(LabelError, match="'d' is not a model"):
        panel.difference("brier", "a", "d")
    with pytest.raises(OptionError, match="it holds brier, auroc"):
        panel["ece"]


def test_findings_are_worded_once() -> None:
    confidence, correct = simulated()
    panel = calibration_panel(confidence, correct, rng=0, bootstrap=40)
    found = panel.findings(curves=panel.curves(n_draws=20))
    keys = ["verdict", "overview", "calibration", "ranking", "selection", "comparisons", "flags"]
    assert [one.key for one in found] == keys
    assert panel.summary().replace("\n", " ").startswith(found.verdict)
    assert found["ranking"].statement in found.text().replace("\n  ", " ")
    assert [row.partition(":")[0] for row in found["comparisons"].rows] == ["Brier score", "AUROC"]
    few = calibration_panel(confidence[:1], correct[:1], metrics="brier", bootstrap=20, rng=0)
    assert "comparisons" not in [one.key for one in few.findings(curves=few.curves(n_draws=20))]


def overclaiming(k: int) -> CalibrationPanel:
    rng = np.random.default_rng(2)
    right = (rng.random((k, 60)) < 0.3).astype(int)
    said = np.round(rng.uniform(0.8, 1.0, right.shape), 1)
    return calibration_panel(said, right, metrics="brier", bootstrap=20, rng=0)


def test_too_few_simulated_data_sets_are_not_called_too_few_answers() -> None:
    panel = overclaiming(19)
    told = panel.findings(curves=panel.curves(n_draws=100))["calibration"].statement
    assert told.startswith(
        "For all 19 models it is unclear whether they are calibrated. "
        "With 100 simulated data sets, no adjusted p-value can be below 0.19: at least 379 "
        "simulated data sets are needed (option --null, argument n_draws). The calibration error"
    )
    enough = panel.evidence(curves=panel.curves(n_draws=379))
    assert enough.miscalibrated.all()
    told = enough.findings()["calibration"].statement
    assert told.startswith("None of the 19 models is calibrated. The calibration error")
    single = overclaiming(1)
    told = single.findings(curves=single.curves(n_draws=10))["calibration"].statement
    assert told.startswith("It is unclear whether the model is calibrated. With 10 simulated")


def test_more_models_have_more_simulated_data_sets() -> None:
    assert overclaiming(2).curves().n_draws == 1000
    panel = overclaiming(15)
    curves = panel.curves()
    assert curves.n_draws == 1500
    assert panel.evidence(curves=curves).miscalibrated.all()
    with pytest.raises(OptionError, match="n_bands=0"):
        panel.curves(n_draws=0)
