"""Own answer against shared signal, model by model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychollm.plots.canvas import plain_text
from psychollm.plots.forest import plot_forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.consensus.individuation import Individuation


@plain_text()
def plot_individuation(
    result: "Individuation",
    *,
    strong: Sequence[bool] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how well each model's own answer and the shared score rank its correct answers.

    Areas under the ROC curve with bootstrap intervals: of the model's own yes or no, of the
    shared score cut at the model's own yes rate (the comparison on equal terms), and of the
    whole shared score. Models are ordered by own minus shared at equal rates.

    Parameters
    ----------
    result : Individuation
        What `psychollm.calibration.individuation` returns.
    strong : sequence of bool (models,), optional
        Models whose names are set in bold; those whose own minus shared at equal rates has an
        interval above zero, by default.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.consensus.individuation import individuation
    >>> said, right = np.random.default_rng(0).integers(0, 2, (2, 5, 200))
    >>> result = individuation(said, right, bootstrap=20, rng=1)
    >>> plot_individuation(result, ax=Figure().subplots()).get_xlabel()
    'area under the ROC curve for being correct'
    """
    gain = result.own_minus_cut
    order = np.argsort(np.where(np.isfinite(gain.value), -gain.value, np.inf), kind="stable")
    return plot_forest(
        [result.own, result.shared_cut, result.shared],
        names=["own answer", "shared score cut at the own yes rate", "shared score"],
        reference=0.5,
        order=order,
        strong=[bool(low > 0) for low in gain.interval[:, 0]] if strong is None else strong,
        x="area under the ROC curve for being correct",
        ax=ax,
    )
