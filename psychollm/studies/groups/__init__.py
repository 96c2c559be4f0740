"""Panels and comparisons for each group of questions or models, and how the groups differ."""
