"""``psychollm calibrate``: stated confidences in, a panel and its report out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.calibration.panels.catalogue import metric_keys
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.cli import UNUSABLE

QUICK = ("--bootstrap", 20, "--null", 20, "--no-report")
FEW = (*QUICK, "--metrics", "brier,auroc,overconfidence")


def one_line(found: subprocess.CompletedProcess[str]) -> str:
    """Return the one clear line on standard error of a command that could not be used."""
    assert found.returncode == UNUSABLE, found.stderr
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("psychollm: error: ")
    return line


@pytest.fixture(scope="module")
def stated() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    said = np.round(rng.beta(4, 2, (3, 80)), 1)
    right = (rng.uniform(size=said.shape) < said).astype(int)
    labels = {"index": ["m1", "m2", "m3"], "columns": [f"q{i}" for i in range(80)]}
    return pd.DataFrame(said, **labels), pd.DataFrame(right, **labels)


@pytest.fixture(scope="module")
def wide(stated, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("wide")
    paths = folder / "sure.csv", folder / "right.csv"
    for frame, path in zip(stated, paths, strict=True):
        frame.to_csv(path, index_label="model")
    return paths


@pytest.fixture(scope="module")
def long(stated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One long file: confidence in percent, and the page that each question is on."""
    said, right = stated
    frame = pd.DataFrame(
        {
            "model": np.repeat(said.index, said.shape[1]),
            "question": np.tile(said.columns, said.shape[0]),
            "s": 100 * said.to_numpy().ravel(),
            "r": right.to_numpy().ravel(),
        }
    )
    frame["page"] = "p" + (frame["question"].str[1:].astype(int) // 8).astype(str)
    path = tmp_path_factory.mktemp("long") / "long.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.usefixtures("plotting")
def test_two_files_become_a_report(call, wide, tmp_path: Path) -> None:
    found = call("calibrate", *wide, "--bootstrap", 20, "--null", 20, "--out", "here", "--seed", 7)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert "m2" in found.stdout
    assert str(Path("here") / "report.html") in found.stdout
    folder = tmp_path / "here"
    assert {path.name for path in folder.iterdir()} == {
        "report.html",
        "results.json",
        "metrics.csv",
        "reliability.csv",
        "bins.csv",
        "calibration_error.csv",
        "corp.csv",
        "risk_coverage.csv",
        "roc.csv",
        "compare_brier.csv",
        "compare_auroc.csv",
    }
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "read_table(" in page
    assert "rng=7" in page
    metrics = pd.read_csv(folder / "metrics.csv")
    assert set(metrics["metric"]) == set(metric_keys())
    assert set(metrics["model"]) == {"m1", "m2", "m3"}


def test_what_matters_can_be_set(call, wide) -> None:
    words = {}
    for given in ("auroc=0.49", "auroc=0.0001"):
        found = call("calibrate", *wide, *FEW, "--json", "--smallest", given)
        words[given] = json.loads(found.stdout)["verdict"]
    assert "within 0.49 of chance" in words["auroc=0.49"]
    assert "of chance" not in words["auroc=0.0001"]
    for wrong, message in (
        ("area=0.1", "smallest effect 'area' does not exist"),
        ("auroc", "a quantity and"),
    ):
        failed = call("calibrate", *wide, *FEW, "--json", "--smallest", wrong)
        assert failed.returncode == 2
        assert message in failed.stderr


def test_numbers_are_those_of_the_library(call, wide, stated) -> None:
    found = call("calibrate", *wide, *FEW, "--json", "--seed", 3)
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    panel = calibration_panel(
        *stated, metrics=["brier", "auroc", "overconfidence"], bootstrap=20, rng=3
    )
    frame = pd.DataFrame(result["metrics"])
    for key in panel:
        rows = frame[frame["metric"] == key]
        assert np.allclose(rows["value"].astype(float), panel[key].value)
        assert np.allclose(rows[["lower", "upper"]].astype(float), panel[key].interval)
    assert (result["n_models"], result["n_questions"], result["n_clusters"]) == (3, 80, None)
    assert result["verdict"] in " ".join(panel.summary().split())
    assert result["seed"] == 3


def test_json_goes_to_standard_output_alone(call, wide, tmp_path: Path) -> None:
    found = call("calibrate", *wide, *FEW, "--json")
    assert found.stderr == ""
    assert list(tmp_path.iterdir()) == []
    again = call("calibrate", *wide, *FEW, "--json", "--jobs", 2, "--out", "o")
    assert json.loads(again.stdout) == json.loads(found.stdout)
    assert json.loads((tmp_path / "o" / "results.json").read_text()) == json.loads(found.stdout)


def test_one_long_file_in_percent_with_clusters(call, long, wide, tmp_path: Path) -> None:
    columns = ("--confidence-column", "s", "--correctness-column", "r", "--scale", 100)
    found = call("calibrate", long, *columns, *FEW, "--clusters", "page", "--json")
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    assert result["n_clusters"] == 10
    pd.DataFrame(
        {"question": [f"q{i}" for i in range(90)], "page": [i // 8 for i in range(90)]}
    ).to_csv(tmp_path / "pages.csv", index=False)
    again = call("calibrate", *wide, *FEW, "--clusters", "pages.csv", "--json")
    same = json.loads(again.stdout)
    assert same["n_clusters"] == 10
    for one, other in zip(result["metrics"], same["metrics"], strict=True):
        assert one["lower"] == pytest.approx(other["lower"])


def test_the_call_repeats_the_panel(call, long) -> None:
    columns = ("--confidence-column", "s", "--correctness-column", "r", "--scale", 100)
    less = ("--leave-out", "m2", "--clusters", "page", "--common")
    found = call("calibrate", long, *columns, *FEW, *less, "--json")
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    assert result["n_models"] == 2
    assert result["left_out"] == "Excluded: m2 (as requested)."
    space: dict = {"psy": psy}
    exec(result["call"], space)  # noqa: S102
    error = space["curves"].error.to_frame()
    assert error["p_value"].tolist() == [row["p_value"] for row in result["calibration_error"]]
    frame = space["panel"].to_frame()
    assert np.allclose(frame["upper"], [row["upper"] for row in result["metrics"]])


def test_tables_that_differ(call, wide, tmp_path: Path) -> None:
    pd.read_csv(wide[1]).iloc[:-1, :-5].to_csv(tmp_path / "less.csv", index=False)
    line = one_line(call("calibrate", wide[0], "less.csv", *FEW))
    assert "only the first has 'm3'" in line
    assert "--common" in line
    found = call("calibrate", wide[0], "less.csv", *FEW, "--common")
    assert found.returncode == 0, found.stderr
    assert "2 models and 75 questions in common; 1 models excluded; 5 questions" in found.stdout


def test_models_with_few_answers_are_left_out(call, wide, tmp_path: Path) -> None:
    frame = pd.read_csv(wide[0])
    frame.iloc[1, 3:] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    found = call("calibrate", "gaps.csv", wide[1], *FEW, "--least-answers", 10)
    assert "Excluded: m2 (2 answers)." in found.stdout
    whole = call("calibrate", "gaps.csv", wide[1], *FEW, "--json")
    assert json.loads(whole.stdout)["n_models"] == 3


def test_words_and_quiet(call, wide, tmp_path: Path) -> None:
    frame = pd.read_csv(wide[1], index_col=0).replace({1: "right", 0: "wrong"})
    frame.to_csv(tmp_path / "words.csv")
    codes = ("--codes", "right=1,wrong=0")
    found = call("calibrate", wide[0], "words.csv", *codes, *FEW, "--quiet")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    assert (tmp_path / "psychollm-report-calibration" / "metrics.csv").exists()
    assert "--codes" in one_line(call("calibrate", wide[0], "words.csv", *FEW))


def spoiled(path: Path, to: Path, value: object) -> Path:
    """Copy a table with another value in its second row and third question."""
    frame = pd.read_csv(path, dtype=object)
    frame.iloc[1, 3] = value
    frame.to_csv(to, index=False)
    return to


@pytest.mark.parametrize(
    ("value", "options", "words"),
    [
        ("80", (), ["'m2'", "'q2'", "holds 80", "pass --scale 100"]),
        ("7.5", ("--scale", 1), ["line 3", "'q2'", "holds 7.5", "--scale 1"]),
        ("-0.1", (), ["'m2'", "holds -0.1"]),
        ("sure", (), ["line 3", "'sure'", "not a number"]),
        ("inf", (), ["line 3", "infinity"]),
    ],
)
def test_a_wrong_confidence_is_named(call, wide, tmp_path, value, options, words) -> None:
    bad = spoiled(wide[0], tmp_path / "bad.csv", value)
    line = one_line(call("calibrate", bad, wide[1], *FEW, *options))
    for word in words:
        assert word in line


def test_a_wrong_correctness_is_named(call, wide, tmp_path: Path) -> None:
    bad = spoiled(wide[1], tmp_path / "bad.csv", 3)
    line = one_line(call("calibrate", wide[0], bad, *FEW))
    assert "CORRECTNESS: model 'm2', question 'q2' has 3" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["needs CONFIDENCE and CORRECTNESS", "calibrate --help"]),
        (["SURE"], ["no confidence is stated", "also pass CORRECTNESS", "psychollm items"]),
        (["SHORT"], ["calibrate needs CORRECTNESS", "--confidence-column"]),
        (["a.csv"], ["a.csv: no such file"]),
        (["none.csv", "none.csv"], ["none.csv", "no such file"]),
        (["a.xlsx", "a.xlsx"], ["a.xlsx: no such file"]),
        (["BOOK", "BOOK"], ["supported formats are .csv", "read_excel", "pip install openpyxl"]),
        (["SURE", "RIGHT", "--codes", "yes"], ["--codes yes"]),
        (["SURE", "RIGHT", "--scale", "0"], ["--scale 0"]),
        (["SURE", "RIGHT", "--metrics", "brer"], ["'brer'", "brier"]),
        (["SURE", "RIGHT", "--clusters", "none.csv"], ["none.csv", "no such file"]),
        (
            ["SURE", "RIGHT", "--clusters", "page"],
            ["--clusters page is neither a file", "sure.csv"],
        ),
        (["SURE", "RIGHT", "--clusters", "SHORT"], ["--clusters", "80 questions have no cluster"]),
        (["SURE", "RIGHT", "--leave-out", "m9"], ["m9", "m1"]),
        (["SURE", "RIGHT", "--level", "95"], ["--level 95"]),
        (["SURE", "RIGHT", "--null", "0"], ["n_bands=0"]),
        (["SURE", "RIGHT", "--boot", "9"], ["--boot"]),
    ],
)
@pytest.mark.usefixtures("plotting")
def test_wrong_use_is_one_line(call, wide, tmp_path: Path, arguments, words) -> None:
    (tmp_path / "short.csv").write_text("question,page\nx,1\n")
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    names = {"BOOK": "book.xlsx", "SURE": wide[0], "RIGHT": wide[1], "SHORT": "short.csv"}
    line = one_line(call("calibrate", *[names.get(word, word) for word in arguments]))
    for word in words:
        assert word in line


def test_a_folder_that_cannot_be_made(call, wide, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = one_line(call("calibrate", *wide, *FEW, "--out", "file/inside"))
    assert "--out file/inside" in line


def test_help_names_every_option_without_computing() -> None:
    program = (
        "import sys; from psychollm.cli import main\n"
        "try:\n    main(['calibrate', '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(str('numba' in sys.modules or 'pandas' in sys.modules))"
    )
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert found.stderr == "False"
    for option in ("--scale", "--clusters", "--metrics", "--bootstrap", "--seed", "--json"):
        assert option in found.stdout
