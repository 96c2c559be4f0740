"""Logistic factors of tables with gaps."""
