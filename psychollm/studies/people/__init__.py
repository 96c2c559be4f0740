"""Comparison of models with people who answered the same questions."""
