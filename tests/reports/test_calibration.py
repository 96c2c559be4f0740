"""The page of a panel is one file, well formed, and says what the panel says."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.numbers import number, typeset, with_interval
from psychollm.calibration.panels.catalogue import panel_outputs
from psychollm.calibration.panels.panel import CalibrationPanel, calibration_panel
from psychollm.reports import write_report
from tests.reports.conftest import answers_as_stated, page_of_panel
from tests.reports.reader import (
    assert_names_unique_and_found,
    assert_self_contained,
    decimals_of,
    read,
    without_figures,
)


@pytest.fixture(scope="module")
def panel() -> CalibrationPanel:
    said, right = answers_as_stated(5, 150)
    said[1] = np.clip(said[1] + 0.2, 0.0, 1.0)
    return calibration_panel(said, right, rng=0, bootstrap=40)


@pytest.fixture(scope="module")
def page(panel: CalibrationPanel) -> str:
    return page_of_panel(panel)


@pytest.mark.parametrize("which", ["page", "awkward_panel_page"])
def test_the_page_stands_alone(which: str, request: pytest.FixtureRequest) -> None:
    text = request.getfixturevalue(which)
    assert_self_contained(text)
    assert_names_unique_and_found(text)
    assert len(text.encode()) < 2_000_000
    assert text.count("<svg") == text.count("</svg>") == 7
    assert [int(n) for n in re.findall(r"<b>Figure (\d+)\.</b>", text)] == list(range(1, 8))
    cited = ["corp", "delong", "ece", "efron", "holm", "maxt", "selective", "wilson"]
    assert sorted(re.findall(r'id="ref-(\w+)"', text)) == cited
    assert sorted(set(re.findall(r'href="#ref-(\w+)"', text))) == cited


def test_numbers_are_those_of_the_panel(page: str, panel: CalibrationPanel) -> None:
    words = read(page).text.replace("\xa0", " ")
    assert panel.summary().splitlines()[0] in words
    for key in ("accuracy", "auroc", "overconfidence", "aurc_normalised", "f1"):
        for value, bounds in zip(panel[key].value, panel[key].interval, strict=True):
            assert typeset(with_interval(value, bounds)).replace("\xa0", " ") in words, key
    curves = panel.curves(n_draws=30)
    for value in curves.error.expected.value:
        assert typeset(number(value, 3)) in words
    for reliability in curves.reliability.curves:
        assert str(reliability.label) in words


OF_TABLES = {
    **dict.fromkeys(("n", "answers"), 0),
    **dict.fromkeys(("ECE", "under calibration", "corrected", "difference"), 3),
    **dict.fromkeys(("from", "to", "mean confidence", "proportion correct"), 3),
    **dict.fromkeys(("p", "p, adjusted", "p of MCB"), 3),
    **dict.fromkeys(("risk at 0.50", "risk at 0.80", "risk at 1.00"), 2),
}


def test_every_column_has_its_decimals(page: str) -> None:
    decimals = {typeset(one.heading): one.digits for one in panel_outputs().values()} | OF_TABLES
    shown = decimals_of(page)
    assert OF_TABLES.keys() <= shown.keys()
    assert shown == {heading: {decimals[heading]} for heading in shown}


def test_every_metric_is_defined_in_words(page: str, panel: CalibrationPanel) -> None:
    text = read(page).text
    for key in panel:
        assert panel_outputs()[key].meaning in text
        assert panel[key].method in text


def test_headings_are_unique() -> None:
    headings = [output.heading for output in panel_outputs().values()]
    assert len(set(headings)) == len(headings)


def test_labels_are_escaped(awkward_panel_page: str) -> None:
    assert "<always>" not in awkward_panel_page
    assert "&lt;always&gt;" in awkward_panel_page
    assert "a&b" not in awkward_panel_page


def test_what_is_undefined_is_said_and_never_a_number(
    awkward_panel_page: str, awkward_panel: CalibrationPanel
) -> None:
    text = read(awkward_panel_page).text
    assert "nan" not in without_figures(awkward_panel_page).lower()
    for key in awkward_panel:
        for flag in awkward_panel[key].flags:
            assert str(flag) in text
    assert "silent" in text.partition("has no value for most metrics")[0][-40:]
    assert "higher for wrong answers in 1 (inverted)" in text
    assert "40 clusters" in text
    assert "undefined given" not in text  # what has a value and no reservation is not listed


def test_one_model_and_few_metrics_are_enough() -> None:
    said, right = answers_as_stated(1, 60)
    panel = calibration_panel(said, right, metrics=["brier", "gamma"], rng=0, bootstrap=20)
    text = page_of_panel(panel)
    assert "Which models differ?" not in text
    assert_names_unique_and_found(text)
    assert "1 model, 2 metrics." in read(text).text
    assert "Brier score" in text
    assert "Lowest Brier score" not in text


def test_chances_of_being_correct_have_no_counting_curves() -> None:
    said, right = answers_as_stated(2, 60)
    right[0, :5] = 0.5
    panel = calibration_panel(said, right, metrics=["brier", "auroc"], rng=0, bootstrap=20)
    text = page_of_panel(panel)
    assert text.count("At least one correctness is a probability") == 2
    assert 'id="roc-' not in text


@pytest.mark.usefixtures("undrawn")  # the fixture `page` is made before, with its figures
def test_the_call_runs(page: str, panel: CalibrationPanel) -> None:
    (code,) = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    compile(html.unescape(code), "report", "exec")
    assert "bootstrap=40" in code
    again = page_of_panel(panel, source="panel = mine()")
    assert "panel = mine()" in again


def test_a_panel_writes_its_report_the_same_each_time(
    page: str, panel: CalibrationPanel, tmp_path: Path
) -> None:
    import matplotlib as mpl

    path = tmp_path / "new" / "page.html"
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30}):
        assert panel.report(path, curves=panel.curves(n_draws=30)) == path
    assert path.read_text(encoding="utf-8") == page


def test_other_results_have_no_such_report(tmp_path: Path) -> None:
    with pytest.raises(psy.errors.OptionError, match="a int has no report"):
        write_report(3, tmp_path / "page.html")  # type: ignore[arg-type]


@pytest.mark.usefixtures("undrawn")
def test_a_place_that_cannot_be_written_is_named(panel: CalibrationPanel, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(psy.errors.InputError, match="cannot be written there"):
        panel.report(blocked / "page.html", curves=panel.curves(n_draws=20))


@pytest.mark.usefixtures("undrawn")
def test_code_makes_the_curves_that_are_shown(panel: CalibrationPanel) -> None:
    end = 'panel.report("report.html", curves=curves)'
    code = f"panel = mine()\ncurves = panel.curves(n_draws=30)\n{end}"
    assert code in html.unescape(page_of_panel(panel, source="panel = mine()"))
    own = "panel = mine()\ncurves = panel.curves(n_draws=30, rng=4)"
    assert f"{own}\n{end}" in html.unescape(page_of_panel(panel, source=own))
