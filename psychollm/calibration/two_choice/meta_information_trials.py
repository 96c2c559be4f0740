r"""Meta-information of two-choice trials, and its ratios to reference values.

Equation (1) gives three definitions of meta-I, with stimulus class S, response R, correctness Y
and rating C.

.. math:: I(Y; C), \qquad I(S; C \mid R), \qquad H(a^*) - H(S \mid R, C).                 \quad (1)

The first definition is the mutual information of confidence and correctness (Dayan). The second
definition is the mutual information of confidence and stimulus, given the response. The third
definition (as in statConfR) is the difference of two amounts of information about the stimulus:
the information of the report (R, C), minus the information of the best guess from the report. Here
:math:`a^*` is the accuracy of the best guess. The three definitions are equal if the two responses
are symmetric; a response bias affects the third definition.

The ratios divide meta-I by one of four quantities.

The first quantity is the meta-I of an unbiased observer with the same d', whose evidence is
Gaussian and whose confidence is the evidence itself. Equation (2) gives this meta-I, with :math:`a
= \Phi(d'/2)`, :math:`x \sim N(d'/2, 1)` and the binary entropy H.

.. math:: H(a) - E \log_2\left(1 + e^{-d' x}\right)                                       \quad (2)

The second quantity is the meta-I of a Gaussian observer of the same accuracy a, with :math:`d' = 2
\Phi^{-1}(a)`. The third quantity is the entropy of correctness, H(a). The fourth quantity is the
maximum information of confidence at accuracy a, :math:`H(a) - 2 (1 - a)`, if no confidence level
has an accuracy below one half.

By default the mean of meta-I over permutations of the answers is subtracted. For the second and
third definition, the permutations are within each response.

References
----------
Dayan, P. (2023). Metacognitive information theory. Open Mind, 7, 392-411.
https://doi.org/10.1162/opmi_a_00091

Rausch, M., Meyen, S., & Hellmann, S. (2025). statConfR: Models of decision confidence and measures
of metacognition (version 0.2.1) [R package]. https://cran.r-project.org/package=statConfR
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, xlogy

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, of_one_shape
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.two_choice.trials import rated_trials
from psychollm.data.labels import Labels
from psychollm.estimates.clustered import Units
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.kernels.meta_d import LOWEST_D_PRIME
from psychollm.kernels.meta_information import table_information

MetaI: TypeAlias = Literal["confidence", "added", "report"]

NAMES = ("meta-I", "meta-I1", "meta-I1 (accuracy)", "meta-I2", "RMI")
_FIELDS = ("meta_i", "meta_i1", "meta_i1_accuracy", "meta_i2", "rmi")
_UNSTABLE_BELOW = 0.5
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetaInformation(Result):
    """Meta-information of every model, in bits, and its ratios.

    Examples
    --------
    >>> rating = [[3, 3, 1, 1] * 20]
    >>> found = meta_information([0, 1, 1, 0] * 20, [[0, 1, 0, 0] * 20], rating, rng=0)
    >>> found.meta_i.value.round(3), found.meta_i2.value.round(3)
    (array([0.302]), array([0.372]))
    """

    meta_i: Estimate  # meta-I in bits
    meta_i1: Estimate  # divided by meta-I of a Gaussian observer with the same d'
    meta_i1_accuracy: Estimate  # divided by meta-I of an equally accurate Gaussian observer
    meta_i2: Estimate  # divided by the entropy of correctness
    rmi: Estimate  # divided by the maximum information at this accuracy
    definition: MetaI
    corrected: bool
    labels: Labels  # (models,)

    _AXES = Axes({"model": "labels"}, "n=meta_i.n", *_FIELDS)


def meta_information(
    stimulus: Any,
    response: Any,
    rating: Any,
    *,
    definition: MetaI = "confidence",
    corrected: bool = True,
    n_ratings: int | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> MetaInformation:
    """Compute the meta-information of two-choice answers with confidence ratings.

    Parameters
    ----------
    stimulus : array_like (questions,) or table (models, questions)
        Correct answer, 0 or 1; a vector applies to all models.
    response : Responses, DataFrame, DataArray or array_like (models, questions)
        Answer of the model, 0 or 1; a vector holds the answers of one model. If only correctness
        is known, compute the response as ``np.where(correct, stimulus, 1 - stimulus)``.
    rating : RatedConfidence, DataFrame, DataArray or array_like (models, questions)
        Confidence in the answer: whole numbers from 1, or the result of `rate_confidence`. Trials
        with a missing stimulus, response or rating are ignored.
    definition : {"confidence", "added", "report"}
        Definition of meta-I: "confidence" is the mutual information of confidence and correctness,
        and "added" is the mutual information of confidence and stimulus, given the response.
        "report" follows statConfR: d' is computed from the proportions of correct answers for each
        response, and accuracy is the accuracy of the best guess given the report.
    corrected : bool
        Whether to subtract the value expected under a random order of the answers.
    n_ratings : int, optional
        Number of ratings on the scale; by default the highest rating in the data.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MetaInformation
        Values are NaN, with a reason, for a model that is always or never correct. Ratios are NaN
        if d' is at most 0.1. For constant ratings the value is 0 with the reason `CONSTANT`.

    Raises
    ------
    CodeError
        If a stimulus or response is not 0 or 1, or a rating is not a whole number on the scale.
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.
    OptionError
        If an option is invalid.

    Notes
    -----
    The interval is normal with the bootstrap standard error. Bootstrap percentiles would be too
    high, because repeated answers in a resample inflate the information.

    Examples
    --------
    >>> from psychollm.data.simulate import simulate_meta_d
    >>> made = simulate_meta_d(d_prime=[1.5, 1.5], m_ratio=[1, 0.5], n_questions=2000, rng=0)
    >>> told = meta_information(made.stimulus, made.response, made.rating, bootstrap=50, rng=0)
    >>> told.meta_i1.value.round(2)
    array([0.94, 0.2 ])
    """
    check_choice("definition", definition, MetaI)
    trials = rated_trials(
        stimulus, response, rating, n_ratings=n_ratings, clusters=clusters, weights=weights
    )
    options = Resampling.of(bootstrap, level, rng)

    def statistic(counts: FloatArray) -> FloatArray:
        tables = trials.tables(counts)
        flat = _measures(tables.reshape(-1, *tables.shape[2:]), definition, corrected=corrected)
        return flat.reshape(*tables.shape[:2], len(NAMES))

    value = _measures(trials.observed, definition, corrected=corrected)
    draws = bootstrap_draws(statistic, len(trials.questions), options, clusters=trials.clusters)
    reasons = _reasons(trials.observed, definition)
    estimates = [
        _normal(
            bootstrap_estimate(
                NAMES[i],
                np.ascontiguousarray(value[:, i]),
                np.ascontiguousarray(draws[:, :, i]),
                n=trials.n,
                flags=reasons[i],
                level=level,
                labels=trials.models,
                units=trials.units,
                final=False,
            ),
            trials.units,
        )
        for i in range(len(NAMES))
    ]
    return MetaInformation(
        **dict(zip(_FIELDS, estimates, strict=True)),
        definition=definition,
        corrected=corrected,
        labels=trials.models,
    )


def _normal(estimate: Estimate, clusters: Units | None) -> Estimate:
    """Replace percentile intervals by normal intervals."""
    level = estimate.level if clusters is None else clusters.level(estimate.level)
    reach = ndtri(0.5 + 0.5 * level) * estimate.se
    units = estimate.method.partition(" over ")[2]
    return replace(
        estimate,
        interval=np.stack([estimate.value - reach, estimate.value + reach], axis=1),
        method=f"normal, standard error from the bootstrap over {units}",
    ).qualified()


def gaussian_meta_information(d_prime: Any, *, prior: Any = 1.0) -> FloatArray:
    """Return the meta-information of an unbiased Gaussian observer, in bits.

    Parameters
    ----------
    d_prime : array_like (...)
        Sensitivity d'.
    prior : array_like (...)
        Entropy of the stimulus classes in bits; 1 if they are equally frequent.

    Examples
    --------
    >>> gaussian_meta_information([0.5, 1.0, 2.0]).round(4)
    array([0.0154, 0.0522, 0.117 ])
    """
    d, known = of_one_shape({"d_prime": d_prime, "prior": prior})
    d = d[..., None]
    # With 64 nodes the integral is accurate to 1e-11 at d' = 2, and to 1e-6 at d' = 6.
    with np.errstate(invalid="ignore"):  # d' may be NaN
        equivocation = np.logaddexp(0.0, -d * (0.5 * d + _NODES)) @ _WEIGHTS
    equivocation /= np.sqrt(2.0 * np.pi) * np.log(2.0)
    told = 1.0 - equivocation
    return np.asarray(_entropy(ndtr(0.5 * d[..., 0])) - known + told, dtype=np.float64)


def _entropy(share: FloatArray) -> FloatArray:
    """Return the binary entropy in bits."""
    return np.asarray(-(xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)) / np.log(2.0))


def _parts(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return meta-I, its permutation mean and the class entropy (n, 3); 0 for empty tables."""
    parts = np.empty((first.shape[0], 3))
    edges = np.arange(first.shape[1] + 1, dtype=np.int64)
    table_information(np.ascontiguousarray(first), np.ascontiguousarray(second), edges, parts)
    return np.nan_to_num(parts)


