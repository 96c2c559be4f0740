"""Logs and tables that nobody vouches for: bounded before they are read, damage named."""

import gzip
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psychollm._base.errors import InputError, PsychollmError
from psychollm.data.logs import read_logs
from psychollm.data.readers import read_responses, read_table
from psychollm.data.readers.logs.detect import read_runs
from tests.hangs import ends

RUN = {"version": 2, "status": "success", "eval": {"task": "t", "task_id": "a", "model": "m"}}
SAMPLE = {"id": 1, "epoch": 1, "input": "q", "target": "a", "scores": {"s": {"value": "C"}}}


def inspect_log(path: Path, *samples: Any, run: Any = RUN, raw: bytes | None = None) -> Path:
    """Write an archive of Inspect AI, its header as it stands if `raw`."""
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("header.json", json.dumps(run) if raw is None else raw)
        for k, sample in enumerate(samples):
            text = sample if isinstance(sample, bytes) else json.dumps(sample)
            made.writestr(f"samples/{k}_epoch_1.json", text)
    return path


def scored(value: Any, **changes: Any) -> dict[str, Any]:
    return SAMPLE | {"scores": {"s": {"value": value}}} | changes


def within(n_bytes: float, call: Callable[[], Any]) -> None:
    """Fail where a call takes more memory: what is refused at once takes next to none."""
    tracemalloc.start()
    try:
        call()
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


# -- archives ------------------------------------------------------------------------------------


