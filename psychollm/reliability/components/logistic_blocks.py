r"""Mode of the effects in a crossed logistic model, given their standard deviations.

Levels of models in domains are :math:`a_d = \mu 1 + A s + R z_d` with standard normal s (models
and families) and :math:`z_d` (the domain, and models within it),

.. math:: A = [\sigma_M I,\; \sigma_F Z], \qquad R = [\sigma_{MD} I,\; \sigma_D 1].       \quad (1)

Standard deviations of zero therefore need no special case. With the scores :math:`g_d` and
informations :math:`H_d` of `logistic_cells`, :math:`G = [1, A]` and :math:`J = \operatorname{diag}
(0, I)`, the Hessian of all effects has the blocks

.. math:: K_d = I + R^\top H_d R, \quad U_d = R^\top H_d G, \quad
          S = J + \sum_d \bigl(G^\top H_d G - U_d^\top K_d^{-1} U_d\bigr).               \quad (2)

For "reml" the mean is also integrated out, with a flat prior. The Laplace approximation of the log
likelihood is its value at the mode minus

.. math:: \tfrac12 \Bigl(\log|S| + \sum_d \log|K_d|\Bigr).                                \quad (3)

For "ml" the mean is an argument, and the first row and column of S are removed. The posterior of
the levels of a domain is close to normal, because all questions of the domain contribute to it.
The posterior of the effect of a single question is not close to normal, so questions are first
integrated out by quadrature.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.reliability.components.logistic_cells import (
    CellTable,
    Counted,
    Integration,
    Level,
)

EFFECTS = ("family", "model", "domain", "model:domain", "question", "model:question")
_NEWTON = 60
_GAIN = 1e-10
_NEAR = 1e-3
_FARTHEST = 10.0  # largest change of a level in one step, in logits
_LAST = 1e-6  # gain below which the iteration ends


class Deviations(NamedTuple):
    """Standard deviations of effects on the scale of logits."""

    family: float
    model: float
    domain: float
    model_domain: float
    question: float
    interaction: float


@dataclass(frozen=True)
class Design:
    """Numbers of answers, and groups of models and questions."""

    domains: tuple[Counted, ...]
    kinds: FloatArray  # (2, kinds) distinct pairs (number of correct answers, number of answers)
    families: IntArray | None  # (models,)
    active: tuple[int, ...]  # indices of the effects in the model
    n_models: int

    @classmethod
    def of(
        cls,
        hits: FloatArray,
        n: FloatArray,
        domains: IntArray | None,
        families: IntArray | None,
        *,
        integration: Integration,
        interaction: bool,
    ) -> "Design":
        """Split counts (models, questions) by domain."""
        codes = np.zeros(hits.shape[1], dtype=np.int64) if domains is None else domains
        base = float(n.max()) + 1.0
        pairs, rows = np.unique(hits * base + n, return_inverse=True)
        kinds = np.stack(np.divmod(pairs, base))
        rows = rows.reshape(hits.shape)

        def of_domain(one: int) -> Counted:
            own = codes == one
            return Counted(
                np.ascontiguousarray(hits[:, own].T),
                np.ascontiguousarray(n[:, own].T),
                np.ascontiguousarray(rows[:, own].T),
                integration,
            )

        parts = tuple(map(of_domain, range(int(codes.max()) + 1)))
        there = (
            families is not None,
            True,
            domains is not None,
            domains is not None,
            True,
            interaction,
        )
        active = tuple(np.flatnonzero(there).tolist())
        return cls(parts, kinds, families, active, len(hits))

    def deviations(self, free: FloatArray) -> Deviations:
        """Return all standard deviations, given the free standard deviations."""
        every = np.zeros(len(EFFECTS))
        every[list(self.active)] = free
        return Deviations(*every.tolist())

    def shared(self, sd: Deviations) -> FloatArray:
        """Return the matrix A of equation (1); columns of models are first."""
        models = sd.model * np.eye(self.n_models)
        if self.families is None:
            return models
        return np.concatenate([models, sd.family * one_hot(self.families)], axis=1)

    def local(self, sd: Deviations) -> FloatArray:
        """Return matrix R of equation (1); without domains, it has no columns."""
        if 2 not in self.active:
            return np.zeros((self.n_models, 0))
        own = sd.model_domain * np.eye(self.n_models)
        return np.concatenate([own, np.full((self.n_models, 1), sd.domain)], axis=1)


def one_hot(codes: IntArray) -> FloatArray:
    """Return the indicator matrix of group codes (codes, groups)."""
    return np.eye(int(codes.max()) + 1)[codes]


@dataclass
class State:
    """Latest mode, from which the next search starts."""

    mean: float
    s: FloatArray
    z: FloatArray  # (domains, columns of R)
    questions: list[FloatArray]  # modes of the questions of each domain
    table: CellTable  # likelihood of cells at the SD of the interaction
    interaction: float = 0.0

    def table_for(self, design: Design, interaction: float) -> CellTable:
        """Return the table of cells; reuse the latest table if the interaction is the same."""
        if interaction == self.interaction or design.domains[0].integration == "laplace":
            return self.table
        return CellTable.of(interaction, design.kinds)

    def flat(self) -> FloatArray:
        """Return all effects as one vector."""
        return np.concatenate([[self.mean], self.s, self.z.ravel(), *self.questions])

    def at(self, flat: FloatArray) -> "State":
        """Return a state with the given effects."""
        sizes = [1, self.s.size, self.z.size, *map(len, self.questions)]
        mean, s, z, *questions = np.split(flat, np.cumsum(sizes)[:-1])
        return State(
            float(mean[0]), s, z.reshape(self.z.shape), questions, self.table, self.interaction
        )

    @classmethod
    def at_start(cls, design: Design) -> "State":
        """Return a state whose mean is the logit of the overall proportion correct."""
        hits = sum(float(one.hits.sum()) for one in design.domains)
        n = sum(float(one.n.sum()) for one in design.domains)
        share = (hits + 1.0) / (n + 2.0)
        zero = design.deviations(np.zeros(len(design.active)))
        return cls(
            float(np.log(share / (1.0 - share))),
            np.zeros(design.shared(zero).shape[1]),
            np.zeros((len(design.domains), design.local(zero).shape[1])),
            [np.zeros(len(one.hits)) for one in design.domains],
            CellTable.of(0.0, design.kinds),
        )


@dataclass(frozen=True)
class Mode:
    """Mode of all effects at given standard deviations, with the blocks of equation (2)."""

    sd: Deviations
    log_likelihood: float
    state: State
    levels: FloatArray  # (domains, models)
    G: FloatArray
    R: FloatArray
    K: FloatArray  # (domains, columns of R, columns of R)
    U: FloatArray  # (domains, columns of R, columns of G)
    S: FloatArray
    converged: bool

    @cached_property
    def local_covariance(self) -> FloatArray:
        """Covariances of local effects, given the shared effects."""
        return np.asarray(np.linalg.inv(self.K), dtype=np.float64)

    @cached_property
    def shared_covariance(self) -> FloatArray:
        """Covariances of the shared effects."""
        return np.asarray(np.linalg.inv(self.S), dtype=np.float64)


class _Blocks(NamedTuple):
    K: FloatArray
    U: FloatArray
    S: FloatArray
    right: FloatArray  # gradient of shared effects after eliminating local effects
    local: FloatArray  # (domains, columns of R) gradient of local effects
    per_shared: FloatArray  # K^-1 U
    step: FloatArray  # K^-1 local


def find_mode(design: Design, sd: Deviations, state: State, mean: float | None = None) -> Mode:
    """Find the mode of all effects by Newton's method; `mean` fixes the mean."""
    table, shared, R = state.table_for(design, sd.interaction), design.shared(sd), design.local(sd)
    G = np.concatenate([np.full((design.n_models, 1), float(mean is None)), shared], axis=1)
    prior = np.ones(G.shape[1])
    prior[0] = 0.0 if mean is None else 1.0
    x = np.concatenate([[state.mean if mean is None else 0.0], state.s])
    z, base = state.z.copy(), 0.0 if mean is None else mean
    questions = [one.copy() for one in state.questions]

    def look(x: FloatArray, z: FloatArray) -> tuple[float, FloatArray, list[Level]]:
        levels = base + G @ x + z @ R.T
        found = [
            one.at(level, sd.question, sd.interaction, table, own)
            for one, level, own in zip(design.domains, levels, questions, strict=True)
        ]
        value = sum(one.value for one in found) - 0.5 * float(prior @ x**2 + (z**2).sum())
        return value, levels, found

    value, levels, found = look(x, z)
    blocks = _blocks(found, G, R, prior, x, z)
    converged = False
    for _ in range(_NEWTON):
        dx = np.linalg.solve(blocks.S, blocks.right)
        dz = blocks.step - blocks.per_shared @ dx
        gain = float(blocks.right @ dx) + float((blocks.local * blocks.step).sum())
        if gain < _GAIN:
            converged = True
            break
        # If the likelihood is flat, a full step would overflow.
        pace = _FARTHEST / max(_FARTHEST, float(np.abs(G @ dx + dz @ R.T).max()))
        while True:
            ahead = look(x + pace * dx, z + pace * dz)
            # The quadrature nodes move with the modes of questions, so very small decreases are
            # numerical errors.
            if ahead[0] >= value - 1e-9 * abs(value) or gain < _NEAR or pace < 1e-4:
                break
            pace *= 0.5
        x, z = x + pace * dx, z + pace * dz
        value, levels, found = ahead
        blocks = _blocks(found, G, R, prior, x, z)
        if gain < _LAST:
            converged = True
            break
    log_det = float(np.linalg.slogdet(blocks.S)[1])
    if R.shape[1]:
        log_det += float(np.linalg.slogdet(blocks.K)[1].sum())
    log_det += sum(one.log_curvature for one in found)
    return Mode(
        sd=sd,
        log_likelihood=value - 0.5 * log_det,
        state=State(
            float(x[0]) if mean is None else mean, x[1:], z, questions, table, sd.interaction
        ),
        levels=levels,
        G=G,
        R=R,
        K=blocks.K,
        U=blocks.U,
        S=blocks.S,
        converged=converged,
    )


