"""Lowest layer: types, errors, checks, results, convergence, options, progress, replication."""
