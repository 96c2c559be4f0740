"""Codes for missing answers, such as 9, 99 or -99 in exports of questionnaires.

If a value may be a missing code because it is far from the other scores, readers raise an error
until the caller declares the meaning of the value.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.checks import is_missing_value
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import AnyArray, FloatArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels, listed

MissingValues: TypeAlias = Iterable[Any] | None

_DIGITS = (7, 8, 9)
_LENGTHS = (1, 11, 111, 1111, 11111)
_HIGH = [digit * length for digit in _DIGITS for length in _LENGTHS] + [98, 97, 998, 997]
_CODES = np.array([*_HIGH, *(-code for code in _HIGH), -1, -2])
_NONE = parameter("missing_values", ())
_SURE = 77  # smallest code with two digits
_MANY = 50  # number of cells needed to recognise a scale with few points


class Missing:
    """The values that count as missing; `declared` is None if the caller declared none."""

    def __init__(self, values: MissingValues = None) -> None:
        if isinstance(values, str):
            msg = f"missing_values={values!r} is one string: pass a list, [{values!r}]"
            raise OptionError(msg)
        self.declared = None if values is None else tuple(values)
        self._texts = {str(value).strip().lower() for value in self.declared or ()}
        self._numbers = {float(text) for text in self._texts if _is_numeral(text)}

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def checked(self) -> bool:
        """Whether suspicious values raise an error; False if the caller passed an empty tuple."""
        return self.declared != ()

    def holds(self, value: Any) -> bool:
        """Return whether a value counts as missing."""
        if isinstance(value, str):
            text = value.strip().lower()
            return text in self._texts or (_is_numeral(text) and float(text) in self._numbers)
        known = isinstance(value, int | float | np.number) and not is_missing_value(value)
        return known and float(value) in self._numbers

    def masked(self, values: AnyArray) -> AnyArray:
        """Return the values with NaN for missing codes."""
        if not self:
            return values
        if values.dtype.kind in "biuf":
            return np.where(np.isin(values, list(self._numbers)), np.nan, values)
        found = values.astype(object)
        found[np.vectorize(self.holds, otypes=[bool])(found)] = np.nan
        return found


def _is_numeral(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def suspects(values: FloatArray) -> FloatArray:
    """Return the distinct values that look like codes for missing answers.

    Examples
    --------
    >>> suspects(np.array([[1, 0, 9, 1], [0, 1, 1, 0]], dtype=float))
    array([9.])
    """
    known = values[np.isfinite(values)]
    if not known.size or (known.min() >= 0.0 and known.max() <= 1.0):
        return known[:0]
    v, n = np.unique(known, return_counts=True)
    is_code = np.isin(v, _CODES)
    inside = (v >= 0.0) & (v <= 1.0)
    shares = 2 * n[inside].sum() >= n.sum()
    core = v[inside] if shares else v[~is_code]
    if not core.size or 2 * n[is_code & ~inside].sum() >= n.sum():
        return v[:0]
    low, high = core[0], core[-1]
    above, below = is_code & (v > high), is_code & (v < low)
    if shares:
        beyond = v[~inside & (v > 0.0) & ~is_code]  # values of a scale that extends beyond 1
        above &= v > max(high, beyond.max(initial=0.0)) + 2.0
        below &= (v < -1.0) | (2 * n <= n[inside].min())
    else:
        scale = (np.diff(core) <= 1.0).all() and (core == np.floor(core)).all()
        far = v >= 3.0 * high
        near = scale & (far | ((v - high > 2.0) & (n.sum() >= _MANY)))
        above &= np.where(v < 10.0, near, far & (high <= 100.0))
        below &= (low >= 0.0) & ((v <= -7.0) | (low >= 1.0))
    return np.asarray(v[above | below], dtype=np.float64)


def check_codes(
    values: FloatArray,
    questions: Labels,
    missing: Missing,
    where: str | Callable[[int, int], str],
    *,
    remedy: str = "",
) -> None:
    """Raise an error for suspected missing codes (models, questions); `where` locates a cell."""
    odd = suspects(values) if missing.checked else values[:0]
    if not odd.size:
        return
    bad = np.isin(values, odd)
    row, column = (int(place) for place in np.argwhere(bad)[0])
    place = (
        f"{where}: column {questions[column]!r}" if isinstance(where, str) else where(row, column)
    )
    n = int(bad.sum())
    known = values[np.isfinite(values) & ~bad]
    codes = ", ".join(f"{one:g}" for one in odd)
    named = parameter(
        "missing_values",
        python=f"missing_values=[{codes}]",
        command=f"{{}} {codes.replace(', ', ',')}",
    )
    do = remedy.format(codes) or f"pass {named}; if all are scores, pass {_NONE}"
    msg = (
        f"{place} holds {values[row, column]:g}"
        f"{f' ({n} such cells in all)' if n > 1 else ''} among scores from {known.min():g} to "
        f"{known.max():g}: if missing answers are meant, {do}"
    )
    raise CodeError(msg)


def warn_of_codes(values: FloatArray, questions: Labels, argument: str) -> None:
    """Warn if values (models, questions) in memory look like codes for missing answers.

    For values in memory, single digits are treated as scores.
    """
    odd = suspects(values)
    odd = odd[(odd >= _SURE) | (odd <= -_DIGITS[0])]
    if not odd.size or np.nanmin(np.where(np.isin(values, odd), np.nan, values)) < 0.0:
        return
    bad = np.isin(values, odd)
    known = values[np.isfinite(values) & ~bad]
    column = questions[int(np.flatnonzero(bad.any(axis=0))[0])]
    n = int(bad.sum())
    warn(
        f"{argument}: column {column!r} holds {listed([f'{one:g}' for one in odd])} ({n} such "
        f"{'cell' if n == 1 else 'cells'} in all) among scores from {known.min():g} to "
        f"{known.max():g}; if missing answers are meant, replace them by NaN"
    )


def check_columns(values: FloatArray, questions: Labels, missing: Missing, where: str) -> None:
    """Raise an error if a column in a table of proportions has other numbers, such as ages."""
    if not missing.checked:
        return
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        share = (values >= 0.0) & (values <= 1.0)
        far = (values > 3.0) | (values < -1.0)
    apart = (far | ~known).all(axis=0) & known.any(axis=0)
    alike = (share | ~known).all(axis=0) & known.any(axis=0)
    if not apart.any() or not (apart | alike | ~known.any(axis=0)).all():
        return
    binary = np.isin(values[:, alike], (0.0, 1.0)) | ~known[:, alike]
    if apart.sum() > alike.sum() or (apart.sum() == alike.sum() and not binary.all()):
        return
    named = [questions[column] for column in np.flatnonzero(apart)]
    first = values[:, int(np.flatnonzero(apart)[0])]
    held = ", ".join(f"{one:g}" for one in first[np.isfinite(first)][:3])
    more = ", ..." if np.isfinite(first).sum() > 3 else ""
    msg = (
        f"{where}: column {listed(named)} holds {held}{more} among scores from 0 to 1: if these "
        f"are not scores, leave the column out; if they are, pass {_NONE}"
    )
    raise CodeError(msg)