def _measures(tables: FloatArray, definition: MetaI, *, corrected: bool) -> FloatArray:
    """Return all measures (n, measures) of tables (n, 2 classes, 2 responses, ratings)."""
    d, accuracy, prior = _type_1(tables, definition)
    bits = _meta_information(tables, definition, accuracy, corrected=corrected)
    uncertain = _entropy(accuracy)
    bits = np.where(uncertain > 0.0, bits, np.nan)
    same = 2.0 * ndtri(accuracy)
    blind = ~(same > LOWEST_D_PRIME)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaussian = gaussian_meta_information(np.where(d > LOWEST_D_PRIME, d, np.nan), prior=prior)
        alike = gaussian_meta_information(np.where(blind, np.nan, same), prior=prior)
        most = np.where(blind, np.nan, uncertain - 2.0 * (1.0 - accuracy))
        ratios = [bits / below for below in (gaussian, alike, uncertain, most)]
    return np.stack([bits, *ratios], axis=1)


def _meta_information(
    tables: FloatArray, definition: MetaI, accuracy: FloatArray, *, corrected: bool
) -> FloatArray:
    """Return the meta-information of every table (n,)."""
    if definition == "confidence":
        right = tables[:, 0, 0] + tables[:, 1, 1]
        told, chance, _ = _parts(right, tables[:, 0, 1] + tables[:, 1, 0]).T
        return np.asarray(told - chance if corrected else told)
    answers = tables.sum(axis=(1, 3))  # (n, responses)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = answers / answers.sum(axis=1, keepdims=True)
    within = [shares[:, i, None] * _parts(tables[:, 0, i], tables[:, 1, i]) for i in (0, 1)]
    told, chance, _ = (within[0] + within[1]).T
    if definition == "report":
        n, k = tables.shape[0], tables.shape[3]
        whole = _parts(tables[:, 0].reshape(n, 2 * k), tables[:, 1].reshape(n, 2 * k))
        told = whole[:, 0] - (whole[:, 2] - _entropy(accuracy))
    return np.asarray(told - chance if corrected else told)


