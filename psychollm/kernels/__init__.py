"""Compiled kernels (layer 1), which import only Numba, NumPy and math, and use plain arrays."""
