"""Conversion of any input to a labelled table, and of its values to numbers or codes.

Codes are whole numbers from 0 to 15 with a mask of missing values. Every constructor of
`Responses` uses this module.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from psychollm._base.checks import (
    LABELS_IN_INDEX,
    LARGEST,
    SMALLEST,
    advice,
    is_missing,
    is_missing_value,
    is_number,
    is_numeral,
    plain_array,
    shown,
)
from psychollm._base.entry import warn
from psychollm._base.errors import (
    CodeError,
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm._base.frames import MODELS, QUESTIONS, in_pandas, is_called, labelled
from psychollm._base.types import AnyArray, BoolArray, CodeArray, FloatArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Table, as_labels, check_rows, index_of, order_of
from psychollm.data.long import Columns, is_long_frame, pivot_of, spread_frame


def as_table(
    data: Any,
    *,
    models: Iterable[Any] | None = None,
    questions: Iterable[Any] | None = None,
    argument: str = "responses",
) -> Table:
    """Convert data to a labelled table; `models` and `questions` replace the data's labels."""
    if isinstance(data, Table) and models is None and questions is None:
        return data
    data = in_pandas(data)
    if models is None and questions is None and is_long_frame(data):
        return spread_frame(data, Columns(), argument=argument)
    data = labelled(data)
    values: AnyArray
    rows: Iterable[Any] | None = None
    columns: Iterable[Any] | None = None
    if isinstance(data, Table) or (hasattr(data, "codes") and hasattr(data, "questions")):
        values, rows, columns = data.values, data.models, data.questions
    elif hasattr(data, "dims") and hasattr(data, "coords"):
        values, rows, columns = _xarray_values(data, argument)
    else:
        values = plain_array(data, argument)
        if hasattr(data, "iloc") and hasattr(data, "columns"):
            if is_called(data.index.name, QUESTIONS) or is_called(data.columns.name, MODELS):
                msg = (
                    f"{argument}: rows are read as questions and columns as models, according to "
                    f"the names of the index ({data.index.name!r}) and the columns "
                    f"({data.columns.name!r}); if that is wrong, rename them"
                )
                warn(msg)
                values, data = values.T, data.T
            rows, columns = data.index, data.columns
    _check_shape(values, argument)
    rows = rows if models is None else models
    columns = columns if questions is None else questions
    return Table(
        values,
        as_labels("model", rows, values.shape[0]),
        as_labels("question", columns, values.shape[1]),
        getattr(data, "origin", None),
        named=(rows is not None, columns is not None),
    )


def one_model(data: Any, *, argument: str) -> Table:
    """Convert data as `as_table` does, but treat a vector as the values of one model."""
    data = in_pandas(data)
    if is_long_frame(data):
        return as_table(data, argument=argument)
    data = labelled(data)
    named = any(hasattr(data, name) for name in ("columns", "dims", "models"))
    if named and getattr(data, "ndim", 2) != 1:
        return as_table(data, argument=argument)
    values = plain_array(data, argument)
    if values.ndim != 1:
        return as_table(values, argument=argument)
    questions = index_of(data)
    if questions is not None:
        _check_one_model(data, argument)
        check_rows("question", questions)
    return as_table(values[None], questions=questions, argument=argument)


def _check_one_model(data: Any, argument: str) -> None:
    """Raise an error if the index of a Series has a level with several models."""
    levels = list(getattr(getattr(data, "index", None), "names", ()))
    models = [level for level, name in enumerate(levels) if is_called(name, MODELS)]
    if len(levels) != 2 or len(models) != 1:
        return
    level, other = models[0], 1 - models[0]
    if data.index.get_level_values(level).nunique() > 1:
        name = other if levels[other] is None else levels[other]
        msg = (
            f"{argument} is a Series with answers of several models (index {levels[level]!r}): "
            f"pass a table with a row per model, {argument}.unstack({name!r})"
        )
        raise LabelError(msg)


def values_like(table: Table, first: Any, *, argument: str) -> AnyArray:
    """Return the values of a table in the order of the table `first`, aligned by label."""
    values, shape = table.values, (len(first.models), len(first.questions))
    named = getattr(first, "named", (True, True))
    kinds = (("model", table.models, first.models), ("question", table.questions, first.questions))
    for axis, (kind, labels, wanted) in enumerate(kinds):
        if not (table.named[axis] and named[axis]) and len(labels) != len(wanted):
            msg = (
                f"{argument} has {values.shape[0]} models x {values.shape[1]} questions, but "
                f"{shape[0]} x {shape[1]} are needed: one value per model and question (NaN where "
                "unknown)"
            )
            raise ShapeError(msg)
        own = labels if table.named[axis] else None
        order = order_of(kind, own, wanted, argument=argument, counted=not named[axis])
        values = values if order is None else values.take(order, axis=axis)
    return values


