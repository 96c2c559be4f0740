r"""Relation between the predictability of a model's own answers and its semantic calibration.

According to Nakkiran et al., training on next-token prediction removes miscalibration only if the
model can predict its distribution over answers before it writes the first word. Before a long
chain of thought, a model cannot predict its distribution over answers, and miscalibration remains.
The theory of Nakkiran et al. thus predicts larger calibration errors for arms that predict the
distribution of their own answers less accurately. An arm is a model with one set of questions and
one form of the prompts.

For each question, let :math:`n_k` of M samples be in class k, and let :math:`q_k` be the predicted
probability of class k. The prediction comes from a probe on the hidden state at the end of the
question, or from the model itself after tuning. The cross-entropy and the Kullback-Leibler
divergence D from the model's distribution are given by equation (1).

.. math:: H(\hat p, q) = -\frac1M \sum_k n_k \ln q_k, \qquad
          D = H(\hat p, q) - H_{MM}(\hat p), \quad
          H_{MM} = H(\hat p) + \frac{K - 1}{2M}                                           \quad (1)

The entropy of sampled answers is too small, especially if answers are diverse. Without the
Miller-Madow correction, the divergence would therefore grow with diversity alone.

The relation over arms is a rank correlation with Bonett and Wright's interval. With five arms, the
interval covers nearly the whole range.

References
----------
Nakkiran, P., Bradley, A., Golinski, A., Ndiaye, E., Kirchhof, M., & Williamson, S. (2025). Trained
on tokens, calibrated on concepts: the emergence of semantic calibration in LLMs. arXiv:2511.04869.

Miller, G. A. (1955). Note on the bias of information estimates. In H. Quastler (Ed.), Information
theory in psychology (pp. 95-100). Free Press.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction, check_generator, float_array
from psychollm._base.errors import CodeError, InputError, ShapeError
from psychollm._base.numbers import percent
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.instruments.semantic_sampling.collapse import normal_form
from psychollm.instruments.semantic_sampling.result import SemanticSamples
from psychollm.kernels.semantic import discrete_entropies
from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink, rank_link
from psychollm.studies.semantic_calibration.study import SemanticCalibration

Predictability: TypeAlias = Literal["divergence", "cross_entropy"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticMechanism(Study, Result):
    """Predictability of each arm's own answers, and its relation to calibration.

    Examples
    --------
    >>> from psychollm.studies.semantic_calibration.study import semantic_calibration
    >>> classes = np.random.default_rng(0).integers(0, 2, (4, 50, 10))
    >>> samples = SampledAnswers.from_array(classes, gold=[0] * 50)
    >>> study = semantic_calibration(samples, bootstrap=100, n_null=99, rng=0)
    >>> found = semantic_mechanism(study, samples, np.full(classes.shape, 0.5), rng=0)
    >>> bool((found.divergence.value < 0.02).all())
    True
    """

    divergence: Estimate  # mean of D over questions, in nats
    cross_entropy: Estimate  # mean cross-entropy over questions, in nats
    link: MonitoringLink  # rank correlation of one of these measures with the error, over arms
    predictability: str  # the measure in `link`
    error: FloatArray  # (arms,) excess smooth calibration error
    clipped: FloatArray  # (arms,) proportion of samples with a probability raised to `floor`
    floor: float
    labels: Labels  # (arms,)

    _AXES = Axes(
        {"arm": "labels"},
        "divergence",
        "cross_entropy=cross_entropy.value",
        "excess_smece=error",
        "clipped",
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the finding, with `smallest.correlation` as the smallest effect of interest."""
        link, name = self.link, self.predictability.replace("_", "-")
        shown = outcome(link.interval, smallest=smallest.correlation)
        judged = {
            Outcome.ABOVE: "Arms that predict their answers less well are calibrated less well",
            Outcome.BELOW: "Arms that predict their answers less well are better calibrated",
            Outcome.SMALL: "Calibration hardly correlates with how well arms predict answers",
            Outcome.OPEN: "The relation of predictability and calibration is inconclusive",
        }[shown]
        text = f"{judged}: {name} and excess smECE, {link.text('arm')}."
        worst = float(self.clipped.max())
        if worst > 0.01:
            text += (
                f" Up to {percent(worst)} of an arm's samples have a predicted probability below "
                f"{self.floor:g}, so divergences depend on that floor."
            )
        numbers = {"correlation": link.value, "interval": link.interval, "p": link.p_value}
        return Finding(
            statement=text,
            numbers=numbers,
            outcome=shown,
            reason=str(link.flag),
        ).alone


