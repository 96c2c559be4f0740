"""Checks of arguments, one function per kind of argument: counts, proportions, options, arrays.

Checked arrays have the byte order of this machine. All missing values (NaN, None, pandas.NA, NaT,
masked entries) become NaN.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, get_args

import numpy as np

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.frames import labelled
from psychollm._base.types import AnyArray, BoolArray, FloatArray, RandomState
from psychollm._base.wording import parameter

_NUMERIC = "biuf"
_LEAST_WEIGHT = 1e-15
MOST = 2**53
LARGEST = 1e30  # largest accepted number, so that products and sums of squares are finite
DRAWS = 10**8  # largest number of draws, because all results must fit in memory
# Smaller numbers are subnormal and have fewer digits, so they are set to 0.
SMALLEST = float(np.finfo(np.float64).smallest_normal)
_LONGEST = 80  # maximum number of characters of a value in a message
_TOO_LARGE = 2**1023  # larger whole numbers may overflow a float


def plain_array(data: Any, argument: str) -> AnyArray:
    """Return the values as an ndarray: numeric if all values are numbers, otherwise of objects."""
    array = _as_array(data, argument)
    if isinstance(array, np.ma.MaskedArray):
        array = _unmasked(array)
    if array.dtype.kind in _NUMERIC:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return _numbers_or_objects(array)


def float_array(data: Any, argument: str, *, most: float = LARGEST) -> FloatArray:
    """Return a new float array with NaN for missing values; reject finite numbers above `most`.

    Subnormal numbers become zero, because dividing by them overflows. With ``most=inf``, all
    numbers are kept.
    """
    array = plain_array(data, argument)
    if array.dtype.kind not in _NUMERIC:
        bad = tuple(int(i) for i in np.argwhere(~(is_number(array) | is_missing(array)))[0])
        at = f"[{', '.join(map(str, bad))}]" if bad else ""
        msg = f"{argument}{at} is {shown(array[bad])}, which is not a number: {advice(array[bad])}"
        raise CodeError(msg)
    with np.errstate(over="ignore", under="ignore"):  # long doubles may overflow or underflow
        floats = np.array(array, dtype=np.float64)
    if array.dtype.kind in "biu" or most == np.inf:
        return floats
    size = np.abs(floats)
    floats[size < SMALLEST] = 0.0
    huge = (size > most) & (size < np.inf)
    if huge.any():
        place = tuple(np.argwhere(huge)[0].tolist())
        at = f"[{', '.join(map(str, place))}]" if place else ""
        msg = f"{argument}{at} is {floats[place]}, too large for squares: rescale it"
        raise CodeError(msg)
    return floats


def of_one_shape(named: Mapping[str, Any]) -> tuple[FloatArray, ...]:
    """Return named arrays as float arrays of one shape; a single number is repeated as needed."""
    arrays = [float_array(values, name) for name, values in named.items()]
    if len({one.shape for one in arrays}) == 1:
        return tuple(arrays)
    try:
        return tuple(map(np.array, np.broadcast_arrays(*arrays)))
    except ValueError as error:
        shapes = ", ".join(f"{name} {one.shape}" for name, one in zip(named, arrays, strict=True))
        msg = f"{shapes} have different shapes: pass as many of each, or one number"
        raise ShapeError(msg) from error


def check_held(data: Any, argument: str) -> None:
    """Raise `ShapeError` for an iterator, because it can be read only once."""
    if isinstance(data, Iterator):
        msg = f"{argument} is a {type(data).__name__}: pass list(...) of it"
        raise ShapeError(msg)


def n_dimensions(data: Any, argument: str) -> int:
    """Return the number of dimensions of an array, or of nested lists of equal length."""
    return plain_array(data, argument).ndim if isinstance(data, list | tuple) else np.ndim(data)


def is_number(cells: AnyArray) -> BoolArray:
    """Return a mask of the real numbers."""
    return _holds(_is_number, cells)


def is_missing(cells: AnyArray) -> BoolArray:
    """Return a mask of None, NaN, NaT and pandas.NA."""
    return _holds(is_missing_value, cells)


def _holds(test: Callable[[Any], bool], cells: AnyArray) -> BoolArray:
    # A ufunc that compares NaN raises a floating-point flag, and some builds of NumPy then warn.
    objects = np.asarray(cells, dtype=object)
    return np.fromiter(map(test, objects.flat), np.bool_, objects.size).reshape(objects.shape)


LABELS_IN_INDEX = parameter(
    "", python="; labels belong in the index (DataFrame.set_index)", command=""
)


def advice(value: Any) -> str:
    """Return the advice that an error message gives about a value that is not a number."""
    if isinstance(value, str):
        if is_numeral(value):
            return "text that looks like a number becomes one with .astype(float)"
        return f"pass numbers{LABELS_IN_INDEX}"
    return "pass numbers, and NaN or None where a value is missing"


def is_numeral(text: str) -> bool:
    """Return whether a value is text that parses as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def shown(value: Any) -> str:
    """Return a value as it is shown in messages, with NumPy scalars converted to Python values."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < _TOO_LARGE
    real = isinstance(value, float | Decimal | np.number | np.bool_)
    return real and not isinstance(value, np.complexfloating)


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and value != value


def _as_array(data: Any, argument: str) -> AnyArray:
    """Return an ndarray, or a masked array if the data are masked."""
    if isinstance(data, np.ndarray):  # a masked array keeps its mask
        return data
    if isinstance(data, list | tuple):
        return _from_sequence(data, argument)
    data = labelled(data)
    if hasattr(data, "dtypes") and hasattr(data, "to_numpy") and hasattr(data, "index"):
        return _from_pandas(data)
    check_held(data, argument)
    if not isinstance(data, Mapping | set | frozenset):
        array = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
        scalar = _is_number(data) or is_missing_value(data)
        if array.ndim or array.dtype.kind != "O" or scalar:
            return array
    remedy = "pass an array, a list, a Series or a DataFrame"
    if isinstance(data, Mapping):
        remedy = "pass an array, or a table with labels: pandas.DataFrame(...), pandas.Series(...)"
    elif hasattr(data, "toarray"):
        remedy = "pass its .toarray()"
    msg = f"{argument} is a {type(data).__name__}: {remedy}"
    raise ShapeError(msg)


def _is_table(row: Any) -> bool:
    return hasattr(row, "to_numpy") and getattr(row, "ndim", 0) > 0


def _from_sequence(data: Any, argument: str) -> AnyArray:
    try:
        if any(isinstance(row, np.ma.MaskedArray) or _is_table(row) for row in data):
            data = [plain_array(row, argument) for row in data]
        array = np.asarray(data)
        # [1, "yes"] must not become ["1", "yes"], because messages would then show the wrong
        # value.
        return np.asarray(data, dtype=object) if array.dtype.kind in "US" else array
    except ValueError as error:
        msg = f"{argument} has rows of different lengths: pad missing values with NaN"
        raise ShapeError(msg) from error


def _from_pandas(data: Any) -> AnyArray:
    """Return an array of numbers if all columns are numeric, otherwise an array of objects."""
    kinds = {dtype.kind for dtype in ({data.dtype} if data.ndim == 1 else set(data.dtypes))}
    if not kinds <= set(_NUMERIC):
        return np.asarray(data.to_numpy(dtype=object))
    if kinds <= set("biu") and len(kinds) == 1 and not data.isna().to_numpy().any():
        return np.asarray(data.to_numpy())
    return np.asarray(data.to_numpy(dtype=np.float64, na_value=np.nan))


def _unmasked(array: Any) -> AnyArray:
    """Return the data of a masked array, with NaN in masked entries."""
    mask = np.ma.getmaskarray(array)
    plain = np.ma.getdata(array)
    if not mask.any():
        return plain
    plain = plain.astype(np.float64 if plain.dtype.kind in _NUMERIC else object)
    plain[mask] = np.nan
    return plain


def _numbers_or_objects(array: AnyArray) -> AnyArray:
    """Convert an array of objects to numbers if all of them are numbers or missing."""
    cells = array.astype(object)
    missing = is_missing(cells)
    cells[missing] = np.nan
    if not (missing | is_number(cells)).all():
        return cells
    if missing.any() or not cells.size:
        return cells.astype(np.float64)
    values = np.array(cells.tolist())
    return values if values.dtype.kind in _NUMERIC else cells.astype(np.float64)


def _given(name: str, value: str) -> str:
    """Return an argument and its value for a message, as Python or a command line writes them."""
    return parameter(name, python=f"{name}={value}", command=f"{{}} {value}")


def check_choice(name: str, value: object, literal: object) -> None:
    """Raise `OptionError` unless `value` is one of the strings of a ``Literal``."""
    choices = get_args(literal)
    if not isinstance(value, Hashable) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        msg = f"{_given(name, shown(value))} is not an option: use one of {listed}"
        raise OptionError(msg)


def check_fraction(name: str, value: float, *, low: float = 0.0, high: float = 1.0) -> float:
    """Return `value` as a float if it is strictly between `low` and `high`."""
    if not isinstance(value, Real) or not low < value < high:
        given = _given(name, repr(value))
        msg = f"{given} must be a number between {low:g} and {high:g} (both excluded)"
        msg += _as_share(value, "% is", low, high)
        if name == "level" and isinstance(value, str):
            msg += (
                ", the coverage of intervals; set the level of measurement by metric= or weights="
            )
        raise OptionError(msg)
    return float(value)


def check_share(name: str, value: float, *, high: float = 1.0) -> float:
    """Return `value` as a float if it is positive and at most `high`, such as a difference."""
    if not _lies_within(value, 1.0 / LARGEST, high):
        given = _given(name, shown(value))
        msg = f"{given} must be a positive number of at most {high:g}"
        raise OptionError(msg + _as_share(value, "points are", 0.0, high))
    return float(value)


def _as_share(value: Any, unit: str, low: float, high: float) -> str:
    """Return the clause that converts a number of percent to a proportion, or ""."""
    if not _lies_within(value, 1.0, 100.0) or not low < value / 100.0 <= high <= 1.0:
        return ""
    return f": {value:g} {unit} {value / 100.0:g}"


def check_count(name: str, value: int, *, low: int = 1, high: int = MOST) -> int:
    """Return `value` as an int if it is a whole number from `low` to `high`."""
    whole = isinstance(value, Real) and not isinstance(value, bool)
    whole = whole and -np.inf < value < np.inf and value % 1 == 0
    if not whole or not low <= value <= high:
        most = f" and at most {high}" if whole and value > high else ""
        msg = f"{_given(name, f'{value!r:.80}')} must be a whole number of at least {low}{most}"
        raise OptionError(msg)
    return int(value)


def check_counts(name: str, values: Any, *, low: int = 1) -> list[int]:
    """Return one or more whole numbers as a list; raise an error if there are none."""
    several = list(values) if isinstance(values, Iterator) else values
    numbers = np.atleast_1d(plain_array(several, name)).ravel().tolist()
    if not numbers:
        msg = f"{name} is empty: pass one or more numbers"
        raise OptionError(msg)
    return [check_count(name, one, low=low) for one in numbers]


def hold_counts(owner: Any, *names: str, low: int = 1, high: int = MOST, prefix: str = "") -> None:
    """Convert attributes of a frozen dataclass to integers, and check that they are in range."""
    for name in names:
        count = check_count(prefix + name, getattr(owner, name), low=low, high=high)
        object.__setattr__(owner, name, count)


def check_number(
    name: str, value: float, *, low: float = -LARGEST, high: float = LARGEST, what: str = ""
) -> float:
    """Return `value` as a float if it is a number from `low` to `high`."""
    if not _lies_within(value, low, high):
        at_least = f"a number of at least {low:g}" if low > -LARGEST else "a finite number"
        span = at_least if high == LARGEST else f"a number from {low:g} to {high:g}"
        msg = f"{_given(name, shown(value))} must be {span}{what}"
        raise OptionError(msg)
    return float(value)


def _lies_within(value: float, low: float, high: float) -> bool:
    real = isinstance(value, Real)
    # Comparing a NumPy scalar would convert the limits to its type.
    value = value.item() if isinstance(value, np.generic) else value
    return real and bool(low <= value <= high)


def check_positive(name: str, value: float, what: str = "") -> float:
    """Return `value` as a float if it is a positive number."""
    if not _lies_within(value, 1.0 / LARGEST, LARGEST):
        msg = f"{_given(name, shown(value))} must be a positive number{what}"
        raise OptionError(msg)
    return float(value)


def check_text(name: str, value: object) -> None:
    """Raise `InputError` unless `value` is a string."""
    if not isinstance(value, str):
        msg = f"{name} is {shown(value)}, which is not a string: pass a str"
        raise InputError(msg)


def check_generator(rng: RandomState) -> np.random.Generator:
    """Return a NumPy generator from a generator, a seed or None (SPEC 7)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = f"rng={rng!r} must be a numpy.random.Generator, a seed (0, 1, ...) or None"
        raise OptionError(msg) from error


