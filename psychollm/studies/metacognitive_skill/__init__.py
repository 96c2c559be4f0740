"""Metacognitive skill: what models do about their own thinking, and what it is worth."""