def semantic_mechanism(
    study: SemanticCalibration,
    samples: SampledAnswers,
    predicted: Any,
    *,
    predictability: Predictability = "divergence",
    floor: float = 1e-3,
    n_null: int = 9999,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SemanticMechanism:
    """Correlate the predictability of arms' own answers with their calibration.

    Parameters
    ----------
    study : SemanticCalibration
        Study of the arms; ten or more arms are advisable, such as all combinations of models and
        question sets.
    samples : SampledAnswers
        Samples of the same arms; `stack_samples` combines the samples of several arms.
    predicted : array_like (arms, questions, samples)
        Probability of each sample's class, predicted before the answer; NaN if unknown.
        `predicted_chances` computes the predicted probabilities from distributions over answers.
    predictability : {"divergence", "cross_entropy"}
        Measure to correlate with the calibration error. Cross-entropy also grows with the
        diversity of answers.
    floor : float
        Lower limit of predicted probabilities, since a zero would make the measures infinite.
    n_null : int
        Number of permutations.
    bootstrap : int or Bootstrap
        Number of resamples of questions.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SemanticMechanism
        An arm without predictions has the value NaN, and is excluded from the correlation.

    Raises
    ------
    ShapeError
        If the shape of the probabilities differs from the shape of the samples.
    CodeError
        If a probability is outside [0, 1], or samples of one class have different probabilities.
    InputError
        If the arms differ from the arms of the study.

    Examples
    --------
    >>> from psychollm.studies.semantic_calibration.study import semantic_calibration
    >>> classes = np.random.default_rng(0).integers(0, 2, (4, 50, 10))
    >>> samples = SampledAnswers.from_array(classes, gold=[0] * 50)
    >>> study = semantic_calibration(samples, bootstrap=100, n_null=99, rng=0)
    >>> chances = np.full(classes.shape, 0.5)
    >>> semantic_mechanism(study, samples, chances, rng=0).cross_entropy.value.round(3)
    array([0.693, 0.693, 0.693, 0.693])
    """
    check_choice("predictability", predictability, Predictability)
    check_fraction("floor", floor)
    if samples.models != study.labels:
        msg = f"samples has arms {samples.models}, the study {study.labels}: pass the same arms"
        raise InputError(msg)
    chances = _checked(predicted, samples)
    cross, divergence = _per_question(samples, np.maximum(chances, floor))
    seed = int(check_generator(rng).integers(2**62))
    options = Resampling.of(bootstrap, level, seed)
    parts = {
        name: _mean(name, table, samples.models, options)
        for name, table in (("cross_entropy", cross), ("divergence", divergence))
    }
    known = samples.codes >= 0
    low = (known & (chances < floor)).sum(axis=(1, 2))
    kept = np.flatnonzero(parts[predictability].defined & study.excess.defined)
    link = rank_link(
        parts[predictability].value[kept],
        study.excess.value[kept],
        tuple(samples.models[row] for row in kept),
        n_null=n_null,
        level=level,
        rng=seed,
    )
    return SemanticMechanism(
        **parts,
        link=link,
        predictability=predictability,
        error=study.excess.value.copy(),
        clipped=low / np.maximum(known.sum(axis=(1, 2)), 1),
        floor=floor,
        labels=samples.models,
    )


def predicted_chances(
    samples: SemanticSamples, distributions: Sequence[Mapping[str, float]]
) -> FloatArray:
    """Return the predicted probability of the class of each sample (questions, samples).

    Parameters
    ----------
    samples : SemanticSamples
        Samples of one arm.
    distributions : sequence of mapping
        Probability of each answer, for each question. Answers are matched, after normalisation, to
        the most common wording of a class. Probabilities of answers in one class are summed; other
        classes have probability zero.

    Raises
    ------
    ShapeError
        If the number of distributions differs from the number of questions.

    Examples
    --------
    >>> from psychollm.instruments.semantic_sampling import SemanticSampling
    >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
    >>> prompts = zip(asked.prompts(), ["Rome", "Bern"])
    >>> found = asked.score([asked.read(prompt, reply) for prompt, reply in prompts])
    >>> predicted_chances(found, [{"rome": 0.6, "Rome.": 0.1, "Oslo": 0.3}])
    array([[0.7, 0. ]])
    """
    if len(distributions) != len(samples.classes):
        msg = (
            f"distributions has {len(distributions)} entries for {len(samples.classes)} "
            "questions: pass one per question"
        )
        raise ShapeError(msg)
    rows = []
    for classes, chances in zip(samples.classes, distributions, strict=True):
        sums: dict[str, float] = {}
        for answer, chance in chances.items():
            key = normal_form(answer)
            sums[key] = sums.get(key, 0.0) + chance
        known = [np.nan if one is None else sums.get(normal_form(one), 0.0) for one in classes]
        rows.append(known)
    return np.array(rows, dtype=np.float64).round(12)


def _checked(predicted: Any, samples: SampledAnswers) -> FloatArray:
    chances = float_array(predicted, "predicted")
    if chances.shape != samples.codes.shape:
        msg = f"predicted has shape {chances.shape}, samples {samples.codes.shape}: pass one each"
        raise ShapeError(msg)
    known = samples.codes >= 0
    bad = known & ((chances < 0.0) | (chances > 1.0))
    if bad.any():
        msg = f"predicted has {chances[bad][0]:g}: probabilities must be in [0, 1]"
        raise CodeError(msg)
    for code in range(int(samples.codes.max()) + 1):
        same = np.where(samples.codes == code, chances, np.nan)
        low = np.fmin.reduce(same, axis=2)
        if (np.fmax.reduce(same, axis=2) - low > 1e-9).any():
            row, column = np.argwhere(np.fmax.reduce(same, axis=2) - low > 1e-9)[0]
            msg = (
                f"predicted: arm {samples.models[row]!r}, question {samples.questions[column]!r} "
                "has different probabilities for samples of one class: pass one for each class"
            )
            raise CodeError(msg)
    return np.where(known, chances, np.nan)


def _per_question(samples: SampledAnswers, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return cross-entropy and divergence, equation (1), of each question (arms, questions)."""
    shape = samples.codes.shape
    table = np.empty((shape[0] * shape[1], 3))
    discrete_entropies(samples.codes.reshape(-1, shape[2]), table)
    entropy, n, classes = (column.reshape(shape[:2]) for column in table.T)
    known = samples.codes >= 0
    surprise = np.where(known, -np.log(chances), 0.0).sum(axis=2)
    cross = np.where(n > 0, surprise / np.maximum(n, 1.0), np.nan)
    own = entropy + (classes - 1.0) / (2.0 * np.maximum(n, 1.0))
    return cross, np.where(n > 1, cross - own, np.nan)


def _mean(name: str, table: FloatArray, labels: Labels, options: Resampling) -> Estimate:
    known = np.isfinite(table)
    filled = np.where(known, table, 0.0)

    def statistic(counts: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray((counts @ filled.T) / (counts @ known.T), dtype=np.float64)

    n = known.sum(axis=1)
    return bootstrap_estimate(
        name,
        statistic(np.ones((1, table.shape[1])))[0],
        bootstrap_draws(statistic, table.shape[1], options),
        n=n.astype(np.float64),
        flags=tuple(Reason.NONE if count else Reason.TOO_FEW for count in n),
        level=options.level,
        labels=labels,
    )
