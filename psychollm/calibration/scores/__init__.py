"""Proper scores of stated confidence and their components."""
