"""The grammar of a saved result: exact conversion of values to JSON and back.

==========================================  ==============================================
JSON                                        value
==========================================  ==============================================
null, true, 3, 0.25, "text"                 itself; a float always has a point or exponent
[a, b]                                      tuple
{"float": "nan"}                            a float that JSON lacks: nan, -nan, inf, -inf,
                                            or the 16 digits of a NaN with other bits
{"numpy": ["float64", 0.25]}                a scalar of NumPy
{"list": [a, b]}                            list
{"set": [a, b]}                             frozenset
{"dict": [[key, value], ...]}               mapping, in its order
{"array": "0.npy"}                          array: a member of the archive
{"objects": [[2, 2], [a, b, c, d]]}         array of objects: its shape and entries
{"enum": ["Reason", "NONE"]}                member of an enumeration
{"object": "Estimate", "fields": {...}}     result, frozen dataclass or named tuple
{"frame": {...}}                            table of pandas
==========================================  ==============================================

A separate table lists each class once, with its name in the tree, its module and its class name.

A table is ``{"columns": index, "index": index, "data": [column, ...]}``. An index is
``{"range": [start, stop, step], "names": [name]}`` or ``{"levels": [column, ...], "names":
[...]}``. A column is ``[dtype, values]``: an array for NumPy's types, a list for objects, text and
the types of pandas with missing values (null), and ``["category", ordered, categories, codes]``.

A file may name results, frozen dataclasses, named tuples and enumerations. A file cannot cause an
arbitrary import: the sources of the package are first searched for the class, and only a module
that defines it is imported. A class that moved to another module is found if its name is unique.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.record import Record
from psychollm._base.types import AnyArray
from psychollm._base.untrusted_json import FREE

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = "psychollm"
_RENAMED = {"SparseResponses": "Responses"}  # maps class names in older files to current names
_CLASS = re.compile(r"^class (\w+)\b", re.MULTILINE)


def is_record(kind: type) -> bool:
    """Return whether a class is a record of fields: result, frozen dataclass or named tuple."""
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, Record) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def find_class(module: str, name: str) -> type[Any]:
    """Return a class of the package that a file may name."""
    name = _RENAMED.get(name, name)
    homes = _homes().get(name, ())
    if module not in homes and len(homes) != 1:
        msg = f"this version of psychollm has no class {name} in {module}"
        raise InputError(msg)
    home = module if module in homes else homes[0]
    held = getattr(import_module(home), name, None)
    if not isinstance(held, type) or not (is_record(held) or issubclass(held, Enum)):
        msg = f"{home}.{name} is not a result, record or enumeration"
        raise InputError(msg)
    return held


@cache
def _homes() -> dict[str, tuple[str, ...]]:
    """Map the name of each class to the modules that define it."""
    homes: dict[str, list[str]] = {}
    for module, source in _sources(files(PACKAGE), PACKAGE):
        for name in _CLASS.findall(source):
            homes.setdefault(name, []).append(module)
    return {name: tuple(modules) for name, modules in homes.items()}


def _sources(folder: Traversable, package: str) -> Iterator[tuple[str, str]]:
    """Yield each module below a folder, with its source."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.name.startswith("__"):
            yield from _sources(entry, f"{package}.{entry.name}")
        elif entry.name.endswith(".py") and not entry.name.startswith("__"):
            yield f"{package}.{entry.name.removesuffix('.py')}", entry.read_text("utf-8")


_ODD = {name: float(name) for name in ("nan", "-nan", "inf", "-inf")}
_SCALARS: dict[str, type] = {
    "bool": bool,
    "str": str,
    **dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), int),
    **dict.fromkeys(("float16", "float32", "float64"), float),
}
MOST_ALIKE = 64  # largest number of distinct keys of a dict that may share a hash


def saved_fields(kind: type) -> tuple[str, ...]:
    """Return the names of the constructor's arguments for a record, by default its fields."""
    if issubclass(kind, Record) and kind._SAVED:
        return kind._SAVED
    if is_dataclass(kind):
        computed = issubclass(kind, Record)  # results compute fields that are not arguments
        return tuple(field.name for field in fields(kind) if field.init or not computed)
    return tuple(kind._fields)  # type: ignore[attr-defined]


