"""Selective prediction: risk-coverage curves and abstention."""
