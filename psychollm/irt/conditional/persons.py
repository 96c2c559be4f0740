r"""Abilities of respondents given Rasch items estimated conditionally.

* ML: the ability at which the expected number of yes is the observed one,
  :math:`\sum_{j \in S} P_j(\theta) = r`; none where all answers are yes, or all are no.
* WLE: Warm's weighted likelihood, finite for these too.

Abilities and difficulties are in logits, difficulties with mean 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from psychollm._base.checks import check_choice
from psychollm.data.coerce import check_binary
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.irt.ability import Abilities, modes, reliability, why_none
from psychollm.irt.answers import answers_to, patterns_of
from psychollm.irt.conditional.rasch import ConditionalRasch
from psychollm.irt.families import Dichotomous

Method = Literal["ml", "wle"]


def rasch_ability(
    fit: ConditionalRasch,
    responses: ResponsesLike,
    *,
    method: Method = "wle",
) -> Abilities:
    """Estimate abilities from answers to Rasch items.

    Parameters
    ----------
    fit : ConditionalRasch
        Items; those without estimates are left out.
    responses : Responses or table
        Answers to the same items, oriented like the table that was fitted; respondents may be
        others.
    method : {"wle", "ml"}
        Warm's weighted likelihood, or the likelihood's mode.

    Raises
    ------
    ShapeError
        If the items are not those of the fit.

    Examples
    --------
    >>> from psychollm.irt.conditional.rasch import conditional_rasch
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> rasch_ability(conditional_rasch(answers), [[0, 0, 1, 1, 1]]).ability.round(2)
    array([0.41])
    """
    check_choice("method", method, Method)
    table = as_responses(responses)
    check_binary(table)
    answers = answers_to(responses, fit.labels, fit.respondents)
    keep = fit.fitted
    patterns = patterns_of(answers.codes[:, keep], 2)
    easiness = -fit.difficulty[keep]
    parameters = np.column_stack([np.ones(easiness.size), easiness])
    value, se = modes(method, Dichotomous("rasch", "logit"), parameters, patterns.codes)
    reasons = why_none(method, patterns.codes, value)
    undefined = np.array([bool(reason) for reason in reasons])
    value, se = np.where(undefined, np.nan, value), np.where(undefined, np.nan, se)
    everyone = patterns.of_respondent
    return Abilities(
        ability=value[everyone],
        se=se[everyone],
        method=method,
        reliability=reliability(value[everyone], se[everyone]),
        reasons=tuple(reasons[place] for place in everyone),
        labels=answers.respondents,
    )
