"""Floor 2: what an estimate is made of: value, standard error, interval, n, and its flags."""

from psychollm._base.multiplicity import adjust_p_values
from psychollm.estimates.difference import Difference
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.proportions import paired_difference, proportion, wilson
from psychollm.estimates.reasons import Reason

__all__ = [
    "Difference",
    "Estimate",
    "Reason",
    "adjust_p_values",
    "paired_difference",
    "proportion",
    "wilson",
]
