"""Fits to replicated answers, which are simulated from the fitted model or shuffled."""
