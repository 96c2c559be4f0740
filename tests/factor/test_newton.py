"""Newton's method from gradients alone."""

import numpy as np

from psychollm.factor.newton import descend, second_derivatives


def test_descend_leaves_a_saddle_and_flat_directions():
    found = descend(
        lambda x: (0.25 * x[0] ** 4 - 0.5 * x[0] ** 2, np.array([x[0] ** 3 - x[0], 0])),
        np.array([0.01, 3.0]),
    )
    np.testing.assert_allclose(found.x, [1.0, 3.0], atol=1e-10)
    assert found.converged


def test_second_derivatives_of_a_bowl():
    second = second_derivatives(lambda x: (0.5 * float(x @ x), x), np.ones(2))
    np.testing.assert_array_equal(second.round(6), np.eye(2))
