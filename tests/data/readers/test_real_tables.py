"""Tables as people have them: names of columns, orientation, codes for missing, encodings."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, PsychollmWarning
from psychollm.data.missing_codes import suspects
from psychollm.data.readers import read_table

WIDE = "{},q1,q2,q3\na,1,0,1\nb,0,1,1\n"
ACROSS = "{},gpt,claude\nq1,1,0\nq2,1,1\nq3,0,0\n"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a table of text."""

    def to_file(text, name="a.csv", encoding="utf-8"):
        (tmp_path / name).write_text(text, encoding=encoding)
        return tmp_path / name

    return to_file


def both(path, **options):
    """Return models and questions as both readers of tables have them."""
    with warnings.catch_warnings(action="ignore", category=PsychollmWarning):
        table = psy.read_responses(path, **options)
        record = psy.read_scores(path, **options)
        numbers = read_table(path, **options)
    frame = record.frame
    assert sorted(map(str, table.models)) == sorted(frame["model"].unique())
    assert [str(one) for one in table.questions] == list(frame["question"].unique())
    assert [str(one) for one in numbers.index] == [str(one) for one in table.models]
    assert int(frame["score"].notna().sum()) == int((~table.missing).sum())
    return table


@pytest.mark.parametrize(
    "name", ["model", "Model", "LLM", "rownames", "", "Model Name", "student_id", "run"]
)
def test_the_first_column_labels_models(write, name):
    table = both(write(WIDE.format(name)))
    assert (table.models, table.questions) == (("a", "b"), ("q1", "q2", "q3"))
    assert psy.compare(psy.read_scores(write(WIDE.format(name)))).labels == ("a", "b")


@pytest.mark.parametrize("name", ["question", "Item", "item_id", "problem", "prompt", "questions"])
@pytest.mark.parametrize("reader", [psy.read_responses, psy.read_scores, read_table])
def test_rows_that_are_called_questions_are_no_models(write, name, reader):
    path = write(ACROSS.format(name))
    with pytest.warns(PsychollmWarning, match="rows are read as questions"):
        reader(path)
    table = both(path)
    assert (table.models, table.questions) == (("gpt", "claude"), ("q1", "q2", "q3"))
    assert table.values.tolist() == [[1, 1, 0], [0, 1, 0]]
    assert both(path, layout="wide").models == ("q1", "q2", "q3")


@pytest.mark.parametrize("reader", [psy.read_responses, psy.read_scores, read_table])
def test_an_id_may_be_either(write, reader):
    path = write(ACROSS.format("id"))
    with pytest.raises(LabelError, match="'id': what are the rows.*layout='transposed'"):
        reader(path)
    assert both(path, layout="transposed").models == ("gpt", "claude")
    assert both(path, layout="wide").models == ("q1", "q2", "q3")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_other_formats_turn_as_well(tmp_path, suffix):
    frame = pd.DataFrame({"item": ["q1", "q2"], "gpt": [1, 0], "claude": [1, 1]})
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    assert both(path).models == ("gpt", "claude")


def test_a_table_without_labels(write):
    path = write("q1,q2,q3\n1,0,1\n1,1,1\n0,0,1\n")
    for reader in (psy.read_responses, psy.read_scores, read_table):
        with pytest.warns(PsychollmWarning, match="no column holds labels"):
            reader(path)
    table = both(path)
    assert (table.models, table.questions) == ((1, 2, 3), ("q1", "q2", "q3"))
    assert both(write("q1,q2\n3,0\n4,1\n"), labels=False).questions == ("q1", "q2")
    counted = both(write("0,1,2\n1,0,1\n0,1,1\n"), labels=False)
    assert counted.questions == ("0", "1", "2")
    with pytest.raises(LabelError, match="line 1 holds numbers"):
        psy.read_responses(write("1,0,1\n0,1,1\n"))


def test_an_index_of_pandas_is_no_question(write):
    assert both(write(",model,q1,q2\n0,a,1,0\n1,b,1,1\n")).questions == ("q1", "q2")
    assert both(write("Unnamed: 0,model,question,score\n0,a,x,1\n1,b,x,0\n")).models == ("a", "b")


