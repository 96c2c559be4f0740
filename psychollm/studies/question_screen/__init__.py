"""Screening for hard, zero-variance, negatively correlated and duplicate questions."""
