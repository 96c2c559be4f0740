"""Calibration errors, binned and smooth, beside what a calibrated model would show."""
