"""Floor 0: types, errors, checks, results, convergence, optional packages, progress, replication."""
