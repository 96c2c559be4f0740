"""Panels and comparisons by group of questions or models, and differences between groups."""
