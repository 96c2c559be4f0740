"""Helpers that readers and tables share, tried by what they return."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError, ShapeError
from psychollm.data.batches import Rule, Source
from psychollm.data.confidence import cut_points, describe_rule
from psychollm.data.examples import read_recorded
from psychollm.data.labels import (
    as_labels,
    group_members,
    in_order,
    index_of,
    numbered,
    order_of,
    reorder,
    unit_codes,
    unit_labels,
    unit_numbers,
)
from psychollm.data.long import Columns, is_long, long_columns
from psychollm.data.matrix_input import correlation_matrix
from psychollm.data.pair_counts import PairCounts
from psychollm.data.pair_counts_blocks import read_bits
from psychollm.data.readers.logs.helm import _task
from psychollm.data.readers.logs.run import as_score, digest, flatten
from psychollm.data.readers.logs.source import Source as LogSource
from psychollm.data.responses import Responses
from psychollm.data.screen import agreement_beyond_chance
from psychollm.data.table import as_table, one_model, values_like


def test_labels() -> None:
    assert as_labels("model", ["a", "b"], 2) == ("a", "b")
    assert as_labels("question", None, 3) == (0, 1, 2)
    order = reorder("model", ("b", "a"), like=("a", "b"))
    assert order is not None
    assert order.tolist() == [1, 0]
    order = order_of("question", ("b", "a"), ("a", "b"), argument="weights")
    assert order is not None
    assert order.tolist() == [1, 0]
    groups, member = group_members(["b", "a", "b", "a"], (1, 2, 3, 4), unit="questions")
    assert groups == ("b", "a")
    assert member.tolist() == [0, 1, 0, 1]


def test_values_of_units() -> None:
    assert unit_labels(["a", "b"], ("q1", "q2"), argument="clusters") == ["a", "b"]
    by_name = {"q2": "b", "q1": "a"}
    assert unit_labels(by_name, ("q1", "q2"), argument="clusters") == ["a", "b"]
    with pytest.raises(
        LabelError, match="clusters has no entry for question 'q3': label all of them"
    ):
        unit_labels(by_name, ("q1", "q3"), argument="clusters")
    assert unit_labels(by_name, ("q3", "q1"), argument="by", optional=True) == [None, "a"]
    numbers = unit_numbers(pd.Series({"b": 1, "a": 2}), ("a", "b"), argument="weights")
    assert numbers.tolist() == [2.0, 1.0]
    put = in_order(pd.Series([1, 2], index=["b", "a"]), ("a", "b"), argument="weights")
    assert put.tolist() == [2, 1]
    assert index_of(pd.Series({"a": 1})) == ("a",)
    assert index_of([1]) is None


def test_tables() -> None:
    assert as_table([[1, 0]], models=["m"]).models == ("m",)
    vector = one_model([0.5, 1.0], argument="confidence")
    assert vector.values.tolist() == [[0.5, 1.0]]
    first = as_table([[1, 2]], questions=["a", "b"])
    second = as_table([[3, 4]], questions=["b", "a"])
    assert values_like(second, first, argument="scores").tolist() == [[4, 3]]
    matrix, labels = correlation_matrix([[1, 0.5], [0.5, 1]])
    assert (matrix[0, 1], labels) == (0.5, (0, 1))


def test_cuts_and_their_words() -> None:
    cuts = cut_points(np.array([[8.0, 9.0, 9.0, 10.0]]), ("a",), "model_balanced")
    assert cuts.tolist() == [9.5]
    assert describe_rule(0.5, strict=True) == "stated confidence > 0.5"
    assert describe_rule("model_median", strict=False) == "stated confidence >= model median"


def test_clones() -> None:
    answers = Responses([[1, 0, 1, 0], [1, 0, 1, 0]])
    counts = PairCounts.count(answers)
    kappa, n = agreement_beyond_chance(counts, np.array([True, True]), 4)
    np.testing.assert_array_equal(kappa, [[np.nan, 1.0], [1.0, np.nan]])
    assert n[0, 1] == 4


def test_bits_of_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
    long.to_parquet(path)
    source = Source(("model", "question", "value"), 1000, Rule(None, strict=True))
    assert read_bits(path, source, n_jobs=None, progress=False).answered.size == 2


def test_layout_of_files() -> None:
    header = ["model", "item", "keep"]
    assert is_long("auto", header, Columns())
    assert long_columns(Path("a.csv"), header, Columns()).value == "keep"


def test_pieces_of_logs(tmp_path: Path) -> None:
    assert digest("What is 2+3?", "5")[:8] == "1664fd49"
    assert digest("", None, []) == ""
    scores = (True, 0.5, "0.5", float("nan"), 10**400)
    assert [as_score(score) for score in scores] == [1.0, 0.5, None, None, None]
    settings = {"temperature": 0, "extra": {"effort": "low", "seed": None}}
    assert flatten(settings) == {"temperature": "0", "extra.effort": "low"}
    name = "mmlu:subject=anatomy,method=generation,model=org_alpha"
    assert _task(name) == "mmlu:subject=anatomy,method=generation"
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    assert LogSource(path).shape == "lines"
    assert [record for _, record in LogSource(path).lines()] == [{"a": 1}, {"a": 2}]


def test_recorded_answers() -> None:
    assert len(read_recorded("smollm2").questions) == 480


def test_whole_numbers_are_numbered_as_any_labels() -> None:
    clusters = np.random.default_rng(0).integers(-3, 9, 200)
    units = tuple(range(200))
    expected = numbered(unit_labels(clusters, units, argument="clusters"))[0]
    assert unit_codes(clusters, units, argument="clusters").tolist() == expected.tolist()
    assert unit_codes(clusters > 2, units, argument="clusters").max() == 1
    with pytest.raises(ShapeError, match="clusters holds 200 labels for 199 questions"):
        unit_codes(clusters, units[1:], argument="clusters")
