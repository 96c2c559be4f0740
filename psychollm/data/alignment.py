"""Alignment of two tables by their labels, with a report of the omitted models and questions."""

from collections.abc import Hashable
from dataclasses import dataclass

from psychollm._base.errors import LabelError
from psychollm._base.result import Result
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import Responses, ResponsesLike, as_responses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aligned(Result):
    """Two tables restricted to their common models and questions."""

    first: Responses
    second: Responses
    models_left_out: tuple[Labels, Labels]  # models only in the first, or second, table
    questions_left_out: tuple[Labels, Labels]  # questions only in the first, or second, table

    def summary(self) -> str:
        """Describe the common and the omitted models and questions in sentences."""
        kept = f"{self.first.n_models} models and {self.first.n_questions} questions in common"
        left = [
            f"{len(labels)} {kind} only in the {which} table left out ({listed(labels)})"
            for kind, sides in (
                ("models", self.models_left_out),
                ("questions", self.questions_left_out),
            )
            for which, labels in zip(("first", "second"), sides, strict=True)
            if labels
        ]
        return "; ".join([kept, *left]) + "."


def align(first: ResponsesLike, second: ResponsesLike) -> Aligned:
    """Restrict two tables to their common models and questions, in the order of the first table.

    Parameters
    ----------
    first, second : Responses, DataFrame, DataArray or array-like (models, questions)
        Tables to align, such as confidence and correctness.

    Returns
    -------
    Aligned
        The restricted tables, and the labels that occur in only one of the input tables.

    Raises
    ------
    LabelError
        If the tables have no model or no question in common.

    Examples
    --------
    >>> ours = Responses([[1, 0], [0, 1]], models=["a", "b"])
    >>> theirs = Responses([[1, 1], [0, 0]], models=["b", "c"])
    >>> print(align(ours, theirs).summary())
    1 models and 2 questions in common; 1 models only in the first table left out ('a');
    1 models only in the second table left out ('c').
    """
    a = as_responses(first, argument="first", needs="cells")
    b = as_responses(second, argument="second", needs="cells")
    models = shared_labels("model", a.models, b.models)
    questions = shared_labels("question", a.questions, b.questions)
    return Aligned(
        first=a.select(models=models, questions=questions),
        second=b.select(models=models, questions=questions),
        models_left_out=_only(a.models, b.models),
        questions_left_out=_only(a.questions, b.questions),
    )


def shared_labels(kind: str, first: Labels, second: Labels) -> list[Hashable]:
    """Return the common labels in the order of the first table; raise an error if none exists."""
    known = set(second)
    shared = [label for label in first if label in known]
    if not shared:
        msg = (
            f"the two tables have no {kind} in common: the first holds {listed(first)}, "
            f"the second {listed(second)}; are their labels of the same kind?"
        )
        raise LabelError(msg)
    return shared


def _only(first: Labels, second: Labels) -> tuple[Labels, Labels]:
    here, there = set(first), set(second)
    return (
        tuple(label for label in first if label not in there),
        tuple(label for label in second if label not in here),
    )
