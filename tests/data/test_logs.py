"""Logs to one table: paths, tables, choices, repeats, thresholds, and what is said of it."""

import contextlib
import gzip
import json
from pathlib import Path
from shutil import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import (
    CodeError,
    InputError,
    LabelError,
    OptionError,
    PsychollmError,
    PsychollmWarning,
)
from psychollm.data import parquet
from psychollm.data.logs import COLUMNS, one_per_cell, read_logs, read_scores
from psychollm.data.logs_runs import questions
from psychollm.data.readers import csv_file
from psychollm.data.readers.logs.detect import READERS
from psychollm.data.readers.logs.run import Sample
from tests.effort import examples

SAMPLES = Path(__file__).parent / "samples"
LONG = "model,question,score\na,q,1\na,r,0\nb,r,1\n"
VALUES = [[1, 0], [np.nan, 1]]


def check(found):
    np.testing.assert_array_equal(found.responses.values, VALUES)
    assert found.responses.models == ("a", "b")
    assert found.responses.questions == ("q", "r")


# Tables


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("renamed", [False, True])
def test_tables(write, tmp_path, kind, renamed):
    columns = {"model": "llm", "question": "qid", "score": "ok"} if renamed else None
    frame = pd.DataFrame({"model": list("aab"), "question": list("qrr"), "score": [1, 0, 1]})
    frame = frame.rename(columns=columns or {})
    path = tmp_path / f"t.{kind}"
    if kind.startswith("csv"):
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    check(read_logs(path, columns=columns))
    check(read_logs(tmp_path, columns=columns))


def test_all_columns_of_a_table(write):
    found = read_logs(
        write(
            "model,item,correct,task,repeat,scorer,filter,error,confidence,content\n"
            "a,1,1,t,1,f1,x,,0.9,what?\na,2,,t,1,f1,x,timeout,,who?\na,3,false,t,1,f1,x,,0.5,how?\n"
        )
    )
    np.testing.assert_array_equal(found.responses.values, [[1, np.nan, 0]])
    np.testing.assert_array_equal(found.confidence.to_numpy(), [[0.9, np.nan, 0.5]])
    assert found.errors == {"timeout": 1}
    assert tuple(found.frame.columns) == COLUMNS
    assert found.frame.iloc[0].drop("source").tolist() == [
        "a", "1", 1.0, "t", 1, "f1", "x", "", 0.9, "table",
    ]  # fmt: skip


