"""Read scores of models in benchmarks from a long or wide table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from psychollm._base.checks import check_positive
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.frames import SCORES, in_pandas, long_table
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.connected import connected
from psychollm.data.labels import Labels, Table, listed, unit_labels, unit_numbers
from psychollm.data.long import Columns, spread_frame
from psychollm.data.table import as_table, numbers, values_like

DATE = "date"
_BENCHMARKS = ("benchmark", "dataset", "task", "eval")
_SCORES = (*SCORES, "performance")
_YEAR = 365.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTable:
    """Scores to fit; every model and every benchmark has at least one score."""

    value: FloatArray  # (models, benchmarks) between 0 and 1, NaN if missing
    items: FloatArray  # (models, benchmarks) items per score, infinite if unknown
    optimized: BoolArray  # (models, benchmarks)
    years: FloatArray  # (models,) release date, such as 2024.5; NaN if unknown
    models: Labels
    benchmarks: Labels
    left_out: Labels = ()  # models without a score
    out_of: float = 1.0  # highest possible score in the input

    @property
    def known(self) -> BoolArray:
        """Whether each score is present (models, benchmarks)."""
        return np.isfinite(self.value)

    @property
    def sets(self) -> IntArray:
        """Connected set of each model, 0 for the largest (models,)."""
        return connected(self.known)

    def part(self, models: BoolArray, cells: BoolArray | None = None) -> "ScoreTable":
        """Return the scores of some models, optionally of some cells only."""
        value = self.value if cells is None else np.where(cells, self.value, np.nan)
        columns = np.asarray(np.isfinite(value[models]).any(axis=0))
        rows = np.asarray(models & np.isfinite(value).any(axis=1))
        return replace(
            self,
            value=value[rows][:, columns],
            items=self.items[rows][:, columns],
            optimized=self.optimized[rows][:, columns],
            years=self.years[rows],
            models=_chosen(self.models, rows),
            benchmarks=_chosen(self.benchmarks, columns),
        )


def _chosen(labels: Labels, keep: BoolArray) -> Labels:
    return tuple(label for label, kept in zip(labels, keep, strict=True) if kept)


def scores_of(
    scores: Any,
    *,
    model: str | None,
    benchmark: str | None,
    score: str | None,
    n: Any,
    optimized: Any,
    date: Any,
    out_of: float,
) -> ScoreTable:
    """Return the scores of a long table, recognised by its columns, or of a wide table."""
    data = _of_file(scores) if isinstance(scores, str | PathLike) else in_pandas(scores)
    header = list(data.columns) if hasattr(data, "iloc") and data.ndim == 2 else []
    found = [name for name in _BENCHMARKS if name in header]
    if any(one is not None for one in (model, benchmark, score)) or ("model" in header and found):
        frame = long_table(data, (), argument="scores", row="score")
        names = (model or "model", benchmark or (found or ["benchmark"])[0])
        score = score or next((name for name in _SCORES if name in header), "score")
        frame = long_table(frame, [*names, score], argument="scores", row="score")
        table, n, optimized = _spread(frame, names, score, n, optimized)
        date = _dates_of_rows(frame, names[0], date)
    else:
        table = as_table(data, argument="scores")
    return _whole(table, n, optimized, date, check_positive("out_of", out_of))


def _of_file(path: "str | PathLike[str]") -> Any:
    """Return the table of a CSV file: long, or wide with models in its first column."""
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        msg = f"scores: {path} cannot be read as a CSV file: {error}"
        raise InputError(msg) from error
    first = frame.columns[0] if len(frame.columns) else None
    long = any(name in frame.columns for name in _BENCHMARKS)
    if not long and first is not None and not pd.api.types.is_numeric_dtype(frame[first]):
        return frame.set_index(first)
    return frame


def _spread(
    frame: Any, names: tuple[str, str], score: str, n: Any, optimized: Any
) -> tuple[Table, Any, Any]:
    """Return a long table as models x benchmarks, with other columns in the same shape."""

    def spread(values: Any, argument: str) -> Table:
        columns = {"model": frame[names[0]], "benchmark": frame[names[1]]}
        long = type(frame)({**columns, "value": values})
        try:
            return spread_frame(
                long,
                Columns(model="model", question="benchmark", value="value"),
                argument=argument,
            )
        except LabelError as error:
            if "is answered twice" not in str(error):
                raise
            pairs = frame[list(names)]
            first = pairs[pairs.duplicated()].iloc[0].tolist()
            msg = (
                f"scores: model {first[0]!r} has two scores in benchmark {first[1]!r}: average "
                "them, or keep one"
            )
            raise LabelError(msg) from error

    table = spread(frame[score].to_numpy(), "scores")
    beside = []
    for argument, given in (("n", n), ("optimized", optimized)):
        held = given
        if isinstance(given, str):
            if given not in frame:
                msg = f"scores has no column {given!r}: change {argument}"
                raise LabelError(msg)
            held = spread(frame[given].to_numpy(), argument)
        elif np.ndim(given) == 1 and not isinstance(given, Mapping) and len(given) == len(frame):
            held = spread(np.asarray(given), argument)
        beside.append(held)
    return table, *beside


def _dates_of_rows(frame: Any, model: str, date: Any) -> Any:
    """Return the date of each model from a column."""
    if date is None and DATE in frame:
        date = DATE
    if not isinstance(date, str):
        return date
    if date not in frame:
        msg = f"scores has no column {date!r}: change date"
        raise LabelError(msg)
    first = frame[[model, date]].dropna().drop_duplicates()
    several = first[first[model].duplicated()]
    if len(several):
        msg = (
            f"date: model {several[model].iloc[0]!r} has two dates in column {date!r}: keep one "
            "release date"
        )
        raise LabelError(msg)
    return dict(zip(first[model].tolist(), first[date].tolist(), strict=True))


def _whole(table: Table, n: Any, optimized: Any, date: Any, out_of: float) -> ScoreTable:
    value = checked_scores(
        numbers(table, argument="scores", words="scores") / out_of,
        lambda row, column: f"model {table.models[row]!r}, benchmark {table.questions[column]!r}",
        out_of,
    )
    items = _items(n, table)
    known = np.isfinite(value)
    rows, columns = np.asarray(known.any(axis=1)), np.asarray(known.any(axis=0))
    if rows.sum() < 2 or columns.sum() < 2:
        msg = (
            f"scores: {rows.sum()} models and {columns.sum()} benchmarks have scores: a common "
            "scale needs at least two of each"
        )
        raise ShapeError(msg)
    return ScoreTable(
        value=value[rows][:, columns],
        items=items[rows][:, columns],
        optimized=_marks(optimized, table)[rows][:, columns],
        years=_years_of_models(date, table.models)[rows],
        models=_chosen(table.models, rows),
        benchmarks=_chosen(table.questions, columns),
        left_out=_chosen(table.models, ~rows),
        out_of=out_of,
    )


def checked_scores(
    value: FloatArray, name: Any, out_of: float, argument: str = "scores"
) -> FloatArray:
    """Return scores after checking that all are between 0 and 1."""
    with np.errstate(invalid="ignore"):
        outside = (value < 0.0) | (value > 1.0)
    if outside.any():
        place = tuple(int(one) for one in np.argwhere(outside)[0])
        top = f"{out_of:g}"
        remedy = (
            "divide percentages by 100, or pass out_of=100"
            if out_of == 1.0 and value[outside].min() > 0.0 and value[outside].max() <= 100.0
            else "rescale the scores, or pass the highest possible one as out_of"
        )
        msg = (
            f"{argument}: {name(*place)} has {value[place] * out_of:g}; {outside.sum()} score"
            f"{'s' * int(outside.sum() > 1)} outside 0 to {top}: {remedy}"
        )
        raise CodeError(msg)
    return value


def _of_benchmarks(n: Any, table: Table) -> FloatArray:
    """Return the number of items of every score, given one number per benchmark."""
    each = unit_numbers(n, table.questions, argument="n", kind="benchmark")
    return np.tile(each, (len(table.models), 1))


def _items(n: Any, table: Table) -> FloatArray:
    """Return the number of items per score."""
    shape = table.values.shape
    if n is None:
        return np.full(shape, np.inf)
    if np.ndim(n) == 2 or isinstance(n, Table):
        held = as_table(n, argument="n")
        filled = Table(numbers(held, argument="n"), held.models, held.questions, named=held.named)
        items = np.asarray(values_like(filled, table, argument="n"), dtype=np.float64)
    elif isinstance(n, Mapping):
        known = {label: n[label] for label in table.questions if label in n}
        unknown = [label for label in n if label not in table.questions]
        if unknown:
            msg = f"n: benchmarks without scores: {listed(unknown)}: remove them"
            raise LabelError(msg)
        items = _of_benchmarks([known.get(label, np.nan) for label in table.questions], table)
    else:
        items = _of_benchmarks([n] * shape[1] if np.ndim(n) == 0 else n, table)
    if (items < 1.0).any():
        msg = "n must be at least 1: it is the number of items per score"
        raise OptionError(msg)
    return np.where(np.isfinite(items), items, np.inf)


def _marks(optimized: Any, table: Table) -> BoolArray:
    """Return a mask of the scores that were selected as the best of several reports."""
    shape = table.values.shape
    if optimized is None:
        return np.zeros(shape, dtype=np.bool_)
    if isinstance(optimized, bool | np.bool_):
        return np.full(shape, bool(optimized))
    if np.ndim(optimized) == 2 or isinstance(optimized, Table):
        held = values_like(as_table(optimized, argument="optimized"), table, argument="optimized")
    else:
        labels = unit_labels(
            optimized, table.questions, argument="optimized", kind="benchmark", optional=True
        )
        held = np.tile(np.array(labels, dtype=object), (shape[0], 1))
    words = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False,
             "nan": False, "none": False, "<na>": False, "yes": True, "no": False}  # fmt: skip
    texts = [str(one).lower() for one in np.asarray(held, dtype=object).ravel()]
    wrong = [text for text in texts if text not in words]
    if wrong:
        msg = f"optimized contains {wrong[0]!r}: use True, False or a missing value"
        raise CodeError(msg)
    return np.array([words[text] for text in texts], dtype=np.bool_).reshape(shape)


def _years_of_models(date: Any, models: Labels) -> FloatArray:
    if date is None:
        return np.full(len(models), np.nan)
    if isinstance(date, str):
        msg = f"date={date!r} is a column, but scores is a wide table: pass a mapping"
        raise OptionError(msg)
    labels = unit_labels(date, models, argument="date", kind="model", optional=True)
    return np.array([np.nan if one is None else year_of(one, "date") for one in labels])


def year_of(date: Any, argument: str) -> float:
    """Return a date as a year with decimals: 2024-07-01 as 2024.5."""
    import pandas as pd

    if isinstance(date, int | float | np.number) and not isinstance(date, bool):
        if not 1900.0 <= float(date) < 2200.0:
            msg = f"{argument}={date!r} is not a year: pass a date such as '2025-07-01'"
            raise OptionError(msg)
        return float(date)
    try:
        moment = pd.Timestamp(date)
    except (TypeError, ValueError) as error:
        msg = f"{argument}={date!r} is not a date: pass one such as '2025-07-01'"
        raise InputError(msg) from error
    if pd.isna(moment):
        return np.nan
    return float(2000.0 + (moment.tz_localize(None) - pd.Timestamp("2000-01-01")).days / _YEAR)
