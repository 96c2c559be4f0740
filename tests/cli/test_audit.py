"""``psychollm audit``: tables of choices and keys in, what to look at out."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.studies.question_audit.test_study import drawn


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Choices and keys, of which one in ten is wrong, with a question that nobody answered."""
    choices, key, _ = drawn(200, share=0.1)
    choices.iloc[0] = None
    choices.to_csv(tmp_path / "choices.csv", index_label="question")
    key.rename("key").to_csv(tmp_path / "key.csv", index_label="question")
    texts = pd.Series({label: f"What is <b>{label}</b>?" for label in key.index}, name="text")
    texts.to_csv(tmp_path / "texts.csv", index_label="question")
    return tmp_path / "choices.csv", tmp_path / "key.csv"


def test_a_page_to_go_through_worst_first(call, tables, tmp_path: Path) -> None:
    found = call("audit", *tables, "--texts", "texts.csv", "--out", "here")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert "14 models, 200 questions." in found.stdout
    assert re.search(r"and \d+ more in the report\n", found.stdout)
    assert f"Report: {Path('here') / 'report.html'}" in found.stdout
    assert "more in the report, which --out DIR writes\n" in call("audit", *tables).stdout
    folder = tmp_path / "here"
    names = {path.name for path in folder.iterdir()}
    assert names == {"questions.csv", "report.html", "results.json"}
    frame = pd.read_csv(folder / "questions.csv")
    assert frame["p_flawed"].dropna().is_monotonic_decreasing
    assert frame["text"][0] == f"What is <b>{frame['question'][0]}</b>?"
    page = (folder / "report.html").read_text("utf-8")
    assert f"What is &lt;b&gt;{frame['question'][0]}&lt;/b&gt;?" in page
    assert page.index(frame["question"][0]) < page.index(frame["question"][5])
    assert "<code>import psychollm as psy\n\nchoices = psy.data.read_words(" in page


def test_json_holds_what_is_flagged(call, tables, tmp_path: Path) -> None:
    found = json.loads(call("audit", *tables, "--json", "--fdr", 0.5).stdout)
    assert len(found["questions"]) == 200
    assert found["questions"][-1]["p_flawed"] is None
    assert found["questions"][-1]["reason"] == "no answer was read"
    assert len(found["any_fault"]) >= len(found["wrong_keys"]) > 5
    assert found["any_fault"][0] == found["questions"][0]["question"]
    spaces: dict[str, object] = {}
    code = found["call"].replace("'choices.csv'", repr(str(tables[0])))
    exec(code, spaces)  # noqa: S102 -- what the command wrote
    again = spaces["result"].to_frame().set_index("question")["p_flawed"]
    for row in found["questions"][:-1]:
        assert again[row["question"]] == pytest.approx(row["p_flawed"])


def test_a_row_per_answer_gives_what_a_table_gives(call, tables, tmp_path: Path) -> None:
    wide = pd.read_csv(tables[0], dtype=str).melt(
        "question", var_name="model", value_name="answer"
    )
    wide.to_csv(tmp_path / "long.csv", index=False)
    wide.set_axis(["q", "who", "said"], axis=1).to_csv(tmp_path / "named.csv", index=False)
    named = ("--question-column", "q", "--model-column", "who", "--value-column", "said")
    expected = json.loads(call("audit", *tables, "--json").stdout)
    for path, options in (
        ("long.csv", ()),
        ("long.csv", ("--layout", "long")),
        ("named.csv", named),
    ):
        found = json.loads(call("audit", path, tables[1], "--json", *options).stdout)
        assert found["questions"] == expected["questions"]
    spaces: dict[str, object] = {}
    code = found["call"].replace("'named.csv'", repr(str(tmp_path / "named.csv")))
    exec(code.replace("'key.csv'", repr(str(tables[1]))), spaces)  # noqa: S102 -- as above
    assert list(spaces["result"].flagged(0.2)) == expected["wrong_keys"]
    refused = call("audit", "long.csv", tables[1], "--layout", "wide")
    assert refused.returncode == 2
    assert "pass --layout long if each line is an answer" in refused.stderr
    wide.iloc[[*range(9), 3]].to_csv(tmp_path / "twice.csv", index=False)
    refused = call("audit", "twice.csv", tables[1])
    assert refused.returncode == 2
    assert "row 4 and row 10" in refused.stderr


