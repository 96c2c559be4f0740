"""Verdict on the number of common factors: evidence, bounds and text."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from psychollm._base.numbers import count, p_equals, percent, with_interval
from psychollm._base.types import Axis, EmptyCells, FloatArray
from psychollm.estimates.findings import sentence, sentence_list
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.kernels.bivariate import orthants
from psychollm.studies.dimensionality.lapse_tests import STRICT, WithLapses

PAIRS = 3  # maximum number of groups that are named
FEW = 4  # maximum number of models that are named per group


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Numbers on which the verdict is based."""

    n_factors: Literal[0, 1, 2]
    p_shared: float  # p-value of the residual test of no factor
    p_one: float  # p-value of the residual test of one factor
    shared_interval: tuple[float, float]  # bounds of a correlation common to all pairs
    share: float  # proportion of variance of the second factor, by pairwise likelihood
    share_interval: tuple[float, float]
    p_share: float  # p-value of this proportion under one factor
    alpha: float
    # P-value of the second tetrachoric eigenvalue under one factor, None if not computed, and
    # whether parallel analysis by permutation counts this eigenvalue as a factor.
    p_second: float | None = None
    counted: bool = False
    empty_cells: EmptyCells = "keep_margins"
    # model with lapses, which is fitted only if one normal factor is rejected
    lapses: WithLapses | None = None
    near_copies: tuple[tuple[Hashable, ...], ...] = ()  # groups that agree more than predicted
    of: Axis = "models"  # side of the table whose factors are counted

    def shared(self, smallest: SmallestEffects) -> Outcome:
        """Return whether a common factor is significant, negligible or inconclusive."""
        if self.n_factors > 0:
            return Outcome.ABOVE
        return outcome(self.shared_interval, smallest=smallest.correlation, rejected=False)

    def second(self, smallest: SmallestEffects) -> Outcome:
        """Return whether a second factor is significant, negligible or inconclusive."""
        # Large tables reject normality of a single skewed, heavy-tailed or logistic factor. A
        # proportion of variance that such a factor can produce is no evidence for a second factor.
        rejected = self.n_factors == 2 and self.share >= smallest.second_share
        return outcome(self.share_interval, smallest=smallest.second_share, rejected=rejected)


def shared_interval(
    eigenvalue: float, thresholds: FloatArray, n: FloatArray, alpha: float
) -> tuple[float, float]:
    """Return bounds of the correlation of all pairs, given the largest residual eigenvalue."""
    # Let z be the matrix of standardised residuals under independence and M its expectation at a
    # given correlation. M has the largest eigenvalue lambda, with eigenvector x. The largest
    # eigenvalue of z is at least x'zx, which has mean lambda and standard deviation
    # sqrt(2) (1 + lambda / sqrt(n)). The last factor allows for pairs that share answers.
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
    """Return bounds of a second factor's proportion, given its `draws` under one factor."""
    # Chance inflates the estimated proportion most if there is no second factor, and less if the
    # second factor is large. Therefore only the lower bound subtracts the chance level.
    middle, top = np.quantile(draws, [0.5, 1.0 - alpha / 2.0])
    return max(observed - float(top), 0.0), observed + float(top - middle)


