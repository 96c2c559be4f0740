"""Abstention in each group of questions: by scenario, by data set."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import check_generator
from psychollm._base.errors import LabelError
from psychollm._base.result import Result
from psychollm._base.types import RandomState
from psychollm.calibration.selection.abstention import Abstention, abstention, binary_table
from psychollm.calibration.stated import (
    cluster_codes,
    question_weights,
)
from psychollm.data.labels import numbered, unit_labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import one_model
from psychollm.estimates.resampling import Bootstrap

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstentionByGroup(Result):
    """How well every model abstains, in each group of questions.

    Examples
    --------
    >>> found = abstention_by(["a", "a", "b"], [[1, 0, 1]], [1, 0, 0], rng=0, bootstrap=10)
    >>> found["b"].over_abstention.value
    array([1.])
    """

    groups: tuple[Any, ...]  # in order of first appearance
    parts: tuple[Abstention, ...]  # one per group

    def __getitem__(self, group: Any) -> Abstention:
        """Return one group.

        Raises
        ------
        LabelError
            If there is no such group.
        """
        if group not in self.groups:
            known = ", ".join(map(repr, self.groups))
            msg = f"{group!r} is no group of questions: there are {known}"
            raise LabelError(msg)
        return self.parts[self.groups.index(group)]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per group and model."""
        import pandas as pd

        tables = [part.to_frame() for part in self.parts]
        for table, group in zip(tables, self.groups, strict=True):
            table.insert(0, "group", [group] * len(table))
        return pd.concat(tables, ignore_index=True)


def abstention_by(
    groups: Any,
    abstained: Any,
    should_abstain: Any,
    correctness: ResponsesLike = None,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> AbstentionByGroup:
    """Compare where every model abstains with where it should, in each group of questions.

    Parameters
    ----------
    groups : array_like (questions,)
        What each question belongs to (a scenario, a data set): any hashable labels. A Series is
        put in the order of the questions.
    abstained, should_abstain, correctness, clusters, weights, bootstrap, level, rng, n_jobs, \
progress
        As in `abstention`.

    Returns
    -------
    AbstentionByGroup
        One `Abstention` per group, in order of first appearance.

    Raises
    ------
    CodeError, ShapeError, LabelError, OptionError
        As in `abstention`.

    Examples
    --------
    >>> found = abstention_by(["a", "b", "b"], [[1, 0, 1]], [1, 0, 0], rng=0, bootstrap=10)
    >>> found.groups, found.to_frame()["n"].tolist()
    (('a', 'b'), [1, 2])
    """
    answers = as_responses(
        one_model(abstained, argument="abstained"), argument="abstained", binary=True
    )
    codes, names = numbered(unit_labels(groups, answers.questions, argument="groups"))
    should = binary_table("should_abstain", should_abstain, answers)
    grades = None if correctness is None else binary_table("correctness", correctness, answers)
    within = None if clusters is None else cluster_codes(clusters, answers.questions)
    shares = question_weights(weights, answers.questions)
    made = np.where(answers.missing, np.nan, answers.codes)
    generator = check_generator(rng)
    parts = [
        abstention(
            Responses.from_array(
                made[:, here],
                models=answers.models,
                questions=[answers.questions[column] for column in here],
            ),
            should[:, here],
            None if grades is None else grades[:, here],
            clusters=None if within is None else within[here],
            weights=shares[here] if weights is not None else None,
            bootstrap=bootstrap,
            level=level,
            rng=generator,
        )
        for here in (np.flatnonzero(codes == code) for code in range(len(names)))
    ]
    return AbstentionByGroup(groups=names, parts=tuple(parts))
