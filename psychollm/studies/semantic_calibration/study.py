r"""Semantic calibration: relation between the frequency of an answer and its accuracy.

The semantic confidence of a model is the proportion of the largest class of meaning among many
answers to the same question. A model is semantically calibrated if it is right as often as its
semantic confidence states. The study compares arms (models or forms of prompts) on the same
questions: does instruction tuning, or reasoning before the answer, impair the calibration of a
base model?

The calibration error of every arm is compared with two expected errors: the error of calibrated
confidences (`smooth`, `binned`), and the error of a calibrated model with as many samples
(`expected`; see `null`). The two expected errors differ, because the largest of several sampled
proportions overestimates the probability of its class. With five samples, the proportion of the
largest class exceeds its probability by 0.15 if answers are diverse, and hardly at all if all
answers are the same. Of two calibrated arms, the one with more diverse answers therefore has a
larger raw error. Raw differences between arms reflect diversity more than calibration. Verdicts
use the excess calibration error e.

.. math:: e = \text{smECE} - E[\text{smECE} \mid \text{calibrated}, M \text{ samples}].   \quad (1)

Verdicts also use the p-value of the excess for each arm, and the differences of the excess between
arms, paired by question.

References
----------
Nakkiran, P., Bradley, A., Golinski, A., Ndiaye, E., Kirchhof, M., & Williamson, S. (2025). Trained
on tokens, calibrated on concepts: the emergence of semantic calibration in LLMs. arXiv:2511.04869.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.errors import InputError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import p_equals, with_interval
from psychollm._base.result import Result, figure_by
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.binned import BinnedCalibrationError
from psychollm.calibration.errors.smooth import SmoothCalibrationError
from psychollm.calibration.sampled.semantic_confidence import SemanticConfidence
from psychollm.calibration.sampled.semantic_entropy import SemanticEntropy
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.estimate import Difference, Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, sentence_list
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    outcome,
    quoted,
    verdicts,
)
from psychollm.instruments.semantic_sampling.result import SemanticSamples, stack_samples
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import beside_tables
from psychollm.studies.semantic_calibration.arms import Arms, answered
from psychollm.studies.semantic_calibration.null import SampleCurve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmContrast(Result):
    """Differences between two arms, paired by question.

    Examples
    --------
    >>> classes = [[["a", "a", "b"]] * 30, [["a", "a", "a"]] * 30]
    >>> samples = SampledAnswers.from_array(classes, gold=["a", "a", "b"] * 10)
    >>> study = semantic_calibration(samples, bootstrap=200, n_null=99, rng=0)
    >>> round(study.contrasts[0].overconfidence.value, 2)
    0.56
    """

    arm: Hashable
    baseline: Hashable
    excess: Difference  # difference in the excess error (1)
    p_adjusted: float  # p-value of `excess`, adjusted by Holm over the contrasts
    smooth: Difference  # difference in the raw error, which grows with the diversity of answers
    overconfidence: Difference  # difference in the excess overconfidence
    accuracy: Difference
    entropy: Difference


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticCalibration(Study, Result):
    """Semantic calibration of several arms, on the questions that all arms answered.

    Examples
    --------
    >>> drawn = np.random.default_rng(0)
    >>> classes = drawn.integers(0, 2, (1, 200, 10))
    >>> samples = SampledAnswers.from_array(classes, gold=drawn.integers(0, 2, 200))
    >>> study = semantic_calibration(samples, bootstrap=200, n_null=199, rng=0)
    >>> study.smooth.value.value.round(2), study.expected.value.round(2)
    (array([0.13]), array([0.14]))
    """

    confidence: SemanticConfidence  # (arms, questions) proportion of the largest class
    # proportion of the chosen class in the half of the samples not used for choosing it
    split_confidence: SemanticConfidence | None
    accuracy: Estimate  # accuracy of the largest class
    mean_confidence: Estimate
    overconfidence: Estimate  # mean confidence minus accuracy
    excess_overconfidence: Estimate  # overconfidence minus its expectation under calibration
    smooth: SmoothCalibrationError
    binned: BinnedCalibrationError
    split_smooth: SmoothCalibrationError | None  # smooth error of `split_confidence`
    # smooth error of a calibrated model with the same number of samples, and its range
    expected: Estimate
    p_value: Estimate  # p-value of calibration, from simulated calibrated data sets
    excess: Estimate  # excess error (1)
    # (arms,) critical value of (1) under calibration, divided by that of a standard normal
    # distribution, extrapolated from larger data sets
    spread: FloatArray | None = None
    diagrams: tuple[SampleCurve, ...]  # (arms,) accuracy by confidence, observed and expected
    entropy: SemanticEntropy
    contrasts: tuple[ArmContrast, ...]
    n_questions: int  # number of questions answered by all arms
    n_left_out: IntArray  # (arms,) number of questions that the arm did not answer
    baseline: Hashable
    labels: Labels  # (arms,)
    level: float
    people: BesidePeople | None = None

    _AXES = Axes(
        {"arm": "labels"},
        "accuracy",
        "confidence=mean_confidence",
        "overconfidence",
        "excess_overconfidence",
        "smece=smooth.value",
        "smece_expected=expected",
        "smece_excess=excess",
        "entropy=entropy.mean",
        "p_value=p_value.value",
        "smece_expected_as_stated=smooth.expected.value",
        "p_value_as_stated=smooth.p_value.value",
        "ece=binned.value.value",
        "ece_expected_as_stated=binned.expected.value",
        "ece_p_value_as_stated=binned.p_value.value",
        "smece_split=split_smooth.value.value",
        "n=accuracy.n",
        "n_left_out",
    )

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        contrasts = {"contrasts": self.contrast_frame()} if self.contrasts else {}
        return {"arms": self.to_frame(), "curves": self.curves(), **contrasts}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, the arms, their contrasts, and warnings."""
        excess = {str(one.arm): one.excess for one in self.contrasts}
        items = [
            Finding(
                statement=self._verdict(smallest),
                numbers={"excess": self.excess, "p_adjusted": self.p_adjusted},
            ),
            Finding(
                key="arms",
                question=f"Results for the {self.n_questions} questions that all arms answered:",
                rows=tuple(_arm(self, row) for row in range(len(self.labels))),
                numbers={"accuracy": self.accuracy, "mean_confidence": self.mean_confidence},
            ),
            Finding(
                key="contrasts",
                question=f"Differences from {quoted(self.baseline)}, paired by question:",
                rows=tuple(map(_contrast, self.contrasts)),
                numbers=excess,
            ),
            Finding(key="notes", question="Warnings:", rows=_notes(self)),
        ]
        found = Findings(items=tuple(one for one in items if one.statement or one.rows))
        return exhibit(found, self, smallest)

    def _verdict(self, smallest: SmallestEffects) -> str:
        """Return which arms are semantically calibrated, and how they compare."""
        alpha, least = 1.0 - self.level, smallest.calibration_error
        judged = verdicts(
            self.excess, smallest=least, rejected=[bool(p <= alpha) for p in self.p_adjusted]
        )
        lost = [row for row, one in enumerate(judged.outcomes) if one.shown]
        named = [f"{quoted(self.labels[row])} ({_direction(self, row)})" for row in lost]
        parts = (
            [f"Semantic calibration is rejected for {sentence_list(named, most=len(named))}."]
            if lost
            else []
        )
        parts += _listed(
            judged,
            {
                Outcome.SMALL: f"Semantic calibration is established (±{least:g}) for",
                Outcome.OPEN: "The results on semantic calibration are inconclusive for",
            },
        )
        arms = Verdicts(
            tuple(one.arm for one in self.contrasts),
            tuple(
                outcome(
                    one.excess.interval, smallest=least, rejected=bool(one.p_adjusted <= alpha)
                )
                for one in self.contrasts
            ),
        )
        baseline = quoted(self.baseline)
        parts += _listed(
            arms,
            {
                Outcome.ABOVE: f"Calibration is worse than that of {baseline} for",
                Outcome.BELOW: f"Calibration is better than that of {baseline} for",
                Outcome.SMALL: f"Calibration is equivalent to that of {baseline} (±{least:g}) for",
                Outcome.OPEN: f"The comparison with {baseline} is inconclusive for",
            },
        )
        return " ".join(parts)

    @property
    def p_adjusted(self) -> FloatArray:
        """P-values of calibration, adjusted over the arms by Holm's method (arms,)."""
        return adjust_p_values(self.p_value.value)

    def curves(self) -> pd.DataFrame:
        """Return the data of the reliability diagrams, one row per arm and confidence."""
        import pandas as pd

        return pd.concat([one.to_frame() for one in self.diagrams], ignore_index=True)

    def contrast_frame(self) -> pd.DataFrame:
        """Return one row per contrast and measure."""
        import pandas as pd

        rows = [
            {
                "arm": one.arm,
                "baseline": one.baseline,
                "measure": name,
                "difference": found.value,
                "lower": found.interval[0],
                "upper": found.interval[1],
                "p_value": found.p_value,
            }
            for one in self.contrasts
            for name in _MEASURES
            if isinstance(found := getattr(one, name), Difference)
        ]
        return pd.DataFrame(rows)

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw calibration by arm: `psychollm.plots.plot_semantic_calibration`."""
        return figure_by("plot_semantic_calibration")(self, figure=figure)


_UNIFORM = 0.98  # mean confidence above which samples are almost uninformative
_MEASURES = ("excess", "smooth", "overconfidence", "accuracy", "entropy")


def _listed(judged: Verdicts, words: Mapping[Outcome, str]) -> list[str]:
    """Return a sentence per outcome, with its arms."""
    return [
        f"{phrase} {sentence_list([*map(quoted, judged.which(one))], most=len(judged.labels))}."
        for one, phrase in words.items()
        if judged.count(one)
    ]


def _direction(study: SemanticCalibration, row: int) -> str:
    low, high = study.excess_overconfidence.interval[row]
    if low > 0.0:
        return "overconfident"
    return "underconfident" if high < 0.0 else "both over- and underconfident"


def _arm(study: SemanticCalibration, row: int) -> str:
    expected = study.expected.value[row]
    text = (
        f"{study.labels[row]}: accuracy {study.accuracy.text(row, 3)}, confidence "
        f"{study.mean_confidence.text(row, 3)}; smECE {study.smooth.value.value[row]:.3f}, "
        f"expected {expected:.3f} if calibrated "
        f"({p_equals(study.p_value.value[row])}); "
        f"excess overconfidence {study.excess_overconfidence.text(row, 3, signed=True)}"
    )
    left = int(study.n_left_out[row])
    return text + (f"; {left} further questions were not answered." if left else ".")


def _contrast(one: ArmContrast) -> str:
    return (
        f"{one.arm}: excess smECE {_gap(one.excess)} ({p_equals(one.p_adjusted)}, Holm), "
        f"overconfidence {_gap(one.overconfidence)}, accuracy {_gap(one.accuracy)}, "
        f"entropy {_gap(one.entropy)}."
    )


def _gap(difference: Difference) -> str:
    return with_interval(difference.value, difference.interval, 3, signed=True)


def _notes(study: SemanticCalibration) -> tuple[str, ...]:
    confidence = study.mean_confidence
    lines = [
        f"{label} nearly always repeats its answer, so its confidence hardly varies."
        for label, value in zip(study.labels, confidence.value, strict=True)
        if value >= _UNIFORM
    ]
    few = int(study.confidence.n_samples.min())
    if few < 5:
        number = "one sample" if few == 1 else f"{few} samples"
        lines.append(f"Some questions have only {number}; ten or more are recommended.")
    return tuple(lines)


def semantic_calibration(
    arms: SampledAnswers | Mapping[Hashable, SemanticSamples | SampledAnswers],
    *,
    baseline: Hashable | None = None,
    splits: int = 10,
    n_null: int = 1000,
    clusters: Any = None,
    people: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SemanticCalibration:
    """Compare semantic confidence with correctness in several arms.

    Parameters
    ----------
    arms : SampledAnswers, or mapping of label to SemanticSamples or SampledAnswers
        Samples of each arm (base, instruct, reasoning, or models), with their correctness. The
        study uses the questions on which every arm has an answer of known correctness.
    baseline : hashable, optional
        Arm with which all other arms are compared; the first arm by default.
    splits : int
        Number of random splits of the samples into halves, for `split_confidence`.
    n_null : int
        Number of simulated calibrated data sets.
    clusters : array_like (questions,), optional
        Cluster of each question; whole clusters are resampled. The p-values treat questions as
        independent.
    people : DataFrame or path, optional
        Correct answers of people to the same questions, as returned by `read_people`.
    bootstrap : int or Bootstrap
        Number of resamples of questions; all models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SemanticCalibration

    Raises
    ------
    InputError
        If an arm has no samples, or no question was answered by all arms.
    LabelError
        If the baseline is not an arm.

    Examples
    --------
    >>> drawn = np.random.default_rng(0)
    >>> classes = drawn.integers(0, 2, (2, 200, 10))
    >>> classes[1] = classes[1, :, :1]
    >>> samples = SampledAnswers.from_array(classes, gold=drawn.integers(0, 2, 200),
    ...                                     models=["base", "instruct"])
    >>> study = semantic_calibration(samples, bootstrap=200, n_null=199, rng=0)
    >>> study.contrasts[0].excess.value > 0.3, study.p_adjusted[1]
    (True, np.float64(0.01))
    """
    check_fraction("level", level)
    n_null = check_count("n_null", n_null, low=19, high=DRAWS)
    samples = arms if isinstance(arms, SampledAnswers) else _stacked(arms)
    codes = None if clusters is None else cluster_codes(clusters, samples.questions)
    table, own = answered(samples)
    if codes is not None:
        codes = np.unique(codes[own.all(axis=0)], return_inverse=True)[1].astype(np.int64)
    seed = int(check_generator(rng).integers(2**62))  # all estimates share their resamples
    options = Resampling.of(bootstrap, level, seed)
    parts = Arms(table, codes, options, n_null, splits).parts()
    first = table.models[0] if baseline is None else baseline
    parts["accuracy"].place(first)
    return SemanticCalibration(
        **parts,
        contrasts=_contrasts(parts, first, table.models),
        n_questions=len(table.questions),
        n_left_out=(~own).sum(axis=1).astype(np.int64),
        baseline=first,
        labels=table.models,
        level=level,
        people=None
        if people is None
        else beside_tables(
            {"accuracy": (parts["confidence"].correct, "correct")},
            table.models,
            table.questions,
            people,
            clusters=codes,
            level=level,
        ),
    )


def _stacked(arms: Mapping[Hashable, SemanticSamples | SampledAnswers]) -> SampledAnswers:
    if not isinstance(arms, Mapping):
        msg = (
            f"arms is a {type(arms).__name__}: pass SampledAnswers, or a mapping of labels to "
            "results of SemanticSampling.score"
        )
        raise InputError(msg)
    return stack_samples(arms)


def _contrasts(
    parts: Mapping[str, Any], baseline: Hashable, labels: Labels
) -> tuple[ArmContrast, ...]:
    """Compare every other arm with the baseline."""
    sources: dict[str, Estimate] = {
        "excess": parts["excess"],
        "smooth": parts["smooth"].value,
        "overconfidence": parts["excess_overconfidence"],
        "accuracy": parts["accuracy"],
        "entropy": parts["entropy"].mean,
    }
    others = [label for label in labels if label != baseline]
    measured = [
        {name: one.difference(label, baseline) for name, one in sources.items()}
        for label in others
    ]
    adjusted = adjust_p_values([one["excess"].p_value for one in measured])
    return tuple(
        ArmContrast(arm=label, baseline=baseline, p_adjusted=float(p), **differences)
        for label, p, differences in zip(others, adjusted, measured, strict=True)
    )
