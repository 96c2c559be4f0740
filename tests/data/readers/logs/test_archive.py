"""Archives that are cut off, damaged or hostile: one clear error, little memory, no files."""

import io
import re
import struct
import sys
import zipfile
import zlib

import pytest

from psychollm._base.errors import InputError, MissingPackageError
from psychollm.data.logs import read_logs
from psychollm.data.readers.logs import archive as module
from psychollm.data.readers.logs.archive import FREE, MAX_MEMBER, Archive

HEADER = b'{"eval": {"model": "m", "task": "t"}}'


def packed(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as made:
        for name, data in ({"header.json": HEADER} | members).items():
            made.writestr(name, data)
    return target.getvalue()


def declare(data: bytes, name: bytes, size: int) -> bytes:
    """Return an archive whose directory says that a member is `size` bytes long."""
    at = data.rindex(name) - 46  # of the central directory
    assert data[at : at + 4] == b"PK\x01\x02"
    return data[: at + 24] + struct.pack("<I", size) + data[at + 28 :]


@pytest.fixture
def log(tmp_path):
    def write(data: bytes):
        path = tmp_path / "log.eval"
        path.write_bytes(data)
        return path

    return write


def refused(path, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_logs(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read(log, method):
    text = b"x" * 100_000
    with Archive(log(packed(method, **{"samples/a.json": text}))) as archive:
        assert archive.names == ("header.json", "samples/a.json")
        assert archive.read("samples/a.json") == text


def test_the_last_of_two_members_with_one_name_counts(log):
    target = io.BytesIO(packed())
    with zipfile.ZipFile(target, "a") as made, pytest.warns(UserWarning, match="Duplicate"):
        made.writestr("header.json", b"{}")
    with Archive(log(target.getvalue())) as archive:
        assert archive.names.count("header.json") == 1
        assert archive.read("header.json") == b"{}"


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.97])
def test_cut_off(log, keep):
    data = packed(**{"samples/a.json": bytes(range(256)) * 40})
    refused(log(data[: int(len(data) * keep)]), "is not a complete zip archive")


def test_empty_and_no_archive(log):
    refused(log(b""), "is not a complete zip archive")
    refused(log(b"PK\x03\x04" + b"\x00" * 200), "is not a complete zip archive")
    refused(log(packed(other=b"{}").replace(b"header.json", b"footer.json")), "not a known log")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_member(log, method):
    data = bytearray(packed(method))
    at = data.index(b"header.json") + len("header.json")
    data[at + 8] ^= 0xFF
    refused(log(bytes(data)), "member 'header.json' is damaged")


def test_damaged_directory(log):
    data = packed()
    at = data.index(b"PK\x01\x02")
    refused(log(data[:at] + b"PK\x07\x07" + data[at + 4 :]), "is not a complete zip archive")
    moved = data[: at + 42] + struct.pack("<I", 7) + data[at + 46 :]
    refused(log(moved), "it does not begin at the declared position")


def test_two_gigabytes_declared(log):
    refused(log(declare(packed(), b"header.json", 1 << 31)), f"{MAX_MEMBER:,} are read")


def test_bomb(log):
    small = zlib.compress(b"0" * (FREE + 1))
    assert len(small) * 250 < FREE
    refused(log(packed(**{"samples/a.json": b"0" * (FREE + 1)})), "declares 16,777,217 bytes from")


def test_bomb_of_many_members(log):
    many = {f"samples/{i}.json": b"0" * (FREE // 8) for i in range(12)}
    refused(log(packed(**many)), "its members declare")


def test_bomb_that_hides_its_size(log):
    data = declare(packed(**{"samples/a.json": b"0" * FREE}), b"samples/a.json", 100)
    refused(log(data), "its length differs from the declared one")


def test_overlapping_members(log):
    data = packed(**{"samples/a.json": b"1" * 500})
    second = data.rindex(b"samples/a.json") - 46
    overlapping = data[: second + 42] + struct.pack("<I", 0) + data[second + 46 :]
    refused(log(overlapping), "overlaps the previous one")


@pytest.mark.parametrize("name", ["../../etc/x.json", "/etc/x.json", "C:\\x.json", "a/../../x"])
def test_members_that_lie_outside(log, name, tmp_path):
    refused(log(packed(**{name: b"{}"})), "has a path outside the archive")
    assert [path.name for path in tmp_path.iterdir()] == ["log.eval"]


def test_encrypted_member(log):
    data = bytearray(packed())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(log(bytes(data)), "is encrypted")


def test_unknown_method(log):
    refused(log(packed(zipfile.ZIP_BZIP2)), "has zip method 12")


def test_header_that_is_no_object(log):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr("header.json", "[1]")
    refused(log(target.getvalue()), "member 'header.json' does not hold a JSON object")
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr("header.json", b"[" * 200_000)
    refused(log(target.getvalue()), "is not complete JSON")


# Zstandard


@pytest.fixture
def compressed():
    zstandard = pytest.importorskip("zstandard")

    def archive(data: bytes, size: int | None = None) -> bytes:
        """Return an archive as Inspect writes it, its one member packed by Zstandard."""
        plain = bytearray(packed(zipfile.ZIP_STORED))
        start = plain.index(HEADER)
        small = zstandard.ZstdCompressor().compress(data)
        plain[start : start + len(HEADER)] = small
        shift = len(small) - len(HEADER)
        facts = struct.pack("<III", zlib.crc32(data), len(small), size or len(data))
        plain[8:10] = struct.pack("<H", 93)
        plain[14:26] = facts
        central = plain.index(b"PK\x01\x02")
        plain[central + 10 : central + 12] = struct.pack("<H", 93)
        plain[central + 16 : central + 28] = facts
        end = plain.index(b"PK\x05\x06")
        offset = struct.unpack("<I", plain[end + 16 : end + 20])[0]
        plain[end + 16 : end + 20] = struct.pack("<I", offset + shift)
        return bytes(plain)

    return archive


def test_zstandard(log, compressed):
    with Archive(log(compressed(b"x" * 5_000))) as archive:
        assert archive.read("header.json") == b"x" * 5_000


def test_zstandard_bombs(log, compressed):
    refused(log(compressed(b"0" * (FREE + 1))), "declares 16,777,217 bytes from")
    refused(log(compressed(b"0" * FREE, size=50)), "its length differs from the declared one")
    refused(log(compressed(b"0" * 50, size=FREE)), "its length differs from the declared one")


def test_zstandard_damaged(log, compressed):
    data = bytearray(compressed(bytes(range(256)) * 9))
    data[data.index(b"\x28\xb5\x2f\xfd") + 1] ^= 0xFF
    refused(log(bytes(data)), "member 'header.json' is damaged")


def test_without_the_package(log, compressed, monkeypatch):
    path = log(compressed(b"{}"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingPackageError, match=r'pip install "psychollm\[logs\]"'):
        read_logs(path)


def test_memory_is_bounded(log, monkeypatch):
    """However long a stream is, no more is unpacked than was declared, and one byte."""
    lengths = []
    real = zlib.decompressobj

    class Spy:
        def __init__(self, bits):
            self._real = real(bits)

        def decompress(self, data, most):
            found = self._real.decompress(data, most)
            lengths.append(len(found))
            return found

    monkeypatch.setattr(module.zlib, "decompressobj", Spy)
    data = declare(packed(**{"samples/a.json": b"0" * FREE}), b"samples/a.json", 100)
    with Archive(log(data)) as archive, pytest.raises(InputError):
        archive.read("samples/a.json")
    assert lengths == [101]
