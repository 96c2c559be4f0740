"""Comparison of conditions by rank tests and a mixed model."""
