"""Layer 1: compiled kernels. Numba, NumPy and math only; arrays in, arrays out."""
