"""Dimensionality: one factor or several."""