@pytest.mark.parametrize(
    "header",
    [
        "id,item,resp", "LLM,id,resp", "person,item,response", "Model,Question,Score",
        "llm,item_id,correct", "student_id,question_id,is_correct", "respondent,problem,value",
    ],
)  # fmt: skip
def test_long_tables_are_known_by_usual_names(write, header):
    path = write(f"{header}\na,x,1\na,y,0\nb,x,0\nb,y,1\n")
    table = both(path)
    assert (table.models, table.questions) == (("a", "b"), ("x", "y"))
    frame = pd.read_csv(path)
    for function in (psy.compare, psy.question_screen, psy.evaluation_card, psy.Responses):
        found = function(frame)
        labels = found.models if hasattr(found, "models") else found.labels
        assert set(labels) in ({"a", "b"}, {"x", "y"})
    assert psy.fit_irt(frame, respondents="models").labels == ("x", "y")


def test_repeats_of_a_long_frame_are_answers_to_one_question():
    frame = pd.DataFrame(
        {"llm": list("aabb"), "item": 1, "run": [1, 2, 1, 2], "score": [1, 0, 1, 1]}
    )
    assert psy.compare(frame).n_answers == 2.0
    assert psy.compare(frame.drop(columns="run")).n_answers == 2.0


def test_frames_whose_rows_are_questions_turn_with_a_warning():
    frame = pd.DataFrame([[1, 0], [1, 1]], index=pd.Index(["q1", "q2"], name="question"))
    frame.columns = ["gpt", "claude"]
    with pytest.warns(PsychollmWarning, match="rows are read as questions"):
        assert psy.compare(frame).labels == ("gpt", "claude")


@pytest.mark.parametrize(
    "name", ["verdict", "judge_verdict", "human", "human_label", "Solved", "is_solved"]
)
def test_rarer_names_of_scores_are_used_where_no_usual_one_is(write, name):
    rows = "a,x,1\na,y,0\nb,x,0\nb,y,1\n"
    assert both(write(f"model,question,{name}\n{rows}")).values.tolist() == [[1, 0], [0, 1]]
    frame = psy.read_scores(write(f"question,{name}\nx,1\ny,0\n", "gpt.csv")).frame
    assert (set(frame["model"]), frame["score"].tolist()) == ({"gpt"}, [1.0, 0.0])
    beside = "model,question,{},score\na,x,yes,1\nb,x,no,0\n"
    assert psy.read_scores(write(beside.format(name))).frame["score"].tolist() == [1.0, 0.0]


def test_a_rarer_name_of_scores_may_also_be_a_model(write):
    table = both(write("question,gpt,claude,human\nq1,1,0,1\nq2,1,1,1\n"))
    assert table.models == ("gpt", "claude", "human")


@pytest.mark.parametrize("score", ["correct", "score", "verdict"])
def test_an_id_labels_the_questions_of_one_model(write, score):
    paths = [write(f"id,{score}\nq1,1\nq2,{k}\n", f"{name}.csv") for k, name in enumerate("ab")]
    frame = psy.read_scores(paths).frame
    assert frame.groupby("model")["score"].mean().to_dict() == {"a": 0.5, "b": 1.0}
    assert set(frame["question"]) == {"q1", "q2"}
    # Next to a column of questions, an id labels models.
    assert both(write("id,item,resp\na,x,1\nb,x,0\n")).models == ("a", "b")


# Missing


@pytest.mark.parametrize(("code", "declared"), [("9", [9]), ("-99", ["-99"]), ("999", [999.0])])
@pytest.mark.parametrize("reader", [psy.read_responses, psy.read_scores, read_table])
def test_codes_are_named_or_declared(write, code, declared, reader):
    path = write(f"model,q1,q2,q3,q4\na,1,0,{code},1\nb,0,1,1,{code}\nc,1,1,0,0\nd,1,1,1,1\n")
    with pytest.raises(CodeError, match=rf"'q3'.* holds {code} .*missing_values=\[{code}\]"):
        reader(path)
    assert both(path, missing_values=declared).missing.sum() == 2
    if reader is not psy.read_responses:
        reader(path, missing_values=())  # all are scores


