"""Answering selectively: risk over coverage, abstention."""
