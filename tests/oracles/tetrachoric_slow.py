"""Slow twins of the tetrachoric kernels: adaptive quadrature, bracketing, numerical optimisation.

They share no code with the library: SciPy's normal, `quad`, `brentq` and Nelder-Mead.
"""

import numpy as np
from scipy import integrate, optimize

from tests.oracles import normal


def bvn_upper(a, b, r):
    """P(X > a, Y > b) by integrating the conditional normal over x."""
    spread = np.sqrt(1 - r * r)

    def density(x):
        return normal.pdf(x) * normal.sf((b - r * x) / spread)

    kink = [b / r] if abs(r) > 0.05 and a < b / r < a + 12 else None
    value, _ = integrate.quad(density, a, a + 12, points=kink, epsabs=1e-14, limit=400)
    return value


def cells(tau1, tau2, rho):
    p11 = bvn_upper(tau1, tau2, rho)
    p1, p2 = normal.sf(tau1), normal.sf(tau2)
    return np.array([p11, p1 - p11, p2 - p11, 1 - p1 - p2 + p11])


def tetrachoric(n11, n10, n01, n00):
    """Root of the defining equation by bracketing."""
    n = n11 + n10 + n01 + n00
    tau1, tau2 = normal.isf((n11 + n10) / n), normal.isf((n11 + n01) / n)
    return optimize.brentq(
        lambda r: bvn_upper(tau1, tau2, r) - n11 / n, -0.9999, 0.9999, xtol=1e-13
    )


def log_likelihood(table, tau1, tau2, rho):
    p = cells(tau1, tau2, rho)
    observed = np.asarray(table) > 0
    if (p[observed] <= 0).any():
        return -np.inf
    return float(np.sum(np.asarray(table)[observed] * np.log(p[observed])))


def profile_log_likelihood(table, rho):
    """Maximise over both thresholds numerically."""
    table = np.asarray(table, dtype=float)
    n = table.sum()
    start = [normal.isf((table[0] + table[1]) / n), normal.isf((table[0] + table[2]) / n)]
    found = optimize.minimize(
        lambda tau: -log_likelihood(table, *tau, rho),
        start,
        method="Nelder-Mead",
        # At its top the likelihood is flat: thresholds to 1e-6 give it to 1e-9.
        options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2000},
    )
    return -found.fun


def standard_error(tau1, tau2, rho, n):
    """Delta method of the saturated table, derivatives of the root taken numerically."""
    p = cells(tau1, tau2, rho)

    def root(q):
        t1, t2 = normal.isf(q[0] + q[1]), normal.isf(q[0] + q[2])
        return optimize.brentq(lambda r: bvn_upper(t1, t2, r) - q[0], -0.999, 0.999, xtol=1e-14)

    gradient = np.empty(3)
    for c in range(3):
        step = np.zeros(4)
        step[c], step[3] = 1e-5, -1e-5
        gradient[c] = (root(p + step) - root(p - step)) / 2e-5
    covariance = (np.diag(p[:3]) - np.outer(p[:3], p[:3])) / n
    return float(np.sqrt(gradient @ covariance @ gradient))
