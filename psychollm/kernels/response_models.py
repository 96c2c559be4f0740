r"""Response curves of binary items and their derivatives, for all items and nodes at once.

An item with slope a, intercept d, lower asymptote g and upper asymptote u is answered yes with
probability

.. math:: P(\theta) = g + (u - g)\,F(z), \qquad z = a\theta + d,                      \quad (1)

where F is logistic or normal. The parameters of an item are (a, d), (a, d, logit g) or (a, d,
logit g, logit u). The log-likelihood of expected counts r (yes) and m (no), which depends on the
parameters only through :math:`P`, has the derivatives

.. math:: \nabla = \sum \Big(\frac{r}{P} - \frac{m}{1 - P}\Big) P',
          \qquad
          -\nabla^2 = \sum \Big(\frac{r}{P^2} + \frac{m}{(1 - P)^2}\Big) P' P'^T
                      - \Big(\frac{r}{P} - \frac{m}{1 - P}\Big) P''.                  \quad (2)

References
----------
Barton, M. A., & Lord, F. M. (1981). An upper asymptote for the three-parameter logistic
item-response model. ETS Research Report 81-20.
https://doi.org/10.1002/j.2333-8504.1981.tb01255.x
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit
from psychollm.kernels.normal import normal_cdf

REACH = {"logit": 500.0, "probit": 37.0}  # bounds of z, beyond which probabilities underflow
TINY = 1e-300
SQRT_2PI = 2.5066282746310002


@njit
def _fill_normal(z, lower, upper):
    """Fill both tails of the normal distribution at z, an array of one dimension."""
    for i in range(z.size):
        lower[i] = normal_cdf(z[i])
        upper[i] = normal_cdf(-z[i])


def logistic(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return F(z) and 1 - F(z), each with full relative accuracy."""
    small = np.exp(-np.abs(z))
    large = 1.0 / (1.0 + small)
    small *= large
    positive = z >= 0.0
    return np.where(positive, large, small), np.where(positive, small, large)


def softplus(z: FloatArray) -> FloatArray:
    """Return log(1 + exp(z))."""
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))), dtype=np.float64)


def distribution(
    z: FloatArray, link: str
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return F, 1 - F, F' and F'' at z."""
    z = np.ascontiguousarray(np.clip(z, -REACH[link], REACH[link]))
    if link == "logit":
        lower, upper = logistic(z)
        density = lower * upper
        return lower, upper, density, density * (upper - lower)
    lower, upper = np.empty_like(z), np.empty_like(z)
    _fill_normal(z.ravel(), lower.ravel(), upper.ravel())
    density = np.exp(-0.5 * z * z) / SQRT_2PI
    return lower, upper, density, -z * density


def asymptotes(parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return g, g(1 - g), u and u(1 - u), each (items, 1)."""
    items, size = parameters.shape
    zero, one = np.zeros((items, 1)), np.ones((items, 1))
    low, high = (zero, zero), (one, zero)
    if size > 2:
        g, rest = logistic(parameters[:, 2:3])
        low = (g, g * rest)
    if size > 3:
        u, rest = logistic(parameters[:, 3:4])
        high = (u, u * rest)
    return (*low, *high)


def linear(parameters: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return z of equation (1), shape (items, Q)."""
    return np.asarray(parameters[:, :1] * nodes + parameters[:, 1:2], dtype=np.float64)


def yes_no(parameters: FloatArray, nodes: FloatArray, link: str) -> tuple[FloatArray, FloatArray]:
    """Return P and 1 - P, (items, Q), never below 1e-300."""
    lower, upper, _, _ = distribution(linear(parameters, nodes), link)
    if parameters.shape[1] > 2:
        g, _, u, _ = asymptotes(parameters)
        lower, upper = g + (u - g) * lower, (1.0 - u) + (u - g) * upper
    return np.maximum(lower, TINY), np.maximum(upper, TINY)


def first_derivatives(parameters: FloatArray, nodes: FloatArray, link: str) -> FloatArray:
    """Return derivatives of P with respect to the parameters, shape (items, parameters, Q)."""
    lower, upper, density, _ = distribution(linear(parameters, nodes), link)
    g, spread_g, u, spread_u = asymptotes(parameters)
    by_z = (u - g) * density
    terms = [by_z * nodes, by_z, spread_g * upper, spread_u * lower]
    return np.stack(terms[: parameters.shape[1]], axis=1)


def slope_of_curve(
    parameters: FloatArray, nodes: FloatArray, link: str
) -> tuple[FloatArray, FloatArray]:
    """Return the first two derivatives of P with respect to ability, (items, Q)."""
    _, _, density, change = distribution(linear(parameters, nodes), link)
    g, _, u, _ = asymptotes(parameters)
    a = parameters[:, :1]
    return (u - g) * density * a, (u - g) * change * a * a


def second_derivatives(parameters: FloatArray, nodes: FloatArray, link: str) -> FloatArray:
    """Return the second derivatives of P, shape (items, parameters, parameters, Q)."""
    lower, upper, density, change = distribution(linear(parameters, nodes), link)
    g, spread_g, u, spread_u = asymptotes(parameters)
    items, size = parameters.shape
    table = np.zeros((items, size, size, nodes.size))
    by_z = [np.broadcast_to(nodes, density.shape), np.ones_like(density)]
    for i in range(2):
        for j in range(2):
            table[:, i, j] = (u - g) * change * by_z[i] * by_z[j]
        if size > 2:
            table[:, i, 2] = table[:, 2, i] = -spread_g * density * by_z[i]
        if size > 3:
            table[:, i, 3] = table[:, 3, i] = spread_u * density * by_z[i]
    if size > 2:
        table[:, 2, 2] = spread_g * (1.0 - 2.0 * g) * upper
    if size > 3:
        table[:, 3, 3] = spread_u * (1.0 - 2.0 * u) * lower
    return table


def count_moments(
    parameters: FloatArray, nodes: FloatArray, link: str, yes: FloatArray, no: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradient (items, p), observed and expected information (items, p, p)."""
    if link == "logit" and parameters.shape[1] == 2:
        return _logistic_moments(parameters, nodes, yes, no)
    p, q = yes_no(parameters, nodes, link)
    first = first_derivatives(parameters, nodes, link)
    residual = yes / p - no / q
    gradient = np.einsum("jq,jaq->ja", residual, first)
    by_yes, by_no = first / p[:, None], first / q[:, None]  # p^2 would underflow
    observed = (by_yes * yes[:, None]) @ by_yes.transpose(0, 2, 1)
    observed += (by_no * no[:, None]) @ by_no.transpose(0, 2, 1)
    second = second_derivatives(parameters, nodes, link)
    observed -= np.einsum("jq,jabq->jab", residual, second)
    expected = (by_yes * (yes + no)[:, None]) @ by_no.transpose(0, 2, 1)
    return gradient, observed, expected


def _logistic_moments(
    parameters: FloatArray, nodes: FloatArray, yes: FloatArray, no: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the moments for logistic curves without asymptotes; both information arrays agree."""
    z = linear(parameters, nodes)
    np.negative(z, out=z)
    np.minimum(z, 500.0, out=z)
    np.exp(z, out=z)
    z += 1.0
    p = np.divide(1.0, z, out=z)
    powers = np.stack([np.ones_like(nodes), nodes, nodes**2], axis=1)
    total = yes + no
    expected = total * p
    first = (yes - expected) @ powers[:, :2]
    expected -= expected * p
    second = expected @ powers
    information = second[:, [[2, 1], [1, 0]]]
    return first[:, ::-1], information, information
