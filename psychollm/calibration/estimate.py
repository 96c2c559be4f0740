"""One number per model with its uncertainty: what every metric of this room returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.reasons import Reason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate(Result):
    """One number per model, its interval, and why it is undefined where it is.

    Examples
    --------
    >>> from psychollm.calibration.confusion import confusion
    >>> confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision.to_frame().round(3)
       model  value     se  lower  upper    n reason
    0      0    0.5  0.354  0.095  0.905  2.0
    """

    name: str
    value: FloatArray  # (models,) NaN where undefined
    se: FloatArray  # (models,) standard errors, NaN where undefined
    interval: FloatArray  # (models, 2) lower and upper bound
    n: FloatArray  # (models,) observations behind the value
    reason: tuple[Reason, ...]  # (models,) why it is undefined, or what qualifies it
    method: str  # of the interval
    level: float
    labels: tuple[Any, ...]  # (models,)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model."""
        import pandas as pd

        return pd.DataFrame(
            {
                "model": list(self.labels),
                "value": self.value,
                "se": self.se,
                "lower": self.interval[:, 0],
                "upper": self.interval[:, 1],
                "n": self.n,
                "reason": [str(reason) for reason in self.reason],
            }
        )
