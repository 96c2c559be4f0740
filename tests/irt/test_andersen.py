"""Andersen's test: the twin, an item that moves, groups that answer alike."""

import numpy as np
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.irt.conditional.andersen import andersen_test
from psychollm.irt.conditional.rasch import conditional_rasch
from tests.irt.test_rasch import ERM, gaps
from tests.oracles import conditional_slow


def test_andersen_by_the_twin(simulated):
    answers = simulated(80, np.ones(4), [0.8, 0.2, -0.2, -0.8], 5)
    group = np.arange(80) % 3
    test = andersen_test(answers, split=group)

    def highest(rows):
        fit = conditional_rasch(rows)
        return conditional_slow.log_likelihood(rows.tolist(), -fit.difficulty)

    parts = [answers[group == g] for g in range(3)]
    expected = 2 * (sum(map(highest, parts)) - highest(answers))
    np.testing.assert_allclose(test.statistic, expected, atol=1e-8)
    assert test.df == 6
    assert test.groups == (0, 1, 2)
    assert test.group_sizes.tolist() == [27, 27, 26]
    without = andersen_test(answers, split=np.where(group == 2, np.nan, group))
    assert without.groups == (0.0, 1.0)
    assert without.group_sizes.tolist() == [27, 27]
    named = andersen_test(answers, split=[None if g == 2 else "ab"[g] for g in group])
    np.testing.assert_allclose(named.statistic, without.statistic)
    two = andersen_test(answers, split=group > 0)
    d, s = two.difficulty, two.se
    z = (d[0] - d[1]) / np.hypot(s[0], s[1])
    np.testing.assert_allclose(two.wald, z**2)
    assert list(two.to_frame())[:3] == ["item", "difficulty_False", "se_False"]


def test_andersen_finds_an_item_that_moves(simulated):
    steep = simulated(1500, [1, 1, 1, 1, 1, 3.5], np.zeros(6), 6)
    found = andersen_test(steep)
    assert found.p_value < 1e-4
    assert np.nanargmin(found.adjusted) == 5
    assert "differ (Holm, 5 %): " in found.summary()
    assert andersen_test(steep, split="mean").p_value < 1e-4
    fair = andersen_test(gaps(simulated(1500, np.ones(6), np.zeros(6), 7)))
    assert fair.p_value > 0.01
    assert "no item differs" in fair.summary()


def test_andersen_leaves_out_items_that_a_group_answers_alike(simulated):
    answers = simulated(300, np.ones(5), np.zeros(5), 8)
    group = np.arange(300) % 2
    answers[group == 1, 2] = 1
    test = andersen_test(answers, split=group)
    assert test.df == 3
    assert test.reasons[2] is Reason.UNBOUNDED
    assert np.isnan(test.wald[2])


@pytest.mark.parametrize("name", ERM)
def test_lsat_fits_the_rasch_model(name, data_of):
    """Andersen's test by score passes LSAT6, but not LSAT7, whose slopes run from 0.7 to 1.7."""
    test = andersen_test(data_of(name[-5:]))
    assert (test.p_value > 0.05) == (name == "eRm_RM_lsat6")
