"""Files as people have them through every command: read, or refused with advice that works."""

import re
import zipfile
from pathlib import Path

import pytest

from psychollm.cli import main
from psychollm.cli.options import declared_by
from psychollm.cli.parser import read_arguments

FILES = {
    "labels.csv": "model,q1,q2\na,correct,incorrect\nb,incorrect,\nc,correct,correct\n",
    "code9.csv": "model,q1,q2,q3,q4\na,1,0,9,1\nb,0,1,1,9\nc,1,1,0,0\nd,1,1,1,1\n",
    "dot.csv": "model,q1,q2\na,1,.\nb,0,1\nc,1,1\n",
    "attempts.csv": "model,item,attempt,correct\na,q,1,1\na,q,2,0\nb,q,1,0\na,r,1,0\nb,r,1,1\n",
    "judges.csv": "model,question,judge,rating\na,q,j,1\na,q,k,0\nb,q,j,1\nb,q,k,1\n",
    "several.csv": "model,question,first,second\na,q,1,1\nb,q,1,0\n",
    "twice.csv": "model,question,item,score\na,q,x,1\nb,q,x,0\n",
    "id.csv": "id,gpt,claude\nq1,1,0\nq2,1,1\n",
    "ages.csv": "model,age,q1,q2\na,25,1,0\nb,31,0,1\nc,44,1,1\n",
    "votes.csv": "model_a,model_b,winner\na,b,model_a\nb,a,tie\n",
    "graded.csv": "model,question,score\na,q,0.5\na,r,1\nb,q,0\nb,r,0.75\n",
    "numbers.csv": "1,0,1\n0,1,1\n",
    "unknown.csv": "foo,bar,baz\nx,y,z\n",
}
COMMANDS = [
    "import", "compare", "items", "card", "irt", "audit", "calibrate", "study", "bank build",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder with all the files, and stand in it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(command: str, file: str) -> list[str]:
    """Return the arguments of a command on one file."""
    words = [*command.split(), file]
    if command == "study":
        words.append(file)  # as confidence and as correctness
    return words + (["--out", "out.bank"] if command == "bank build" else ["--json"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_is_advised_exists(capsys, command, file) -> None:
    words = typed(command, file)
    code = main(words)
    line = capsys.readouterr().err
    assert code in {0, 2}
    advised = set(re.findall(r"(?<![\w'-])--[a-z][a-z-]+", re.sub(r"'psychollm .*?'", "", line)))
    command_class, _ = read_arguments(words)
    names = {f"--{one.name.replace('_', '-')}" for one in declared_by(command_class)}
    assert advised <= names, line
    assert not re.search(r"\b(missing_values|score_map|codes|layout|value|columns)=", line), line


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        "compare code9.csv --missing 9", "irt code9.csv --missing 9", "items dot.csv --missing .",
        'compare dot.csv --missing "-99,.,#NULL!"', "irt dot.csv --missing -99,.,#NULL!",
        "audit code9.csv --missing 9", "compare code9.csv --missing none",
        "compare labels.csv --score-map correct=1,incorrect=0",
        "irt labels.csv --codes correct=1,incorrect=0",
        "import labels.csv --score-map correct=1,incorrect=0",
        "compare id.csv --layout transposed", "irt id.csv --layout wide",
        "irt attempts.csv --duplicates first", "irt ages.csv --layout wide --leave-none",
    ],
)  # fmt: skip
def test_advice_is_followed(capsys, words) -> None:
    found = main([word.strip('"') for word in words.split()])
    line = capsys.readouterr().err
    if "--leave-none" in words:
        assert "unrecognized arguments: --leave-none" in line
        return
    assert (found, line) == (0, "")


def test_one_file_of_three_does_not_stop_a_folder(folder: Path, capsys) -> None:
    logs = folder / "logs"
    logs.mkdir()
    for model in "ab":
        (logs / f"{model}.csv").write_text(f"model,question,score\n{model},q,1\n{model},r,0\n")
    (logs / "c.eval").write_bytes(b"PK\x03\x04 cut off")
    assert main(["compare", "logs"]) == 0
    said = capsys.readouterr()
    assert "note: 1 of 3 files cannot be read and is left out" in said.err
    assert "c.eval" in said.err
    assert main(["compare", "logs", "--strict"]) == 2
    assert "c.eval" in capsys.readouterr().err


def test_logs_are_no_table(folder: Path, capsys) -> None:
    with zipfile.ZipFile(folder / "a.eval", "w") as made:
        made.writestr("header.json", "{}")
    for command in ("irt", "audit"):
        for path in ("a.eval", "."):
            assert main([command, path]) == 2
            assert f"psychollm import {path} --out right.csv" in capsys.readouterr().err


def test_tasks_count_alike(folder: Path, capsys) -> None:
    rows = [f"{m},{t}{k},{t},{int(k % (2 + (m == 'a')) == 0)}" for m in "ab" for t in "uv"
            for k in range(4 if t == "u" else 12)]  # fmt: skip
    (folder / "t.csv").write_text("model,question,task,score\n" + "\n".join(rows))
    assert main(["compare", "t.csv", "--equal-tasks"]) == 0
    assert "2 equally weighted tasks" in capsys.readouterr().out
    assert main(["compare", "t.csv", "--equal-tasks", "--by", "task"]) == 2
