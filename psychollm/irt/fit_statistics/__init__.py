"""Fit statistics of items, respondents, pairs and the whole model."""
