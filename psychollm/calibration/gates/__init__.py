"""Thresholds of confidence above which a model may answer alone."""
