"""Means of questions: clustered errors, differences, power."""
