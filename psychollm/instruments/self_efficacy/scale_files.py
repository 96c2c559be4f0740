"""Scales from files: TOML, JSON or CSV, so that a licensed text can be used where it may be.

A TOML or JSON file holds the fields of `Scale`; only `items` is required::

    name = "my-scale"
    source = "Who wrote it, where, and by whose leave it is used."
    anchors = ["never", "sometimes", "often", "always"]
    low = 1
    reversed = [2]
    items = ["The first statement.", "The second."]

A CSV file has a column `item` with the statements in their order, and may have a column `reversed`
(1, x, yes or true; anything else is an error unless blank, 0, no or false). Anchors stand in a
column `anchor`, from the lowest point, in as many rows as there are points.
"""

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.labels import listed
from psychollm.instruments.self_efficacy.scale import Scale

_YES = {"1", "x", "y", "yes", "true", "r"}
_NO = {"", "0", "n", "no", "false"}
_COLUMNS = ("item", "reversed", "anchor")


def read_scale(path: str | PathLike[str]) -> Scale:
    r"""Read a scale from a file.

    Parameters
    ----------
    path : path
        Ends in .toml, .json or .csv; the text is UTF-8. Without a name in the file, the scale
        is called after it.

    Raises
    ------
    InputError
        If the file cannot be read as what its ending says, has a field or column that scales do
        not have, or lacks items; and whatever `Scale` objects to. The message names the file.

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
    found = dict(table)
    for name, kind in {"items": str, "anchors": str, "reversed": int}.items():
        if name in found:
            found[name] = _listed(name, found[name], kind)
    for name, kind in {"name": str, "source": str, "low": int}.items():
        if name in found and (not isinstance(found[name], kind) or found[name] is True):
            msg = f"{name}={found[name]!r} must be {'text' if kind is str else 'a whole number'}"
            raise InputError(msg)
    return Scale(**found)


def _listed(name: str, values: object, kind: type) -> tuple[Any, ...]:
    what = "texts" if kind is str else "whole numbers"
    if not isinstance(values, list):
        msg = f"{name} must be a list of {what}, not {values!r:.60}"
        raise InputError(msg)
    for place, value in enumerate(values, 1):
        if not isinstance(value, kind) or isinstance(value, bool):
            msg = f"{name}: number {place} is {value!r}, but it must be a list of {what}"
            raise InputError(msg)
    return tuple(values)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"it is no TOML: {error}"
        raise InputError(msg) from error


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        msg = f"it is no JSON: {error}"
        raise InputError(msg) from error
    if not isinstance(found, dict):
        msg = "its outermost value must be an object with the fields of a scale"
        raise InputError(msg)
    return found


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
    found: dict[str, Any] = {"items": items, "reversed": turned}
    return found | ({"anchors": anchors} if anchors else {})


def _is_reversed(cell: str, line: int) -> bool:
    if cell.lower() not in _YES | _NO:
        msg = f"line {line}: reversed is {cell!r}, but it must be 1, 0 or blank"
        raise InputError(msg)
    return cell.lower() in _YES
