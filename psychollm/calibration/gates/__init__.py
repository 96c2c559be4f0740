"""Confidence thresholds above which a model's answers are accepted without review."""
