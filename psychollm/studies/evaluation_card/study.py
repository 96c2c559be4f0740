"""Summary of an evaluation on one page.

`crossed_logistic` estimates proportions of variance and reliability, and `accuracies` uses the fit
of `crossed_logistic` to estimate accuracies. `compare` computes ranks, tiers and the smallest
detectable difference. `question_screen` flags suspect questions, and `calibration_panel` measures
calibration. The card also lists the limitations of the data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.numbers import count, extent, number, percent
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, unit_labels
from psychollm.data.logs_result import ScoreLog
from psychollm.data.table import numbers, one_model
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.reliability.components.crossed_logistic import (
    CrossedFit,
    CrossedLogistic,
    cell_counts,
    fit_crossed,
    grouped,
)
from psychollm.reliability.means.repeated_scores import RepeatedScores, answers_of, means_of
from psychollm.studies.attempts.result import Attempts
from psychollm.studies.attempts.study import attempts as attempts_of
from psychollm.studies.comparison.study import Comparison, compare
from psychollm.studies.evaluation_card.accuracies import Chances, accuracies
from psychollm.studies.evaluation_card.gaps import gaps
from psychollm.studies.judged_scores.result import JudgedScores
from psychollm.studies.judged_scores.study import judged_scores
from psychollm.studies.judged_scores.tables import named_like
from psychollm.studies.question_screen.study import QuestionScreen, question_screen

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN = 12
_STATED = ("overconfidence", "brier", "auroc")
WORDS = {
    "family": "families of models",
    "model": "models",
    "domain": "domains",
    "model:domain": "models x domains",
    "question": "questions",
    "model:question": "models x questions",
    "answer": "random variation of repeated answers",
    "residual": "models x questions, and random variation",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluationCard(Study, Result):
    """Accuracies, ranks and variance components of an evaluation, with models sorted by score.

    Examples
    --------
    >>> right = np.random.default_rng(1).random((3, 400)) < [[0.8], [0.6], [0.58]]
    >>> card = evaluation_card(right.astype(int), rng=1)
    >>> card.to_frame()[["model", "generalised", "rank_lower", "rank_upper", "tier"]].round(3)
       model  generalised  rank_lower  rank_upper  tier
    0      0        0.810           1           1     1
    1      1        0.578           2           3     2
    2      2        0.562           2           3     2
    """

    benchmark: Estimate  # (models,) expected accuracy on these questions
    generalised: Estimate  # (models,) accuracy in the question population
    comparison: Comparison  # differences, ranks and tiers
    mixed: CrossedLogistic | None  # components of variance; None if not fitted
    unmodelled: str  # reason why no mixed model was fitted, or ""
    screen: QuestionScreen | None  # suspect questions; None if scores are not within [0, 1]
    calibration: tuple[Estimate, ...]  # empty if no confidence was reported
    gaps: tuple[str, ...]  # limitations of the data
    n_questions: int
    n_answers: float  # mean number of answers of a model to a question
    missing: float  # proportion of cells without an answer
    groups: tuple[str, ...]  # names of the groups that were given: domains, families, clusters
    labels: Labels  # (models,)
    level: float
    judged: JudgedScores | None = None  # None without human labels
    attempts: Attempts | None = None  # pass@k and pass^k; None without `attempts`

    _AXES = Axes(
        {"model": "labels"},
        "benchmark=benchmark.value",
        "benchmark_{bound}=benchmark.interval",
        "generalised=generalised.value",
        "generalised_{bound}=generalised.interval",
        "n=generalised.n",
        ("rank", lambda card: card.comparison.rank),
        ("rank_lower", lambda card: card.comparison.rank_interval[:, 0]),
        ("rank_upper", lambda card: card.comparison.rank_interval[:, 1]),
        ("tier", lambda card: card.comparison.tier),
        "flag=generalised.flags",
    )

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study, by name."""
        tables = {"models": self.to_frame(), "pairs": self.comparison.pairs()}
        if self.mixed is not None:
            tables["shares"] = self.mixed.share.to_frame()
            tables["components"] = self.mixed.components.to_frame()
        if self.judged is not None:
            tables["judged"] = self.judged.tables()["models"]
        if self.attempts is not None:
            own = self.attempts.tables()
            tables |= {"attempts": own.pop("models")}
            tables |= {name: one for name, one in own.items() if name.startswith("frontier")}
        if self.screen is not None:
            tables["questions"] = self.screen.to_frame()
        return tables

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return accuracies, ranks, variance components, suspect questions and limitations."""
        compared = self.comparison.findings(smallest=smallest)
        items = [
            Finding(statement=compared.verdict, outcome=compared.items[0].outcome),
            Finding(
                key="accuracy",
                question="How accurate are the models?",
                rows=tuple(map(self._model, range(len(self.labels)))),
                explanation=self._accuracies(),
                numbers={"benchmark": self.benchmark, "generalised": self.generalised},
            ),
            *self._judged(smallest),
            *self._attempted(smallest),
            self._variance(),
            Finding(
                key="power",
                question="Which differences can be detected?",
                statement=compared["power"].statement,
                numbers={"detectable": self.comparison.detectable},
            ),
            *self._suspects(),
            *self._stated(),
            Finding(
                key="gaps",
                question="Which information is missing?",
                statement="" if self.gaps else "The data have no known gaps.",
                rows=self.gaps,
            ),
        ]
        found = Findings(items=tuple(items), head=self._head())
        return exhibit(found, self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw both accuracies and the ranks: `psychollm.plots.plot_evaluation_card`."""
        return drawn_by("plot_evaluation_card")(self, ax=ax)

    def rank_text(self, row: int) -> str:
        """Return the interval of a model's rank as text."""
        if not self.comparison.score.defined[row]:
            return "–"
        low, high = self.comparison.rank_interval[row]
        return str(low) if low == high else f"{low} to {high}"

    def _head(self) -> str:
        parts = [f"{len(self.labels)} models", f"{count(self.n_questions)} questions"]
        if self.n_answers > 1.0:
            parts.append(f"{self.n_answers:.3g} answers per question")
        if self.missing:
            parts.append(f"{percent(self.missing, 1)} of cells without an answer")
        return f"{', '.join(parts)}."

    def _model(self, row: int) -> str:
        text = (
            f"{self.labels[row]}: benchmark accuracy {self.benchmark.text(row, 3)}, "
            f"generalised accuracy {self.generalised.text(row, 3)}"
        )
        tier = f"{self.comparison.tier[row]}{self.comparison.part(row)}"
        return text if tier[0] == "0" else f"{text}, rank {self.rank_text(row)}, tier {tier}"

    def _accuracies(self) -> str:
        population = (
            "a population of questions from the same domains"
            if "domains" in self.groups
            else "the question population"
        )
        repeats = (
            "The interval of benchmark accuracy reflects the random variation of repeated answers"
        )
        if self.n_answers <= 1.0:
            repeats += (
                "; with one answer per question it is conservative. A model that always gives "
                "the same answer has no such variation"
            )
        return (
            f"Benchmark accuracy refers to the questions that were asked. {repeats}. Generalised "
            f"accuracy refers to {population}; its interval reflects the sampling of both "
            "questions and answers. Ranks refer to the question population; "
            f"their {percent(self.level)} intervals are simultaneous."
            + (" Ranks use observed answers only, no predicted ones." * bool(self.missing))
        )

    def _judged(self, smallest: SmallestEffects) -> Iterator[Finding]:
        if self.judged is None:
            return
        found = self.judged.findings(smallest=smallest)
        scores, judge = found["scores"], found["judge"]
        yield Finding(
            key="judged",
            question="How would people score the answers?",
            statement=f"{found.verdict} {judge.statement}",
            rows=(*scores.rows, *judge.rows),
            explanation=scores.explanation,
            numbers=scores.numbers,
        )

    def _attempted(self, smallest: SmallestEffects) -> Iterator[Finding]:
        if self.attempts is None:
            return
        found = self.attempts.findings(smallest=smallest)
        models = found["models"]
        yield Finding(
            key="attempts",
            question="How often do repeated attempts succeed?",
            statement=found.verdict,
            rows=models.rows,
            explanation=models.explanation,
            numbers=models.numbers,
        )
        yield from (replace(found[f"frontier_{of}"], exhibits=()) for of in self.attempts.spent)

    def _variance(self) -> Finding:
        mixed = self.mixed
        question = "Where does the variance of answers come from?"
        if mixed is None:
            why = f"Variance components were not estimated: {self.unmodelled}."
            return Finding(key="variance", question=question, statement=why, reason=why)
        share = mixed.share
        rows = tuple(
            f"{WORDS[label]}: {_percents(share, row)} of variance"
            for row, label in enumerate(share.labels)
        )
        return Finding(
            key="variance",
            question=question,
            statement=f"{self._reliability()}",
            rows=rows,
            explanation=(
                "Each component is a proportion of the variance of one answer, estimated by a "
                "crossed mixed model."
            ),
            numbers={"share": share, "components": mixed.components},
        )

    def _reliability(self) -> str:
        assert self.mixed is not None  # noqa: S101 -- for the type checker
        return (
            "The reliability of the ranking (proportion of score variance that new questions and "
            f"answers would reproduce) is {self.mixed.reliability.text(0, 2)}."
        )

    def _suspects(self) -> Iterator[Finding]:
        if self.screen is None:
            return
        found = self.screen.findings()
        dead, against = sum(map(bool, self.screen.dead)), found["against"]
        rows = against.rows[:_SHOWN]
        pairs = len(self.screen.pairs)
        of_pairs = f"; {count(pairs)} {'pairs are duplicates' if pairs > 1 else 'is a duplicate'}"
        yield Finding(
            key="suspects",
            question="Which questions are suspect?",
            statement=(
                f"{count(dead)} of {count(self.n_questions)} questions "
                f"{'has' if dead == 1 else 'have'} zero variance{of_pairs if pairs else ''}. "
                f"{'Negative item-rest correlations:' if rows else against.statement}"
            ),
            rows=rows,
            explanation="If better models fail more often on a question, check its key."
            if rows
            else "",
            numbers={"against_p": self.screen.against_p},
        )

    def _stated(self) -> Iterator[Finding]:
        if not self.calibration:
            return
        over = next(one for one in self.calibration if one.name == "overconfidence")
        yield Finding(
            key="calibration",
            question="Does reported confidence match accuracy?",
            rows=tuple(
                f"{label}: mean confidence minus accuracy {over.text(row, 3, signed=True)}"
                for row, label in enumerate(over.labels)
            ),
            numbers={one.name: one for one in self.calibration},
        )


