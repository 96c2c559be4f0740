"""Thresholds and correlations of independent groups, with their covariance matrices."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.factor.exploratory.factor_analysis import observations

LoadingPattern: TypeAlias = Mapping[str, Sequence[Hashable]]
GroupCorrelations: TypeAlias = Mapping[Hashable, Any]


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
    """Return the items that the model names, in the order of the rows, and who loads on what."""
    if not isinstance(model, Mapping) or not model:
        msg = "model must map names of factors to labels of items: {'F': ['a', 'b', 'c']}"
        raise OptionError(msg)
    empty = [name for name, items in model.items() if not len(items)]
    if empty:
        msg = f"factors {listed(empty)} of the model have no items"
        raise OptionError(msg)
    wanted = dict.fromkeys(label for items in model.values() for label in items)
    unknown = [label for label in wanted if label not in set(labels)]
    if unknown:
        msg = f"model names {listed(unknown)}, which are not there: there are {listed(labels)}"
        raise LabelError(msg)
    kept = tuple(label for label in labels if label in wanted)
    return kept, np.array([[item in set(own) for own in model.values()] for item in kept])


def sample_of(correlations: GroupCorrelations, model: LoadingPattern) -> tuple[Sample, BoolArray]:
    """Return the moments of several groups and who loads on what."""
    if not isinstance(correlations, Mapping) or len(correlations) < 2:
        msg = (
            "correlations must map two or more groups to results of polychoric: "
            "pass polychoric_by_group(data, groups)"
        )
        raise OptionError(msg)
    names, parts = tuple(correlations), list(correlations.values())
    for name, part in correlations.items():
        if not hasattr(part, "thresholds") or not callable(getattr(part, "covariance", None)):
            msg = (
                f"correlations[{name!r}] must be a result of polychoric, got {type(part).__name__}"
            )
            raise OptionError(msg)
    kept, free = pattern_of(model, parts[0].labels)
    parts = [_selected(part, kept, name) for name, part in zip(names, parts, strict=True)]
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


def _selected(part: Any, kept: Labels, name: Hashable) -> Any:
    """Return the items of the model in their order."""
    absent = [label for label in kept if label not in set(part.labels)]
    if absent:
        msg = f"{listed(absent)} are not in group {name!r}: a model of groups needs them in all"
        raise LabelError(msg)
    return part if part.labels == kept else part.select(kept)


def _check_answers(parts: Sequence[Any], names: Sequence[Hashable]) -> None:
    """Refuse items whose answers are not the same in all groups: thresholds would not match."""
    for i, label in enumerate(parts[0].labels):
        for part, name in zip(parts, names, strict=True):
            if part.answers[i] != parts[0].answers[i]:
                msg = (
                    f"{label!r} has answers {parts[0].answers[i]} in group {names[0]!r} but "
                    f"{part.answers[i]} in {name!r}: merge answers until all groups use the same"
                )
                raise CodeError(msg)


def _covariance(part: Any, name: Hashable) -> FloatArray:
    try:
        return np.asarray(part.covariance(thresholds=True), dtype=np.float64)
    except InputError as error:
        msg = f"group {name!r}: {error}"
        raise InputError(msg) from error
