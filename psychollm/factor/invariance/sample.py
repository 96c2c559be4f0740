"""Thresholds and correlations of independent groups, with their covariance matrices."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.factor.confirmatory import LoadingPattern, loading_pattern
from psychollm.factor.exploratory.factor_analysis import observations

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
    rows, free = loading_pattern(model, parts[0].labels)
    kept = tuple(parts[0].labels[i] for i in rows)
    parts = [_selected(part, kept, name) for name, part in zip(names, parts, strict=True)]
    _check_answers(parts, names)
    pairs = np.tril_indices(len(kept), -1)
    finite = np.isfinite(parts[0].thresholds)
    sizes = np.array([observations(part, None) for part in parts])
    observed = [np.concatenate([part.thresholds[finite], part.matrix[pairs]]) for part in parts]
    gamma = [
        n * _covariance(part, name) for n, part, name in zip(sizes, parts, names, strict=True)
    ]
    sample = Sample(
        observed=np.stack(observed),
        gamma=np.stack(gamma),
        n=sizes,
        cuts=finite.sum(axis=1),
        labels=kept,
        groups=names,
    )
    return sample, free


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
