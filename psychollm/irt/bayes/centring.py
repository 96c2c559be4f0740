r"""How far the items of a hierarchy are centred, so that a sampler meets no funnel.

A value x of mean m and standard deviation s within its group is written as

.. math:: u \sim N(c\,m,\ s^{c}), \qquad x = m + s^{1 - c}\,(u - c\,m),                 \quad (1)

centred at c = 1, not at c = 0 (Papaspiliopoulos, Roberts & Skold, 2007). Where data know x to a
standard error e, :math:`c = s^2 / (s^2 + e^2)` leaves u and s almost independent; s and e are
taken at the mode. Of slopes, whose s may well be near zero, the fourth power is taken. Means of
domains and families are not centred: they are too few for their s to stay away from zero.

References
----------
Papaspiliopoulos, O., Roberts, G. O., & Skold, M. (2007). A general framework for the
parametrization of hierarchical models. Statistical Science, 22(1), 59-73.
https://doi.org/10.1214/088342307000000014
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.bayes.laplace import Mode
from psychollm.irt.bayes.target import Target

LEAST = 1e-8
CAUTION = {"slope": 4, "intercept": 1}  # powers of c


def centring(target: Target, mode: Mode) -> dict[str, FloatArray]:
    """Return c of (1) for slopes and intercepts of items in domains, by name."""
    if target.domains.n < 2:
        return {}
    variance = target.structure.sd(mode.h)[: 2 * target.n_items] ** 2
    noise = 1.0 / np.maximum(_rough_information(target, mode.x), LEAST)
    share = (variance / (variance + noise)).reshape(2, -1)
    return {name: row**power for row, (name, power) in zip(share, CAUTION.items(), strict=True)}


def _rough_information(target: Target, x: FloatArray) -> FloatArray:
    """Return about what the data know of each slope and intercept by itself (2J,)."""
    codes, frequency = target.answers.codes, target.answers.data[4]
    yes, answered = frequency @ (codes == 1) + 0.5, frequency @ (codes >= 0) + 1.0
    steep = 1.0 if target.link == "logit" else 2.9  # information of a probit at one half
    known = steep * yes * (answered - yes) / answered
    slope = target.split(x[None])[0][0]
    by_slope = 0.5 * known * (slope**2 if target.priors.positive else 1.0)
    return np.concatenate([by_slope, known])
