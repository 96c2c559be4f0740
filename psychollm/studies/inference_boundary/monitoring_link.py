r"""Rank correlation of capability and the pass rate on events that no rule covers.

The study reports Spearman's coefficient r over k models with a two-sided permutation p-value and
Bonett and Wright's interval:

.. math:: \tanh\Big(\operatorname{artanh} r \pm z \sqrt{(1 + r^2/2)/(k - 3)}\Big).       \quad (1)

With ten models, the interval covers most of the possible range, so a coefficient near zero is weak
evidence.

References
----------
Bonett, D. G., & Wright, T. A. (2000). Sample size requirements for estimating Pearson, Kendall and
Spearman correlations. Psychometrika, 65, 23-28. https://doi.org/10.1007/BF02294183
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.numbers import ABSENT, interval, p_equals, percent, signed
from psychollm._base.ranks import midranks
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.estimates.findings import Finding, Findings, Study
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome

if TYPE_CHECKING:
    from psychollm.studies.inference_boundary.study import InferenceBoundary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MonitoringLink(Study, Result):
    """Rank correlation, over models, of capability and the pass rate on events without a rule.

    Examples
    --------
    >>> rank_link(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 4]), ("a", "b", "c", "d")).value
    0.8
    """

    value: float  # Spearman's coefficient
    interval: FloatArray  # (2,) NaN with fewer than four models
    p_value: float  # two-sided permutation p-value
    n_null: int
    capability: FloatArray  # (models,)
    monitoring: FloatArray  # (models,)
    labels: Labels  # (models,) models with both scores
    level: float
    flag: Reason

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the finding; `smallest.correlation` is the smallest effect of interest."""
        shown = outcome(self.interval, smallest=smallest.correlation)
        words = {
            Outcome.ABOVE: (
                "More capable models recognise more often that no rule covers a question"
            ),
            Outcome.BELOW: (
                "More capable models recognise less often that no rule covers a question"
            ),
            Outcome.SMALL: (
                "Capability hardly correlates with recognising that no rule covers a question"
            ),
            Outcome.OPEN: (
                "It is unclear whether more capable models recognise more often that no rule "
                "covers a question"
            ),
        }
        return Finding(
            statement=f"{words[shown]}: {self.text()}.",
            numbers={"correlation": self.value, "interval": self.interval, "p": self.p_value},
            outcome=shown,
            reason=str(self.flag),
        ).alone

    def text(self, kind: str = "model") -> str:
        """Return the coefficient with its interval and p-value as text.

        Parameters
        ----------
        kind : str
            Name of the ranked units.

        Examples
        --------
        >>> rank_link(np.arange(4.0), np.arange(4.0), tuple("abcd"), rng=0).text("arm")
        'rank correlation +1.00 over 4 arms (no interval, p = .082)'
        """
        over = f"over {len(self.labels)} {kind}s"
        if self.flag:
            return f"the rank correlation {over} is undefined ({self.flag})"
        bounds = interval(self.interval, signed=True)
        bounds = "no interval" if bounds == ABSENT else f"{percent(self.level)} interval {bounds}"
        return f"rank correlation {signed(self.value)} {over} ({bounds}, {p_equals(self.p_value)})"


def monitoring_link(
    study: InferenceBoundary,
    capability: Mapping[Hashable, float] | None = None,
    *,
    n_null: int = 9999,
    level: float = 0.95,
    rng: RandomState = None,
) -> MonitoringLink:
    """Correlate, over models, capability and the pass rate on events without a rule.

    Parameters
    ----------
    study : InferenceBoundary
        Study that contains the pass rates.
    capability : mapping, optional
        Score of each model, such as its score in another benchmark; by default the pass rate on
        answerable questions. Models without a score are excluded.
    n_null : int
        Number of permutations.
    level : float
        Coverage of the interval.
    rng : Generator, int or None
        Random generator or seed.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.inference_boundary.study import inference_boundary
    >>> table = pd.concat(
    ...     [pd.DataFrame({"model": m, "type": ["A", "C"] * 5, "item": range(10), "run": 1,
    ...                    "response": "", "score": [1] * m + [0] * (10 - m)}) for m in range(6)])
    >>> round(monitoring_link(inference_boundary(table, bootstrap=20, rng=0), rng=0).value, 2)
    0.86
    """
    rate = study.profiles[study.interaction].retest.rate
    other = study.profiles[study.answerable].retest.rate
    known = dict(zip(other.labels, other.value, strict=True)) if capability is None else capability
    kept = [
        label
        for label in rate.labels
        if np.isfinite(known.get(label, np.nan)) and np.isfinite(rate.value[rate.place(label)])
    ]
    return rank_link(
        np.array([known[label] for label in kept], dtype=np.float64),
        np.array([rate.value[rate.place(label)] for label in kept], dtype=np.float64),
        tuple(kept),
        n_null=n_null,
        level=level,
        rng=rng,
    )


def rank_link(
    capability: FloatArray,
    monitoring: FloatArray,
    labels: Labels,
    *,
    n_null: int = 9999,
    level: float = 0.95,
    rng: RandomState = None,
) -> MonitoringLink:
    """Correlate two scores (models,) by rank."""
    n_null = check_count("n_null", n_null, high=DRAWS)
    check_fraction("level", level)
    flag, r, p_value = Reason.NONE, np.nan, np.nan
    if capability.size < 2:
        flag = Reason.TOO_FEW
    elif min(np.ptp(capability), np.ptp(monitoring)) == 0.0:
        flag = Reason.ALL_TIED
    else:
        x, y = _standard(capability), _standard(monitoring)
        r = float(np.clip(x @ y, -1.0, 1.0))
        orders = check_generator(rng).permuted(np.tile(y, (n_null, 1)), axis=1)
        draws = np.abs(orders @ x)
        p_value = float(monte_carlo_p_value(abs(float(x @ y)), draws, tie=1e-12))
    return MonitoringLink(
        value=r,
        interval=_interval(r, len(labels), level),
        p_value=p_value,
        n_null=n_null,
        capability=capability,
        monitoring=monitoring,
        labels=labels,
        level=level,
        flag=flag,
    )


def _standard(x: FloatArray) -> FloatArray:
    """Return ranks with mean zero and length one."""
    centred = midranks(x) - 0.5 * (x.size + 1)
    return np.asarray(centred / np.sqrt(centred @ centred), dtype=np.float64)


def _interval(r: float, n: int, level: float) -> FloatArray:
    """Return the interval of equation (1)."""
    if n < 4 or not abs(r) < 1.0 - 1e-12:
        return np.full(2, np.nan)
    spread = normal_multiplier(level) * np.sqrt((1.0 + 0.5 * r * r) / (n - 3.0))
    return np.asarray(np.tanh(np.arctanh(r) + spread * np.array([-1.0, 1.0])))
