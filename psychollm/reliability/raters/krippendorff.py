r"""Krippendorff's alpha: one minus observed over expected disagreement, on four scales.

.. math:: \alpha = 1 - \frac{D_o}{D_e}                                                    \quad (1)

Any number of runs, missing ratings allowed; the distances of categories stand in
`psychollm.reliability.chance_corrected`. Expected disagreement is taken over pairs of different
ratings, which corrects for small samples.

References
----------
Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage.

Hayes, A. F., & Krippendorff, K. (2007). Answering the call for a standard reliability measure for
coding data. Communication Methods and Measures, 1, 77-89.
https://doi.org/10.1080/19312450709336664
"""

from collections.abc import Hashable, Iterable
from typing import Any

from psychollm._base.types import RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.agreement import estimate_agreement
from psychollm.reliability.raters.chance_corrected import Distance, krippendorff
from psychollm.reliability.raters.ratings import as_ratings
from psychollm.reliability.raters.unit_bootstrap import AgreementInterval


def krippendorff_alpha(
    ratings: Any,
    *,
    metric: Distance = "nominal",
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Krippendorff's alpha of every model.

    Parameters
    ----------
    ratings, clusters, interval, bootstrap, level, rng
        As in `agreement`: a table has a row per unit and a column per rater (transpose
        Krippendorff's reliability data).
    metric : {"nominal", "ordinal", "interval", "ratio"}
        Distance of two ratings; all but the first need numbers, or for "ordinal" `categories`.
    categories : iterable, optional
        The categories in increasing order, where they are not numbers.

    Returns
    -------
    Estimate
        NaN with a reason where a single value occurs, or no unit was rated twice.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `agreement`.

    Examples
    --------
    >>> ratings = [[1, 1, None], [2, 3, 3], [3, 3, 3], [2, 2, 2], [1, 2, 3], [4, 4, 4]]
    >>> krippendorff_alpha(ratings, metric="ordinal", rng=0).value.round(3)
    array([0.754])
    """
    known = as_ratings(ratings, categories=categories)
    options = Resampling.of(bootstrap, level, rng)
    (found,) = estimate_agreement(
        {f"Krippendorff's alpha ({metric})": krippendorff(known, metric)},
        known,
        clusters=clusters,
        interval=interval,
        resampling=options,
    )
    return found
