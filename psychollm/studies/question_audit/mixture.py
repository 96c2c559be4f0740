r"""Probability of each fault of each question, from a mixture over kinds of questions.

A question of group g is of kind k with probability :math:`\pi_{gk}`. The proportion of wrong keys
differs between groups, since groups have different authors. The proportion of wrong keys is
estimated for each group and shrunk towards the proportion of the whole table. The proportion of
the whole table is shrunk towards the proportion that experts found in MMLU-Redux. The proportions
of all other kinds are fixed at the experts' values for MMLU-Redux.

A sound question may be a *misconception item*: on one sound question in a hundred, models behave
as if another option were right. Choices cannot distinguish a misconception item from a wrong key.
The proportion of misconception items, which is fixed by the experts' judgements, therefore bounds
the probability of a wrong key. Most questions with other faults are answered like sound questions,
because models understand the intended meaning.

Wrong keys also come in runs, for example if a column of keys is shifted by a row, or a page is
misread. A hidden Markov chain along the table models runs of wrong keys. After a question outside
runs, a run begins with probability .001. A run has ten questions on average, and most of its keys
are wrong. The probability and length of runs are assumed, not estimated; a shuffled table shows no
runs. With binary scores, runs are not modelled, since a run of hard questions looks like a run of
wrong keys. With binary scores, the proportions of groups are also shrunk more strongly towards the
proportion of the whole table.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.question_audit.evidence import MEANS, Picked, concentration, likelihoods


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Prior of the faults, from benchmarks whose questions experts judged."""

    # shares: proportions of sound questions and of FAULTS outside runs. table, group: weights, in
    # questions, of the prior of the table and of that of a group. trap: misconception items among
    # sound questions. visible: proportion of other faults that do not look sound. begins, ends:
    # transition probabilities of runs. stretch: proportions inside runs.
    shares: tuple[float, ...] = (0.955, 0.012, 0.008, 0.004, 0.021)
    trap: float = 0.01
    visible: float = 0.2
    table: float = 300.0
    group: float = 100.0
    begins: float = 0.001
    ends: float = 0.1
    stretch: tuple[float, ...] = (0.10, 0.80, 0.03, 0.02, 0.05)


CONSTANTS = Constants()
_ITERATIONS = 12
_SPREADS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)  # SD of easiness within a group
_GROUP_SPREAD = 1.5  # starting value of the SD of mean easiness between groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Posterior of each question's kind and of runs of wrong keys, with parameters of groups."""

    kinds: FloatArray  # (questions, kinds)
    stretch: FloatArray  # (questions,) probability of being in a run of wrong keys
    share: FloatArray  # (groups,) proportion of wrong keys, outside runs
    ease: FloatArray  # (groups,) mean easiness, in logits
    evidence: float  # log-likelihood of the table


def fitted(
    picked: Picked, groups: IntArray, known: Constants = CONSTANTS, spread: float | None = None
) -> tuple[Posterior, float]:
    """Return the posterior, and the SD of easiness within groups, estimated by default."""
    if picked.binary:
        known = replace(known, begins=0.0, group=known.table)
    alpha = concentration(picked)

    def at(value: float) -> Posterior:
        return posterior(likelihoods(picked, value, alpha), groups, known)

    if spread is not None:
        return at(spread), spread
    # The search starts in the middle of the grid, since the evidence has a single maximum.
    place, best = 4, at(_SPREADS[4])
    for step in (1, -1):
        moved = False
        while 0 <= place + step < len(_SPREADS):
            one = at(_SPREADS[place + step])
            if one.evidence <= best.evidence:
                break
            place, best, moved = place + step, one, True
        if moved:
            break
    return best, _SPREADS[place]


