"""Slow twin of the pair counts: loops over questions, one at a time."""

import numpy as np


def count(codes, missing, weights=None):
    k, n = codes.shape
    w = np.ones(n) if weights is None else np.asarray(weights) * n / np.sum(weights)
    joint, yes, both = np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            for q in range(n):
                if missing[i, q] or missing[j, q]:
                    continue
                both[i, j] += w[q]
                yes[i, j] += w[q] * codes[i, q]
                joint[i, j] += w[q] * codes[i, q] * codes[j, q]
    return joint, yes, both
