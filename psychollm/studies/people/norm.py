"""Published norm of a scale: mean and standard deviation of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanNorm:
    """Published norm of a scale.

    A norm applies only to the exact wording of its scale. The norm of the General Self-Efficacy
    Scale, for example, does not apply to other statements, such as the statements in this library.

    Raises
    ------
    OptionError
        If the standard deviation is not positive, or n is below 2.

    Examples
    --------
    >>> HumanNorm(mean=29.5, sd=5.3, n=1000).mean
    29.5
    """

    mean: float  # mean of totals
    sd: float
    n: int | None = None  # number of persons; None treats the norm as exact
    source: str = ""

    def __post_init__(self) -> None:
        few = self.n is not None and self.n < 2
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0) or few:
            msg = f"{self!r} needs a finite mean, a positive sd, and n of at least 2 or None"
            raise OptionError(msg)
