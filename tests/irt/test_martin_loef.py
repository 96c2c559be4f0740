"""The test of Martin-Löf: the twin, and two abilities told from one."""

import numpy as np

from psychollm.irt.conditional.martin_loef import martin_loef_test
from psychollm.irt.conditional.rasch import conditional_rasch
from tests.oracles import conditional_slow


def test_martin_loef_by_the_twin(simulated):
    answers = simulated(70, np.ones(5), [0.8, 0.2, 0.0, -0.2, -0.8], 5)
    test = martin_loef_test(answers, [0, 1])
    lists = answers.tolist()
    one = np.empty(5)
    one[:2] = -conditional_rasch(answers[:, :2]).difficulty
    one[2:] = -conditional_rasch(answers[:, 2:]).difficulty
    null = -conditional_rasch(answers).difficulty
    expected = 2 * (
        conditional_slow.joint_log_likelihood(lists, [0, 1], one)
        - conditional_slow.null_log_likelihood(lists, null)
    )
    np.testing.assert_allclose(test.statistic, expected, atol=1e-8)
    assert test.df == 5
    assert test.second == (2, 3, 4)
    assert next(iter(test.to_frame())) == "statistic"


def test_martin_loef_tells_two_abilities_from_one(simulated):
    one = simulated(1500, np.ones(3), np.zeros(3), 1)
    two = simulated(1500, np.ones(3), np.zeros(3), 2)
    assert martin_loef_test(np.column_stack([one, two]), [0, 1, 2]).p_value < 1e-6
    same = simulated(1500, np.ones(6), np.zeros(6), 4)
    assert martin_loef_test(same, [0, 1, 2]).p_value > 0.01
    assert "p-value is unreliable" in martin_loef_test(same[:30], [0, 1, 2]).summary()
