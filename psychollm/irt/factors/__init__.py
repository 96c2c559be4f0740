"""Logistic factor models of tables with missing data."""
