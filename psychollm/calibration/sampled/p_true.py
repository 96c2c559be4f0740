r"""P(True): how likely a model finds it that an answer shown to it is true.

The model is shown a question with a proposed answer and asked whether it is true. Of the
probabilities of the two continuations only their ratio matters,

.. math:: P(\text{True}) = \frac{e^{\ell_T}}{e^{\ell_T} + e^{\ell_F}},                    \quad (1)

because what the model would have said besides "True" and "False" says nothing of either.

References
----------
Kadavath, S., et al. (2022). Language models (mostly) know what they know. arXiv:2207.05221.
"""

from typing import Any

import numpy as np
from scipy.special import expit

from psychollm._base.arrays import float_array
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.types import FloatArray


def p_true(log_true: Any, log_false: Any) -> FloatArray:
    """Return the probability (1) from the log-probabilities of the two continuations.

    Parameters
    ----------
    log_true, log_false : array_like (models, questions)
        Natural logarithms of the probabilities of "True" and of "False", at most 0; ``-inf`` for
        one of them is a probability of zero. Several spellings of one continuation are to be
        added up before.

    Returns
    -------
    ndarray (models, questions)
        A confidence for every metric of this room; NaN where either is missing, or both are
        ``-inf``.

    Raises
    ------
    ShapeError
        If the two do not have the same shape.
    CodeError
        If a value is above 0: probabilities, perhaps, instead of their logarithms.

    Examples
    --------
    >>> p_true([[-0.1, -3.0]], [[-2.5, -0.2]]).round(3)
    array([[0.917, 0.057]])
    """
    true, false = float_array(log_true, "log_true"), float_array(log_false, "log_false")
    if true.shape != false.shape:
        msg = f"log_true has shape {true.shape}, but log_false has {false.shape}"
        raise ShapeError(msg)
    for argument, values in (("log_true", true), ("log_false", false)):
        if (values > 1e-6).any():
            place = tuple(int(i) for i in np.argwhere(values > 1e-6)[0])
            msg = (
                f"{argument}{list(place)} = {values[place]:g}: pass natural logarithms of "
                "probabilities, which are at most 0"
            )
            raise CodeError(msg)
    with np.errstate(invalid="ignore"):
        return np.asarray(expit(true - false), dtype=np.float64)
