"""Abilities at which an answer becomes as likely as the next."""

import numpy as np
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.irt.fit import fit_irt
from psychollm.irt.thresholds import thresholds
from tests.oracles import irt_slow


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("model", ["rasch", "2pl", "3pl", "4pl"])
def test_thresholds_of_two_answers(model, link, simulated):
    table = simulated(400, np.full(5, 1.2), np.linspace(-1, 1, 5), 3).astype(float)
    table[:, 4] = 1.0
    fit = fit_irt(table, model=model, link=link)
    found = thresholds(fit)
    assert found.reasons[4] is Reason.PRIOR_ALONE
    if model in ("rasch", "2pl"):
        np.testing.assert_allclose(found.threshold[:, 0], fit.difficulty, atol=1e-12)
        np.testing.assert_allclose(found.se[:, 0], fit.se_difficulty, rtol=1e-8)
    for item, at in zip(fit.parameters[:4], found.threshold[:4, 0] / fit.ability_sd, strict=True):
        np.testing.assert_allclose(irt_slow.probability(item, at, link), 0.5, atol=1e-9)
    guessed = fit.parameters.copy()
    if model == "3pl":
        guessed[0, 2] = 1.0  # a lower asymptote of 0.73
        object.__setattr__(fit, "parameters", guessed)
        assert thresholds(fit).reasons[0] is Reason.NO_EVEN_ODDS
