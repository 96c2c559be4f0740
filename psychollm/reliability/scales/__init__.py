"""Scale scores: alpha and related coefficients, split halves and item statistics."""
