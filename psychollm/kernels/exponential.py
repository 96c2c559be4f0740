r"""The exponential function in a form that compilers turn into vector instructions.

Without a vector library, compiled loops call ``exp`` of the C library for each number. The
function in this module has no branches and no calls, so that a loop over an array computes several
values at a time. The function uses :math:`e^x = 2^k e^r` with the integer k nearest to :math:`x /
\log 2`, so that :math:`|r| \le \tfrac12 \log 2`. A polynomial of degree 11 interpolates
:math:`e^r` at Chebyshev nodes. The relative error is at most 1.1 ulp from -708 to 708. Below -708,
the function returns its value at -708, about 3e-308.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic

from psychollm.kernels._jit import njit

LOWEST = -708.0
PER_LOG_2 = 1.4426950408889634
# The product of the first part of log 2 with an integer below 2^20 is exact.
LOG_2, LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDS = 6755399441055744.0  # 1.5 * 2^52: the lowest bits of a sum with it hold an integer
C2, C3, C4 = 0.5000000000000019, 0.1666666666666668, 0.0416666666664881
C5, C6, C7 = 0.008333333333319601, 0.0013888888952314775, 0.00019841269890047113
C8, C9 = 2.4801485482328494e-05, 2.755724091857897e-06
C10, C11 = 2.763263963904103e-07, 2.5110037605963777e-08


@intrinsic
def _scaled(typingctx: Any, value: Any = None, rounded: Any = None) -> Any:
    """Return value * 2^k, where the lowest bits of `rounded` hold k."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, real = (context.get_value_type(kind) for kind in (types.int64, types.float64))
        bits, power = (builder.bitcast(argument, word) for argument in arguments)
        return builder.bitcast(builder.add(bits, builder.shl(power, word(52))), real)

    return types.float64(types.float64, types.float64), codegen


@njit
def exponential(x: float) -> float:
    """Return e^x for x <= 708."""
    x = max(x, LOWEST)
    rounded = x * PER_LOG_2 + ROUNDS
    k = rounded - ROUNDS
    r = (x - k * LOG_2) - k * LOG_2_REST
    r2 = r * r
    r4 = r2 * r2
    high = ((C8 + C9 * r) + (C10 + C11 * r) * r2) * r4
    low = (C4 + C5 * r) + (C6 + C7 * r) * r2
    return _scaled((1.0 + r) + ((C2 + C3 * r) * r2 + (low + high) * r4), rounded)


@njit
def exponentials(x):
    """Replace x (n,) by e^x, for x <= 708."""
    for i in range(x.size):
        x[i] = exponential(x[i])
