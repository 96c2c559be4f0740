"""Fits that process answers in ranges, for sparse tables."""