def _blocks(
    found: list[Level],
    G: FloatArray,
    R: FloatArray,
    prior: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> _Blocks:
    H = np.array([one.information for one in found])
    g = np.array([one.score for one in found])
    reach = H @ G
    U = _of_local(R, reach)
    K = np.eye(R.shape[1]) + _of_local(R, _of_local(R, H).transpose(0, 2, 1))
    local = g @ R - z
    S = np.diag(prior) + G.T @ reach.sum(axis=0)
    right = G.T @ g.sum(axis=0) - prior * x
    solved = np.linalg.solve(K, np.concatenate([U, local[:, :, None]], axis=2))
    per_shared, step = solved[:, :, :-1], solved[:, :, -1]
    if R.shape[1]:
        columns = U.reshape(-1, x.size)
        S -= columns.T @ per_shared.reshape(columns.shape)
        right = right - columns.T @ step.ravel()
    return _Blocks(K, U, S, right, local, per_shared, step)


def _of_local(R: FloatArray, rows: FloatArray) -> FloatArray:
    """Multiply matrices (domains, models, columns) by R^T; R is c I and a constant column."""
    if not R.shape[1]:
        return np.zeros((len(rows), 0, rows.shape[2]))
    return np.concatenate([R[0, 0] * rows, R[0, -1] * rows.sum(axis=1, keepdims=True)], axis=1)
