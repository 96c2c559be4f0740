"""Slow twin of the full-information likelihood and of scores: adaptive quadrature per question."""

import numpy as np
from scipy import integrate, special


def likelihood_of(answers, loadings, thresholds, f):
    """Probability of one question's answers (k,) given its score f; NaN is missing."""
    p = special.ndtr((loadings * f - thresholds) / np.sqrt(1 - loadings**2))
    terms = np.where(answers == 1, p, 1 - p)
    return np.prod(terms[np.isfinite(answers)])


def moment(answers, loadings, thresholds, power):
    """Integral of f^power, likelihood and prior."""
    value, _ = integrate.quad(
        lambda f: (
            f**power
            * likelihood_of(answers, loadings, thresholds, f)
            * np.exp(-(f**2) / 2)
            / np.sqrt(2 * np.pi)
        ),
        -9,
        9,
        points=[0],
        epsabs=1e-13,
        epsrel=1e-11,
        limit=400,
    )
    return value


def log_likelihood(answers, loadings, thresholds):
    """Marginal log-likelihood of answers (k, n)."""
    columns, counts = np.unique(answers, axis=1, return_counts=True)
    values = [moment(column, loadings, thresholds, 0) for column in columns.T]
    return float(counts @ np.log(values))


def score(answers, loadings, thresholds):
    """Posterior mean and standard deviation of one question's score."""
    mass, first, second = (moment(answers, loadings, thresholds, power) for power in range(3))
    mean = first / mass
    return mean, np.sqrt(second / mass - mean**2)
