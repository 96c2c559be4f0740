"""Layer 1: compiled kernels, which import only Numba, NumPy and math, and use plain arrays."""
