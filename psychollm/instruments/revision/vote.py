r"""Refine n times and vote: does it beat one answer, and what does it cost?.

After r rounds of review the answers of the chains of a question vote; the most frequent one wins.
Where several tie, the vote is right with the share of them that are. Compared are the accuracy of
one chain alone, of the vote, and the tokens that each spends on a question.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.repeated_share import repeated_difference, repeated_share
from psychollm.instruments.revision.chains import Chains


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Voting(Result):
    """Accuracy and cost after each round of review, of one chain and of the vote of all."""

    single: Estimate  # (rounds,) accuracy of one chain
    voted: Estimate  # (rounds,) accuracy of the vote
    gain: Estimate  # (rounds,) vote after the round minus one first answer, paired
    single_tokens: FloatArray  # (rounds,) per question, NaN where not known
    voted_tokens: FloatArray  # (rounds,)
    n_chains: int

    _AXES = Axes(
        {"round": "single.labels"}, "single", "voted", "gain", "single_tokens", "voted_tokens"
    )


def vote(answers: Sequence[str | None], correct: Sequence[float]) -> float:
    """Return whether the most frequent answer is right; of tied ones the share that is."""
    # Missing answers do not vote.
    cast = [
        (said, right)
        for said, right in zip(answers, correct, strict=True)
        if said is not None and np.isfinite(right)
    ]
    if not cast:
        return float("nan")
    # One answer may be graded right and wrong in different words of one number: the mean counts.
    counts = Counter(said for said, _ in cast)
    most = max(counts.values())
    tied = [said for said, count in counts.items() if count == most]
    worth = [np.mean([right for said, right in cast if said == one]) for one in tied]
    return float(np.mean(worth))


def voting(chains: Chains, n_rounds: int, *, level: float = 0.95) -> Voting:
    """Compare one chain with the vote of all, after each round.

    Examples
    --------
    >>> from psychollm.instruments.revision import Revision
    >>> asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}], n_chains=3)
    >>> voting(asked.score({}).by_chain(), 1).single.labels
    (0, 1)
    """
    items = tuple(dict.fromkeys(chains.items))
    rows = [np.array([one == item for one in chains.items], dtype=np.bool_) for item in items]
    single, voted, gain = {}, {}, {}
    first = np.array([_mean(chains.correct("first")[row]) for row in rows], dtype=np.float64)
    for number in range(n_rounds + 1):
        stage = "revised" if number else "first"
        right, said = chains.correct(stage, number), chains.said(stage, number)
        known = np.isfinite(right)
        single[number] = (
            np.array([right[row & known].sum() for row in rows], dtype=np.float64),
            np.array([(row & known).sum() for row in rows], dtype=np.float64),
        )
        votes = np.array(
            [
                vote([said[place] for place in np.flatnonzero(row)], right[row].tolist())
                for row in rows
            ],
            dtype=np.float64,
        )
        voted[number] = (np.nan_to_num(votes), np.isfinite(votes).astype(np.float64))
        gain[number] = (votes, first)
    costs = _costs(chains, n_rounds)
    return Voting(
        single=repeated_share("accuracy of one chain", single, level=level, axis="round"),
        voted=repeated_share("accuracy of the vote", voted, level=level, axis="round"),
        gain=repeated_difference(
            "vote minus one first answer", gain, units=items, level=level, axis="round"
        ),
        single_tokens=np.array([_mean(cost) for cost in costs], dtype=np.float64),
        voted_tokens=np.array([_summed(cost, rows) for cost in costs], dtype=np.float64),
        n_chains=max(chains.numbers, default=0),
    )


def _costs(chains: Chains, n_rounds: int) -> FloatArray:
    """Return the tokens of each chain up to each round (rounds, chains)."""
    total = chains.spent("first", 0)
    found = [total]
    for number in range(1, n_rounds + 1):
        total = total + chains.spent("critique", number) + chains.spent("revised", number)
        found.append(total)
    return np.array(found, dtype=np.float64).reshape(n_rounds + 1, len(chains.items))


def _summed(cost: FloatArray, rows: Sequence[BoolArray]) -> float:
    return _mean(np.array([cost[row].sum() for row in rows], dtype=np.float64))


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
