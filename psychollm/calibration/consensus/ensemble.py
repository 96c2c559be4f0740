"""Comparison of the mean vote of several models with the best single model.

The mean vote of all models and the answer of the best single model are compared as predictors of
each model's correctness. To avoid selection bias, the best model is chosen on one half of the
questions and evaluated on the other half, and vice versa. The AUROC favours a mean vote, which has
many levels, over a binary answer. For a fair comparison, the vote is therefore also converted to
yes and no at the single model's yes rate. The bootstrap intervals are conditional on the chosen
models.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, check_generator
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.consensus.signals import (
    CutSignal,
    RankedSignal,
    cut_at_rate,
    cut_signal,
    ranked_signal,
)
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)

if TYPE_CHECKING:
    import pandas as pd

_VOTE, _SINGLE, _VOTE_CUT = range(3)


def _chosen(found: "EnsembleGain", half: int) -> "pd.Series[Any]":
    """Return, by model, the label of the single model evaluated on one half, or None."""
    import pandas as pd

    labels = [None if model < 0 else found.labels[model] for model in found.chosen[half]]
    return pd.Series(labels, dtype=object)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnsembleGain(Result):
    """AUROC of the mean vote and of the best single answer, for each model's correctness.

    Examples
    --------
    >>> from psychollm.data.simulate_study import simulate_study
    >>> study = simulate_study(n_models=6, n_questions=300, rng=0)
    >>> found = ensemble_gain(study.confidence, study.correctness, bootstrap=50, rng=0)
    >>> found.chosen.shape, len(found.to_frame())
    ((2, 6), 6)
    """

    vote: Estimate  # AUROC of the mean vote of all models
    single: Estimate  # AUROC of the best single model, chosen on the other half
    vote_cut: Estimate  # AUROC of the vote, dichotomised at the single model's yes rate
    gain: Estimate  # vote - single
    gain_at_equal_rate: Estimate  # vote_cut - single
    chosen: IntArray  # (2, models) index of the single model evaluated on each half, or -1
    mean_gain: float  # mean of `gain` over the models
    mean_gain_interval: FloatArray  # (2,)
    mean_gain_at_equal_rate: float
    mean_gain_at_equal_rate_interval: FloatArray  # (2,)
    reason: tuple[Reason, ...]  # (models,) reason if the comparison is undefined
    n_bootstrap: int
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "vote",
        "single",
        "vote_cut",
        "gain",
        "gain_at_equal_rate",
        ("chosen_1", partial(_chosen, half=0)),
        ("chosen_2", partial(_chosen, half=1)),
        "reason",
    )


def ensemble_gain(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> EnsembleGain:
    """Compare the mean vote of all models with the best single model's answer.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong).
    bootstrap : int or Bootstrap
        Number of resamples of questions.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed for the random halves and the resamples. The result does not
        depend on `n_jobs`.

    Returns
    -------
    EnsembleGain
        Gains in AUROC; NaN with a reason if a model is always or never correct in one half.

    Raises
    ------
    LabelError, CodeError
        If the two tables differ in their models or questions, or are not binary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> said, right = rng.integers(0, 2, (2, 4, 200))
    >>> abs(ensemble_gain(said, right, bootstrap=20, rng=0).mean_gain) < 0.1
    True
    """
    paired = paired_answers(confidence, correctness)
    check_fraction("level", level)
    generator = check_generator(rng)
    first = generator.permutation(len(paired.questions)) % 2 == 0
    contests = [_Contest.prepare(paired, m, first) for m in range(len(paired.models))]

    def areas(counts: AnyArray) -> FloatArray:
        return np.stack([contest.areas(counts) for contest in contests], axis=1)

    draws = bootstrap_draws(
        areas,
        len(paired.questions),
        Resampling.of(bootstrap, level, generator),
        small=True,
        label="ensemble",
    )
    observed = areas(np.ones((1, len(paired.questions)), dtype=np.uint8))[0]
    return _assemble(contests, observed, draws, paired, level)


@dataclass(frozen=True, slots=True)
class _Half:
    """Signals on one half of the questions; the single model is the best on the other half."""

    chosen: int
    n: int
    vote: RankedSignal
    single: CutSignal
    vote_cut: CutSignal

    def areas(self, counts: AnyArray) -> FloatArray:
        """AUROCs of the mean vote, the single answer and the yes/no vote (replicates, 3)."""
        signals = (self.vote, self.single, self.vote_cut)
        return np.column_stack([signal.areas(counts) for signal in signals])


@dataclass(frozen=True, slots=True)
class _Contest:
    """Data for the comparison of predictors of one model's correctness."""

    halves: tuple[_Half, ...]  # two halves; empty if the comparison is undefined

    @classmethod
    def prepare(cls, paired: PairedAnswers, m: int, first: BoolArray) -> "_Contest":
        known, correct = paired.graded[m], paired.right[m]
        voters = paired.answered.sum(axis=0)
        vote = np.divide(
            paired.said.sum(axis=0), voters, out=np.zeros(voters.size), where=voters > 0
        )
        found = []
        for learn, judge in ((first, ~first), (~first, first)):
            chosen = _best_single(paired, m, known & learn)
            used = known & judge & paired.answered[chosen]
            if chosen < 0 or not 0 < correct[used].sum() < used.sum():
                return cls(())
            rate = float(paired.said[chosen, used].mean())
            found.append(
                _Half(
                    chosen=chosen,
                    n=int(used.sum()),
                    vote=ranked_signal(vote, correct, used),
                    single=cut_signal(paired.said[chosen], correct, used),
                    vote_cut=cut_signal(cut_at_rate(vote, used, rate), correct, used),
                )
            )
        return cls(tuple(found))

    def areas(self, counts: AnyArray) -> FloatArray:
        """AUROCs averaged over the two halves (replicates, 3)."""
        if not self.halves:
            return np.full((len(counts), 3), np.nan)
        return np.asarray(np.mean([half.areas(counts) for half in self.halves], axis=0))


