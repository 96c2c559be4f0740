"""One factor of binary answers without a correlation matrix: fits, scores, residual tests."""