def _check_shape(values: AnyArray, argument: str) -> None:
    if not values.ndim and isinstance(values.item(), str | PathLike):
        msg = (
            f"{argument}={values.item()!r} is not a table of models x questions: read the file by "
            "psy.data.read_table(path), and pass the result"
        )
        raise ShapeError(msg)
    if values.ndim != 2:
        msg = (
            f"{argument} has {values.ndim} dimension(s), but a table of models (rows) by "
            "questions (columns) is needed: one model is a table of one row, values[None, :]"
        )
        raise ShapeError(msg)
    if 0 in values.shape:
        msg = (
            f"{argument} is empty ({values.shape[0]} models, {values.shape[1]} questions): "
            "at least one of each is needed"
        )
        raise ShapeError(msg)


def _xarray_values(array: Any, argument: str) -> tuple[AnyArray, Any, Any]:
    """Return values and labels, models first, according to the dimension names."""
    if len(array.dims) != 2:
        msg = (
            f"{argument} has dimensions {tuple(array.dims)}: two are needed, models and questions"
        )
        raise ShapeError(msg)
    first, second = array.dims
    known = [[is_called(name, names) for names in (MODELS, QUESTIONS)] for name in (first, second)]
    forward, backward = known[0][0] or known[1][1], known[0][1] or known[1][0]
    if forward == backward and (first, second) != ("dim_0", "dim_1"):
        msg = (
            f"{argument} has dimensions {first!r} and {second!r}: which of them holds models? "
            f"Rename them: .rename({{{first!r}: 'model', {second!r}: 'question'}}), or "
            "the other way round"
        )
        raise LabelError(msg)
    if backward:
        first, second = second, first
    labels = [array[dim].to_numpy() if dim in array.coords else None for dim in (first, second)]
    return plain_array(array.transpose(first, second), argument), labels[0], labels[1]


def models_first(data: Any) -> Any:
    """Transpose a DataArray so that its first dimension is models and its second questions."""
    # If their names do not identify the dimensions, their order is kept, as in arrays.
    dims = getattr(data, "dims", ())
    found = [[dim for dim in dims if is_called(dim, names)] for names in (MODELS, QUESTIONS)]
    if [len(one) for one in found] != [1, 1]:
        return data
    return data.transpose(found[0][0], found[1][0], ...)


MAX_CODE = 15


