"""What the pages are built of, tried by what it returns."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from matplotlib.figure import Figure

import psychollm as psy
from psychollm.calibration.decisions.confusion import confusion
from psychollm.plots.canvas import name_rows
from psychollm.plots.correlation import plot_matrix
from psychollm.plots.forest import plot_forest
from psychollm.reports import calibration
from psychollm.reports.figure import draw_figure, inline_svg
from psychollm.reports.marks import Mark, cells, line, overlay, point, row_names, row_of, rows
from psychollm.reports.page import (
    Page,
    Section,
    cite,
    cited,
    known,
    models,
    named_versions,
    names,
    render,
    sentence_list,
    write_text,
)
from psychollm.reports.study_marks import forest, marks_of
from psychollm.reports.table import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.studies.provenance import with_imports
from psychollm.studies.shared_confidence.result import SharedConfidence


def test_references_in_the_running_text() -> None:
    assert cite("holm") == '(<a href="#ref-holm">Holm, 1979</a>)'


def test_references_and_their_entries() -> None:
    entries = cited([f"As by {cite('wilson', 'holm')}.", cite("holm")])
    assert [entry.partition(">")[0] for entry in entries] == [
        '<span id="ref-holm"',
        '<span id="ref-wilson"',
    ]
    assert entries[1].endswith("10.1080/01621459.1927.10502953</a>")


def test_the_bibliography_is_in_the_order_of_the_alphabet() -> None:
    entries = [one.entry for one in known().values()]
    assert entries == sorted(entries)
    assert all(len(one) == 4 and one.name[-4:].isdigit() for one in known().values())


def test_metrics_of_a_panel_and_the_code_that_repeats_it() -> None:
    panel = psy.calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics=["auroc"], rng=0)
    table = calibration.definitions(panel)
    assert [cell.text for cell in table.rows[0]][2:4] == ["higher", "0.5"]
    assert with_imports(calibration.code(panel, "", 1000)).splitlines() == [
        "import psychollm as psy",
        "",
        "# confidence and correctness: the two tables, models x questions",
        "panel = psy.calibration_panel(confidence, correctness, bootstrap=2000, level=0.95)",
        "curves = panel.curves(n_draws=1000)",
        'panel.report("report.html", curves=curves)',
    ]


def test_figures_inside_a_page() -> None:
    figure = draw_figure(
        lambda empty: empty.subplots(1, 2), size=(4, 2), caption="", title="Two", key="two"
    )
    assert figure.svg.count('id="two-axes_') == 2
    file = '<?xml?><svg width="9pt" id="a"><metadata>x</metadata></svg>'
    assert inline_svg(file, title="T", key="k") == (
        '<svg role="img" aria-labelledby="k-title" id="k-a"><title id="k-title">T</title></svg>'
    )


def test_a_mark_in_points_from_the_upper_left() -> None:
    figure = Figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 2), ylim=(0, 2))
    mark = Mark(ax=ax, shape="point", at=np.array([[0.5, 1.0]]), text="a & b", models=(3,))
    assert overlay(figure, [mark]).splitlines()[1] == (
        '<circle data-m="3" cx="18" cy="36" r="6"><title>a &amp; b</title></circle>'
    )
    assert Mark(ax=ax, shape="point", at=np.array([[0.5, 0.5]]), text="a: 0.50").models == ()


def test_marks_of_points_curves_and_rows() -> None:
    ax = Figure().subplots()
    assert row_of(["a", 7]) == {"a": 0, "7": 1}
    assert point(ax, 1, 2, "a").shape == "point"
    assert line(ax, np.array([0.0, 1.0]), np.array([0.0, np.nan]), "a").at.tolist() == [[0, 0]]
    marks = rows(ax, ["b"], ["b: 0.50"], row_of("ab"))
    assert marks[0].models == (1,)
    assert marks[0].at[:, 1].tolist() == [-0.5, 0.5]
    name_rows(ax, ["a", "b" * 99])  # what is drawn is shortened
    assert row_names(ax) == ["a", "b" * 99]
    assert marks_of(cast("SharedConfidence", None), "no such figure", ax) == []


def test_marks_of_a_matrix() -> None:
    values = np.array([[np.nan, 0.25], [0.5, np.nan]])
    ax = plot_matrix(values, "ab", name="r", limits=(-1, 1), ax=Figure().subplots())
    marks = cells(ax, "r", row_of("ab"))
    assert [mark.text for mark in marks] == ["a and b: r 0.25", "b and a: r 0.50"]
    assert [mark.at.tolist() for mark in marks] == [
        [[0.5, -0.5], [1.5, 0.5]],
        [[-0.5, 0.5], [0.5, 1.5]],
    ]


def test_marks_of_a_forest() -> None:
    found = confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision
    ax = plot_forest(found, ax=Figure().subplots())
    mark = forest(ax, [("precision", found)], {"0": 0})[0]
    assert mark.text.replace(chr(160), " ") == "0: precision 0.50 [0.09, 0.91]"


def test_words_of_a_page() -> None:
    text = render(Page(title="T", subtitle="", verdict="One factor & no more."))
    assert "One factor &amp; no more." in text
    assert "src=" not in text
    assert sentence_list(["a", "b", "c"]) == "a, b and c"
    assert sentence_list(["a", "b", "c"], most=1) == "a and 2 more"
    assert names(("a", "<b>", "c"), [False, True, True]) == "&lt;b&gt; and c"
    assert [models(n) for n in (1, 3, 0)] == ["one model", "three models", "no model"]
    assert named_versions({"numpy": "2.1"}) == (("NumPy", "2.1"),)


def test_a_value_without_an_interval_says_why() -> None:
    nan = float("nan")
    bounds = [(0.1, 0.9), (nan, nan)]
    column = interval_column("r", [0.5, 0.0], bounds, reasons=["few", "one question only"])
    assert column.details == ("[0.10, 0.90]", "–")
    assert column.reasons == ("", "one question only")


def test_columns_of_a_table() -> None:
    assert text_column("model", ["a", 1]).cells == ("a", "1")
    assert number_column("n", [1000.0, 2.0], digits=0).cells == ("1,000", "2")
    assert p_column("p", [0.5, 0.0001]).cells == (".500", "< .001")
    bounds = [(0.1, 0.9), (0, 1)]
    column = interval_column("r", [0.5, float("nan")], bounds, reasons=["", "?"])
    assert column.cells == ("0.50", "–")
    assert column.details == ("[0.10, 0.90]", "")
    assert column.reasons == ("", "?")
    column = estimate_column("precision", confusion([[0, 0]], [[1, 0]]).precision)
    assert (column.cells, column.reasons) == (("–",), ("never says yes",))


def test_long_names_of_a_table_are_whole_at_the_pointer() -> None:
    table = Table.of([name_column("model", ["a", "b" * 50])], caption="A table")
    assert [(cell.text, cell.whole) for (cell,) in table.rows] == [
        ("a", ""),
        ("b" * 17 + "…" + "b" * 16, "b" * 50),
    ]
    page = render(
        Page(
            title="",
            subtitle="",
            verdict="",
            sections=(Section(title="s", key="s", tables=(table,)),),
        )
    )
    assert f'<th scope="row" title="{"b" * 50}">' in page
    assert '<a class="skip" href="#content">' in page
    assert "<caption>A table</caption>" in page


def test_reasons_below_a_table() -> None:
    column = Column(heading="x", cells=("1", "–"), reasons=("", "never says yes"))
    table = Table.of([column], caption="A table", emphasised=[False, True])
    assert [[cell.text + cell.mark for cell in row] for row in table.rows] == [["1"], ["–a"]]
    assert table.footnotes == (("a", "never says yes"),)
    with pytest.raises(TypeError, match="positional"):
        Table.of([column], "A table")  # type: ignore[misc]


def test_a_page_is_written_into_a_new_folder(tmp_path: Path) -> None:
    path = write_text(tmp_path / "new" / "page.html", lambda: "text")
    assert path.name == "page.html"
    assert path.read_text() == "text"
