"""Adjusted p-values against R, statsmodels and the definition."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError
from psychollm._base.multiplicity import adjust_p_values
from tests.oracles import calibration_slow as slow

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize("case", ["pvalues_a", "pvalues_b"])
@pytest.mark.parametrize(
    ("method", "name"),
    [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "BH"), ("by", "BY")],
)
def test_golden(golden, case, method, name):
    folder = golden / "metacognition"
    p = pd.read_csv(folder / f"{case}.csv")["p"].to_numpy()
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]
    np.testing.assert_allclose(
        adjust_p_values(p, method=method), block["values"][name], atol=block["tol"]
    )


@given(P_VALUES)
def test_holm_is_the_sequential_procedure(p):
    np.testing.assert_allclose(adjust_p_values(p), slow.holm(p), rtol=1e-12)


@given(P_VALUES, st.sampled_from(["holm", "bonferroni", "bh", "by"]))
def test_adjusting_keeps_the_order_and_lowers_nothing(p, method):
    adjusted = adjust_p_values(p, method=method)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= 1.0).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= -1e-15).all()


def test_what_was_not_tested_does_not_count():
    adjusted = adjust_p_values([[0.02, np.nan], [0.03, np.nan]])
    np.testing.assert_allclose(adjusted, [[0.04, np.nan], [0.04, np.nan]])
    assert adjust_p_values([]).shape == (0,)


def test_bad_input():
    with pytest.raises(OptionError, match="between 0 and 1"):
        adjust_p_values([0.5, 1.2])
    with pytest.raises(OptionError, match="'holm'"):
        adjust_p_values([0.5], method="hochberg")
