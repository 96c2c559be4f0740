"""Parameters of models of groups: their names."""

import numpy as np

from psychollm.factor.invariance.model import Shape, parameter_names


def test_names_of_parameters():
    shape = Shape.of(np.ones((1, 1), dtype=bool), np.array([2]))
    names = parameter_names(shape, ["a"], ["F"])
    assert names[:3] == [("threshold", "a", 1), ("threshold", "a", 2), ("intercept", "a", "")]
    assert len(names) == shape.size
