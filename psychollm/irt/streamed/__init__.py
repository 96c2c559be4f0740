"""Fits that read their answers range by range, for tables kept by their filled cells."""
