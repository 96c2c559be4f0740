"""Association of a score with correctness: gamma, Somers' d, tau-b, point-biserial correlation.

`psychollm.calibration.discrimination.ranking` defines the statistics and their intervals.
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
    """Compute Goodman and Kruskal's gamma of score and correctness (Yule's Q if binary).

    Gamma is the proportion of concordant pairs minus the proportion of discordant pairs. A pair
    consists of a correct and a wrong answer with different scores. Because gamma ignores ties, it
    also depends on how a model uses its confidence scale (Masson and Rotello, 2009).

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN with a reason if a model is always or never correct, or its score is
        constant. The flag `AT_BOUND` marks scores that separate correct from wrong answers, apart
        from ties.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.
    OptionError
        If a weight is not finite, or an option is invalid.

    References
    ----------
    Masson, M. E. J., & Rotello, C. M. (2009). Sources of bias in the Goodman-Kruskal gamma
    coefficient measure of association. Journal of Experimental Psychology: Learning, Memory, and
    Cognition, 35, 509-527. https://doi.org/10.1037/a0014876

    Nelson, T. O. (1984). A comparison of current measures of the accuracy of feeling-of-knowing
    predictions. Psychological Bulletin, 95, 109-133. https://doi.org/10.1037/0033-2909.95.1.109

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
    """Compute Somers' d of a score given correctness: 2 AUROC - 1.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN, with a reason, for a model that is always or never correct.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.
    OptionError
        If a weight is not finite, or an option is invalid.

    References
    ----------
    Somers, R. H. (1962). A new asymmetric measure of association for ordinal variables. American
    Sociological Review, 27, 799-811. https://doi.org/10.2307/2090408

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
    """Compute Kendall's tau-b of a score and correctness (phi for binary scores).

    With a graded score, tau-b is always below one, because two correct or two wrong answers are
    tied in correctness.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN with a reason if a model is always or never correct, or its score is
        constant.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.
    OptionError
        If a weight is not finite, or an option is invalid.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33, 239-251.
    https://doi.org/10.1093/biomet/33.3.239

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
    """Compute the product-moment correlation of a score and each model's correctness.

    Unlike rank coefficients, this correlation depends on the scale of the score.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN with a reason if a model is always or never correct, or its score is
        constant.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.
    OptionError
        If a weight is not finite, or an option is invalid.

    Examples
    --------
    >>> point_biserial([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(4)
    array([0.2242])
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("point-biserial correlation", answers, options)