def test_several_scorers_in_a_table(write):
    path = write("model,item,score,scorer\na,1,1,f1\na,1,0,em\na,2,0,em\n")
    with pytest.raises(OptionError, match="one of 'f1', 'em'"):
        read_logs(path)
    assert read_logs(path, scorer="em").responses.values.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("foo,item,score\na,1,1\n", {}, InputError, "is neither a known log nor a table"),
        (
            "foo,item,score\na,1,1\n",
            {"format": "table"},
            LabelError,
            "which column holds the model",
        ),
        (
            "question,text,a,b\nq1,What is it?,1,0\nq2,And this?,0,1\n",
            {},
            InputError,
            "If each model has a column of its own, remove 'text'",
        ),
        (LONG, {"columns": {"score": "f1"}}, LabelError, "no column 'f1'"),
        (LONG, {"columns": {"llm": "model"}}, LabelError, "columns= has a key 'llm'"),
        (LONG + "a,s\n", {}, InputError, "line 5: 2 cells, but the header has 3 columns"),
        (LONG + ",s,1\n", {}, LabelError, "line 5 has no model"),
        (LONG + "a,,1\n", {}, LabelError, "line 5 has no question"),
        (
            LONG + "a,s,good\n",
            {},
            CodeError,
            "line 5, column 'score' holds 'good', which is not a number",
        ),
        (LONG + "a,s,3\n", {}, CodeError, "are not all 0 or 1 (3): pass threshold="),
        (LONG + "a,q,1\n", {}, OptionError, "'a' answered question 'q' 2 times (1 answers more"),
        ("model,question,score\na,q,\n", {}, InputError, "no answer has a score"),
        ("model,question,score\n", {}, InputError, "there is no log in"),
        (
            "model,question,score,score\na,q,1,1\n",
            {},
            InputError,
            "is neither a known log nor a table",
        ),
        ("", {}, InputError, "is neither a known log nor a table"),
        (LONG, {"repeats": "median"}, OptionError, "repeats='median'"),
        (LONG, {"no_answer": "right"}, OptionError, "no_answer='right'"),
        (LONG, {"match": "text"}, OptionError, "match='text'"),
        (LONG, {"format": "csv"}, OptionError, "format='csv'"),
        (LONG, {"task": ["a", "b"]}, LabelError, "task='b': no such task"),
        (LONG, {"scorer": {"b": "x"}}, LabelError, "scorer='b': no such task"),
        (LONG, {"format": "promptfoo"}, InputError, "is not complete JSON"),
    ],
)
def test_what_cannot_be_used_is_named(write, text, options, error, message):
    with pytest.raises(error) as caught:
        read_logs(write(text), **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "a.csv.gz"
    rows = "".join(f"m{i % 7},q{i * i},1\n" for i in range(5_000))
    path.write_bytes(gzip.compress((LONG + rows).encode())[:-2_000])
    with pytest.raises(InputError, match="is not a CSV file"):
        read_logs(path)
    path.write_bytes(b"no gzip at all")
    with pytest.raises(InputError, match="is neither a known log nor a table"):
        read_logs(path)


@pytest.mark.parametrize("line", [b"a," + b"q" * 60_000 + b",1\n", b"0"], ids=["rows", "one"])
def test_gzip_bombs(tmp_path, line, monkeypatch):
    monkeypatch.setattr(csv_file, "MAX_LINE", 1 << 22)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(LONG.encode() + line * ((1 << 24) // len(line) + 1)))
    with pytest.raises(InputError, match=r"is refused: more than 250|holds a line of more than"):
        read_logs(path, repeats="first")


def test_parquet_that_declares_too_much(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"model": ["a"] * 3, "question": [1, 2, 3], "score": 1}).to_parquet(path)
    monkeypatch.setattr(parquet, "MAX_ROWS", 2)
    with pytest.raises(InputError, match=r"declares 3 rows, but at most 2 are read"):
        read_logs(path, format="table")
    monkeypatch.setattr(parquet, "MAX_ROWS", 3)
    monkeypatch.setattr(parquet, "MAX_BYTES", 10)
    with pytest.raises(InputError, match=r"bytes, but at most 10 are read"):
        read_logs(path, format="table")


def test_not_in_utf_8(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"model": "é", "question": 1, "score": 1}\n{}'.encode("latin-1"))
    with pytest.raises(InputError):
        read_logs(path)


# Paths


def test_paths(write, tmp_path):
    path = write(LONG)
    check(read_logs(str(path)))
    check(read_logs([path]))
    check(read_logs(tmp_path))
    write("other", "notes.txt")
    write("{}", "other.json")
    check(read_logs(tmp_path))
    with pytest.raises(
        InputError, match=r"other.json is not a known log.* it may accompany the log"
    ):
        read_logs(tmp_path / "other.json")
    with pytest.raises(InputError, match=r"absent: no such file or folder"):
        read_logs(tmp_path / "absent")
    with pytest.raises(InputError, match="paths is empty"):
        read_logs([])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no log in this folder"):
        read_logs(tmp_path / "empty")


def test_names_of_paths(write, tmp_path):
    one, two = (
        write("model,item,score\na,1,1\n", "x.csv"),
        write("model,item,score\na,1,0\n", "y.csv"),
    )
    frame = read_scores({"before": one, "after": [two]}).frame
    assert frame[["model", "question", "score"]].to_numpy().tolist() == [
        ["before", "1", 1.0], ["after", "1", 0.0],
    ]  # fmt: skip
    assert set(frame["task"]) == {"scores"}
    assert read_logs({"before": one, "after": two}).responses.models == ("before", "after")
    both = write("model,item,score\na,1,1\nb,1,1\n", "z.csv")
    named = read_scores({"before": both, "after": one}).frame["model"]
    assert named.tolist() == ["before/a", "before/b", "after/a"]
    bare = write("item,text,score\n1,word,1\n", "bare.csv")
    assert read_scores({"a": bare}).frame["model"].tolist() == ["a"]
    for paths in ({}, {"": one}, {1: one}):
        with pytest.raises(InputError, match="mapping from names to logs"):
            read_scores(paths)


def test_answers_in_two_folders_are_doubted(write, tmp_path):
    path = write("model,item,score\na,1,1\n")
    (tmp_path / "other").mkdir()
    again = Path(copy(path, tmp_path / "other" / path.name))
    with pytest.warns(
        PsychollmWarning, match=r"'a' in .* and .*other.* count as repeats.*'before'"
    ):
        read_scores([path, again])
    again.write_text("model,item,score\na,2,1\n")  # other questions are no repeats
    assert len(read_scores([path, again]).frame) == 2
    assert len(read_scores({"x": path, "y": again}).frame) == 2


def test_one_table_in_two_files_is_one_table(write):
    first = write("model,question,score\na,q,1\na,r,0\n", "x.csv")
    second = write("model,question,score,task\na,s,1,x\nb,q,0,x\n", "y.csv")
    found = read_logs([first, second])
    np.testing.assert_array_equal(found.responses.values, [[1, 0, 1], [0, np.nan, np.nan]])


def test_progress(write, capsys):
    pytest.importorskip("tqdm")
    read_logs(write(LONG), progress=True)
    assert capsys.readouterr().out == ""


# Repeats


@pytest.fixture
def repeated(write):
    scores = {"q": (1, 1, 0), "r": (0, 1, ""), "s": ("", 0, 0), "t": ("", "", "")}
    rows = [f"a,{q},{v},0.{i + 1}" for q, found in scores.items() for i, v in enumerate(found)]
    return write("model,question,score,confidence\n" + "\n".join(rows))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"repeats": "first"}, [[1, 0, np.nan, np.nan]]),
        ({"repeats": "majority"}, [[1, np.nan, 0, np.nan]]),
        ({"repeats": "mean", "threshold": 0.5}, [[1, 0, 0, np.nan]]),
        ({"repeats": "mean", "threshold": 0.5, "strict": False}, [[1, 1, 0, np.nan]]),
        ({"repeats": "keep"}, [[1, 0, np.nan, np.nan], [1, 1, 0, np.nan], [0, np.nan, 0, np.nan]]),
    ],
)
def test_repeats(repeated, options, expected):
    found = read_logs(repeated, **options)
    np.testing.assert_array_equal(found.responses.values, expected)
    assert found.repeats == options["repeats"]
    assert found.n_ties == (options["repeats"] == "majority")
    mean = options["repeats"] in {"mean", "majority"}
    stated = found.confidence.to_numpy()
    np.testing.assert_allclose(stated[0], 0.2 if mean else 0.1)


