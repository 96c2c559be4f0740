"""Simulate sessions of a bank on models with known answers, and evaluate the estimates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator, plain_array
from psychollm._base.errors import LabelError, OptionError
from psychollm._base.numbers import number, percent
from psychollm._base.replicate import progress_bar
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.bank.designs import DESIGNS, Design, finished
from psychollm.bank.item_bank import ItemBank
from psychollm.data.labels import Labels, listed

_ROUNDING = 1e-12
_FEWEST_LEFT = 1.25  # required ratio of answered to sampled questions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay(Result):
    """Errors of sampling designs on held-out models, by size or margin of error.

    Attributes
    ----------
    design : tuple of str
        Name of the design.
    target : tuple of str
        Stopping rule of the sessions: number of questions, or margin of error.
    rmse, bias, bias_se : ndarray of shape (rows,)
        Root mean square error and bias of the estimated scores, with the standard error of the
        bias over models.
    half_width, coverage, coverage_se : ndarray of shape (rows,)
        Mean margin of error, proportion of intervals that cover the true score, and standard error
        of this proportion; NaN if a design has no interval.
    asked : ndarray of shape (rows,)
        Mean number of questions per session.
    relative_width : ndarray of shape (rows,)
        Mean margin of error divided by the margin of simple random samples of equal size; NaN if
        "random" is not one of the designs.
    estimates, half_widths, covered, asked_each : ndarray of shape (rows, models, repeats)
        Results of each run; `covered` is 1 if the interval covers the true score.
    truth : ndarray of shape (models,)
    """

    design: tuple[str, ...]
    target: tuple[str, ...]
    rmse: FloatArray
    bias: FloatArray
    bias_se: FloatArray
    half_width: FloatArray
    relative_width: FloatArray
    coverage: FloatArray
    coverage_se: FloatArray
    asked: FloatArray
    estimates: FloatArray
    half_widths: FloatArray
    covered: FloatArray
    asked_each: FloatArray
    truth: FloatArray
    models: Labels
    level: float

    _AXES = Axes(
        {"row": None},
        "design",
        "target",
        "asked",
        "rmse",
        "bias",
        "bias_se",
        "half_width",
        "relative_width",
        "coverage",
        "coverage_se",
        labels={"model": "models"},
        arrays={"model": "truth"},
    )

    def summary(self) -> str:
        """Return the errors and coverage of each design."""
        lines = [f"{len(self.models)} held-out models, {percent(self.level)} intervals:"]
        for row, (design, target) in enumerate(zip(self.design, self.target, strict=True)):
            covered = self.coverage[row]
            interval = (
                f"margin of error {number(float(self.half_width[row]), 3)}, coverage "
                f"{number(100 * float(covered), 1)} %"
                if np.isfinite(covered)
                else "no interval"
            )
            lines.append(
                f"  {design}, {target}: RMSE {number(float(self.rmse[row]), 4)}, bias "
                f"{number(float(self.bias[row]), 4)}, {interval}"
            )
        return "\n".join(lines)


def replay(
    bank: ItemBank,
    responses: Any,
    *,
    sizes: Sequence[int] = (50, 100, 300),
    half_widths: Sequence[float] = (),
    designs: Sequence[Design] = ("bank", "random"),
    n_repeats: int = 10,
    level: float = 0.95,
    rng: RandomState = None,
    progress: bool = False,
) -> Replay:
    """Simulate designs on models with known answers, and compare estimates with true scores.

    Parameters
    ----------
    bank : ItemBank
        Bank that was calibrated without the models of `responses`.
    responses : Responses, ScoreLog, DataFrame or array_like (models, questions)
        Binary or graded scores from 0 to 1 on questions of the bank. Unanswered questions are not
        sampled and are excluded from the true score.
    sizes : sequence of int
        Numbers of questions per session. Models with fewer answers than 1.25 times the number of
        questions are omitted.
    half_widths : sequence of float
        Margins of error at which sessions of the bank stop.
    designs : sequence of str
        Designs to simulate: "bank" (sessions of the bank), "random" (simple random samples),
        "stratified" (by domain or difficulty), "assisted" (simple random samples with a corrected
        prediction), "information" (the most informative questions), and the published "anchors",
        "p_irt", "gp_irt" (`psychollm.bank.designs`).
    n_repeats : int
        Number of repetitions per model.
    level : float
        Coverage of the intervals.
    rng : Generator, int or None
        Generator or seed for the simulated sessions.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Replay

    Raises
    ------
    LabelError
        If a model belongs to the calibration sample of the bank, or a question is not in the bank.
    OptionError
        If a design is unknown, or no model has enough answers.

    Examples
    --------
    >>> import psychollm as psy
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((20, 300)) < rng.random((20, 1))
    >>> bank = psy.item_bank(right[:15].astype(int), rng=1)
    >>> held_out = psy.Responses(right[15:].astype(int), models=list("abcde"))
    >>> found = psy.replay(bank, held_out, sizes=[50], n_repeats=2, rng=1)
    >>> found.to_frame()[["design", "asked"]]
       design  asked
    0    bank   50.0
    1  random   50.0
    """
    unknown = [name for name in designs if name not in DESIGNS]
    if unknown:
        msg = f"designs: {listed(unknown)} unknown: choose from {listed(tuple(DESIGNS))}"
        raise OptionError(msg)
    sizes = [check_count("sizes", size, low=2) for size in plain_array(sizes, "sizes").ravel()]
    for width in half_widths:
        check_fraction("half_widths", width)
    n_repeats = check_count("n_repeats", n_repeats, high=DRAWS)
    level = check_fraction("level", level)
    models, scores = _held_out(bank, responses, max(sizes, default=0))
    rows: list[tuple[str, str]] = [(name, f"{n} questions") for n in sizes for name in designs]
    rows += [("bank", f"half-width {width:g}") for width in half_widths]
    if not rows:
        msg = "nothing to replay: give sizes= with designs=, or half_widths="
        raise OptionError(msg)
    found = np.full((len(rows), len(models), n_repeats, 4), np.nan)
    streams = check_generator(rng).spawn(len(models))
    truth = np.empty(len(models))
    bar = progress_bar(show=progress, total=len(models), label="models")
    for m in range(len(models)):
        have = np.flatnonzero(np.isfinite(scores[m]))
        own, answers = bank.taken(have), scores[m, have]
        truth[m] = answers.mean()
        for repeat in range(n_repeats):
            plays = [
                DESIGNS[name](own, answers, n, level, streams[m])
                for n in sizes
                for name in designs
            ]
            plays += [
                finished(own.session(half_width=width, level=level, rng=streams[m]), answers)
                for width in half_widths
            ]
            found[:, m, repeat] = plays
        bar.update(1)
    bar.close()
    return _assembled(rows, found, truth, models, level)


def _held_out(bank: ItemBank, responses: Any, most: int) -> tuple[Labels, FloatArray]:
    """Return the models with enough answers, and their scores (models, questions)."""
    labels, scores = bank.read(responses, "responses")
    known = [label for label in labels if label in set(bank.models)]
    if known:
        msg = (
            f"responses: the bank was calibrated on {listed(known)}: pass models that it has not "
            "seen"
        )
        raise LabelError(msg)
    enough = np.isfinite(scores).sum(axis=1) >= max(_FEWEST_LEFT * most, 2)
    if not enough.any():
        msg = f"sizes: no model answered {_FEWEST_LEFT:g} times {most} questions: ask fewer"
        raise OptionError(msg)
    return tuple(np.array(labels, dtype=object)[enough]), scores[enough]


def _assembled(
    rows: list[tuple[str, str]],
    found: FloatArray,
    truth: FloatArray,
    models: Labels,
    level: float,
) -> Replay:
    value, low, high, asked = np.moveaxis(found, 3, 0)
    error, half = value - truth[:, None], (high - low) / 2.0
    holds = (low <= truth[:, None] + _ROUNDING) & (truth[:, None] <= high + _ROUNDING)
    covered = np.where(np.isfinite(half), holds, np.nan)
    widths = half.mean(axis=(1, 2))
    beside = {
        target: width
        for (name, target), width in zip(rows, widths, strict=True)
        if name == "random"
    }
    random = np.array([beside.get(target, np.nan) for _, target in rows])
    return Replay(
        design=tuple(name for name, _ in rows),
        target=tuple(target for _, target in rows),
        rmse=np.sqrt((error**2).mean(axis=(1, 2))),
        bias=error.mean(axis=(1, 2)),
        bias_se=_se(error.mean(axis=2)),
        half_width=widths,
        relative_width=widths / random,
        coverage=covered.mean(axis=(1, 2)),
        coverage_se=_se(covered.mean(axis=2)),
        asked=asked.mean(axis=(1, 2)),
        estimates=value,
        half_widths=half,
        covered=covered,
        asked_each=asked,
        truth=truth,
        models=models,
        level=level,
    )


def _se(means: FloatArray) -> FloatArray:
    """Return the standard error (rows,) of each row's mean, from values (rows, models)."""
    n = means.shape[1]
    if n < 2:
        return np.full(len(means), np.nan)
    return np.asarray(means.std(axis=1, ddof=1) / np.sqrt(n))
