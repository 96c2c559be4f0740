"""Panels that show the same plot for each model, on common scales."""

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import check_count
from psychollm._base.names import shortened
from psychollm.plots.canvas import INK, LABEL_SIZE, MUTED, TEXT_SIZE, TICK_SIZE, dress, open_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND = 3.8  # width of a legend in inches
_LINE = 22  # number of characters of a reason per line
_ROOM = 0.07  # space above and below each panel in inches
_LONGEST = 28  # number of characters of a name that fit above a panel


def draw_panels(
    draw: Callable[["Axes", int], object],
    n: int,
    *,
    columns: int,
    panel: tuple[float, float],
    names: tuple[str, str],
    key: Sequence[Any] = (),
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw `n` panels row by row, with common axis labels outside."""
    columns = min(check_count("columns", columns), n)
    rows = -(-n // columns)
    size = grid_size(n, columns, panel, above=0.3 + 0.2 * bool(key))
    figure = open_figure(figure, size=size)
    grid = figure.subplots(rows, columns, squeeze=False)
    for k, ax in enumerate(grid.flat):
        if k >= n:
            ax.remove()
            continue
        dress(ax)
        ax.tick_params(labelsize=TICK_SIZE - 1.5, length=2.5)
        ax.tick_params(labelleft=k % columns == 0, labelbottom=k + columns >= n)
        draw(ax, k)
    figure.supxlabel(names[0], fontsize=LABEL_SIZE, color=INK)
    figure.supylabel(names[1], fontsize=LABEL_SIZE, color=INK)
    engine: Any = figure.get_layout_engine()
    if engine is not None and hasattr(engine, "set"):
        engine.set(h_pad=_ROOM)
    if key:
        figure.legend(
            handles=list(key),
            loc="outside upper left",
            ncols=len(key),
            frameon=False,
            fontsize=TEXT_SIZE - 0.5,
            labelcolor=INK,
            handlelength=1.8,
        )
    return figure


def grid_size(
    n: int, columns: int, panel: tuple[float, float], *, above: float
) -> tuple[float, float]:
    """Return width and height in inches of `n` panels with margins."""
    columns = min(columns, n)
    width = max(columns * panel[0], _LEGEND)
    return round(width, 2), round(-(-n // columns) * panel[1] + above, 2)


def panel_title(ax: "Axes", name: Any, lines: Sequence[str] = ()) -> None:
    """Write the name of a model and its subtitle above its panel."""
    size = TICK_SIZE - 2.0
    for row, line in enumerate(reversed(lines)):
        _above(ax, line, 2.0 + 1.35 * size * row, size, MUTED, "normal")
    _above(
        ax, shortened(name, _LONGEST), 3.0 + 1.35 * size * len(lines), TICK_SIZE - 1.0, INK, "bold"
    )


def _above(ax: "Axes", text: str, points: float, size: float, colour: str, weight: str) -> None:
    ax.annotate(
        text,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0.0, points),
        textcoords="offset points",
        fontsize=size,
        color=colour,
        fontweight=weight,
        ha="left",
        va="bottom",
        annotation_clip=False,
    )


def say(ax: "Axes", reason: str, at: tuple[float, float]) -> None:
    """Write a reason into an empty panel, wrapped at the panel's width."""
    text = ax.text(
        *at,
        fill(reason, _LINE),
        ha="center",
        va="center",
        fontsize=TEXT_SIZE - 0.5,
        color=MUTED,
        bbox={"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1.5},
        zorder=6,
    )
    text.set_in_layout(False)
