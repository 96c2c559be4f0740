"""The result of categorical omega, and how its estimates are made."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Replicates
from psychollm.reliability.omegas.latent_response import NUMBERS

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "total": "categorical omega",
    "alpha": "alpha of the scores",
    "latent": "omega of latent responses",
    "latent_alpha": "alpha of latent responses",
    "average_variance": "average variance extracted",
}
_NO_INTERVAL = "none: n is unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OmegaCategorical(Result):
    """Reliability of a sum of categorical scores, and of the latent responses behind them.

    Examples
    --------
    >>> from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
    >>> found = omega_of_loadings([0.7, 0.7, 0.7, 0.7], thresholds=[0.0, 0.5, -0.5, 1.0])
    >>> found.total.value.round(3), found.latent.value.round(3)
    (array([0.62]), array([0.794]))
    """

    total: Estimate  # (1,) Green and Yang's omega of the total score
    alpha: Estimate  # (1,) of the scores
    latent: Estimate  # (1,) omega of latent responses
    latent_alpha: Estimate  # (1,) alpha of latent responses, "ordinal alpha"
    average_variance: Estimate  # (1,) mean communality of latent responses
    loadings: FloatArray  # (items, factors) NaN for an item that does not vary
    thresholds: FloatArray  # (items, categories - 1) NaN where an item has fewer
    items: tuple[Any, ...]
    n: float  # rows behind it, NaN where only a solution was given
    heywood: bool  # a loading lies at its bound
    variance: str  # where the variance of the total score comes from

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per coefficient."""
        import pandas as pd

        rows = []
        for name in NUMBERS:
            estimate: Estimate = getattr(self, name)
            table = estimate.to_frame().drop(columns=estimate.axis)
            table.insert(0, "coefficient", NAMES[name])
            rows.append(table)
        return pd.concat(rows, ignore_index=True)

    def summary(self) -> str:
        """Return the findings in sentences.

        Examples
        --------
        >>> from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
        >>> print(omega_of_loadings([0.7] * 4, thresholds=[0.0] * 4).summary())
        Categorical omega 0.66 (4 items).
        """
        total, k = self.total, len(self.items)
        rows = f", {self.n:g} rows" if np.isfinite(self.n) else ""
        flag = total.flags[0]
        if not np.isfinite(total.value[0]):
            return f"Categorical omega is undefined: {flag} ({k} items{rows})."
        said = f"; {flag}." if flag else "."
        return f"Categorical omega {total.text()} ({k} items{rows}){said}"


@dataclass(frozen=True, slots=True)
class CategoricalParts:
    """What all estimates are cut from."""

    found: Replicates
    n: float
    reason: Reason

    def result(
        self,
        loadings: FloatArray,
        thresholds: FloatArray,
        items: Sequence[Any],
        *,
        heywood: bool,
        variance: str,
    ) -> OmegaCategorical:
        """Return the result."""
        return OmegaCategorical(
            **{name: self._estimate(name, place) for place, name in enumerate(NUMBERS)},
            loadings=loadings,
            thresholds=thresholds,
            items=tuple(items),
            n=self.n,
            heywood=heywood,
            variance=variance,
        )

    def _estimate(self, name: str, place: int) -> Estimate:
        part = self.found.each(slice(place, place + 1))
        defined = bool(np.isfinite(part.value[0]))
        estimate = part.estimate(
            NAMES[name],
            scale=RELIABILITY,
            over="respondents",
            n=np.array([self.n]),
            flags=(self.reason or (Reason.NONE if defined else Reason.NO_VARIANCE),),
            labels=("all",),
            axis="condition",
        )
        return estimate if np.isfinite(self.n) else replace(estimate, method=_NO_INTERVAL)
