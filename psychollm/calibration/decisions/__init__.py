"""Confidence as a yes or no: confusion tables and what follows from them."""
