"""Inference boundary: recognition of the questions that the given rules can answer."""
