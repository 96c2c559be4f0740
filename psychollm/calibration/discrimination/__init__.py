"""Discrimination: association of confidence with correctness."""
