"""Panels in rows and columns: sizes, titles, colours."""

from matplotlib.figure import Figure

from psychollm.plots.calibration_panel import panel_size
from psychollm.plots.canvas import BLUE, CYAN, INK, ORANGE, PAPER, RED, colour_of, ink_on
from psychollm.plots.small_multiples import draw_panels, grid_size, panel_title


def test_sizes_of_figures() -> None:
    assert panel_size(range(10), 4) == (8.6, 3.1)
    assert panel_size(["b" * 32], 4)[0] == 8.6 + 20 * 0.07
    assert grid_size(5, 4, (2.0, 2.0), above=0.5) == (8.0, 4.5)
    assert grid_size(1, 4, (2.0, 2.0), above=0.5) == (3.8, 2.5)


def test_colours_recur_after_ten() -> None:
    assert (colour_of(0), colour_of(10)) == ("#3f90da", "#3f90da")
    assert len({colour_of(place) for place in range(10)}) == 10


def test_as_many_panels_as_are_wanted() -> None:
    figure = draw_panels(
        lambda ax, i: ax.plot([i]),
        5,
        columns=3,
        panel=(2, 2),
        names=("x", "y"),
        figure=Figure(),
    )
    assert len(figure.axes) == 5
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("x", "y")


def test_long_names_are_shortened_above_a_panel() -> None:
    ax = Figure().subplots()
    panel_title(ax, "a-name-that-is-much-too-long-for-a-panel", ["n = 3"])
    assert [text.get_text() for text in ax.texts] == ["n = 3", "a-name-that-is…g-for-a-panel"]


def test_text_on_a_ground_can_be_read() -> None:
    assert [ink_on(colour) for colour in (BLUE, RED, CYAN, ORANGE, PAPER)] == [
        PAPER, PAPER, INK, INK, INK,
    ]  # fmt: skip
