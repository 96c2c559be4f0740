"""Scores in many benchmarks on one scale: abilities, difficulties, predictions, forecasts."""
