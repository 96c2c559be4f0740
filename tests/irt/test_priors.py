"""When priors are on, and what is said of them."""

import numpy as np

from psychollm.irt.fit import fit_irt
from psychollm.irt.models import default_priors
from psychollm.irt.priors import Priors
from tests.irt.test_item_population import drawn


def test_priors_are_on_for_few_respondents_and_said(simulated):
    answers = simulated(30, np.full(12, 1.0), np.zeros(12), 11)
    assert "Priors: estimated from 12 items: median slope" in fit_irt(answers).summary()
    assert "Abilities of these 30 models have mean 0 and SD 1" in fit_irt(answers).summary()
    assert str(fit_irt(np.tile(answers, (20, 1))).priors) == "none"
    weak = fit_irt(answers, priors=default_priors(["2pl"], "probit", 30), link="probit")
    assert str(weak.priors).startswith("slope ~ N(0.588235")
    assert "population of models" in weak.summary()


def test_fixed_priors_that_contradict_the_scale_are_named():
    _, _, _, answers = drawn(30, 300, 1)
    fit = fit_irt(answers, priors=Priors(slope=(1.0, 0.75), intercept=(0.0, 2.5)))
    assert fit.posterior_sd > 1.2
    assert "fixed priors conflict with this scale" in fit.summary()
    assert "conflict" not in fit_irt(answers).summary()
