"""Shared confidence: number of common factors, and information in a model's own confidence."""
