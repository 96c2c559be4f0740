"""Probability of at least one success in several attempts, and of success in all attempts."""
