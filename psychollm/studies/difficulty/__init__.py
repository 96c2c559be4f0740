"""Difficulty of questions from their text, and a gate that answers or abstains by it."""
