"""Fits of replicated answers: what a statistic would be if the model held, or if nothing did."""
