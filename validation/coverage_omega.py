"""Coverage of the intervals of omega, with and without group factors in the population.

Nine items are normal, or cut at four thresholds into ordered scores. The population correlations
of such scores follow from the bivariate normal distribution, and the population coefficients from
these correlations. On a one-factor scale the general factor explains all common variance, and
group factors explain none. A coefficient without an interval (a solution at its bound, in the
sample or in half of the resamples) is counted as undefined.
"""

from functools import partial

import numpy as np

from psychollm.kernels.ordinal_covariance import score_covariances
from psychollm.reliability.omegas.omega import Omega, omega
from psychollm.reliability.omegas.omega_fit import COEFFICIENTS, SUBSCALES
from validation.coverage_cases import Case, Intervals, collected

GROUPS = np.kron(np.eye(3), np.ones((1, 3)))
CUTS = np.tile([-1.2, -0.4, 0.4, 1.2], (9, 1))


def correlated(loadings: np.ndarray) -> np.ndarray:
    """Return correlations under three factors that share a general one by .7, .6 and .5."""
    second = np.repeat([0.7, 0.6, 0.5], 3)
    return matrix(loadings * second, loadings * np.sqrt(1.0 - second**2))


def matrix(general: np.ndarray, group: np.ndarray) -> np.ndarray:
    own = GROUPS * group
    found = np.outer(general, general) + own.T @ own
    np.fill_diagonal(found, 1.0)
    return found


STRONG = np.tile([0.8, 0.7, 0.6], 3)
LAWS = {
    "three correlated factors": correlated(STRONG),
    "bifactor": matrix(np.full(9, 0.55), np.tile([0.6, 0.5, 0.6], 3)),
    "Heywood: an item without variance of its own": correlated(np.r_[0.995, 0.6, STRONG[2:]]),
    "one factor": matrix(np.linspace(0.4, 0.8, 9), np.zeros(9)),
}


def population(law: np.ndarray, *, ordinal: bool) -> np.ndarray:
    """Return the correlations of the scores."""
    if not ordinal:
        return law
    covariance = np.empty(law.shape)
    score_covariances(CUTS, law, covariance)
    sd = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(sd, sd)


def values(found: Omega) -> dict[str, tuple[float, np.ndarray]]:
    """Return each coefficient and its interval; of subscales, that of the first item."""
    parts = {name: (getattr(found, name), 0) for name in COEFFICIENTS}
    labels = found.group_total.labels
    place = labels.index(found.member[0]) if found.member[0] in labels else 0
    parts |= {f"{name}, group 1": (getattr(found, name), place) for name in SUBSCALES}
    return {name: (float(one.value[i]), one.interval[i]) for name, (one, i) in parts.items()}


def truth(law: np.ndarray, *, one_factor: bool) -> dict[str, float]:
    if not one_factor:
        return {name: value for name, (value, _) in values(omega(law)).items()}
    alone = {name: value for name, (value, _) in values(omega(law, n_factors=1)).items()}
    known = {name: alone[name] for name in ("total", "alpha", "lambda6")}
    edges = {"asymptotic": 1.0, "explained_common_variance": 1.0, "specific": 0.0}
    return {"hierarchical": alone["total"], **known, **edges}


def shares(
    name: str, ordinal: bool, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    del jobs
    root = np.linalg.cholesky(LAWS[name] + 1e-12 * np.eye(9))

    def one() -> dict[str, np.ndarray]:
        scores = rng.standard_normal((n, 9)) @ root.T
        if ordinal:
            scores = np.digitize(scores, CUTS[0]).astype(np.float64)
        found = omega(scores, bootstrap=100, rng=rng)
        return {name: bounds for name, (_, bounds) in values(found).items()}

    known = truth(population(LAWS[name], ordinal=ordinal), one_factor=name == "one factor")
    return collected(one, count, known)


CASES = [
    Case("omega", f"{name}, {kind}", partial(shares, name, kind == "ordinal"))
    for name in LAWS
    for kind in ("normal", "ordinal")
]
