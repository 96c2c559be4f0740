r"""Conditional likelihood of Rasch items, and its maximisation.

Let S be the set of items that a respondent answered, and r the number of yes answers. Given r, the
probability of the answers does not depend on the ability:

.. math:: \log L_c = \sum_v \Big[\sum_{j \in S_v} y_{vj} e_j
                       - \log \gamma_{r_v}(S_v)\Big],                                  \quad (1)

where :math:`\gamma` are the elementary symmetric functions of :math:`\exp(e_j)`. Respondents are
grouped by the items they answered; scores of 0 or :math:`|S|` are uninformative. The function in
equation (1) is concave and does not change under a common shift of the items. The function has a
finite maximum if and only if the items are strongly connected (Fischer, 1981). Item i is connected
to item j if a respondent answered yes to i and no to j.

References
----------
Fischer, G. H. (1981). On the existence and uniqueness of maximum-likelihood estimates in the
Rasch model. Psychometrika, 46(1), 59-77. https://doi.org/10.1007/BF02293919
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.kernels.conditional_rasch import conditional_moments

MOST_STEPS = 100
LONGEST = 2.0  # largest change of an easiness in one step
ROUNDING = 1e-13  # rounding error of the gradient, per respondent
SMALLEST = 1e-10  # smallest tolerance of the gradient


@dataclass(frozen=True, slots=True)
class Block:
    """Numbers of respondents by score, for respondents who answered the same items."""

    items: IntArray  # (s,)
    counts: FloatArray  # (s + 1,) numbers of respondents by score; 0 for scores 0 and s


@dataclass(frozen=True, slots=True)
class Sufficient:
    """Sufficient statistics of a table for conditional likelihoods."""

    yes: FloatArray  # (J,) numbers of yes answers of informative respondents
    blocks: tuple[Block, ...]
    n_informative: float


@dataclass(frozen=True, slots=True)
class Top:
    """Maximum of the conditional likelihood, with convergence status."""

    easiness: FloatArray  # (J,), mean 0
    covariance: FloatArray  # (J, J), of easiness with mean 0
    log_likelihood: float
    gradient: float
    convergence: Convergence


def sufficient(codes: IntArray) -> Sufficient:
    """Count respondents' scores, from codes (N, J) that are -1 where missing."""
    answered = codes >= 0
    score, n = (codes == 1).sum(axis=1), answered.sum(axis=1)
    use = (score > 0) & (score < n)
    seen, places = np.unique(answered[use], axis=0, return_inverse=True)
    blocks = []
    for place, row in enumerate(seen):
        items = np.flatnonzero(row)
        own = score[use][places.ravel() == place]
        counts = np.bincount(own, minlength=items.size + 1).astype(np.float64)
        blocks.append(Block(items, counts))
    yes = (codes[use] == 1).sum(axis=0).astype(np.float64)
    return Sufficient(yes, tuple(blocks), float(use.sum()))


def evaluate(
    table: Sufficient, easiness: FloatArray, *, second: bool
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log-likelihood, its gradient (J,) and, on request, its information (J, J)."""
    size = easiness.size
    value, gradient = float(table.yes @ easiness), table.yes.copy()
    information = np.zeros((size, size) if second else (0, 0))
    for block in table.blocks:
        own = easiness[block.items]
        logs, expected, part = conditional_moments(own, block.counts, second=second)
        value -= float(block.counts @ logs)
        gradient[block.items] -= expected
        if second:
            information[np.ix_(block.items, block.items)] += part
    return value, gradient, information


def connected(codes: IntArray) -> BoolArray:
    """Return the largest set of items whose easiness the answers determine (J,)."""
    from scipy.sparse.csgraph import connected_components

    yes, no = (codes == 1).astype(np.float64), (codes == 0).astype(np.float64)
    _, component = connected_components(yes.T @ no > 0.0, connection="strong")
    sizes = np.bincount(component)
    return np.asarray(component == sizes.argmax()) if sizes.max() > 1 else component < 0


def climb(table: Sufficient) -> Top:
    """Maximise equation (1) by Newton steps, halved while they lower the likelihood."""
    size = table.yes.size
    n = np.zeros(size)
    for block in table.blocks:
        n[block.items] += block.counts.sum()
    easiness = np.log((table.yes + 0.5) / (n - table.yes + 0.5))
    easiness -= easiness.mean()
    tolerance = max(SMALLEST, ROUNDING * table.n_informative)
    value, gradient, information = evaluate(table, easiness, second=True)
    taken = 0
    while taken < MOST_STEPS and np.abs(gradient).max() > tolerance:
        taken += 1
        # The matrix is singular along a common shift of all items, so 1 1' / J is added.
        step = np.asarray(np.linalg.solve(information + 1.0 / size, gradient), dtype=np.float64)
        step *= min(1.0, LONGEST / float(np.abs(step).max()))
        moved = _higher(table, easiness, step, value)
        if moved is None:
            break
        easiness = moved
        value, gradient, information = evaluate(table, easiness, second=True)
    steepness = float(np.abs(gradient).max())
    covariance = np.asarray(np.linalg.inv(information + 1.0 / size), dtype=np.float64)
    done = steepness <= 100.0 * tolerance
    return Top(
        easiness=easiness,
        covariance=covariance - 1.0 / size,
        log_likelihood=value,
        gradient=steepness,
        convergence=Convergence(
            converged=done,
            iterations=taken,
            reason="converged" if done else f"the gradient is still {steepness:.1e}",
            objective=value,
        ),
    )


def _higher(
    table: Sufficient, easiness: FloatArray, step: FloatArray, value: float
) -> FloatArray | None:
    """Return the easiness after a step that is halved while it lowers the likelihood."""
    for halving in range(30):
        moved = easiness + 0.5**halving * step
        moved = np.asarray(moved - moved.mean(), dtype=np.float64)
        if evaluate(table, moved, second=False)[0] >= value - 1e-12 * abs(value):
            return moved
    return None