def posterior(logs: FloatArray, groups: IntArray, known: Constants = CONSTANTS) -> Posterior:
    """Return the posterior given log-likelihoods of questions (means, questions, kinds)."""
    logs = logs.copy()
    logs[..., 2:] = np.logaddexp(
        np.log(known.visible) + logs[..., 2:], np.log1p(-known.visible) + logs[..., :1]
    )
    logs[..., 0] = np.logaddexp(
        np.log1p(-known.trap) + logs[..., 0], np.log(known.trap) + logs[..., 1]
    )
    n_groups = int(groups.max()) + 1
    chains = [np.flatnonzero(groups == one) for one in range(n_groups)]
    usual, slipped = np.array(known.shares), np.array(known.stretch)
    wrong, stretch = np.full(n_groups, usual[1]), np.zeros(len(groups))
    center, spread = 5.0, _GROUP_SPREAD
    scale = logs.max(axis=(0, 2))
    chances = np.exp(logs - scale[:, None])
    for _ in range(_ITERATIONS):
        shares = _shares(usual, wrong)[groups]
        mixed = (1.0 - stretch)[:, None] * shares + stretch[:, None] * slipped
        total = np.log(np.maximum(np.einsum("mqk,qk->mq", chances, mixed), 1e-300))
        prior = -0.5 * ((MEANS - center) / spread) ** 2
        sums = np.stack([np.bincount(groups, row, n_groups) for row in total])
        within = sums + (prior - logsumexp(prior))[:, None]
        means = np.exp(within - logsumexp(within, axis=0))
        ease = MEANS @ means
        center = float(ease.mean())
        if n_groups > 1:
            between = (means * (MEANS[:, None] - center) ** 2).sum(axis=0).mean()
            spread = max(float(np.sqrt(between)), 0.25)
        own = np.einsum("mqk,mq->qk", chances, means[:, groups])
        if known.begins > 0.0:
            stretch = _stretches(own @ slipped, (own * shares).sum(axis=1), chains, known)
        outside = 1.0 - stretch
        found = np.bincount(groups, outside * _rows(own * shares)[:, 1], n_groups)
        n = np.bincount(groups, outside, n_groups)
        table = (found.sum() + known.table * usual[1]) / (n.sum() + known.table)
        wrong = (found + known.group * table) / (n + known.group)
    shares = _shares(usual, wrong)[groups]
    kinds = outside[:, None] * _rows(own * shares) + stretch[:, None] * _rows(own * slipped)
    evidence = float(logsumexp(within, axis=0).sum() + scale.sum())
    return Posterior(kinds=kinds, stretch=stretch, share=wrong, ease=ease, evidence=evidence)


def _rows(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _shares(usual: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the proportions of kinds, given the proportions of wrong keys (groups, kinds)."""
    shares = np.outer((1.0 - wrong) / (1.0 - usual[1]), usual)
    shares[:, 1] = wrong
    return shares


def _stretches(
    slipped: FloatArray, usual: FloatArray, chains: list[IntArray], known: Constants
) -> FloatArray:
    """Return each question's probability of being in a run, by the forward-backward algorithm."""
    out = np.zeros(len(slipped))
    begins, ends = known.begins, known.ends
    first = begins / (begins + ends)
    ratio = np.clip(slipped / np.maximum(usual, 1e-300), 1e-6, 1e6)
    for chain in chains:
        own = ratio[chain].tolist()
        ahead, inside = [], first
        for place, one in enumerate(own):
            if place:
                inside = inside * (1.0 - ends) + (1.0 - inside) * begins
            inside = inside * one / (inside * one + 1.0 - inside)
            ahead.append(inside)
        yes = no = 1.0
        for place in range(len(own) - 1, -1, -1):
            inside = ahead[place]
            out[chain[place]] = inside * yes / (inside * yes + (1.0 - inside) * no)
            weighed = own[place] * yes
            yes, no = (
                (1.0 - ends) * weighed + ends * no,
                begins * weighed + (1.0 - begins) * no,
            )
            yes, no = yes / (yes + no), no / (yes + no)
    return out
