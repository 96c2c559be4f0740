"""Confidence from repeated samples of an answer, or from a model's token probabilities."""
