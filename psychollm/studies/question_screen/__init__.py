"""Which questions are hard, dead, against the rest, or redundant."""
