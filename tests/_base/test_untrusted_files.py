"""Saved results that nobody vouches for: what a file may ask for is bounded by what it holds."""

import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psychollm._base.errors import InputError
from psychollm._base.result import Result, load
from tests._base.test_saved_format import MEMBERS, estimate, members, npy, packed, rewritten
from tests.hangs import ends

PRIME = 2**61 - 1  # whole numbers that differ by it have one hash


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return estimate().save(tmp_path / "found.psy")


def holding(file: Path, node: Any) -> Path:
    """Return the file with a node of its own in one field."""
    return rewritten(file, lambda tree: tree["result"]["fields"].update(method=node))


def frame(data: list[Any], rows: int, index: Any = None) -> dict[str, Any]:
    given = {"range": [0, rows, 1], "names": [None]}
    columns = {"range": [0, len(data), 1], "names": [None]}
    return {"frame": {"columns": columns, "index": index or given, "data": data}}


def minus_ones(n: int) -> list[list[int]]:
    """Return tuples that all have one hash, as -1 and -2 do."""
    return [[-1 - (k >> bit & 1) for bit in range(15)] for k in range(n)]


NODES = {
    "a scalar over a declared index": frame([["<f8", {"float": "nan"}]], 10**10),
    "a word over a declared index": frame([["object", {"numpy": ["str", "a"]}]], 10**10),
    "a mapping over a declared index": frame([["object", {"dict": [[0, 1]]}]], 10**10),
    "a column of another length": frame([["<f8", {"array": "0.npy"}]], 10**10),
    "a table of two dimensions": frame([["<f8", {"array": "2.npy"}]], 2),
    "keys of one hash": {"dict": [[k * PRIME, 0] for k in range(30_000)]},
    "tuples of one hash": {"dict": [[key, 0] for key in minus_ones(30_000)]},
    "a set of one hash": {"set": [k * PRIME for k in range(30_000)]},
    "floats of no bits": {"float": "00"},
    "floats of too many bits": {"float": "00" * 9},
    "floats of other words": {"float": "zz"},
    "float of a number": {"float": 1},
    "an integer beyond its type": {"numpy": ["int8", 10**30]},
    "an integer just beyond its type": {"numpy": ["uint8", 256]},
    "a fraction in an integer": {"numpy": ["int8", 0.5]},
    "a word in a number": {"numpy": ["float64", "5"]},
    "a list in a number": {"numpy": ["float64", {"list": [1, 2]}]},
    "a float beyond its type": {"numpy": ["float16", 1e10]},
    "a number in a truth value": {"numpy": ["bool", 2]},
    "a shape below zero": {"objects": [[-1], [1, 2]]},
    "a shape without end": {"objects": [[0, 10**18], []]},
    "a shape of words": {"objects": [["a"], [1]]},
    "a list as a key": {"dict": [[{"list": []}, 1]]},
    "a class that is a list": {"enum": [[], "x"]},
    "whole numbers beyond their type": frame([["Int64", [10**30]]], 1),
    "an index beyond its type": frame([], 10**30),
    "codes beyond the categories": frame([["category", False, ["object", ["a"]], 5]], 1),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_that_are_refused(name: str, file: Path) -> None:
    with ends(), pytest.raises(InputError, match="damaged") as raised:
        load(holding(file, NODES[name]))
    assert str(file) in str(raised.value)


def test_indexes_of_one_hash_are_refused(file: Path) -> None:
    level = ["object", [k * PRIME for k in range(30_000)]]
    index = {"levels": [level, level], "names": [None, None]}
    with pytest.raises(InputError, match="one hash"):
        load(holding(file, frame([], 0, index)))


def test_columns_that_name_one_array_are_refused(file: Path) -> None:
    """Each column of a table is a copy: 300 of one member would be 300 times the file."""
    held = members(holding(file, frame([["<f8", {"array": "9.npy"}]] * 300, 10_000)))
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000,)}"
    held["9.npy"] = npy(header, bytes(80_000))
    with pytest.raises(InputError, match="more memory than the file's size"):
        load(packed(file, held))


def test_keys_of_few_hashes_are_read(file: Path) -> None:
    """What is honest may have one hash by chance: -1 and -2, and tuples of them."""
    keys = [[a, b] for a in range(-9, 9) for b in range(-9, 9)]
    found = load(holding(file, {"dict": [[key, 1] for key in keys]}))
    assert found.method == dict.fromkeys(map(tuple, keys), 1)  # type: ignore[attr-defined]


