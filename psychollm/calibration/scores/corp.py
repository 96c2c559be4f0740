r"""CORP: miscalibration, discrimination and uncertainty of a proper score, without bins.

With S the mean score of the stated confidences f, S(pav) that of the isotonic fit of correctness
on f (`isotonic`), and S(mean) that of the constant share of correct answers,

.. math:: S(f) = \underbrace{S(f) - S(\text{pav})}_{\text{MCB}}
                 - \underbrace{(S(\text{mean}) - S(\text{pav}))}_{\text{DSC}}
                 + \underbrace{S(\text{mean})}_{\text{UNC}} .                             \quad (1)

MCB is what recalibration would gain, DSC what the recalibrated confidence gains over knowing
nothing but the share of correct answers; both are at least zero. With the Brier score they are
the bin-free form of Murphy's reliability and resolution.

The isotonic fit follows chance as well as calibration, so that MCB and DSC both come out too
large, by an amount of the order of :math:`n^{-2/3}`: a calibrated model has MCB above zero. MCB is
therefore tested against answers drawn with the stated probabilities at the same confidences; its
p-value is the share of draws with an MCB at least as large, counting the sample. Intervals allow
for that noise (`noise_interval`); those of MCB and DSC may lie below the value.

For the logarithmic score confidence is clipped as in `log_score`; the isotonic fit is not.

References
----------
Dimitriadis, T., Gneiting, T., & Jordan, A. I. (2021). Stable reliability diagrams for
probabilistic classifiers. Proceedings of the National Academy of Sciences, 118(8), e2016191118.
https://doi.org/10.1073/pnas.2016191118
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count, check_fraction, check_generator
from psychollm._base.numbers import p_equals
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.under_calibration import under_calibration
from psychollm.calibration.metric import NOISY, Metric, Output, estimate_all
from psychollm.calibration.scores.isotonic import (
    RecalibrationCurve,
    recalibrated_shares,
    recalibration_curve,
)
from psychollm.calibration.scores.noise_interval import METHOD, noise_bounds, uncertainty_bounds
from psychollm.calibration.scores.proper_scores import (
    BRIER,
    CLIP,
    brier_losses,
    clipped,
    log_losses,
    log_score_metric,
    one_class,
)
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally, tallies
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.corp import calibrated_noise, recalibrated_scores
from psychollm.kernels.proper_scores import mean_losses, shares_correct

Score: TypeAlias = Literal["brier", "log"]

SCORES = ("brier", "log")

PARTS = ("MCB", "DSC", "UNC")

# Up to so many distinct confidences noise is computed without cells; else in so many cells.
_EXACT_GROUPS = 512
_CELLS = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corp(Result):
    """The three parts of a proper score for every model, and the curves behind them.

    Examples
    --------
    >>> found = corp([0.9, 0.9, 0.6, 0.3], [1, 1, 0, 1], n_bands=50, rng=0)
    >>> found.miscalibration.value.round(4), found.discrimination.value.round(4)
    (array([0.0925]), array([0.0625]))
    """

    score: Score
    clip: float  # of confidence, for the logarithmic score
    mean_score: Estimate
    miscalibration: Estimate  # MCB
    discrimination: Estimate  # DSC
    uncertainty: Estimate  # UNC
    expected: Estimate  # mean MCB if the model were calibrated, and the range of its values
    p_value: Estimate  # of calibration: share of calibrated data sets with an MCB as large
    curves: tuple[RecalibrationCurve, ...]  # one per model
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=mean_score.n",
        "mean_score",
        "miscalibration",
        "discrimination",
        "uncertainty",
        "expected_miscalibration=expected.value",
        "p_value=p_value.value",
        "flag=discrimination.flags",
    )

    def curve(self, label: Any) -> RecalibrationCurve:
        """Return the curve of one model.

        Raises
        ------
        LabelError
            If there is no such model.
        """
        return self.curves[self.miscalibration.place(label)]

    def summary(self) -> str:
        """Return one sentence per model."""
        return "\n".join(self._sentence(row, label) for row, label in enumerate(self.labels))

    def _sentence(self, row: int, label: Any) -> str:
        if not self.miscalibration.defined[row]:
            return f"{label}: undefined, {self.miscalibration.flags[row]}."
        p_value = self.p_value.value[row]
        return (
            f"{label}: miscalibration {self.miscalibration.value[row]:.4f}, where a calibrated "
            f"model would show {self.expected.value[row]:.4f} ({p_equals(p_value)}); "
            f"discrimination {self.discrimination.value[row]:.4f} of an uncertainty of "
            f"{self.uncertainty.value[row]:.4f}."
        )


def corp(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    score: Score = "brier",
    clip: float = CLIP,
    n_bands: int = 1000,
    clusters: Any = None,
    weights: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Corp:
    """Split each model's score into miscalibration, discrimination and uncertainty (1).

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        As in `brier`.
    score : {"brier", "log"}
        The proper score.
    clip : float
        Confidence is moved into [clip, 1 - clip] for the logarithmic score.
    n_bands : int
        Draws for the bands of the curves and the p-value of MCB. The bands take questions as
        independent, also where `clusters` are given; the p-value does not.
    clusters, weights, bootstrap, level, rng
        As in `brier`; `level` is that of the bands too, pointwise.

    Returns
    -------
    Corp
        For a model that is always or never correct DSC and UNC are zero, with the reason; for one
        of constant confidence DSC is zero with `CONSTANT`; without answers all is NaN.

    Raises
    ------
    OptionError
        If `score` or `clip` does not exist.
    CodeError, ShapeError, LabelError
        As `brier`.

    Examples
    --------
    >>> found = corp([0.9, 0.9, 0.6, 0.3], [1, 1, 0, 1], n_bands=50, rng=0)
    >>> found.curves[0].recalibrated
    array([0.5, 0.5, 1. ])
    """
    check_choice("score", score, Score)
    check_count("n_bands", n_bands, low=2)
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    source = check_generator(rng)
    options = Resampling.of(bootstrap, level, source)
    parts = corp_metric(score, clip=clip)
    whole = BRIER if score == "brier" else log_score_metric(clip)
    found = estimate_all([whole, parts], answers, options)
    simulation = replace(options, n=n_bands)
    (expected, p_value), *_ = under_calibration([parts], answers, simulation)
    # One number for all models: their bands do not depend on who else is in the table.
    bands = replace(simulation, rng=int(source.integers(2**63)))
    return Corp(
        score=score,
        clip=clip,
        mean_score=found[0],
        miscalibration=found[1],
        discrimination=found[2],
        uncertainty=found[3],
        expected=expected,
        p_value=p_value,
        curves=tuple(
            recalibration_curve(tally, label, bands)
            for tally, label in zip(tallies(answers), answers.models, strict=True)
        ),
        labels=answers.models,
    )


def corp_metric(*scores: Score, clip: float = CLIP) -> Metric:
    """Return the metric behind `corp`: MCB, DSC and UNC of each of the scores."""
    clip = check_fraction("clip", clip, high=0.5)
    for score in scores:
        check_choice("score", score, Score)
    suffix = {"brier": "", "log": " (log score)"}
    return Metric(
        names=tuple(f"{part}{suffix[score]}" for score in scores for part in PARTS),
        prepare=partial(_shared, clip=clip),
        compute=partial(_columns, scores),
        carried=4 * len(scores) + 1,
        flags=partial(_flags, scores, clip=clip),
        interval="percentile",
        bounds=partial(_bounds, scores),
        method=METHOD,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """What the resamples of one model share."""

    losses: FloatArray  # (4, groups) of a correct and a wrong answer, Brier and log score
    fitted_losses: FloatArray  # (4, groups) the same of the fitted shares
    mean_losses: FloatArray  # (4,) the same of the mean
    starts: IntArray  # where cells of neighbouring confidences begin, their end last
    groups: FloatArray  # (2, groups) fitted shares and confidences
    cells: FloatArray  # (4, cells) what `kernels.corp.calibrated_noise` needs of the sample
    size: FloatArray  # (2,) MCB of a population with the fitted shares, Brier and log score
    hidden: float  # noise of the log score that resamples do not show


def _shared(tally: Tally, *, clip: float) -> _Shared:
    counts = tally.correct + tally.wrong
    n = max(float(counts.sum()), 1e-300)
    fitted = recalibrated_shares(tally)
    fitted = np.where(np.isfinite(fitted), fitted, tally.values)
    losses = _losses(tally.values, clip)
    of_fit = _losses(fitted, 0.0)
    expected = fitted * losses[::2] + (1.0 - fitted) * losses[1::2]
    best = fitted * of_fit[::2] + (1.0 - fitted) * of_fit[1::2]
    starts = _cell_starts(tally.values.size)
    return _Shared(
        losses=losses,
        fitted_losses=of_fit,
        mean_losses=_losses(np.array([tally.correct.sum() / n]), 0.0)[:, 0],
        starts=starts,
        groups=np.stack([fitted, tally.values]),
        cells=_cell_sums(tally, fitted, starts),
        size=(expected - best) @ counts / n,
        hidden=_pure_ends(fitted) / n,
    )


def _cell_starts(groups: int) -> IntArray:
    """Return where cells of neighbouring confidences begin, their end last."""
    cells = groups if groups <= _EXACT_GROUPS else _CELLS
    return (np.arange(cells + 1) * groups) // max(cells, 1)


def _cell_sums(tally: Tally, fitted: FloatArray, starts: IntArray) -> FloatArray:
    """Return sums over cells (4, cells) that are the same in all resamples."""
    counts, values = tally.correct + tally.wrong, tally.values
    kept = counts * values - (tally.correct - counts * fitted)
    terms = np.stack(
        [counts, kept, values * (counts * values - 2.0 * kept), counts * fitted * (1.0 - fitted)]
    )
    return np.add.reduceat(terms, starts[:-1], axis=1) if values.size else terms


def _pure_ends(fitted: FloatArray) -> int:
    """Count the ends of the fit that are certain: correct at the top, wrong at the bottom."""
    # Resamples of answers that are all correct show no noise. From the top down, the log losses
    # that true chances give to the answers before the first wrong one sum to an exponential number
    # of mean one, which the fit saves; it is the same at the bottom.
    return int(fitted.size > 0 and fitted[-1] == 1.0) + int(fitted.size > 0 and fitted[0] == 0.0)


def _losses(values: FloatArray, clip: float) -> FloatArray:
    """Return losses (4, groups): Brier and log score, of a correct and of a wrong answer each."""
    # Without clipping, the infinite loss of an answer that cannot happen is left out.
    with np.errstate(divide="ignore"):
        found = np.stack([*brier_losses(values), *log_losses(values, clip)])
    return np.where(np.isfinite(found), found, 0.0)


def _columns(
    scores: Sequence[Score], shared: _Shared, correct: FloatArray, wrong: FloatArray
) -> FloatArray:
    """Return parts (1) of each score; then for each the four columns of `_bounds`; the share."""
    rows = correct.shape[0]
    terms, noise, share = np.empty((rows, 4)), np.empty((rows, 2)), np.empty(rows)
    recalibrated_scores(correct, wrong, terms)
    calibrated_noise(correct, wrong, shared.starts, shared.groups, shared.cells, noise)
    noise[:, 1] += shared.hidden
    shares_correct(correct, wrong, share)
    stated, fitted = np.empty(rows), np.empty(rows)
    outputs, carried = [], []
    for score in scores:
        i = SCORES.index(score)
        pair = slice(2 * i, 2 * i + 2)
        mean_losses(*shared.losses[pair], correct, wrong, stated)
        mean_losses(*shared.fitted_losses[pair], correct, wrong, fitted)
        if_correct, if_wrong = shared.mean_losses[pair]
        constant = share * if_correct + (1.0 - share) * if_wrong
        # The isotonic fit is the best one: what is below zero is rounding.
        gains = np.maximum([stated - terms[:, i], terms[:, 2 + i] - terms[:, i]], 0.0)
        outputs += [gains[0], gains[1], terms[:, 2 + i]]
        carried += [stated - fitted, constant - fitted, noise[:, i], np.full(rows, shared.size[i])]
    return np.stack([*outputs, *carried, share], axis=1)


def _bounds(
    scores: Sequence[Score], value: FloatArray, draws: FloatArray, level: float
) -> FloatArray:
    """Bounds of all parts."""
    # What the sample's own fit gains over confidence, and over the mean, moves with the departure;
    # following noise raises MCB and DSC by the same.
    found = []
    for k in range(len(scores)):
        first = 3 * len(scores) + 4 * k
        own, along = value[first : first + 4], draws[:, first : first + 2]
        along, noise = along - own[:2], draws[:, first + 2]
        mcb, dsc = (float(part) for part in value[3 * k : 3 * k + 2])
        most = 1.0 if scores[k] == "brier" else np.inf
        for part, size, column in ((mcb, float(own[3]), 0), (dsc, dsc, 1)):
            bounds = noise_bounds(part, size, along[:, column], noise, level)
            found.append(np.minimum(bounds, most))
        found.append(uncertainty_bounds(draws[:, -1], level, score=scores[k]))
    return np.array(found)


def _flags(scores: Sequence[Score], tally: Tally, *, clip: float) -> tuple[Reason, ...]:
    single = one_class(tally)
    constant = Reason.CONSTANT if tally.values.size == 1 else Reason.NONE
    moved = {"brier": Reason.NONE, "log": clipped(tally, clip)}
    return tuple(
        reason for score in scores for reason in (moved[score], single or constant, single)
    )


CORP = corp_metric("brier", "log").in_panel(
    "scores",
    9,
    Output(
        "corp_mcb",
        "MCB",
        f"what recalibration would take off the Brier score; {NOISY}",
        better="lower",
        digits=3,
    ),
    Output(
        "corp_dsc",
        "DSC",
        "what recalibrated confidence gains over stating the share correct",
        better="higher",
        neutral=0.0,
        digits=3,
    ),
    Output("corp_unc", "UNC", "Brier score of stating the share correct", digits=3),
    Output(
        "corp_log_mcb", "MCB (log score)", "MCB of the log score", better="lower", listed=False
    ),
    Output(
        "corp_log_dsc",
        "DSC (log score)",
        "DSC of the log score",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
    Output("corp_log_unc", "UNC (log score)", "UNC of the log score", listed=False),
)
