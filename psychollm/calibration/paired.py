"""Confidence and correctness side by side, on the questions where both are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.responses import ResponsesLike, as_responses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedAnswers(Result):
    """Yes/no confidence and correctness of the same models on the same questions."""

    # `yes` and `correct` are 0 where `present` is False, so that sums and products skip what is
    # missing by themselves. `said` and `right` hold all there is of each, whether or not the other
    # is known: what the other models said of a question does not need their correctness.

    yes: FloatArray  # (models, questions) 1 where both are known and the model said yes
    correct: FloatArray  # (models, questions) 1 where both are known and it was correct
    present: BoolArray  # (models, questions) both are known
    said: FloatArray  # (models, questions) 1 where the model said yes
    answered: BoolArray  # (models, questions) its confidence is known
    right: FloatArray  # (models, questions) 1 where the model was correct
    graded: BoolArray  # (models, questions) its correctness is known
    models: tuple[Any, ...]
    questions: tuple[Any, ...]

    @property
    def n(self) -> FloatArray:
        """Questions with both, per model (models,)."""
        return np.asarray(self.present.sum(axis=1), dtype=np.float64)

    @property
    def no(self) -> FloatArray:
        """1 where both are known and the model said no (models, questions)."""
        return self.present - self.yes

    @property
    def wrong(self) -> FloatArray:
        """1 where both are known and the model was wrong (models, questions)."""
        return self.present - self.correct


def paired_answers(confidence: ResponsesLike, correctness: ResponsesLike) -> PairedAnswers:
    """Put confidence and correctness side by side; a pair in place of either is returned."""
    for given in (confidence, correctness):
        if isinstance(given, PairedAnswers):
            return given
    # Shapes: confidence, correctness (models, questions).
    said = as_responses(confidence, argument="confidence", binary=True)
    known = as_responses(correctness, argument="correctness", like=said, binary=True)
    present = ~(said.missing | known.missing)
    return PairedAnswers(
        said=np.asarray(said.codes == 1, dtype=np.float64),
        answered=~said.missing,
        right=np.asarray(known.codes == 1, dtype=np.float64),
        graded=~known.missing,
        yes=np.asarray((said.codes == 1) & present, dtype=np.float64),
        correct=np.asarray((known.codes == 1) & present, dtype=np.float64),
        present=present,
        models=said.models,
        questions=said.questions,
    )