class Writer:
    """Converter of a result to a tree; it also collects the arrays and classes."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self.classes: dict[str, tuple[str, str]] = {}
        self._keys: dict[type, str] = {}
        self._written: dict[int, str] = {}

    def node(self, value: Any, *, at: str) -> Any:
        """Return the JSON node of a value; `at` is the value's location for error messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": _odd(value)}
        for kind, make in self._makers():
            if isinstance(value, kind):
                return make(value, at)
        if is_record(type(value)):
            return self._record(value, at)
        if hasattr(value, "columns") and hasattr(value, "iloc"):
            return {"frame": frame_node(value, self, at)}
        raise self._refused(value, at)

    def _makers(self) -> tuple[tuple[Any, Callable[[Any, str], Any]], ...]:
        return (
            (Enum, self._enum),
            (np.generic, self._scalar),
            (np.ndarray, self._array),
            (Mapping, self._mapping),
            (list, lambda value, at: {"list": self._all(value, at)}),
            (frozenset | set, self._set),
            (tuple, self._tuple),
        )

    def _all(self, values: Any, at: str) -> list[Any]:
        return [self.node(value, at=f"{at}[{k}]") for k, value in enumerate(values)]

    def _tuple(self, value: tuple[Any, ...], at: str) -> Any:
        return self._record(value, at) if hasattr(value, "_fields") else self._all(value, at)

    def _set(self, value: frozenset[Any], at: str) -> Any:
        return {"set": self._all(sorted(value, key=repr), at)}

    def _mapping(self, value: Mapping[Any, Any], at: str) -> Any:
        items = [
            [self.node(key, at=f"a key of {at}"), self.node(item, at=f"{at}[{key!r}]")]
            for key, item in value.items()
        ]
        return {"dict": items}

    def _enum(self, value: Enum, at: str) -> Any:
        return {"enum": [self._class(type(value), at), value.name]}

    def _scalar(self, value: np.generic, at: str) -> Any:
        name = "str" if value.dtype.kind == "U" else value.dtype.name
        if name not in _SCALARS:
            raise self._refused(value, at)
        return {"numpy": [name, self.node(value.item(), at=at)]}

    def _array(self, value: AnyArray, at: str) -> Any:
        if type(value) is not np.ndarray:  # masked arrays and matrices would lose their type
            raise self._refused(value, at)
        if value.dtype.fields is not None or value.dtype.kind == "V":
            raise self._refused(value, at)
        if value.dtype.hasobject:
            return {"objects": [list(value.shape), self._all(value.ravel().tolist(), at)]}
        if id(value) not in self._written:
            name = f"{len(self.arrays)}.npy"
            self.arrays[name] = value  # kept alive, so that no other array gets its id
            self._written[id(value)] = name
        return {"array": self._written[id(value)]}

    def _record(self, value: Any, at: str) -> Any:
        kind = type(value)
        names = value._public() if getattr(kind, "_SAVED", ()) else saved_fields(kind)
        held = {name: self.node(getattr(value, name), at=f"{at}.{name}") for name in names}
        return {"object": self._class(kind, at), "fields": held}

    def _class(self, kind: type, at: str) -> str:
        if kind in self._keys:
            return self._keys[kind]
        module, name = kind.__module__, kind.__qualname__
        if module.partition(".")[0] != PACKAGE or "." in name:
            msg = f"{at} is a {module}.{name}: only classes of psychollm can be saved"
            raise InputError(msg)
        same = sum(name == other for _, other in self.classes.values())
        key = name if not same else f"{name}.{same + 1}"
        self.classes[key] = (module, name)
        self._keys[kind] = key
        return key

    @staticmethod
    def _refused(value: Any, at: str) -> InputError:
        kind = type(value)
        return InputError(
            f"{at} holds a {kind.__module__}.{kind.__qualname__}, which a file cannot hold"
        )


