"""The page of benchmarks: numbers as asv wrote them, in the units of a reader."""

import json
from pathlib import Path

import pytest

from benchmarks.page import newest, page, shown, significant

COLUMNS = ["result", "params", "version", "started_at", "duration", "a", "b", "stats_q_25",
           "stats_q_75"]  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    sizes = ["(19, 10000)", "(200, 2000)"]
    found = {
        "bench_correlation.Tetrachoric.time_responses": [
            [0.00052, 0.0357], [sizes], "v", 2000, 1, [], [], [0.0004, None], [0.0006, None],
        ],
        "bench_correlation.Tetrachoric.peakmem_responses": [[174e6, 177e6], [sizes], "v", 3000, 1],
        "bench_kernels.Normal.track_largest_error": [[1.1e-16], [], "v", 1000, 1],
        "bench_steering.Sweep.time_sweep": [None, [["last", "all"]], "v", 1000, 1],
    }  # fmt: skip
    about = {name: {"param_names": ["size"], "unit": "absolute error"} for name in found}
    folder = tmp_path / "machine"
    folder.mkdir()
    (folder / "machine.json").write_text(json.dumps({"cpu": "C", "num_cpu": "2", "ram": 2**31}))
    for commit, late in (("0" * 40, -500), ("a" * 40, 0)):
        moved = {k: [*v[:3], v[3] + late, *v[4:]] for k, v in found.items()}
        text = json.dumps({"commit_hash": commit, "result_columns": COLUMNS, "results": moved})
        (folder / f"{commit[:8]}.json").write_text(text)
    (tmp_path / "benchmarks.json").write_text(json.dumps(about))
    return tmp_path


def test_the_page(results: Path) -> None:
    text = page(results, "3.11")
    lines = text.splitlines()
    assert lines[0] == "C, 2 cores, 2 GiB, ; Python 3.11; 01 January 1970; commit aaaaaaaa."
    assert "| responses | size (19, 10000) | 520 µs (400 to 600) | 174 MB |" in lines
    assert "| responses | size (200, 2000) | 35.7 ms | 177 MB |" in lines
    assert "| largest error | 1.100e-16 absolute error |" in lines
    assert lines[-1].startswith("Not measured: `bench_steering`")


@pytest.mark.parametrize(
    ("value", "text"),
    [(17.13, "17.1 s"), (2.5e-7, "250 ns"), (None, "–"), (float("nan"), "–"), (100.2, "100 s")],
)
def test_times(value: float | None, text: str) -> None:
    assert shown("time", value, None, None, {}) == text


def test_numbers() -> None:
    assert [significant(v) for v in (0, 54, 1234.5, 0.0123456)] == ["0", "54", "1,234", "0.0123"]


def test_without_results(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="run asv first"):
        newest(tmp_path)


def test_the_page_that_is_published_is_of_this_form() -> None:
    text = Path(__file__).resolve().parents[1].joinpath("docs", "benchmarks_tables.md").read_text()
    assert text.count("\n## ") >= 10
    assert "commit " in text.splitlines()[0]
