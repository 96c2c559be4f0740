"""Compare models by their scores on the same questions."""
