"""Floor 2: what an estimate is made of: value, standard error, interval, n, and its flags."""

from psychollm._base.entry import entries
from psychollm._base.multiplicity import adjust_p_values
from psychollm.estimates.comparisons import Comparisons, MaxT, compare_all, max_t
from psychollm.estimates.contrasts import Contrast, contrast_arms
from psychollm.estimates.estimate import Difference, Estimate, proportion
from psychollm.estimates.findings import Finding, Findings
from psychollm.estimates.intervals import clopper_pearson, paired_difference, wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.repeated_share import repeated_difference, repeated_share
from psychollm.estimates.resampling import Bootstrap
from psychollm.estimates.verdict import Outcome, SmallestEffects, outcome

__all__ = [
    "Bootstrap",
    "Comparisons",
    "Contrast",
    "Difference",
    "Estimate",
    "Finding",
    "Findings",
    "MaxT",
    "Outcome",
    "Reason",
    "SmallestEffects",
    "adjust_p_values",
    "clopper_pearson",
    "compare_all",
    "contrast_arms",
    "max_t",
    "outcome",
    "paired_difference",
    "proportion",
    "repeated_difference",
    "repeated_share",
    "wilson",
]

entries(globals())
