"""Rating scales: statements, points, and recoding of reversed items.

Scales can be read from TOML, JSON or CSV files, so that licensed texts can be used with
permission.

A TOML or JSON file contains the fields of `Scale`; only `items` is required::

    name = "my-scale"
    source = "Who wrote it, where, and by whose leave it is used."
    anchors = ["never", "sometimes", "often", "always"]
    low = 1
    reversed = [2]
    items = ["The first statement.", "The second."]

A CSV file has a column `item` with the statements in order. The column `reversed` is optional: 1,
x, yes or true mark a reversed item; blank, 0, no or false mark other items. The optional column
`anchor` contains the anchors in order, beginning with the lowest point, in as many rows as the
scale has points.
"""

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.errors import InputError, ShapeError
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed

ANCHORS = ("not at all true", "slightly true", "mostly true", "exactly true")
_ITEMS = (
    "A demanding assignment is something I can see through to the end.",
    "What I have begun I finish, even where it turns out to be tedious.",
    "Objections from others do not keep me from reaching a good result.",
    "A request unlike any I have met before is still one I can work out.",
    "When my first attempt has failed, I come up with another way.",
    "Under pressure my judgement stays sound.",
    "I notice early when something is going wrong, and put it right.",
    "Where instructions are vague, I find a sensible way forward.",
    "Given enough care, hardly any question is too hard for me.",
    "Several things asked of me at once do not throw me off.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Statements to rate, with the same response options for all.

    Parameters
    ----------
    name : str
        Short name, which is the prefix of prompt keys.
    items : tuple of str
        The statements.
    anchors : tuple of str
        Labels of the points, beginning with the lowest point, `low`.
    low : int
        Number of the lowest point.
    reversed : tuple of int
        Positions, from 1, of items that state the opposite of the measured property.
    source : str
        Source of the text and permission to use it.

    Raises
    ------
    InputError
        If there are no items or fewer than two points, if a text is blank or occurs twice, or if a
        reversed item does not exist.

    Examples
    --------
    >>> Scale(name="two", items=("I cope.", "I fail."), reversed=(2,)).keyed([[4, 1]])
    array([[4., 4.]])
    """

    name: str
    items: tuple[str, ...]
    anchors: tuple[str, ...] = ANCHORS
    low: int = 1
    reversed: tuple[int, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip() or "/" in self.name:
            msg = f"name={self.name!r} must be a short name without a slash"
            raise InputError(msg)
        _check_texts("items", self.items, 1)
        _check_texts("anchors", self.anchors, 2)
        wrong = [one for one in self.reversed if not 1 <= one <= len(self.items)]
        if wrong or len(set(self.reversed)) < len(self.reversed):
            msg = (
                f"reversed={self.reversed!r} must hold numbers of items, 1 to {len(self.items)}, "
                "each once"
            )
            raise InputError(msg)

    @property
    def high(self) -> int:
        """Number of the highest point of the scale."""
        return self.low + len(self.anchors) - 1

    @property
    def labels(self) -> dict[str, int]:
        """Number of each point of the scale, by label."""
        return {name: self.low + i for i, name in enumerate(self.anchors)}

    def keyed(self, ratings: object) -> FloatArray:
        """Return ratings with reversed items recoded.

        Parameters
        ----------
        ratings : array_like (rows, items)
            Ratings of the items; NaN marks a missing rating.

        Raises
        ------
        ShapeError
            If the number of columns differs from the number of items.
        """
        return keyed(ratings, self.reversed, self.low, self.high, len(self.items))


def keyed(
    ratings: object, reversed_items: tuple[int, ...], low: int, high: int, n_items: int
) -> FloatArray:
    """Return ratings with reversed items recoded as low + high - rating."""
    values = np.array(ratings, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != n_items:
        msg = f"ratings has shape {values.shape}: it needs one column per item ({n_items})"
        raise ShapeError(msg)
    columns = [number - 1 for number in reversed_items]
    values[:, columns] = low + high - values[:, columns]
    return values


def _check_texts(name: str, texts: tuple[str, ...], least: int) -> None:
    if isinstance(texts, str) or len(texts) < least:
        msg = f"{name}={texts!r} must hold at least {least} texts"
        raise InputError(msg)
    blank = [number for number, text in enumerate(texts, 1) if not str(text).strip()]
    if blank:
        msg = f"{name}: number {blank[0]} of {len(texts)} is blank"
        raise InputError(msg)
    twice = [text for text in dict.fromkeys(texts) if texts.count(text) > 1]
    if twice:
        msg = f"{name}: {listed(twice)} occurs more than once"
        raise InputError(msg)


# These are ten original statements on coping with demands, in the format of the General
# Self-Efficacy Scale: four points, no reversed items. The norms of that scale do not apply.
COPING = Scale(
    name="coping",
    items=_ITEMS,
    source="psychollm: in the format of the General Self-Efficacy Scale, with words of its own",
)


_YES = {"1", "x", "y", "yes", "true", "r"}
_NO = {"", "0", "n", "no", "false"}
_COLUMNS = ("item", "reversed", "anchor")


def read_scale(path: str | PathLike[str]) -> Scale:
    r"""Read a scale from a file.

    Parameters
    ----------
    path : path
        File in UTF-8 with the suffix .toml, .json or .csv. Without a name in the file, the scale
        has the name of the file.

    Raises
    ------
    InputError
        If the content does not match the suffix, has an unknown field or column, lacks items, or
        violates a condition of `Scale`. The error message names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.csv"
    ...     _ = path.write_text("item,reversed\nI cope.,\nI fail.,x\n")
    ...     scale = read_scale(path)
    >>> scale.name, scale.reversed
    ('two', (2,))
    """
    path = Path(path)
    readers = {".toml": _toml, ".json": _json, ".csv": _csv}
    if path.suffix.lower() not in readers:
        msg = f"{path.name}: a scale is read from .toml, .json or .csv, not {path.suffix!r}"
        raise InputError(msg)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read as UTF-8 text: {error}"
        raise InputError(msg) from error
    try:
        return _scale({"name": path.stem} | readers[path.suffix.lower()](text))
    except InputError as error:
        msg = f"{path.name}: {error}"
        raise InputError(msg) from error


def _scale(table: Mapping[str, Any]) -> Scale:
    known = [field.name for field in fields(Scale)]
    unknown = [name for name in table if name not in known]
    if unknown:
        msg = f"unknown field {unknown[0]!r}: fields of a scale are {', '.join(known)}"
        raise InputError(msg)
    if "items" not in table:
        msg = "it has no items: list the statements under 'items'"
        raise InputError(msg)
    checked = dict(table)
    for name, kind in {"items": str, "anchors": str, "reversed": int}.items():
        if name in checked:
            checked[name] = _listed(name, checked[name], kind)
    for name, kind in {"name": str, "source": str, "low": int}.items():
        if name in checked and (not isinstance(checked[name], kind) or checked[name] is True):
            msg = f"{name}={checked[name]!r} must be {'text' if kind is str else 'a whole number'}"
            raise InputError(msg)
    return Scale(**checked)


def _listed(name: str, values: object, kind: type) -> tuple[Any, ...]:
    what = "texts" if kind is str else "whole numbers"
    if not isinstance(values, list):
        msg = f"{name} must be a list of {what}, not {values!r:.60}"
        raise InputError(msg)
    for number, value in enumerate(values, 1):
        if not isinstance(value, kind) or isinstance(value, bool):
            msg = f"{name}: number {number} is {value!r}, but it must be a list of {what}"
            raise InputError(msg)
    return tuple(values)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"it is not valid TOML: {error}"
        raise InputError(msg) from error


def _json(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        msg = f"it is not valid JSON: {error}"
        raise InputError(msg) from error
    if not isinstance(fields, dict):
        msg = "its outermost value must be an object with the fields of a scale"
        raise InputError(msg)
    return fields


def _csv(text: str) -> dict[str, Any]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    columns = [str(name).strip().lower() for name in rows.fieldnames or ()]
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown or "item" not in columns:
        fault = f"has unknown columns {listed(unknown)}" if unknown else "has no column 'item'"
        msg = f"the table {fault}: columns are {', '.join(_COLUMNS)}"
        raise InputError(msg)
    rows.fieldnames = columns
    items, turned, anchors = [], [], []
    for row in rows:
        if None in row:
            msg = f"line {rows.line_num} has more cells than columns: quote texts with commas"
            raise InputError(msg)
        cells = {name: (row[name] or "").strip() for name in columns}
        if cells.get("anchor"):
            anchors.append(cells["anchor"])
        if cells["item"]:
            items.append(cells["item"])
            if _is_reversed(cells.get("reversed", ""), rows.line_num):
                turned.append(len(items))
    table: dict[str, Any] = {"items": items, "reversed": turned}
    return table | ({"anchors": anchors} if anchors else {})


def _is_reversed(cell: str, line: int) -> bool:
    if cell.lower() not in _YES | _NO:
        msg = f"line {line}: reversed is {cell!r}, but it must be 1, 0 or blank"
        raise InputError(msg)
    return cell.lower() in _YES
