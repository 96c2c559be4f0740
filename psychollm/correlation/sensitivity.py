"""How far the estimates depend on what is done to empty cells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sensitivity(Result):
    """The same table under every empty-cell rule.

    Attributes
    ----------
    rules : tuple of str
        The r rules compared.
    matrices : ndarray of shape (r, k, k)
        Correlations under each rule.
    spread : ndarray of shape (k, k)
        Largest minus smallest correlation of a pair across the rules.
    empty : ndarray of shape (k, k)
        Empty cells in the table of each pair.
    shares : ndarray of shape (r, k)
        Eigenvalues over k under each rule, descending (undefined pairs counted as zero).
    labels : tuple
        Names of the k rows.
    chosen : str
        The rule of the correlation that was asked.
    """

    rules: tuple[str, ...]
    matrices: FloatArray  # (r, k, k)
    spread: FloatArray  # (k, k)
    empty: AnyArray  # (k, k)
    shares: FloatArray  # (r, k)
    labels: tuple[Hashable, ...]
    chosen: str

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        "empty",
        ("{rule}", lambda found: np.moveaxis(found.matrices, 0, -1)),
        "spread",
        pairs="lower",
        labels={"rule": "rules", "model": "labels", "other": "labels"},
        arrays={
            "rule model other": "matrices",
            "model other": "spread empty",
            "rule component": "shares",
        },
    )

    @classmethod
    def compare(
        cls,
        matrices: Mapping[str, FloatArray],
        *,
        empty: AnyArray,
        labels: tuple[Hashable, ...],
        chosen: str,
    ) -> Sensitivity:
        """Compare correlation matrices of the same rows, one per rule."""
        stack = np.stack(list(matrices.values()))
        spread = stack.max(axis=0) - stack.min(axis=0)
        eigenvalues = np.linalg.eigvalsh(np.nan_to_num(stack))[:, ::-1]
        return cls(
            rules=tuple(matrices),
            matrices=stack,
            spread=spread,
            empty=empty,
            shares=np.ascontiguousarray(eigenvalues) / len(labels),
            labels=labels,
            chosen=chosen,
        )

    @property
    def n_empty(self) -> int:
        """Number of pairs with an empty cell."""
        return int(np.count_nonzero(np.tril(self.empty, -1)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair with an empty cell: its correlation under each rule."""
        frame = Result.to_frame(self)
        frame = frame[frame["empty"] > 0]
        return frame.sort_values("spread", ascending=False, ignore_index=True)

    def __repr__(self) -> str:
        k = len(self.labels)
        lines = [
            f"Sensitivity to the empty-cell rule: {self.n_empty} of {k * (k - 1) // 2} pairs "
            f"have an empty cell; largest spread {np.nanmax(self.spread, initial=0.0):.3f}",
            f"  {'rule':<14}{'1st':>8}{'2nd':>8}{'last':>8}   eigenvalue share",
        ]
        lines += [
            f"  {rule:<14}{share[0]:>8.1%}{share[1]:>8.1%}{share[-1]:>8.1%}"
            + ("   <- chosen" if rule == self.chosen else "")
            for rule, share in zip(self.rules, self.shares, strict=True)
        ]
        return "\n".join(lines)
