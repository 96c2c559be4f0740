"""Pass rates, agreement between runs, and responses on one type of question."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psychollm._base.axes import Axes, whole
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import clopper_pearson, wilson
from psychollm.estimates.resampling import Resampling, ResamplingArguments
from psychollm.reliability.raters.agreement import Agreement, agreement
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.response_shares import ResponseShares, response_shares
from psychollm.reliability.raters.retest import Retest, retest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundaryProfile(Result):
    """Pass rates, agreement between runs, and responses on one type of question.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"model": "m", "item": [1, 2, 1, 2], "run": [1, 1, 2, 2],
    ...                       "response": list("xyxx"), "score": [1, 0, 1, 1]})
    >>> boundary_profile(frame, "A", Resampling(n=20, level=0.95, rng=0)).retest.rate.value
    array([0.75])
    """

    kind: Hashable  # type of question
    retest: Retest  # pass rate over all runs, of each run, and by majority
    scores: Agreement  # agreement of the runs' scores
    responses: Agreement  # agreement of the runs' responses
    first_two: Estimate | None  # Cohen's kappa of the first two runs' scores; None for one run
    shares: ResponseShares  # proportions of all responses
    failures: ResponseShares | None  # proportions among responses that never pass, if any occur
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "type=kind",
        "rate=retest.rate.value",
        "{bound}=retest.rate.interval",
        whole("n", "retest.rate.n"),
        "majority=retest.majority.value",
        "all_identical=responses.all_identical.value",
        "alpha=responses.krippendorff_alpha.value",
    )

    @property
    def exact_intervals(self) -> FloatArray:
        """Clopper-Pearson interval of every run (models, runs, 2)."""
        return clopper_pearson(self.retest.totals, self.retest.n, level=self.retest.rate.level)

    @property
    def pooled_intervals(self) -> FloatArray:
        """Wilson interval that treats runs as independent (models, 2).

        The pooled interval is often reported, but is too short if runs have similar results. Use
        the interval of `retest.rate` instead.
        """
        hits, n = self.retest.totals.sum(axis=1), self.retest.n.sum(axis=1)
        return wilson(hits, n, level=self.retest.rate.level)


def boundary_profile(
    answers: pd.DataFrame, kind: Hashable, resampling: Resampling
) -> BoundaryProfile:
    """Return the profile of one type of question; a row of `answers` is one answer."""
    scores = Ratings.from_long(answers, question="item", value="score")
    responses = Ratings.from_long(answers, question="item", value="response")
    options = resampling.arguments
    failing = failing_responses(answers)
    return BoundaryProfile(
        kind=kind,
        retest=retest(scores, **options),
        scores=agreement(scores, metric="nominal", **options),
        responses=agreement(responses, metric="nominal", **options),
        first_two=_first_two(scores, options),
        shares=response_shares(responses, level=resampling.level),
        failures=response_shares(responses, among=failing, level=resampling.level)
        if failing
        else None,
        labels=scores.models,
    )


def failing_responses(answers: pd.DataFrame) -> list[Hashable]:
    """Return the responses that score 0 in every answer, sorted."""
    best = answers.dropna(subset=["response", "score"]).groupby("response")["score"].max()
    return sorted(best.index[best == 0].tolist(), key=str)


def _first_two(scores: Ratings, options: ResamplingArguments) -> Estimate | None:
    if len(scores.runs) < 2:
        return None
    return cohen_kappa(scores.select(runs=scores.runs[:2]), **options)
