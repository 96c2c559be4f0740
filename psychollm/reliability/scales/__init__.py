"""Scale scores: alpha and related coefficients, split halves, item statistics."""
