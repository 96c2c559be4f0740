"""Fits to sparse tables, whose answers are read in ranges of items."""
