"""Methods that make a correlation matrix positive semidefinite, one per file.

Each takes a symmetric matrix with unit diagonal and returns a `Repair`. Arguments are checked by
the entry point, `psychollm.correlation.smoothing.smooth`.
"""
