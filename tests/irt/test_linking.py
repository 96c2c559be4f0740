"""Two scales become one."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.irt.fit import fit_irt
from psychollm.irt.linking import link_scales


@pytest.mark.parametrize("method", ["stocking_lord", "haebara", "mean_sigma", "mean_mean"])
@pytest.mark.parametrize("model", ["2pl", "rasch", "3pl"])
def test_linking_recovers_a_known_change_of_scale(method, model, simulated):
    answers = simulated(800, np.linspace(0.8, 1.6, 8), np.linspace(-1, 1, 8), 9)
    fit = fit_irt(answers, model=model)
    moved = fit.family.rescaled(fit.parameters, 0.7, 1.5)  # ability_1 = 0.7 + 1.5 ability_2
    from dataclasses import replace

    other = replace(fit, parameters=moved)
    result = link_scales(fit, other, method=method)
    sd = fit.ability_sd
    np.testing.assert_allclose([result.scale, result.shift], [1.5, 0.7 * sd], atol=1e-5)
    assert result.rmsd < 1e-6
    np.testing.assert_allclose(result.moved([0.0, 1.0]), [0.7 * sd, 0.7 * sd + 1.5], atol=1e-5)


def test_linking_matches_items_by_label(simulated):
    slopes, intercepts = np.full(12, 1.3), np.linspace(-1.5, 1.5, 12)
    names = [f"q{j}" for j in range(12)]
    one = Responses(simulated(2000, slopes, intercepts, 10), questions=names)
    harder = simulated(2000, slopes, intercepts + 1.3 * 0.8, 11)  # abler by 0.8
    two = Responses(harder, questions=names)
    first = fit_irt(one.select(questions=names[:8]))
    second = fit_irt(two.select(questions=names[4:]))
    result = link_scales(first, second)
    assert result.labels == ("q4", "q5", "q6", "q7")
    assert abs(result.shift - 0.8) < 0.2
    assert abs(result.scale - 1.0) < 0.2
    assert result.to_frame().shape == (4, 2)
    with pytest.raises(ShapeError, match="share 1 items"):
        link_scales(first, fit_irt(two.select(questions=names[7:])))
    with pytest.raises(OptionError, match="only fits of the same model"):
        link_scales(first, fit_irt(two, model="1pl"))
