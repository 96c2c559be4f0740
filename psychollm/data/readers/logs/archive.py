"""Untrusted zip archives, read in bounded memory and never unpacked to disk.

An archive declares the sizes of its members, but the declared sizes may be false, and a few
kilobytes may expand to petabytes. Therefore, members are checked before reading, read only up to
the declared length, and then checked for length and checksum. The supported compression methods
are "stored", "deflate" and Zstandard (method 93), which Python itself has supported only since
version 3.14.
"""

import struct
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from psychollm._base.errors import InputError
from psychollm._base.optional import require

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
MAX_MEMBER = 1 << 29  # bytes of one decompressed member, 512 MiB
MAX_RATIO = 250  # largest compression ratio; repetitive logs reach about 100
FREE = 1 << 24  # bytes, 16 MiB; the ratio of smaller members is not checked
_ENCRYPTED = 0x1
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, ..., lengths of the name and of the extras


class Archive:
    """A zip archive opened for reading, used in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}"
            raise InputError(msg) from error
        try:
            # A growing log replaces an entry by a later one of the same name, so the last one is
            # used.
            self._members = {one.filename: one for one in self._directory()}
        except InputError:
            self._file.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members, in the order of the archive."""
        return tuple(self._members)

    def read(self, name: str) -> bytes:
        """Return one decompressed member."""
        member = self._members[name]
        try:
            data = self._unpacked(member)
        except (zlib.error, struct.error, EOFError, OSError, OverflowError) as error:
            raise self._damaged(name, str(error)) from error
        if len(data) != member.file_size:
            raise self._damaged(name, "its length differs from the declared one")
        if zlib.crc32(data) != member.CRC:
            raise self._damaged(name, "its checksum is wrong")
        return data

    def _directory(self) -> list[zipfile.ZipInfo]:
        try:
            with zipfile.ZipFile(self._file) as archive:
                members = [one for one in archive.infolist() if not one.is_dir()]
        except (
            *(zipfile.BadZipFile, struct.error, OSError, ValueError, EOFError),
            *(OverflowError, NotImplementedError),
        ) as error:
            msg = f"{self._path} is not a complete zip archive ({error}): is it cut off?"
            raise InputError(msg) from error
        for member in members:
            self._check(member)
        self._check_all(members)
        return members

    def _check(self, member: zipfile.ZipInfo) -> None:
        name, size = member.filename, member.file_size
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            self._refuse(f"member {name!r} has a path outside the archive")
        if member.flag_bits & _ENCRYPTED:
            self._refuse(f"member {name!r} is encrypted")
        if size > MAX_MEMBER:
            self._refuse(
                f"member {name!r} declares {size:,} bytes, but at most {MAX_MEMBER:,} are read"
            )
        if size > FREE and size > MAX_RATIO * member.compress_size:
            self._refuse(f"member {name!r} declares {size:,} bytes from {member.compress_size:,}")

    def _check_all(self, members: Sequence[zipfile.ZipInfo]) -> None:
        end = 0
        for member in sorted(members, key=lambda one: one.header_offset):
            if member.header_offset < end:
                self._refuse(f"member {member.filename!r} overlaps the previous one")
            end = member.header_offset + _LOCAL_HEADER.size + member.compress_size
        total, packed = sum(one.file_size for one in members), self._path.stat().st_size
        if total > FREE and total > MAX_RATIO * packed:
            self._refuse(f"its members declare {total:,} bytes from {packed:,}")

    def _refuse(self, reason: str) -> None:
        msg = f"{self._path} is refused: {reason}; no evaluation tool writes such an archive"
        raise InputError(msg)

    def _damaged(self, name: str, reason: str) -> InputError:
        return InputError(f"{self._path}: member {name!r} is damaged ({reason})")

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """Return the compressed bytes of a member."""
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        if signature != b"PK\x03\x04":
            raise self._damaged(member.filename, "it does not begin at the declared position")
        self._file.seek(name_length + extra_length, 1)
        packed = self._file.read(member.compress_size)
        if len(packed) != member.compress_size:
            raise self._damaged(member.filename, "the file ends within it")
        return packed

    def _unpacked(self, member: zipfile.ZipInfo) -> bytes:
        """Decompress a member, up to one byte beyond its declared length."""
        packed, most = self._packed(member), member.file_size + 1
        if member.compress_type == STORED:
            return packed[:most]
        if member.compress_type == DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
        if member.compress_type == ZSTANDARD:
            return self._from_zstandard(packed, most, member.filename)
        msg = (
            f"{self._path}: member {member.filename!r} has zip method {member.compress_type}; "
            "supported are stored, deflate and Zstandard"
        )
        raise InputError(msg)

    def _from_zstandard(self, packed: bytes, most: int, name: str) -> bytes:
        zstandard = require(
            "zstandard", extra="logs", purpose=f"{self._path.name} (packed by Zstandard)"
        )
        try:
            with zstandard.ZstdDecompressor().stream_reader(
                BytesIO(packed), read_across_frames=True
            ) as stream:
                data: bytes = stream.read(most)
        except zstandard.ZstdError as error:
            raise self._damaged(name, str(error)) from error
        return data