def _best_single(paired: PairedAnswers, m: int, where: BoolArray) -> int:
    """Return the model whose answers have the largest AUROC for m's correctness, or -1."""
    answered = paired.answered * where
    said, right = paired.said * where, paired.right[m]
    with np.errstate(invalid="ignore", divide="ignore"):
        hit_rate = (said @ right) / (answered @ right)
        area = hit_rate - (said @ (1.0 - right)) / (answered @ (1.0 - right))
    return int(np.nanargmax(area)) if np.isfinite(area).any() else -1


def _assemble(
    contests: list[_Contest],
    observed: FloatArray,
    draws: FloatArray,
    paired: PairedAnswers,
    level: float,
) -> EnsembleGain:
    idle = np.array([not contest.halves for contest in contests])
    right, graded = paired.right.sum(axis=1), paired.graded.sum(axis=1)
    reason = first_reason(
        (graded == 0, Reason.NO_ANSWERS),
        (right == 0, Reason.NO_CORRECT),
        (right == graded, Reason.NO_WRONG),
        (idle, Reason.TOO_FEW),
    )
    n = np.array([sum(half.n for half in c.halves) for c in contests], dtype=np.float64)

    area = partial(bootstrap_estimate, n=n, flags=reason, level=level, labels=paired.models)
    gain, gains = (
        observed[:, _VOTE] - observed[:, _SINGLE],
        draws[..., _VOTE] - draws[..., _SINGLE],
    )
    fair = observed[:, _VOTE_CUT] - observed[:, _SINGLE]
    fairs = draws[..., _VOTE_CUT] - draws[..., _SINGLE]
    return EnsembleGain(
        vote=area("AUROC, mean vote", observed[:, _VOTE], draws[..., _VOTE]),
        single=area("AUROC, best single", observed[:, _SINGLE], draws[..., _SINGLE]),
        vote_cut=area("AUROC, vote cut", observed[:, _VOTE_CUT], draws[..., _VOTE_CUT]),
        gain=area("gain", gain, gains),
        gain_at_equal_rate=area("gain at equal rate", fair, fairs),
        chosen=np.array(
            [[c.halves[h].chosen if c.halves else -1 for c in contests] for h in range(2)]
        ),
        mean_gain=_mean(gain),
        mean_gain_interval=percentile_interval(_means(gains), level),
        mean_gain_at_equal_rate=_mean(fair),
        mean_gain_at_equal_rate_interval=percentile_interval(_means(fairs), level),
        reason=reason,
        n_bootstrap=len(draws),
        level=level,
        labels=paired.models,
    )


def _mean(values: FloatArray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else np.nan


def _means(draws: FloatArray) -> FloatArray:
    """Return the mean over the models with a defined value, in each resample (replicates,)."""
    kept = draws[:, np.isfinite(draws).any(axis=0)]
    return np.full(len(draws), np.nan) if not kept.size else np.asarray(kept.mean(axis=1))
