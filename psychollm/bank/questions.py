"""Calibrated questions, and conversion of answers to scores on them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np

from psychollm._base.errors import CodeError, LabelError
from psychollm._base.numbers import count
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.bank.calibration import Calibration, Drawing
from psychollm.data.labels import Labels, listed
from psychollm.reliability.means.repeated_scores import answers_of, means_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedQuestions(Result):
    """Calibrated questions, with the answers of the calibration sample and the calibration."""

    questions: Labels
    models: Labels
    scores: FloatArray  # (models, questions)
    families: Labels | None
    domains: Labels | None
    drawing: Drawing
    calibration: Calibration
    version: int = 1

    @property
    def intercepts(self) -> FloatArray:
        """Intercept of each question (questions,), the logit of a median model's score."""
        return np.asarray(self.drawing.items.items[:, 0])

    @property
    def means(self) -> FloatArray:
        """Mean score of the bank's models on each question (questions,)."""
        known = np.isfinite(self.scores)
        total = np.where(known, self.scores, 0.0).sum(axis=0)
        answers = known.sum(axis=0)
        return np.asarray(total / answers, dtype=np.float64)

    @property
    def population(self) -> tuple[float, float]:
        """Centre and degrees of freedom of the ratio of observed to expected squared error."""
        return self.calibration.phi, self.calibration.df

    @property
    def digest(self) -> str:
        """Hash of the questions, the calibration answers and the calibration."""
        held = sha256(repr((self.version, self.questions, self.domains)).encode())
        for array in (self.scores, self.drawing.items.items, self.drawing.beforehand):
            held.update(np.ascontiguousarray(array).tobytes())
        return held.hexdigest()[:16]

    def taken(self, which: IntArray) -> Self:
        """Return the bank with some of its questions."""
        domains = self.domains
        return replace(
            self,
            questions=tuple(self.questions[j] for j in which),
            scores=np.ascontiguousarray(self.scores[:, which]),
            domains=None if domains is None else tuple(domains[j] for j in which),
            drawing=self.drawing.taken(which),
            calibration=self.calibration.taken(which),
        )

    def within(self, domain: Any) -> BoolArray:
        """Return a mask of the questions in a domain (questions,); None means all questions."""
        if domain is None:
            return np.ones(len(self.questions), dtype=bool)
        if self.domains is None:
            msg = f"domain={domain!r}: the bank has no domains: pass domains= to item_bank"
            raise LabelError(msg)
        within = np.array([held == domain for held in self.domains], dtype=bool)
        if not within.any():
            msg = f"domain {domain!r} is not in the bank: use one of {listed(self.domain_names)}"
            raise LabelError(msg)
        return within

    @property
    def domain_names(self) -> Labels:
        """Domains in order of their first question."""
        return () if self.domains is None else tuple(dict.fromkeys(self.domains))

    def read(self, answers: Any, argument: str = "answers") -> tuple[Labels, FloatArray]:
        """Return labels of models and their scores (models, questions); missing scores are NaN."""
        labels: Labels
        values: Any
        if isinstance(answers, Mapping):
            labels, questions, values = ("model",), tuple(answers), [list(answers.values())]
        elif getattr(answers, "ndim", 0) == 1 and hasattr(answers, "index"):
            questions, values = tuple(answers.index.tolist()), [answers.to_numpy()]
            labels = (getattr(answers, "name", None) or "model",)
        else:
            held = answers_of(answers, argument)
            questions, values, labels = held.questions, means_of(held, argument), held.models
        place = {question: j for j, question in enumerate(self.questions)}
        unknown = [question for question in questions if question not in place]
        if unknown:
            msg = (
                f"{argument}: {listed(unknown)} not in the bank of "
                f"{count(len(self.questions))} questions such as {listed(self.questions[:2])}"
            )
            raise LabelError(msg)
        scores = np.full((len(labels), len(self.questions)), np.nan)
        given = numbers_of(values, labels, questions, argument)
        scores[:, [place[question] for question in questions]] = given
        return labels, scores

    def answered_alike(self, asked: BoolArray, share: float) -> BoolArray:
        """Return a mask of the bank's models that answered enough of the given questions."""
        known = np.isfinite(self.scores[:, asked]).sum(axis=1)
        return np.asarray(known >= share * max(int(asked.sum()), 1))


def numbers_of(
    values: Any, labels: Labels, questions: Labels, argument: str = "answers"
) -> FloatArray:
    """Return scores from 0 to 1 (models, questions); raise an error for an invalid score."""
    try:
        given = np.array([[np.nan if v is None else float(v) for v in row] for row in values])
    except (TypeError, ValueError) as error:
        msg = f"{argument} must be numbers from 0 to 1, or missing: {error}"
        raise CodeError(msg) from error
    with np.errstate(invalid="ignore"):
        bad = np.argwhere((given < 0.0) | (given > 1.0))
    if bad.size:
        row, column = bad[0]
        msg = (
            f"{argument}: model {labels[row]!r} has {given[row, column]:g} on question "
            f"{questions[column]!r}, but a score must be between 0 and 1"
        )
        raise CodeError(msg)
    return given
