"""The result of `omega`: coefficients, the solution behind them, and both in words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import listed
from psychollm.estimates.estimate import Estimate
from psychollm.reliability.omegas.omega_fit import COEFFICIENTS, SUBSCALES

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "hierarchical": "omega hierarchical",
    "total": "omega total",
    "asymptotic": "omega asymptotic",
    "explained_common_variance": "explained common variance",
    "specific": "share of group factors",
    "alpha": "standardised alpha",
    "lambda6": "lambda 6",
    "group_total": "omega of subscales",
    "group_general": "share of the general factor in subscales",
    "group_specific": "share of the group factor in subscales",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Omega(Result):
    """Omega and its kin of one scale, with the solution behind them.

    Examples
    --------
    >>> from psychollm.reliability.omegas.omega import omega
    >>> R = np.kron(np.full((3, 3), 0.3) + np.diag([0.3, 0.2, 0.1]), np.ones((3, 3)))
    >>> np.fill_diagonal(R, 1.0)
    >>> found = omega(R)
    >>> found.hierarchical.value.round(4), found.group_general.value.round(4)
    (array([0.7105]), array([0.4091, 0.45  , 0.5   ]))
    """

    hierarchical: Estimate  # (1,) share of the general factor in the total score
    total: Estimate  # (1,) share of all factors: the reliability of the total score
    asymptotic: Estimate  # (1,) share of the general factor in what factors explain
    explained_common_variance: Estimate  # (1,) the same over items instead of their total
    specific: Estimate  # (1,) share of group factors, each over its own subscale
    alpha: Estimate  # (1,) standardised
    lambda6: Estimate  # (1,) Guttman's sixth bound
    group_total: Estimate  # (factors,) omega of the subscale of each group factor
    group_general: Estimate  # (factors,) its part due to the general factor
    group_specific: Estimate  # (factors,) its part due to the group factor
    general: FloatArray  # (items,) loadings; NaN for an item that does not vary
    groups: FloatArray  # (items, factors)
    uniquenesses: FloatArray  # (items,)
    factor_correlation: FloatArray  # (factors, factors) before the general factor was taken out
    second_order: FloatArray  # (factors,) loadings of the factors on the general one
    member: tuple[Any, ...]  # (items,) the subscale that each item belongs to
    reversed: BoolArray  # (items,) turned round because the general loading was negative
    items: tuple[Any, ...]
    n: float  # rows behind it, NaN for a matrix
    identified: bool  # three factors or more
    heywood: bool  # a uniqueness, of an item or a factor, lies at its bound

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per coefficient, subscales last."""
        import pandas as pd

        rows = []
        for name in (*COEFFICIENTS, *SUBSCALES):
            estimate: Estimate = getattr(self, name)
            table = estimate.to_frame().rename(columns={estimate.axis: "of"})
            table.insert(0, "coefficient", NAMES[name])
            rows.append(table)
        return pd.concat(rows, ignore_index=True)

    def loadings(self) -> "pd.DataFrame":
        """Return one row per item: loadings, uniqueness, and its subscale."""
        import pandas as pd

        table: dict[str, Any] = {"item": list(self.items), "general": self.general}
        names = self.group_total.labels
        table |= dict(zip(names, self.groups.T, strict=True))
        table |= {"uniqueness": self.uniquenesses, "subscale": list(self.member)}
        return pd.DataFrame(table | {"reversed": self.reversed})

    def summary(self) -> str:
        """Return the findings in sentences.

        Examples
        --------
        >>> from psychollm.reliability.omegas.omega import omega
        >>> R = np.full((5, 5), 0.5) + 0.5 * np.eye(5)
        >>> print(omega(R, n_factors=1).summary().splitlines()[0])
        Omega total 0.83 (5 items, 1 factor).
        """
        return _summary(self)


def _summary(found: Omega) -> str:
    m, k = found.groups.shape[1], len(found.items)
    factors = "1 factor" if m == 1 else f"{m} group factors"
    rows = f", {found.n:g} rows" if np.isfinite(found.n) else ""
    total, general = found.total, found.hierarchical
    if not np.isfinite(total.value[0]):
        return f"Omega is undefined: {total.flags[0]} ({k} items, {factors}{rows})."
    lines = [
        f"Omega total {total.text()} ({k} items, {factors}{rows})"
        + (f"; {total.flags[0]}." if total.flags[0] else "."),
        f"The general factor explains {100 * general.value[0]:.0f} % of the variance of the total "
        f"score (omega hierarchical {general.text()})"
        + (f"; {general.flags[0]}." if general.flags[0] else "."),
    ]
    if found.reversed.any():
        turned = listed(
            [item for item, back in zip(found.items, found.reversed, strict=True) if back]
        )
        lines.append(f"Turned round: {turned}.")
    return "\n".join(lines)