class Reader:
    """Converter of a tree to a result; at most `most` bytes are copied for columns of tables."""

    def __init__(
        self,
        *,
        array: Callable[[str], AnyArray],
        classes: Mapping[str, type[Any]],
        most: int | None = None,
    ) -> None:
        self._array, self._classes = array, classes
        self._held: dict[str, AnyArray] = {}
        self._left = most

    def column(self, node: Any) -> AnyArray:
        """Return the array of the values in one column of a table."""
        array = self.value(node)
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            msg = "a column of a table is not a list of values"
            raise ValueError(msg)
        if self._left is not None:
            self._left -= array.nbytes
            if self._left < 0:
                msg = "its tables need more memory than the file's size"
                raise ValueError(msg)
        return array

    def value(self, node: Any) -> Any:
        """Return the value that a JSON node represents."""
        if isinstance(node, list):
            return tuple(self.value(one) for one in node)
        if not isinstance(node, dict):
            return node
        if "object" in node:
            return self._record(self._classes[node["object"]], node["fields"])
        ((kind, held),) = node.items()
        if kind == "frame":
            return frame_of(held, self)
        return _READ[kind](self, held)

    def _record(self, kind: type[Any], held: Mapping[str, Any]) -> Any:
        if not is_record(kind):
            msg = f"{kind.__name__} is not a record"
            raise ValueError(msg)
        unknown = [name for name in held if name not in saved_fields(kind)]
        if unknown:
            msg = f"{kind.__name__} has no field {unknown[0]!r} in this version of psychollm"
            raise InputError(msg)
        values = {name: self.value(node) for name, node in held.items()}
        try:
            if issubclass(kind, Record):
                return kind._of_fields(values)
            return kind(**values) if issubclass(kind, tuple) else _filled(kind, values)
        except TypeError as error:  # a field without a default is not in the file
            msg = f"{kind.__name__} cannot be made from the fields in the file: {error}"
            raise InputError(msg) from error

    def _dict(self, held: Any) -> dict[Any, Any]:
        pairs = [(self.value(key), self.value(item)) for key, item in held]
        check_hashes([key for key, _ in pairs])
        return dict(pairs)

    def _set(self, held: Any) -> frozenset[Any]:
        values = [self.value(one) for one in held]
        check_hashes(values)
        return frozenset(values)

    def _scalar(self, held: Any) -> Any:
        name, node = held
        value = self.value(node)
        if type(value) is not _SCALARS[name]:
            msg = f"{value!r:.40} is no {name}"
            raise ValueError(msg)
        with np.errstate(over="ignore"):
            made = np.dtype(name).type(value)
        if made.item() != value and value == value:  # the type cannot represent the number
            msg = f"{value!r:.40} is no {name}"
            raise ValueError(msg)
        return made

    def _member(self, name: str) -> AnyArray:
        if name not in self._held:
            self._held[name] = self._array(name)
        return self._held[name]

    def _objects(self, held: Any) -> AnyArray:
        shape, values = held
        if min(shape, default=0) < 0 or prod(n or 1 for n in shape) > FREE + len(values):
            msg = f"objects of the shape {shape!r:.40}"
            raise ValueError(msg)
        filled = np.empty(len(values), dtype=object)
        for k, node in enumerate(values):
            filled[k] = self.value(node)
        array = filled.reshape(shape)
        array.flags.writeable = False
        return array

    def _enum(self, held: Any) -> Enum:
        kind, name = held
        enum = self._classes[kind]
        if not issubclass(enum, Enum):
            raise TypeError(kind)
        return enum[name]


