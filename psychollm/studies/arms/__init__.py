"""Comparison of the arms of an instrument, such as two forms of its prompts."""
