"""Functions that write a result to a file and restore it exactly.

The archive is written completely or not at all, and it is read as untrusted data. Members are not
compressed, so all members together are no larger than the file, and a small file cannot expand
into large data.
"""

import json
import re
import struct
import zipfile
from collections.abc import Mapping
from math import prod
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.record import Record
from psychollm._base.saving.nodes import Reader, Writer, find_class
from psychollm._base.saving.whole import whole_file
from psychollm._base.types import AnyArray
from psychollm._base.untrusted_json import FREE, parse_json
from psychollm._base.version import __version__

TREE = "result.json"
MAX_TREE = 1 << 28  # bytes; the parsed tree takes twenty times as many bytes
_BROKEN = (
    *(zipfile.BadZipFile, struct.error, ValueError, EOFError, OSError, OverflowError),
    *(RuntimeError, NotImplementedError),  # the archive is encrypted, or its zip version is newer
)
# Headers of arrays are matched as text, because NumPy would evaluate them as Python.
_LENGTH = {b"\x93NUMPY\x01\x00": "<H", b"\x93NUMPY\x02\x00": "<I"}
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[?biufcmMSU]\d{0,9}(?:\[\d{0,9}[a-zA-Z]{1,7}\])?)', "
    rb"'fortran_order': (True|False), 'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\)(?:, ?)?\}\s*"
)


def write_archive(path: Path, tree: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write a tree and its arrays to a file, which is created only when it is complete."""
    # Members are stored without a date, so that equal results give identical files.
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(TREE), json.dumps(tree, allow_nan=False))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class SavedArchive:
    """The archive of a saved result, opened for reading in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._size = path.stat().st_size
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}"
            raise InputError(msg) from error
        except _BROKEN as error:
            raise self._no_archive(error) from error
        try:
            self._check()
        except InputError:
            self._archive.close()
            raise
        self._names = frozenset(self._archive.namelist()) - {TREE}

    def __enter__(self) -> "SavedArchive":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._archive.close()

    def tree(self) -> Any:
        """Return the contents of ``result.json``."""
        try:
            return parse_json(self._read(TREE), unique=True)
        except ValueError as error:
            self.refuse(f"{TREE} cannot be read ({error})")

    def array(self, name: str) -> AnyArray:
        """Return one array, which is read-only."""
        if name not in self._names:
            self.refuse(f"array {name!r} is missing")
        data = self._read(name)
        try:
            dtype, by_column, shape, start = _header(data)
        except (ValueError, TypeError, OverflowError) as error:
            self.refuse(f"{name!r} is not an array ({error})")
        if prod(shape) * dtype.itemsize != len(data) - start:
            self.refuse(f"array {name!r} does not have the length in its header")
        if dtype.itemsize == 0 or prod(n or 1 for n in shape) > FREE + len(data):
            self.refuse(f"array {name!r} has a type or shape that psychollm does not write")
        flat = np.frombuffer(data, dtype=dtype, count=prod(shape), offset=start)
        try:
            return flat.reshape(shape, order="F" if by_column else "C")
        except ValueError as error:
            self.refuse(f"array {name!r}: {error}")

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self._size

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error for a damaged file."""
        msg = f"{self._path} is damaged or was changed: {reason}"
        raise InputError(msg)

    def _read(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except _BROKEN as error:
            self.refuse(f"{name!r}: {error}")

    def _no_archive(self, error: Exception) -> InputError:
        if "\0" in str(self._path):
            return InputError(f"{self._path!r} cannot be read: {error}")
        with self._path.open("rb") as file:
            begins_well = file.read(4) == b"PK\x03\x04"
        if begins_well:
            return InputError(f"{self._path} is truncated or damaged ({error})")
        return InputError(f"{self._path} is not a result saved by psychollm")

    def _check(self) -> None:
        members = self._archive.infolist()
        names = [one.filename for one in members]
        if TREE not in names:
            msg = f"{self._path} is not a result saved by psychollm: it has no {TREE}"
            raise InputError(msg)
        if len(set(names)) < len(names):
            self.refuse("two members have the same name")
        for one in members:
            packed = one.compress_type != zipfile.ZIP_STORED or one.flag_bits & 0x1
            if packed or one.file_size != one.compress_size:
                self.refuse(f"member {one.filename!r} is compressed, which psychollm never does")
        if sum(one.file_size for one in members) > self._size:
            self.refuse("its members are larger than the file")
        if self._archive.getinfo(TREE).file_size > MAX_TREE:
            self.refuse(f"{TREE} is larger than {MAX_TREE:,} bytes")


def _header(data: bytes) -> tuple["np.dtype[Any]", bool, tuple[int, ...], int]:
    """Return the type, order, shape and data offset of an array."""
    width = _LENGTH.get(data[:8])
    start = 0 if width is None else 8 + struct.calcsize(width)
    if width is None or len(data) < start:
        msg = "it does not begin like one"
        raise ValueError(msg)
    end = start + int(struct.unpack(width, data[8:start])[0])
    written = _HEADER.fullmatch(data[start:end])
    if written is None or end > len(data):
        msg = "its header is not one that psychollm writes"
        raise ValueError(msg)
    kind, order, shape = (part.decode() for part in written.groups())
    lengths = tuple(int(n) for n in shape.split(",") if n.strip())
    return np.dtype(kind), order == "True", lengths, end


FORMAT = "psychollm.result"
VERSION = 1


def save(result: Record, path: str | PathLike[str]) -> Path:
    """Write a result to a file; `Result.save` calls this function."""
    file = Path(path)
    writer = Writer()
    tree = writer.node(result, at=type(result).__name__)
    head = {"format": FORMAT, "version": VERSION, "library": __version__}
    write_archive(file, {**head, "classes": writer.classes, "result": tree}, writer.arrays)
    return file


def read(path: str | PathLike[str]) -> Record:
    """Return the result that a file contains; `load` calls this function."""
    file = Path(path)
    with SavedArchive(file) as archive:
        tree = archive.tree()
        _check_head(file, tree)
        try:
            result = _read(tree, archive)
        except InputError as error:
            msg = f"{file} (written by psychollm {tree.get('library')}): {error}"
            raise InputError(msg) from error
        except RecursionError:
            archive.refuse("it is nested too deeply")
        except Exception as error:  # noqa: BLE001 -- invalid fields may raise any error in a class
            archive.refuse(f"{type(error).__name__} {error}")
    if not isinstance(result, Record):
        archive.refuse("it does not hold a result")
    return result


def _read(tree: dict[str, Any], archive: SavedArchive) -> Any:
    classes = {key: find_class(*home) for key, home in tree["classes"].items()}
    reader = Reader(array=archive.array, classes=classes, most=archive.size)
    return reader.value(tree["result"])


def _check_head(file: Path, tree: Any) -> None:
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        msg = f"{file} is not a result saved by psychollm"
        raise InputError(msg)
    version = tree.get("version")
    if not isinstance(version, int) or version < 1:
        msg = f"{file} is damaged or was changed: it names no version of its format"
        raise InputError(msg)
    if version > VERSION:
        msg = (
            f"{file} was written by psychollm {tree.get('library')} in version {version} of the "
            f"format; psychollm {__version__} reads up to {VERSION}: upgrade psychollm"
        )
        raise InputError(msg)
