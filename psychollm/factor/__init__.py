"""Floor 3: factor solutions, scores of questions, comparison of loadings."""
