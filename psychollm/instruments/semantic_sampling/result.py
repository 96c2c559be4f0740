"""Samples of one model in one form: answers, classes and grades."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments.reading import Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticSamples(Result):
    """Sampled answers of one model, grouped into classes of equal meaning.

    `samples` is the input of `semantic_confidence` and `semantic_entropy`. Combine the samples of
    several models or forms with `stack_samples` for the study `semantic_calibration`.

    Examples
    --------
    >>> from psychollm.instruments.semantic_sampling import SemanticSampling
    >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=3)
    >>> said = zip(asked.prompts(), ["Rome", "Bern", "rome."])
    >>> found = asked.score([asked.read(prompt, reply) for prompt, reply in said])
    >>> found.modal, found.samples.codes
    (('Rome',), array([[[0, 1, 0]]], dtype=int32))
    """

    samples: SampledAnswers  # (1, questions, samples)
    form: str
    outcomes: tuple[tuple[Outcome, ...], ...]  # (questions, samples)
    answers: tuple[tuple[str | None, ...], ...]  # (questions, samples) as parsed
    # (questions, samples) most frequent wording of the answer's class
    classes: tuple[tuple[str | None, ...], ...]
    modal: tuple[str | None, ...]  # (questions,) largest class, None if tied or absent
    correct: FloatArray  # (questions, samples) grade of the class, 1 or 0; NaN if unknown
    n_unjudged: int  # number of pairs whose comparison by a judge failed

    @property
    def questions(self) -> tuple[Any, ...]:
        """Labels of the questions."""
        return self.samples.questions

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return one row per sample.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        import pandas as pd

        depth = self.correct.shape[1]
        return pd.DataFrame(
            {
                "model": [model] * self.correct.size,
                "form": [self.form] * self.correct.size,
                "question": [one for one in self.questions for _ in range(depth)],
                "sample": list(range(1, depth + 1)) * len(self.questions),
                "outcome": [str(one) for row in self.outcomes for one in row],
                "answer": [one for row in self.answers for one in row],
                "cls": [one for row in self.classes for one in row],
                "correct": self.correct.ravel(),
                "loglik": self.samples.loglik.ravel(),
            }
        )

    def summary(self) -> str:
        """Return sentences that summarise the samples."""
        flat = [one for row in self.outcomes for one in row]
        count = {outcome: flat.count(outcome) for outcome in dict.fromkeys(flat)}
        outcomes = ", ".join(f"{n} {outcome.value}" for outcome, n in count.items())
        lines = [
            f"{len(self.questions)} questions in the form {self.form!r}, up to "
            f"{self.correct.shape[1]} samples each: {outcomes}."
        ]
        known = [[one for one in row if one is not None] for row in self.classes]
        known = [row for row in known if row]
        if known:
            classes = np.mean([len(set(row)) for row in known])
            share = np.mean([max(map(row.count, row)) / len(row) for row in known])
            lines.append(
                f"On average, the samples of a question form {classes:.1f} classes of meaning, "
                "and the largest "
                f"class contains {100 * share:.1f} % of the samples."
            )
        if self.n_unjudged:
            lines.append(f"{self.n_unjudged} pairs were not judged and count as different.")
        return "\n".join(lines)


def stack_samples(arms: Mapping[Hashable, SemanticSamples | SampledAnswers]) -> SampledAnswers:
    """Combine the samples of several models, or of one model in several forms, in one table.

    Parameters
    ----------
    arms : mapping
        Samples by label. Only questions common to all arms are kept; an arm with fewer samples is
        padded with missing samples.

    Raises
    ------
    InputError
        If there are no arms, an arm contains several models, or no question is common to all arms.

    Examples
    --------
    >>> one = SampledAnswers.from_array([["a", "b"]], questions=["q1"])
    >>> stack_samples({"base": one, "instruct": one}).models
    ('base', 'instruct')
    """
    tables = {
        label: arm.samples if isinstance(arm, SemanticSamples) else arm
        for label, arm in arms.items()
    }
    if not tables:
        msg = "arms is empty: pass a mapping of labels to samples"
        raise InputError(msg)
    several = [label for label, table in tables.items() if len(table.models) != 1]
    if several:
        msg = f"arm {several[0]!r} holds {len(tables[several[0]].models)} models: pass one per arm"
        raise InputError(msg)
    first = next(iter(tables.values()))
    shared = [
        question
        for question in first.questions
        if all(question in table.questions for table in tables.values())
    ]
    if not shared:
        msg = f"no question is common to the arms {listed(list(tables))}"
        raise InputError(msg)
    depth = max(table.codes.shape[2] for table in tables.values())
    return SampledAnswers(
        codes=_stacked(tables, shared, depth, "codes", -1).astype(np.int32),
        right=_stacked(tables, shared, depth, "right", np.nan),
        loglik=_stacked(tables, shared, depth, "loglik", np.nan),
        n_tokens=_stacked(tables, shared, depth, "n_tokens", np.nan),
        models=tuple(tables),
        questions=tuple(shared),
    )


def _stacked(
    tables: Mapping[Hashable, SampledAnswers],
    questions: list[Any],
    depth: int,
    field: str,
    missing: float,
) -> FloatArray:
    table_of = np.full((len(tables), len(questions), depth), missing)
    for row, table in enumerate(tables.values()):
        column = {question: i for i, question in enumerate(table.questions)}
        cells = getattr(table, field)[0][[column[question] for question in questions]]
        table_of[row, :, : cells.shape[1]] = cells
    return table_of
