"""Fit of single items, and the sum scores behind it."""

import numpy as np
import pytest

from psychollm.irt.fit_statistics.item_fit import (
    item_fit,
    score_distribution,
    with_item,
    without_each,
)
from tests.irt.test_fit import MIRT, fitted
from tests.irt.test_model_fit import tolerance
from tests.oracles import irt_slow


@pytest.mark.parametrize("name", MIRT)
def test_item_fit(name, mirt, data_of):
    row = mirt[name]["itemfit"]
    result = item_fit(fitted(mirt[name], data_of), data_of(mirt[name]["data"]))
    pairs = {"zh": "Zh", "infit": "infit", "outfit": "outfit", "s_x2": "S_X2", "df": "df.S_X2"}
    pairs |= {"z_infit": "z.infit", "z_outfit": "z.outfit", "p_value": "p.S_X2"}
    pairs |= {"rmsea": "RMSEA.S_X2"}
    for ours, theirs in pairs.items():
        np.testing.assert_allclose(
            getattr(result, ours), row[theirs], atol=tolerance(name), err_msg=ours
        )


def test_sum_scores_are_those_of_all_patterns():
    yes = np.array([0.2, 0.5, 0.9, 0.35])
    curves = np.stack([1 - yes, yes], axis=1)[:, :, None]
    full = score_distribution(curves)
    np.testing.assert_allclose(full[:, 0], irt_slow.sum_score_probabilities(yes))
    found = dict(without_each(curves))
    assert sorted(found) == [0, 1, 2, 3]
    for j, scores in found.items():
        rest = irt_slow.sum_score_probabilities(np.delete(yes, j))
        np.testing.assert_allclose(scores[:, 0], rest)


def test_sum_scores_with_one_item_more():
    one = with_item(np.ones((1, 1)), np.array([[0.75], [0.25]]))
    assert one.ravel().tolist() == [0.75, 0.25]
