"""Estimate time horizons of models, over all tasks and for a typical task."""
