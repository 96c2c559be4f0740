"""Coefficients of association between a score and correctness.

The statistics and their intervals are those of
`psychollm.calibration.discrimination.ranking`.
"""

from numpy.typing import ArrayLike

from psychollm._base.types import RandomState
from psychollm.calibration.discrimination.ranking import ranked, scored_answers
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling


def gamma(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Goodman and Kruskal's gamma of a score and each model's correctness; of yes/no, Yule's Q.

    Of the pairs of a correct and a wrong answer with different scores, the share in order minus
    the share against it. It ignores ties, so that it depends on how freely a model uses the ends
    of its scale, not only on what it knows (Masson and Rotello).

    Parameters
    ----------
    scores, correctness, clusters, weights, bootstrap, level, rng
        As in `auroc`.

    Returns
    -------
    Estimate
        NaN with a reason where no pair differs: one class, or a constant score. The flag
        `AT_BOUND` says that only ties keep the order from being perfect.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `auroc`.

    References
    ----------
    Masson, M. E. J., & Rotello, C. M. (2009). Sources of bias in the Goodman-Kruskal gamma
    coefficient measure of association. Journal of Experimental Psychology: Learning, Memory, and
    Cognition, 35, 509-527.

    Nelson, T. O. (1984). A comparison of current measures of the accuracy of feeling-of-knowing
    predictions. Psychological Bulletin, 95, 109-133.

    Examples
    --------
    >>> gamma([[1, 1, 0, 0, 1]], [[1, 1, 0, 1, 0]], rng=0).value.round(4)
    array([0.3333])
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("gamma", answers, options)


def somers_d(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Somers' d of a score given correctness: twice the area under the ROC curve, minus one.

    Parameters
    ----------
    scores, correctness, clusters, weights, bootstrap, level, rng
        As in `auroc`.

    Returns
    -------
    Estimate
        NaN with a reason for a model that is always or never correct.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `auroc`.

    Examples
    --------
    >>> somers_d([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value
    array([0.5])
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("Somers' d", answers, options)


def tau_b(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Kendall's tau-b of a score and each model's correctness; of yes/no answers, phi.

    With a graded score it cannot reach one, because correctness ties half of all pairs.

    Parameters
    ----------
    scores, correctness, clusters, weights, bootstrap, level, rng
        As in `auroc`.

    Returns
    -------
    Estimate
        NaN with a reason for one class or a constant score.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `auroc`.

    Examples
    --------
    >>> tau_b([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(4)
    array([0.4082])
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("tau-b", answers, options)


def point_biserial(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Product-moment correlation of a score and each model's correctness.

    Unlike the other coefficients it depends on the scale of the score, not on its order alone.

    Parameters
    ----------
    scores, correctness, clusters, weights, bootstrap, level, rng
        As in `auroc`.

    Returns
    -------
    Estimate
        NaN with a reason for one class or a constant score.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `auroc`.

    Examples
    --------
    >>> point_biserial([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(4)
    array([0.2242])
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("point-biserial correlation", answers, options)
