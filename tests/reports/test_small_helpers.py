"""What the pages are built of, tried by what it returns."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import psychollm as psy
from psychollm.calibration.decisions.confusion import confusion
from psychollm.calibration.panels.exhibits import definitions
from psychollm.estimates.exhibits import Drawing
from psychollm.estimates.findings import sentence_list
from psychollm.estimates.layout import models, names
from psychollm.estimates.listing import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.provenance import with_imports
from psychollm.estimates.references import cite, cited, known
from psychollm.plots.forest import plot_forest
from psychollm.plots.marks import (
    Mark,
    keep_box,
    keep_cells,
    keep_line,
    keep_points,
    keep_row,
    keep_rows,
    marks_of,
)
from psychollm.reports.figure import draw_figure, inline_svg, written
from psychollm.reports.marks import overlay
from psychollm.reports.page import Page, Section, named_versions, render, write_text
from psychollm.reports.sections import section
from psychollm.reports.study import layout_of


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
    (table,) = section(definitions(panel)).folded
    assert [cell.text for cell in table.rows[0]][2:4] == ["higher", "0.5"]
    evidence = panel.evidence(curves=panel.curves(n_draws=1000))
    assert with_imports(layout_of(panel).call(evidence, "", "")).splitlines() == [
        "import psychollm as psy",
        "",
        "# confidence and correctness: the two tables, models x questions",
        "panel = psy.calibration_panel(confidence, correctness, bootstrap=2000, level=0.95)",
        "curves = panel.curves(n_draws=1000)",
        'panel.report("report.html", curves=curves)',
    ]


def test_figures_inside_a_page() -> None:
    drawn = Figure(figsize=(4, 2))
    drawn.subplots(1, 2)
    figure = written(drawn, title="Two", key="two")
    assert figure.svg.count('id="two-axes_') == 2
    file = '<?xml?><svg width="9pt" id="a"><metadata>x</metadata></svg>'
    assert inline_svg(file, title="T", key="k") == (
        '<svg role="img" aria-labelledby="k-title" id="k-a"><title id="k-title">T</title></svg>'
    )


def test_a_mark_in_points_from_the_upper_left() -> None:
    figure = Figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 2), ylim=(0, 2))
    keep_points(ax, [0.5], [1.0], ["a & b"], ["m"])
    keep_row(ax, 0.5, "a row")
    laid = overlay(figure, ["others", "m"]).splitlines()
    assert laid[1] == '<circle data-m="1" cx="18" cy="36" r="6"><title>a &amp; b</title></circle>'
    assert laid[2] == '<rect x="0" y="36" width="72" height="36"><title>a row</title></rect>'
    assert Mark(shape="point", at=np.array([[0.5, 0.5]]), text="a: 0.50").models == ()


def test_marks_of_points_curves_and_boxes() -> None:
    ax = Figure().subplots()
    assert marks_of(ax) == []
    keep_points(ax, [1, np.nan], [2, 3], ["a", "b"], [("x", 7), "y"])
    keep_line(ax, np.array([0.0, 1.0]), np.array([0.0, np.nan]), "curve", "x")
    keep_box(ax, (0.0, 1.0), (2.0, 3.0), "box")
    found = [(mark.shape, mark.at.tolist(), mark.text, mark.models) for mark in marks_of(ax)]
    assert found == [
        ("point", [[1, 2]], "a", ("x", "7")),  # what is not finite is not drawn
        ("line", [[0, 0]], "curve", ("x",)),
        ("box", [[0, 2], [1, 3]], "box", ()),
    ]


def test_marks_of_a_matrix() -> None:
    ax = Figure().subplots()
    keep_cells(ax, np.array([[np.nan, 0.25], [0.5, np.nan]]), "ab", "r")
    assert [mark.text for mark in marks_of(ax)] == ["a and b: r 0.25", "b and a: r 0.50"]
    assert [mark.at.tolist() for mark in marks_of(ax)] == [
        [[0.5, -0.5], [1.5, 0.5]],
        [[-0.5, 0.5], [0.5, 1.5]],
    ]


def test_marks_of_a_forest() -> None:
    found = confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision
    (mark,) = marks_of(plot_forest(found, ax=Figure().subplots()))
    assert mark.text.replace(chr(160), " ") == "0: precision 0.50 [0.09, 0.91]"
    assert (mark.shape, mark.models, mark.at[:, 1].tolist()) == ("row", ("0",), [-0.5, 0.5])
    ax = Figure().subplots()
    keep_rows(ax, [found], ["share"], [0], digits=1)
    assert marks_of(ax)[0].text.replace(chr(160), " ") == "0: share 0.5 [0.1, 0.9]"


def test_a_drawing_is_as_large_as_its_plot_and_leaves_pyplot_alone() -> None:
    import matplotlib.pyplot as plt

    found = confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision
    drawing = Drawing(plot="plot_forest", of=found, key="k", title="t", caption="c")
    figure = draw_figure(drawing, ["0"])
    assert (figure.width, figure.caption, figure.answers) == (6.4, "c", True)
    assert plt.get_fignums() == []


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
    column = interval_column("r", [0.5, 0.0], bounds, reasons=["few", "only one question"])
    assert column.details == ("[0.10, 0.90]", "–")
    assert column.reasons == ("", "only one question")


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
