"""Thresholds and correlations of independent groups, with their covariance matrices."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.types import Axis, BoolArray, EmptyCells, FloatArray, IntArray
from psychollm.correlation.polychoric import PolychoricCorrelation, polychoric
from psychollm.data.coerce import check_correlatable
from psychollm.data.grouping import group_members
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import Responses, as_responses
from psychollm.factor.factor_analysis import observations

LoadingPattern = Mapping[str, Sequence[Hashable]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """What is fitted: standardised thresholds, item by item, then correlations, row by row."""

    observed: FloatArray  # (G, p)
    gamma: FloatArray  # (G, p, p) n times the covariance matrix of each group
    n: FloatArray  # (G,)
    cuts: IntArray  # (k,) thresholds of each item
    labels: Labels  # k
    groups: tuple[Hashable, ...]  # G

    @property
    def n_thresholds(self) -> int:
        """How many of the moments are thresholds."""
        return int(self.cuts.sum())


def pattern_of(model: LoadingPattern, labels: Labels) -> tuple[Labels, BoolArray]:
    """Return the items that the model names, in the order of the table, and who loads on what.

    Raises
    ------
    OptionError, LabelError
        If the model is no mapping of factors to items, or names an item that does not exist.

    Examples
    --------
    >>> pattern_of({"F": ["c", "a"]}, ("a", "b", "c"))[0]
    ('a', 'c')
    """
    if not isinstance(model, Mapping) or not model:
        msg = "model must map names of factors to labels of items: {'F': ['a', 'b', 'c']}"
        raise OptionError(msg)
    wanted = {label for items in model.values() for label in items}
    unknown = [label for label in dict.fromkeys(wanted) if label not in set(labels)]
    if unknown:
        msg = f"model names {listed(unknown)}, which the table has not: it has {listed(labels)}"
        raise LabelError(msg)
    empty = [name for name, items in model.items() if not len(items)]
    if empty:
        msg = f"factors {listed(empty)} of the model have no items"
        raise OptionError(msg)
    kept = tuple(label for label in labels if label in wanted)
    return kept, np.array([[item in set(own) for own in model.values()] for item in kept])


def sample_of(
    data: Any, groups: Sequence[Any], model: LoadingPattern, of: Axis, empty_cells: EmptyCells
) -> tuple[Sample, BoolArray]:
    """Read a table; return the moments of its groups of units and who loads on what.

    Raises
    ------
    LabelError, ShapeError, CodeError, InputError
        If groups or model do not fit the table, or an item has other answers in one group.
    """
    table = as_responses(data)
    check_correlatable(table, of)
    rows, units = table.models, table.questions
    if of == "questions":
        rows, units = units, rows
    kept, free = pattern_of(model, rows)
    other = "questions" if of == "models" else "models"
    names, member = group_members(groups, len(units), unit=other, fewest=10)
    table = table.select(models=kept) if of == "models" else table.select(questions=kept)
    parts = [_correlated(table, member == g, of, names[g], empty_cells) for g in range(len(names))]
    _check_answers(parts, names)
    pairs = np.tril_indices(len(kept), -1)
    finite = np.isfinite(parts[0].thresholds)
    sizes = np.array([observations(part, None) for part in parts])
    observed = [np.concatenate([part.thresholds[finite], part.matrix[pairs]]) for part in parts]
    gamma = [
        n * _covariance(part, name) for n, part, name in zip(sizes, parts, names, strict=True)
    ]
    found = Sample(
        observed=np.stack(observed),
        gamma=np.stack(gamma),
        n=sizes,
        cuts=finite.sum(axis=1),
        labels=kept,
        groups=names,
    )
    return found, free


def _correlated(
    table: Responses, members: BoolArray, of: Axis, name: Hashable, empty_cells: EmptyCells
) -> PolychoricCorrelation:
    part = table.select(questions=members) if of == "models" else table.select(models=members)
    codes, missing = part.codes, part.missing
    labels = part.models
    if of == "questions":
        codes, missing, labels = codes.T, missing.T, part.questions
    answers = [np.unique(row[~gap]) for row, gap in zip(codes, missing, strict=True)]
    bare = [label for label, found in zip(labels, answers, strict=True) if not found.size]
    if bare:
        msg = (
            f"nobody answered {listed(bare)} in group {name!r}: leave such items out of the model"
        )
        raise ShapeError(msg)
    same = [label for label, found in zip(labels, answers, strict=True) if found.size < 2]
    if same:
        msg = (
            f"{listed(same)} got one answer only in group {name!r}, so that nothing correlates "
            "with it there: leave such items out of the model"
        )
        raise CodeError(msg)
    return polychoric(part, of=of, empty_cells=empty_cells)


def _check_answers(parts: Sequence[PolychoricCorrelation], names: Sequence[Hashable]) -> None:
    """Refuse items whose answers are not the same in all groups: thresholds would not match."""
    for i, label in enumerate(parts[0].labels):
        for part, name in zip(parts, names, strict=True):
            if part.answers[i] != parts[0].answers[i]:
                msg = (
                    f"{label!r} has answers {parts[0].answers[i]} in group {names[0]!r} but "
                    f"{part.answers[i]} in {name!r}: merge answers until all groups use the same"
                )
                raise CodeError(msg)


def _covariance(part: PolychoricCorrelation, name: Hashable) -> FloatArray:
    try:
        return part.covariance(thresholds=True)
    except InputError as error:
        msg = f"group {name!r}: {error}"
        raise InputError(msg) from error
