"""Proper scores and their parts: what stated confidence is worth."""
