"""The marginal likelihood of a 2PL, one respondent and one node at a time."""

import math


def curve(z, link):
    """Return the probability of yes."""
    if link == "logit":
        return 1.0 / (1.0 + math.exp(-z))
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def marginal(rows, family, slope, intercept, mean, nodes, weights, link):
    """Return the log-likelihood of each respondent; answers are 0, 1 or -1 (missing)."""
    found = []
    for row, group in zip(rows, family, strict=True):
        total = 0.0
        for node, weight in zip(nodes, weights, strict=True):
            product = weight
            for answer, a, d in zip(row, slope, intercept, strict=True):
                p = curve(a * (node + mean[group]) + d, link)
                product *= {1: p, 0: 1.0 - p, -1: 1.0}[int(answer)]
            total += product
        found.append(math.log(total))
    return found


def posterior_moments(row, shift, slope, intercept, nodes, weights, link):
    """Return mean and variance of one ability given the answers and the items."""
    density = []
    for node, weight in zip(nodes, weights, strict=True):
        product = weight
        for answer, a, d in zip(row, slope, intercept, strict=True):
            p = curve(a * (node + shift) + d, link)
            product *= {1: p, 0: 1.0 - p, -1: 1.0}[int(answer)]
        density.append(product)
    total = sum(density)
    mean = sum(q * (x + shift) for q, x in zip(density, nodes, strict=True)) / total
    second = sum(q * (x + shift) ** 2 for q, x in zip(density, nodes, strict=True)) / total
    return mean, second - mean**2
