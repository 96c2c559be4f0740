r"""Estimate the score on a whole bank from answers to some of its questions.

* *design* is the weighted mean of the sampled answers.
  The *design* estimate requires only the inclusion probabilities.
* *assisted* is the predicted score, corrected by weighted prediction errors of sampled answers.
  The correction (`psychollm.estimates.corrected`) also requires the inclusion probabilities, and
  is valid for any model. Better predictions give narrower intervals.
* *model* is the predicted score without correction.
  The interval of *model* is based on the models of the bank. The score of each model of the bank
  is predicted from the same questions, with the model's family held out. The regression of the
  true scores on the predictions,

  .. math:: T = \alpha + \beta \hat T + \varepsilon,                                     \quad (1)

  then predicts the score of the new model. The interval of *model* is valid for models from the
  same population as the models of the bank, and for any selection of questions.

The remaining paragraphs describe the bias that results from stopping at a margin of error.

The required number of questions depends on the score, because extreme scores have less variance.
If the score is near 0 or 1, one of the two answers, correct or wrong, is rare. If, by chance, a
session has fewer rare answers than expected, its score is too extreme and the session stops too
early. Scores of stopped sessions are therefore biased towards 0 or 1. If a margin of error
requires n(p) questions, the bias is

.. math:: E[\hat p] - p \approx - \operatorname{Var}(\hat p)\, \frac{d \log n}{dp}.       \quad (2)

Two corrections reduce the bias that results from stopping. First, :math:`z^2 / 2` correct and
:math:`z^2 / 2` wrong answers are added (Agresti and Coull), and the margin of error is computed at
the resulting score :math:`\tilde p`. A session without rare answers then does not appear precise.
Second, the bias is subtracted from the score of a stopped session. All predictions are shifted by
a constant on the logit scale so that their mean is about :math:`\tilde p`. Let :math:`s_j` be the
standard deviations of the errors that the item model expects after this shift. Then
:math:`n \propto (\sum_j s_j)^2` and

.. math:: L = \frac{d \log n}{d \tilde p}
          = \frac{\sum s_j (1 - 2 p_j) / \sum s_j}{\sum p_j (1 - p_j) / J}, \qquad
          \frac{d \log n}{dp} = \frac{L n / m}{1 + L n (m - n) (1 - 2 p) / 2 m^2}, \quad
          m = n + z^2.                                                                   \quad (3)

The formula for :math:`d \log n / dp` is required because :math:`\tilde p` depends on n.

References
----------
Agresti, A., & Coull, B. A. (1998). Approximate is better than "exact" for interval estimation of
binomial proportions. The American Statistician, 52, 119-126.

Anscombe, F. J. (1953). Sequential estimation. Journal of the Royal Statistical Society B, 15,
1-29.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit, stdtrit

from psychollm._base.axes import Axes
from psychollm._base.numbers import number, percent, with_interval
from psychollm._base.types import BoolArray, FloatArray
from psychollm.bank.calibration import judged
from psychollm.bank.questions import CalibratedQuestions
from psychollm.estimates.corrected import Block, answered, corrected, inside
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason

_STEPS = 8
_LEAST = 1e-6  # lower limit of predictions


def guarded(predicted: FloatArray, error: FloatArray, n: int, z: float) -> tuple[float, float]:
    """Return the variance factor at the adjusted score, and the slope d log n / dp.

    The arguments are predictions (J,), squared errors relative to p (1 - p) (J,), the number of
    answers, and the margin of error divided by the standard error.
    """
    p = np.clip(predicted, _LEAST, 1.0 - _LEAST)
    mean, m, logits, move = float(p.mean()), n + z**2, logit(p), 0.0
    target = (n * mean + 0.5 * z**2) / m
    moved = p
    for _ in range(_STEPS):
        move += float(np.clip((target - moved.mean()) / (moved * (1.0 - moved)).mean(), -1.0, 1.0))
        moved = expit(logits + move)
    s, before = (np.sqrt(error * one * (1.0 - one)) for one in (moved, p))
    slope = float((s * (1.0 - 2.0 * moved)).sum() / s.sum() / (moved * (1.0 - moved)).mean())
    slope *= n / m
    bend = 1.0 + 0.5 * slope * (1.0 - n / m) * (1.0 - 2.0 * mean)
    return max(1.0, float(s.sum() / before.sum()) ** 2), slope / max(bend, 1.0)


Method = Literal["auto", "design", "assisted", "model"]
METHODS: tuple[Method, ...] = ("design", "assisted", "model")
FEWEST = 10  # scores from fewer answers are flagged
_FEWEST_SHARED = 10  # required number of models that answered the same questions
_SHARED = 0.8  # proportion of these questions that a model must have answered


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FullScore(Estimate):
    """Scores on a whole bank or on one of its domains, estimated by each method.

    Attributes
    ----------
    values, errors : dict of str to ndarray (models,)
        Estimate and margin of error by method; NaN if a method is not applicable.
    used, why : str
        Method of `value`, and the reason for choosing it.
    n_questions : int
        Number of questions in the bank or domain.
    """

    values: Mapping[str, FloatArray]
    errors: Mapping[str, FloatArray]
    used: str
    why: str
    n_questions: int
    domain: Any = None

    def _axes(self) -> Axes:
        return Axes(
            {"model": "labels"},
            "value",
            "se",
            "{bound}=interval",
            "n",
            *((f"{name}_score", _column(name)) for name in METHODS),
            "flag=flags",
            arrays={"model": "value se n", "model bound": "interval"},
        )

    def summary(self) -> str:
        """Return scores with intervals, the method used, and the scores of other methods."""
        lines = []
        for row, label in enumerate(self.labels):
            others = ", ".join(
                f"{name}-based estimate {number(float(self.values[name][row]), 3)}"
                for name in METHODS
                if name != self.used and np.isfinite(self.values[name][row])
            )
            score = with_interval(float(self.value[row]), self.interval[row], 3)
            flag = f" ({self.flags[row]})" if self.flags[row] else ""
            asked = f"{int(self.n[row])} of {self.n_questions} questions"
            lines.append(
                f"{label}: score {score} from {asked}{flag}" + f"; {others}" * bool(others)
            )
        where = "the whole bank" if self.domain is None else f"the domain {self.domain!r}"
        return "\n".join(
            [
                f"Scores on {where}, with {percent(self.level)} intervals. Method {self.used!r}: "
                f"{self.why}.",
                *lines,
            ]
        )


def _column(name: str) -> Any:
    return lambda score: score.values[name]


@dataclass(frozen=True, slots=True)
class _One:
    """Score, standard error and degrees of freedom of one model, for each method."""

    found: Mapping[str, tuple[float, float, float]]
    n: int
    extrapolated: bool  # whether too few models of the bank answered these questions


_NOTHING = (np.nan, np.nan, np.nan)


@dataclass(frozen=True, slots=True)
class Stop:
    """Stopping rule of a session: margin of error, and its ratio to the standard error."""

    width: float | None
    anytime: float | None
    level: float

    def multiplier(self, df: Any, level: float) -> Any:
        """Return the margin of error in units of the standard error."""
        return stdtrit(df, 0.5 + level / 2.0) if self.anytime is None else self.anytime


def one_score(
    bank: CalibratedQuestions,
    scores: FloatArray,
    drawn: Sequence[Block] | None,
    within: BoolArray,
    stop: Stop | None = None,
) -> _One:
    """Estimate one model's score on the questions `within`, from its answers (J,)."""
    found: dict[str, tuple[float, float, float]] = dict.fromkeys(METHODS, _NOTHING)
    found["model"], extrapolated = _by_model(bank, scores, within)
    if drawn and np.isfinite(scores).any():
        found["assisted"] = by_correction(bank, scores, drawn, within, stop)
        found["design"] = _by_design(scores, drawn, within)
    return _One(found, int((np.isfinite(scores) & within).sum()), extrapolated)