def test_a_majority_is_of_what_lies_above_the_threshold(write):
    rows = "".join(f"a,q,{score}\n" for score in (0.9, 0.6, 0.1))
    path = write("model,question,score\n" + rows)
    with pytest.raises(CodeError, match="scores are not all 0 or 1"):
        read_logs(path, repeats="majority")
    assert read_logs(path, repeats="majority", threshold=0.5).responses.values.tolist() == [[1]]


@given(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=1, max_size=7), st.randoms())
@examples(40)
def test_means_and_majorities_do_not_depend_on_the_order(scores, random):
    def one(values, **options):
        frame = pd.DataFrame({"model": "m", "question": "q", "score": values})
        frame = frame.assign(repeat=range(len(values)), confidence=np.nan)
        return one_per_cell(frame, strict=True, **options).frame["score"].item()

    shuffled = random.sample(scores, len(scores))
    known = [score for score in scores if score == score]
    for options in (
        {"repeats": "majority", "threshold": None},
        {"repeats": "mean", "threshold": 0.4},
    ):
        first, second = one(scores, **options), one(shuffled, **options)
        assert first == second or (np.isnan(first) and np.isnan(second))
        if not known:
            assert np.isnan(first)
    right = sum(known)
    if known and right * 2 != len(known):
        assert one(scores, repeats="majority", threshold=None) == (right * 2 > len(known))


# Labels


@given(st.permutations(range(6)), st.permutations(range(6)))
@examples(40)
def test_the_same_question_has_one_label_wherever_it_stands(first, second):
    runs = [
        [
            Sample(question=str(place), scores={}, content=f"c{what}")
            for place, what in enumerate(o)
        ]
        for o in (first, second)
    ]
    (one, two), n_apart = questions(runs)
    assert n_apart == 0
    assert one == [str(i) for i in range(6)]
    assert [one[first.index(what)] for what in second] == two


def test_questions_without_content_are_known_by_their_label():
    with_content = [Sample(question="1", scores={}, content="a")]
    without = [Sample(question="1", scores={}), Sample(question="2", scores={})]
    assert questions([without, with_content]) == ([["1", "2"], ["1"]], 0)


def test_repeats_of_one_question_keep_its_label():
    samples = [Sample(question="1", scores={}, content="a")] * 2
    assert questions([samples])[0] == [["1", "1"]]


# What is said


# Logs that are not what they seem


def values_in(found, path=()):
    """Yield the place of every value in nested JSON."""
    yield path
    if not isinstance(found, dict | list):
        return
    for key, value in found.items() if isinstance(found, dict) else enumerate(found):
        yield from values_in(value, (*path, key))


def replaced(found, path, value):
    if not path:
        return value
    copy = dict(found) if isinstance(found, dict) else list(found)
    copy[path[0]] = replaced(found[path[0]], path[1:], value)
    return copy


JSON_LOGS = sorted(
    path
    for folder in (
        "deepeval", "hal", "helm", "inspect/version_1", "opencompass/20260101_000000/results",
        "promptfoo",
    )
    for path in (SAMPLES / folder).rglob("*.json")
    if path.name not in {"run_spec.json", "scenario_state.json"}
)  # fmt: skip
LINES = sorted(SAMPLES.rglob("*.jsonl"))
ANYTHING = st.sampled_from(
    [None, 0, -1.5, True, "", "x", 10**400, [], [1], {}, {"a": 1}, [[]], [None]]
)


@given(st.data())
@examples(100)
def test_a_log_with_anything_in_it_is_read_or_refused(tmp_path_factory, data):
    path = data.draw(st.sampled_from(JSON_LOGS + LINES))
    text = path.read_text()
    rows = text.splitlines() if path in LINES else [text]
    at = data.draw(st.integers(0, min(len(rows), 3) - 1))
    content = json.loads(rows[at])
    places = list(values_in(content))
    place = places[data.draw(st.integers(0, len(places) - 1))]
    rows[at] = json.dumps(replaced(content, place, data.draw(ANYTHING)))
    copy = tmp_path_factory.mktemp("log") / path.name
    copy.write_text("\n".join(rows))
    for spec in path.parent.glob("run_spec.json"):
        copy.with_name(spec.name).write_bytes(spec.read_bytes())
    for name in (None, *READERS):
        with contextlib.suppress(PsychollmError):
            read_logs(copy, format=name, repeats="first", threshold=0.5)
