"""Scores in runs: every way in gives one array, and bad cells are named."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.reliability.means.repeated_scores import RepeatedScores, repeated_scores


def values():
    cells = np.random.default_rng(0).normal(size=(2, 3, 4))
    cells[1, 2, 3] = np.nan
    return cells


def long_table():
    index = pd.MultiIndex.from_product(
        [["a", "b"], ["x", "y", "z"], [1, 2, 3, 4]], names=["model", "question", "run"]
    )
    return pd.Series(values().ravel(), index=index, name="score").reset_index()


def test_ways_in():
    wanted = values()
    frame = long_table()
    ways = [
        wanted,
        wanted.tolist(),
        RepeatedScores.from_runs([wanted[:, :, r] for r in range(4)]),
        RepeatedScores.from_long(frame),
        RepeatedScores.from_long(frame.dropna().sample(frac=1, random_state=0).sort_index()),
    ]
    for way in ways:
        np.testing.assert_array_equal(repeated_scores(way).values, wanted)
    assert repeated_scores(wanted[:, :, 0]).runs == (0,)
    assert repeated_scores(wanted[0, :, 0]).values.shape == (1, 3, 1)


def test_labelled_arrays_keep_their_labels():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(values(), dims=("m", "q", "r"), coords={"m": ["a", "b"]})
    found = repeated_scores(array)
    assert found.models == ("a", "b")
    assert found.questions == (0, 1, 2)


def test_labelled_runs_are_put_in_order():
    first = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=["a", "b"], columns=["x", "y"])
    found = RepeatedScores.from_runs([first, first.iloc[::-1, ::-1]], labels=["r", "s"])
    np.testing.assert_array_equal(found.values[:, :, 0], found.values[:, :, 1])
    with pytest.raises(LabelError, match="'c'"):
        RepeatedScores.from_runs([first, first.rename(index={"a": "c"})])


def test_bad_input():
    with pytest.raises(ShapeError, match="no run"):
        RepeatedScores.from_runs([])
    with pytest.raises(ShapeError, match="none of them empty"):
        RepeatedScores.from_array(np.zeros((2, 0, 2)))
    with pytest.raises(ShapeError, match="different lengths"):
        repeated_scores([[[1, 2], [3]], [[1, 2], [3, 4]]])
    with pytest.raises(CodeError, match=r"question \('y', 'run 2'\) holds inf"):
        RepeatedScores.from_array([[[1, 2], [3, np.inf]]], questions=["x", "y"], runs=[1, 2])
    with pytest.raises(CodeError, match="not a number"):
        RepeatedScores.from_array([[["1", "2"]]])
    frame = long_table()
    with pytest.raises(LabelError, match="no column 'item'"):
        RepeatedScores.from_long(frame, question="item")
    with pytest.raises(LabelError, match="model 'a', question 'x', run 1 has more than one score"):
        RepeatedScores.from_long(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(LabelError, match="row 2 has no question"):
        RepeatedScores.from_long(frame.assign(question=["x", None, *frame["question"][2:]]))
    with pytest.raises(ShapeError, match="empty"):
        RepeatedScores.from_long(frame.iloc[:0])
