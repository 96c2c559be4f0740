r"""Sums of coded traces per model and question, and estimates from these sums.

All rates are ratios of sums over questions, so that all models and rates share the resamples of
questions. Let :math:`x_q` and :math:`y_q` be the sums over the traces of question q, and
:math:`w_q` the number of times that question q was drawn. Equation (1) defines a rate r:

.. math:: r = \frac{\sum_q w_q x_q}{\sum_q w_q y_q}.                                     \quad (1)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_generator
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm._base.frames import long_table
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.labels import Labels, listed
from psychollm.estimates.clustered import Units, units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.repeated_share import repeated_share
from psychollm.estimates.resampling import (
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("model", "item", "category", "code")
_PER_TRACE = ("structure", "correct", "tokens", "verified", "repeated")
Sums = Callable[[str], FloatArray]


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of one coder, with the codes and spans of every category."""

    models: Labels  # distinct labels
    items: Labels
    categories: Labels
    model: Sequence[Hashable]  # (traces,)
    item: Sequence[Hashable]
    arm: Sequence[Hashable]
    run: Sequence[Hashable]
    structure: Sequence[Hashable]
    codes: Mapping[Hashable, FloatArray]  # codes by category (traces,)
    spans: Mapping[Hashable, FloatArray]
    numbers: Mapping[str, FloatArray]  # correct, tokens, verified, repeated (traces,)

    def where(self, column: str, label: Hashable) -> BoolArray:
        """Return which traces have a label in a column."""
        return np.array([one == label for one in getattr(self, column)], dtype=np.bool_)

    def sums(self, values: FloatArray, keep: BoolArray) -> FloatArray:
        """Return sums of values over the traces of each model and question (models, items)."""
        rows = {label: row for row, label in enumerate(self.models)}
        columns = {label: row for row, label in enumerate(self.items)}
        total = np.zeros((len(rows), len(columns)))
        kept = np.flatnonzero(keep).tolist()
        places = (
            [rows[self.model[row]] for row in kept],
            [columns[self.item[row]] for row in kept],
        )
        np.add.at(total, places, values[kept])
        return total


def as_traces(table: pd.DataFrame, *, coder: Hashable | None = None) -> Traces:
    """Convert a long table of codes, as in `metacognitive_skill`, to the traces of one coder."""
    frame = coded(table, coder)
    key = ["model", "arm", "item", "run"]
    twice = frame.duplicated([*key, "category"])
    if twice.any():
        row = frame[twice].iloc[0]
        msg = (
            f"model {row['model']}, item {row['item']} has two codes of {row['category']}: "
            "number repeated traces in a column 'run'"
        )
        raise LabelError(msg)
    rows = frame.drop_duplicates(key).set_index(key)
    categories = tuple(dict.fromkeys(frame["category"].tolist()))

    def wide(name: str) -> dict[Hashable, FloatArray]:
        columns = {}
        for category in categories:
            part = frame[frame["category"] == category].set_index(key)[name]
            columns[category] = part.reindex(rows.index).to_numpy(dtype=np.float64)
        return columns

    labels = {name: rows.index.get_level_values(name).tolist() for name in key}
    return Traces(
        models=tuple(dict.fromkeys(labels["model"])),
        items=tuple(dict.fromkeys(labels["item"])),
        categories=categories,
        model=labels["model"],
        item=labels["item"],
        arm=labels["arm"],
        run=labels["run"],
        structure=rows["structure"].tolist(),
        codes=wide("code"),
        spans=wide("spans"),
        numbers={
            name: rows[name].to_numpy(dtype=np.float64)
            for name in ("correct", "tokens", "verified", "repeated")
        },
    )


def coded(table: pd.DataFrame, coder: Hashable | None) -> pd.DataFrame:
    """Return the validated rows of one coder, with all columns."""
    return _of_coder(_checked(table), coder)


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    frame = long_table(table, NEEDED, argument="traces", row="trace and category").copy()
    usual: dict[str, Any] = {"arm": "", "run": 1, "coder": "", "structure": "", "spans": np.nan}
    for name, value in (usual | dict.fromkeys(_PER_TRACE[1:], np.nan)).items():
        if name not in frame.columns:
            frame[name] = value
        elif isinstance(value, str):
            frame[name] = frame[name].fillna(value)
    codes = pd.to_numeric(frame["code"], errors="coerce")
    bad = frame["code"].notna() & ~codes.isin([0, 1, 2])
    if bad.any():
        row = frame[bad].iloc[0]
        msg = (
            f"model {row['model']}, item {row['item']}: code {row['code']} of {row['category']} "
            "must be 0, 1 or 2"
        )
        raise CodeError(msg)
    return frame.assign(code=codes)


