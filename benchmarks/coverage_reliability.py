"""Coverage of the intervals of the reliability room, family by family."""

from benchmarks.coverage_agreement import CASES as AGREEMENT

CASES = [*AGREEMENT]
