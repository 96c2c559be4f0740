"""Conditions compared: rank tests and the mixed model."""
