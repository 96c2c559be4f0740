"""Slow twins of the semantic metrics: counters and dictionaries, definitions by the letter."""

import math
from collections import Counter

import numpy as np


def modal(classes):
    """Share of the most frequent class, and the classes that have it."""
    counts = Counter(classes)
    largest = max(counts.values())
    return largest / len(classes), [k for k, n in counts.items() if n == largest]


def expected_correctness(classes, right):
    """The answer is one of the tied classes; a class is right as often as its samples."""
    _, tied = modal(classes)
    chance = [np.mean([r for c, r in zip(classes, right, strict=True) if c == k]) for k in tied]
    return float(np.mean(chance))


def pairs_alike(classes):
    alike = [a == b for i, a in enumerate(classes) for j, b in enumerate(classes) if i != j]
    return float(np.mean(alike))


def first_half_then_second(classes, order, ties):
    """Share in the second half of `order` of the class chosen in the first.

    Ties: the class that appears first in `classes`, or the mean over the tied classes.
    """
    half = len(order) // 2
    first, second = [classes[i] for i in order[:half]], [classes[i] for i in order[half:]]
    _, tied = modal(first)
    if ties == "appearance":
        tied = [min(tied, key=list(classes).index)]
    return float(np.mean([second.count(k) / len(second) for k in tied]))


def split_sample_exact(classes):
    """The expectation over all equally likely halves, by listing them."""
    from itertools import combinations

    n = len(classes)
    shares = []
    for chosen in combinations(range(n), n // 2):
        order = [*chosen, *(i for i in range(n) if i not in chosen)]
        shares.append(first_half_then_second(classes, order, "mean"))
    return float(np.mean(shares))


def entropy(classes):
    n = len(classes)
    return -sum(c / n * math.log(c / n) for c in Counter(classes).values())


def class_likelihoods(classes, loglik):
    mass = Counter()
    for label, value in zip(classes, loglik, strict=True):
        mass[label] += math.exp(value)
    total = sum(mass.values())
    return {label: value / total for label, value in mass.items()}


def likelihood_entropy(classes, loglik):
    return -sum(p * math.log(p) for p in class_likelihoods(classes, loglik).values())


def monte_carlo_entropy(classes, loglik):
    p = class_likelihoods(classes, loglik)
    return -float(np.mean([math.log(p[label]) for label in classes]))
