r"""Agreement of two benchmarks on the ranking of models, corrected for sampling noise.

Two benchmarks rank models differently because they measure different abilities, and because each
benchmark is a sample of questions. The rank correlation of the observed scores mixes differences
in ability with sampling noise. The true scores of models in both benchmarks are assumed to be
bivariate normal across models. The correlation :math:`\rho` of the true scores is estimated from
the observed scores and their known sampling errors (`true_correlation`).

Scores within [0, 1] are compared as log odds :math:`\log(p / (1 - p))`. With n questions or
clusters, p is first replaced by :math:`(n p + 1/2) / (n + 1)`, so that the log odds are finite. On
the log-odds scale, scores in benchmarks of different difficulty or different guessing rates are
almost linearly related. Other scores are not transformed.

Let :math:`V_b` be the mean sampling variance in benchmark b without the part common to all models,
and :math:`S_b` the variance of observed scores. The reliability is

.. math:: R_b = 1 - V_b / S_b.                                                            \quad (1)

If the true scores correlate perfectly, the expected correlation of the observed scores is
:math:`\sqrt{R_1 R_2}`. If the F test of :math:`S_b / V_b` is not significant, benchmark b does not
distinguish the models, and the correlation is undefined.

Let :math:`\pi_-` be the probability that the benchmarks order two random models oppositely by
their true scores. The probability :math:`\pi_-` and Kendall's rank correlation :math:`\tau` of
true scores are functions of :math:`\rho`:

.. math:: \pi_- = \arccos(\rho) / \pi, \qquad
          \tau = 1 - 2 \pi_- = 2 \arcsin(\rho) / \pi.                                     \quad (2)

A pair of models is reversed if its differences in both benchmarks are significant and of opposite
sign. The p-value of reversal is twice the larger of the p-values in the two benchmarks, which are
adjusted for the number of pairs ("max_t").

The unit of replication is the question, or the cluster of questions. Sampling errors of the two
benchmarks correlate if questions or clusters have the same label in both; :math:`V_m` of
`true_correlation` includes this correlation. Models are assumed to be independent; models of one
family violate this assumption.

References
----------
Spearman, C. (1904). The proof and measurement of association between two things. American Journal
of Psychology, 15, 72-101. https://doi.org/10.2307/1412159

Kruskal, W. H. (1958). Ordinal measures of association. Journal of the American Statistical
Association, 53, 814-861. https://doi.org/10.1080/01621459.1958.10501481
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, check_generator
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.numbers import count, number, p_equals, percent, with_interval
from psychollm._base.result import Result, view
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.alignment import shared_labels
from psychollm.data.labels import Labels, Table, index_of, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, further
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.repeated_scores import RepeatedScores, answers_of, means_of
from psychollm.reliability.means.score_differences import ScoreDifferences, score_differences
from psychollm.studies.benchmark_agreement.sides import (
    Side,
    agreement_of,
    enough,
    side_of,
    spread_of,
)
from psychollm.studies.benchmark_agreement.true_correlation import TrueCorrelation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

LEAST_MODELS = 3
QUANTITIES = ("true correlation", "Kendall's tau", "proportion of pairs in opposite order")
_SHOWN = 12  # maximum number of pairs in the summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BenchmarkAgreement(Study, Result):
    """Agreement of two benchmarks on the ranking of models, overall and by pair.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> able = rng.normal(size=(12, 1))
    >>> tables = [rng.random((12, 300)) < 1.0 / (1.0 + np.exp(-able)) for _ in range(2)]
    >>> found = benchmark_agreement(*tables, rng=1)
    >>> found.agreement.text(0), round(found.rank_correlation, 2)
    ('1.00 [0.93, 1.00]', 0.84)
    """

    first: Estimate  # (models,) mean scores in the first benchmark, in descending order
    second: Estimate  # (models,) mean scores in the second benchmark, in the same order
    # differences of all pairs of models, with simultaneous p-values
    first_differences: ScoreDifferences
    second_differences: ScoreDifferences
    agreement: Estimate  # (3,) true correlation, Kendall's tau, proportion of opposite pairs
    rank_correlation: float  # Spearman correlation of the observed scores
    reliability: FloatArray  # (2,) reliability (1) of each benchmark
    spread_p: FloatArray  # (2,) p-value for equal true scores of all models
    p_one: float  # one-sided p-value for a true correlation of one
    log_odds: tuple[bool, bool]  # whether scores are compared as log odds
    n_questions: IntArray  # (2,)
    n_shared: int  # number of questions, or of clusters, in both benchmarks
    left_out: Labels  # models with fewer than two scores in a benchmark
    enough: bool  # whether there are enough models, questions and clusters for the intervals
    names: tuple[str, str]
    labels: Labels  # (models,)
    level: float

    _AXES = Axes(
        {"model": "labels"},
        "first=first.value",
        "first_{bound}=first.interval",
        "second=second.value",
        "second_{bound}=second.interval",
        "first_n=first.n",
        "second_n=second.n",
    )

    @property
    def ceiling(self) -> float:
        """Expected correlation of observed scores if the true correlation is 1."""
        return float(np.sqrt(np.prod(self.reliability)))

    @property
    def reversal_p(self) -> FloatArray:
        """Simultaneous p-values of reversal (pairs,)."""
        one, other = self.first_differences, self.second_differences
        larger = np.minimum(2.0 * np.maximum(one.adjusted, other.adjusted), 1.0)
        return np.asarray(np.where(one.value * other.value < 0.0, larger, 1.0))

    @property
    def reversed(self) -> BoolArray:
        """Whether each pair of models is significantly reversed (pairs,)."""
        return np.asarray(self.reversal_p <= 1.0 - self.level)

    def pairs(self) -> "pd.DataFrame":
        """Return one row per pair of models: both differences, and whether they are reversed."""
        import pandas as pd

        one, other = self.first_differences, self.second_differences
        return pd.DataFrame(
            {
                "model": one.first,
                "other": one.second,
                "first": one.value,
                "first_p": one.adjusted,
                "second": other.value,
                "second_p": other.adjusted,
                "reversal_p": self.reversal_p,
                "reversed": self.reversed,
            }
        )

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study, by name."""
        agreement = self.agreement.to_frame()
        return {"models": self.to_frame(), "agreement": agreement, "pairs": self.pairs()}

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw the scores of each model in both benchmarks; red lines join reversed pairs."""
        draw = view("studies.benchmark_agreement.figures", "plot_benchmark_agreement")
        axes: Drawn = draw(self, ax=ax)
        return axes

    def outcome(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return the verdict on the proportion of model pairs ranked oppositely by the benchmarks.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; `share` applies to the proportion of pairs ordered
            oppositely.
        """
        return outcome(self.agreement.interval[2], smallest=smallest.share, enough=self.enough)

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the agreement of the rankings, the reliabilities and the reversed pairs."""
        judged = self.outcome(smallest=smallest)
        rows = np.flatnonzero(self.reversed).tolist()
        more = len(rows) - _SHOWN
        items = (
            Finding(
                statement=self._verdict(judged, smallest.share),
                numbers={"agreement": self.agreement, "p_one": self.p_one},
                outcome=judged,
                reason=str(self.agreement.flags[0]),
            ),
            Finding(
                key="agreement",
                question="How similar are the rankings?",
                rows=self._agreement(),
                explanation=(
                    "The true correlation is that of scores without sampling noise, in the "
                    "population of models. Sampling noise lowers the observed rank correlation "
                    "on average."
                ),
                numbers={
                    "rank_correlation": self.rank_correlation,
                    "reliability": self.reliability,
                    "ceiling": self.ceiling,
                },
            ),
            Finding(
                key="reversed",
                question="Which models do the benchmarks rank in opposite orders?",
                statement="" if rows else "No pair of models is in significantly opposite order.",
                rows=(
                    *map(self._pair, rows[:_SHOWN]),
                    *([further(more, "pairs")] if more > 0 else []),
                ),
                explanation=(
                    "A pair of models is listed if its score differences in the two benchmarks "
                    "are significant and of opposite sign. The probability of one or more false "
                    f"positives is at most {percent(1 - self.level)}."
                ),
                numbers={"reversal_p": self.reversal_p},
            ),
        )
        head = (
            f"{len(self.labels)} models, {count(self.n_questions[0])} and "
            f"{count(self.n_questions[1])} questions"
            + (f", {count(self.n_shared)} shared" if self.n_shared else "")
            + (f"; models without enough scores: {listed(self.left_out)}" if self.left_out else "")
            + "."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def _verdict(self, judged: Outcome, smallest: float) -> str:
        both = " and ".join(f"'{name}'" for name in self.names)
        if not self.agreement.defined[0]:
            return f"The agreement of {both} is undefined: {self.agreement.flags[0]}."
        low, high = self.agreement.interval[2]
        opposite = (
            f"An estimated {percent(self.agreement.value[2])} of pairs of models have opposite "
            f"true orders in the two benchmarks ({percent(self.level)} interval: {percent(low)} "
            f"to {percent(high)})"
        )
        if judged is Outcome.SMALL:
            least = f"fewer than {percent(smallest)}"
            return f"The benchmarks {both} rank models alike. {opposite}, {least}."
        if judged.shown:
            return f"The benchmarks {both} rank models differently. {opposite}."
        return (
            f"With {count(len(self.labels))} models, it is unclear whether {both} rank "
            f"models alike. {opposite}."
        )

    def _agreement(self) -> tuple[str, ...]:
        found = self.agreement
        reliability = " and ".join(number(one) for one in self.reliability)
        noise = percent(np.arccos(self.ceiling) / np.pi)
        rows = [f"{name}: {found.text(row)}" for row, name in enumerate(QUANTITIES)]
        return (
            f"observed rank correlation: {number(self.rank_correlation)}",
            f"reliability of the scores: {reliability}; if the benchmarks differed only by "
            f"sampling noise, a correlation of {number(self.ceiling)} would be expected, with "
            f"{noise} of pairs in opposite order",
            *rows,
        )

    def _pair(self, row: int) -> str:
        one, other = self.first_differences, self.second_differences
        texts = (
            with_interval(each.value[row], each.interval[row], 3, signed=True)
            for each in (one, other)
        )
        both = "; ".join(f"{name} {text}" for name, text in zip(self.names, texts, strict=True))
        return (
            f"{one.first[row]} minus {one.second[row]}: {both}; {p_equals(self.reversal_p[row])}"
        )


def benchmark_agreement(
    first: Any,
    second: Any,
    *,
    clusters: Any = None,
    names: tuple[str, str] = ("first", "second"),
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> BenchmarkAgreement:
    """Estimate the agreement of two benchmarks on the ranking of models, corrected for noise.

    Parameters
    ----------
    first, second : ScoreLog, Responses, RepeatedScores, DataFrame, DataArray or array_like
        Scores in each benchmark, models x questions or models x questions x repeats. Models are
        matched by label, and NaN marks missing scores.
    clusters : mapping or Series, optional
        Cluster of each question of both benchmarks, such as its passage, by question label.
    names : (str, str)
        Names of the benchmarks.
    level : float
        Coverage of the intervals.
    n_draws : int
        Number of draws for the simultaneous p-values of pairs.
    rng : Generator, int or None
        Source of randomness for the simultaneous p-values.

    Returns
    -------
    BenchmarkAgreement
        The agreement is NaN with a reason if a benchmark does not distinguish the models.

    Raises
    ------
    LabelError
        If no model is in both benchmarks, or a question has no cluster.
    ShapeError
        If fewer than three models have scores in both benchmarks, or a benchmark has only one
        question or cluster.
    CodeError
        If a score is infinite or not a number.
    OptionError
        If an option is out of range, or clusters have no labels.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> able = rng.normal(size=(12, 1))
    >>> tables = [rng.random((12, 300)) < 1.0 / (1.0 + np.exp(-able)) for _ in range(2)]
    >>> print(benchmark_agreement(*tables, rng=1).summary())
    12 models, 300 and 300 questions.
    With 12 models, it is unclear whether 'first' and 'second' rank models alike. An estimated 0 %
      of pairs of models have opposite true orders in the two benchmarks (95 % interval: 0 % to 12
      %).
    How similar are the rankings?
      observed rank correlation: 0.84
      reliability of the scores: 0.97 and 0.96; if the benchmarks differed only by sampling noise,
        a correlation of 0.97 would be expected, with 8 % of pairs in opposite order
      true correlation: 1.00 [0.93, 1.00]
      Kendall's tau: 1.00 [0.76, 1.00]
      proportion of pairs in opposite order: 0.00 [0.00, 0.12]
    Which models do the benchmarks rank in opposite orders? No pair of models is in significantly
      opposite order.
    """
    check_fraction("level", level)
    generator = check_generator(rng)
    both = [answers_of(one, name) for one, name in ((first, "first"), (second, "second"))]
    by_label = _by_label(clusters)
    tables, left_out = _tables(both)
    sides = [side_of(table, by_label, place) for place, table in enumerate(tables)]
    found, shared = agreement_of(sides, level)
    spread = np.array([spread_of(side) for side in sides])
    one, other = (
        mean_score(side.table, clusters=side.clusters, bootstrap=0, level=level) for side in sides
    )
    differences = [
        score_differences(
            side.table, clusters=side.clusters, adjustment="max_t", level=level,
            n_draws=n_draws, rng=generator,
        )
        for side in sides
    ]  # fmt: skip
    return BenchmarkAgreement(
        first=one,
        second=other,
        first_differences=differences[0],
        second_differences=differences[1],
        agreement=_estimate(found, spread[:, 1], sides, level),
        rank_correlation=_rank_correlation(one.value, other.value),
        reliability=spread[:, 0],
        spread_p=spread[:, 1],
        p_one=np.nan if found is None else found.p_one,
        log_odds=(sides[0].log_odds, sides[1].log_odds),
        n_questions=np.array([len(table.questions) for table in tables]),
        n_shared=shared,
        left_out=left_out,
        enough=enough(sides),
        names=names,
        labels=tables[0].models,
        level=level,
    )


def _by_label(clusters: Any) -> Mapping[Any, Any] | None:
    """Return a mapping from question labels to clusters."""
    if clusters is None or isinstance(clusters, Mapping):
        return clusters
    labels = index_of(clusters)
    if labels is None:
        msg = (
            "clusters has no question labels: pass a mapping or a Series from question to cluster"
        )
        raise OptionError(msg)
    return dict(zip(labels, np.asarray(clusters).tolist(), strict=True))


def _tables(both: list[RepeatedScores]) -> tuple[list[Table], Labels]:
    """Return both tables with the shared models, best first, and the excluded models."""
    values = [means_of(one, name) for one, name in zip(both, ("first", "second"), strict=True)]
    scored = [
        {model: row for row, model in enumerate(one.models) if np.isfinite(cells[row]).sum() > 1}
        for one, cells in zip(both, values, strict=True)
    ]
    known = shared_labels("model", both[0].models, both[1].models)
    models = [model for model in known if all(model in one for one in scored)]
    if len(models) < LEAST_MODELS:
        msg = (
            f"{len(models)} models have scores on at least two questions of both benchmarks "
            f"({listed(models)}): a correlation needs {LEAST_MODELS}"
        )
        raise ShapeError(msg)
    top = np.nanmean(values[0][[scored[0][model] for model in models]], axis=1)
    models = [models[row] for row in np.argsort(-top, kind="stable")]
    left_out = [model for one in both for model in one.models if model not in models]
    tables = [
        Table(cells[[rows[model] for model in models]], tuple(models), one.questions)
        for one, cells, rows in zip(both, values, scored, strict=True)
    ]
    return tables, tuple(dict.fromkeys(left_out))


def _estimate(
    found: TrueCorrelation | None, spread_p: FloatArray, sides: list[Side], level: float
) -> Estimate:
    """Return the true-score correlation, Kendall's tau and the probability of opposite order."""
    flag = Reason.NONE
    if found is None or (spread_p > 1.0 - level).any():
        flag = Reason.NOT_DISTINGUISHED
    elif any(side.few for side in sides):
        flag = Reason.FEW_CLUSTERS
    if found is None or flag is Reason.NOT_DISTINGUISHED:
        value, interval = np.full(3, np.nan), np.full((3, 2), np.nan)
    else:
        rho, bounds = found.value, found.interval
        value = np.array([rho, 2.0 * np.arcsin(rho) / np.pi, np.arccos(rho) / np.pi])
        tau, opposite = 2.0 * np.arcsin(bounds) / np.pi, np.arccos(bounds[::-1]) / np.pi
        interval = np.stack([bounds, tau, opposite])
    return Estimate(
        name="agreement",
        value=value,
        se=np.full(3, np.nan),
        interval=interval,
        n=np.full(3, float(len(sides[0].value))),
        flags=(flag,) * 3,
        method="restricted profile likelihood, t",
        level=level,
        labels=QUANTITIES,
        axis="quantity",
    )


def _rank_correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's rank correlation; NaN if all scores of a benchmark are equal."""
    from scipy.stats import rankdata

    # Round, because equal scores may differ by floating-point error.
    ranks = np.stack([rankdata(one.round(12)) for one in (first, second)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    sizes = np.sqrt((ranks**2).sum(axis=1))
    return float(np.prod(ranks, axis=0).sum() / sizes.prod()) if sizes.all() else np.nan