def test_a_declared_index_takes_no_memory(file: Path) -> None:
    """Two kilobytes that asked for 75 GB, under a limit of two."""
    holding(file, NODES["a scalar over a declared index"])
    code = (
        "import resource, sys; import psychollm as psy; import pandas\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try: psy.load(sys.argv[1])\nexcept psy.errors.InputError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "is damaged" in done.stdout, done.stderr


HEADERS = {
    "minus signs": "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "-" * 5000 + "1,)}",
    "brackets": "{'descr': " + "[" * 5000 + "'<f8'" + "]" * 5000 + ", 'shape': (1,)}",
    "not closed": "{'descr': '<f8', 'fortran_order': False, 'shape': (1,",
    "no dictionary": "[1]",
    "no shape": "{'descr': '<f8', 'fortran_order': False}",
    "a set": "{'descr', 'fortran_order', 'shape'}",
    "an order of 2": "{'descr': '<f8', 'fortran_order': 2, 'shape': (1,)}",
    "a shape of words": "{'descr': '<f8', 'fortran_order': False, 'shape': ('a',)}",
    "a shape of truth": "{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
    "a number for a shape": "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
    "no type": "{'descr': 'zz', 'fortran_order': False, 'shape': (1,)}",
    "fields": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
    "many fields": "{'descr': 'f8,f8', 'fortran_order': False, 'shape': (1,)}",
    "a unit without end": "{'descr': '<M8[99999999999999999999s]', 'fortran_order': False, "
    "'shape': (1,)}",
    "letters of no width": "{'descr': '<U0', 'fortran_order': False, 'shape': (10000000000,)}",
    "rows of nothing": "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 0)}",
    "too many dimensions": "{'descr': '<f8', 'fortran_order': False, 'shape': ("
    + "1, " * 100
    + ")}",
    "a width without end": "{'descr': '<U99999999999', 'fortran_order': False, 'shape': (1,)}",
    "digits without end": "{'descr': '<f8', 'fortran_order': False, 'shape': ("
    + "9" * 5000
    + ",)}",
    "a null": "{'descr': '<f8\x00', 'fortran_order': False, 'shape': (1,)}",
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_are_refused(name: str, file: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        load(packed(file, members(file) | {"0.npy": npy(HEADERS[name], bytes(8))}))


def test_a_header_longer_than_its_member(file: Path) -> None:
    for member in (b"\x93NUMPY\x01\x00\xff\xff{", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"):
        with pytest.raises(InputError, match="not an array"):
            load(packed(file, members(file) | {"0.npy": member}))


def test_headers_of_every_version_that_numpy_writes_are_read(file: Path) -> None:
    held = members(file)
    text = held["0.npy"][10:]
    later = b"\x93NUMPY\x02\x00" + struct.pack("<I", struct.unpack("<H", held["0.npy"][8:10])[0])
    assert load(packed(file, held | {"0.npy": later + text})).value[0] == 0.5  # type: ignore[attr-defined]


def test_arrays_with_fields_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="_draws holds"):
        estimate(_draws=np.zeros(2, dtype=[("a", "f8")])).save(tmp_path / "a.psy")


def test_many_members_take_time_in_proportion(file: Path) -> None:
    """Each array is looked up among all members."""
    held = members(file)
    tree = json.loads(held[MEMBERS])
    names = [f"{k}.npy" for k in range(3, 8000)]
    tree["result"]["fields"]["method"] = [{"array": name} for name in names]
    held |= dict.fromkeys(names, held["0.npy"]) | {MEMBERS: json.dumps(tree).encode()}
    packed(file, held)
    with ends():
        assert len(load(file).method) == len(names)  # type: ignore[attr-defined]


def test_names_that_stand_twice_in_the_tree(file: Path) -> None:
    held = members(file)
    held[MEMBERS] = held[MEMBERS].replace(b'"version": 1', b'"version": 2, "version": 1')
    with pytest.raises(InputError, match="'version' occurs twice"):
        load(packed(file, held))


def test_a_path_that_no_file_has() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load("a\x00b")


# Anything else: whatever is changed, the file is read or refused, never answered by a traceback.


HOSTILE = [
    *(None, True, -1, 0, 1, 10**30, 1e308, "", "nan", "x", [], {}, [[]], {"a": 1}),
    *({"float": "00"}, {"numpy": ["int8", 400]}, {"list": 1}, {"set": [[{"list": []}]]}),
    *({"dict": 1}, {"dict": [1]}, {"array": 1}, {"objects": [1, 2]}, {"enum": 1}),
    *({"object": "Estimate"}, {"object": [], "fields": {}}, {"frame": {}}, {"frame": 1}),
    *({"object": "Estimate", "fields": []}, {"enum": ["Reason", 1]}, {"array": "0.npy"}),
    *list(NODES.values())[:5],
]


def _mutated(data: st.DataObject, node: Any) -> Any:
    """Put something hostile in place of one node of a tree."""
    if not isinstance(node, dict | list) or not node or data.draw(st.integers(0, 3)) == 0:
        return data.draw(st.sampled_from(HOSTILE))
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = data.draw(st.sampled_from(keys))
    changed = dict(node) if isinstance(node, dict) else list(node)
    changed[key] = _mutated(data, node[key])
    return changed


def _read_or_refused(file: Path) -> None:
    try:
        assert isinstance(load(file), Result)
    except InputError:
        return


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree_is_read_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = estimate().save(tmp_path_factory.mktemp("a") / "found.psy")
    held = members(file)
    for _ in range(data.draw(st.integers(1, 3))):
        held[MEMBERS] = json.dumps(_mutated(data, json.loads(held[MEMBERS]))).encode()
    _read_or_refused(packed(file, held))


@given(
    places=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6)
)
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_or_refused(
    places: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = estimate().save(tmp_path_factory.mktemp("a") / "found.psy")
    whole = bytearray(file.read_bytes())
    for place, byte in places:
        whole[place % len(whole)] = byte
    file.write_bytes(bytes(whole))
    _read_or_refused(file)


CHANGES: dict[str, Callable[[zipfile.ZipInfo], None]] = {
    "encrypted": lambda one: setattr(one, "flag_bits", 1),
    "a newer format": lambda one: setattr(one, "extract_version", 99),
}


@pytest.mark.parametrize("name", CHANGES)
def test_members_of_other_kinds(name: str, file: Path) -> None:
    held = members(file)
    with zipfile.ZipFile(file, "w") as made:
        for member, data in held.items():
            made.writestr(member, data)
        for one in made.infolist():
            CHANGES[name](one)
    with pytest.raises(InputError):
        load(file)
