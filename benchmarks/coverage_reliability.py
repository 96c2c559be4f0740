"""Coverage of the intervals of the reliability room and of meta-d'."""

from benchmarks.coverage_agreement import CASES as AGREEMENT
from benchmarks.coverage_scales import CASES as SCALES

CASES = [*AGREEMENT, *SCALES]
