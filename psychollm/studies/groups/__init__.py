"""Comparisons and calibration panels by group, and differences between groups."""