def _type_1(tables: FloatArray, definition: MetaI) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return d', accuracy and the reference entropy of every table (n,)."""
    answers = tables.sum(axis=3)  # (n, classes, responses)
    total = answers.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        if definition == "report":
            best = tables.max(axis=1).sum(axis=(1, 2)) / total
            right = np.stack([answers[:, i, i] / answers[:, :, i].sum(axis=1) for i in (0, 1)])
            return _finite_d(right), best, _entropy(answers[:, 1].sum(axis=1) / total)
        right = np.stack([answers[:, i, i] / answers[:, i].sum(axis=1) for i in (0, 1)])
        accuracy = (answers[:, 0, 0] + answers[:, 1, 1]) / total
    return _finite_d(right), accuracy, np.ones(total.size)


def _finite_d(right: FloatArray) -> FloatArray:
    """Return the sum of the normal quantiles of two accuracies (2, n); NaN if either is 0 or 1."""
    inside = (right > 0.0) & (right < 1.0)
    return np.asarray(ndtri(np.where(inside, right, np.nan)).sum(axis=0), dtype=np.float64)


def _reasons(tables: FloatArray, definition: MetaI) -> list[tuple[Reason, ...]]:
    """Return the reason for each undefined or qualified measure."""
    answers = tables.sum(axis=3)
    d, accuracy, _ = _type_1(tables, definition)
    same = 2.0 * ndtri(accuracy)
    wrong = answers[:, 0, 1] + answers[:, 1, 0]
    every = (
        (answers.sum(axis=(1, 2)) == 0, Reason.NO_ANSWERS),
        (wrong == answers.sum(axis=(1, 2)), Reason.NO_CORRECT),
        (wrong == 0, Reason.NO_WRONG),
    )
    constant = ((tables.sum(axis=(1, 2)) > 0).sum(axis=1) < 2, Reason.CONSTANT)
    classes = ((answers.sum(axis=2) == 0).any(axis=1), Reason.NO_STIMULUS_CLASSES)
    empty = (~np.isfinite(d), Reason.EMPTY_RESPONSE)
    low, unstable = Reason.LOW_SENSITIVITY, Reason.UNSTABLE
    by_d = ((~(d > LOWEST_D_PRIME), low), constant, (d < _UNSTABLE_BELOW, unstable))
    by_accuracy = ((~(same > LOWEST_D_PRIME), low), constant, (same < _UNSTABLE_BELOW, unstable))
    plain = first_reason(*every, constant)
    ratio = first_reason(*every, *by_accuracy)
    return [plain, first_reason(*every, classes, empty, *by_d), ratio, plain, ratio]
