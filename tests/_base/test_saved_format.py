"""The file of a result: what it may hold, and what is refused."""

import json
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError
from psychollm._base.result import Result, load
from psychollm._base.saving import files, nodes
from psychollm._base.saving.nodes import Reader, Writer, find_class
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from tests._base.test_saved_results import differences

MEMBERS = "result.json"


def estimate(**changes: Any) -> Estimate:
    made = Estimate(
        name="accuracy",
        value=np.array([0.5, np.nan]),
        se=np.array([0.1, -np.inf]),
        interval=np.array([[0.3, 0.7], [np.nan, np.nan]]),
        n=np.array([10.0, 0.0]),
        flags=(Reason.NONE, Reason.NONE),
        method="Wilson",
        level=0.95,
        labels=("a", 1),
        _draws=np.arange(6.0).reshape(3, 2),
    )
    return replace(made, **changes)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return estimate().save(tmp_path / "found.psy")


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as held:
        return {name: held.read(name) for name in held.namelist()}


def rewritten(file: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Return the file with its tree changed."""
    held = members(file)
    tree = json.loads(held[MEMBERS])
    change(tree)
    return packed(file, held | {MEMBERS: json.dumps(tree).encode()})


def packed(file: Path, held: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in held.items():
            made.writestr(name, data)
    return file


# What a file holds.

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(width=64)
    | st.text()
    | st.sampled_from(Reason)
    | st.floats(width=32).map(np.float32)
    | st.floats().map(np.float64)
    | st.integers(-100, 100).map(np.int16)
    | st.booleans().map(np.bool_)
    | st.text(max_size=3).map(np.str_)
)
keys = st.text() | st.integers() | st.tuples(st.text(), st.integers())
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_any_value_comes_back(value: Any) -> None:
    writer = Writer()
    node = json.loads(json.dumps(writer.node(value, at="x"), allow_nan=False))
    found = {key: find_class(*home) for key, home in writer.classes.items()}
    assert not differences(value, Reader(array=writer.arrays.get, classes=found).value(node), "x")


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.0, -0.0], [np.nan, np.inf]]),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.arange(10)[::3],
        np.array([], dtype=np.float32).reshape(0, 4),
        np.array(3.5),
        np.array(["a", "Größe"]),
        np.array([True, False]),
        np.array([1.0], dtype=">f8"),
        np.array([b"ab", b"c"]),
        np.array([1 + 2j]),
        np.array(["2026-11-21"], dtype="datetime64[D]"),
        np.frombuffer(struct.pack("Q", 0x7FF8DEADBEEF0001)),  # a NaN that says something
    ],
)
def test_arrays_come_back_to_the_bit(array: np.ndarray, tmp_path: Path) -> None:
    saved = estimate(_draws=array)
    again = load(saved.save(tmp_path / "x.psy"))
    assert isinstance(again, Estimate)
    assert not differences(saved, again, "Estimate")
    with pytest.raises(ValueError, match="read-only"):
        again.value[...] = 0


def test_arrays_of_objects_come_back(tmp_path: Path) -> None:
    saved = estimate(_draws=np.array([["a", None], [("b", 1), 2.5]], dtype=object))
    again = load(saved.save(tmp_path / "x.psy"))
    assert again._draws.tolist() == saved._draws.tolist()  # type: ignore[attr-defined]
    assert not again._draws.flags.writeable  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1.0, np.nan], "y": ["a", None], "z": [1, 2]}),
        pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="model")),
        pd.DataFrame([[1, 2.5]], columns=pd.Index([("a", 1), "b"], tupleize_cols=False)),
        pd.DataFrame([[1, 2]], columns=["same", "same"]),
        pd.DataFrame({"x": [1.0]}).set_index(
            pd.MultiIndex.from_tuples([("a", 1)], names=["k", "l"])
        ),
        pd.DataFrame({"x": pd.Categorical(["b", "a", None], ["b", "a"], ordered=True)}),
        pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "y": [True, False]}),
        pd.DataFrame({"x": [("a", 1), None, {"k": 2}]}),
        pd.DataFrame({"x": []}),
        pd.DataFrame(),
        pd.DataFrame({"x": range(4)}).iloc[::2],
    ],
)
def test_tables_come_back(frame: pd.DataFrame) -> None:
    writer = Writer()
    node = json.loads(json.dumps(writer.node(frame, at="x"), allow_nan=False))
    again = Reader(array=writer.arrays.__getitem__, classes={}).value(node)
    pd.testing.assert_frame_equal(again, frame, check_exact=True, check_index_type=True)


def test_columns_without_a_type_for_files_are_refused() -> None:
    frame = pd.DataFrame({"when": pd.date_range("2026-01-01", periods=2, tz="UTC")})
    with pytest.raises(InputError, match=r"x\['when'\] is of type datetime64"):
        Writer().node(frame, at="x")


def test_an_array_that_is_there_twice_is_written_once(tmp_path: Path) -> None:
    value = np.array([0.5, 0.6])
    file = estimate(value=value, se=value).save(tmp_path / "x.psy")
    assert len(members(file)) == 1 + 4
    again = load(file)
    assert again.value is again.se  # type: ignore[attr-defined]


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (estimate().save(tmp_path / f"{k}.psy").read_bytes() for k in range(2))
    assert first == second


def test_numpy_reads_the_arrays_alone(file: Path) -> None:
    with np.load(file, allow_pickle=False) as held:
        assert held["0"].tolist()[0] == 0.5


def test_classes_of_one_name_are_told_apart() -> None:
    from psychollm.calibration.two_choice.hierarchical_meta_d import Sampled as First
    from psychollm.irt.bayes.result import Sampled as Second

    writer = Writer()
    assert writer._class(First, "x") == "Sampled"
    assert writer._class(Second, "x") == "Sampled.2"
    assert find_class(*writer.classes["Sampled.2"]) is Second


# Versions.


def test_a_class_that_moved_is_found_by_its_name(file: Path) -> None:
    def moved(tree: dict[str, Any]) -> None:
        tree["classes"]["Estimate"][0] = "psychollm.somewhere.else"

    assert isinstance(load(rewritten(file, moved)), Estimate)


def test_a_field_with_a_default_may_be_newer_than_the_file(file: Path) -> None:
    def older(tree: dict[str, Any]) -> None:
        del tree["result"]["fields"]["axis"], tree["result"]["fields"]["_draws"]

    again = load(rewritten(file, older))
    assert (again.axis, again._draws) == ("model", None)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: tree.update(version=2), "version 2 of the format.*upgrade"),
        (lambda tree: tree.update(version="1"), "names no version"),
        (lambda tree: tree.update(format="other"), "not a result saved by psychollm"),
        (lambda tree: tree["result"]["fields"].update(new=1), "no field 'new' in this version"),
        (lambda tree: tree["result"]["fields"].pop("value"), "cannot be made.*value"),
        (lambda tree: tree["classes"].update(Estimate=["os", "Nothing"]), "no class Nothing"),
        (lambda tree: tree["classes"].update(Estimate=["subprocess", "Popen"]), "no class Popen"),
        (
            lambda tree: tree["classes"].update(
                Estimate=["psychollm._base.replicate", "SimpleBar"]
            ),
            "no class SimpleBar|not a result, record",
        ),
        (lambda tree: tree["classes"].clear(), "is damaged"),
        (lambda tree: tree.update(result=[1, 2]), "does not hold a result"),
        (lambda tree: tree.update(result={"enum": ["Reason", "NONE"]}), "does not hold a result"),
        (lambda tree: tree["result"]["fields"].update(value={"what": 1}), "is damaged"),
        (lambda tree: tree["result"]["fields"].update(value={"array": "9.npy"}), "is missing"),
        (lambda tree: tree["result"]["fields"].update(value={"array": MEMBERS}), "is missing"),
        (
            lambda tree: tree["result"]["fields"].update(value={"numpy": ["object", 1]}),
            "is damaged",
        ),
        (
            lambda tree: tree["result"]["fields"].update(flags={"enum": ["Estimate", "x"]}),
            "damaged",
        ),
    ],
)
def test_trees_that_are_refused(
    file: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    with pytest.raises(InputError, match=words) as raised:
        load(rewritten(file, change))
    assert str(file) in str(raised.value)


def test_one_class_can_be_demanded(file: Path) -> None:
    assert isinstance(Estimate.load(file), Estimate)
    assert isinstance(Result.load(file), Estimate)
    with pytest.raises(InputError, match="holds a Estimate, not a Responses"):
        psy.Responses.load(file)


# What is refused.


@pytest.mark.parametrize("content", [b"", b"text", b"PK", b"PK\x03\x04 cut off", b"\x80\x04K."])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.psy"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not a result saved by psychollm|truncated"):
        load(file)


def test_a_missing_file_and_a_foreign_archive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x.psy cannot be read: No such file"):
        load(tmp_path / "x.psy")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load(tmp_path)
    np.savez(tmp_path / "x.npz", a=np.ones(2))
    with pytest.raises(InputError, match=r"has no result.json"):
        load(tmp_path / "x.npz")


def test_cut_off_anywhere(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole), 37):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError):
            load(file)


def test_a_changed_byte_is_seen_or_harmless(file: Path) -> None:
    whole = file.read_bytes()
    first = load(file)
    for place in range(0, len(whole), 11):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            again = load(file)
        except InputError:
            continue
        assert not differences(first, again, f"byte {place}")


def test_nothing_unfolds(file: Path) -> None:
    held = members(file)
    with pytest.raises(InputError, match="is compressed, which psychollm never does"):
        load(packed(file, held, zipfile.ZIP_DEFLATED))
    bomb = held | {"9.npy": bytes(1 << 20)}
    with pytest.raises(InputError, match="is compressed"):
        load(packed(file, bomb, zipfile.ZIP_DEFLATED))


def test_a_member_that_says_it_is_larger_than_the_file(file: Path) -> None:
    data = bytearray(file.read_bytes())
    place = data.index(b"PK\x01\x02")  # the first entry of the directory: two lengths at 20
    data[place + 20 : place + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    file.write_bytes(bytes(data))
    with pytest.raises(InputError, match="larger than the file|damaged"):
        load(file)


def test_members_of_one_name(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as held, pytest.warns(UserWarning, match="Duplicate name"):
        held.writestr("0.npy", b"")
    with pytest.raises(InputError, match="same name"):
        load(file)


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}"), "the length"),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"12345678"),
            "psychollm writes",
        ),
        (
            npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"\x80\x04K."),
            "psychollm writes",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(8)), "the length"),
        (npy("__import__('os').system('false')"), "not an array"),
        (b"\x93NUMPY\x07\x00", "not an array"),
        (b"", "not an array"),
    ],
)
def test_arrays_that_are_refused(file: Path, member: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(packed(file, members(file) | {"0.npy": member}))


def test_trees_too_deep_or_too_large(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(InputError, match="cannot be read|nested"):
        load(packed(file, members(estimate().save(file)) | {MEMBERS: deep}))
    monkeypatch.setattr(files, "MAX_TREE", 10)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        load(estimate().save(file))


def test_no_module_is_imported_for_a_name() -> None:
    assert "psychollm.__main__" not in {
        home for homes in nodes._homes().values() for home in homes
    }
    with pytest.raises(InputError, match="no class Traversable"):
        find_class("importlib.resources.abc", "Traversable")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Foreign(Result):
    value: Any


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (len, r"Estimate.method holds a builtins.builtin_function_or_method"),
        (Colour.RED, "only classes of psychollm"),
        (Foreign(value=1), "only classes of psychollm"),
        ({"k": [1, object()]}, r"Estimate.method\['k'\]\[1\] holds a builtins.object"),
        (np.ma.masked_array([1.0], [True]), "numpy.ma"),
        (1j, "complex"),
    ],
)
def test_values_that_are_refused(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        estimate(method=value).save(tmp_path / "x.psy")
    assert not list(tmp_path.iterdir())


def test_a_result_of_another_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Foreign is a .*only classes of psychollm"):
        Foreign(value=1).save(tmp_path / "x.psy")


def test_an_interrupted_save_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space"):
        estimate(level=0.9).save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_other_mappings_become_dictionaries() -> None:
    node = Writer().node(OrderedDict(b=1, a=2), at="x")
    assert Reader(array={}.get, classes={}).value(node) == {"b": 1, "a": 2}


def test_named_tuples_and_records_come_back() -> None:
    from psychollm.factor.number_of_factors.rules import Hull

    writer = Writer()
    hull = Hull(*(k for k in range(len(Hull._fields))))
    ended = Convergence(converged=True, iterations=2, reason="done", objective=0.5)
    node = writer.node((hull, ended), at="x")
    found = {key: find_class(*home) for key, home in writer.classes.items()}
    assert Reader(array={}.get, classes=found).value(node) == (hull, ended)


def test_no_code_of_a_record_runs(file: Path, tmp_path: Path) -> None:
    """An instrument opens the file that it is given; one that is read from a result does not."""
    path = tmp_path / "transcripts.jsonl"
    path.write_text("no JSON")

    def instrument(tree: dict[str, Any]) -> None:
        tree["classes"]["Coding"] = ["psychollm.instruments.coding.instrument", "Coding"]
        held = {"transcripts": str(path), "items": [], "_scheme": None}
        tree["result"]["fields"]["method"] = {"object": "Coding", "fields": held}

    found = load(rewritten(file, instrument))
    assert found.method.items == ()  # type: ignore[attr-defined]


def test_a_record_may_lack_what_has_a_default(file: Path) -> None:
    def record(tree: dict[str, Any], fields: dict[str, Any]) -> None:
        tree["classes"]["C"] = ["psychollm._base.convergence", "Convergence"]
        tree["result"]["fields"]["method"] = {"object": "C", "fields": fields}

    whole = {"converged": True, "iterations": 1, "reason": "done", "objective": 0.5}
    assert load(rewritten(file, lambda tree: record(tree, whole))).method.reason == "done"  # type: ignore[attr-defined]
    del whole["reason"]
    with pytest.raises(InputError, match="Convergence cannot be made.*'reason'"):
        load(rewritten(file, lambda tree: record(tree, whole)))


def test_checksums_are_those_of_zip(file: Path) -> None:
    with zipfile.ZipFile(file) as held:
        for member in held.infolist():
            assert zlib.crc32(BytesIO(held.read(member)).getvalue()) == member.CRC
