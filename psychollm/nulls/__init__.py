"""Floor 3: what a statistic looks like where there is nothing to find, or exactly one factor."""

from psychollm._base.entry import entries
from psychollm.estimates.null import Mixing, Null
from psychollm.nulls.one_factor import one_factor_null
from psychollm.nulls.permutation import permutation_null

__all__ = ["Mixing", "Null", "one_factor_null", "permutation_null"]

entries(globals())
