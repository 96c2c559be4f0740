"""One side of a logistic factor model by matrices, one row at a time."""

import numpy as np


def updated(values, precision, centre, other, mean, covariance):
    """Return the new posteriors of the rows: `other` is the mean and covariance of the columns."""
    columns, spreads = other
    means, covariances = [], []
    for i, row in enumerate(values):
        seen = np.flatnonzero(np.isfinite(row))
        total, pull = precision.copy(), precision @ centre[i]
        for j in seen:
            own = np.concatenate([[1.0], mean[i, 1:]])
            x = np.concatenate([[1.0], columns[j, 1:]])
            loose = spreads[j].copy()
            loose[0], loose[:, 0] = 0.0, 0.0  # the covariance of x, whose first entry is fixed
            eta = mean[i, 0] + columns[j, 0] + mean[i, 1:] @ columns[j, 1:]
            variance = (
                x @ covariance[i] @ x + own @ spreads[j] @ own + np.trace(covariance[i] @ loose)
            )
            xi = np.sqrt(eta**2 + variance)
            weight = (1.0 / (1.0 + np.exp(-xi)) - 0.5) / xi
            cross = np.concatenate([[0.0], spreads[j, 0, 1:]])
            total = total + weight * (np.outer(x, x) + loose)
            pull = pull + (row[j] - 0.5) * x - weight * (columns[j, 0] * x + cross)
        covariances.append(np.linalg.inv(total))
        means.append(covariances[-1] @ pull)
    return np.array(means), np.array(covariances)
