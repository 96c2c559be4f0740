"""Reliability diagrams draw the curves, bands and counts that the results hold."""

from typing import get_args

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import psychollm as psy
from psychollm import plots
from psychollm.calibration.errors.binned import BinnedCalibrationError, calibration_error
from psychollm.calibration.errors.smooth import SmoothCalibrationError, smooth_calibration_error
from psychollm.calibration.scores.corp import Corp, corp
from psychollm.plots.reliability import Band, _wide, diagram_of

Tables = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Ten stated confidences; any number of them; one only; none at all."""
    rng = np.random.default_rng(0)
    said = rng.beta(4, 2, size=(4, 400))
    right = (rng.uniform(size=said.shape) < said**1.5).astype(float)
    said[0], said[2], said[3] = np.round(said[0], 1), 0.7, np.nan
    return said, right


@pytest.fixture(scope="module")
def curves(tables: Tables) -> Corp:
    return corp(*tables, n_bands=30, bootstrap=20, rng=0)


@pytest.fixture(scope="module")
def errors(tables: Tables) -> BinnedCalibrationError:
    return calibration_error(*tables, n_null=30, bootstrap=20, rng=0)


@pytest.fixture(scope="module")
def smooth(tables: Tables) -> SmoothCalibrationError:
    return smooth_calibration_error(*tables, n_null=10, bootstrap=20, rng=0)


def named(ax: Axes, name: str) -> list:
    return [artist for artist in ax.get_children() if artist.get_gid() == name]


def points(ax: Axes, name: str) -> np.ndarray:
    (line,) = named(ax, name)
    return np.column_stack(line.get_data())


def said_in(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def test_a_recalibrated_curve_is_drawn_with_what_was_observed(ax: Axes, curves: Corp) -> None:
    plots.plot_reliability(curves, ax=ax)
    frame = curves.curve(0).to_frame()
    assert np.array_equal(points(ax, "curve 0"), frame[["confidence", "recalibrated"]])
    (rings,) = named(ax, "observed 0")
    assert np.array_equal(rings.get_offsets(), frame[["confidence", "observed"]])
    sizes = rings.get_sizes()
    assert (np.argsort(sizes) == np.argsort(frame["n"])).all()
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert np.allclose(heights / heights.max(), frame["n"] / frame["n"].max())


@pytest.mark.parametrize("band", get_args(Band))
def test_bands_are_those_asked_for(ax: Axes, curves: Corp, band: str) -> None:
    plots.plot_reliability(curves, band=band, ax=ax)
    curve = curves.curve(0)
    for name, bounds in (
        ("consistency", curve.consistency_band),
        ("confidence", curve.confidence_band),
    ):
        drawn = named(ax, f"{name} 0")
        assert len(drawn) == (band in {name, "both"})
        if drawn:
            corners = drawn[0].get_paths()[0].vertices
            for low, high, x in zip(*bounds.T, curve.confidence, strict=True):
                assert {low, high} <= set(corners[corners[:, 0] == x, 1])


def test_an_unknown_band_is_refused(ax: Axes, curves: Corp) -> None:
    with pytest.raises(psy.errors.OptionError, match="'consistency'"):
        plots.plot_reliability(curves, band="wide", ax=ax)
    with pytest.raises(psy.errors.LabelError, match="is not a model"):
        plots.plot_reliability(curves, model="m", ax=ax)
    with pytest.raises(psy.errors.OptionError, match="no reliability diagram"):
        plots.plot_reliability(curves.miscalibration, ax=ax)


def test_numbers_stand_beside_their_noise(ax: Axes, curves: Corp, errors) -> None:
    plots.plot_reliability(curves, model=1, error=errors, ax=ax)
    text = said_in(ax)
    for value in (
        curves.miscalibration.value[1],
        curves.discrimination.value[1],
        errors.value.value[1],
        errors.expected.value[1],
    ):
        assert f"{value:.3f}".removeprefix("0") in text
    assert "if calibrated" in text
    assert "n = 400" in text


def test_many_confidences_are_thinned_and_counted_in_bins(ax: Axes, curves: Corp) -> None:
    plots.plot_reliability(curves, model=1, ax=ax)
    drawn, curve = points(ax, "curve 1"), curves.curve(1)
    assert len(drawn) == 200 < curve.confidence.size
    assert drawn[0, 0] == curve.confidence[0]
    assert drawn[-1, 0] == curve.confidence[-1]
    kept = np.searchsorted(curve.confidence, drawn[:, 0])
    assert np.array_equal(drawn[:, 1], curve.recalibrated[kept])
    assert len(ax.patches) == 40
    assert not named(ax, "observed 1")


def test_one_confidence_is_a_point_in_a_bar(ax: Axes, curves: Corp) -> None:
    plots.plot_reliability(curves, model=2, ax=ax)
    assert points(ax, "curve 2").shape == (1, 2)
    assert len(named(ax, "consistency 2")) == 1


@pytest.mark.parametrize("kind", ["curves", "errors", "smooth"])
def test_no_answers_are_a_reason_and_no_curve(ax: Axes, kind: str, request) -> None:
    plots.plot_reliability(request.getfixturevalue(kind), model=3, ax=ax)
    words = " ".join(said_in(ax).split())
    assert "no question has both confidence and correctness" in words
    assert not named(ax, "curve 3")
    assert not ax.patches


def test_bins_are_drawn_with_wilson_bars(ax: Axes, errors: BinnedCalibrationError) -> None:
    plots.plot_reliability(errors, model=1, ax=ax)
    frame = errors.bins.to_frame()
    frame = frame[frame["model"] == 1]
    assert np.array_equal(points(ax, "curve 1"), frame[["confidence", "accuracy"]])
    (bars,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    ends = np.array(bars.get_segments())
    assert np.allclose(ends[:, :, 1], frame[["accuracy_lower", "accuracy_upper"]])
    widths = [bar.get_width() for bar in ax.patches]
    assert np.allclose(widths, frame["upper"] - frame["lower"])


def test_a_smooth_curve_has_its_band_and_density(ax: Axes, smooth) -> None:
    plots.plot_reliability(smooth, model=1, band="confidence", ax=ax)
    frame = smooth.curve.to_frame()
    frame = frame[frame["model"] == 1]
    drawn = points(ax, "curve 1")
    assert np.array_equal(drawn, frame[["confidence", "accuracy"]], equal_nan=True)
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert np.allclose(heights / heights.max(), frame["density"] / frame["density"].max())
    assert len(named(ax, "confidence 1")) == 1


def test_the_grid_holds_every_model_in_order(curves: Corp, errors) -> None:
    figure = Figure(figsize=(6.45, 6.0), layout="constrained")
    assert plots.plot_reliability_grid(curves, error=errors, columns=3, figure=figure) is figure
    figure.draw_without_rendering()
    assert len(figure.axes) == 4
    for label, ax in zip(curves.labels, figure.axes, strict=True):
        assert said_in(ax).splitlines()[-1] == str(label)
        if label != 3:
            alone = diagram_of(curves, label, errors)
            assert np.array_equal(points(ax, f"curve {label}"), alone.curve)


def test_some_models_in_another_order(pyplot: object, curves: Corp) -> None:
    figure = plots.plot_reliability_grid(curves, models=[2, 0])
    titles = [said_in(ax).splitlines()[-1] for ax in figure.axes]
    assert titles == ["2", "0"]
    with pytest.raises(psy.errors.OptionError, match="columns=0"):
        plots.plot_reliability_grid(curves, columns=0)


def test_bars_without_width_can_be_seen_around_their_place() -> None:
    bars = _wide(np.array([0.2, 0.5]), np.array([0.4, 0.5]), np.array([3.0, 7.0]))
    np.testing.assert_allclose(bars, [[0.2, 0.4, 3.0], [0.492, 0.508, 7.0]])
