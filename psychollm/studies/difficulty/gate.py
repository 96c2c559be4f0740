"""Gate that decides which questions to answer, and its estimated performance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.numbers import with_interval
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import VERDICT, Finding, Findings, Study, exhibit
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.studies.difficulty.words import Words

OWN, SHARED = "own yes/no", "shared score"
_RIVALS = {OWN: "the model's own yes", SHARED: "the factor score of other models"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gate(Result):
    """Rule that decides whether a model should answer a question, created by `fit_gate`.

    Attributes
    ----------
    goal : str
        Criterion of the threshold, such as "risk 0.1" or "F1".
    cut : float
        Threshold of the gate: a question is answered if its probability of a correct answer is at
        least `cut`. The threshold is infinite if the rule never selects a question.
    expected : mapping
        Estimates (value, lower, upper) of "coverage", "risk" and "f_beta" on new questions.
    n : int
        Number of questions used to fit the rule.

    Examples
    --------
    >>> gate = Gate(words=None, mean=np.zeros(1), scale=np.ones(1), weights=np.array([2.0]),
    ...             intercept=0.0, slope=1.0, offset=0.0, cut=0.5, goal="F1", n=100)
    >>> gate.answer(features=[[1.0], [-1.0]])
    array([ True, False])
    """

    words: Words | None  # None if the gate was fitted to features
    mean: FloatArray | None  # (features,)
    scale: FloatArray | None  # (features,)
    weights: FloatArray  # (features,)
    intercept: float
    slope: float  # change of the log odds of a correct answer per unit of predicted score
    offset: float
    cut: float
    goal: str
    n: int
    expected: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def score(
        self,
        texts: Sequence[str] | None = None,
        *,
        features: Any = None,
    ) -> FloatArray:
        """Return the predicted score of each question (questions,).

        Parameters
        ----------
        texts : sequence of str, optional
            Questions. If `features` is a function, it is called with the list of texts.
        features : array_like (questions, features) or function, optional
            Features of the same kind as in the fit, if the gate was not fitted to words.

        Raises
        ------
        InputError
            If features are passed to a gate that was fitted to texts, or texts to a gate that was
            fitted to features.
        ShapeError
            If the number of features differs from the number in the fit.
        """
        if self.words is not None:
            if features is not None or texts is None:
                msg = "this gate was fitted to texts: pass texts, and no features"
                raise InputError(msg)
            return np.asarray(self.words.measure(_listed(texts)) @ self.weights + self.intercept)
        table = _table(texts, features, self.weights.size)
        standard = np.subtract(table, self.mean) / self.scale  # type: ignore[arg-type]
        return np.asarray(standard @ self.weights + self.intercept)

    def probability(
        self, texts: Sequence[str] | None = None, *, features: Any = None
    ) -> FloatArray:
        """Return the probability of a correct answer to each question (questions,)."""
        return curve(self.offset + self.slope * self.score(texts, features=features))

    def answer(self, texts: Sequence[str] | None = None, *, features: Any = None) -> BoolArray:
        """Return whether to answer each question (questions,)."""
        chance = self.probability(texts, features=features)
        return np.asarray(chance >= self.cut, dtype=np.bool_)

    def __repr__(self) -> str:
        kind = (
            "features"
            if self.words is None
            else f"{len(self.words.terms)} terms and surface features"
        )
        said = ", ".join(
            f"{name} {three[0]:.3f} [{three[1]:.3f}, {three[2]:.3f}]"
            for name, three in self.expected.items()
        )
        return (
            f"Gate for {self.goal}: {kind}, fitted to {self.n} questions; expected "
            f"{said or 'unknown'}"
        )


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        msg = f"texts={texts!r:.60} is one question: pass a list of questions"
        raise InputError(msg)
    return list(texts)


def _table(texts: Sequence[str] | None, features: Any, n: int) -> FloatArray:
    if features is None:
        msg = "this gate was fitted to features: pass features=, a table or a function of texts"
        raise InputError(msg)
    if callable(features):
        make: Callable[[list[str]], Any] = features
        if texts is None:
            msg = "features is a function of the questions: pass texts, too"
            raise OptionError(msg)
        features = make(_listed(texts))
    table = float_array(features, "features")
    if table.ndim != 2 or table.shape[1] != n:
        msg = f"features must be (questions, {n}), got shape {table.shape}"
        raise ShapeError(msg)
    return table


MEASURES = {"coverage": "coverage", "risk": "risk", "f_beta": "F-beta"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateFit(Study, Result):
    """Gate with its estimated performance on new questions.

    Attributes
    ----------
    gate : Gate
        Gate fitted to all questions.
    coverage, risk, f_beta : Estimate
        Performance of each rule: the gate, always answering and, if passed, the model's
        self-report (yes or no). Risk is the proportion of wrong answers among answered questions.
    at_own_share : Estimate or None
        Risks of the model's self-report, of the gate and the factor score at the same coverage,
        and of always answering; None without `own`.
    auroc : Estimate
        AUROC of the out-of-fold probabilities for correct answers.
    probability, answered : ndarray (questions,)
        Out-of-fold probabilities and decisions.

    Examples
    --------
    >>> from psychollm.studies import fit_gate
    >>> texts = [f"What is {'7' * (1 + n % 9)} + 1?" for n in range(90)]
    >>> right = [float(n % 9 < 4 or n % 13 == 0) for n in range(90)]
    >>> fit_gate(texts, right, f_beta=0.5, n_folds=5, bootstrap=20, rng=0).coverage.labels
    ('gate', 'always answer')
    """

    gate: Gate
    coverage: Estimate  # (rules,)
    risk: Estimate  # (rules,)
    f_beta: Estimate  # (rules,)
    auroc: Estimate  # (1,)
    probability: FloatArray  # (questions,)
    answered: BoolArray  # (questions,)
    correct: FloatArray  # (questions,)
    beta: float
    level: float
    at_own_share: Estimate | None = None  # (rules,)

    _AXES = Axes({"rule": "coverage.labels"}, "coverage", "risk", "f_beta", "flag=risk.flags")

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return comparisons of the gate with the other rules.

        With `own`, the verdict compares the risks of the gate and of the model's self-report at
        equal coverage. Further findings compare the gate with the factor score and with the rule
        of always answering. The comparison with the rule of always answering uses risk if the goal
        was a limit on risk, and F-beta otherwise. `smallest.share` is the smallest effect of
        interest.
        """
        own = self.at_own_share
        found = []
        if own is not None:
            rivals = [name for name in own.labels if name in _RIVALS]
            found = [self._beside(own, name, smallest.share) for name in rivals]
        always = self._beside_always(smallest.share, key=not found)
        return exhibit(Findings(items=(*found, always)), self, smallest, by="of_gate")

    def _beside(self, risks: Estimate, rival: str, smallest: float) -> Finding:
        """Compare the risk of the gate with the risk of another rule at equal coverage."""
        lead = risks.difference("gate", rival)
        shown = outcome(lead.interval, smallest=smallest)
        share = self.coverage.value[self.coverage.labels.index(OWN)]
        gap = with_interval(lead.value, lead.interval, 3, signed=True)
        judged = {
            Outcome.BELOW: "is wrong less often than",
            Outcome.ABOVE: "is wrong more often than",
            Outcome.SMALL: f"is equivalent (±{smallest:g}) to",
        }.get(shown, "does not differ significantly from")
        return Finding(
            key=VERDICT if rival == OWN else "shared",
            question=f"Is the gate as good as {_RIVALS[rival]}?",
            statement=(
                f"The gate {judged} {_RIVALS[rival]}. Difference in risk {gap}, if both answer "
                f"{100 * share:.0f} % of the questions."
            ),
            rows=tuple(
                f"{name}: risk {risks.text(row, 3)}" for row, name in enumerate(risks.labels)
            )
            if rival == OWN
            else (),
            numbers={"risk": risks, "lead": lead},
            outcome=shown,
        )

    def _beside_always(self, smallest: float, *, key: bool) -> Finding:
        """Return the finding that compares the gate with always answering."""
        name = "risk" if self.gate.goal.startswith("risk") else "f_beta"
        lead = getattr(self, name).difference("gate", "always answer")
        shown = outcome(lead.interval, smallest=smallest)
        better = Outcome.BELOW if name == "risk" else Outcome.ABOVE
        if shown.shown:
            judged = "is better than" if shown is better else "is worse than"
        elif shown is Outcome.SMALL:
            judged = f"is equivalent (±{smallest:g}) to"
        else:
            judged = "does not differ significantly from"
        rules = range(len(self.coverage.labels))
        return Finding(
            key=VERDICT if key else "always",
            question="" if key else "Is the gate better than always answering?",
            statement=(
                f"The gate for {self.gate.goal} {judged} always answering. Difference in "
                f"{MEASURES[name]} {with_interval(lead.value, lead.interval, 3, signed=True)}; "
                f"AUROC {self.auroc.text(0, 3)}. Nested cross-validation on {self.correct.size} "
                "questions."
            ),
            rows=tuple(
                f"{self.coverage.labels[rule]}: "
                + ", ".join(
                    f"{words} {getattr(self, measure).text(rule, 3)}"
                    for measure, words in MEASURES.items()
                )
                for rule in rules
            ),
            numbers={**{measure: getattr(self, measure) for measure in MEASURES}, "lead": lead},
            outcome=shown,
        )


def curve(log_odds: FloatArray) -> FloatArray:
    """Return probabilities from log odds."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * log_odds)))
