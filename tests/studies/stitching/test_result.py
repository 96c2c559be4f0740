"""Predictions of models in the table and of others."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.studies.stitching.result import StitchedBenchmarks


def test_predictions_of_both_kinds(found: StitchedBenchmarks) -> None:
    inside = found.predict("m1")
    assert inside.columns.tolist() == ["benchmark", "value", "lower", "upper"]
    assert sorted(inside["benchmark"]) == sorted(f"b{i}" for i in range(10))
    new = found.predict("new", given={"b1": 0.7, "b2": 0.6, "b3": 0.5}, level=0.5)
    wide = found.predict("new", given={"b1": 0.7, "b2": 0.6, "b3": 0.5}, level=0.9)
    for told in (inside, new, wide):
        assert (told["lower"] <= told["value"]).all()
        assert (told["value"] <= told["upper"]).all()
        assert told["lower"].ge(0).all()
        assert told["upper"].le(1).all()
    assert (wide["upper"] - wide["lower"] > new["upper"] - new["lower"]).all()
    pd.testing.assert_frame_equal(
        wide, found.predict("new", given={"b1": 0.7, "b2": 0.6, "b3": 0.5})
    )
    better = found.predict("new", given={"b1": 0.9, "b2": 0.9, "b3": 0.9})
    assert (better["value"] > wide["value"]).all()


def test_unknown_names_are_refused(found: StitchedBenchmarks) -> None:
    with pytest.raises(LabelError, match="model 'other' is not in the table: pass given"):
        found.predict("other")
    with pytest.raises(LabelError, match="unknown benchmark 'nine'"):
        found.predict("other", given={"nine": 0.5})
    with pytest.raises(
        CodeError, match=r"given: benchmark 'b1' has 71.*divide percentages by 100"
    ):
        found.predict("other", given={"b1": 71})
    with pytest.raises(OptionError, match="given has no score"):
        found.predict("other", given={"b1": np.nan})