def interval_of(
    bank: CalibratedQuestions,
    scores: FloatArray,
    drawn: Sequence[Block] | None,
    level: float,
    stop: Stop,
) -> FloatArray:
    """Return the score of a session, its interval and the unclipped margin of error (4,)."""
    everything = np.ones(scores.size, dtype=bool)
    if drawn is None:
        (value, se, df), _ = _by_model(bank, scores, everything)
    elif not np.isfinite(scores).any():
        value, se, df = _NOTHING
    else:
        value, se, df = by_correction(bank, scores, drawn, everything, stop)
    half = se * stop.multiplier(df, level)
    low, high = _bounds(np.array([value]), np.array([half]))[0]
    return np.array([np.clip(value, 0.0, 1.0), low, high, half])


def _bounds(value: FloatArray, half: FloatArray) -> FloatArray:
    """Return intervals (models, 2), clipped to the range from 0 to 1."""
    return np.clip(np.stack([value - half, value + half], axis=1), 0.0, 1.0)


def by_correction(
    bank: CalibratedQuestions,
    scores: FloatArray,
    drawn: Sequence[Block],
    within: BoolArray,
    stop: Stop | None = None,
) -> tuple[float, float, float]:
    """Return the corrected prediction, its standard error and degrees of freedom."""
    value, variance, df = judged(bank.drawing, drawn, scores, bank.population, within)
    se = float(np.sqrt(bank.calibration.scale * variance))
    if stop is None or stop.width is None:
        return value, se, df
    z = float(stop.multiplier(df, stop.level))
    if z * se > stop.width:
        return value, se, df
    predicted, n = bank.drawing.items.given(scores), int(np.isfinite(scores).sum())
    factor, slope = guarded(predicted, bank.drawing.error, n, z)
    wide = se * float(np.sqrt(factor))
    return value + se**2 * slope * (z * wide <= stop.width), wide, df


