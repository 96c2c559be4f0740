"""Semantic calibration: comparison of the frequency of answers with their accuracy."""
