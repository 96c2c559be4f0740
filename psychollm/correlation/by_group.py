"""`polychoric_by_group`: polychoric correlations in groups of units."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.types import Axis, BoolArray, EmptyCells, Missing
from psychollm.correlation.polychoric import PolychoricCorrelation, polychoric
from psychollm.data.labels import group_members, listed
from psychollm.data.responses import Responses, ResponsesLike, as_responses

FEWEST = 10  # smallest number of units in a group


def polychoric_by_group(
    data: ResponsesLike,
    groups: Iterable[Any],
    *,
    of: Axis = "models",
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
) -> dict[Hashable, PolychoricCorrelation]:
    """Compute polychoric correlations separately in groups of units.

    Parameters
    ----------
    data : Responses, DataFrame or array of shape (models, questions)
        Answers as ordered codes from 0 to 15.
    groups : sequence of labels, one per unit
        Group of each unit. Units are questions with ``of="models"``, and models with
        ``of="questions"``.
    of : {"models", "questions"}
        Whether to correlate models or questions.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of tables with an empty cell. ``"keep_margins"`` shifts a count of
        1/2 between the cells of a 2 x 2 table without changing the yes rates; larger tables are
        unchanged. ``"add_half"`` puts 1/2 into empty cells. ``"add_half_all"`` adds 1/2 to all
        cells of a table with an empty cell. ``"none"`` applies no correction.
    missing : {"pairwise", "global"}
        ``"pairwise"`` estimates the thresholds of a pair from its own table, and ``"global"`` from
        all answers of each row.

    Returns
    -------
    dict
        A `PolychoricCorrelation` for each group, in the order of first occurrence.

    Raises
    ------
    LabelError
        If a unit has no label, or if there is only one group.
    ShapeError
        If a group has fewer than ten units, or has an item without answers.
    CodeError
        If all answers to an item are the same within a group.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = np.digitize(rng.normal(size=600) + rng.normal(size=(3, 600)), [-1, 1])
    >>> list(polychoric_by_group(codes, np.repeat(["law", "physics"], 300), of="models"))
    ['law', 'physics']
    """
    check_choice("of", of, Axis)
    table = as_responses(data, of=of)
    unit: Axis = "questions" if of == "models" else "models"
    units = table.questions if of == "models" else table.models
    names, member = group_members(groups, units, unit=unit, fewest=FEWEST)
    correlations = {}
    for g, name in enumerate(names):
        part = _members(table, member == g, of)
        _check_varying(part, of, name)
        correlations[name] = polychoric(part, of=of, empty_cells=empty_cells, missing=missing)
    return correlations


def _members(table: Responses, members: BoolArray, of: Axis) -> Responses:
    return table.select(questions=members) if of == "models" else table.select(models=members)


def _check_varying(part: Responses, of: Axis, name: Hashable) -> None:
    """Raise an error for items without two different answers."""
    codes, missing, labels = part.codes, part.missing, part.models
    if of == "questions":
        codes, missing, labels = codes.T, missing.T, part.questions
    sizes = [np.unique(row[~gap]).size for row, gap in zip(codes, missing, strict=True)]
    bare = [label for label, size in zip(labels, sizes, strict=True) if size == 0]
    if bare:
        msg = f"items without answers in group {name!r}: {listed(bare)}; omit them"
        raise ShapeError(msg)
    same = [label for label, size in zip(labels, sizes, strict=True) if size == 1]
    if same:
        msg = (
            f"{listed(same)} have only one answer in group {name!r} and no correlations "
            "there: omit them"
        )
        raise CodeError(msg)