def choose_seed(rng: RandomState) -> int:
    """Return the given seed, or a seed drawn from the generator or at random."""
    check_generator(rng)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))


def check_unique(kind: str, labels: Sequence[Any]) -> None:
    """Raise `LabelError` if labels are unhashable or duplicated."""
    seen: set[Any] = set()
    try:
        repeated = [label for label in labels if label in seen or seen.add(label)]  # type: ignore[func-returns-value]
    except TypeError as error:
        msg = f"{kind} labels must be hashable (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    if repeated:
        shown = ", ".join(repr(label) for label in dict.fromkeys(repeated[:5]))
        msg = (
            f"{kind} labels must be unique, but {shown} occurs more than once: rename or aggregate"
        )
        raise LabelError(msg)


def check_weights(weights: object, n: int) -> FloatArray:
    """Return question weights scaled to mean one."""
    try:
        array = float_array(weights, "weights", most=np.inf)
    except InputError as error:
        raise OptionError(str(error)) from error
    if array.shape != (n,):
        msg = f"weights must hold one number per question ({n}), got shape {array.shape}"
        raise OptionError(msg)
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if bad.size:
        msg = f"weights[{bad[0]}] = {array[bad[0]]}: weights must be finite and not negative"
        raise OptionError(msg)
    most = array.max(initial=0.0)
    if most <= 0:
        msg = "weights sum to zero: at least one question needs a positive weight"
        raise OptionError(msg)
    # Divide by the largest weight, so that no sum overflows. Tiny weights become zero.
    array = np.ldexp(array, -np.frexp(most)[1])
    array[array < _LEAST_WEIGHT] = 0.0
    return np.asarray(array * (n / array.sum()), dtype=np.float64)
