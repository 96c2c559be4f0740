"""Prediction of missing answers, evaluated on held-out answers."""
