"""Single coefficients of agreement; `agreement` gives all of them on the same resamples.

References
----------
Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin,
76, 378-382. https://doi.org/10.1037/h0031619

Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.
https://doi.org/10.1348/000711006X126600

Hayes, A. F., & Krippendorff, K. (2007). Answering the call for a standard reliability measure for
coding data. Communication Methods and Measures, 1, 77-89.
https://doi.org/10.1080/19312450709336664

Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from psychollm._base.types import RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.agreement import estimate_agreement
from psychollm.reliability.raters.chance_corrected import (
    FLEISS,
    GWET,
    PAIRWISE,
    Distance,
    krippendorff,
)
from psychollm.reliability.raters.ratings import as_ratings
from psychollm.reliability.raters.unit_bootstrap import AgreementInterval


def percent_agreement(
    ratings: Any,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Chance that two runs of a question, drawn at random, give the same answer.

    Parameters
    ----------
    ratings, categories, clusters, interval, bootstrap, level, rng
        As in `agreement`.

    Returns
    -------
    Estimate
        Mean over the questions rated at least twice.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `agreement`.

    Examples
    --------
    >>> percent_agreement([[1, 1, 1], [1, 2, 1]], rng=0).value.round(3)
    array([0.667])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"pairwise agreement": PAIRWISE}, ratings, clusters, options)[0]


def fleiss_kappa(
    ratings: Any,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Fleiss' kappa of every model: agreement of any number of runs beyond chance.

    Parameters
    ----------
    ratings, categories, clusters, interval, bootstrap, level, rng
        As in `agreement`. Where the number of ratings differs, each question counts the same.

    Returns
    -------
    Estimate
        NaN with a reason where a single value occurs, or no question was rated twice.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `agreement`.

    Examples
    --------
    >>> fleiss_kappa([[1, 1, 1], [2, 2, 1], [2, 2, 2]], rng=0).value.round(4)
    array([0.55])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"Fleiss' kappa": FLEISS}, ratings, clusters, options)[0]


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
        All categories of the scale, whether or not they occur: their number enters (AC1). By
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
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"Gwet's AC1": GWET}, ratings, clusters, options)[0]


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
    options = Resampling.of(bootstrap, level, rng, interval)
    coefficient = {f"Krippendorff's alpha ({metric})": krippendorff(known, metric)}
    return estimate_agreement(coefficient, known, clusters, options)[0]