def _by_design(
    scores: FloatArray, drawn: Sequence[Block], within: BoolArray
) -> tuple[float, float, float]:
    """Return the weighted mean of the sampled answers."""
    blocks, y = inside(answered(drawn, scores), within), scores[within]
    n = int(np.isfinite(y).sum())
    if n < 2:
        return _NOTHING
    level = float(np.nanmean(y))
    for _ in range(2):  # all scores are predicted by the mean, then corrected
        found = corrected(np.full(y.size, level), np.ones(y.size), blocks, y)
        level = found.value
    phi = found.phi if np.isfinite(found.phi) else 0.0
    return level, float(np.sqrt(found.variance * phi * n / (n - 1))), n - 1.0


def _by_model(
    bank: CalibratedQuestions, scores: FloatArray, within: BoolArray
) -> tuple[tuple[float, float, float], bool]:
    """Return the predicted score, with the prediction error for held-out models of the bank."""
    asked = np.isfinite(scores)
    if not asked.any():
        return _NOTHING, True
    shared = bank.answered_alike(asked, _SHARED)
    extrapolated = shared.sum() < _FEWEST_SHARED
    rows = np.flatnonzero(shared) if not extrapolated else np.arange(len(bank.models))
    said, truth = np.empty(rows.size), np.empty(rows.size)
    for k, row in enumerate(rows):
        own = bank.scores[row]
        known = np.isfinite(own) & within
        held_out = bank.calibration.held_out[bank.calibration.fold[row]]
        # A held-out model is predicted only from questions that it has answered.
        p = held_out.given(np.where(asked, own, np.nan))
        said[k] = np.where(asked & known, own, p)[known].mean() if known.any() else np.nan
        truth[k] = own[known].mean() if known.any() else np.nan
    good = np.isfinite(said)
    own = bank.drawing.items.given(scores)
    guess = float(np.where(asked, scores, own)[within].mean())
    return _line(said[good], truth[good], guess), bool(extrapolated)


def _line(said: FloatArray, truth: FloatArray, guess: float) -> tuple[float, float, float]:
    """Return the true score that equation (1) predicts from `guess`, and its standard error."""
    n = said.size
    if n < 3:
        return guess, np.nan, np.nan
    centre, square = said.mean(), float(((said - said.mean()) ** 2).sum())
    slope = float((said - centre) @ truth) / square if square > 0.0 else 1.0
    residual = truth - truth.mean() - slope * (said - centre)
    variance = float(residual @ residual) / (n - 2)
    away = (guess - centre) ** 2 / square if square > 0.0 else 0.0
    value = float(truth.mean() + slope * (guess - centre))
    return value, float(np.sqrt(variance * (1.0 + 1.0 / n + away))), n - 2.0


def assembled(
    bank: CalibratedQuestions,
    rows: Sequence[_One],
    labels: tuple[Any, ...],
    *,
    method: Method,
    drawn: bool,
    level: float,
    domain: Any,
    within: BoolArray,
    stop: Stop | None = None,
    missing: bool = False,
) -> FullScore:
    """Return the scores of several models by one method, with estimates by the other methods."""
    used = method if method != "auto" else "assisted" if drawn else "model"
    why = {
        "assisted": (
            "the item bank sampled the questions at random, so corrected scores are valid for any "
            "model"
        ),
        "design": "weighted mean over the questions that the item bank sampled",
        "model": (
            "scores are predicted from the models of the item bank, because it did not sample the "
            "questions"
        ),
    }[used]
    found = {name: np.array([row.found[name] for row in rows]).T for name in METHODS}
    half: dict[str, FloatArray] = {
        name: errors * (stop or Stop(None, None, level)).multiplier(df, level)
        for name, (_, errors, df) in found.items()
    }
    value, se, df = found[used]
    size = int(within.sum())
    return FullScore(
        name="score",
        value=np.clip(value, 0.0, 1.0),
        se=se,
        interval=_bounds(value, half[used]),
        n=np.array([row.n for row in rows], dtype=np.float64),
        flags=tuple(_flag(row, used, size, missing=missing) for row in rows),
        method={"assisted": "model-assisted", "design": "design-based", "model": "model-based"}[
            used
        ],
        level=level,
        labels=labels,
        df=df,
        values={name: values[0] for name, values in found.items()},
        errors=half,
        used=used,
        why=why,
        n_questions=size,
        domain=domain,
    )


def _flag(row: _One, used: str, size: int, *, missing: bool) -> Reason:
    """Return the flag (reason) of one score."""
    if not row.n:
        return Reason.UNSCORED
    if row.n < min(FEWEST, size):
        return Reason.TOO_FEW
    if used == "model":
        return Reason.UNLIKE_BANK if row.extrapolated else Reason.NOT_DRAWN
    return Reason.MISSING_ANSWERS if missing else Reason.NONE