@pytest.mark.parametrize("word", [".", "#NULL!", "-", "?"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_signs_for_missing_are_declared(write, word, layout):
    text = f"model;q1;q2\na;1;{word}\nb;0;1\n"
    if layout == "long":
        text = f"model;question;score\na;q1;1\na;q2;{word}\nb;q1;0\nb;q2;1\n"
    path = write(text)
    for reader in (psy.read_responses, psy.read_scores):
        with pytest.raises(CodeError, match=r"line . *, column .*missing_values=\["):
            reader(path)
    assert both(path, missing_values=[word]).missing.sum() == 1


def test_a_column_that_holds_no_scores_is_named(write):
    path = write("model,age,q1,q2\na,25,1,0\nb,31,0,1\n")
    for reader in (psy.read_responses, psy.read_scores, read_table):
        with pytest.raises(CodeError, match="column 'age' holds 25, 31 among scores"):
            reader(path)
    words = write("model,family,q1\na,x,1\nb,y,0\n")
    for reader in (psy.read_responses, psy.read_scores):
        with pytest.raises(CodeError, match="'family'.*if the column holds no answers, leave it"):
            reader(words)


def test_compare_in_memory_refuses_codes():
    frame = pd.DataFrame([[1, 0, 9, 1], [0, 1, 1, 9], [1, 1, 0, 0]], index=list("abc"))
    for function in (psy.compare, psy.question_screen, psy.evaluation_card):
        with pytest.raises(CodeError, match="holds 9 .2 such cells.*replace 9 by NaN"):
            function(frame)
    assert psy.Responses(frame, missing_values=[9]).missing.sum() == 2


@pytest.mark.parametrize(
    "scores",
    [
        [0, 1, 2, 3], [0, 1, 3], [*range(11)], [1, 2, 3, 4, 5, 6, 7], [50, 60, 80, 99],
        [0.1, 0.4, 2.5, 31.0], [-1, -1, 0, 0, 1, 1], [0, 0.5, 1], [-0.25, 0, 1], [10, 20, 90],
    ],
)  # fmt: skip
def test_scores_are_no_codes(scores):
    assert not suspects(np.array(scores, dtype=float)).size


@pytest.mark.parametrize(
    ("scores", "codes"),
    [
        ([0, 1, 0, 1, 1, 9], [9]), ([1, 2, 3, 4, 5, 99], [99]), ([0.2, 0.9, -9.0], [-9]),
        ([10, 20, 80, -99], [-99]), ([0, 1, 0, 1, -1], [-1]), ([1, 2, 3, 9], [9]),
    ],
)  # fmt: skip
def test_codes_far_from_the_scores_are_suspects(scores, codes):
    assert suspects(np.array(scores, dtype=float)).tolist() == codes


# Encodings, words


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_encodings(write, encoding, name):
    text = "model,question,score\nä,x,1\nä,y,0\n"
    if name.endswith("jsonl"):
        rows = ({"model": "ä", "question": one, "score": k} for k, one in enumerate("xy"))
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path = write(text, name, encoding)
    if name.endswith("csv"):
        assert both(path).models == ("ä",)
    assert psy.read_scores(path).frame["model"].unique().tolist() == ["ä"]


def test_advice_on_words_can_be_followed(write):
    path = write("model,q1,q2\na,correct,incorrect\nb,incorrect,\n")
    with pytest.raises(CodeError, match=r"codes={'correct': 1, 'incorrect': 0}"):
        psy.read_responses(path)
    with pytest.raises(CodeError, match=r"score_map={'correct': 1, 'incorrect': 0}"):
        psy.read_scores(path)
    means = {"correct": 1, "incorrect": 0}
    assert psy.read_responses(path, codes=means).codes.tolist() == [[1, 0], [0, 0]]
    assert psy.read_scores(path, score_map=means).frame["score"].tolist()[:3] == [1, 0, 0]


@pytest.mark.parametrize(
    ("words", "means"),
    [
        (("pass", "fail"), "pass=1,fail=0"),
        (("bad", "good"), "bad=0,good=1"),
        (("I", "C"), "I=0,C=1"),
        (("no", "yes", "partly"), "no=0,yes=1,partly=X, with a larger number X for a better"),
        (("A", "B"), "A=X,B=X, with a larger number X for a better answer"),
        (("left", "right"), "left=X,right=X, with a larger number X for a better answer"),
    ],
)
@pytest.mark.parametrize("name", ["score", "verdict"])
def test_advice_on_words_does_not_reverse_scores(write, words, means, name):
    rows = "".join(f"a,q{k},{word}\n" for k, word in enumerate(words))
    with pytest.raises(CodeError) as caught:
        psy.read_scores(write(f"model,question,{name}\n{rows}"))
    told = caught.value.told({"score_map": "--score-map"})
    assert f"answers in words need --score-map {means}" in told


@pytest.mark.parametrize("header", ["model_a,model_b,winner", "left,right,winner"])
def test_votes_are_no_scores(write, header):
    path = write(f"{header}\na,b,a\nb,c,tie\n")
    for reader in (psy.read_responses, psy.read_scores):
        with pytest.raises(InputError, match="votes between two models"):
            reader(path)


def test_an_unknown_table_names_its_columns(write):
    with pytest.raises(InputError, match="which column holds the model.*'foo', 'item', 'score'"):
        psy.read_scores(write("foo,item,score\na,1,1\n"))
