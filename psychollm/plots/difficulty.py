"""Plot of questions' factor scores against predictions from the question text."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, typeset, with_interval
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    INK,
    MUTED,
    name_axes,
    open_axes,
    plain_text,
    write,
)
from psychollm.plots.marks import keep_points
from psychollm.studies.difficulty.study import Difficulty

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plain_text()
def plot_difficulty(study: Difficulty, *, ax: "Axes | None" = None) -> "Axes":
    """Draw each question's factor score against its out-of-sample prediction.

    On the dashed line, prediction and score are equal. ``study.to_frame()`` returns the plotted
    numbers.

    Parameters
    ----------
    study : Difficulty
        Result of `difficulty`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies import difficulty
    >>> texts = [f"What is {'7' * (1 + n % 9)} + 1?" for n in range(60)]
    >>> study = difficulty(texts, [-(n % 9) for n in range(60)], bootstrap=20, rng=0)
    >>> plot_difficulty(study, ax=Figure().subplots()).get_xlabel()
    'predicted from the text'
    """
    ax = open_axes(ax, size=(5.0, 4.8))
    x, y = study.predicted, study.scores
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    ax.plot([low, high], [low, high], color=INK, lw=0.9, ls=DASHED, zorder=2)
    size = float(np.clip(4000.0 / x.size, 6.0, 28.0))
    points = ax.scatter(x, y, s=size, color=BLUE, alpha=0.55, lw=0, zorder=3)
    points.set_gid("questions")
    told = [
        f"{label}: score {number(up)}, predicted {number(across)}"
        for label, across, up in zip(study.labels, x, y, strict=True)
    ]
    keep_points(ax, x, y, told)
    explained, bounds = study.r_squared.value, study.r_squared.interval
    lines = [
        f"{name}: R² {typeset(with_interval(value, interval))}"
        for name, value, interval in zip(
            ("text", "length only"), explained[:2], bounds[:2], strict=True
        )
    ]
    write(ax, 0.02, 0.98, "\n".join(lines), "left top", colour=MUTED)
    name_axes(
        ax,
        x="predicted from the text",
        y="score on the common factor",
        title="Difficulty from the text",
    )
    return ax