def evaluation_card(
    scores: Any,
    *,
    domains: Any = None,
    families: Any = None,
    clusters: Any = None,
    confidence: Any = None,
    human_labels: Any = None,
    attempts: Sequence[int] | None = None,
    cost: str | None = None,
    seconds: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    n_draws: int = 2000,
    rng: RandomState = None,
) -> EvaluationCard:
    """Summarise an evaluation: accuracies, ranks, variance, suspect questions and limitations.

    Parameters
    ----------
    scores : ScoreLog, RepeatedScores, Responses, DataFrame, DataArray or array_like
        Scores, such as 1 for a correct answer: models x questions, models x questions x repeats,
        or a result of `read_scores` or `read_logs`, whose confidences are also used. NaN marks
        missing scores. No mixed model is fitted to graded scores.
    domains : mapping or array_like (questions,), optional
        Domain of each question. The question population has the same domains in the same
        proportions.
    families : mapping or array_like (models,), optional
        Family of each model.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage or template. Clusters are the sampling units
        of the question population.
    confidence : DataFrame or array_like (models, questions), optional
        Reported probabilities that an answer is correct, in [0, 1].
    human_labels : ScoreLog, DataFrame or array_like (models, questions), optional
        Human labels of some answers, if `scores` were assigned by a judge; NaN for answers without
        a label. With labels, `judged_scores` estimates the human scores of all answers.
    attempts : sequence of int, optional
        Numbers k of attempts for pass@k and pass^k, if questions were asked several times and
        scores are 0 and 1.
    cost, seconds : str, optional
        Columns of `scores` with the cost and the duration of each attempt, used with `attempts`.
    power : float
        Power with which the smallest detectable difference is detected.
    level : float
        Coverage of the intervals.
    n_draws : int
        Number of posterior draws. Simultaneous intervals use at least 4000 draws.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    EvaluationCard
        Models are sorted by score. Values without an interval have a flag that gives the reason.

    Raises
    ------
    ShapeError, LabelError
        If there are fewer than two models, or domains, families, clusters or confidences do not
        match the scores.
    CodeError
        If a score is infinite or not a number, or a confidence is outside [0, 1].
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> chance = 1 / (1 + np.exp(-rng.normal(size=(6, 1, 1)) - rng.normal(size=(1, 200, 1))))
    >>> card = evaluation_card((rng.random((6, 200, 2)) < chance).astype(int), rng=1)
    >>> print(card.mixed.share.labels)
    ('model', 'question', 'model:question', 'answer')
    >>> print(card.gaps[0][:21])
    No domains were given
    """
    check_fraction("level", level)
    if attempts is None and (cost or seconds):
        msg = "cost and seconds need attempts: pass, for example, attempts=(1, 3)"
        raise OptionError(msg)
    n_draws = check_count("n_draws", n_draws, low=100, high=DRAWS)
    generator = check_generator(rng)
    answers = answers_of(scores)
    stated = _stated_in(scores, confidence, answers)
    if human_labels is not None:  # rows of an array are in the order of `scores`
        human_labels = named_like(human_labels, answers)
    compared = compare(
        answers, clusters=clusters, power=power, level=level, n_draws=max(n_draws, 4000),
        rng=generator,
    )  # fmt: skip
    order = [answers.models.index(label) for label in compared.labels]
    families = _reordered(families, answers, order)
    answers = RepeatedScores(
        values=answers.values[order], models=compared.labels, questions=answers.questions,
        runs=answers.runs,
    )  # fmt: skip
    fit, unmodelled = _fitted(answers, domains, families)
    mixed = None if fit is None else fit.result(n_draws, level, generator)
    benchmark, generalised = accuracies(
        answers,
        None if fit is None else Chances.of(fit, generator),
        clusters=None if clusters is None else cluster_codes(clusters, answers.questions),
        domains=grouped(domains, answers.questions, "domains", "question")[0],
        level=level,
    )
    shares = _within_one(answers.values)
    present = answers.present
    missing = 1.0 - float(present.any(axis=2).mean())
    n_answers = float(present.sum() / max(present.any(axis=2).sum(), 1))
    given = {"domains": domains, "families": families, "clusters": clusters}
    named = tuple(name for name, one in given.items() if one is not None)
    return EvaluationCard(
        benchmark=benchmark,
        generalised=generalised,
        comparison=compared,
        mixed=mixed,
        unmodelled=unmodelled,
        screen=question_screen(answers, families=families) if shares else None,
        calibration=_calibration(stated, answers, clusters, level, generator),
        gaps=tuple(
            gaps(
                answers,
                named,
                n_answers,
                missing,
                unmodelled=unmodelled,
                stated=stated is not None,
                sets=int(compared.component.max()),
            )
        ),
        n_questions=len(answers.questions),
        n_answers=n_answers,
        missing=missing,
        groups=named,
        labels=compared.labels,
        level=level,
        judged=None
        if human_labels is None
        else judged_scores(
            answers, human_labels, clusters=clusters, families=families, level=level, rng=generator
        ),
        attempts=None
        if attempts is None
        else attempts_of(
            scores,
            k=attempts,
            cost=cost,
            seconds=seconds,
            clusters=clusters,
            level=level,
            rng=generator,
        ),
    )


