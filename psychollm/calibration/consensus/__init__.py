"""Comparisons of a model with other models: privileged access, ensembles, disagreements."""
