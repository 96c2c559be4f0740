"""Estimates of `semantic_calibration`: all arms on the same questions and resamples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from psychollm._base.checks import check_generator
from psychollm._base.errors import InputError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.errors.binned import calibration_error
from psychollm.calibration.errors.smooth import (
    SMOOTH_ECE,
    SmoothCalibrationError,
    smooth_calibration_error,
)
from psychollm.calibration.sampled.semantic_confidence import (
    SemanticConfidence,
    semantic_confidence,
)
from psychollm.calibration.sampled.semantic_entropy import semantic_entropy
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.clustered import units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.null import Null
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
    left_out_counts,
)
from psychollm.studies.semantic_calibration.null import (
    SampleCurve,
    exchanged,
    sample_curve,
    sample_null,
)

_CELLS = ("codes", "right", "loglik", "n_tokens")


def answered(samples: SampledAnswers) -> tuple[SampledAnswers, BoolArray]:
    """Return the questions that every arm answered, and the answered cells (arms, questions)."""
    confidence = semantic_confidence(samples)
    own = np.isfinite(confidence.confidence) & np.isfinite(confidence.correct)
    kept: BoolArray = np.logical_and.reduce(own, axis=0)
    if not kept.any():
        msg = (
            f"no question has an answer of known correctness in all {len(own)} arms (they have "
            f"{', '.join(map(str, own.sum(axis=1)))}): grade the samples, or leave an arm out"
        )
        raise InputError(msg)
    fields = {name: getattr(samples, name)[:, kept] for name in _CELLS}
    labels = tuple(label for label, here in zip(samples.questions, kept, strict=True) if here)
    return replace(samples, **fields, questions=labels), own


# Size factor and number of the simulated data sets for the standard error. With few questions,
# part of a calibration error cannot be distinguished from noise, so the standard error falls more
# slowly with n.
_TIMES, _LARGER = 4, 400


@dataclass(frozen=True, slots=True)
class Arms:
    """All arms on their common questions, and the resampling options."""

    samples: SampledAnswers
    clusters: IntArray | None
    options: Resampling
    n_null: int
    splits: int

    def parts(self) -> dict[str, Any]:
        """Return the estimates of the study, by field of the result."""
        confidence = semantic_confidence(self.samples)
        split = None
        if (confidence.n_samples > 1).all():
            split = semantic_confidence(
                self.samples, estimator="split_sample", splits=self.splits, rng=self.options.rng
            )
        gap = confidence.confidence - confidence.correct
        rows = range(len(self.samples.models))
        tables = [exchanged(self.samples.codes[row], self.samples.right[row]) for row in rows]
        excess = gap - np.stack([table.overconfidence for table in tables])
        smooth = self._smooth(confidence)
        expected, p_value, spread = self._null(confidence)
        return {
            "confidence": confidence,
            "split_confidence": split,
            "accuracy": self._mean("accuracy", confidence.correct),
            "mean_confidence": self._mean("confidence", confidence.confidence),
            "overconfidence": self._mean("overconfidence", gap),
            "excess_overconfidence": self._mean("excess overconfidence", excess),
            "smooth": smooth,
            "binned": calibration_error(
                confidence.confidence, confidence.correct, **self._keywords()
            ),
            "split_smooth": None if split is None else self._smooth(split),
            "expected": expected,
            "p_value": p_value,
            "diagrams": self._diagrams(confidence),
            "spread": spread if self.clusters is None else smooth.value.se,
            "excess": _moved(smooth.value, smooth.value.value - expected.value),
            "entropy": semantic_entropy(self.samples, **self._keywords(null=False)),
        }

    def _keywords(self, *, null: bool = True) -> dict[str, Any]:
        given: dict[str, Any] = {
            "clusters": self.clusters,
            **self.options.arguments,
        }
        return given | ({"n_null": self.n_null} if null else {})

    def _smooth(self, confidence: SemanticConfidence) -> SmoothCalibrationError:
        known = (
            _table(confidence.confidence, self.samples),
            _table(confidence.correct, self.samples),
        )
        return smooth_calibration_error(*known, **self._keywords())

    def _mean(self, name: str, table: FloatArray) -> Estimate:
        """Return means over questions (arms,)."""
        n_questions = table.shape[1]

        def statistic(counts: FloatArray) -> FloatArray:
            with np.errstate(invalid="ignore"):
                means = counts @ table.T / counts.sum(axis=1)[:, None]
            return np.asarray(means, dtype=np.float64)

        return bootstrap_estimate(
            name,
            table.mean(axis=1),
            bootstrap_draws(statistic, n_questions, self.options, clusters=self.clusters),
            n=np.full(len(table), float(n_questions)),
            flags=(Reason.NONE if n_questions > 1 else Reason.ONE_QUESTION,) * len(table),
            level=self.options.level,
            labels=self.samples.models,
            jackknife=statistic(left_out_counts(n_questions, self.clusters)),
            interval="bca",
            units=units_of(np.ones(table.shape), self.clusters),
        )

    def _diagrams(self, confidence: SemanticConfidence) -> tuple[SampleCurve, ...]:
        return tuple(
            sample_curve(
                self.samples.codes[row],
                self.samples.right[row],
                confidence.confidence[row],
                confidence.correct[row],
                label=label,
                n=self.n_null,
                level=self.options.level,
                rng=self.options.rng,
            )
            for row, label in enumerate(self.samples.models)
        )

    def _null(self, confidence: SemanticConfidence) -> tuple[Estimate, Estimate, FloatArray]:
        """Return expected error under calibration, p-values, and standard errors (arms,)."""
        n_arms = len(self.samples.models)
        streams = check_generator(self.options.rng).spawn(2 * n_arms)

        def null(row: int, stream: np.random.Generator, times: int, n_null: int) -> Null:
            tables = self.samples.codes, self.samples.right, confidence.confidence
            return sample_null(
                SMOOTH_ECE,
                *(np.concatenate([one[row]] * times) for one in (*tables, confidence.correct)),
                n_null=n_null,
                rng=stream,
            )

        nulls = [null(row, streams[row], 1, self.n_null) for row in range(n_arms)]
        larger = [
            null(row, streams[n_arms + row], _TIMES, min(self.n_null, _LARGER))
            for row in range(n_arms)
        ]
        draws = np.stack([null.draws for null in nulls], axis=1)
        p_value = np.array([null.p_value for null in nulls])
        tail = 0.5 * (1.0 - self.options.level)
        shared: dict[str, Any] = {
            "n": np.full(len(nulls), float(len(self.samples.questions))),
            "flags": (Reason.NONE,) * len(nulls),
            "level": self.options.level,
            "labels": self.samples.models,
        }
        expected = Estimate(
            name="smECE of a calibrated model",
            value=draws.mean(axis=0),
            se=draws.std(axis=0, ddof=1) / np.sqrt(self.n_null),
            interval=np.quantile(draws, [tail, 1.0 - tail], axis=0).T,
            method="range of simulated values",
            **shared,
        )
        tested = Estimate(
            name="p-value of semantic calibration",
            value=p_value,
            se=np.sqrt(p_value * (1.0 - p_value) / self.n_null),
            interval=np.full((len(nulls), 2), np.nan),
            method=f"{self.n_null} calibrated data sets",
            **shared,
        )
        # Errors of calibrated models are skewed: a normal distribution with the standard deviation
        # of the draws would have too low a critical value.
        level = self.options.level
        reach = np.array([np.quantile(one.draws, level) - one.draws.mean() for one in larger])
        return expected, tested, np.sqrt(_TIMES) * reach / ndtri(level)


def _table(values: FloatArray, samples: SampledAnswers) -> Any:
    import pandas as pd

    return pd.DataFrame(values, index=list(samples.models), columns=list(samples.questions))


def _moved(estimate: Estimate, value: FloatArray) -> Estimate:
    """Return the excess, with resamples centred at the estimate to remove their bias."""
    draws = estimate.draws - estimate.draws.mean(axis=0) + value
    tail = 0.5 * (1.0 - estimate.level)
    return replace(
        estimate,
        name="excess smECE",
        value=value,
        interval=np.quantile(draws, [tail, 1.0 - tail], axis=0).T,
        method="bootstrap over questions, centred",
        _draws=draws,
    )
