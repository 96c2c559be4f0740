"""A gate, which says which questions to answer, and what is known of it."""

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
_RIVALS = {OWN: "the model's own yes", SHARED: "the shared score of other models"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gate(Result):
    """Says of each question whether a model should answer it. Made by `fit_gate`.

    Attributes
    ----------
    goal : str
        What the cut was chosen for, such as "risk 0.1" or "F1".
    cut : float
        Probability of a correct answer from which to answer; infinite where never to.
    expected : mapping
        "coverage", "risk" and "f_beta" on questions not seen, each (value, lower, upper).
    n : int
        Questions that it was fitted to.

    Examples
    --------
    >>> gate = Gate(words=None, mean=np.zeros(1), scale=np.ones(1), weights=np.array([2.0]),
    ...             intercept=0.0, slope=1.0, offset=0.0, cut=0.5, goal="F1", n=100)
    >>> gate.answer(features=[[1.0], [-1.0]])
    array([ True, False])
    """

    words: Words | None  # None where features are given
    mean: FloatArray | None  # (features,)
    scale: FloatArray | None  # (features,)
    weights: FloatArray  # (features,)
    intercept: float
    slope: float  # of the log odds of a correct answer on the predicted score
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
            Questions; what `features`, a function of them, is applied to.
        features : array_like (questions, features) or function, optional
            What the gate was fitted to, if not to words.

        Raises
        ------
        InputError
            If it is not given what it was fitted to.
        ShapeError
            If features have another length.
        """
        if self.words is not None:
            if features is not None or texts is None:
                msg = "this gate reads texts: pass the questions, and no features"
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
        kind = "features" if self.words is None else f"{len(self.words.terms)} terms and surface"
        said = ", ".join(
            f"{name} {three[0]:.3f} [{three[1]:.3f}, {three[2]:.3f}]"
            for name, three in self.expected.items()
        )
        return (
            f"Gate for {self.goal}: {kind}, from {self.n} questions; expected {said or 'unknown'}"
        )


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        msg = f"texts={texts!r:.60} is one question: pass a list, [{texts!r:.60}]"
        raise InputError(msg)
    return list(texts)


def _table(texts: Sequence[str] | None, features: Any, n: int) -> FloatArray:
    if features is None:
        msg = "this gate was fitted to features: pass features=, or the function that makes them"
        raise InputError(msg)
    if callable(features):
        make: Callable[[list[str]], Any] = features
        if texts is None:
            msg = "features is a function: pass the questions that it is to be applied to"
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
    """A gate, and how it does on questions that it has not seen.

    Attributes
    ----------
    gate : Gate
        Fitted to all questions.
    coverage, risk, f_beta : Estimate
        Of the rules: the gate, always answering, and the model's own yes/no where it was given.
        Risk is the share of wrong answers among those given.
    at_own_share : Estimate or None
        Risk of the model's own yes, and of the gate and the shared score where they answer as
        many questions; beside them that of always answering. Where `own` was given.
    auroc : Estimate
        How well the probability tells right from wrong.
    probability, answered : ndarray (questions,)
        By gates that had not seen the question.

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
        """Return whether the gate is worth having, and what each rule gives.

        Where `own` was given, what decides is the gate's risk beside that of the model's own yes
        at the same share of answers; then beside the shared score, and beside always answering:
        in risk, where a risk was the goal, in F-beta otherwise. `smallest.share` is what matters.
        """
        own = self.at_own_share
        found = []
        if own is not None:
            rivals = [name for name in own.labels if name in _RIVALS]
            found = [self._beside(own, name, smallest.share) for name in rivals]
        always = self._beside_always(smallest.share, key=not found)
        return exhibit(Findings(items=(*found, always)), self, smallest, by="of_gate")

    def _beside(self, risks: Estimate, rival: str, smallest: float) -> Finding:
        """Return the finding on the gate and another rule at the same share of answers."""
        lead = risks.difference("gate", rival)
        shown = outcome(lead.interval, smallest=smallest)
        share = self.coverage.value[self.coverage.labels.index(OWN)]
        gap = with_interval(lead.value, lead.interval, 3, signed=True)
        judged = {
            Outcome.BELOW: "is wrong less often than",
            Outcome.ABOVE: "is wrong more often than",
            Outcome.SMALL: f"is wrong as often, to within {smallest:g}, as",
        }.get(shown, "was tried on too few questions to say whether it is wrong less often than")
        return Finding(
            key=VERDICT if rival == OWN else "shared",
            question=f"Does the text do as well as {_RIVALS[rival]}?",
            statement=(
                f"Where both answer {100 * share:.0f} % of the questions, the gate {judged} "
                f"{_RIVALS[rival]}: difference in risk {gap}."
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
        """Return the finding on the gate and always answering."""
        name = "risk" if self.gate.goal.startswith("risk") else "f_beta"
        lead = getattr(self, name).difference("gate", "always answer")
        shown = outcome(lead.interval, smallest=smallest)
        better = Outcome.BELOW if name == "risk" else Outcome.ABOVE
        if shown.shown:
            judged = "does better than" if shown is better else "does worse than"
        elif shown is Outcome.SMALL:
            judged = f"does as well, to within {smallest:g}, as"
        else:
            judged = "was tried on too few questions to say whether it does better than"
        rules = range(len(self.coverage.labels))
        return Finding(
            key=VERDICT if key else "always",
            question="" if key else "Is the gate better than always answering?",
            statement=(
                f"The gate for {self.gate.goal} {judged} always answering: "
                f"{MEASURES[name]} {with_interval(lead.value, lead.interval, 3, signed=True)}, "
                f"by nested cross-validation on {self.correct.size} questions; AUROC "
                f"{self.auroc.text(0, 3)}."
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
    """Return the probability that goes with log odds."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * log_odds)))
