"""What is drawn is what the result says in numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import psychollm as psy
from psychollm import plots
from psychollm.calibration.consensus.between_models import between_models
from psychollm.calibration.consensus.individuation import individuation
from psychollm.calibration.consensus.pairwise import pairwise_calibration
from psychollm.calibration.decisions.confusion import confusion
from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.data.examples import Example
from psychollm.data.simulate_study import SimulatedStudy
from psychollm.studies.dimensionality.study import Dimensionality


def line_named(ax: Axes, name: str) -> np.ndarray:
    """Return the points (n, 2) of the line with a legend name or a gid."""
    found = [line for line in ax.lines if name in {line.get_label(), line.get_gid()}]
    assert len(found) == 1, [line.get_label() for line in ax.lines]
    return np.column_stack(found[0].get_data())


def tick_names(axis_labels: list) -> list[str]:
    return [text.get_text() for text in axis_labels]


def test_f_beta_draws_its_frame(ax: Axes, small: SimulatedStudy) -> None:
    result = f_beta(small.confidence, small.correctness, bootstrap=30, rng=0)
    plots.plot_f_beta(result, ax=ax)
    frame = result.to_frame().set_index("model")
    for model in result.labels:
        drawn = line_named(ax, f"curve {model}")
        above = frame.loc[model, "value"] > frame.loc[model, "all_yes"]
        assert np.allclose(drawn[:, 0], frame.loc[model, "beta"])
        expected = np.where(above, frame.loc[model, "value"], np.nan)
        assert np.allclose(drawn[:, 1], expected, equal_nan=True)
    best = line_named(ax, "always yes, most accurate model")[:, 1]
    assert np.allclose(best, result.all_yes.max(axis=0))
    won = {result.labels[i] for i in set(result.winner)}
    named = tick_names(ax.texts)
    # Every curve is named on the right; who wins somewhere is named once more above.
    assert all(named.count(str(label)) == 1 + (label in won) for label in result.labels)


def test_f_beta_of_models_that_never_win(ax: Axes) -> None:
    result = f_beta([[0, 0, 1], [0, 0, 0]], [[1, 1, 0], [0, 0, 0]], bootstrap=5, rng=0)
    plots.plot_f_beta(result, ax=ax)
    assert not ax.patches


def test_between_models_draws_rates_line_and_band(ax: Axes, small: SimulatedStudy) -> None:
    result = between_models(small.confidence, small.correctness, rng=0)
    rates = confusion(small.confidence, small.correctness)
    plots.plot_between_models(result, rates=rates, ax=ax)
    assert np.array_equal(
        line_named(ax, "models"), np.column_stack([result.accuracy, result.confidence])
    )
    fit = line_named(ax, "fit")
    line = result.confidence_on_accuracy
    assert np.allclose(fit[:, 1], line.intercept + line.slope * fit[:, 0])
    bars = [c.get_segments() for c in ax.collections if hasattr(c, "get_segments")]
    across = np.array(bars[0])[:, :, 0]
    assert np.allclose(across, rates.accuracy.interval)
    assert {str(label) for label in result.labels} == set(tick_names(ax.texts))


def test_between_models_without_a_line(ax: Axes) -> None:
    plots.plot_between_models(between_models([[1, 0], [0, 1]], [[1, 0], [1, 1]], rng=0), ax=ax)
    assert all(line.get_gid() != "fit" for line in ax.lines)


def test_forest_orders_by_value_and_names_reasons(ax: Axes) -> None:
    table = confusion([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], [[1, 0, 1, 1]] * 3)
    plots.plot_forest(table.precision, reference=0.5, ax=ax)
    assert tick_names(ax.get_yticklabels()) == ["2", "0", "1"]
    assert "never says yes" in tick_names(ax.texts)
    values = line_named(ax, "precision")[:, 0]
    assert np.allclose(values, [1.0, 0.5, np.nan], equal_nan=True)


def test_forest_refuses_other_models(ax: Axes) -> None:
    first = confusion([[1, 0]], [[1, 0]]).precision
    answers = psy.Responses([[1, 0]], models=["x"])
    other = confusion(answers, answers)
    with pytest.raises(psy.errors.LabelError, match="not estimates of the same models"):
        plots.plot_forest([first, other.precision], ax=ax)
    with pytest.raises(psy.errors.ShapeError, match="at least one"):
        plots.plot_forest([], ax=ax)


def test_individuation_orders_by_gain_at_equal_rates(ax: Axes, small: SimulatedStudy) -> None:
    result = individuation(small.confidence, small.correctness, bootstrap=30, rng=0)
    plots.plot_individuation(result, ax=ax)
    order = np.argsort(-result.own_minus_cut.value)
    assert tick_names(ax.get_yticklabels()) == [result.labels[i] for i in order]
    assert np.allclose(line_named(ax, "self-report")[:, 0], result.own.value[order])
    bold = [text.get_fontweight() == "bold" for text in ax.get_yticklabels()]
    assert bold == [result.own_minus_cut.interval[i, 0] > 0 for i in order]


def test_names_are_bold_where_something_is_shown(ax: Axes, small: SimulatedStudy) -> None:
    """Not where an interval lies above nothing, but rests on five questions or matters little."""
    result = individuation(small.confidence, small.correctness, bootstrap=30, rng=0)
    gain = result.own_minus_cut
    bounds = np.tile([0.1, 0.2], (len(gain.labels), 1))
    bounds[0] = 0.001, 0.002
    questions = np.full(len(gain.labels), 300.0)
    questions[1] = 5.0
    gain = replace(gain, interval=bounds, n=questions, df=None)
    plots.plot_individuation(replace(result, own_minus_cut=gain), ax=ax)
    plain = {t.get_text() for t in ax.get_yticklabels() if t.get_fontweight() != "bold"}
    assert plain == {str(label) for label in gain.labels[:2]}


def test_pairwise_draws_pairs_with_enough_questions(ax: Axes, small: SimulatedStudy) -> None:
    result = pairwise_calibration(small.confidence, small.correctness)
    plots.plot_pairwise_calibration(result, least=20, ax=ax)
    shown = result.n >= 20
    drawn = next(c for c in ax.collections if c.get_gid() == "pairs").get_offsets()
    expected = np.column_stack([result.expected[shown], result.difference[shown]])
    assert np.allclose(np.asarray(drawn), expected)


def test_pairwise_without_disagreement_says_so(ax: Axes) -> None:
    result = pairwise_calibration([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    plots.plot_pairwise_calibration(result, ax=ax)
    assert tick_names(ax.texts) == ["no pair of models disagrees on 10 questions"]


def test_scree_draws_the_null_frames(ax: Axes, small: SimulatedStudy) -> None:
    null = psy.permutation_null(small.confidence, n_null=50, rng=0)
    plots.plot_scree(null, first=5, ax=ax)
    frame = null.to_frame().head(5)
    assert np.allclose(line_named(ax, "observed")[:, 1], frame["observed"])
    assert np.allclose(line_named(ax, "shuffled within models")[:, 1], frame["null_50"])
    (inner,) = ax.child_axes
    assert np.allclose(line_named(inner, "observed")[:, 1], frame["observed"][1:])


def test_scree_refuses_other_statistics(ax: Axes, small: SimulatedStudy) -> None:
    null = psy.permutation_null(small.confidence, statistic="quadratic_r2", n_null=5, rng=0)
    with pytest.raises(psy.errors.ShapeError, match="eigenvalues"):
        plots.plot_scree(null, ax=ax)


def test_null_draws_all_replicates(ax: Axes, small: SimulatedStudy) -> None:
    null = psy.permutation_null(small.confidence, n_null=50, rng=0)
    plots.plot_null(null, entry=1, ax=ax)
    assert sum(patch.get_height() for patch in ax.patches) == 50
    assert ax.lines[0].get_xdata()[0] == null.observed[1]
    with pytest.raises(psy.errors.ShapeError, match="7 entries"):
        plots.plot_null(null, entry=7, ax=ax)


def test_factor_structure_draws_loadings_fit_and_nulls(ax: Axes, verdict: Dimensionality) -> None:
    plots.plot_factor_structure(verdict, ax=ax)
    plain = verdict.spectrum
    tau = plain.correlation.thresholds
    assert np.array_equal(line_named(ax, "first"), np.column_stack([tau, plain.first_loadings]))
    rule_free = line_named(ax, "full information, no rule")
    assert np.array_equal(rule_free[:, 1], verdict.full_information.loadings)
    fit = line_named(ax, "fit")
    assert np.allclose(fit[:, 1], np.polynomial.polynomial.polyval(fit[:, 0], plain.quadratic))
    scree, r2 = ax.child_axes
    drawn = line_named(scree, "observed")[:, 1]
    assert np.allclose(drawn, 100 * plain.shares[: drawn.size])
    assert sum(patch.get_height() for patch in r2.patches) == plain.quadratic_r2.n


def test_second_factor_aligns_replicates(ax: Axes, small: SimulatedStudy) -> None:
    null = psy.one_factor_null(small.confidence, statistic="second_loadings", n_null=30, rng=0)
    tau = psy.tetrachoric(small.confidence).thresholds
    plots.plot_second_factor(null, thresholds=tau, ax=ax)
    drawn = line_named(ax, "one factor")
    signs = np.sign(null.draws @ null.observed)[:, None]
    assert np.allclose(drawn[:, 1], np.median(signs * null.draws, axis=0)[np.argsort(tau)])
    with pytest.raises(psy.errors.ShapeError, match="one second loading per model"):
        plots.plot_second_factor(null, thresholds=tau[:-1], ax=ax)


def test_names_of_second_loadings_lie_on_no_line(ax: Axes, example: Example) -> None:
    null = psy.one_factor_null(example.confidence, statistic="second_loadings", n_null=30, rng=0)
    result = psy.tetrachoric(example.confidence)
    plots.plot_second_factor(null, thresholds=result.thresholds, names=result.labels, ax=ax)
    figure: Any = ax.figure
    figure.draw_without_rendering()
    line = ax.transData.transform(line_named(ax, "one factor"))
    across = np.linspace(line[0, 0], line[-1, 0], 500)
    path = np.column_stack([across, np.interp(across, line[:, 0], line[:, 1])])
    crossed = [
        text.get_text()
        for text in ax.texts
        if Text.get_window_extent(text).count_contains(path) > 10
    ]
    assert len(ax.texts) == 19
    assert not crossed


def test_correlation_marks_empty_cells_and_sorts_by_threshold(ax: Axes, example: Example) -> None:
    result = psy.tetrachoric(example.confidence)
    result.plot(order="threshold", ax=ax)
    order = np.argsort(result.thresholds)
    drawn = ax.collections[0].get_array()
    expected = result.matrix[np.ix_(order, order)]
    off = ~np.eye(len(order), dtype=bool)
    assert np.allclose(drawn[off], expected[off])
    assert drawn.mask[~off].all()
    dots = ax.lines[0].get_xdata()
    assert len(dots) == 2 * result.sensitivity().n_empty


def names_on(ax: Axes) -> list[int]:
    return [int(text.get_text()) for text in ax.get_yticklabels()]


def test_correlations_stand_in_the_order_asked_for() -> None:
    rng = np.random.default_rng(0)
    loads = np.array([[0.3, 0.0], [0.0, 0.8], [0.9, 0.0], [0.0, 0.9], [0.6, 0.0], [0.0, 0.7]])
    z = loads @ rng.normal(size=(2, 4000)) + 0.4 * rng.normal(size=(6, 4000))
    for result in (psy.tetrachoric(z > 0), psy.polychoric((z > 0).astype(int) + (z > 1))):
        orders = {
            order: names_on(result.plot(order=order, ax=Figure().subplots()))
            for order in ("given", "loading", "clusters")
        }
        assert orders["given"] == list(range(6))
        assert set(orders["loading"][:3]) == {1, 3, 5}  # of the first component
        assert {0, 2, 4} in (set(orders["clusters"][:3]), set(orders["clusters"][3:]))
    with pytest.raises(psy.errors.OptionError, match="order='size' is not an option"):
        result.plot(order="size")  # type: ignore[arg-type]


def test_sixty_names_are_readable() -> None:
    matrix, names = np.eye(60), [f"model number {k}" for k in range(60)]
    ax = plots.plot_matrix(matrix, names, name="r", limits=(-1, 1))
    ax.figure.canvas.draw()
    pitch = 72.0 * ax.get_window_extent().height / ax.figure.dpi / 60
    sizes = {text.get_fontsize() for text in ax.get_yticklabels()}
    assert len(ax.get_yticklabels()) == 60
    assert 6.0 < min(sizes) <= max(sizes) < pitch
    pyplot.close(ax.figure)


def test_residuals_draw_standardised_values(ax: Axes, verdict: Dimensionality) -> None:
    result = verdict.residuals
    plots.plot_residuals(result, ax=ax)
    off = ~np.eye(len(result.labels), dtype=bool)
    assert np.allclose(ax.collections[0].get_array()[off], result.standardised[off])
    low, high = ax.collections[0].get_clim()
    assert low == -high


def test_large_matrices_are_rasterised(ax: Axes) -> None:
    plots.plot_matrix(np.zeros((40, 40)), range(40), name="zero", limits=(-1, 1), ax=ax)
    assert ax.collections[0].get_rasterized()
    assert len(ax.get_xticklabels()) == 40


def test_sensitivity_draws_shares(ax: Axes, example: Example) -> None:
    result = psy.tetrachoric(example.confidence).sensitivity()
    plots.plot_sensitivity(result, ax=ax)
    for name, which in (("first", 0), ("second", 1), ("last", -1)):
        assert np.array_equal(line_named(ax, name)[:, 0], result.shares[:, which])
    # Beside the points: the lines run above and below them.
    assert {text.get_position() for text in ax.texts} == {(6, 0)}


def test_screen_names_flagged_models_only(ax: Axes) -> None:
    right = np.array([[0, 1] * 20] * 3)
    says = np.array([[1, 0] * 20, [1] * 40, [0, 1] * 20])
    screen = psy.validity_screen(
        psy.Responses(says, models=["against", "always", "good"]),
        psy.Responses(right, models=["against", "always", "good"]),
    )
    plots.plot_screen(screen, ax=ax)
    assert set(tick_names(ax.texts)) == {"against", "always"}
    assert np.array_equal(line_named(ax, "no flag"), [[screen.yes_rates[2], screen.auroc[2]]])
