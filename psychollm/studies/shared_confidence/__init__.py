"""Shared confidence: one signal or several, and what a model's own adds."""
