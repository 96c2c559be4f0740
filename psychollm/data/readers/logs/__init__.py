"""Readers of evaluation logs, one per format, which return runs and samples."""
