"""Layer 1: compiled kernels; they import only Numba, NumPy and math, and pass plain arrays."""
