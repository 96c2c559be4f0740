r"""Gwet's AC1: agreement beyond a chance that stays low where one answer prevails.

.. math:: \mathrm{AC}_1 = \frac{\bar a - p_e}{1 - p_e}, \qquad
          p_e = \frac{1}{q - 1} \sum_c \pi_c (1 - \pi_c)                                  \quad (1)

over q categories with mean shares :math:`\pi_c`; :math:`\bar a` is the agreement of two ratings.

References
----------
Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.
https://doi.org/10.1348/000711006X126600
"""

from collections.abc import Hashable, Iterable
from typing import Any

from psychollm._base.types import RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.agreement import estimate_agreement
from psychollm.reliability.raters.chance_corrected import GWET
from psychollm.reliability.raters.ratings import as_ratings
from psychollm.reliability.raters.unit_bootstrap import AgreementInterval


def gwet_ac1(
    ratings: Any,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Gwet's AC1 of every model: agreement of runs where one answer prevails.

    Parameters
    ----------
    ratings, clusters, interval, bootstrap, level, rng
        As in `agreement`.
    categories : iterable, optional
        All categories of the scale, whether or not they occur: their number enters (1). By
        default those that occur in any model.

    Returns
    -------
    Estimate
        Defined, and one, even where a single value occurs.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `agreement`.

    Examples
    --------
    >>> answers = [["yes", "yes"]] * 9 + [["yes", "no"]]
    >>> gwet_ac1(answers, rng=0).value.round(4)
    array([0.8895])
    """
    options = Resampling.of(bootstrap, level, rng)
    (found,) = estimate_agreement(
        {"Gwet's AC1": GWET},
        as_ratings(ratings, categories=categories),
        clusters=clusters,
        interval=interval,
        resampling=options,
    )
    return found
