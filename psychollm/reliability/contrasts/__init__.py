"""Comparison of conditions: rank tests and the mixed model."""
