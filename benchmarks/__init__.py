"""Benchmarks, one file per floor, for airspeed velocity: speed, memory, and accuracy beside them.

``asv run --python=same --quick --dry-run`` times the working tree. Set ``PSYCHOLLM_BENCH=large``
for the sizes that take minutes. Compilation happens in ``setup`` and is not timed.
"""