def numbers(table: Table, *, argument: str = "responses", words: str = "codes") -> FloatArray:
    """Return the values as finite floats; missing values (None, pandas.NA, masked) become NaN.

    `words` is the argument that maps words to codes.
    """
    if table.values.dtype.kind not in "biuf":
        good = is_number(table.values) | is_missing(table.values)
        _refuse(table, ~good, argument, f"not a number: {_advice(table, ~good, words)}")
    values = np.array(table.values, dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        _refuse(table, infinite, argument, "infinity: leave unknown answers missing (NaN)")
    size = np.abs(values)
    if (size > LARGEST).any():
        _refuse(table, size > LARGEST, argument, "too large for squares: rescale the table")
    values[size < SMALLEST] = 0.0
    return values


def known_values(values: AnyArray) -> FloatArray:
    """Return values as floats, with NaN for values that are not numbers."""
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    return np.where(is_number(values), values, np.nan).astype(np.float64)


WORDS = parameter("codes", python='codes={"yes": 1, "no": 0}', command="{} yes=1,no=0")
SCORE_MAP = "score_map"
_RIGHT = {
    "correct", "right", "true", "yes", "pass", "passed", "c", "y", "success", "good", "solved",
    "resolved", "accept", "accepted",
}  # fmt: skip
_WRONG = {
    "incorrect", "wrong", "false", "no", "fail", "failed", "i", "n", "failure", "bad", "unsolved",
    "unresolved", "reject", "rejected",
}  # fmt: skip


class _Unknown:
    """Placeholder for a number that only the user knows."""

    def __repr__(self) -> str:
        return "X"


def word_advice(words: Iterable[str], name: str) -> str:
    """Return advice for an error message about words: map words to numbers or to missing.

    Examples
    --------
    >>> print(CodeError(word_advice(["correct", "incorrect"], "codes")))
    answers in words need codes={'correct': 1, 'incorrect': 0}
    >>> print(CodeError(word_advice(["A", "B"], "codes")))
    answers in words need codes={'A': X, 'B': X}, with a larger number X for a better answer
    """
    held = list(dict.fromkeys(words))
    spoken = [word for word in held if any(map(str.isalnum, word)) and not word.startswith("#")]
    if not spoken:
        return f"if missing answers are meant, pass {parameter('missing_values', held[:5])}"
    if len(spoken) > 12:
        return (
            "if the column holds no scores, name the one that does, or leave it out; if missing "
            f"answers are meant, pass {parameter('missing_values', spoken[:1])}"
        )
    lower = {word: word.strip().lower() for word in spoken}
    right, wrong = ({word for word in spoken if lower[word] in of} for of in (_RIGHT, _WRONG))
    known = {**dict.fromkeys(wrong, 0), **dict.fromkeys(right, 1)}
    clear = len(known) == len(spoken) or (right and wrong)
    # Words of unknown meaning get no number: an order by occurrence could reverse the scale.
    means = {word: known.get(word, _Unknown()) if clear else _Unknown() for word in spoken}
    order = ", with a larger number X for a better answer" if len(known) < len(spoken) else ""
    rest = [word for word in held if word not in means]
    remedy = parameter("missing_values", rest[:5])
    more = f"; if missing answers are meant, pass {remedy}" if rest else ""
    return f"answers in words need {parameter(name, means)}{order}{more}"


def _advice(table: Table, bad: BoolArray, words: str) -> str:
    """Return advice for an error message about values that are not numbers."""
    values = table.values[bad]
    full = np.asarray(bad.any(axis=0) & (bad | is_missing(table.values)).all(axis=0))
    first = int(np.flatnonzero(bad.any(axis=0))[0])
    if table.origin is not None and full[first] and not bad.any(axis=0).all():
        return "if the column holds no answers, leave it out"
    if table.origin is None and (long := pivot_of(table)):
        return long
    texts = [value for value in values.ravel() if isinstance(value, str) and not is_numeral(value)]
    if not texts or len(texts) < values.size:
        return advice(values.ravel()[0])
    return f"{word_advice(texts, words)}{LABELS_IN_INDEX if words == 'codes' else ''}"


def _refuse(table: Table, bad: BoolArray, argument: str, reason: str) -> None:
    row, column = (int(i) for i in np.argwhere(bad)[0])
    value = shown(table.values[row, column])
    where = "" if table.origin else f"{argument}: "
    msg = f"{where}{table.place(row, column)} holds {value}, which is {reason}"
    raise CodeError(msg)


def encode(
    table: Table, *, codes: Mapping[Any, int] | None = None, argument: str = "responses"
) -> tuple[CodeArray, BoolArray]:
    """Return codes (models, questions), 0 for missing values, and a mask of missing values."""
    source = table if codes is None else _translated(table, codes, argument)
    raw = source.values
    if raw.dtype.kind in "biu":
        missing = np.zeros(raw.shape, dtype=np.bool_)
        low, high = (0, 1) if raw.dtype.kind == "b" else (raw.min(), raw.max())
        if low < 0 or high > MAX_CODE:
            _refuse(source, (raw < 0) | (raw > MAX_CODE), argument, _NOT_A_CODE)
        return raw.astype(np.int16), missing
    values = numbers(source, argument=argument)
    missing = np.isnan(values)
    values[missing] = 0.0
    bad = (values != np.floor(values)) | (values < 0) | (values > MAX_CODE)
    if bad.any():
        _refuse(source, bad, argument, _NOT_A_CODE)
    return values.astype(np.int16), missing


_SPLIT = parameter(
    "threshold",
    python="split a stated confidence with Responses(values, threshold=...)",
    command="split a stated confidence with {}",
    without="split scores into 1 and 0",
)
_NOT_A_CODE = (
    f"not a code: codes are whole numbers 0 (no) to {MAX_CODE}; {_SPLIT}, and declare values that "
    "represent a missing answer as "
    + parameter("missing_values", python="missing_values=[...]", command="{} VALUE,...")
)


def meanings(codes: Mapping[Any, int]) -> dict[Any, float]:
    """Check the mapping of values to codes, and convert codes to floats (NaN for missing)."""
    try:
        return {
            value: np.nan if is_missing_value(code) else float(code)
            for value, code in codes.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        msg = f"{parameter('codes', codes)} must map each value to a number: {WORDS}"
        raise OptionError(msg) from error


def _translated(table: Table, codes: Mapping[Any, int], argument: str) -> Table:
    """Replace every value by its code."""
    import pandas as pd

    shape, means = table.values.shape, meanings(codes)
    cells = table.values.astype(object).ravel()
    index, distinct = pd.factorize(cells, use_na_sentinel=True)
    meaning = np.full(len(distinct) + 1, np.nan)  # the last entry, index -1, is for missing values
    unknown = np.zeros(len(distinct) + 1, dtype=np.bool_)
    for position, value in enumerate(distinct):
        unknown[position] = value not in means
        meaning[position] = means.get(value, 0)
    bad = unknown[index].reshape(shape)
    if bad.any():
        _refuse(table, bad, argument, f"not a key of {parameter('codes', dict(codes))}: add it")
    return Table(meaning[index].reshape(shape), table.models, table.questions, table.origin)
