"""Panels: all metrics of all models."""
