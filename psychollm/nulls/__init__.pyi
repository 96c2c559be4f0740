from psychollm.estimates.null import Mixing as Mixing
from psychollm.estimates.null import Null as Null
from psychollm.nulls.one_factor import one_factor_null as one_factor_null
from psychollm.nulls.permutation import permutation_null as permutation_null
