"""One factor of yes/no answers, without a correlation matrix: fits, scores, residual tests."""
