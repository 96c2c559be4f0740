"""Coverage of the intervals of `psychollm.reliability` and of meta-d'."""

from validation.coverage_agreement import CASES as AGREEMENT
from validation.coverage_designs import CASES as DESIGNS
from validation.coverage_differences import CASES as DIFFERENCES
from validation.coverage_items import CASES as ITEMS
from validation.coverage_omega import CASES as OMEGA
from validation.coverage_scales import CASES as SCALES

CASES = [*AGREEMENT, *SCALES, *ITEMS, *OMEGA, *DESIGNS, *DIFFERENCES]
