"""Coverage of the intervals of the reliability room and of meta-d'."""

from benchmarks.coverage_agreement import CASES as AGREEMENT
from benchmarks.coverage_designs import CASES as DESIGNS
from benchmarks.coverage_differences import CASES as DIFFERENCES
from benchmarks.coverage_items import CASES as ITEMS
from benchmarks.coverage_omega import CASES as OMEGA
from benchmarks.coverage_scales import CASES as SCALES

CASES = [*AGREEMENT, *SCALES, *ITEMS, *OMEGA, *DESIGNS, *DIFFERENCES]
