"""The information of a test."""

import numpy as np
import pytest

from psychollm.irt.fit import fit_irt
from psychollm.irt.information import information
from tests.oracles import irt_slow


@pytest.mark.parametrize("model", ["rasch", "2pl", "4pl"])
def test_information_is_that_of_the_curves(model, simulated):
    fit = fit_irt(simulated(400, np.full(5, 1.3), np.linspace(-1, 1, 5), 7), model=model)
    at = np.array([-1.0, 0.0, 2.0])
    result = information(fit, abilities=at * fit.ability_sd)
    for j, item in enumerate(fit.parameters):
        expected = [irt_slow.information(item, t) / fit.ability_sd**2 for t in at]
        np.testing.assert_allclose(result.item[j], expected, rtol=1e-6)
        curve = [irt_slow.probability(item, t) for t in at]
        np.testing.assert_allclose(result.probability[j], curve, rtol=1e-10)
    np.testing.assert_allclose(result.se, result.test**-0.5)
    assert 0 < result.marginal_reliability < 1
