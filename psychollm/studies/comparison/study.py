r"""Compare models by their scores on the same questions, with simultaneous bounds of the ranks.

Each pair of models is compared on the questions that both models answered. The intervals of all
differences :math:`\theta_i - \theta_j` are simultaneous (`score_differences`, "max_t"). Let
:math:`W_i` be the set of models that are significantly worse than model i, :math:`B_i` the set of
models that are significantly better, and K the number of models. Equation (1) gives the bounds of
the rank of model i:

.. math:: [1 + |B_i|, \; K - |W_i|].                                                      \quad (1)

The bounds are simultaneous for all models, at the level of the intervals. Two models are connected
if they have common questions, directly or through other models. Models that are not connected are
ranked separately. The number K of models and the intervals then refer to one connected set. Pairs
with fewer than ten questions, or with too few clusters, are inconclusive. Tiers are formed from
the top down: a tier ends before the first model that is significantly worse than the best model of
the tier.

`psychollm.studies.comparison.planning` computes the power to detect a difference, and to exclude a
relevant difference between equal models, from the standard error and the critical value.

The unit of replication is the question, or the cluster of questions. Repeated answers to a
question are averaged into one score.

References
----------
Mogstad, M., Romano, J. P., Shaikh, A. M., & Wilhelm, D. (2024). Inference for ranks with
applications to mobility across neighbourhoods and academic achievement across countries. Review of
Economic Studies, 91, 476-518. https://doi.org/10.1093/restud/rdad006

Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, check_share
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.numbers import count, percent, with_interval
from psychollm._base.result import Result, drawn_by
from psychollm._base.shown import one_line
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm._base.typeset import markdown_text
from psychollm._base.wording import parameter
from psychollm.calibration.stated import cluster_codes
from psychollm.data.connected import connected
from psychollm.data.labels import Labels, Table, listed, unit_labels
from psychollm.estimates.estimate import Estimate, proportion
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    exhibit,
    first_rows,
    sentence_list,
)
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.estimates.sample_size import about
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    judged_pairs,
    outcome,
)
from psychollm.reliability.means.clustered import mean_estimate, mean_score
from psychollm.reliability.means.pair_means import balanced, strata_of
from psychollm.reliability.means.repeated_scores import (
    RepeatedScores,
    answers_of,
    are_shares,
    means_of,
    span_of,
)
from psychollm.reliability.means.score_differences import (
    ScoreDifferences,
    one_only,
    score_differences,
)
from psychollm.studies.comparison.planning import (
    MANY,
    detectable_of,
    needed_of,
    power_in_words,
)
from psychollm.studies.comparison.ranks import enough, rank, shown_better, tiers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

    from psychollm.studies.people.study import BesidePeople

_PLANNED = ("detectable", "excludable", "needed")
_SHOWN = 3  # maximum number of pairs in the summary, which then fits in 24 lines
_ROWS = 8  # maximum number of models in the summary
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Study, Result):
    """Scores, ranks and tiers of models, best first, and the differences of all pairs.

    Examples
    --------
    >>> right = np.random.default_rng(1).random((3, 400)) < [[0.8], [0.6], [0.58]]
    >>> compare(right.astype(int), rng=1).to_frame()[["model", "rank_lower", "rank_upper", "tier"]]
       model  rank_lower  rank_upper  tier
    0      0           1           1     1
    1      1           2           3     2
    2      2           2           3     2
    """

    score: Estimate  # (models,) mean scores, the best first, with pointwise intervals
    differences: ScoreDifferences  # differences of all pairs, with simultaneous intervals
    rank: FloatArray  # (models,) 1 for the best; equal scores share a rank; NaN without a score
    rank_interval: IntArray  # (models, 2) simultaneous bounds (1)
    tier: IntArray  # (models,) 1 for the best model and models indistinguishable from it
    component: IntArray  # (models,) number of the connected set, 1 for the largest
    detectable: FloatArray  # (pairs,) difference that is detected with probability `power`
    needed: FloatArray  # (pairs,) number of questions needed to detect the observed difference
    power: float
    n_questions: int
    n_answers: float  # mean number of answers per model and question
    n_tasks: int  # number of tasks, if tasks have equal weight; 0 if questions do
    labels: Labels  # (models,)
    level: float
    people: "BesidePeople | None" = None
    span: float = 1.0  # range of the scores; 1 if they are between 0 and 1

    _AXES = Axes(
        {"model": "labels"},
        "score=score.value",
        "se=score.se",
        "{bound}=score.interval",
        "n=score.n",
        "rank",
        "rank_{bound}=rank_interval",
        "tier",
        "component",
        "flag=score.flags",
    )

    def pairs(self) -> "pd.DataFrame":
        """Return one row per pair: difference, detectable difference and questions needed."""
        power = {name: getattr(self, name) for name in _PLANNED}
        return self.differences.to_frame().assign(**power)

    @property
    def excludable(self) -> FloatArray:
        """Difference that is excluded with probability `power` if models are equal (pairs,)."""
        return detectable_of(self.differences, self.power, absence=True)

    def to_exclude(self, smallest: float) -> FloatArray:
        """Return the number of questions that excludes a difference if models are equal (pairs,).

        Parameters
        ----------
        smallest : float
            Difference to exclude, at most the range of the scores.

        Raises
        ------
        OptionError
            If `smallest` is not positive, or exceeds the range of the scores.
        """
        check_share("smallest", smallest, high=self.span)
        return needed_of(self.differences, smallest, self.power, absence=True)

    def tiers(self) -> tuple[Labels, ...]:
        """Return the models of each tier, best first, for one connected set after another."""
        places = sorted({pair for pair in zip(self.component, self.tier, strict=True) if pair[1]})
        return tuple(
            tuple(
                np.array(self.labels, dtype=object)[(self.component == part) & (self.tier == tier)]
            )
            for part, tier in places
        )

    def significantly_below(self, model: Any) -> Labels:
        """Return the models that score significantly lower than `model`.

        Parameters
        ----------
        model : label
            One of `labels`.

        Returns
        -------
        tuple
            Labels of the models with significantly lower scores, best first. The tests are the
            same as for the ranks: the error rate is controlled simultaneously over all pairs.

        Raises
        ------
        LabelError
            If `model` is not among the labels.
        """
        if model not in self.labels:
            msg = f"model {model!r} is not in the comparison: pass one of {listed(self.labels)}"
            raise LabelError(msg)
        better = shown_better(self.differences, self.component)[self.labels.index(model)]
        return tuple(self.labels[row] for row in np.flatnonzero(better))

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        return {"models": self.to_frame(), "pairs": self.pairs()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the best model, the ranks, the differences and the power."""
        judged, pairs = self.outcomes(smallest=smallest), self._adjacent()
        least = self.least(smallest)
        items = (
            Finding(
                statement=self._verdict(judged, least),
                numbers={"score": self.score},
                outcome=judged,
            ),
            Finding(
                key="ranks",
                question="How do the models rank?",
                rows=first_rows(range(len(self.labels)), self._model, most=_ROWS, table="models"),
                explanation=(
                    "The interval of each score is pointwise. The bounds of the ranks are "
                    "simultaneous: they cover all true ranks with a probability of "
                    f"{percent(self.level)}. A tier ends before the first model that is "
                    "significantly worse than the best model of the tier."
                ),
                numbers={"rank": self.rank, "rank_interval": self.rank_interval},
            ),
            Finding(
                key="differences",
                question="How much does each model differ from the next-ranked one?",
                rows=first_rows(
                    pairs,
                    lambda row: self._pair(row, judged, least),
                    most=_SHOWN,
                    table="pairs",
                ),
                explanation=(
                    "Differences between models are computed on the questions that both "
                    "answered. Pairing by question removes the variance of question difficulty. "
                    "Intervals of differences are simultaneous over all pairs of models."
                ),
                numbers={"value": self.differences.value, "interval": self.differences.interval},
            ),
            Finding(
                key="power",
                question="Which differences can these questions detect?",
                statement=power_in_words(self, least),
                numbers={name: getattr(self, name) for name in _PLANNED},
            ),
        )
        head = (
            f"{len(self.labels)} models, {count(self.n_questions)} questions"
            + (f", {self.n_answers:.3g} answers per question" if self.n_answers > 1.0 else "")
            + (f", {self._n_clusters()} clusters" if self._clustered() else "")
            + (f", {self.n_tasks} equally weighted tasks" if self.n_tasks else "")
            + "."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def least(self, smallest: SmallestEffects) -> float:
        """Return the smallest difference of interest, on the scale of the scores."""
        return smallest.share * self.span

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return whether each pair of models differs, is equivalent, or is inconclusive.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `share` is used, as a proportion of the range of
            the scores.
        """
        pairs, least = self.differences, self.least(smallest)
        return Verdicts(
            tuple(f"{a} - {b}" for a, b in zip(pairs.first, pairs.second, strict=True)),
            tuple(
                outcome(bounds, smallest=least, enough=bool(known)) if n else Outcome.APART
                for bounds, known, n in zip(pairs.interval, enough(pairs), pairs.n, strict=True)
            ),
        )

    def comment(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        r"""Return the verdict and a table of models as Markdown, for a pull request.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `share` is used.

        Examples
        --------
        >>> right = np.random.default_rng(1).random((2, 400)) < [[0.8], [0.6]]
        >>> print(compare(right.astype(int), rng=1).comment().split("\n\n")[1])
        | model | score | rank | tier |
        |---|---|---|---|
        | 0 | 0.810 [0.769, 0.845] | 1 | 1 |
        | 1 | 0.578 [0.529, 0.625] | 2 | 2 |
        """
        found = self.findings(smallest=smallest)
        rows = ["| model | score | rank | tier |", "|---|---|---|---|"]
        for row, model in enumerate(self.labels):
            name = markdown_text(one_line(str(model)))
            rank, tier = (self._bounds(row), self.tier[row]) if self.tier[row] else ("–", "–")
            rows.append(f"| {name} | {self.score.text(row, 3)} | {rank} | {tier} |")
        verdict, head, power = map(
            markdown_text, (found.verdict, found.head, found["power"].statement)
        )
        return "\n\n".join((verdict, "\n".join(rows), head, power))

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot scores and ranks, tier by tier: `psychollm.plots.plot_comparison`."""
        return drawn_by("plot_comparison")(self, ax=ax)

    def _verdict(self, judged: Verdicts, smallest: float) -> str:
        if not self.score.defined.any():
            return "No model has a score."
        n = int(self.component.max())
        shares = are_shares(self.score.value[self.score.defined])
        within = f"{100.0 * smallest:g} points" if shares else f"{smallest:g}"
        judgement = judged_pairs(judged, within=f"±{within}")
        if n == 1:
            return f"{self._best(1)} {judgement}".rstrip()
        each = " ".join(self._best(part) for part in range(1, n + 1))
        return (
            f"The models form {n} sets without a common question; models of different sets cannot "
            f"be compared. {each} {judgement}".rstrip()
        )

    def _best(self, part: int) -> str:
        """Return the best models of one set in words."""
        own = self.component == part
        ranked = self.score.defined & own
        if not ranked.any():
            return f"{sentence_list([self.labels[row] for row in np.flatnonzero(own)])}: no score."
        if own.sum() == 1 and (~own).any():
            row = int(np.flatnonzero(own)[0])
            return (
                f"{self.labels[row]} has no common question with others; its score is "
                f"{self.score.text(row, 3)}."
            )
        top = int(np.flatnonzero(ranked)[0])
        tops = ranked & (self.score.value == self.score.value[top])
        rivals = ranked & (self.rank_interval[:, 0] == 1)
        first, names = (
            [label for label, own in zip(self.labels, which, strict=True) if own]
            for which in (tops, rivals & ~tops)
        )
        ranks, is_, it = ("ranks", "is", "it") if len(first) == 1 else ("rank", "are", "them")
        among = ""
        if (~own).any():
            among = f"Of {sentence_list([self.labels[k] for k in np.flatnonzero(own)])}, "
        best = (
            f"{among}{sentence_list(first)} {ranks} first, with a score of "
            f"{self.score.text(top, 3)}"
        )
        if (rivals | tops)[ranked].all():
            who = "; no model is significantly worse"
        elif names:
            are = "is" if len(names) == 1 else "are"
            who = f"; {sentence_list(names, most=4)} {are} indistinguishable from {it}"
        else:
            who = f", and {is_} significantly better than every other model"
        return f"{best}{who}."

    def _model(self, row: int) -> str:
        text, tier = f"{self.labels[row]}: score {self.score.text(row, 3)}", self.tier[row]
        return f"{text}, rank {self._bounds(row)}, tier {tier}{self.part(row)}" if tier else text

    def part(self, row: int) -> str:
        """Return the connected set of a model in words, "" if all models are connected."""
        return f" of set {self.component[row]}" if self.component.max() > 1 else ""

    def _bounds(self, row: int) -> str:
        """Return the bounds of the rank as text."""
        low, high = self.rank_interval[row]
        return str(low) if low == high else f"{low} to {high}"

    def _adjacent(self) -> list[int]:
        """Return the row numbers of pairs of adjacent models in the same connected set."""
        i, j = np.triu_indices(len(self.labels), 1)
        return np.flatnonzero((j == i + 1) & (self.component[i] == self.component[j])).tolist()

    def _pair(self, row: int, judged: Verdicts, smallest: float) -> str:
        pairs, found = self.differences, self.needed[row]
        if not pairs.n[row]:
            return f"{pairs.first[row]} minus {pairs.second[row]}: no common question"
        gap = with_interval(pairs.value[row], pairs.interval[row], 3, signed=True)
        text = f"{pairs.first[row]} minus {pairs.second[row]}: {gap}"
        if judged.outcomes[row] is not Outcome.OPEN:
            return text
        fewer = self.to_exclude(smallest)[row]
        required = [f"{about(found)} to detect this difference"] if found < MANY else []
        if fewer < MANY:
            required.append(f"{about(fewer)} to show equivalence (±{smallest:g})")
        return f"{text}; questions needed: {', '.join(required)}" if required else text

    def _clustered(self) -> bool:
        return bool((self.differences.n_clusters < self.differences.n).any())

    def _n_clusters(self) -> str:
        return count(float(self.differences.n_clusters.max()))


def compare(
    scores: Any,
    *,
    clusters: Any = None,
    tasks: Any = None,
    people: Any = None,
    power: float = 0.8,
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> Comparison:
    """Compare models by their mean scores on the same questions.

    Parameters
    ----------
    scores : ScoreLog, Responses, RepeatedScores, DataFrame, DataArray or array_like
        Numeric scores, such as 1 for a correct answer: models x questions, models x questions x
        repeats, or a result of `read_scores` or `read_logs`. NaN marks missing scores.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage or template.
    tasks : array_like (questions,), optional
        Task of each question; if tasks are given, every task has equal weight.
    people : DataFrame, array_like or path, optional
        Scores of people on the same questions: a table, or a file for `read_people`. The
        comparison with people gives all questions equal weight, even if there are tasks.
    power : float
        Statistical power assumed for `detectable` and `needed`.
    level : float
        Coverage of the intervals: pointwise for scores, simultaneous for differences and ranks.
    n_draws : int
        Number of draws for the simultaneous intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    Comparison
        Models are sorted by score. If all scores are in [0, 1], intervals are Wilson intervals,
        otherwise Student's t intervals.

    Raises
    ------
    ShapeError
        If there is only one model, or clusters do not match the questions.
    CodeError
        If a score is not a finite number.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> right = np.random.default_rng(1).random((3, 400)) < [[0.8], [0.6], [0.58]]
    >>> print(compare(right.astype(int), rng=1).summary())
    3 models, 400 questions.
    0 ranks first, with a score of 0.810 [0.769, 0.845], and is significantly better than every
      other model. Of 3 pairs of models, 2 differ significantly and 1 is inconclusive.
    How do the models rank?
      0: score 0.810 [0.769, 0.845], rank 1, tier 1
      1: score 0.578 [0.529, 0.625], rank 2 to 3, tier 2
      2: score 0.562 [0.514, 0.610], rank 2 to 3, tier 2
    How much does each model differ from the next-ranked one?
      0 minus 1: +0.232 [+0.158, +0.307]
      1 minus 2: +0.015 [-0.070, +0.100]; questions needed: about 23,000 to detect this difference,
        about 2,700 to show equivalence (±0.05)
    Which differences can these questions detect? The smallest true difference detected with a
      power of 80 % is 10.0 to 11.5 points. Detecting a true difference of 5 points takes about
      1,600 to 2,100 questions. If two models are equal, the interval of their difference excludes,
      with a probability of 80 %, differences larger than 11.3 to 13.1 points. Values depend on the
      pair.
    """
    check_fraction("power", power, low=1.0 - check_fraction("level", level))
    answers = answers_of(scores)
    if len(answers.models) == 1 and (tries := int(answers.present.sum(axis=2).max())) > 1:
        remedy = parameter(
            "attempts", python="psy.attempts(scores)", command=f"{{}} 1,{tries}",
            without="psychollm compare --attempts",
        )  # fmt: skip
        msg = f"{one_only(answers.models[0])}; for success in several attempts, use {remedy}"
        raise ShapeError(msg)
    table = _means(answers, tasks)
    differences = score_differences(
        table, clusters=clusters, tasks=tasks, adjustment="max_t", level=level, n_draws=n_draws,
        rng=rng,
    )  # fmt: skip
    score = _score(table, answers, clusters, tasks, level)
    part = connected(np.isfinite(np.asarray(table.values, dtype=np.float64)))
    better = shown_better(differences, part)
    gap = np.where(np.abs(differences.value) > _ROUNDING, differences.value, 0.0)
    return Comparison(
        score=score,
        differences=differences,
        rank=rank(score.value, part),
        rank_interval=np.stack(
            [1 + better.sum(axis=0), np.bincount(part)[part] - better.sum(axis=1)], axis=1
        ),
        tier=tiers(better, score.defined, part),
        component=part + 1,
        detectable=detectable_of(differences, power),
        needed=needed_of(differences, gap, power),
        power=power,
        n_questions=int(answers.present.any(axis=(0, 2)).sum()),
        n_answers=float(answers.present.sum() / answers.present.any(axis=2).sum()),
        n_tasks=0
        if tasks is None
        else len(set(unit_labels(tasks, table.questions, argument="tasks"))),
        labels=table.models,
        level=level,
        people=None if people is None else _beside(table, people, clusters, level),
        span=span_of(answers.values[answers.present]),
    )


def _beside(table: Table, people: Any, clusters: Any, level: float) -> "BesidePeople":
    from psychollm.studies.people.table import beside_people

    return beside_people(table, people, clusters=clusters, level=level)


def _means(answers: RepeatedScores, tasks: Any) -> Table:
    """Return the mean over repeats by model and question, with the best model first."""
    values = means_of(answers)
    known = np.isfinite(values)
    scores, weight = values, known.astype(np.float64)
    if tasks is not None:
        scores, weight = balanced(values, weight, strata_of(tasks, answers.questions))
    mean = np.where(known, scores * weight, 0.0).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)
    order = np.lexsort((np.where(known.any(axis=1), -mean, np.inf), connected(known)))
    models = tuple(answers.models[row] for row in order)
    return Table(values[order], models, answers.questions)


def _score(
    table: Table, answers: RepeatedScores, clusters: Any, tasks: Any, level: float
) -> Estimate:
    """Return the mean scores, with Wilson intervals if all scores are in [0, 1]."""
    values = np.asarray(table.values, dtype=np.float64)
    known = np.isfinite(values)
    single = np.count_nonzero(answers.present) == np.count_nonzero(known)
    if clusters is None and tasks is None and single and np.isin(values[known], (0.0, 1.0)).all():
        n = known.sum(axis=1).astype(np.float64)
        hits = np.where(known, values, 0.0).sum(axis=1)
        empty = (n == 0, Reason.NO_SCORES)
        return proportion("score", hits, n, empty, level=level, labels=table.models)
    if tasks is None:
        mean = mean_score(table, clusters=clusters, bootstrap=0, level=level)
    else:
        codes = None if clusters is None else cluster_codes(clusters, table.questions)
        strata = strata_of(tasks, table.questions)
        parts = balanced(values, known.astype(np.float64), strata)
        options = Resampling.of(0, level, None)
        mean = mean_estimate(*parts, codes, options, "cr2", table.models)
    if not are_shares(values[known]):
        return replace(mean, name="score")
    # Means of scores in [0, 1] are treated as proportions with an effective sample size.
    varies = mean.se > 0.0
    size = (
        np.where(varies, mean.value * (1.0 - mean.value), 0.0) / np.where(varies, mean.se, 1) ** 2
    )
    interval = wilson(mean.value * size, size, level=level, df=mean.freedom)
    return replace(mean, name="score", interval=interval)
