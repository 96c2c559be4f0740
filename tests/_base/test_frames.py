"""Tables of polars and Arrow are read as those of pandas, column by column."""

import datetime
import subprocess
import sys
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.checks import plain_array
from psychollm._base.errors import (
    InputError,
    LabelError,
    PsychollmError,
    PsychollmWarning,
    ShapeError,
    ValidityWarning,
)
from psychollm._base.frames import in_pandas, labelled, long_table
from psychollm._base.record import plain_data
from psychollm.calibration import brier
from psychollm.correlation import spectrum
from psychollm.data.responses import as_responses
from psychollm.data.sampled import SampledAnswers
from psychollm.reliability import RepeatedScores
from psychollm.reliability.means.repeated_scores import repeated_scores
from psychollm.studies import abstention_skill, skin_contrast

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

CELLS: dict[str, Any] = {
    "whole": st.integers(-(2**40), 2**40),
    "real": st.floats(width=64, allow_infinity=False),
    "yes or no": st.booleans(),
    "text": st.text(max_size=3),
    "category": st.sampled_from(["yes", "no", ""]),
    "day": st.dates(min_value=datetime.date(1990, 1, 1), max_value=datetime.date(2030, 1, 1)),
    "money": st.decimals(-100, 100, places=2),
}
TYPES = {
    "whole": (pl.Int64, pa.int64(), "Int64"),
    "real": (pl.Float64, pa.float64(), "Float64"),
    "yes or no": (pl.Boolean, pa.bool_(), "boolean"),
    "text": (pl.String, pa.string(), "string"),
    "category": (pl.Categorical, pa.dictionary(pa.int32(), pa.string()), "category"),
    "day": (pl.Date, pa.date32(), object),
    "money": (pl.Decimal(20, 2), pa.decimal128(20, 2), object),
}


@st.composite
def columns(
    draw: st.DrawFn, kinds: tuple[str, ...] = tuple(CELLS), *, fewest: int = 0
) -> dict[str, Any]:
    """Return the kind and the cells of some columns of one length."""
    n = draw(st.integers(fewest, 5))
    drawn = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    return {
        f"{kind} {k}": draw(st.lists(st.none() | CELLS[kind], min_size=n, max_size=n))
        for k, kind in enumerate(drawn)
    }


