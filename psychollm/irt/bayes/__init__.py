"""Bayesian 2PL: posterior, two samplers, and results."""
