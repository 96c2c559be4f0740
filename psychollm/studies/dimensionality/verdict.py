"""What the evidence of `dimensionality` comes to: bounds, outcomes, and the sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from psychollm._base.numbers import p_equals, percent
from psychollm._base.types import EmptyCells, FloatArray
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.kernels.bivariate import orthants


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers that the verdict rests on."""

    n_factors: Literal[0, 1, 2]
    p_shared: float  # rule-free test of no factor
    p_one: float  # rule-free test of one factor
    shared_interval: tuple[float, float]  # of a correlation that all pairs share
    share: float  # of the second factor by pairwise likelihood
    share_interval: tuple[float, float]
    p_share: float  # of that share under one factor
    second_share: float  # second eigenvalue of the tetrachoric matrix over the number of models
    p_second: float  # of that eigenvalue under one factor
    counted: bool  # whether parallel analysis by permutation would count the second
    empty_cells: EmptyCells
    alpha: float

    def shared(self, smallest: SmallestEffects) -> Outcome:
        """Return whether models share anything."""
        if self.n_factors > 0:
            return Outcome.ABOVE
        return outcome(self.shared_interval, smallest=smallest.correlation, rejected=False)

    def second(self, smallest: SmallestEffects) -> Outcome:
        """Return whether there is a second factor."""
        # A single factor that is skewed, heavy-tailed or measured with logistic noise is not
        # normal, and large tables show it: a share that one such factor leaves shows no second.
        rejected = self.n_factors == 2 and self.p_share <= self.alpha
        rejected = rejected and self.share >= smallest.second_share
        return outcome(self.share_interval, smallest=smallest.second_share, rejected=rejected)


def shared_interval(
    eigenvalue: float, thresholds: FloatArray, n: FloatArray, alpha: float
) -> tuple[float, float]:
    """Bound a correlation common to all pairs by the largest eigenvalue of their residuals."""
    # With z the standardised residuals under independence, M their expectation at a correlation,
    # lambda its largest eigenvalue and x the eigenvector, the eigenvalue of z is at least x'zx:
    # mean lambda, standard deviation sqrt(2) (1 + lambda / sqrt(n)) for pairs that share answers.
    first, second = np.triu_indices(thresholds.size, 1)
    low, high = -thresholds[first], -thresholds[second]
    yes = ndtr(low), ndtr(high)
    spread = np.sqrt(n[first, second] * yes[0] * yes[1] * ndtr(-low) * ndtr(-high) + 0.5)
    z, size = float(ndtri(1.0 - alpha / 2.0)), float(np.sqrt(max(n[first, second].mean(), 1.0)))

    def excess(correlation: float) -> float:
        joint = orthants(low, high, correlation) - yes[0] * yes[1]
        expected = np.zeros(n.shape)
        expected[first, second] = n[first, second] * joint / spread
        top = float(np.linalg.eigvalsh(expected + expected.T)[-1])
        return top - z * math.sqrt(2.0) * (1.0 + top / size)

    largest = 0.999
    if excess(largest) <= eigenvalue:
        return 0.0, 1.0
    return 0.0, float(brentq(lambda r: excess(r) - eigenvalue, 0.0, largest, xtol=1e-6))


def share_interval(observed: float, draws: FloatArray, alpha: float) -> tuple[float, float]:
    """Bound the share of a second factor, given its `draws` where there is none."""
    # Chance adds most to a share where there is no second factor, and less the larger that is: the
    # lower bound takes off what one factor reaches by chance, the upper one takes off nothing.
    middle, top = np.quantile(draws, [0.5, 1.0 - alpha / 2.0])
    return max(observed - float(top), 0.0), observed + float(top - middle)


def verdict(evidence: Evidence, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the verdict in one sentence."""
    count, second = evidence.n_factors, evidence.second(smallest)
    least = percent(smallest.second_share, 1)
    if count == 0:
        chance = (
            "models agree on questions no more than chance allows, given their yes rates "
            f"({p_equals(evidence.p_shared)})"
        )
        if evidence.shared(smallest) is Outcome.SMALL:
            return (
                f"no shared factor that matters: {chance}, and the correlation of their latent "
                f"answers is below {smallest.correlation:g}"
            )
        return (
            f"no shared factor is shown: {chance}; there are too few questions to rule out one "
            f"with correlations of {smallest.correlation:g} or more"
        )
    share = f"a second takes {percent(evidence.share, 1)} of the latent variance"
    if count == 1:
        if second is Outcome.SMALL:
            return f"one factor; {_second(evidence)}"
        return (
            "one factor, and too few questions to rule out that a second takes "
            f"{least} of the latent variance or more; {_second(evidence)}"
        )
    if second is Outcome.SMALL:
        return (
            "not quite one normal factor: pairs of models depart from it more than chance allows "
            f"({p_equals(evidence.p_one)}), but a second takes only "
            f"{percent(evidence.share, 1)} of the latent variance, as little as a single skewed "
            "or heavy-tailed factor leaves"
        )
    if second is Outcome.OPEN:
        why = (
            f"no more than one factor gives by chance ({p_equals(evidence.p_share)})"
            if evidence.p_share > evidence.alpha
            else "which a single skewed or heavy-tailed factor may leave"
        )
        return (
            "not quite one factor: some pairs of models depart from it more than chance allows "
            f"({p_equals(evidence.p_one)}), but {share}, {why}"
        )
    return (
        "at least two factors: pairs of models depart from one factor more than chance allows "
        f"({p_equals(evidence.p_one)}), and {share} without any empty-cell rule"
    )


def _second(evidence: Evidence) -> str:
    """Say what the second component of the plain spectrum is, given one factor."""
    share = f"the second ({percent(evidence.second_share)})"
    if evidence.p_second <= evidence.alpha:
        return (
            f"{share} is larger than one factor gives under empty_cells={evidence.empty_cells!r} "
            f"({p_equals(evidence.p_second)}), but the residuals of the pairs, which need no "
            f"rule, show no second factor ({p_equals(evidence.p_one)})"
        )
    if evidence.counted:
        return (
            f"{share} is an artefact: it is what one factor with these thresholds produces under "
            f"empty_cells={evidence.empty_cells!r} ({p_equals(evidence.p_second)})"
        )
    chance = p_equals(evidence.p_second)
    return f"{share} is what one factor with these thresholds produces ({chance})"
