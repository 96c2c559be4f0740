"""Layer 0: types, errors, checks, results, convergence, options, progress, replication."""
