"""Ways to make a matrix of correlations positive semidefinite: one file per way.

Each takes a symmetric matrix with unit diagonal and returns a `Repair`. They check nothing: the
door is `psychollm.correlation.smoothing.smooth`.
"""