def _reordered(families: Any, answers: RepeatedScores, order: list[int]) -> Any:
    """Return the families in the order of the models sorted by score."""
    if families is None:
        return None
    names = unit_labels(families, answers.models, argument="families", kind="model")
    return [names[row] for row in order]


def _fitted(answers: RepeatedScores, domains: Any, families: Any) -> tuple[CrossedFit | None, str]:
    """Return the mixed model, or None and the reason why it cannot be fitted."""
    try:
        cell_counts(answers)
    except (CodeError, ShapeError) as error:
        return None, str(error)
    fit = fit_crossed(answers, domains, families)
    fit.top.convergence.warn("the crossed logistic model")
    return fit, ""


def _within_one(values: FloatArray) -> bool:
    known = values[np.isfinite(values)]
    return bool(((known >= 0.0) & (known <= 1.0)).all())


def _stated_in(scores: Any, confidence: Any, answers: RepeatedScores) -> "pd.DataFrame | None":
    """Return passed or logged confidences (models, questions), or None if there are none."""
    import pandas as pd

    if confidence is not None:
        table = one_model(confidence, argument="confidence")
        values = numbers(table, argument="confidence")
        if values.shape == answers.values.shape[:2] and not hasattr(confidence, "columns"):
            return pd.DataFrame(values, answers.models, answers.questions)
        return pd.DataFrame(values, table.models, table.questions)
    if not isinstance(scores, ScoreLog):
        return None
    frame = scores.frame.dropna(subset=["confidence"])
    if frame.empty:
        return None
    return frame.pivot_table("confidence", index="model", columns="question")


def _calibration(
    stated: "pd.DataFrame | None",
    answers: RepeatedScores,
    clusters: Any,
    level: float,
    rng: np.random.Generator,
) -> tuple[Estimate, ...]:
    """Return calibration measures of the confidences, if available."""
    if stated is None or not _within_one(answers.values):
        return ()
    import pandas as pd

    means = pd.DataFrame(means_of(answers), answers.models, answers.questions)
    right = means.where(means.isna(), (means > 0.5).astype(float))
    stated = stated.reindex(index=answers.models, columns=answers.questions)
    panel = calibration_panel(
        stated, right, metrics=_STATED, clusters=clusters, bootstrap=500, level=level, rng=rng
    )
    return tuple(panel[key] for key in _STATED)


def _percents(share: Estimate, row: int) -> str:
    low, high = (number(100.0 * one, 1) for one in share.interval[row])
    return f"{number(100.0 * share.value[row], 1)} % [{low}, {high}]"


def detectable_texts(card: EvaluationCard) -> tuple[str, str]:
    """Return the median and range, over all pairs, of the smallest detectable difference."""
    known = card.comparison.detectable[np.isfinite(card.comparison.detectable)]
    return (number(np.median(known), 3), extent(known, 3)) if known.size else ("–", "")
