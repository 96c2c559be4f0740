"""Marks lie where the values were drawn, and say the numbers of the study."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from psychollm._base.numbers import number, percent, typeset, with_interval
from psychollm.calibration.panels.panel import CalibrationPanel
from psychollm.plots.marks import keep_cells, keep_line, keep_points
from psychollm.plots.marks import marks_of as kept_on
from psychollm.plots.screen import plot_screen
from psychollm.reports.figure import written
from psychollm.reports.marks import MOST_MARKS, overlay
from psychollm.studies.shared_confidence.result import SharedConfidence
from tests.reports.reader import marks_of, read, script_of

SCRIPT = Path(__file__).resolve().parents[2] / "psychollm" / "reports" / "templates" / "page.js"


@pytest.fixture(scope="module")
def page(study_page: str) -> str:
    return study_page


def test_every_figure_answers(page: str, awkward_panel_page: str) -> None:
    for text, n in ((page, 12), (awkward_panel_page, 7)):
        assert text.count('<div class="canvas answers"') == text.count('<g class="marks">') == n


def test_the_page_names_the_models_of_its_marks(page: str, study: SharedConfidence) -> None:
    (main,) = re.findall(r'<main[^>]* data-models="(.*?)">', page)
    assert json.loads(unescape(main)) == [str(label) for label in study.labels]


def test_loadings_and_thresholds(page: str, study: SharedConfidence) -> None:
    found = marks_of(page, "factor-structure")
    assert len(found) == 2 * len(study.labels)
    plain = study.dimensionality.spectrum
    for place, label in enumerate(study.labels):
        words = (
            f"{label}: threshold {number(float(plain.correlation.thresholds[place]))}, "
            f"first component {number(float(plain.first_loadings[place]))}"
        )
        assert ("circle", str(place), typeset(words)) in found


def test_rates(page: str, study: SharedConfidence) -> None:
    found = [words for _, _, words in marks_of(page, "between-models")]
    assert found == [
        typeset(f"{label}: accuracy {percent(x, 1)}, yes {percent(y, 1)}")
        for label, x, y in zip(
            study.labels, study.between.accuracy, study.between.confidence, strict=True
        )
    ]


def test_models_stand_where_their_area_is(study: SharedConfidence) -> None:
    marks = kept_on(plot_screen(study.screen, ax=Figure().subplots()))
    at = [tuple(mark.at.ravel().tolist()) for mark in marks]
    known = np.where(np.isfinite(study.screen.auroc), study.screen.auroc, 0.5)
    assert sorted(at) == sorted(zip(study.screen.yes_rates.tolist(), known.tolist(), strict=True))


def test_cells_of_a_matrix(page: str, study: SharedConfidence) -> None:
    found = marks_of(page, "residuals")
    k = len(study.labels)
    assert len(found) == k * (k - 1)
    z = study.dimensionality.residuals.standardised
    words = f"{study.labels[0]} and {study.labels[1]}: residual in standard errors"
    assert ("rect", "0 1", typeset(f"{words} {number(float(z[0, 1]), 1)}")) in found


def test_rows_of_a_forest(page: str, study: SharedConfidence) -> None:
    found = marks_of(page, "private-signal")
    values = study.private_signal.correlation
    for place, label in enumerate(study.labels):
        told = with_interval(float(values.value[place]), values.interval[place])
        assert ("rect", str(place), typeset(f"{label}: correlation {told}")) in found


def test_reliability_and_what_is_undefined(
    awkward_panel_page: str, awkward_panel: CalibrationPanel
) -> None:
    found = marks_of(awkward_panel_page, "reliability")
    curve = awkward_panel.curves(n_draws=30).reliability.curve("plain")
    assert sum(whose == "5" for _, whose, _ in found) == curve.confidence.size
    assert all("nan" not in words for _, _, words in found)
    overview = marks_of(awkward_panel_page, "overview-forest")
    assert any(words.startswith("silent: ") and "no " in words for _, _, words in overview)
    told = with_interval(
        float(awkward_panel["auroc"].value[5]), awkward_panel["auroc"].interval[5]
    )
    assert any(words == typeset(f"plain: AUROC {told}") for _, _, words in overview)


def test_words_are_escaped(awkward_panel_page: str) -> None:
    assert "<always>" not in awkward_panel_page
    assert any(
        words.startswith("<always>: ")
        for _, _, words in marks_of(awkward_panel_page, "reliability")
    )


def test_marks_lie_where_the_values_were_drawn() -> None:
    """The pixel of a mark is that of the point, in a figure whose layout is constrained."""
    drawing = Figure(figsize=(4, 3), layout="constrained")
    ax = drawing.subplots()
    ax.plot([1.0, 2.0], [3.0, 5.0], "o", gid="dots")
    keep_points(ax, [1.0], [3.0], ["here"])
    figure = written(drawing, title="t", key="k")
    at = re.search(r'cx="([\d.]+)" cy="([\d.]+)"', figure.svg)
    dots = figure.svg[figure.svg.index('id="k-dots"') :]
    drawn = re.search(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', dots)
    assert at is not None
    assert drawn is not None
    np.testing.assert_allclose([*map(float, at.groups())], [*map(float, drawn.groups())], atol=0.3)


def test_more_than_a_page_can_hold_is_left_out() -> None:
    drawn = Figure()
    ax = drawn.subplots()
    keep_points(ax, [0.5, np.nan], [0.5, 0.5], ["x", "not drawn"])
    assert overlay(drawn, []).count("<circle") == 1
    keep_points(ax, np.full(MOST_MARKS, 0.5), np.full(MOST_MARKS, 0.5), ["x"] * MOST_MARKS)
    assert overlay(drawn, []) == ""
    ax = Figure().subplots()
    keep_cells(ax, np.ones((50, 50)), list(map(str, range(50))), "r")
    assert kept_on(ax) == []


def test_the_script_is_that_of_the_package_and_small(page: str) -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    assert script_of(page).strip() == source.strip()
    assert len(source.splitlines()) < 180
    assert "http" not in source


def test_the_script_is_valid() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    found = subprocess.run([node, "--check", SCRIPT], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_without_the_script_nothing_is_lost(page: str) -> None:
    still = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    reader = read(still)
    assert not any("hidden" in attributes for _, attributes in reader.tags)
    assert "tabindex" in still  # tables that scroll
    assert '<div class="tip"' not in still


@pytest.mark.parametrize(("n", "step"), [(59, 1), (119, 1), (601, 10)])
def test_a_curve_keeps_some_sixty_points(n: int, step: int) -> None:
    x = np.arange(n + 2.0)
    y = x**2
    x[3], y[7] = np.nan, np.inf
    there = np.isfinite(x) & np.isfinite(y)
    ax = Figure().subplots()
    keep_line(ax, x, y, "curve", 2)
    (mark,) = kept_on(ax)
    np.testing.assert_array_equal(mark.at, np.column_stack([x, y])[there][::step])
    assert (mark.shape, mark.text, mark.models) == ("line", "curve", ("2",))
