"""Methods that make a correlation matrix positive semidefinite.

Each method takes a symmetric matrix with unit diagonal and returns a `Repair`. The function
`psychollm.correlation.smoothing.smooth` checks the arguments.
"""
