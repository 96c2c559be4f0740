"""Coverage of the intervals of scales, for every coefficient that has an interval.

Scores are normal, with a general factor and three group factors of three items each, so that all
coefficients of the population follow from one matrix; yes/no answers are such scores cut at
thresholds, and their population covariances are computed from the bivariate normal distribution.
"""

import numpy as np
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from psychollm.estimates.estimate import Estimate
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.guttman import guttman, guttman_of_matrix
from psychollm.reliability.scales.item_statistics import item_statistics
from psychollm.reliability.scales.kuder_richardson import kr20, kr21
from psychollm.reliability.scales.split_half import split_half
from validation.coverage_cases import Case, Intervals, collected

GENERAL = np.array([0.7, 0.6, 0.5, 0.7, 0.6, 0.5, 0.6, 0.6, 0.6])
GROUP = np.kron(np.eye(3), np.ones(3)) * np.array([0.4, 0.4, 0.4, 0.5, 0.5, 0.5, 0.3, 0.4, 0.5])
LOADINGS = np.array([0.5, 0.6, 0.7, 0.8, 0.6, 0.7])
THRESHOLDS = ndtri([0.3, 0.4, 0.5, 0.5, 0.6, 0.7])
LATENT = ("total", "alpha", "latent", "latent_alpha", "average_variance")


def common(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the common parts of respondents' scores (n, 9)."""
    return rng.standard_normal((n, 1)) * GENERAL + rng.standard_normal((n, 3)) @ GROUP


def noise(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, GENERAL.size)) * np.sqrt(1.0 - shared_variance())


def shared_variance() -> np.ndarray:
    return GENERAL**2 + (GROUP**2).sum(axis=0)


def correlations() -> np.ndarray:
    matrix = np.outer(GENERAL, GENERAL) + GROUP.T @ GROUP
    np.fill_diagonal(matrix, 1.0)
    return matrix


def alpha_of(matrix: np.ndarray) -> float:
    k = len(matrix)
    return float(k / (k - 1) * (1.0 - np.trace(matrix) / matrix.sum()))


def labelled(estimate: Estimate) -> dict[str, np.ndarray]:
    """Return the interval of every value by its label."""
    return {f"{label}": estimate.interval[i] for i, label in enumerate(estimate.labels)}


def bounds_of_reliability(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Guttman's lambdas but the fourth, and the mean of all split halves."""
    del jobs
    matrix = correlations()
    known = guttman_of_matrix(matrix)
    truth = {
        name: float(value)
        for name, value in zip(known.labels, known.value, strict=True)
        if name != "lambda4"
    }
    # With nine items, this is the mean over all splits into four and five.
    k, off = len(matrix), matrix.sum() - np.trace(matrix)
    crossing = 2.0 * (k // 2) * (k - k // 2) / (k * (k - 1))
    truth["split half, mean"] = float(2.0 * crossing * off / matrix.sum())

    def one() -> dict[str, np.ndarray]:
        scores = common(n, rng) + noise(n, rng)
        halves = split_half(scores, bootstrap=0).split_half
        found = labelled(guttman(scores, bootstrap=0))
        return found | {"split half, mean": labelled(halves)["mean"]}

    return collected(one, count, truth)


def items(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Item-rest correlations and alpha without the item, of the first, fourth and last item."""
    del jobs
    matrix, truth, shown = correlations(), {}, (0, 3, 8)
    for item in shown:
        rest = np.delete(np.arange(len(matrix)), item)
        inner = matrix[np.ix_(rest, rest)]
        truth[f"item-rest, item {item + 1}"] = float(
            matrix[item, rest].sum() / np.sqrt(inner.sum())
        )
        truth[f"alpha without item {item + 1}"] = alpha_of(inner)

    def one() -> dict[str, np.ndarray]:
        found = item_statistics(common(n, rng) + noise(n, rng))
        return {
            f"item-rest, item {item + 1}": found.item_rest.interval[item] for item in shown
        } | {
            f"alpha without item {item + 1}": found.alpha_without.interval[item] for item in shown
        }

    return collected(one, count, truth)


def repeated(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Respondents who answer all items three times: n respondents, 3 n rows."""
    del jobs
    matrix = correlations()
    thirds = matrix - np.diag((1.0 - shared_variance()) * 2.0 / 3.0)
    k = len(matrix)
    truth = {
        "alpha": alpha_of(matrix),
        "standardised": alpha_of(matrix),
        "of_means": alpha_of(thirds),
        "mean_correlation": float((matrix.sum() - k) / (k * (k - 1))),
        "sem": float(np.sqrt(matrix.sum() * (1.0 - alpha_of(matrix)))),
    }
    codes = np.repeat(np.arange(n), 3)

    def one() -> dict[str, np.ndarray]:
        scores = common(n, rng)[codes] + noise(3 * n, rng)
        found = consistency(scores, respondents=codes, bootstrap=0)
        return {name: getattr(found, name).interval[0] for name in truth}

    return collected(one, count, truth)


def yes_no(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Categorical omega and the Kuder-Richardson formulas, of six items of one factor."""
    del jobs
    known = omega_of_loadings(LOADINGS, thresholds=THRESHOLDS)
    truth = {f"categorical omega: {name}": float(getattr(known, name).value[0]) for name in LATENT}
    matrix, means = yes_no_moments()
    k, mean, variance = len(matrix), float(means.sum()), float(matrix.sum())
    truth["KR-20"] = alpha_of(matrix)
    truth["KR-21"] = k / (k - 1) * (1.0 - mean * (k - mean) / (k * variance))

    def one() -> dict[str, np.ndarray]:
        factor, unique = rng.standard_normal((n, 1)), rng.standard_normal((n, k))
        answers = (factor * LOADINGS + unique * np.sqrt(1.0 - LOADINGS**2) > THRESHOLDS) * 1.0
        found = omega_categorical(answers, bootstrap=0)
        bounds = {
            f"categorical omega: {name}": getattr(found, name).interval[0] for name in LATENT
        }
        bounds["KR-20"] = kr20(answers, bootstrap=0).interval[0]
        return bounds | {"KR-21": kr21(answers, bootstrap=0).interval[0]}

    return collected(one, count, truth)


def yes_no_moments() -> tuple[np.ndarray, np.ndarray]:
    """Return covariances and means of the answers."""
    latent = np.outer(LOADINGS, LOADINGS)
    yes = multivariate_normal(0.0, 1.0).cdf(-THRESHOLDS)
    matrix = np.diag(yes * (1.0 - yes))
    for i, j in zip(*np.triu_indices(yes.size, 1), strict=True):
        law = multivariate_normal(np.zeros(2), [[1.0, latent[i, j]], [latent[i, j], 1.0]])
        both = law.cdf(-THRESHOLDS[[i, j]])
        matrix[i, j] = matrix[j, i] = both - yes[i] * yes[j]
    return matrix, yes


NAMES = "nine normal items, a general factor and three groups"
CASES = [
    Case("scales", f"Guttman: {NAMES}", bounds_of_reliability),
    Case("scales", f"items: {NAMES}", items),
    Case("scales", "nine items answered three times by each respondent", repeated),
    Case("scales", "six yes/no items, one factor", yes_no),
]
