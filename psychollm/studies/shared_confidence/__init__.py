"""Shared confidence: one common factor or several, and what a model's own confidence adds."""
