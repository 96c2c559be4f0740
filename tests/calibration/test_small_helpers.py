"""Helpers that metrics of confidence are made of, tried by what they return."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from psychollm.calibration.consensus.between_models import between_models_of
from psychollm.calibration.consensus.signals import (
    cross_fitted,
    cut_signal,
    ranked_signal,
    shared_expectation,
)
from psychollm.calibration.decisions import two_by_two
from psychollm.calibration.decisions.confusion import confusion, yes_no_metric
from psychollm.calibration.decisions.two_by_two import (
    PHI,
    YES_RATE,
    Cells,
    cell_metric,
    cells_of,
    delta_error,
    share,
    weighted_fraction,
)
from psychollm.calibration.discrimination.ranking import aligned_scores, auroc
from psychollm.calibration.errors.binned import ECE, calibration_error
from psychollm.calibration.errors.bins import (
    Binning,
)
from psychollm.calibration.errors.calibration_error import (
    assembled,
    confidence_points,
    family_bounds,
)
from psychollm.calibration.errors.smooth import smoothing_grid
from psychollm.calibration.influence import (
    cluster_sums,
    interval_on,
    spread_of_sum,
    student_multiplier,
)
from psychollm.calibration.metric import Metric
from psychollm.calibration.panels.findings import discrimination, verdict
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.calibration.sampled.semantic_confidence import sample_flags
from psychollm.calibration.scores import proper_scores
from psychollm.calibration.scores.corp import recalibration_curve, simulated
from psychollm.calibration.scores.murphy import bin_means, bin_starts, fixed_binning
from psychollm.calibration.scores.proper_scores import (
    brier_losses,
    brier_skill_metric,
    clipped,
    log_losses,
    log_score_metric,
)
from psychollm.calibration.selection.abstention import binary_table
from psychollm.calibration.selection.selective import coverage_at_risk_metric
from psychollm.calibration.selection.selective_areas import class_flag
from psychollm.calibration.stated import (
    cluster_codes,
    paired_answers,
    question_weights,
    stated_answers,
)
from psychollm.calibration.tally import Tally, tallies
from psychollm.calibration.two_choice.meta_d_fit import fit_counts
from psychollm.calibration.two_choice.trials import counted_tables, rated_trials
from psychollm.data.responses import as_responses
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.estimates.verdict import SMALLEST


def cells(tp: float, fp: float, fn: float, tn: float) -> Cells:
    return Cells(*np.array([[tp], [fp], [fn], [tn]]))


def tally_of(
    confidence: Sequence[float], correct: Sequence[int], clusters: Sequence[str] | None = None
) -> Tally:
    return tallies(stated_answers(confidence, correct, clusters=clusters))[0]


# Consensus


def test_between_models_of_a_table() -> None:
    table = confusion([[1, 0], [0, 0], [1, 1]], [[1, 0], [1, 0], [1, 1]])
    assert between_models_of(table, rng=0).n == 3


def test_areas_of_signals() -> None:
    used = np.ones(3, dtype=bool)
    ranked = ranked_signal(np.array([0.2, 0.9, 0.2]), np.array([0.0, 1.0, 1.0]), used)
    assert ranked.opens.tolist() == [True, False, True]
    half = cut_signal(np.array([1.0, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), used)
    assert half.share == 0.5
    assert half.areas(np.ones((1, 3))).tolist() == [0.625]


def test_shapes_of_fitted_signals() -> None:
    design = np.column_stack([np.ones(6), np.arange(6.0)])
    odds = cross_fitted(design, np.array([0.0, 0, 1, 0, 1, 1]), np.arange(6) % 2)
    assert odds.shape == (6,)
    scores, right = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([[0.0, 1.0, 0.0, 1.0]])
    shared = shared_expectation(scores, right, np.ones((1, 4), dtype=bool))
    assert shared.drift(np.ones((1, 4))).shape == (4,)


# Decisions


def test_cells() -> None:
    ones = np.ones((1, 3))
    found = cells_of(np.array([0.2, 0.5, 0.9]), ones, 0 * ones, yes_above=0.5)
    assert found.tp.tolist() == [1.0]
    metric = cell_metric([YES_RATE], yes_above=0.5)
    rate = metric.compute(np.array([0.2, 0.9]), np.ones((1, 2)), np.zeros((1, 2)))
    assert rate.tolist() == [[0.5]]


def test_statistics_of_cells() -> None:
    assert PHI.value(cells(4, 1, 1, 4)).round(3).tolist() == [0.6]
    assert delta_error(PHI.gradient, cells(4, 1, 1, 4)).round(4).tolist() == [0.253]
    f1 = weighted_fraction("F1", (2, 0, 0, 0), (2, 1, 1, 0), lambda t: ())
    assert f1.value(cells(4, 1, 3, 2)).round(4).tolist() == [0.6667]
    assert two_by_two.one_class(cells(1, 0, 2, 0))[1][0].tolist() == [True]


def test_names_of_yes_and_no() -> None:
    last = ("F1 of abstaining", "phi", "kappa", "Youden's J", "F0.5", "type-2 d'", "type-2 c")
    assert yes_no_metric(beta=0.5).names[8:] == last


# Calibration errors


def test_bounds_of_errors() -> None:
    scale = np.array([0.0, 0.1])
    draws = np.array([[0.01, 0.1], [0.02, 0.12], [0.03, 0.14]])
    points = confidence_points(0.07, scale, draws, np.array([0.0, 0.5, 1.0]))
    assert points.round(3).tolist() == [0.036, 0.05, 0.067]
    bounds = family_bounds(1, np.array([0.0, 0.0, 0.1]), np.array([[0.1, 0.1, 0.2]] * 9), 0.95)
    assert bounds.tolist() == [[0.0, 0.0]]


def test_grid_of_smoothing() -> None:
    grid = smoothing_grid(np.array([0.25, 0.75]), 0.05)
    nodes = grid.sums(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    assert grid.errors(nodes, 0.05, 0.05).round(3).tolist() == [0.75]
    assert smoothing_grid(np.array([0.5]), 0.01).last == 300


# Answers and what intervals are made of


def test_tables_of_answers() -> None:
    paired = paired_answers([[1, 0, 1]], [[1, 1, 0]])
    assert paired.yes.tolist() == [[1.0, 0.0, 1.0]]
    assert paired.n.tolist() == [3.0]
    answers = stated_answers([[0.9, 0.2, None]], [[1, 0, 1]])
    assert answers.n.tolist() == [2.0]
    assert answers.present.tolist() == [[True, True, False]]
    assert cluster_codes(["b", "a", "b"], ("q1", "q2", "q3")).tolist() == [0, 1, 0]
    assert question_weights([1, 3], ("q1", "q2")).tolist() == [0.5, 1.5]
    assert aligned_scores([0.5, 0.1], as_responses([[1, 0], [1, 1]])).shape == (2, 2)
    abstain = binary_table("should_abstain", [1, None], as_responses([[0, 1], [1, 1]]))
    np.testing.assert_array_equal(abstain, [[1.0, np.nan], [1.0, np.nan]])


def test_tally() -> None:
    tally = tally_of([0.5, 0.9, 0.5], [0, 1, 1])
    assert tally.values.tolist() == [0.5, 0.9]
    assert tally.correct.tolist() == [1.0, 1.0]
    assert tally.wrong.tolist() == [1.0, 0.0]


def test_sums_over_clusters() -> None:
    tally = tally_of([0.5, 0.6, 0.7], [1, 0, 1], clusters=["a", "b", "a"])
    assert cluster_sums(tally, np.ones((3, 1))).ravel().tolist() == [2.0, 1.0]
    spread = spread_of_sum(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(spread, [[4.0]], rtol=1e-12)
    assert round(student_multiplier(0.95, 29), 3) == 2.045


def test_samples_of_answers() -> None:
    found = sample_flags(np.array([[1.0, 1.0], [5.0, 1.0]]))
    assert found == (Reason.ONE_SAMPLE, Reason.NONE)
    assert Reason.ONE_SAMPLE == "one sample per question"


# Scores


def test_losses() -> None:
    if_correct, if_wrong = brier_losses(np.array([0.5, 1.0]))
    assert if_correct.tolist() == [0.25, 0.0]
    assert if_wrong.tolist() == [0.25, 1.0]
    if_correct, if_wrong = log_losses(np.array([0.5, 1.0]), 0.001)
    assert if_correct.round(3).tolist() == [0.693, 0.001]
    assert if_wrong.round(3).tolist() == [0.693, 6.908]


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (log_score_metric(0.01), "log score (clip 0.01)"),
        (brier_skill_metric(0.5), "Brier skill score"),
        (coverage_at_risk_metric([0.05]), "coverage at risk 0.05"),
    ],
)
def test_names_of_metrics(metric: Metric, name: str) -> None:
    assert metric.names == (name,)


def test_bins_of_murphy() -> None:
    assert fixed_binning("width", 10, "right").n_bins == 10
    tally = tally_of([0.0, 0.5, 0.6, 1.0], [0, 1, 1, 1])
    starts = bin_starts(tally, Binning(kind="width", n_bins=2))
    assert starts.tolist() == [0, 2, 4]
    scores, shares, sizes = bin_means(tally, starts)
    np.testing.assert_allclose(scores, [0.25, 0.8], rtol=1e-12)
    assert shares.tolist() == [0.5, 1.0]
    assert sizes.tolist() == [2.0, 2.0]


def test_recalibration_curve() -> None:
    tally = tally_of([0.9, 0.6, 0.3], [1, 0, 1])
    found = recalibration_curve(tally, "m", Resampling(n=20, rng=0))
    assert found.observed.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("flag", "confidence"),
    [(proper_scores.one_class, [0.5, 1.0]), (class_flag, [0.1, 0.9])],
)
def test_flags_of_correct_answers(
    flag: Callable[[Tally], Reason], confidence: list[float]
) -> None:
    assert flag(tally_of(confidence, [1, 1])) is Reason.NO_WRONG


def test_words_of_an_area() -> None:
    area = auroc([[0.9, 0.8, 0.6, 0.7, 0.5, 0.9]], [[1, 0, 1, 1, 0, 1]], rng=0)
    words = "it is unclear whether confidence discriminates between correct and wrong answers"
    assert discrimination(area, SMALLEST) == words


# Two-choice questions


def test_fitted_counts() -> None:
    table = np.array([[[[40.0, 30], [20, 10]], [[15, 5], [30, 50]]]])
    outputs = [[1.366, -0.159, 1.043, 0.764, -0.323, -0.27, -0.121]]
    assert fit_counts(table).outputs.round(3).tolist() == outputs


def test_tables_of_ratings() -> None:
    trials = rated_trials([0, 1, 1], [[0, 1, 0]], [[2, 1, 2]])
    table = [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    assert trials.tables(np.ones((1, 3)))[0, 0].tolist() == table
    counted = [[[3.0, 5.0], [2.0, 1.0]], [[2.0, 1.0], [3.0, 5.0]]]
    assert counted_tables([5, 3, 2, 1], [1, 2, 3, 5])[0][0].tolist() == counted


# Panels, intervals and simulated answers


def test_a_share_of_cells() -> None:
    precision = share("precision", (1, 0, 0, 0), (1, 1, 0, 0), Reason.NO_YES)
    assert precision.value(cells(1.0, 1.0, 2.0, 0.0)).tolist() == [0.5]


def test_clipped_confidence() -> None:
    assert clipped(tally_of([0.5, 1.0], [0, 1]), 0.001) is Reason.CLIPPED


def test_answers_drawn_anew() -> None:
    tally = tally_of([0.9, 0.3, 0.3], [1, 0, 1])
    drawn = simulated(tally, np.array([0.0, 1.0]), lambda right, _: right, Resampling(n=2, rng=0))
    assert drawn.tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_interval_on_a_scale() -> None:
    assert interval_on("log odds", 0.8, 0.0025, trials=50.0).round(3).tolist() == [0.684, 0.881]
    assert interval_on("proportion", 1.0, 0.0, trials=10.0).round(3).tolist() == [0.722, 1.0]
    # 2 exp(-+1.96 * 0.5 / 2), and 2 -+ 1.96 * 0.5
    assert interval_on("log", 2.0, 0.25, trials=9.0).round(3).tolist() == [1.225, 3.265]
    assert interval_on("real", 2.0, 0.25, trials=9.0).round(3).tolist() == [1.020, 2.980]
    assert np.isnan(interval_on("log", 0.0, 0.25, trials=9.0)).all()


def test_parts_of_a_calibration_error() -> None:
    answers = stated_answers([0.5, 1.0], [0, 1])
    _, parts = assembled(ECE, answers, Resampling(n=50, rng=0), n_null=50)
    assert list(parts) == ["value", "expected", "p_value", "debiased", "corrected"]


def test_summary_of_a_calibration_error() -> None:
    found = calibration_error([0.9] * 8 + [0.4] * 4, [1] * 6 + [0] * 5 + [1], rng=0)
    assert found.summary().startswith("0: ECE 0.150; expected under calibration 0.1")


def test_panel_in_words() -> None:
    said, right = [[0.9] * 40 + [0.6] * 40], [[1] * 30 + [0] * 10 + [1, 0] * 20]
    held = calibration_panel(said, right, bootstrap=20, rng=0).estimates
    assert verdict(held, SMALLEST).statement == (
        "The model is overconfident by 12 points. Confidence discriminates between correct "
        "and wrong answers (AUROC 0.63)."
    )
    panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics=["brier"], rng=0)
    lines = ["1 model, 1 metric.", "1 model, 3 questions each; 95 % intervals.", ""]
    lines += ["model  n        Brier score"]
    assert panel.summary().splitlines() == [*lines, "0      3  0.05 [0.00, 0.98]"]


def test_curves_of_a_panel() -> None:
    panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics="brier", bootstrap=20)
    assert panel.curves(n_draws=20).error.bins.accuracy.tolist() == [0.0, 1.0, 1.0]
