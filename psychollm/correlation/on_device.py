"""Tetrachoric correlations of many pairs, computed together by torch in 64-bit precision.

Equation (1) of `kernels.tetrachoric` is solved for t by Halley's method. The integral is computed
with 20 quadrature nodes on each of [t, sqrt t] and [sqrt t, 1]. Negative correlations are first
made positive by a change of sign. The solution is accurate for |rho| below 0.97 (t above `LEAST`)
and thresholds of at most `FAR` in absolute value. The compiled kernels solve all other pairs, and
pairs with an empty cell.
"""

import math
from typing import Any

from psychollm._base.optional import torch_on
from psychollm._base.types import AnyArray
from psychollm.data.pair_counts import PairCounts
from psychollm.kernels.bivariate import NODES_20, TWO_PI, WEIGHTS_20
from psychollm.kernels.tetrachoric import FAR, INTERIOR, PANEL_RATIO

PIECE = 1 << 20  # pairs per block: 8 MB per array
STEPS = 5  # number of iterations; the kernels solve pairs that have not converged by then
LEAST = PANEL_RATIO**2
ROUNDING = 1e-14  # relative rounding error of the integral
CLOSE = 5e-13  # largest accepted error of the root t


def solve_pairs(counts: PairCounts, device: str, out: tuple[AnyArray, ...]) -> None:
    """Fill the arrays of `correlate_pairs` below the diagonal, with NaN for unsolved pairs."""
    torch, k = torch_on(device), len(counts.labels)
    *arrays, iterations, status = out
    iterations.fill(STEPS)
    status.fill(INTERIOR)
    step = max(1, PIECE // k)
    for low in range(0, k, step):
        high = min(low + step, k)
        rows = slice(low, high), slice(0, high)
        yes, other = counts.yes[rows], counts.yes[rows[::-1]].T
        known = (counts.joint[rows], yes, other, counts.n[rows])
        found = _solve(torch, *(torch.tensor(one, device=device) for one in known))
        for mine, added in zip(arrays, found, strict=True):
            mine[rows] = added.cpu().numpy()


def _solve(torch: Any, n11: Any, yes: Any, other: Any, n: Any) -> tuple[Any, Any, Any]:
    """Return correlations, their complements 1 - abs(rho) and residuals; NaN if unsolved."""
    n10, n01 = yes - n11, other - n11
    n00 = n - yes - n01
    a, b = _threshold(torch, yes, n), _threshold(torch, other, n)
    cross = (n11 * n00 - n10 * n01) / n**2
    sign = cross.sign()
    curve = ((a - sign * b) ** 2 / 8, sign * a * b / 2)
    # With a smaller power than in the kernels, starting values are closer to independence, where
    # the integrand is not small.
    odds = (n11 * n00) / (n10 * n01)
    t = torch.tan(0.5 * math.pi / (1 + torch.maximum(odds, 1 / odds) ** 0.25))
    t, residual, error = _root(torch, t.clamp(LEAST, 1), TWO_PI * cross.abs(), curve)
    inside = torch.stack([n11, n10, n01, n00]).amin(0) > 0
    inside &= (torch.maximum(a.abs(), b.abs()) <= FAR) & (error <= CLOSE)
    rho = sign * (1 - t) * (1 + t) / (1 + t * t)
    rho[~inside] = math.nan
    return rho, 2 * t * t / (1 + t * t), residual / TWO_PI


def _root(torch: Any, t: Any, target: Any, curve: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return the limit t at which the integral equals `target`, its residual and error bound."""
    gap, product = curve
    for _ in range(STEPS):
        newton = (_integral(torch, t, *curve) - target) / _integrand(torch, t, *curve)
        slope = 2 * gap * (1 / t**3 - t) - 2 * product * t - 2 * t / (1 + t * t)
        t = (t + newton / (1 + 0.5 * slope * newton).clamp(min=0.25)).clamp(LEAST, 1)
    left = _integral(torch, t, *curve) - target
    return t, left, (left.abs() + ROUNDING * target) / _integrand(torch, t, *curve)


def _integral(torch: Any, t: Any, gap: Any, product: Any) -> Any:
    """Return the integral of `_integrand` from t to 1."""
    total, middle = torch.zeros_like(t), t.sqrt()
    for low, high in ((t, middle), (middle, torch.ones_like(t))):
        half, centre = (high - low) / 2, (high + low) / 2
        for node, weight in zip(NODES_20.tolist(), WEIGHTS_20.tolist(), strict=True):
            total += weight * half * _integrand(torch, centre + node * half, gap, product)
    return total


def _integrand(torch: Any, t: Any, gap: Any, product: Any) -> Any:
    """Return the integrand, equation (2) of `kernels.bivariate`."""
    one = 1 + t * t
    return 2 / one * torch.exp(-gap * (one / t) ** 2 - product * one)


def _threshold(torch: Any, yes: Any, n: Any) -> Any:
    """Return thresholds with upper-tail probabilities yes / n, computed from the smaller tail."""
    tail = torch.special.ndtri(torch.minimum(yes, n - yes) / n)
    return torch.where(2 * yes > n, tail, -tail)
