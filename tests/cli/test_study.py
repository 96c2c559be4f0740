"""``psychollm study``: files in, files out, one line where something is wrong."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pandas as pd
import pytest

from psychollm._base.errors import ValidityWarning
from psychollm.cli import INTERRUPTED, UNUSABLE, main
from psychollm.cli.notes import as_notes
from tests.forked import Started

QUICK = ("--null", 19, "--bootstrap", 19, "--no-report")


def assert_one_line(found: subprocess.CompletedProcess[str], *words: str) -> None:
    """One clear line on standard error, nothing on standard output, exit code 2."""
    assert found.returncode == UNUSABLE, found.stderr
    assert found.stdout == ""
    lines = found.stderr.splitlines()
    assert len(lines) == 1, found.stderr
    assert lines[0].startswith("psychollm: error: ")
    for word in words:
        assert word in lines[0]


@pytest.mark.usefixtures("plotting")
def test_two_files_become_a_report(run, tables, tmp_path: Path) -> None:
    found = run("study", *tables, "--null", 19, "--bootstrap", 19, "--out", "here", "--seed", 7)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert "factor" in found.stdout
    assert str(Path("here") / "report.html") in found.stdout
    folder = tmp_path / "here"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "read_responses(" in page
    assert "rng=7" in page
    models = pd.read_csv(folder / "models.csv")
    assert list(models["model"])[:2] == ["sim-01", "sim-02"]
    assert {"pairwise_calibration.csv", "dimensionality.csv", "results.json"} <= {
        path.name for path in folder.iterdir()
    }


def test_json_goes_to_standard_output_alone(call, tables, tmp_path: Path) -> None:
    found = call("study", *tables, *QUICK, "--json", "--seed", 3)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    result = json.loads(found.stdout)
    assert result["n_models"] == 6
    assert result["seed"] == 3
    assert len(result["models"]) == 6
    assert list(tmp_path.iterdir()) == []
    again = call("study", *tables, *QUICK, "--json", "--seed", 3, "--jobs", 2)
    assert json.loads(again.stdout) == result


def test_json_equals_the_file(call, tables, tmp_path: Path) -> None:
    found = call("study", *tables, *QUICK, "--json", "--out", "o")
    written = (tmp_path / "o" / "results.json").read_text(encoding="utf-8")
    assert json.loads(found.stdout) == json.loads(written)
    assert not (tmp_path / "o" / "report.html").exists()


def test_one_long_file_holds_both(call, long_table, tables) -> None:
    columns = ("--confidence-column", "sure", "--correctness-column", "right")
    found = call("study", long_table, *columns, "--threshold", 50, *QUICK, "--json")
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    assert result["coding"]["confidence"].startswith("stated confidence > 50")
    wide = json.loads(call("study", *tables, *QUICK, "--json").stdout)
    cut = "when a stated confidence > 50 counts as yes, "
    assert result["verdict"] == cut + wide["verdict"]


def test_groups_of_questions(call, tables, tmp_path: Path) -> None:
    questions = pd.read_csv(tables[0], index_col=0, nrows=1).columns
    file = tmp_path / "domains.csv"
    domains = ["facts" if place % 2 else "code" for place in range(len(questions))]
    pd.DataFrame({"question": questions, "domain": domains}).to_csv(file, index=False)
    found = call("study", *tables, "--by", file, *QUICK, "--out", tmp_path / "out")
    assert found.returncode == 0, found.stderr
    assert "One factor over all groups (code and facts)" in " ".join(found.stdout.split())
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert list(results["studies"]) == ["code", "facts"]
    assert 0.0 < results["one_factor"]["p"] <= 1.0
    assert "psy.shared_confidence_by(confidence, correctness, groups, " in results["call"]
    assert (tmp_path / "out" / "loadings.csv").exists()


def test_groups_that_a_study_cannot_have(call, tables, tmp_path: Path) -> None:
    models = pd.read_csv(tables[0], index_col=0).index
    file = tmp_path / "families.csv"
    pd.DataFrame({"model": models, "family": "a"}).to_csv(file, index=False)
    assert_one_line(call("study", *tables, "--by", file), "groups models")
    assert_one_line(call("study", "--example", "--by", "domain"), "--by domain is not a file")


def test_quiet_means_quiet(call, tables, tmp_path: Path) -> None:
    found = call("study", *tables, *QUICK, "--quiet")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    assert (tmp_path / "psychollm-report" / "models.csv").exists()


def test_models_can_be_left_out(call, tables) -> None:
    found = call("study", *tables, *QUICK, "--json", "--leave-out", "sim-02")
    assert json.loads(found.stdout)["n_models"] == 5
    assert_one_line(call("study", *tables, *QUICK, "--leave-out", "sim-2"), "sim-2", "sim-02")


@pytest.mark.usefixtures("plotting")
def test_an_error_ends_a_process_without_a_traceback(run) -> None:
    assert_one_line(run("study", "none.csv", "none.csv"), "none.csv", "no such file")


def test_tables_that_differ(call, tables, tmp_path: Path) -> None:
    frame = pd.read_csv(tables[1]).iloc[:-1, :-3]
    frame.to_csv(tmp_path / "less.csv", index=False)
    assert_one_line(call("study", tables[0], "less.csv", *QUICK), "sim-06")
    found = call("study", tables[0], "less.csv", *QUICK, "--common")
    assert found.returncode == 0, found.stderr
    assert "1 models only in the first table left out ('sim-06')" in found.stdout


def spoiled(path: Path, to: Path, line: int, column: int, value: str) -> None:
    """Copy a CSV with another value in one place; lines are counted from 1."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    rows[line - 1][column] = value
    to.write_text("\n".join(map(",".join, rows)) + "\n")


