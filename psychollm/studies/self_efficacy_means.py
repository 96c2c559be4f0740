"""Means over models: what every figure of the study rests on, with models as what varies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.clustered import mean_estimate

if TYPE_CHECKING:
    import pandas as pd

# The words of `mean_estimate` are of questions; here it is models that are many or few.
_REASONS = {
    Reason.NO_ANSWERS: Reason.TOO_FEW,
    Reason.ONE_QUESTION: Reason.TOO_FEW,
    Reason.NO_SPREAD: Reason.ALL_TIED,
}


def over_models(
    name: str,
    axis: str,
    values: pd.DataFrame,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Return the mean over models of each column.

    Parameters
    ----------
    name, axis : str
        What is averaged, and what the columns are.
    values : DataFrame (models, columns)
        One number per model; NaN where there is none.
    resampling : Resampling
        Level of the intervals (Student's t over models), and resamples of models, which all
        columns share.
    bounds : tuple of float, optional
        Outside which the interval cannot lie.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 3.0], "y": [2.0, 2.0]}, index=["a", "b"])
    >>> found = over_models("score", "condition", table, Resampling(n=10, rng=0))
    >>> found.value, [flag.name for flag in found.flags]
    (array([2., 2.]), ['NONE', 'ALL_TIED'])
    """
    matrix: FloatArray = values.to_numpy(dtype=np.float64).T
    known = np.isfinite(matrix).astype(np.float64)
    labels: Labels = tuple(values.columns.tolist())
    found = mean_estimate(matrix, known, None, resampling, "cr1", labels)
    interval = found.interval if bounds is None else np.clip(found.interval, *bounds)
    return replace(
        found,
        name=name,
        axis=axis,
        interval=interval,
        flags=tuple(_REASONS.get(flag, flag) for flag in found.flags),
        method="Student's t over models",
    )


def by_model(rows: pd.DataFrame, column: str, across: str) -> pd.DataFrame:
    """Return each model's mean of a column under each label (models, labels).

    Labels and models stand in order of appearance.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"model": list("bba"), "condition": list("xyx"), "v": [1.0, 2, 3]})
    >>> by_model(rows, "v", "condition").columns.tolist()
    ['x', 'y']
    """
    table = rows.pivot_table(
        index="model", columns=across, values=column, aggfunc="mean", sort=False, dropna=False
    )
    labels = [label for label in dict.fromkeys(rows[across].tolist()) if label in table.columns]
    every = list(dict.fromkeys(rows[across].tolist()))
    return table[labels].reindex(columns=every).reindex(index=list(dict.fromkeys(rows["model"])))
