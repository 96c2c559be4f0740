"""The univariate normal distribution, accurate in both tails.

The distribution function uses ``erfc`` of the C library, with a relative error of a few ulp in the
lower tail. The quantile is algorithm AS 241, PPND16 [1]_, with a relative error of about 1e-16.

References
----------
.. [1] Wichura, M. J. (1988). Algorithm AS 241: The percentage points of the normal distribution.
   Applied Statistics, 37(3), 477-484. https://doi.org/10.2307/2347330
"""

import math

from psychollm.kernels._jit import njit

INV_SQRT_2 = 0.7071067811865476
INV_SQRT_2PI = 0.3989422804014327


@njit
def normal_pdf(x: float) -> float:
    """Return the density at `x`."""
    return INV_SQRT_2PI * math.exp(-0.5 * x * x)


@njit
def normal_cdf(x: float) -> float:
    """Return P(X <= x), with full relative accuracy in the lower tail."""
    return 0.5 * math.erfc(-x * INV_SQRT_2)


@njit
def normal_upper(x: float) -> float:
    """Return P(X > x), with full relative accuracy in the upper tail."""
    return 0.5 * math.erfc(x * INV_SQRT_2)


@njit
def _central_quantile(q: float) -> float:
    """Return the quantile of algorithm AS 241 for |p - 1/2| <= 0.425, with q = p - 1/2."""
    r = 0.180625 - q * q
    numerator = (
        (
            (
                (
                    (
                        (2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r
                        + 6.7265770927008700853e4
                    )
                    * r
                    + 4.5921953931549871457e4
                )
                * r
                + 1.3731693765509461125e4
            )
            * r
            + 1.9715909503065514427e3
        )
        * r
        + 1.3314166789178437745e2
    ) * r + 3.3871328727963666080e0
    denominator = (
        (
            (
                (
                    (
                        (5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r
                        + 3.9307895800092710610e4
                    )
                    * r
                    + 2.1213794301586595867e4
                )
                * r
                + 5.3941960214247511077e3
            )
            * r
            + 6.8718700749205790830e2
        )
        * r
        + 4.2313330701600911252e1
    ) * r + 1.0
    return q * numerator / denominator


@njit
def _middle_tail(r: float) -> float:
    """Return the AS 241 quantile for r = sqrt(-log(tail)) - 1.6, where tail > exp(-25)."""
    numerator = (
        (
            (
                (
                    (
                        (7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
                        + 2.41780725177450611770e-1
                    )
                    * r
                    + 1.27045825245236838258e0
                )
                * r
                + 3.64784832476320460504e0
            )
            * r
            + 5.76949722146069140550e0
        )
        * r
        + 4.63033784615654529590e0
    ) * r + 1.42343711074968357734e0
    denominator = (
        (
            (
                (
                    (
                        (1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
                        + 1.51986665636164571966e-2
                    )
                    * r
                    + 1.48103976427480074590e-1
                )
                * r
                + 6.89767334985100004550e-1
            )
            * r
            + 1.67638483018380384940e0
        )
        * r
        + 2.05319162663775882187e0
    ) * r + 1.0
    return numerator / denominator


@njit
def _far_tail(r: float) -> float:
    """Return the AS 241 quantile for r = sqrt(-log(tail)) - 5, where tail < exp(-25)."""
    numerator = (
        (
            (
                (
                    (
                        (2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
                        + 1.24266094738807843860e-3
                    )
                    * r
                    + 2.65321895265761230930e-2
                )
                * r
                + 2.96560571828504891230e-1
            )
            * r
            + 1.78482653991729133580e0
        )
        * r
        + 5.46378491116411436990e0
    ) * r + 6.65790464350110377720e0
    denominator = (
        (
            (
                (
                    (
                        (2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
                        + 1.84631831751005468180e-5
                    )
                    * r
                    + 7.86869131145613259100e-4
                )
                * r
                + 1.48753612908506148525e-2
            )
            * r
            + 1.36929880922735805310e-1
        )
        * r
        + 5.99832206555887937690e-1
    ) * r + 1.0
    return numerator / denominator


@njit
def quantile_of_tails(lower: float, upper: float) -> float:
    """Return the x with given P(X <= x) and P(X > x), accurate in both tails."""
    if not (lower >= 0.0 and upper >= 0.0):
        return math.nan
    q = 0.5 * (lower - upper)
    if abs(q) <= 0.425:
        return _central_quantile(q)
    tail = min(lower, upper)
    if tail <= 0.0:
        return math.inf if q > 0.0 else -math.inf
    r = math.sqrt(-math.log(tail))
    x = _middle_tail(r - 1.6) if r <= 5.0 else _far_tail(r - 5.0)
    return x if q > 0.0 else -x


@njit
def normal_quantile(p: float) -> float:
    """Return the x with P(X <= x) = p; infinite at 0 and 1, NaN outside."""
    return quantile_of_tails(p, 1.0 - p)
