"""Rasch models by conditional maximum likelihood, without a distribution of abilities."""
