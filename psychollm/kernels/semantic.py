r"""Classes of sampled answers: their frequencies and the entropy of the answer.

Of M sampled answers to one question, :math:`n_k` are in class k. With log-likelihoods
:math:`\ell_i`,

.. math:: \hat p_k = n_k / M,  \qquad
          \tilde p_k = \sum_{i \in k} e^{\ell_i} \Big/ \sum_i e^{\ell_i},                 \quad (1)

.. math:: H = -\sum_k \hat p_k \ln \hat p_k, \quad
          \tilde H = -\sum_k \tilde p_k \ln \tilde p_k, \quad
          H_{MC} = -\frac1M \sum_i \ln \tilde p_{k(i)}.                                   \quad (2)

The largest proportion overestimates the probability of its class. To avoid bias, the samples are
split into two halves: the most frequent class is determined in one half, and its proportion is
computed in the other half. Tied classes have equal weight.

References
----------
Farquhar, S., Kossen, J., Kuhn, L., & Gal, Y. (2024). Detecting hallucinations in large language
models using semantic entropy. Nature, 630, 625-630. https://doi.org/10.1038/s41586-024-07421-0
"""

import math

import numpy as np
from numpy.typing import NDArray

from psychollm._base.types import FloatArray, IntArray, WordArray
from psychollm.kernels._jit import njit
from psychollm.kernels.random import below, seed_stream


@njit
def number_by_appearance(labels: IntArray, codes: NDArray[np.int32]) -> None:
    """Fill `codes` (rows, samples) with classes, numbered by first occurrence in each row."""
    # A negative label is a missing sample and stays -1.
    for row in range(labels.shape[0]):
        known = 0
        for i in range(labels.shape[1]):
            codes[row, i] = -1
            if labels[row, i] < 0:
                continue
            for j in range(i):
                if labels[row, j] == labels[row, i]:
                    codes[row, i] = codes[row, j]
                    break
            if codes[row, i] < 0:
                codes[row, i] = known
                known += 1


@njit
def _count(codes, counts):
    """Fill `counts` with the size of each class of one row; return samples and classes."""
    counts[:] = 0.0
    n, classes = 0, 0
    for code in codes:
        if code >= 0:
            counts[code] += 1.0
            n += 1
            classes = max(classes, code + 1)
    return n, classes


@njit
def modal_classes(codes: NDArray[np.int32], right: FloatArray, out: FloatArray) -> None:
    """Fill `out` (rows, 7) with statistics of the classes of each row's samples."""
    # The columns are: the largest proportion; the probability that its class is right; the numbers
    # of samples, of classes, and of classes tied for the largest; the proportion of right samples;
    # and the proportion of pairs of samples in the same class. Tied largest classes are equally
    # likely to be the answer; a class is right with the mean probability of its samples.
    counts, hits = np.empty(codes.shape[1]), np.empty(codes.shape[1])
    for row in range(codes.shape[0]):
        n, classes = _count(codes[row], counts)
        out[row, 2], out[row, 3] = n, classes
        out[row, 0] = out[row, 1] = out[row, 5] = out[row, 6] = np.nan
        out[row, 4] = 0.0
        if n == 0:
            continue
        hits[:] = 0.0
        for i in range(codes.shape[1]):
            if codes[row, i] >= 0:
                hits[codes[row, i]] += right[row, i]
        largest = 0.0
        for k in range(classes):
            largest = max(largest, counts[k])
        chance, ties = 0.0, 0
        for k in range(classes):
            if counts[k] == largest:
                chance += hits[k] / counts[k]
                ties += 1
        out[row, 0], out[row, 1], out[row, 4] = largest / n, chance / ties, ties
        out[row, 5] = hits[:classes].sum() / n
        if n > 1:
            out[row, 6] = (counts[:classes] * (counts[:classes] - 1.0)).sum() / (n * (n - 1.0))


@njit
def _share_in_other_half(codes, order, n, counts, others):
    """Return the proportion, in the second half, of the first half's most frequent class."""
    counts[:] = 0.0
    others[:] = 0.0
    half = n // 2
    for i in range(n):
        if i < half:
            counts[codes[order[i]]] += 1.0
        else:
            others[codes[order[i]]] += 1.0
    largest = 0.0
    for k in range(counts.size):
        largest = max(largest, counts[k])
    total, ties = 0.0, 0
    for k in range(counts.size):
        if counts[k] == largest:
            total += others[k]
            ties += 1
    return total / (ties * (n - half))


@njit
def split_shares(codes: NDArray[np.int32], seeds: WordArray, splits: int, out: FloatArray) -> None:
    """Fill `out` (rows,): for the class chosen in one half, its proportion in the other half."""
    # The mean is NaN with fewer than two samples. Each row has its own random stream, seeded by
    # two words.
    size = codes.shape[1]
    counts, others = np.empty(size), np.empty(size)
    order = np.empty(size, dtype=np.int64)
    for row in range(codes.shape[0]):
        state = seed_stream(seeds[row])
        n = 0
        for i in range(size):
            if codes[row, i] >= 0:
                order[n] = i
                n += 1
        if n < 2:
            out[row] = np.nan
            continue
        total = 0.0
        for _ in range(splits):
            for i in range(n - 1, 0, -1):
                j = below(state, i + 1)
                order[i], order[j] = order[j], order[i]
            total += _share_in_other_half(codes[row], order, n, counts, others)
        out[row] = total / splits


@njit
def discrete_entropies(codes: NDArray[np.int32], out: FloatArray) -> None:
    """Fill `out` (rows, 3): entropy H in nats, and numbers of samples and classes."""
    counts = np.empty(codes.shape[1])
    for row in range(codes.shape[0]):
        n, classes = _count(codes[row], counts)
        out[row, 0], out[row, 1], out[row, 2] = np.nan, n, classes
        if n == 0:
            continue
        entropy = 0.0
        for k in range(classes):
            entropy -= counts[k] / n * math.log(counts[k] / n)
        out[row, 0] = entropy + 0.0


@njit
def likelihood_entropies(codes: NDArray[np.int32], loglik: FloatArray, out: FloatArray) -> None:
    """Fill `out` (rows, 3): entropies by equation (2), and mean negative log-likelihood."""
    # Samples without a log-likelihood are left out; entropies are NaN where none remains.
    size = codes.shape[1]
    weight = np.empty(size)
    for row in range(codes.shape[0]):
        top, n, surprise = -math.inf, 0, 0.0
        for i in range(size):
            if codes[row, i] >= 0 and not math.isnan(loglik[row, i]):
                top = max(top, loglik[row, i])
                surprise -= loglik[row, i]
                n += 1
        if n == 0:
            out[row] = np.nan
            continue
        weight[:] = 0.0
        total = 0.0
        for i in range(size):
            if codes[row, i] >= 0 and not math.isnan(loglik[row, i]):
                mass = math.exp(loglik[row, i] - top)
                weight[codes[row, i]] += mass
                total += mass
        exact, sampled = 0.0, 0.0
        for k in range(size):
            if weight[k] > 0.0:
                exact -= weight[k] / total * math.log(weight[k] / total)
        for i in range(size):
            if codes[row, i] >= 0 and not math.isnan(loglik[row, i]):
                sampled -= math.log(weight[codes[row, i]] / total)
        out[row, 0], out[row, 1], out[row, 2] = exact + 0.0, sampled / n + 0.0, surprise / n
