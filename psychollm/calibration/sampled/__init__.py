"""Confidence from many samples of an answer, or from probabilities inside a model."""
