"""Benchmarks for airspeed velocity, one file per subject: speed, memory and accuracy.

``asv run --python=same --quick --dry-run`` times the working tree. Set ``PSYCHOLLM_BENCH=large``
for the sizes that take minutes. Compilation happens in ``setup`` and is not timed.
"""
