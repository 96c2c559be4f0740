"""Calibration errors, binned and smooth, with their expectation under calibration."""