def _filled(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a dataclass instance with the given field values."""
    made = object.__new__(kind)
    for field in fields(kind):
        if field.name in values:
            value = values[field.name]
        elif field.default is not MISSING:
            value = field.default
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            msg = f"missing field {field.name!r}"
            raise TypeError(msg)
        object.__setattr__(made, field.name, value)
    return made


_READ: dict[str, Callable[[Reader, Any], Any]] = {
    "float": lambda reader, held: _ODD[held] if held in _ODD else _from_bits(held),
    "numpy": Reader._scalar,
    "list": lambda reader, held: [reader.value(one) for one in held],
    "set": Reader._set,
    "dict": Reader._dict,
    "array": Reader._member,
    "objects": Reader._objects,
    "enum": Reader._enum,
}


def _odd(value: float) -> str:
    """Return the name or the bits of a float that is not finite."""
    bits = struct.pack(">d", value)
    named = (name for name, one in _ODD.items() if struct.pack(">d", one) == bits)
    return next(named, bits.hex())


def _from_bits(text: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(text))[0])


def check_hashes(values: Sequence[Any]) -> None:
    """Raise `ValueError` if many different values have the same hash (a hash-collision attack)."""
    hashes = [(_hash(value), value) for value in values]
    for one, n in Counter(digest for digest, _ in hashes).most_common():
        if n <= MOST_ALIKE:
            return
        alike = {repr(value) for digest, value in hashes if digest == one}
        if one is not None and len(alike) > MOST_ALIKE:
            msg = f"{len(alike):,} keys have one hash"
            raise ValueError(msg)


def _hash(value: Any) -> int | None:
    try:
        return hash(value)
    except TypeError:
        return None


_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_WITH_GAPS = frozenset({"str", "string", "boolean", "Float32", "Float64", *_WHOLE})


def frame_node(frame: "pd.DataFrame", writer: "Writer", at: str) -> Any:
    """Return the JSON node that represents a table."""
    data = [
        _column(frame.iloc[:, k], writer, f"{at}[{name!r}]")
        for k, name in enumerate(frame.columns)
    ]
    columns, index = (_index(axis, writer, at) for axis in (frame.columns, frame.index))
    return {"columns": columns, "index": index, "data": data}


def frame_of(node: Any, reader: "Reader") -> "pd.DataFrame":
    """Return the table that a JSON node represents."""
    import pandas as pd

    index = _index_of(node["index"], reader)
    columns = {k: _column_of(one, reader) for k, one in enumerate(node["data"])}
    frame = pd.DataFrame({k: pd.Series(one, index=index) for k, one in columns.items()}, index)
    frame.columns = _index_of(node["columns"], reader)
    return frame


def _index(index: Any, writer: "Writer", at: str) -> Any:
    import pandas as pd

    names = [writer.node(name, at=f"{at}: a name of its index") for name in index.names]
    if isinstance(index, pd.RangeIndex):
        return {"range": [index.start, index.stop, index.step], "names": names}
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    where = f"{at}: its index"
    return {"levels": [_column(one, writer, where) for one in levels], "names": names}


def _index_of(node: Any, reader: "Reader") -> Any:
    import pandas as pd

    names = [reader.value(name) for name in node["names"]]
    if "range" in node:
        start, stop, step = node["range"]
        index = pd.RangeIndex(start, stop, step, name=names[0])
        len(index)  # raises an error if the range is too long for memory
        return index
    levels = [_column_of(one, reader) for one in node["levels"]]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=names)
    return pd.Index(levels[0], name=names[0], tupleize_cols=False)


def _column(column: Any, writer: "Writer", at: str) -> Any:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes if hasattr(column, "cat") else column.codes
        categories = _column(dtype.categories, writer, at)
        return ["category", dtype.ordered, categories, writer.node(np.array(codes), at=at)]
    if dtype == np.dtype(object):
        return ["object", [writer.node(value, at=at) for value in column]]
    if isinstance(dtype, np.dtype):
        return [dtype.str, writer.node(column.to_numpy(), at=at)]
    if dtype.name not in _WITH_GAPS:
        msg = f"{at} is of type {dtype.name}, which a file cannot hold"
        raise InputError(msg)
    gaps = column.isna()
    values = [None if gap else value for gap, value in zip(gaps, column, strict=True)]
    return [dtype.name, [writer.node(value, at=at) for value in values]]


def _column_of(node: Any, reader: "Reader") -> Any:
    import pandas as pd

    if node[0] == "category":
        _, ordered, categories, codes = node
        held = pd.Index(_column_of(categories, reader))
        return pd.Categorical.from_codes(reader.column(codes), held, ordered=ordered)
    name, values = node
    if isinstance(values, dict):
        return reader.column(values)
    listed = [reader.value(value) for value in values]
    check_hashes(listed)
    if name == "object":
        filled = np.empty(len(listed), dtype=object)
        filled[:] = listed
        return filled
    if name not in _WITH_GAPS:
        raise ValueError(name)
    # Text has its own dtype in pandas 3 and the object dtype in earlier versions.
    dtype = pd.Series(["a"]).dtype if name == "str" else name
    return pd.Series(listed, dtype=dtype).array