def test_keys_may_be_in_the_table_of_choices(call, tables, tmp_path: Path) -> None:
    expected = json.loads(call("audit", *tables, "--json").stdout)["questions"]
    wide = pd.read_csv(tables[0], dtype=str)
    key = pd.read_csv(tables[1], dtype=str)
    long = wide.melt("question", var_name="model", value_name="choice").merge(key, "left")
    long["correct"] = (long["choice"] == long["key"]).astype(int)
    long.to_csv(tmp_path / "long.csv", index=False)
    key.merge(wide).to_csv(tmp_path / "beside.csv", index=False)
    for path in ("long.csv", "beside.csv"):
        found = call("audit", path, "--key-column", "key", "--json")
        assert found.returncode == 0, found.stderr
        assert found.stderr == ""
        assert json.loads(found.stdout)["questions"] == expected
        noted = call("audit", path, "--json")
        assert noted.stdout == found.stdout
        assert "column 'key' is read as the key of each question" in noted.stderr
    # The chosen option is read although the table has scores, too.
    assert (
        json.loads(call("audit", "long.csv", tables[1], "--json").stdout)["questions"] == expected
    )
    long.drop(columns="key").to_csv(tmp_path / "scored.csv", index=False)
    noted = call("audit", "scored.csv")
    assert noted.returncode == 0
    assert "only the scores in column 'correct' are audited" in noted.stderr


def test_a_missing_key_is_said_in_one_line(call, tables, tmp_path: Path) -> None:
    long = pd.read_csv(tables[0], dtype=str).melt(
        "question", var_name="model", value_name="choice"
    )
    long.to_csv(tmp_path / "long.csv", index=False)
    long.assign(key=long["choice"]).to_csv(tmp_path / "keys.csv", index=False)
    for arguments, words in (
        (("long.csv",), "long.csv holds options ('choice'), but no key: pass KEY"),
        (("long.csv", "--key-column", "gold"), "--key-column: long.csv has the columns question"),
        (
            ("long.csv", tables[1], "--key-column", "key"),
            "KEY and --key-column exclude",
        ),
        (("keys.csv",), "has several values in column 'key'"),
        ((tables[0],), "for options that models chose, pass KEY"),
    ):
        found = call("audit", *arguments)
        assert (found.returncode, found.stdout) == (2, "")
        assert words in found.stderr.splitlines()[-1]


def test_right_and_wrong_alone(call, tables, tmp_path: Path) -> None:
    choices, key, _ = drawn(100)
    right = (key == choices.T).astype(int)
    right.to_csv(tmp_path / "right.csv", index_label="model")
    found = call("audit", "right.csv", "--options", 4)
    assert found.returncode == 0, found.stderr
    assert "14 models, 100 questions." in found.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("absent.csv", "key.csv"), "absent.csv cannot be read as a CSV file"),
        (("choices.csv", "twice.csv"), "label 'q1' occurs twice in the first column"),
        (("choices.csv", "short.csv"), "key has no entry for 'q2'"),
        (("choices.csv", "bare.csv"), "has no second column"),
        (("choices.csv", "key.csv", "--fdr", 2), "--fdr"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(call, tables, arguments, words) -> None:
    folder = tables[0].parent
    (folder / "twice.csv").write_text("question,key\nq1,A\nq1,B\n")
    (folder / "short.csv").write_text("question,key\nq0,A\nq1,B\n")
    (folder / "bare.csv").write_text("question\nq0\n")
    found = call("audit", *arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert words in found.stderr
    assert len(found.stderr.splitlines()) == 1
