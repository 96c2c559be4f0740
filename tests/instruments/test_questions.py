"""Question-answer sets: what is read from files, and one clear error for what cannot be."""

import json

import pytest

from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.instruments.questions import Question, as_questions, read_questions


def test_csv_with_usual_names(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text(
        "\ufeffid,question,answer,topic\n"
        'a,"Who, then?",she|her,people\n'
        "b,What is 2 + 2?,4,sums\n"
        "c,Can this be known?,,\n",
        encoding="utf-8",
    )
    found = read_questions(path, rule="contains")
    assert [one.key for one in found] == ["a", "b", "c"]
    assert found[0].text == "Who, then?"
    assert found[0].answers == ("she", "her")
    assert found[1].domain == "sums"
    assert found[1].rule == "contains"
    assert [one.answerable for one in found] == [True, True, False]


def test_columns_and_rules_of_a_line(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text("frage,antwort,rule,absolute\nWie viel?,3.14,numeric,0.01\n")
    (found,) = read_questions(path, columns={"text": "frage", "answers": "antwort"})
    assert found == Question(
        key="1", text="Wie viel?", answers=("3.14",), rule="numeric", absolute=0.01
    )
    assert found.grading() == {"reference": ["3.14"], "rule": "numeric", "absolute": 0.01}


def test_jsonl(tmp_path):
    path = tmp_path / "set.jsonl"
    lines = [
        {"question": "How many?", "answer": 7},
        {"question": "Who?", "answers": ["a", "a", "b"]},
        {"question": "None?", "answers": []},
    ]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    assert [one.answers for one in read_questions(path)] == [("7",), ("a", "b"), ()]


def test_squad_without_its_passages(tmp_path):
    path = tmp_path / "squad.json"
    asked = [
        {"id": "q1", "question": "Who?", "answers": [{"text": "Ada"}, {"text": "Ada"}]},
        {"id": "q2", "question": "Whom?", "answers": [{"text": "x"}], "is_impossible": True},
    ]
    passage = {"context": "Ada wrote it.", "qas": asked}
    path.write_text(json.dumps({"data": [{"title": "Ada_L", "paragraphs": [passage]}]}))
    found = read_questions(path)
    assert [(one.key, one.answers, one.domain) for one in found] == [
        ("q1", ("Ada",), "Ada L"),
        ("q2", (), "Ada L"),
    ]
    assert all("wrote" not in one.text for one in found)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "question,answer\n,x\n", "question '1': its text is blank"),
        ("a.csv", "frage,answer\nx,y\n", "line 2: text or question"),
        ("a.csv", "question,answer\n", "holds no questions"),
        ("a.jsonl", '{"question": "x"}', "line 1: answers or answer"),
        ("a.jsonl", "{", "line 1: not valid JSON"),
        ("a.jsonl", "[1]", "line 1: the line is not a JSON object"),
        ("a.json", "[]", "not in the SQuAD format"),
        ("a.json", '{"data": [{"paragraphs": [{}]}]}', "not in the SQuAD format"),
        ("a.txt", "x", "read from .csv, .tsv, .jsonl or .json"),
        ("a.csv", None, "cannot be read"),
        ("a.csv", "question,answer,rule\nx,y,z\n", "rule='z' is not an option"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, text, says):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=says.replace("(", r"\(")):
        read_questions(path)


def test_some_of_the_questions_evenly_spaced(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("question,answer\n" + "".join(f"{k}?,{k}\n" for k in range(9)))
    assert [one.text for one in read_questions(path, n_questions=3)] == ["0?", "4?", "8?"]
    with pytest.raises(InputError, match="n_questions=10: .* holds 9"):
        read_questions(path, n_questions=10)
    with pytest.raises(OptionError, match="n_questions"):
        read_questions(path, n_questions=0)


def test_keys_are_unique_and_columns_known(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("key,question,answer\na,x,y\na,z,y\n")
    with pytest.raises(LabelError, match="'a' occurs more than once"):
        read_questions(path)
    with pytest.raises(InputError, match="columns: answer unknown"):
        read_questions(path, columns={"answer": "answer"})
    with pytest.raises(InputError, match="questions is empty"):
        as_questions([])
    with pytest.raises(InputError, match="question 2: text"):
        as_questions([{"question": "x", "answer": "y"}, {"answer": "y"}])
    with pytest.raises(OptionError, match="rule='near'"):
        Question(key="a", text="b", rule="near")  # type: ignore[arg-type]
