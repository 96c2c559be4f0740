"""Integer codes of votes, in parts that fit into a processor's cache, and state of the fit."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from psychollm._base.types import BoolArray, FloatArray, IntArray

_VOTES = 50_000  # number of votes per part, unless a voter has more
_VOTERS = 5_000


class Part(NamedTuple):
    """Votes of a subset of the voters."""

    votes: slice
    voters: slice
    table: "Votes"


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """Votes with integer codes, sorted by voter."""

    left: IntArray  # (votes,) index of the model
    right: IntArray
    wins: FloatArray  # (3, votes) weight of left, tie and right
    voter: IntArray  # (votes,) index of the voter; empty if voters are unknown
    prompt: IntArray  # (votes,) index of the prompt; empty if prompts are unknown
    own: IntArray  # (votes,) index of the kind with deviations, -1 for the others
    x: FloatArray  # (votes, covariates) left minus right
    k: int  # models
    n_voters: int
    n_own: int

    @cached_property
    def n(self) -> FloatArray:
        """Weight of each vote (votes,)."""
        return np.asarray(self.wins.sum(axis=0), np.float64)

    @property
    def n_parameters(self) -> int:
        """Number of parameters: strengths, deviations of kinds of voters, and covariates."""
        return int(self.k * (1 + self.n_own) + self.x.shape[1])

    @cached_property
    def is_own(self) -> BoolArray:
        """Whether a parameter is a deviation of a kind of voters (parameters,)."""
        place = np.arange(self.n_parameters)
        return np.asarray((place >= self.k) & (place < self.k * (1 + self.n_own)))

    @cached_property
    def ends(self) -> IntArray:
        """Index of each voter's first vote, and the total number of votes (voters + 1,)."""
        each = np.bincount(self.voter, minlength=self.n_voters)
        return np.concatenate([[0], np.cumsum(each)]).astype(np.int64)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The votes, divided into parts that are processed separately."""
        n = self.left.size
        if not self.n_voters:
            cuts = range(0, n, _VOTES)
            return tuple(self._part(slice(a, min(a + _VOTES, n)), slice(0, 0)) for a in cuts)
        ends = self.ends
        found, first = [], 0
        while first < self.n_voters:
            fits = int(np.searchsorted(ends, ends[first] + _VOTES, side="right")) - 1
            last = min(max(fits, first + 1), first + _VOTERS, self.n_voters)
            rows = slice(int(ends[first]), int(ends[last]))
            found.append(self._part(rows, slice(first, last)))
            first = last
        return tuple(found)

    def _part(self, rows: slice, voters: slice) -> Part:
        if rows == slice(0, self.left.size):
            return Part(rows, voters, self)
        return Part(rows, voters, self._of(rows, self.voter[rows] - voters.start, voters))

    def _of(self, rows: Any, voter: IntArray, voters: slice) -> "Votes":
        return Votes(
            left=self.left[rows],
            right=self.right[rows],
            wins=self.wins[:, rows],
            voter=voter,
            prompt=self.prompt[rows] if self.prompt.size else self.prompt,
            own=self.own[rows],
            x=self.x[rows],
            k=self.k,
            n_voters=len(range(*voters.indices(self.n_voters))),
            n_own=self.n_own,
        )

    def of_every(self, step: int) -> "Votes":
        """Return the votes of every `step`-th voter."""
        rows = np.flatnonzero(self.voter % step == 0)
        return self._of(rows, self.voter[rows] // step, slice(None, None, step))

    def scaled(self, slope: FloatArray) -> csr_array:
        """Return the design matrix times discrimination, except in the columns of deviations."""
        found = self.design.copy()
        row = np.repeat(np.arange(self.left.size), np.diff(found.indptr))
        factor = np.broadcast_to(slope, self.left.shape)[row]
        if self.n_own:
            factor = np.where(self.is_own[found.indices], 1.0, factor)
        found.data *= factor
        return found

    @cached_property
    def design(self) -> csr_array:
        """Design matrix (votes, parameters) of strengths, deviations of kinds and covariates."""
        rows = np.arange(self.left.size)
        one = np.ones(self.left.size)
        parts = [(rows, self.left, one), (rows, self.right, -one)]
        mine = np.flatnonzero(self.own >= 0)
        if mine.size:
            base = self.k * (1 + self.own[mine])
            parts += [
                (mine, base + self.left[mine], one[mine]),
                (mine, base + self.right[mine], -one[mine]),
            ]
        first = self.k * (1 + self.n_own)
        for j, column in enumerate(self.x.T):
            parts.append((rows, np.full(rows.size, first + j), column))
        row, column, value = (np.concatenate(one) for one in zip(*parts, strict=True))
        return csr_array((value, (row, column)), shape=(rows.size, self.n_parameters))


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """Current iterate of the fit."""

    phi: FloatArray  # strengths, deviations of kinds, covariates, side and ties
    effects: FloatArray  # (voters, 3) side, ties and discrimination of each voter
    roots: FloatArray  # (voters, 3, 3) square roots of the effects' posterior covariance
    sd: FloatArray  # (3,) SDs of the effects of voters
    spread: FloatArray  # (1 + own,) SD of strengths, and of each kind's deviations

    def of(self, part: Part) -> "State":
        """Return the state for a part of the votes; its arrays share memory with this state."""
        return State(
            phi=self.phi,
            effects=self.effects[part.voters],
            roots=self.roots[part.voters],
            sd=self.sd,
            spread=self.spread,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """Options of the voting model."""

    side: bool
    ties: bool
    prior: float | None  # SD of strengths, None to estimate it

    def free(self) -> BoolArray:
        """Return which effects of voters are estimated: side, ties, discrimination."""
        return np.array([self.side, self.ties, True])
