"""The sentence at the end of `dimensionality`, and how many factors each rule counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.numbers import p_equals, percent
from psychollm._base.types import EmptyCells
from psychollm.estimates.null import Null
from psychollm.factor.number_of_factors.parallel import leading

# A single factor that is skewed, heavy-tailed or measured with logistic noise is not normal, and
# large tables show it. Its second share stayed below .02 in simulations, see
# benchmarks/one_factor_departures.py; two factors correlated .9 had .026 or more.
MINOR = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers that the verdict rests on."""

    p_shared: float  # rule-free test of no factor
    p_one: float  # rule-free test of one factor
    second_share: float  # second eigenvalue of the tetrachoric matrix over the number of models
    p_second: float  # of that eigenvalue under one factor
    counted: bool  # whether parallel analysis by permutation would count the second
    rule_free_share: float  # of the second factor by pairwise likelihood
    p_share: float  # of that share under one factor
    unseen: float  # share of a second that one factor reaches by chance in 1 of 20 tables
    empty_cells: EmptyCells
    alpha: float


def n_factors(evidence: Evidence) -> Literal[0, 1, 2]:
    """Return 0, 1, or 2 for "at least two"; the plain spectrum has no say in it."""
    if evidence.p_shared > evidence.alpha:
        return 0
    return 1 if evidence.p_one > evidence.alpha else 2


def sentence(evidence: Evidence) -> str:
    """Return the verdict in one sentence."""
    count = n_factors(evidence)
    if count == 0:
        return (
            "no shared factor is shown: models agree on questions no more than chance allows, "
            f"given their yes rates ({p_equals(evidence.p_shared)})"
        )
    if count == 2 and evidence.rule_free_share < MINOR:
        return (
            "not quite one normal factor: pairs of models depart from it more than chance allows "
            f"({p_equals(evidence.p_one)}), but a second takes only "
            f"{percent(evidence.rule_free_share, 1)} of "
            "the latent variance, as little as a single skewed or heavy-tailed factor leaves"
        )
    if count == 2 and evidence.p_share > evidence.alpha:
        return (
            "not quite one factor: some pairs of models depart from it more than chance allows "
            f"({p_equals(evidence.p_one)}), but a second takes "
            f"{percent(evidence.rule_free_share, 1)} of the latent variance, "
            "no more than one factor gives by chance "
            f"({p_equals(evidence.p_share)})"
        )
    if count == 2:
        return (
            "at least two factors: pairs of models depart from one factor more than chance allows "
            f"({p_equals(evidence.p_one)}), and a second takes "
            f"{percent(evidence.rule_free_share, 1)} of the latent variance "
            "without any empty-cell rule"
        )
    # That one factor is not rejected shows that there is no other only where it would be seen.
    blind = (
        f"; a second below {percent(evidence.unseen, 1)} of the latent variance could not "
        "be told from chance in these data"
        if evidence.unseen >= MINOR
        else ""
    )
    return f"one factor; {_second(evidence)}{blind}"


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


def count_factors(permutation: Null, one_factor: Null, *, tested: int) -> Mapping[str, int]:
    """Return the number of factors by each rule, from nulls of eigenvalues (k,)."""
    # ``tested`` is the verdict of the rule-free test. The one-factor null says nothing about
    # the first eigenvalue, which it reproduces by construction, so there the count starts at
    # one.
    observed = np.asarray(permutation.observed)
    top = one_factor.quantile(0.95)
    return {
        "rule-free residual test": tested,
        "one-factor null, 95 %": 1 + leading(observed[1:], top[1:]),
        "permutation null, 95 %": leading(observed, permutation.quantile(0.95)),
        "permutation null, mean": leading(observed, permutation.mean),
        "Kaiser (eigenvalue > 1)": int(np.sum(observed > 1.0)),
    }