def _of_coder(frame: pd.DataFrame, coder: Hashable | None) -> pd.DataFrame:
    known = list(dict.fromkeys(frame["coder"].tolist()))
    if coder is None and len(known) > 1:
        msg = f"traces were coded by {listed(known)}: name one with coder="
        raise OptionError(msg)
    if coder is not None and coder not in known:
        msg = f"coder={coder!r} is not in the traces: choose from {listed(known)}"
        raise LabelError(msg)
    return frame if coder is None else frame[frame["coder"] == coder]


@dataclass(slots=True)
class Panel:
    """Sums per model and question, with resamples and estimates."""

    models: Labels
    resampling: Resampling
    columns: dict[str, FloatArray] = field(default_factory=dict)  # (models, items)
    _draws: dict[str, FloatArray] | None = None

    def add(self, name: str, sums: FloatArray) -> None:
        """Add sums (models, items) under a name, before any estimate is computed."""
        self.columns[name] = np.nan_to_num(sums)

    def share(self, name: str, hits: str, n: str, *cases: tuple[BoolArray, Reason]) -> Estimate:
        """Estimate a proportion, with draws and Wilson's interval at the effective sample size."""
        drawn = self.ratio(name, hits, n, *cases)
        counts = {
            label: (self.columns[hits][row], self.columns[n][row])
            for row, label in enumerate(self.models)
        }
        exact = repeated_share(name, counts, level=self.resampling.level)
        return replace(drawn, se=exact.se, interval=exact.interval, method=exact.method)

    def ratio(
        self,
        name: str,
        over: str,
        under: str,
        *cases: tuple[BoolArray, Reason],
        scale: float = 1.0,
    ) -> Estimate:
        """Estimate the ratio of two sums, equation (1), with a percentile interval."""
        return self.estimate(
            name, lambda of: scale * ratio(of(over), of(under)), self.size(under), *cases
        )

    def estimate(
        self,
        name: str,
        function: Callable[[Sums], FloatArray],
        n: FloatArray,
        *cases: tuple[BoolArray, Reason],
    ) -> Estimate:
        """Estimate a function of sums; a value is undefined where one of the `cases` is true."""
        value = function(lambda key: self.columns[key].sum(axis=1)[None])[0]
        undefined = np.zeros(len(self.models), dtype=np.bool_)
        for condition, _ in cases:
            undefined |= condition
        draws = self._resampled()
        return bootstrap_estimate(
            name,
            np.where(undefined, np.nan, value),
            function(draws.__getitem__),
            n=n,
            flags=first_reason(*cases, (~np.isfinite(value), Reason.TOO_FEW)),
            level=self.resampling.level,
            labels=self.models,
            units=self._questions(),
        )

    def _questions(self) -> Units | None:
        """Return questions as sampling units, since traces and tokens repeat within questions."""
        table = np.abs(np.stack(list(self.columns.values()))).max(axis=0) > 0
        return units_of(table, np.arange(table.shape[1]))

    def size(self, name: str) -> FloatArray:
        """Return a sum over all questions (models,)."""
        return np.asarray(self.columns[name].sum(axis=1), dtype=np.float64)

    def _resampled(self) -> dict[str, FloatArray]:
        if self._draws is None or set(self._draws) != set(self.columns):
            names = list(self.columns)
            table = np.concatenate([self.columns[name] for name in names])
            drawn = bootstrap_draws(
                lambda counts: counts @ table.T, table.shape[1], self.resampling
            )
            parts = np.split(drawn, len(names), axis=1)
            self._draws = dict(zip(names, parts, strict=True))
        return self._draws


def fixed(resampling: Resampling) -> Resampling:
    """Return the options with a random seed in place of the generator."""
    return replace(resampling, rng=int(check_generator(resampling.rng).integers(2**63)))