def typed(table: dict[str, Any]) -> dict[str, Any]:
    """Return one table as pandas, polars and Arrow hold it, whole and in chunks."""
    types = [TYPES[name.rpartition(" ")[0]] for name in table]
    cells = [*zip(table, types, table.values(), strict=True)]
    n = len(next(iter(table.values())))
    polars = pl.DataFrame([pl.Series(name, col, kind[0]) for name, kind, col in cells])
    arrow = pa.table({name: pa.array(col, kind[1]) for name, kind, col in cells})
    halves = pa.concat_tables([arrow.slice(0, n // 2), arrow.slice(n // 2)])
    return {
        "pandas": pd.DataFrame(table, index=pd.RangeIndex(n)),
        "nullable": pd.DataFrame(
            {name: pd.Series(col, dtype=kind[2]) for name, kind, col in cells},
            index=pd.RangeIndex(n),
        ),
        "polars": polars,
        "lazy": polars.lazy(),
        "chunks of polars": pl.concat([polars[: n // 2], polars[n // 2 :]], rechunk=False),
        "Arrow": arrow,
        "chunks": halves,
        "batch": arrow.combine_chunks().to_batches()[0] if n else arrow,
    }


def outcome(function: Any, data: Any) -> Any:
    """Return what a function gives, or with what it refuses, in words that can be compared."""
    try:
        made = function(data)
    except PsychollmError as error:
        return type(error).__name__, str(error)
    return repr(made)


def array_of(data: Any) -> Any:
    array = plain_array(data, "data")
    numbers = (bool, int, float, Decimal)
    cells = [float(one) if isinstance(one, numbers) else one for one in array.ravel().tolist()]
    return array.shape, cells


def table_of(data: Any) -> Any:
    made = as_responses(data)
    return made.models, made.questions, made.values.tolist()


@given(columns())
def test_all_libraries_give_the_same_array(table):
    outcomes = {form: outcome(array_of, data) for form, data in typed(table).items()}
    assert len(set(outcomes.values())) == 1, outcomes


@given(columns(("yes or no", "whole", "day"), fewest=1), st.booleans())
def test_all_libraries_give_the_same_answers(table, named):
    n = len(next(iter(table.values())))
    models = [f"model {k}" for k in range(n)]
    forms = typed(({"text 9": models} if named else {}) | table)
    outcomes = {form: outcome(table_of, data) for form, data in forms.items()}
    assert len(set(outcomes.values())) == 1, outcomes


@given(columns(("text", "category", "whole", "yes or no")))
def test_all_libraries_give_the_same_long_table(table):
    def read(data: Any) -> Any:
        names = list(table)
        frame = long_table(data, names, argument="answers", row="answer")
        missing = frame.isna().to_numpy().tolist()
        return missing, [[*frame[name].dropna().tolist()] for name in names]

    outcomes = {form: outcome(read, data) for form, data in typed(table).items()}
    assert len(set(outcomes.values())) == 1, outcomes


@given(st.lists(st.none() | st.sampled_from(["a", "b"]), min_size=1, max_size=6))
def test_columns_are_read_too(cells):
    whole = pa.array(cells, pa.string())
    forms = [pl.Series("c", cells, pl.String), whole, pa.chunked_array([whole[:1], whole[1:]])]
    forms += [whole.dictionary_encode(), pd.Series(cells, dtype="category")]
    assert {repr(array_of(form)) for form in forms} == {repr(array_of(cells))}


def test_labels_of_two_tables_go_together():
    confidence = pl.DataFrame({"llm": ["a", "b"], "q1": [0.9, 0.2], "q2": [0.4, None]})
    correctness = pa.table({"model": ["b", "a"], "q2": [1, 0], "q1": [0, 1]})
    score = brier(confidence, correctness, bootstrap=0)
    assert score.labels == ("a", "b")
    assert score.value.tolist() == pytest.approx([(0.01 + 0.16) / 2, 0.04])


def test_a_matrix_takes_its_labels_from_columns_or_rows():
    square = {"a": [1.0, 0.5], "b": [0.5, 1.0]}
    for table in (square, {"model": ["a", "b"], **square}):
        assert spectrum(pl.DataFrame(table)).eigenvalues.tolist() == pytest.approx([1.5, 0.5])
    with pytest.raises(LabelError, match="differs from its columns"):
        spectrum(pl.DataFrame({"model": ["b", "a"], **square}))


def test_long_tables_of_other_classes():
    long = pl.DataFrame({"model": ["m", "m"], "question": [1, 1], "run": [1, 2], "score": [0, 1]})
    assert RepeatedScores.from_long(long.lazy()).values.tolist() == [[[0.0, 1.0]]]
    sampled = SampledAnswers.from_long(long.to_arrow(), question="question", answer="score")
    assert sampled.codes.tolist() == [[[0, 1]]]


def test_what_is_no_long_table_is_refused():
    table = pl.DataFrame({"model": ["a"]})
    with pytest.raises(LabelError, match="x has no column 'item': its columns are 'model'"):
        long_table(table, ["model", "item"], argument="x", row="answer")
    with pytest.raises(ShapeError, match="x is empty: it needs a row for each answer"):
        long_table(table.clear(), ["model"], argument="x", row="answer")
    with pytest.raises(InputError, match="x is a ndarray: pass a DataFrame"):
        long_table(np.zeros(3), ["model"], argument="x", row="answer")


def test_columns_of_the_same_name_stay_apart():
    twice = pa.table([pa.array([1, 0]), pa.array([0, 1])], names=["q", "q"])
    with pytest.raises(LabelError, match="'q' occurs more than once"):
        as_responses(twice)


def test_numbers_of_any_kind_are_labels_only_by_name():
    table = pl.DataFrame({"Persons": [7, 8], "q1": [1, 0]})
    assert as_responses(table).models == (7, 8)
    assert as_responses(table.rename({"Persons": "q0"})).models == (0, 1)


def test_what_is_no_table_is_left_alone():
    for data in ([1], {"a": 1}, None, "text", np.arange(2), pd.Series([1]), Decimal(1)):
        assert in_pandas(data) is data
        assert labelled(data) is data


def test_arrays_and_pandas_need_no_narwhals():
    code = (
        "import sys, pandas as pd, psychollm as psy\n"
        "psy.data.Responses\n"
        "from psychollm._base.frames import labelled\n"
        "labelled(pd.DataFrame({'model': ['a'], 'x': [1]}))\n"
        "assert 'narwhals' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_result_has_its_table_in_polars(made):
    tried = 0
    for name, results in made.items():
        try:
            frame = results[-1].to_frame()
        except InputError:
            continue
        tried += 1
        table = results[-1].to_polars()
        shift = table.width - frame.shape[1]
        assert (len(table), shift) in {(len(frame), 0), (len(frame), 1)}, name
        for k in range(frame.shape[1]):
            cells = [None if pd.isna(one) else one for one in frame.iloc[:, k].tolist()]
            cells_there = [None if one != one else one for one in table[:, k + shift].to_list()]
            assert [*map(str, cells_there)] == [*map(str, cells)], (name, table.columns[k])
    assert tried > 100


def test_answers_go_to_polars_and_back():
    answers = as_responses(pd.DataFrame({"q1": [1, None], "q2": [0, 1]}, index=["a", "b"]))
    table = answers.to_polars()
    assert table.columns == ["model", "q1", "q2"]
    again = as_responses(table)
    assert (again.models, again.questions) == (answers.models, answers.questions)
    assert repr(again.values) == repr(answers.values)


def test_answers_to_a_question_called_task_are_no_labels():
    frame = pd.DataFrame({"task": [1, 0, 1], "b": [1, 1, 0]})
    assert as_responses(frame, argument="answers").questions == ("task", "b")
    frame["task"] = ["x", "y", "z"]
    with pytest.warns(PsychollmWarning, match="answers: rows are read as questions"):
        assert as_responses(frame, argument="answers").questions == ("x", "y", "z")


LONG: dict[str, tuple[Any, dict[str, Any]]] = {
    "inference_boundary": (
        lambda table: psy.inference_boundary(table, bootstrap=20, rng=0),
        {"model": "m", "type": ["A", "C"] * 10, "item": range(20), "run": 1, "response": "",
         "score": [1, 1, 0, None] * 5},
    ),
    "skin_contrast": (
        lambda table: skin_contrast(table, "C", "x", "y", bootstrap=20, rng=0),
        {"model": "m", "type": "C", "item": range(8), "run": 1, "structure": [0, 1, 2, 3] * 2,
         "skin": ["x"] * 4 + ["y"] * 4, "score": [1, 1, 0, 1, 0, 1, 0, 0]},
    ),
    "abstention_skill": (
        lambda table: abstention_skill(table, bootstrap=20, rng=0),
        {"model": "m", "item": range(8), "should_abstain": [1, 1, 0, 0] * 2,
         "scenario": ["a", "b"] * 4, "pair": [None, "", "p", "p"] * 2,
         "abstained": [1, 0, 0, None] * 2},
    ),
    "metacognitive_skill": (
        lambda table: psy.metacognitive_skill(table, bootstrap=20, rng=0),
        {"model": "m", "item": [1, 1, 2, 2, 3, 3], "category": ["checks", "plans"] * 3,
         "code": [0, 1, 2, None, 1, 1], "correct": [1, 1, 0, 0, 1, 1],
         "tokens": [100, 100, 50, 50, 80, 80], "spans": [0, 1, 2, None, 1, 1]},
    ),
    "self_efficacy": (
        lambda table: psy.self_efficacy(table, bootstrap=20, rng=0),
        {"model": ["a", "b", "c"] * 2, "condition": ["plain"] * 3 + ["test"] * 3,
         "persona": [None] * 6, "i1": [3, 2, 4, 1, 2, 3], "i2": [4, None, 4, 2, 2, 3]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_long_tables_of_studies_may_come_from_any_library(name):
    study, columns = LONG[name]
    plain = pd.DataFrame(columns)
    words = [one for one in plain if plain[one].dtype.kind not in "biuf"]
    lists = {one: [None if pd.isna(x) else x for x in plain[one].tolist()] for one in plain}
    forms = (
        plain.convert_dtypes(),
        plain.astype(dict.fromkeys(words, "category")),
        pl.DataFrame(lists),
        pa.table(lists),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        expected = repr(plain_data(study(plain)))
        assert {repr(plain_data(study(form))) for form in forms} == {expected}


def test_dimensions_of_three_go_by_their_names():
    xarray = pytest.importorskip("xarray")
    values = np.arange(24.0).reshape(2, 3, 4)
    labels = {"llms": ["a", "b"], "items": [1, 2, 3], "run": [1, 2, 3, 4]}
    array = xarray.DataArray(values, labels, ("llms", "items", "run"))
    expected = repeated_scores(array)
    assert (expected.models, expected.questions) == (("a", "b"), (1, 2, 3))
    turned = repeated_scores(array.transpose("run", "items", "llms"))
    assert (turned.models, turned.questions, turned.runs) == (("a", "b"), (1, 2, 3), (1, 2, 3, 4))
    np.testing.assert_array_equal(turned.values, values)
    sampled = SampledAnswers.from_array(array.rename(run="sample").transpose("sample", ...))
    np.testing.assert_array_equal(sampled.codes, SampledAnswers.from_array(values).codes)
