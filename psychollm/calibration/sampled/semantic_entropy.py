r"""Semantic entropy: dispersion of the meanings of a model's samples.

The following estimators use M samples for each question and return nats
(`psychollm.kernels.semantic`).

* ``"discrete"``: entropy of the class proportions; biased downwards by about (K - 1)/(2M);
* ``"miller_madow"``: the discrete entropy plus (K - 1)/(2M), for K observed classes;
* ``"likelihood"``: entropy of the classes' normalised likelihoods (Rao-Blackwell form);
* ``"monte_carlo"``: mean negative log of the normalised likelihoods of the sampled classes;
* ``"predictive"``: mean negative log-likelihood of the samples.

The predictive estimator ignores meaning and is the baseline for the other estimators.

References
----------
Kuhn, L., Gal, Y., & Farquhar, S. (2023). Semantic uncertainty: linguistic invariances for
uncertainty estimation in natural language generation. ICLR.

Farquhar, S., Kossen, J., Kuhn, L., & Gal, Y. (2024). Detecting hallucinations in large language
models using semantic entropy. Nature, 630, 625-630. https://doi.org/10.1038/s41586-024-07421-0

Miller, G. A. (1955). Note on the bias of information estimates. In H. Quastler (Ed.), Information
theory in psychology (pp. 95-100). Free Press.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.sampled.semantic_confidence import check_samples, sample_flags
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.clustered import units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, resample
from psychollm.kernels.semantic import discrete_entropies, likelihood_entropies

EntropyEstimator: TypeAlias = Literal[
    "discrete", "miller_madow", "likelihood", "monte_carlo", "predictive"
]
_COLUMNS: dict[str, int] = {"likelihood": 0, "monte_carlo": 1, "predictive": 2}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticEntropy(Result):
    """Semantic entropy of every model on every question, and its mean per model.

    Examples
    --------
    >>> from psychollm.data import SampledAnswers
    >>> drawn = SampledAnswers.from_array([["a", "a", "b", "b"], ["a", "a", "a", "a"]])
    >>> semantic_entropy(drawn, rng=0).entropy.round(3)
    array([[0.693, 0.   ]])
    """

    entropy: FloatArray  # (models, questions) entropy in nats, or divided by ln M
    mean: Estimate  # mean over questions
    n_samples: FloatArray  # (models, questions)
    n_classes: FloatArray  # (models, questions)
    estimator: EntropyEstimator
    normalised: bool  # whether entropies are divided by ln M
    length_normalised: bool  # whether log-likelihoods are divided by length
    models: Labels
    questions: Labels

    _AXES = Axes({"model": "models", "question": "questions"}, "entropy", "n_samples", "n_classes")


def semantic_entropy(
    samples: SampledAnswers,
    *,
    estimator: EntropyEstimator = "discrete",
    normalise: bool = False,
    length_normalise: bool = False,
    clusters: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SemanticEntropy:
    """Return the semantic entropy of each model's samples for each question.

    Parameters
    ----------
    samples : SampledAnswers
        Semantic classes of the samples (models, questions, samples), with log-likelihoods for the
        last three estimators.
    estimator : {"discrete", "miller_madow", "likelihood", "monte_carlo", "predictive"}
        "discrete": entropy of the class proportions. "miller_madow": entropy of the class
        proportions, corrected for bias. "likelihood": entropy of the normalised class likelihoods.
        "monte_carlo": mean negative log-likelihood of the sampled classes. "predictive": mean
        negative log-likelihood of the samples; this estimator ignores meaning.
    normalise : bool
        Whether to divide by ln M, the largest possible entropy of M samples.
    length_normalise : bool
        Whether to divide log-likelihoods by the number of tokens.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    bootstrap : int or Bootstrap
        Number of resamples of questions, for the mean over questions.
    level : float
        Coverage of the interval of the mean, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SemanticEntropy
        Values are NaN for questions with fewer than two samples.

    Raises
    ------
    OptionError
        If the estimator is invalid, or requires log-likelihoods or lengths that are missing.
    InputError
        If `samples` are not `SampledAnswers`.

    Examples
    --------
    >>> from psychollm.data import SampledAnswers
    >>> drawn = SampledAnswers.from_array([["a", "a", "b", "b"], ["a", "a", "a", "a"]])
    >>> semantic_entropy(drawn, rng=0).entropy.round(3)
    array([[0.693, 0.   ]])
    """
    check_choice("estimator", estimator, EntropyEstimator)
    check_samples(samples)
    resampling = Resampling.of(bootstrap, level, rng)
    shape = samples.codes.shape
    measures = np.empty((shape[0] * shape[1], 3))
    discrete_entropies(samples.codes.reshape(-1, shape[2]), measures)
    entropy, n, classes = (column.reshape(shape[:2]).copy() for column in measures.T)
    if estimator == "miller_madow":
        entropy = entropy + (classes - 1) / (2 * np.maximum(n, 1))
    if estimator in _COLUMNS:
        entropy = _from_likelihoods(samples, estimator, length_normalise=length_normalise)
    entropy = np.where(n >= 2, entropy, np.nan)
    if normalise:
        entropy = entropy / np.log(np.maximum(n, 2))
    codes = None if clusters is None else cluster_codes(clusters, samples.questions)
    return SemanticEntropy(
        entropy=entropy,
        mean=_mean(entropy, codes, sample_flags(n), samples.models, resampling),
        n_samples=n,
        n_classes=classes,
        estimator=estimator,
        normalised=normalise,
        length_normalised=length_normalise,
        models=samples.models,
        questions=samples.questions,
    )


def _from_likelihoods(
    samples: SampledAnswers, estimator: EntropyEstimator, *, length_normalise: bool
) -> FloatArray:
    loglik = samples.loglik
    if not np.isfinite(loglik).any():
        msg = f"estimator={estimator!r} needs log-likelihoods: pass loglik= to SampledAnswers"
        raise OptionError(msg)
    if length_normalise:
        if not np.isfinite(samples.n_tokens).any():
            msg = "length_normalise needs the samples' lengths: pass n_tokens= to SampledAnswers"
            raise OptionError(msg)
        loglik = loglik / samples.n_tokens
    shape = loglik.shape
    entropies = np.empty((shape[0] * shape[1], 3))
    codes, logs = (table.reshape(-1, shape[2]) for table in (samples.codes, loglik))
    likelihood_entropies(codes, logs, entropies)
    return entropies[:, _COLUMNS[estimator]].reshape(shape[:2]).copy()


def _mean(
    entropy: FloatArray,
    clusters: IntArray | None,
    flags: tuple[Reason, ...],
    models: Labels,
    resampling: Resampling,
) -> Estimate:
    known = np.isfinite(entropy)
    filled = np.where(known, entropy, 0.0)

    def statistic(counts: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray((counts @ filled.T) / (counts @ known.T), dtype=np.float64)

    replicates = resample(statistic, entropy.shape[1], resampling.required(), clusters=clusters)
    return replicates.estimate(
        "mean semantic entropy",
        n=known.sum(axis=1).astype(np.float64),
        flags=flags,
        labels=models,
        units=units_of(known, clusters),
    )
