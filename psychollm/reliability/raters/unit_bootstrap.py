"""Coefficients of agreement for every model, computed on the same resamples of questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.clustered import skewed_freedom, units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Replicates,
    Resampling,
    resample,
)
from psychollm.reliability.raters.score_interval import clustered_share, score_interval

AgreementInterval: TypeAlias = Literal["score", "bca", "percentile"]

# A function of counts (resamples, questions) that returns coefficients (resamples, outputs), NaN
# if undefined.
Compute = Callable[[FloatArray], FloatArray]

_ROWS = 64


@dataclass(frozen=True, slots=True)
class UnitShare:
    """Coefficient that is a mean over questions."""

    hits: FloatArray  # (questions,)
    sizes: FloatArray  # (questions,) 1, or 0 for omitted questions
    most: float  # largest number of independent observations


@dataclass(frozen=True, slots=True, kw_only=True)
class Panelist:
    """Coefficients of one model, as functions of the resampling counts of its questions."""

    compute: Compute
    paired: BoolArray  # (questions,) whether the question was answered at least twice
    flags: tuple[Reason, ...]  # one flag per output
    expected: FloatArray  # (outputs,) disagreement expected by chance
    pairs: float  # number of pairs of ratings per question
    shares: tuple[UnitShare | None, ...]  # one per output
    graded: tuple[bool, ...] = (False,)  # per output: whether disagreements have weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """All models, and the options that apply to all their coefficients."""

    names: tuple[str, ...]  # names of the coefficients
    members: Sequence[Panelist]
    labels: Labels
    clusters: IntArray | None
    options: Resampling

    @property
    def interval(self) -> str:
        """Method by which the bounds of intervals are computed."""
        return self.options.interval or "score"


def estimate_panel(panel: Panel) -> list[Estimate]:
    """Estimate every coefficient for every model."""
    check_choice("interval", panel.interval, AgreementInterval)
    n_questions = panel.members[0].paired.size

    def statistic(counts: FloatArray) -> FloatArray:
        return _computed(panel, counts)

    options = panel.options.required()
    parts = _Parts(panel, resample(statistic, n_questions, options, clusters=panel.clusters))
    return [parts.estimate(output) for output in range(len(panel.names))]


def mean_of_shares(shares: Sequence[UnitShare]) -> Compute:
    """Return a function that computes proportions from the counts of questions."""
    sums = [np.ascontiguousarray(np.stack([one.hits, one.sizes])) for one in shares]

    def compute(counts: FloatArray) -> FloatArray:
        columns = []
        for hits, sizes in sums:
            # Sums are computed row by row, because rounding in a row must not depend on the number
            # of rows.
            total = (counts * sizes).sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                columns.append((counts * hits).sum(axis=1) / total)
        return np.stack(columns, axis=1)

    return compute


def independent_units(paired: BoolArray, clusters: IntArray | None) -> int:
    """Return the number of questions used or, with clusters, the number of clusters used."""
    return int(paired.sum()) if clusters is None else np.unique(clusters[paired]).size


def _computed(panel: Panel, counts: FloatArray) -> FloatArray:
    """Return the outputs of all models (resamples, models, outputs), computed in blocks."""
    outputs = np.empty((counts.shape[0], len(panel.members), len(panel.names)))
    for start in range(0, counts.shape[0], _ROWS):
        block = slice(start, start + _ROWS)
        for row, member in enumerate(panel.members):
            outputs[block, row] = member.compute(counts[block])
    return outputs


@dataclass(frozen=True, slots=True)
class _Parts:
    """Values and resamples of all outputs, used to compute estimates."""

    panel: Panel
    replicates: Replicates  # (models, outputs)

    def estimate(self, output: int) -> Estimate:
        """Return the estimate of one output (for example, of a coefficient)."""
        panel = self.panel
        bootstrapped = self.replicates.each(slice(None), output).estimate(
            panel.names[output],
            n=np.array([float(member.paired.sum()) for member in panel.members]),
            flags=tuple(self._flag(row, output) for row in range(len(panel.members))),
            labels=panel.labels,
            interval="bca" if panel.interval == "bca" else "percentile",
            units=units_of(np.array([member.paired for member in panel.members]), panel.clusters),
            final=False,
        )
        single = np.array([self._units(row) < 2 for row in range(len(panel.members))])
        result = bootstrapped if panel.interval != "score" else self._scored(bootstrapped, output)
        return replace(
            result,
            se=np.where(single, np.nan, result.se),
            interval=np.where(single[:, None], np.nan, result.interval),
        ).qualified()

    def _units(self, row: int) -> int:
        return independent_units(self.panel.members[row].paired, self.panel.clusters)

    def _flag(self, row: int, output: int) -> Reason:
        """Return the reason why the coefficient or its interval is undefined or flagged."""
        own = self.panel.members[row].flags[output]
        if not np.isfinite(self.replicates.value[row, output]):
            return own
        if self._units(row) < 2:
            single = self.panel.members[row].paired.sum() == 1
            return Reason.ONE_QUESTION if single else Reason.ONE_CLUSTER
        rests = self.panel.members[row].shares[output] is None and self._undefined(row, output)
        return Reason.ONE_VARIES if rests else own

    def _undefined(self, row: int, output: int) -> bool:
        """Return whether omitting some group of questions makes the coefficient undefined."""
        return bool(np.isnan(self.replicates.left_out[:, row, output]).any())

    def _scored(self, estimate: Estimate, output: int) -> Estimate:
        rows = [self._bounds(row, output) for row in range(len(self.panel.members))]
        se, bounds = zip(*rows, strict=True)
        of_shares = self.panel.members[0].shares[output] is not None
        units = "questions" if self.panel.clusters is None else "clusters of questions"
        method = "Wilson, effective n" if of_shares else "score, jackknife variance"
        return replace(
            estimate, se=np.array(se), interval=np.array(bounds), method=f"{method} over {units}"
        )

    def _bounds(self, row: int, output: int) -> tuple[float, FloatArray]:
        """Return the standard error and the score interval of one model."""
        member, level = self.panel.members[row], self.panel.options.level
        share = member.shares[output]
        if share is not None:
            wilson = clustered_share(
                share.hits, share.sizes, self.panel.clusters, level=level, most=share.most
            )
            return wilson.se, wilson.interval
        value, units = float(self.replicates.value[row, output]), self._units(row)
        groups = min(units, self.replicates.left_out.shape[0])
        # The variance is NaN if omitting one group gives NaN, because an interval must not depend
        # on a single group.
        moved = self.replicates.left_out[:, row, output] - value
        squares = float((moved**2).sum())
        variance = squares * (1.0 - 1.0 / max(groups, 1))
        clusters = units_of(member.paired[None, :], self.panel.clusters)
        df = groups - 1.0
        if clusters is not None:
            df = float(np.fmin(clusters.df[0], skewed_freedom(moved)))
        elif member.graded[output]:
            # A few large disagreements between rare categories dominate the variance.
            df = float(np.fmin(df, skewed_freedom(moved)))
        bounds = score_interval(
            value,
            max(variance, (1.0 - value) / member.pairs),
            units=units if squares == 0.0 else groups,
            df=df,
            expected=float(member.expected[output]),
            level=level,
        )
        return float(np.sqrt(variance)), bounds
