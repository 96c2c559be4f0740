r"""Variance of the difference between two mean scores, expressed per question.

In a comparison on n questions in clusters of m questions, with K answers to each question, the
squared standard error is

.. math:: \frac{1}{n} \Bigl( V \max(1,\, 1 + (m - 1) \rho) + \frac{E}{K} \Bigr).         \quad (1)

V is the variance over questions of the expected difference. E is the variance of answers around
their expected value, summed over both models. :math:`\rho` is the correlation of the differences
within clusters; a negative correlation is ignored, because it is mostly due to chance. If both
models answer the same questions ("paired"),

.. math:: V = \sigma_A^2 + \sigma_B^2 - 2 r \sigma_A \sigma_B.                           \quad (2)

Here r is the correlation of the two models' scores. If each model answers n separate questions
("unpaired"), r is zero. If each question is answered once, E is part of V. In a pilot study, V is
the variance of the differences minus the variance due to sampled answers. :math:`\rho` is the
value at which equation (1) equals the squared clustered standard error of the pilot, where m is
the mean size of a question's cluster, :math:`\sum_g n_g^2 / n`.

References
----------
Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import LARGEST, check_choice, check_count, check_number
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm.calibration.stated import cluster_codes
from psychollm.data.responses import ResponsesLike
from psychollm.reliability.contrasts.condition_scores import check_known
from psychollm.reliability.means.answer_variance import QuestionAnswers
from psychollm.reliability.means.clustered import clustered_mean
from psychollm.reliability.means.repeated_scores import repeated_scores, span_of

Design: TypeAlias = Literal["paired", "unpaired"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DifferenceVariance(Result):
    """Variance components of a difference between two models, per question.

    Examples
    --------
    >>> variance = DifferenceVariance(between=0.25, within=0.1, cluster_size=5.0,
    ...                               cluster_correlation=0.2)
    >>> round(variance.standard_error(100, n_answers=2), 4)
    0.0707
    """

    between: float  # V of (1)
    within: float = 0.0  # E of (1)
    cluster_size: float = 1.0  # m of (1)
    cluster_correlation: float = 0.0  # rho of (1)
    design: Design = "paired"
    df: float = np.inf  # degrees of freedom of the pilot study
    span: float = np.inf  # range of the scores, 1 if they are between 0 and 1; inf if unknown

    def __post_init__(self) -> None:
        check_choice("design", self.design, Design)
        check_number("df", self.df, low=1.0, high=np.inf)
        for name in ("between", "within"):
            check_number(name, getattr(self, name), low=0.0, high=LARGEST**2)
        check_number("span", self.span, low=0.0, high=np.inf)
        check_number("cluster_size", self.cluster_size, low=1.0)
        check_number("cluster_correlation", self.cluster_correlation, low=-1.0, high=1.0)

    @property
    def design_effect(self) -> float:
        """Factor, at least 1, by which clusters increase the required number of questions."""
        return max(1.0, 1.0 + (self.cluster_size - 1.0) * self.cluster_correlation)

    def standard_error(self, n_questions: int, *, n_answers: int = 1) -> float:
        """Return the standard error of a difference by equation (1).

        Parameters
        ----------
        n_questions : int
            Number of questions that both models answer, or that each model answers if the design
            is "unpaired".
        n_answers : int
            Number of answers to each question.
        """
        n, k = check_count("n_questions", n_questions), check_count("n_answers", n_answers)
        return float(np.sqrt((self.between * self.design_effect + self.within / k) / n))

    def degrees_of_freedom(self, n_questions: int) -> float:
        """Return the degrees of freedom of the standard error (clusters minus one in each sample).

        Parameters
        ----------
        n_questions : int
            Number of questions that both models answer, or that each model answers if the design
            is "unpaired".
        """
        clusters = n_questions / self.cluster_size
        return (clusters - 1.0) * (1.0 if self.design == "paired" else 2.0)


def assumed_variance(
    first: float,
    second: float,
    *,
    correlation: float = 0.0,
    design: Design = "paired",
    cluster_size: float = 1.0,
    cluster_correlation: float = 0.0,
) -> DifferenceVariance:
    """Compute the variance of a difference between two accuracies from assumed values.

    Parameters
    ----------
    first, second : float
        Accuracies of the two models.
    correlation : float
        Correlation of the two models' binary scores over questions; for similar models it is 0.3
        to 0.7.
    design : {"paired", "unpaired"}
        Whether both models answer the same questions ("paired") or separate questions
        ("unpaired").
    cluster_size, cluster_correlation : float
        Number of questions per cluster, and correlation of score differences within clusters.

    Returns
    -------
    DifferenceVariance
        Variance components of the difference, per question.

    Raises
    ------
    OptionError
        If a value is out of range, or the correlation is impossible given the accuracies.

    Examples
    --------
    >>> round(assumed_variance(0.7, 0.7, correlation=0.5).between, 4)
    0.21
    """
    for name, share in (("first", first), ("second", second)):
        check_number(name, share, low=0.0, high=1.0)
    check_number("correlation", correlation, low=-1.0, high=1.0)
    sd = [float(np.sqrt(share * (1.0 - share))) for share in (first, second)]
    both = correlation * sd[0] * sd[1] if design == "paired" else 0.0
    low = max(0.0, first + second - 1.0) - first * second
    high = min(first, second) - first * second
    if not low - 1e-12 <= both <= high + 1e-12:
        scale = sd[0] * sd[1]
        msg = (
            f"correlation={correlation!r} is impossible: scores with means {first:g} and "
            f"{second:g} correlate between {low / scale:.3f} and {high / scale:.3f}"
        )
        raise OptionError(msg)
    return DifferenceVariance(
        between=max(0.0, sd[0] ** 2 + sd[1] ** 2 - 2.0 * both),
        design=design,
        cluster_size=cluster_size,
        cluster_correlation=cluster_correlation,
        span=1.0,
    )


def pilot_variance(
    scores: ResponsesLike,
    first: Hashable,
    second: Hashable,
    *,
    clusters: Any = None,
    design: Design = "paired",
) -> DifferenceVariance:
    """Estimate the variance of a difference between two models from a pilot study.

    Parameters
    ----------
    scores : RepeatedScores, Responses, DataFrame, DataArray or array_like
        Numeric scores (models, questions) or (models, questions, answers); NaN marks a missing
        score. Only questions that both models answered are used.
    first, second : hashable
        Labels of the two models.
    clusters : array_like (questions,), optional
        Cluster of each question.
    design : {"paired", "unpaired"}
        Design of the planned comparison: the same questions for both models, or separate
        questions.

    Returns
    -------
    DifferenceVariance
        Variance components of the difference, per question.

    Raises
    ------
    LabelError
        If a model is unknown.
    ShapeError
        If the two models have fewer than two common questions or clusters.

    Examples
    --------
    >>> scores = np.random.default_rng(0).integers(0, 2, (2, 40))
    >>> round(pilot_variance(scores, 0, 1, clusters=np.arange(40) // 4).design_effect, 3)
    1.685
    """
    check_choice("design", design, Design)
    table = repeated_scores(scores)
    codes = None if clusters is None else cluster_codes(clusters, table.questions)
    two = [check_known("model", label, table.models) for label in (first, second)]
    parts = QuestionAnswers.of(table)
    both = parts.answered[two].all(axis=0)
    repeated = parts.repeated[two] * both
    within = (parts.variance[two] * repeated).sum(axis=1) / np.maximum(repeated.sum(axis=1), 1.0)
    # `noise` is the part of the variance of a difference that is due to sampling answers.
    noise = float((within * (parts.inverse[two] * both).sum(axis=1) / max(both.sum(), 1)).sum())
    mean = np.where(both, parts.mean[two], np.nan)
    rows = mean[:1] - mean[1:] if design == "paired" else mean
    weight = np.isfinite(rows).astype(np.float64)
    n = weight[0].sum()
    plain, clustered = (clustered_mean(rows, weight, groups) for groups in (None, codes))
    if not np.isfinite(clustered.se).all():
        msg = "the two models share fewer than two questions (or clusters): use a larger pilot"
        raise ShapeError(msg)
    between = max(0.0, float(n * (plain.se**2).sum()) - noise)
    effect = 1.0
    if between > 0.0:
        effect = (float(n * (clustered.se**2).sum()) - noise) / between
    sizes = weight[0] if codes is None else np.bincount(codes, weight[0])
    size = float((sizes**2).sum() / sizes.sum())  # mean cluster size of a random question
    rho = (effect - 1.0) / (size - 1.0) if size > 1.0 else 0.0
    return DifferenceVariance(
        between=between,
        within=float(within.sum()),
        cluster_size=size,
        cluster_correlation=float(np.clip(rho, -1.0, 1.0)),
        design=design,
        df=max(1.0, float(clustered.df.min())),
        span=span_of(table.values[two][table.present[two]]),
    )
