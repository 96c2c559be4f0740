"""Long tables of any size: three commands, and what they say of options they cannot use."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.calibration import stated_scan
from psychollm.cli import UNUSABLE, main, streamed

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def long() -> pd.DataFrame:
    """Six models that share one signal, in rows."""
    rng = np.random.default_rng(3)
    k, n = 6, 120
    signal = rng.normal(size=n) + np.linspace(-0.5, 0.5, k)[:, None]
    sure = np.round(1.0 / (1.0 + np.exp(-(signal + rng.normal(size=(k, n))))), 1)
    right = (signal + rng.normal(size=(k, n)) > 0.0).astype(int)
    return pd.DataFrame(
        {
            "who": np.repeat([f"m{i}" for i in range(k)], n),
            "what": np.tile(np.arange(n), k),
            "sure": 100.0 * sure.ravel(),
            "right": right.ravel(),
        }
    )


@pytest.fixture(scope="module")
def folder(long: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parquet files of two models each."""
    folder = tmp_path_factory.mktemp("answers")
    for i in range(3):
        part = long[long["who"].isin([f"m{2 * i}", f"m{2 * i + 1}"])]
        part.to_parquet(folder / f"{i}.parquet", index=False)
    return folder


COLUMNS = ("--model-column", "who", "--question-column", "what")
STATED = (*COLUMNS, "--confidence-column", "sure", "--correctness-column", "right")


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main([*map(str, arguments), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == UNUSABLE
    return capsys.readouterr().err


def tables(long: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    both = long.set_index(["who", "what"])[["sure", "right"]].unstack("what")  # noqa: PD010
    sure, right = both["sure"], both["right"]
    return sure / 100.0, right


def test_calibrate_gives_the_panel_of_the_tables(long, folder, capsys):
    found = told(
        capsys, "calibrate", folder, *STATED, "--scale", 100, "--metrics", "brier,auroc",
        "--bootstrap", 40, "--null", 20,
    )  # fmt: skip
    panel = psy.calibration_panel(*tables(long), metrics=["brier", "auroc"], bootstrap=40, rng=1)
    assert [row["value"] for row in found["metrics"]] == panel.to_frame()["value"].tolist()
    assert found["calibration_error"]
    namespace: dict = {"psy": psy}
    exec(found["call"], namespace)  # noqa: S102 -- what the command says repeats it
    assert np.array_equal(namespace["panel"]["brier"].interval, panel["brier"].interval)


def test_calibrate_of_many_answers_gives_metrics_alone(folder, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(stated_scan, "SMALL_MODELS", 5)
    out = tmp_path / "out"
    arguments = ("calibrate", folder, *STATED, "--scale", 100, "--metrics", "brier")
    pytest.importorskip("matplotlib")
    assert main([*map(str, arguments), "--bootstrap", "20", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "StatedScan: 6 models x 120 questions" in text
    assert "Metrics only" in text
    assert "Report" not in text
    assert sorted(path.name for path in out.iterdir()) == ["metrics.csv", "results.json"]


def test_calibrate_resamples_clusters_from_a_file(long, folder, capsys, tmp_path):
    clusters = pd.DataFrame({"what": range(120), "page": np.arange(120) // 6})
    clusters.to_csv(tmp_path / "pages.csv", index=False)
    how = ("--scale", 100, "--metrics", "brier", "--bootstrap", 30, "--null", 20)
    found = told(capsys, "calibrate", folder, *STATED, *how, "--clusters", tmp_path / "pages.csv")
    assert found["n_clusters"] == 20
    assert "--clusters page is not a file" in complaint(
        capsys, "calibrate", folder, *STATED, "--clusters", "page"
    )


def test_study_says_how_many_signals_there_are(long, folder, capsys):
    found = told(
        capsys, "study", folder, *COLUMNS, "--confidence-column", "sure", "--threshold", 50,
        "--null", 39,
    )  # fmt: skip
    sure = psy.Responses(tables(long)[0], threshold=0.5)
    expected = psy.studies.shared_signals(sure, n_null=39, alpha=0.05, rng=1)
    assert found["n_factors"] == expected.n_factors == 1
    assert [row["loading"] for row in found["models"]] == expected.loadings.tolist()


def test_irt_fits_items_and_abilities(long, folder, capsys, tmp_path):
    out = tmp_path / "out"
    found = told(
        capsys, "irt", folder, *COLUMNS, "--value-column", "right", "--model", "rasch",
        "--out", out,
    )  # fmt: skip
    assert found["converged"]
    assert found["n_models"] == 6
    items, able = (pd.read_csv(out / f"{name}.csv") for name in ("items", "abilities"))
    assert len(items) == 120
    rates = tables(long)[1].mean(axis=1).to_numpy()
    assert np.corrcoef(rates, able["ability"])[0, 1] > 0.99


def test_irt_of_a_table_is_the_fit_in_memory(long, capsys, tmp_path):
    right = tables(long)[1]
    right.to_csv(tmp_path / "right.csv", index_label="model")
    found = told(capsys, "irt", tmp_path / "right.csv", "--model", "rasch")
    fit = psy.fit_irt(psy.read_responses(tmp_path / "right.csv"), model="rasch")
    assert found["log_likelihood"] == pytest.approx(fit.log_likelihood, rel=1e-12)
    assert main(["irt", str(tmp_path / "right.csv"), "--model", "rasch"]) == 0
    assert not capsys.readouterr().out.endswith("\n\n")
    assert len(found["items"]) == 120


def test_a_database_is_read_by_table_or_query(long, capsys, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "answers.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE runs AS SELECT * FROM long")
        database.execute("CREATE TABLE other AS SELECT 1 AS one")
    how = (*STATED, "--scale", 100, "--metrics", "brier", "--bootstrap", 20, "--null", 20)
    found = told(capsys, "calibrate", path, "--table", "runs", *how)
    assert found["n_models"] == 6
    query = "SELECT * FROM runs WHERE who < 'm3'"
    assert told(capsys, "calibrate", path, "--query", query, *how)["n_models"] == 3
    assert "which table holds the answers" in complaint(capsys, "calibrate", path, *how)


def test_options_for_tables_in_memory_are_refused(folder, capsys, tmp_path):
    error = complaint(capsys, "calibrate", folder, *STATED, "--leave-out", "m1")
    assert "--leave-out applies to tables in memory only: select and change answers in" in error
    error = complaint(capsys, "study", folder, *STATED)
    assert "--correctness-column applies to tables in memory" in error
    sure = ("--confidence-column", "sure")
    error = complaint(capsys, "study", folder, *sure, "--threshold", "model_median")
    assert "--threshold model_median: streamed tables need a number" in error
    error = complaint(capsys, "irt", folder, "--question-column", "a", "--question-column", "b")
    assert "--question-column has several columns" in error
    both = (tmp_path / "a.csv", tmp_path / "b.csv")
    assert "--table and --query require one" in complaint(
        capsys, "calibrate", *both, "--table", "runs"
    )
    assert "--levels applies to streamed tables" in complaint(
        capsys, "calibrate", *both, "--levels", 11
    )


def test_a_large_parquet_file_is_read_once(folder, monkeypatch):
    path = folder / "0.parquet"
    assert not streamed.is_large(path, long=True)
    monkeypatch.setattr(streamed, "LARGE", 100)
    assert streamed.is_large(path, long=True)
    assert not streamed.is_large(path, long=False)
