"""Panels of answers that are read once: the same bits as in memory, and what is refused."""

import gc

import joblib
import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.calibration import stated_scan
from psychollm.calibration.panels import panel
from psychollm.calibration.stated_scan import StatedScan, scan_stated
from psychollm.estimates.resampling import Bootstrap

pytest.importorskip("pyarrow")


@pytest.fixture
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Seven models, one of which never says how sure it is."""
    rng = np.random.default_rng(0)
    said = np.round(rng.beta(4, 2, (7, 300)), 2)
    right = (rng.random(said.shape) < said).astype(float)
    said[rng.random(said.shape) < 0.1] = np.nan
    said[2] = np.nan
    rows, columns = [f"m{i}" for i in range(7)], [f"q{j}" for j in range(300)]
    return pd.DataFrame(said, rows, columns), pd.DataFrame(right, rows, columns)


def long_form(said: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    k, n = said.shape
    return pd.DataFrame(
        {
            "model": np.repeat(said.index, n),
            "question": np.tile(said.columns, k),
            "confidence": said.to_numpy().ravel(),
            "correct": right.to_numpy().ravel(),
        }
    )


def assert_same(one: psy.calibration.CalibrationPanel, other: psy.calibration.CalibrationPanel):
    assert list(one) == list(other)
    for key in one:
        first, second = one[key], other[key]
        for name in ("value", "se", "interval", "n"):
            assert np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True), (
                key,
                name,
            )
        assert (first.flags, first.method, first.labels) == (
            second.flags,
            second.method,
            second.labels,
        )


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_metric_has_the_bits_of_the_table(tables, monkeypatch, clustered, jobs):
    said, right = tables
    monkeypatch.setattr(stated_scan, "BLOCK_BYTES", 2 * 17 * 300)  # two models at a time
    clusters = pd.Series(np.arange(300) // 10, said.columns) if clustered else None
    scan = scan_stated(long_form(said, right))
    assert len(scan.blocks()) == 4
    how = {"clusters": clusters, "rng": 3}
    ours = psy.calibration_panel(scan, bootstrap=Bootstrap(60, n_jobs=jobs), **how)
    memory = psy.calibration_panel(said, right, bootstrap=60, **how)
    assert_same(ours, memory)
    for key in ours:
        one, other = ours[key]._draws, memory[key]._draws
        assert (one is None) == (other is None)
        assert one is None or np.array_equal(one, other, equal_nan=True)
    assert ours.difference("brier", "m0", "m5").value == (
        memory.difference("brier", "m0", "m5").value
    )


def test_weights_and_a_generator_do_what_they_do_in_memory(tables, monkeypatch):
    said, right = tables
    monkeypatch.setattr(stated_scan, "BLOCK_BYTES", 3 * 17 * 300)
    weights = np.linspace(0.5, 2.0, 300)
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    scan = scan_stated(long_form(said, right))
    how = {"weights": weights, "metrics": ["brier", "ece"], "bootstrap": 40}
    assert_same(
        psy.calibration_panel(scan, rng=first, **how),
        psy.calibration_panel(said, right, rng=second, **how),
    )
    assert first.integers(1 << 60) == second.integers(1 << 60)


def test_processes_give_the_same_bits(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(stated_scan, "BLOCK_BYTES", 4 * 17 * 300)
    scan = scan_stated(long_form(*tables), folder=tmp_path / "cells")
    how = {"metrics": ["auroc", "brier"], "rng": 1}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        away = psy.calibration_panel(scan, bootstrap=Bootstrap(30), **how)
    assert_same(away, psy.calibration_panel(scan, bootstrap=30, **how))


def test_draws_that_would_fill_memory_are_dropped(tables, monkeypatch):
    scan = scan_stated(long_form(*tables))
    kept = psy.calibration_panel(scan, metrics="brier", bootstrap=50, rng=1)
    monkeypatch.setattr(panel, "DRAWS_BYTES", 8 * 50 * 7 - 1)
    dropped = psy.calibration_panel(scan, metrics="brier", bootstrap=50, rng=1)
    assert_same(kept, dropped)
    with pytest.raises(OptionError, match="without resamples"):
        dropped.difference("brier", "m0", "m1")


def test_curves_are_those_of_the_table_while_it_fits(tables, monkeypatch):
    said, right = (table.drop(index="m2") for table in tables)
    scan = scan_stated(long_form(said, right))
    ours = psy.calibration_panel(scan, metrics="brier", bootstrap=20, rng=1)
    memory = psy.calibration_panel(said, right, metrics="brier", bootstrap=20, rng=1)
    one, other = (panel.curves(n_draws=20).error.to_frame() for panel in (ours, memory))
    pd.testing.assert_frame_equal(one, other)
    monkeypatch.setattr(stated_scan, "DENSE_BYTES", 1_000)
    with pytest.raises(ShapeError, match="6 models x 300 questions"):
        ours.curves()


@pytest.mark.parametrize("order", ["as they are", "shuffled"])
def test_parquet_duckdb_and_polars_say_the_same(tables, tmp_path, order):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    long = long_form(*tables)
    if order == "shuffled":
        long = long.sample(frac=1.0, random_state=1)
    long.to_parquet(tmp_path / "a.parquet", index=False)
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.execute("CREATE TABLE runs AS SELECT * FROM long")
    sources = [tmp_path / "a.parquet", tmp_path, tmp_path / "a.duckdb", polars.from_pandas(long)]
    expected = psy.calibration_panel(scan_stated(long), metrics="brier", bootstrap=0)["brier"]
    for source in sources:
        scan = scan_stated(source)
        found = psy.calibration_panel(scan, metrics="brier", bootstrap=0)["brier"]
        assert dict(zip(found.labels, found.value.round(12), strict=True)) == pytest.approx(
            dict(zip(expected.labels, expected.value.round(12), strict=True)), nan_ok=True
        )
    half = scan_stated(tmp_path / "a.duckdb", query="SELECT * FROM runs WHERE model < 'm2'")
    assert set(half.models) == {"m0", "m1"}


def test_levels_round_and_scale_divides(tables):
    said, right = tables
    long = long_form(100.0 * said, right)
    scan = scan_stated(long, scale=100.0, levels=11)
    assert np.allclose(np.sort(scan.levels) * 10, np.rint(np.sort(scan.levels) * 10))
    rounded = np.rint(said * 10) / 10
    assert_same(
        psy.calibration_panel(scan, metrics="brier", bootstrap=20, rng=1),
        psy.calibration_panel(rounded, right, metrics="brier", bootstrap=20, rng=1),
    )


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"confidence": 1.2}, CodeError, r"confidence of 1.2, .* \[0, 1\]: pass scale="),
        ({"correct": 0.5}, CodeError, "correct' hold 0.5 where an answer is correct"),
        ({"confidence": np.nan}, InputError, "no answer with confidence and correctness"),
        ({"question": "q1"}, LabelError, "model 'm0' answers question 'q1' twice"),
        ({"confidence": [0.5, 2.0] * 25}, CodeError, "the table, row 2, columns 'confidence' and"),
        (
            {"correct": [1.0, 0.0, 7.0, 1.0, 1.0] * 10},
            CodeError,
            "the table, row 3, .*hold 7 where",
        ),
        *[
            (
                {"confidence": [cell] * 50},
                CodeError,
                "row 1, .* cannot hold .*not a number: pass numbers$",
            )
            for cell in (pd.Timestamp("2020"), pd.Timedelta(1), [1], {"a": 1}, "sure")
        ],
    ],
)
def test_what_is_wrong_is_said(tables, change, error, told):
    long = long_form(*tables).head(50).assign(**change)
    with pytest.raises(error, match=told):
        scan_stated(long)


def test_options_are_checked(tables, monkeypatch):
    long = long_form(*tables)
    for scale in (0.0, np.inf, np.nan, "100", None):
        with pytest.raises(OptionError, match=f"scale={scale!r} must be a number"):
            scan_stated(long, scale=scale)
    with pytest.raises(OptionError, match="column 'correct' is named twice"):
        scan_stated(long, confidence="correct")
    with pytest.raises(OptionError, match="n_jobs='x' is invalid"):
        scan_stated(long, n_jobs="x")
    with pytest.raises(OptionError, match="levels"):
        scan_stated(long, levels=1)
    with pytest.raises(LabelError, match="no column 'sure'"):
        scan_stated(long, confidence="sure")
    scan = scan_stated(long)
    with pytest.raises(OptionError, match="the scan already contains it"):
        psy.calibration_panel(scan, tables[1])
    with pytest.raises(OptionError, match="correctness is missing"):
        psy.calibration_panel(tables[0])
    monkeypatch.setattr(stated_scan, "LEVELS", 20)
    with pytest.raises(CodeError, match="more than 20 distinct confidences: round them"):
        scan_stated(long)
    monkeypatch.setattr(stated_scan, "MAX_QUESTIONS", 100)
    with pytest.raises(ShapeError, match="more than 100 questions"):
        scan_stated(long)


def test_folders_are_new_or_empty(tables, tmp_path, monkeypatch):
    long = long_form(*tables)
    mine = tmp_path / "mine"
    (mine / "unsorted").mkdir(parents=True)
    (mine / "codes.bin").touch()
    with pytest.raises(OptionError, match="mine is not empty"):
        scan_stated(long, folder=mine)
    assert sorted(path.name for path in mine.iterdir()) == ["codes.bin", "unsorted"]
    before = scan_stated(long, folder=tmp_path / "kept").dense().confidence
    kept = {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    with pytest.raises(OptionError, match="kept is not empty"):
        scan_stated(long.assign(confidence=1 - long["confidence"]), folder=tmp_path / "kept")
    assert {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == kept
    assert np.nansum(before) > 0
    psy.data.scan(long, value="correct", folder=tmp_path / "scan")
    with pytest.raises(OptionError, match="scan already holds a scan"):
        scan_stated(long, folder=tmp_path / "scan")
    (tmp_path / "file.csv").touch()
    with pytest.raises(OptionError, match="file.csv is not empty"):
        scan_stated(long, folder=tmp_path / "file.csv")
    with pytest.raises(InputError, match="sub cannot be written"):
        scan_stated(long, folder=tmp_path / "file.csv" / "sub")
    with pytest.raises(OptionError, match="folder=5 must be a path"):
        scan_stated(long, folder=5)
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        with pytest.raises(CodeError):
            scan_stated(long.assign(correct=7), folder=tmp_path / name)
    assert list((tmp_path / "empty").iterdir()) == []
    assert not (tmp_path / "new").exists()


def test_a_temporary_folder_goes_with_the_answers(tables, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scan = scan_stated(long_form(*tables)).grouped(None, None)
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1
    assert scan.answers(0, 1).models == ("m0",)
    del scan
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_scan_says_what_it_is(tables):
    scan = scan_stated(long_form(*tables))
    assert isinstance(scan, StatedScan)
    text = f"StatedScan: 7 models x 300 questions, {int(scan.n.sum()):,} answers, "
    assert repr(scan) == text + f"{scan.levels.size} distinct confidences"
    assert scan.n[2] == 0
    assert scan.is_small
