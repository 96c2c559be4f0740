"""Mean scores: clustered standard errors, differences and power."""
