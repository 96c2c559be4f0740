r"""Confidence from the agreement of a model's own samples.

The answer is the most frequent semantic class among M samples, and confidence is the proportion of
this class (``"same_sample"``). The proportion is biased upwards, because the same samples
determine the most frequent class. ``"split_sample"`` chooses the class in one half of the samples
and computes its proportion in the other half, averaged over random halves. The split-sample
estimate is unbiased, but it refers to the class that M/2 samples select.

If several classes are tied, each is the answer with equal probability. Correctness may therefore
be a probability between 0 and 1, which all metrics of this package accept.

References
----------
Nakkiran, P., Bradley, A., Golinski, A., Ndiaye, E., Kirchhof, M., & Williamson, S. (2025). Trained
on tokens, calibrated on concepts: the emergence of semantic calibration in LLMs. arXiv:2511.04869.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import InputError
from psychollm._base.replicate import replicate_seeds
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.reasons import Reason
from psychollm.kernels.semantic import modal_classes, split_shares

SemanticEstimator: TypeAlias = Literal["same_sample", "split_sample"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticConfidence(Result):
    """Confidence of each model in its most frequent answer, and correctness of that answer.

    `confidence` and `correct` can be passed to every metric of this package.

    Examples
    --------
    >>> from psychollm.calibration import brier
    >>> from psychollm.data import SampledAnswers
    >>> drawn = SampledAnswers.from_array([["a", "a", "b"], ["a", "b", "b"]], gold=["a", "a"])
    >>> found = semantic_confidence(drawn)
    >>> found.confidence.round(3), found.correct
    (array([[0.667, 0.667]]), array([[1., 0.]]))
    >>> brier(found.confidence, found.correct, rng=0).value.round(3)
    array([0.278])
    """

    confidence: FloatArray  # (models, questions) NaN with too few samples
    correct: FloatArray  # (models, questions) probability that the chosen class is right
    sample_accuracy: FloatArray  # (models, questions) proportion of correct samples
    agreement: FloatArray  # (models, questions) proportion of pairs in the same class
    n_samples: FloatArray  # (models, questions)
    n_classes: FloatArray  # (models, questions) number of classes among the samples
    n_tied: FloatArray  # (models, questions) number of classes tied for the highest frequency
    estimator: SemanticEstimator
    flags: tuple[Reason, ...]  # (models,)
    models: Labels
    questions: Labels

    _AXES = Axes(
        {"model": "models", "question": "questions"},
        "confidence",
        "correct",
        "sample_accuracy",
        "agreement",
        "n_samples",
        "n_classes",
        "n_tied",
    )


def semantic_confidence(
    samples: SampledAnswers,
    *,
    estimator: SemanticEstimator = "same_sample",
    splits: int = 10,
    rng: RandomState = None,
) -> SemanticConfidence:
    """Return each model's confidence in its most frequent answer to each question.

    Parameters
    ----------
    samples : SampledAnswers
        Semantic classes of the samples (models, questions, samples).
    estimator : {"same_sample", "split_sample"}
        "same_sample" computes the proportion of the most frequent class among all samples (Sem1).
        "split_sample" chooses the class in one half of the samples and computes its proportion in
        the other half, averaged over random halves (Sem2).
    splits : int
        Number of random halves for ``"split_sample"``.
    rng : Generator, int or None
        Random generator or seed for the halves.

    Returns
    -------
    SemanticConfidence
        Confidence in the most frequent answer, and correctness of that answer. With one sample per
        question, ``"same_sample"`` gives a confidence of 1 by construction, with a flag, and
        ``"split_sample"`` gives NaN.

    Raises
    ------
    OptionError
        If the estimator is invalid or `splits` is not positive.
    InputError
        If `samples` are not `SampledAnswers`.

    Examples
    --------
    >>> from psychollm.data import SampledAnswers
    >>> drawn = SampledAnswers.from_array([["a", "a", "b"], ["a", "b", "b"]], gold=["a", "a"])
    >>> semantic_confidence(drawn).confidence.round(3)
    array([[0.667, 0.667]])
    """
    check_choice("estimator", estimator, SemanticEstimator)
    splits = check_count("splits", splits)
    check_samples(samples)
    shape = samples.codes.shape
    codes = samples.codes.reshape(-1, shape[2])
    measures = np.empty((len(codes), 7))
    modal_classes(codes, samples.right.reshape(-1, shape[2]), measures)
    columns = (column.reshape(shape[:2]).copy() for column in measures.T)
    share, correct, n, classes, tied, accuracy, agreement = columns
    if estimator == "split_sample":
        halves = np.empty(len(codes))
        split_shares(codes, replicate_seeds(len(codes), rng), splits, halves)
        share = halves.reshape(shape[:2])
    return SemanticConfidence(
        confidence=share,
        correct=correct,
        sample_accuracy=accuracy,
        agreement=agreement,
        n_samples=n,
        n_classes=classes,
        n_tied=tied,
        estimator=estimator,
        flags=sample_flags(n),
        models=samples.models,
        questions=samples.questions,
    )


def sample_flags(n: FloatArray) -> tuple[Reason, ...]:
    """Return the flag of each model, given its numbers of samples (models, questions)."""
    most = n.max(axis=1)
    return tuple(
        Reason.NO_ANSWERS if top == 0 else Reason.ONE_SAMPLE if top == 1 else Reason.NONE
        for top in most
    )


def check_samples(samples: object) -> None:
    """Raise `InputError` unless the argument is a `SampledAnswers`."""
    if not isinstance(samples, SampledAnswers):
        msg = (
            f"samples is a {type(samples).__name__}: build SampledAnswers.from_array(classes) or "
            "SampledAnswers.from_long(frame, question=..., answer=...)"
        )
        raise InputError(msg)
