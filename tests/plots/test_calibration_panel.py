"""Panels, comparisons, and estimates of any room in forests."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import psychollm as psy
from psychollm import plots
from psychollm.calibration.panels.catalogue import MAIN, metric_keys, panel_outputs, rank_order
from psychollm.calibration.panels.panel import CalibrationPanel, calibration_panel
from psychollm.estimates.comparisons import compare_all
from psychollm.reliability.scales.consistency import consistency


@pytest.fixture(scope="module")
def panel() -> CalibrationPanel:
    """Six models: always right, constant, never right, without answers, and two at work."""
    rng = np.random.default_rng(0)
    said = np.round(rng.beta(4, 2, (6, 120)), 1)
    right = (rng.uniform(size=said.shape) < said).astype(float)
    right[0], said[1], right[2], said[3] = 1.0, 0.7, 0.0, np.nan
    return calibration_panel(said, right, rng=0, bootstrap=40)


def labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.parametrize("key", metric_keys())
def test_every_metric_of_a_panel_has_a_forest(ax: Axes, panel: CalibrationPanel, key: str) -> None:
    estimate = panel[key]
    plots.plot_forest(estimate, ax=ax)
    ax.figure.draw_without_rendering()
    order = [int(label) for label in labels(ax)]
    (drawn,) = [line for line in ax.lines if line.get_label() == estimate.name]
    assert np.array_equal(drawn.get_xdata(), estimate.value[order], equal_nan=True)
    said = [text.get_text() for text in ax.texts]
    missing = [str(estimate.flags[i]) for i in order if not estimate.defined[i]]
    assert said == missing


def test_a_value_with_a_reservation_is_hollow(ax: Axes, panel: CalibrationPanel) -> None:
    plots.plot_forest(panel["auroc"], ax=ax)
    (hollow,) = [line for line in ax.lines if line.get_color() == "white"]
    known = np.isfinite(hollow.get_xdata())
    assert np.array_equal(hollow.get_xdata()[known], [0.5])  # constant confidence


def test_what_no_model_has_is_left_out_and_the_others_keep_their_colours(
    panel: CalibrationPanel,
) -> None:
    brier, auroc = panel["brier"], panel["auroc"]
    nowhere = replace(brier, value=np.full_like(brier.value, np.nan), name="nowhere")
    drawn = []
    for middle in (brier, nowhere):
        three, ax = [auroc, middle, auroc], Figure().subplots()
        plots.plot_forest(three, names=["a", "b", "c"], ax=ax)
        drawn.append({line.get_label(): line.get_color() for line in ax.lines})
    assert {"a", "b", "c"} <= drawn[0].keys()
    assert "b" not in drawn[1]
    assert drawn[1]["c"] == drawn[0]["c"] != drawn[0]["b"]


def test_estimates_of_reliability_have_forests(ax: Axes) -> None:
    scores = np.random.default_rng(0).normal(size=(30, 1)) + np.random.default_rng(1).normal(
        size=(30, 4)
    )
    found = consistency(scores, bootstrap=0).alpha
    assert found.axis == "condition"
    plots.plot_forest(found, reference=0.7, ax=ax)
    assert labels(ax) == [str(label) for label in found.labels]
    (drawn,) = [line for line in ax.lines if line.get_label() == found.name]
    assert np.array_equal(drawn.get_xdata(), found.value)


def test_metrics_stand_side_by_side_in_one_order(panel: CalibrationPanel) -> None:
    figure = plots.plot_calibration_panel(panel, figure=Figure(figsize=(10, 3)))
    assert len(figure.axes) == len(MAIN)
    order = rank_order(panel_outputs()["brier"], panel["brier"])
    assert labels(figure.axes[0]) == [str(place) for place in order]
    assert set(labels(figure.axes[1])) == {""}
    for key, ax in zip(MAIN, figure.axes, strict=True):
        drawn = next(line for line in ax.lines if line.get_label() == panel[key].name)
        assert np.array_equal(drawn.get_xdata(), panel[key].value[order], equal_nan=True)


def test_a_panel_draws_itself(pyplot: object, panel: CalibrationPanel) -> None:
    figure = panel.plot(metrics=["ece", "cox_slope"])
    assert [ax.get_xlabel() for ax in figure.axes] == ["ECE", "Cox slope"]
    figure.draw_without_rendering()
    with pytest.raises(psy.errors.OptionError, match="not in this panel"):
        panel.plot(metrics=["phi_squared"])


def test_what_is_best_depends_on_the_metric(panel: CalibrationPanel) -> None:
    for key, better in (("brier", -1.0), ("auroc", 1.0)):
        value = panel[key].value[rank_order(panel_outputs()[key], panel[key])]
        known = value[np.isfinite(value)]
        assert (np.diff(better * known) <= 0).all()
        assert np.isnan(value[known.size :]).all()
    gap = np.abs(panel["overconfidence"].value)
    order = rank_order(panel_outputs()["overconfidence"], panel["overconfidence"])
    assert (np.diff(gap[order][:5]) >= 0).all()


def test_comparisons_are_antisymmetric_with_dots_where_models_differ(
    ax: Axes, panel: CalibrationPanel
) -> None:
    result = compare_all(panel["brier"], adjustment="holm")
    plots.plot_comparisons(result, ax=ax)
    drawn = ax.collections[0].get_array()
    names = labels(ax)
    assert np.allclose(drawn, -drawn.T)
    for first, second, value, differ in zip(
        result.first, result.second, result.value, result.differ, strict=True
    ):
        i, j = names.index(str(first)), names.index(str(second))
        if np.isfinite(value):
            assert drawn[i, j] == pytest.approx(value)
        dots = set(zip(*ax.lines[0].get_data(), strict=True))
        assert ((j, i) in dots) == differ == ((i, j) in dots)
    assert names[-1] == "3"  # nothing can be said of it


def test_comparisons_can_be_ordered(ax: Axes, panel: CalibrationPanel) -> None:
    result = compare_all(panel["brier"])
    plots.plot_comparisons(result, order=np.arange(6.0)[::-1], ax=ax)
    assert labels(ax) == ["5", "4", "3", "2", "1", "0"]