@pytest.mark.parametrize("value", ["maybe", "0.5", "inf", "-1"])
def test_a_wrong_answer_is_named_by_file_line_and_column(call, tables, tmp_path, value) -> None:
    spoiled(tables[0], tmp_path / "bad.csv", line=4, column=5, value=value)
    found = call("study", "bad.csv", tables[1], *QUICK)
    assert_one_line(found, "bad.csv", "q0005", value)
    assert "line 4" in found.stderr or "sim-03" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study"], ["needs CONFIDENCE and CORRECTNESS"]),
        (["study", "a.csv"], ["a.csv: no such file"]),
        (["study", "none.csv", "none.csv"], ["none.csv", "no such file"]),
        (["study", "a.xlsx", "a.xlsx"], ["a.xlsx: no such file"]),
        (["study", "--example", "a.csv"], ["--example has its own tables"]),
        (["study", "a.csv", "b.csv", "--codes", "yes"], ["--codes yes", "yes=1,no=0"]),
        (["study", "--example", "--empty-cells", "add"], ["--empty-cells", "keep_margins"]),
        (["study", "--example", "--nul", "9"], ["--nul"]),
        (["study", "--example", "--null", "0"], ["n_null=0"]),
        (["study", "--example", "--null", "many"], ["--null", "many"]),
        (["study", "--example", "--level", "95"], ["--level 95"]),
        (["study", "--example", "--jobs", "0"], ["n_jobs=0"]),
        (["study", "--example", "--seed", "-1"], ["seed"]),
        (["studie"], ["studie", "did you mean study?"]),
        (["study", "--example", "--empty-cells", "add_hal"], ["did you mean add_half?"]),
        (
            ["study", "--example", "--levl", "0.9"],
            ["did you mean --level? (see 'psychollm study --help')"],
        ),
    ],
)
@pytest.mark.usefixtures("plotting")
def test_wrong_use_is_one_line(call, arguments: list[str], words: list[str]) -> None:
    assert_one_line(call(*arguments), *words)


@pytest.mark.parametrize("content", ["", "model\n", "model,q1\n", "model,q1\na,1\n"])
def test_tables_that_are_too_small(call, tmp_path: Path, content: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert_one_line(call("study", "t.csv", "t.csv", *QUICK))


@pytest.mark.usefixtures("plotting")
def test_a_folder_that_cannot_be_made(call, tables, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_one_line(call("study", *tables, "--out", "file/inside"), "--out", "file/inside")


def test_a_missing_extra_is_named(tables, tmp_path: Path, capsys, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.chdir(tmp_path)
    assert main(["study", *map(str, tables)]) == UNUSABLE
    assert 'pip install "psychollm[plot]"' in capsys.readouterr().err


def test_notes_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    import warnings

    with as_notes({}, quiet=False):
        warnings.warn("two\nlines", ValidityWarning, stacklevel=1)
    assert capsys.readouterr().err == "psychollm: note: two lines\n"
    with as_notes({}, quiet=True):
        warnings.warn("nothing", ValidityWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


def test_an_interrupt_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(settings: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("psychollm.cli.study_store.Study.run", stop)
    assert main(["study", "--example"]) == INTERRUPTED
    assert capsys.readouterr().err == "psychollm: interrupted\n"


@pytest.mark.usefixtures("plotting")
def test_a_terminal_sees_progress(tables, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = ["-m", "psychollm", "study", *tables, *QUICK, "--out", "o"]
    process = Started([str(part) for part in command], tmp_path, err=follower)
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(leader)
    process.communicate()
    assert process.returncode == 0
    assert re.search(rb"null", seen)


def test_a_reader_that_stops_is_no_error(tables, tmp_path: Path) -> None:
    command = ["-m", "psychollm", "study", *tables, *QUICK, "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    process = Started([str(part) for part in command], tmp_path, out=writer)
    os.close(writer)
    assert process.communicate()[1] == ""
