"""Binned and smooth calibration errors, with their expectation under calibration."""
