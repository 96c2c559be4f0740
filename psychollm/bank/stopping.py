r"""What it does to a score that the answers say when to stop, and how that is undone.

The questions that an interval takes depend on the score: rare answers, right or wrong, vary less.
A session with fewer of them than is due believes its score to be extreme, needs fewer questions
and stops: scores lie too far out. With n(p) questions for a given width the bias is

.. math:: E[\hat p] - p \approx - \operatorname{Var}(\hat p)\, \frac{d \log n}{dp}.       \quad (1)

Two things undo it. The width is that of the score :math:`\tilde p` of n answers and
:math:`z^2 / 2` more of either kind (Agresti and Coull), so that no run without a rare answer looks
precise; and (1) is taken off the score of a session that stopped. With :math:`s_j` the standard
deviations of the errors that the model of the items expects, the predictions moved to the mean
:math:`\tilde p` by one step on the scale of logits, :math:`n \propto (\sum_j s_j)^2` and

.. math:: L = \frac{d \log n}{d \tilde p}
          = \frac{\sum s_j (1 - 2 p_j) / \sum s_j}{\sum p_j (1 - p_j) / J}, \qquad
          \frac{d \log n}{dp} = \frac{L n / m}{1 + L n (m - n) (1 - 2 p) / 2 m^2}, \quad
          m = n + z^2,                                                                   \quad (2)

the latter because :math:`\tilde p` depends on n itself.

References
----------
Agresti, A., & Coull, B. A. (1998). Approximate is better than "exact" for interval estimation of
binomial proportions. The American Statistician, 52, 119-126.

Anscombe, F. J. (1953). Sequential estimation. Journal of the Royal Statistical Society B, 15,
1-29.
"""

import numpy as np
from scipy.special import expit, logit

from psychollm._base.types import FloatArray

_STEPS = 8
_LEAST = 1e-6  # of a prediction


def guarded(predicted: FloatArray, error: FloatArray, n: int, z: float) -> tuple[float, float]:
    """Return the factor of the variance at the moved score, and the slope (2).

    Predictions (J,), squared errors as multiples of p (1 - p) (J,), answers, and the half-width in
    standard errors.
    """
    p = np.clip(predicted, _LEAST, 1.0 - _LEAST)
    mean, m, logits, move = float(p.mean()), n + z**2, logit(p), 0.0
    target = (n * mean + 0.5 * z**2) / m
    moved = p
    for _ in range(_STEPS):
        move += float(np.clip((target - moved.mean()) / (moved * (1.0 - moved)).mean(), -1.0, 1.0))
        moved = expit(logits + move)
    s, before = (np.sqrt(error * one * (1.0 - one)) for one in (moved, p))
    slope = float((s * (1.0 - 2.0 * moved)).sum() / s.sum() / (moved * (1.0 - moved)).mean())
    slope *= n / m
    bend = 1.0 + 0.5 * slope * (1.0 - n / m) * (1.0 - 2.0 * mean)
    return max(1.0, float(s.sum() / before.sum()) ** 2), slope / max(bend, 1.0)
