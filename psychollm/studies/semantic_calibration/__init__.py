"""Calibration in meaning: whether an answer is as often right as it is sampled."""
