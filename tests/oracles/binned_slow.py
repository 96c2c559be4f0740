"""Slow, obvious twins of binned and smooth calibration errors: definitions by the letter."""

import itertools
import math
from fractions import Fraction

import numpy as np


def exact(confidence):
    """The decimal that was meant, as a fraction: six digits are more than anyone states."""
    return Fraction(round(float(confidence) * 10**6), 10**6)


def width_bin(confidence, n_bins, closed):
    """The bin of equal width, by exact comparison with edges k / n_bins."""
    f = exact(confidence)
    for b in range(n_bins):
        low, high = Fraction(b, n_bins), Fraction(b + 1, n_bins)
        if closed == "right" and (low < f <= high or (b == 0 and f == 0)):
            return b
        if closed == "left" and (low <= f < high or (b == n_bins - 1 and f == 1)):
            return b
    raise AssertionError(confidence)


def mass_bins(confidences, n_bins, closed):
    """Bins of equal mass for each answer; all answers with one confidence share one."""
    n = len(confidences)
    order = sorted(range(n), key=lambda i: confidences[i])
    own = [0] * n
    for rank, i in enumerate(order):
        own[i] = rank * n_bins // n  # as if there were no ties
    choose = min if closed == "right" else max
    if closed == "left":
        for rank, i in enumerate(order):
            own[i] = -(-(rank + 1) * n_bins // n) - 1
    return [choose(own[j] for j in range(n) if confidences[j] == f) for f in confidences]


def discrete_bins(confidences):
    """One bin per confidence."""
    values = sorted(set(confidences))
    return [values.index(f) for f in confidences]


def errors(confidences, correct, bins):
    """ECE, RMSCE, MCE, ACE and the debiased RMSCE of answers put into bins."""
    n = len(confidences)
    weighted, squares, debiased, gaps = 0.0, 0.0, 0.0, []
    for b in sorted(set(bins)):
        inside = [i for i in range(n) if bins[i] == b]
        size = len(inside)
        accuracy = sum(correct[i] for i in inside) / size
        gap = accuracy - sum(confidences[i] for i in inside) / size
        gaps.append(abs(gap))
        weighted += size / n * abs(gap)
        squares += size / n * gap**2
        if size >= 2:
            debiased += size / n * (gap**2 - accuracy * (1 - accuracy) / (size - 1))
    return {
        "l1": weighted,
        "l2": math.sqrt(squares),
        "max": max(gaps),
        "average": sum(gaps) / len(gaps),
        "debiased": math.sqrt(max(0.0, debiased)),
    }


def swept_bins(confidences, correct, closed):
    """The largest number of mass bins up to which accuracy never falls, and the bins."""
    found = mass_bins(confidences, 1, closed)
    for n_bins in range(2, min(100, len(set(confidences)), len(confidences)) + 1):
        bins = mass_bins(confidences, n_bins, closed)
        accuracy = []
        for b in sorted(set(bins)):
            inside = [Fraction(int(correct[i])) for i in range(len(bins)) if bins[i] == b]
            accuracy.append(sum(inside) / len(inside))
        if any(late < early for early, late in itertools.pairwise(accuracy)):
            break
        found = bins
    return found


def expected_ece(confidences, bins):
    """E[ECE] of a calibrated model: the distribution of correct answers of each bin, exactly."""
    total = 0.0
    for b in set(bins):
        inside = [f for f, own in zip(confidences, bins, strict=True) if own == b]
        chance = [1.0]
        for f in inside:
            longer = [0.0] * (len(chance) + 1)
            for hits, p in enumerate(chance):
                longer[hits] += p * (1 - f)
                longer[hits + 1] += p * f
            chance = longer
        total += sum(p * abs(hits - sum(inside)) for hits, p in enumerate(chance))
    return total / len(confidences)


def reflected(t, f, sigma):
    """The Gaussian at t of an answer at f and of its mirror images at 0 and 1."""
    reach = range(-math.ceil(4 * sigma) - 1, math.ceil(4 * sigma) + 2)
    centres = [2 * m + sign * f for m in reach for sign in (1, -1)]
    scale = sigma * math.sqrt(2 * math.pi)
    return sum(np.exp(-0.5 * ((t - c) / sigma) ** 2) for c in centres) / scale


def smooth_parts(confidences, correct, sigma, t, weights=None):
    """Smoothed residual and density at t."""
    weights = np.ones(len(confidences)) if weights is None else weights
    residual, density = np.zeros(t.size), np.zeros(t.size)
    for f, y, w in zip(confidences, correct, weights, strict=True):
        kernel = w * reflected(t, f, sigma) / weights.sum()
        residual += kernel * (y - f)
        density += kernel
    return residual, density


def smooth_error(confidences, correct, sigma, points=4001):
    """The integral of the size of the smoothed residual, by the trapezoidal rule."""
    residual, _ = smooth_parts(confidences, correct, sigma, np.linspace(0, 1, points))
    size = np.abs(residual)
    return (size.sum() - 0.5 * (size[0] + size[-1])) / (points - 1)


def smooth_fixed_point(confidences, correct):
    """The bandwidth equal to its error, by bisection."""
    low, high = 1e-4, 1.0
    for _ in range(18):  # to 4e-6
        middle = 0.5 * (low + high)
        if smooth_error(confidences, correct, middle, 2001) > middle:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def relplot_smooth_error(confidences, correct, sigma):
    """smECE as relplot 1.0.3 sums it.

    On a mesh, both ends counted whole, with half the weight for answers at exactly 0 or 1, whose
    mirror image it leaves out.
    """
    t = np.linspace(0, 1, max(round(10 / sigma), 200))
    weights = np.where((confidences == 0) | (confidences == 1), 0.5, 1.0)
    residual, density = smooth_parts(confidences, correct, sigma, t, weights)
    return np.abs(residual).sum() / density.sum()


def netcal_bin(confidence, n_bins):
    """As netcal 1.4.0: left-closed, edges of ``np.linspace`` compared as they are rounded."""
    edges = np.linspace(0, 1, n_bins + 1)
    inside = np.clip(confidence, np.finfo(float).eps, 1 - np.finfo(float).eps)
    return int(np.searchsorted(edges, inside, side="right")) - 1


def torchmetrics_bin(confidence, n_bins):
    """As torchmetrics 1.9.0: left-closed, with one bin more for a confidence of exactly 1."""
    step = 1 / n_bins
    half = (n_bins + 1) // 2
    edges = [step * i if i < half else 1 - step * (n_bins - i) for i in range(n_bins + 1)]
    return int(np.searchsorted(edges, confidence, side="right")) - 1


def relplot_bin(confidence, n_bins):
    """As relplot 1.0.3: the whole part of a quotient of rounded numbers."""
    return int(confidence / (1.0 / n_bins))
