"""Panels that compute all metrics for all models."""
