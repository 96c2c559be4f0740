"""Which model is better, and which cannot be told apart: scores on the same questions."""