def verdict(evidence: Evidence, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the verdict in one or two sentences."""
    n, second = evidence.n_factors, evidence.second(smallest)
    least = percent(smallest.second_share, 1)
    if n == 0:
        chance = (
            f"agreement between {evidence.of} is within the range expected by chance, given their "
            f"yes rates ({p_equals(evidence.p_shared)})"
        )
        if evidence.shared(smallest) is Outcome.SMALL:
            return (
                f"there is no relevant common factor: {chance}, and the correlation of their "
                f"latent answers is below {smallest.correlation:g}"
            )
        return (
            f"there is no significant common factor: {chance}; a factor with correlations of "
            f"{smallest.correlation:g} or more cannot be excluded"
        )
    low, high = (percent(bound, 1) for bound in evidence.share_interval)
    share = f"{percent(evidence.share, 1)} [{low}, {high}] of the latent variance"
    if evidence.lapses is None:
        if second is Outcome.SMALL:
            return f"one factor is found; {_second(evidence)}"
        return (
            f"one factor is found; a second factor that explains at least {least} of the latent "
            f"variance cannot be excluded. {sentence(_second(evidence))}"
        )
    p_with = p_equals(evidence.lapses.p_value)
    alike = _alike(evidence.near_copies)
    if evidence.lapses.undecided(evidence.alpha) and second is not Outcome.SMALL:
        median = percent(float(np.median(evidence.lapses.fit.rate.value)), 1)
        return (
            f"one normal factor is rejected ({p_equals(evidence.p_one)}), but the reason is "
            f"unclear: either a second factor explains {share}, or models lapse or guess (in "
            f"{median} of the answers for the median {evidence.of[:-1]}); the two explanations "
            f"have similar likelihoods{alike}"
        )
    if n == 1 and evidence.lapses.p_value <= evidence.alpha:
        but = f"is reported only if p is at most {STRICT * evidence.alpha:.3g}"
        if evidence.p_share > evidence.alpha:
            but = f"is within the range expected by chance ({p_equals(evidence.p_share)})"
        return (
            "one dominant factor with local dependence: one factor is rejected, also with lapses "
            f"({p_with}), but a second factor with {share} {but}{alike}"
        )
    if n == 1:
        rest = (
            f"a second factor explains at most {high} of the latent variance"
            if second is Outcome.SMALL
            else (
                f"a second factor that explains up to {high} of the latent variance cannot be "
                "excluded"
            )
        )
        return (
            f"one factor, {_lapses(evidence.lapses, evidence.of)}; without lapses one factor is "
            f"rejected ({p_equals(evidence.p_one)}), with lapses it is not ({p_with}); {rest}"
        )
    why = f"one factor is rejected, also with lapses ({p_with})"
    if not evidence.lapses.rejected(evidence.alpha):
        gap = evidence.lapses.two_factors.difference
        why = (
            f"one factor is rejected ({p_equals(evidence.p_one)}), and two factors describe the "
            "answers better than one factor with lapses (corrected log-likelihood higher by "
            f"{with_interval(gap.value[0], gap.interval[0], 0)})"
        )
    if second is Outcome.ABOVE:
        return f"at least two factors: {why}, and a second factor explains {share}{alike}"
    return (
        f"one dominant factor with local dependence: {why}, but a second factor explains only "
        f"{share}; a skewed or heavy-tailed factor, or a few similar {evidence.of}, can produce "
        f"this{alike}"
    )


def _lapses(lapses: WithLapses, of: Axis) -> str:
    """Return the lapse rates in words."""
    rate = lapses.fit.rate
    if not lapses.fit.evident:
        return "with tails that are not normal"
    most = int(np.argmax(rate.value))
    low, high = (percent(bound, 1) for bound in rate.interval[most])
    median = percent(float(np.median(rate.value)), 1)
    middle = {
        "models": f"the median model answers {median} of the questions at random",
        "questions": f"{median} of the models answer the median question at random",
    }
    return (
        f"with lapses: {middle[of]} (most: {rate.labels[most]}, "
        f"{percent(float(rate.value[most]), 1)} [{low}, {high}])"
    )


def _alike(groups: tuple[tuple[Hashable, ...], ...]) -> str:
    """Return the names of models that are more similar than the factor explains, as text."""
    if not groups:
        return ""
    named = [sentence_list(group, most=FEW) for group in groups[:PAIRS]]
    if (more := len(groups) - PAIRS) > 0:
        named.append("one more group" if more == 1 else f"{count(more)} more groups")
    return f"; more similar than the factor explains: {'; '.join(named)}"


def _second(evidence: Evidence) -> str:
    """Describe the evidence on the second eigenvalue of the tetrachoric correlations."""
    # Omit the proportion of total variance: the verdict reports the proportion of latent variance.
    share = "the second eigenvalue"
    if evidence.p_second is None:
        low, high = (percent(bound, 1) for bound in evidence.share_interval)
        return (
            f"the interval for a second factor's proportion of latent variance is {low} to {high}"
        )
    if evidence.p_second <= evidence.alpha:
        return (
            f"{share} is larger than under one factor with empty_cells={evidence.empty_cells!r} "
            f"({p_equals(evidence.p_second)}), but the residuals of the pairs, which need no "
            f"continuity correction, show no second factor ({p_equals(evidence.p_one)})"
        )
    if evidence.counted:
        return (
            f"{share} is an artefact, because one-factor data simulated with the same thresholds "
            "and "
            f"empty_cells={evidence.empty_cells!r} have an equally large second eigenvalue "
            f"({p_equals(evidence.p_second)})"
        )
    chance = p_equals(evidence.p_second)
    return (
        f"{share} is no larger than expected by chance under one factor with the same thresholds "
        f"({chance})"
    )
