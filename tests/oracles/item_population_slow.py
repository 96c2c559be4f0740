"""Slow twin of one round of `psychollm.irt.item_population`: loops over respondents, nodes, items.

Items are 2PL, in the coordinates arsinh(a / kappa) and d / sqrt(a^2 + kappa^2).
"""

import math

import numpy as np


def parameters(place, kappa):
    a = kappa * math.sinh(place[0])
    return a, place[1] * math.sqrt(a * a + kappa * kappa)


def log_chance(answer, place, theta, kappa):
    a, d = parameters(place, kappa)
    z = a * theta + d
    return -math.log1p(math.exp(-z if answer else z))


def around(mean, covariance):
    """Pairs of places about the mean, along the columns of the Cholesky factor."""
    root = np.linalg.cholesky(covariance)
    q = len(mean)
    return [mean + side * math.sqrt(q) * root[:, k] for k in range(q) for side in (1, -1)], root


def posteriors(rows, means, covariances, kappa, nodes, log_weights):
    """Weights of the nodes for each respondent, log chances averaged over places of each item."""
    table = []
    for row in rows:
        logs = list(log_weights)
        for j, answer in enumerate(row):
            places, _ = around(means[j], covariances[j])
            for n, theta in enumerate(nodes):
                chances = [log_chance(answer, place, theta, kappa) for place in places]
                logs[n] += sum(chances) / len(chances)
        weights = np.exp(np.array(logs) - max(logs))
        table.append(weights / weights.sum())
    return table


def gradient(answers, weights, nodes, place, kappa, step=1e-5):
    """Central differences of an item's expected log-likelihood by its coordinates."""

    def height(at):
        return sum(
            w * log_chance(answer, at, theta, kappa)
            for answer, row in zip(answers, weights, strict=True)
            for w, theta in zip(row, nodes, strict=True)
        )

    moves = step * np.eye(len(place))
    return np.array([(height(place + h) - height(place - h)) / (2 * step) for h in moves])


def updated(answers, weights, nodes, item, population, kappa, damping, last, stride):
    """New mean, covariance and stride of one item, given its own and those of all."""
    (mean, covariance), (centre, spread, own_weight) = item, population
    places, root = around(mean, covariance)
    slopes = [gradient(answers, weights, nodes, place, kappa) for place in places]
    q = len(mean)
    # E[Hessian] root, by Price's theorem from differences along each column
    bend = np.column_stack(
        [(slopes[2 * k + 1] - slopes[2 * k]) / (2 * math.sqrt(q)) for k in range(q)]
    )
    bend = root.T @ bend
    values, vectors = np.linalg.eigh((bend + bend.T) / 2)
    known = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    prior = np.linalg.inv(spread) * own_weight
    share = (1 - damping) * stride
    precision = share * (known + root.T @ prior @ root) + (1 - share) * np.eye(q)
    new = root @ np.linalg.inv(precision) @ root.T
    step = new @ (np.mean(slopes, axis=0) - prior @ (mean - centre))
    step = step * min(1.0, 1.0 / np.abs(step).max())
    # a secant of two steps, where the last one was longer than a fiftieth of a standard error
    length = last @ np.linalg.inv(new) @ last
    alike = step @ np.linalg.inv(new) @ last / length if length > 0.02**2 else 0.0
    stride = min(max(stride / (1 - min(alike, 0.2)), 0.1), 1.0)
    return mean + stride * step, new, stride
