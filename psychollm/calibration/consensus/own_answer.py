"""One model's own answer and the shared signals, ready for tests and resampling."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.consensus.logistic import Logistic, logistic
from psychollm.calibration.consensus.signals import (
    CutSignal,
    RankedSignal,
    cross_fitted,
    cut_at_rate,
    cut_signal,
    ranked_signal,
)
from psychollm.estimates.reasons import Reason, untestable

# The shared score, the others' mean vote, the model's own answer, the shared score cut at the own
# yes rate, the cross-fitted shared score, the same with the own answer.
SIGNALS = ("shared", "consensus", "own", "shared_cut", "shared_fitted", "both")


@dataclass(frozen=True, slots=True)
class AnswerTest:
    """Likelihood ratio (1) of one model, and its log odds ratio."""

    log_odds: float
    se: float
    statistic: float
    p_value: float
    separated: bool


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """One model: its tests, and its signals ready for resampling."""

    reason: Reason
    n: int
    test: AnswerTest
    consensus_test: AnswerTest
    signals: dict[str, RankedSignal | CutSignal]

    def areas(self, counts: FloatArray) -> FloatArray:
        """Areas of all signals in each resample (replicates, signals)."""
        found = np.full((len(counts), len(SIGNALS)), np.nan)
        if not self.reason:
            for place, name in enumerate(SIGNALS):
                found[:, place] = self.signals[name].areas(counts)
        return found


_NO_TEST = AnswerTest(np.nan, np.nan, np.nan, np.nan, separated=False)


def own_answer(
    yes: FloatArray,
    correct: FloatArray,
    shared: FloatArray,
    consensus: FloatArray,
    present: BoolArray,
    folds: IntArray,
) -> OwnAnswer:
    """Fit what is fitted and sort what is sorted, once."""
    used = present & np.isfinite(shared) & np.isfinite(consensus)
    reason = _why_not(yes[used], correct[used], shared[used], present)
    n = int(used.sum())
    if reason:
        return OwnAnswer(reason, n, _NO_TEST, _NO_TEST, {})
    ones = np.ones(n)
    plain = np.column_stack([ones, shared[used]])
    full = np.column_stack([plain, yes[used]])
    crossed = {
        name: _spread(cross_fitted(design, correct[used], folds[used]), used)
        for name, design in (("shared_fitted", plain), ("both", full))
    }
    ranked = {"shared": shared, "consensus": consensus, **crossed}
    cuts = {"own": yes, "shared_cut": cut_at_rate(shared, used, float(yes[used].mean()))}
    return OwnAnswer(
        reason=reason,
        n=n,
        test=_likelihood_ratio(plain, yes[used], correct[used]),
        consensus_test=_likelihood_ratio(
            np.column_stack([ones, consensus[used]]), yes[used], correct[used]
        ),
        signals={
            **{name: ranked_signal(signal, correct, used) for name, signal in ranked.items()},
            **{name: cut_signal(cut, correct, used) for name, cut in cuts.items()},
        },
    )


def _why_not(
    yes: FloatArray, correct: FloatArray, shared: FloatArray, present: BoolArray
) -> Reason:
    """Say why a model cannot be tested; `yes`, `correct` and `shared` hold used questions only."""
    if not yes.size and present.any():
        return Reason.NO_SHARED_SCORE
    if reason := untestable(yes, correct):
        return reason
    return Reason.CONSTANT if shared.min() == shared.max() else Reason.NONE


def _spread(values: FloatArray, used: BoolArray) -> FloatArray:
    spread = np.full(used.size, np.nan)
    spread[used] = values
    return spread


def _likelihood_ratio(plain: FloatArray, own: FloatArray, correct: FloatArray) -> AnswerTest:
    """Compare the two regressions (1)."""
    full = np.column_stack([plain, own])
    fit = logistic(full, correct)
    statistic = max(2.0 * (fit.log_likelihood - logistic(plain, correct).log_likelihood), 0.0)
    shown: Logistic = logistic(full, correct, penalised=True) if fit.separated else fit
    return AnswerTest(
        log_odds=float(shown.coefficients[-1]),
        se=float(shown.se[-1]),
        statistic=statistic,
        p_value=float(chdtrc(1, statistic)),
        separated=fit.separated,
    )