def test_a_header_of_empty_lists_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Measured: 23 MB of them took 45 s and a gigabyte."""
    text = json.dumps(RUN)[:-1].encode() + b', "x": [' + b"[]," * 2_000_000 + b"[]]}"
    path = inspect_log(tmp_path / "a.eval", SAMPLE, raw=text)

    def read() -> None:
        with pytest.raises(InputError, match="objects and lists"):
            read_logs(path)

    within(60e6, read)


def test_the_last_of_members_of_one_name_counts(tmp_path: Path) -> None:
    path = inspect_log(tmp_path / "a.eval", scored("I"))
    with zipfile.ZipFile(path, "a") as made, pytest.warns(UserWarning, match="Duplicate"):
        made.writestr("samples/0_epoch_1.json", json.dumps(scored("C")))
    assert read_logs(path).responses.values.tolist() == [[1.0]]


def test_a_scorer_for_each_sample_is_refused(tmp_path: Path) -> None:
    """Every sample has a place for every scorer: 3,000 times 3,000 of them."""
    samples = [SAMPLE | {"id": k, "scores": {f"s{k}": {"value": "C"}}} for k in range(3000)]
    path = inspect_log(tmp_path / "a.eval", *samples)
    with pytest.raises(InputError, match="3,000 scorers"):
        read_logs(path)


def test_twenty_thousand_members_are_read(tmp_path: Path) -> None:
    path = inspect_log(tmp_path / "a.eval", *(SAMPLE | {"id": k} for k in range(20_000)))
    with ends():
        assert read_logs(path).responses.values.shape == (1, 20_000)


@pytest.mark.parametrize("value", ["1e999", "-1e999", 10**400, float("inf"), float("nan"), "nan"])
def test_numbers_without_end_are_no_score(value: Any, tmp_path: Path) -> None:
    path = inspect_log(tmp_path / "a.eval", scored(value), scored("I", id=2))
    frame = read_logs(path).frame
    assert frame["score"].fillna(-1).tolist() == [-1, 0]


@pytest.mark.parametrize("half", ["\\ud83d", "\\uDE00", "a\\uD83D\\ud83d\\ude00"])
def test_half_a_character_can_be_written(half: str, tmp_path: Path) -> None:
    text = json.dumps(SAMPLE).replace('"id": 1', f'"id": "{half}"').encode()
    run = json.dumps(RUN).replace('"model": "m"', f'"model": "{half}"').encode()
    found = read_logs(inspect_log(tmp_path / "a.eval", text, raw=run))
    found.responses.to_frame().to_csv(tmp_path / "a.csv")
    assert "\ufffd" in (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert ("\U0001f600" in found.responses.models[0]) == ("ude00" in half)


def test_escapes_that_are_no_halves_stay(tmp_path: Path) -> None:
    text = json.dumps(SAMPLE).replace('"id": 1', r'"id": "\\ud83d \ud83d\ude00"').encode()
    found = read_logs(inspect_log(tmp_path / "a.eval", text))
    assert found.responses.questions == ("\\ud83d \U0001f600",)


STRANGE = {
    "a list for the run": b'{"eval": []}',
    "a number for the plan": json.dumps(RUN | {"plan": 3}).encode(),
    "text for the results": json.dumps(RUN | {"results": "x"}).encode(),
}


@pytest.mark.parametrize("name", STRANGE)
def test_headers_that_no_tool_writes(name: str, tmp_path: Path) -> None:
    sample = SAMPLE | {"score": {"value": "C"}, "scores": None}
    path = inspect_log(tmp_path / "a.eval", sample, raw=STRANGE[name])
    with pytest.raises(InputError, match=r"a\.eval"):
        read_logs(path)


SAMPLES = {
    "null": None,
    "a list": [],
    "scores as a list": SAMPLE | {"scores": [1]},
    "scores as text": SAMPLE | {"scores": "C"},
    "a score of null": SAMPLE | {"scores": {"s": None}},
    "metadata as text": SAMPLE | {"scores": {"s": {"value": "C", "metadata": "x"}}},
    "a repeat without end": SAMPLE | {"epoch": 10**20},
    "a limit of text": SAMPLE | {"scores": {}, "limit": "x"},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_that_no_tool_writes(name: str, tmp_path: Path) -> None:
    path = inspect_log(tmp_path / "a.eval", SAMPLES[name])
    with pytest.raises(InputError, match=r"a\.eval|repeat"):
        read_logs(path)


HOSTILE = [
    *(None, True, -1, 10**400, 1e308, float("inf"), "", "1e999", "\ud800", [], {}, [[]]),
    *({"value": {}}, {"name": 1}, [{}], [None], {"a": {"a": {"a": []}}}, "x" * 10_000),
]


def _mutated(data: st.DataObject, node: Any) -> Any:
    if not isinstance(node, dict | list) or not node or data.draw(st.integers(0, 3)) == 0:
        return data.draw(st.sampled_from(HOSTILE))
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = data.draw(st.sampled_from(keys))
    changed = dict(node) if isinstance(node, dict) else list(node)
    changed[key] = _mutated(data, node[key])
    return changed


EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[2] / "samples").rglob("*.json*")
    if path.stat().st_size < 200_000 and path.suffix in {".json", ".jsonl"}
)


@pytest.mark.parametrize("sample", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
@given(data=st.data())
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_a_changed_sample_is_read_or_refused(
    sample: Path, data: st.DataObject, tmp_path: Path
) -> None:
    """Whatever stands in place of one field, no foreign error comes out."""
    lines = sample.read_text(encoding="utf-8").splitlines()
    if sample.suffix == ".jsonl":
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place] = json.dumps(_mutated(data, json.loads(lines[place])))
    else:
        lines = [json.dumps(_mutated(data, json.loads("\n".join(lines))))]
    path = tmp_path / sample.name
    path.write_text("\n".join(lines), encoding="utf-8")
    for other in sample.parent.iterdir():
        if other.is_file() and other.name != sample.name:
            (tmp_path / other.name).write_bytes(other.read_bytes())
    try:
        runs = read_runs(path, named=False)
    except PsychollmError:
        return
    for run in runs:
        f"{run.model} {run.task}".encode()


# -- tables --------------------------------------------------------------------------------------


def dictionary_table(path: Path, rows: int, model: str = "m") -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    zeros = arrow.array([0] * rows, arrow.int32())
    columns = {
        "model": arrow.DictionaryArray.from_arrays(zeros, [model]),
        "question": arrow.DictionaryArray.from_arrays(zeros, ["q"]),
        "score": arrow.array([1.0] * rows),
    }
    parquet.write_table(arrow.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize("read", [read_logs, read_responses])
def test_rows_that_take_no_bytes_are_refused(read: Callable[[Path], Any], tmp_path: Path) -> None:
    """Measured: 16 kB of two million rows took 3.7 GB."""
    path = dictionary_table(tmp_path / "a.parquet", 2_000_000)
    assert path.stat().st_size < 100_000

    def refused() -> None:
        with pytest.raises(InputError, match=r"6,000,000 values in [\d,]+ bytes"):
            read(path)

    within(20e6, refused)


def test_a_text_that_repeats_is_made_once(tmp_path: Path) -> None:
    """A name of a megabyte in a thousand rows would be a gigabyte."""
    import tracemalloc

    path = dictionary_table(tmp_path / "a.parquet", 1000, "m" * 2**20)
    read_runs(path)
    tracemalloc.start()
    read_runs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20


@pytest.mark.parametrize("read", [read_logs, read_responses])
def test_damaged_pages_are_named(read: Callable[[Path], Any], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    rows = range(3000)
    table = {
        "model": ["a"] * 3000,
        "question": [str(k) for k in rows],
        "score": [k % 2 for k in rows],
    }
    pandas.DataFrame(table).to_parquet(path, index=False)
    whole = path.read_bytes()
    refused = 0
    for place in range(4, len(whole) - 8, len(whole) // 40):
        path.write_bytes(whole[:place] + bytes(64) + whole[place + 64 :])
        try:
            read(path)
        except PsychollmError as error:
            refused += "a.parquet" in str(error)
    assert refused > 10


SPARSE = "".join(f"m{k},q{k},1\n" for k in range(8000))


@pytest.mark.parametrize("read", [read_logs, read_responses, read_table])
def test_a_table_that_holds_next_to_nothing_is_refused(
    read: Callable[[Path], Any], tmp_path: Path
) -> None:
    """A model and a question of its own in each line: sixty-four million cells in 100 kB."""
    path = tmp_path / "a.csv"
    path.write_text("model,question,score\n" + SPARSE)
    with pytest.raises(PsychollmError, match="fewer than one cell in 1,000"):
        read(path)


@pytest.mark.parametrize("read", [read_logs, read_responses, read_table])
def test_packed_tables_are_bounded(read: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    line = b"m," + b"q" * 9_000 + b",1\n"
    path.write_bytes(gzip.compress(b"model,question,score\n" + line * 2_000))
    with pytest.raises(InputError, match="per compressed byte"):
        read(path)


@pytest.mark.parametrize("place", [10, 20, -9, -4])
@pytest.mark.parametrize("read", [read_logs, read_responses])
def test_damaged_packed_tables_are_named(
    read: Callable[[Path], Any], place: int, tmp_path: Path
) -> None:
    data = bytearray(gzip.compress(b"model,question,score\n" + SPARSE[:2000].encode()))
    data[place] ^= 0xFF
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bytes(data))
    with pytest.raises(PsychollmError, match=r"a\.csv\.gz"):
        read(path)


@pytest.mark.parametrize("cell", ["1e999", "-inf", "1" * 400, "0x1", "1_0", "٣"])
def test_cells_that_no_program_means(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"model,question,value\nm,q,{cell}\nm,r,1\n", encoding="utf-8")
    with pytest.raises(PsychollmError, match="line 2|infinity|not a code"):
        read_responses(path)
