"""`polychoric_by_group`: each group alone, in order; bad input."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.correlation.polychoric import polychoric

GROUPS = np.repeat(["law", "physics", "law"], [20, 60, 40])


def table(seed=0):
    rng = np.random.default_rng(seed)
    return np.digitize(rng.normal(size=GROUPS.size) + rng.normal(size=(3, GROUPS.size)), [-1, 1])


@pytest.mark.parametrize("of", ["models", "questions"])
def test_each_group_is_correlated_alone(of):
    codes = table()
    found = polychoric_by_group(codes if of == "models" else codes.T, GROUPS, of=of)
    assert list(found) == ["law", "physics"]
    for name, part in found.items():
        alone = polychoric(codes[:, name == GROUPS])
        assert np.array_equal(part.matrix, alone.matrix)
        assert np.array_equal(part.thresholds, alone.thresholds)
        assert part.of == of


def constant(codes):
    codes[1, GROUPS == "law"] = 2
    return codes.tolist()


def unanswered(codes):
    rows = codes.tolist()
    rows[1] = [
        None if group == "law" else code for code, group in zip(rows[1], GROUPS, strict=True)
    ]
    return rows


@pytest.mark.parametrize(
    ("change", "groups", "error", "message"),
    [
        (np.ndarray.tolist, ["law"] * 120, LabelError, "one label only"),
        (np.ndarray.tolist, ["law"] * 115 + ["art"] * 5, ShapeError, "'art'"),
        (constant, GROUPS, CodeError, "1 have only one answer in group 'law'"),
        (unanswered, GROUPS, ShapeError, "items without answers in group 'law': 1"),
    ],
)
def test_bad_input(change, groups, error, message):
    with pytest.raises(error, match=message):
        polychoric_by_group(change(table()), groups)
