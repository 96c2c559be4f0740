"""Estimate human scores from a judge's verdicts on all answers and human labels of some."""
