"""What is left of the pair tables after the shared factor."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.plots.canvas import plain_text
from psychollm.plots.matrix import plot_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.factor.one_factor.residuals import PairResiduals

_LEAST_LIMIT = 3.0


@plain_text()
def plot_residuals(
    result: "PairResiduals", *, order: FloatArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw standardised residuals of all pairs: orange pairs agree more than one factor expects.

    Without a further factor about one pair in twenty lies beyond two standard errors; those
    beyond three have a dot. The numbers are those of ``result.to_frame()``.

    Parameters
    ----------
    result : PairResiduals
        What `psychollm.factor.one_factor.residuals.pair_residuals` returns.
    order : array (k,), optional
        Values to sort the models by, such as their thresholds.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.factor.one_factor.residuals import pair_residuals
    >>> answers = np.random.default_rng(0).integers(0, 2, (5, 200))
    >>> ax = plot_residuals(pair_residuals(answers), ax=Figure().subplots())
    >>> len(ax.get_yticks())
    5
    """
    k = len(result.labels)
    rows = np.arange(k) if order is None else np.argsort(order, kind="stable")
    z = np.array(result.standardised[np.ix_(rows, rows)])
    np.fill_diagonal(z, np.nan)
    known = np.abs(z[np.isfinite(z)])
    limit = max(_LEAST_LIMIT, float(np.ceil(known.max()))) if known.size else _LEAST_LIMIT
    with np.errstate(invalid="ignore"):
        marked = np.abs(z) > 3.0
    return plot_matrix(
        z,
        [result.labels[i] for i in rows],
        name="observed − expected joint yes, standard errors",
        limits=(-limit, limit),
        marked=marked,
        ax=ax,
    )
