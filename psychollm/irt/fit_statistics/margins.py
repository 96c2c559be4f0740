r"""Low-order margins of answers: observed and expected values, covariance and derivatives.

A margin is the mean of a function of one answer, :math:`f_a(y_i)`, or of a product of functions of
two answers, :math:`g_b(y_i) g_d(y_j)`. The statistics M2, M2* and C2 differ in these functions:

=======  =====================  =====================
name     of single answers f    of pairs g
=======  =====================  =====================
M2       is y = c, for c > 0    is y = c, for c > 0
M2*      the code y             the code y
C2       is y = c, for c > 0    the code y
=======  =====================  =====================

For binary items all three statistics are equal. Items are independent given the ability. Margins
without a common item therefore covary only through their expectations. With :math:`V_i(f, g)` the
covariance of two functions of answer i given the ability and :math:`\mu` their means, margins
:math:`f(y_i) r` and :math:`g(y_i) r'` that share item i contribute

.. math:: E[V_i(f, g)\,\mu_r\,\mu_{r'}],                                                 \quad (1)

and two margins of the same pair also :math:`E[V_i(f, f') V_j(g, g')]`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

Statistic: TypeAlias = Literal["auto", "m2", "m2_star", "c2"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Functions of answers that define the selected margins, with the items they refer to."""

    single: FloatArray  # (F, C)
    pair: FloatArray  # (G, C)
    own_single: BoolArray  # (J, F) mask of the functions of each item
    own_pair: BoolArray  # (J, G)

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.own_single)

    @property
    def functions(self) -> FloatArray:
        """Value of each function at each answer (F + G, C)."""
        return np.concatenate([self.single, self.pair])

    @property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """First and second item of each pair."""
        i, j = np.triu_indices(self.items, 1)
        return i, j

    @property
    def n_single(self) -> int:
        """Number of margins of single answers, which precede the margins of pairs."""
        return self.items * int(self.single.shape[0])

    @property
    def kept(self) -> BoolArray:
        """Mask of the margins whose answer categories all occur in their items."""
        i, j = self.pairs
        both = self.own_pair[i][:, :, None] & self.own_pair[j][:, None]
        return np.concatenate([self.own_single.ravel(), both.ravel()])

    @property
    def size(self) -> int:
        """Number of margins, including margins of answer categories that an item does not have."""
        return self.n_single + self.items * (self.items - 1) // 2 * int(self.pair.shape[0]) ** 2

    @property
    def places(self) -> IntArray:
        """Index [i, j, b, d] of the margin of functions b, d of items i < j."""
        i, j = self.pairs
        g = self.pair.shape[0]
        table = np.zeros((self.items, self.items, g, g), dtype=np.int64)
        own = self.n_single + np.arange(i.size * g * g).reshape(-1, g, g)
        table[i, j] = own
        table[j, i] = own.transpose(0, 2, 1)
        return table


def layout_of(statistic: Statistic, has_answer: BoolArray) -> Layout:
    """Return the margins of a statistic for items with the given answers (J, C)."""
    # There is one function for each answer of an item except the lowest.
    answers = has_answer.shape[1]
    above = (has_answer & (has_answer.cumsum(axis=1) > 1))[:, 1:]
    every = np.ones((len(has_answer), 1), dtype=np.bool_)
    own = {"m2": (above, above), "m2_star": (every, every), "c2": (above, every)}
    shown, code = np.eye(answers)[1:], np.arange(answers, dtype=np.float64)[None]
    choice = {"m2": (shown, shown), "m2_star": (code, code), "c2": (shown, code)}
    return Layout(*choice[statistic], *own[statistic])


def observed_margins(layout: Layout, codes: IntArray) -> FloatArray:
    """Return the margins (means and mean products) of complete answers (N, J)."""
    single = layout.single[:, codes].mean(axis=1).T  # (J, F)
    values = layout.pair[:, codes]  # (G, N, J)
    both = np.einsum("bni,dnj->ijbd", values, values, optimize=True) / codes.shape[0]
    return _stacked(layout, single, both)


def _stacked(layout: Layout, single: FloatArray, both: FloatArray) -> FloatArray:
    """Return margins in order: functions of items, then functions of pairs."""
    i, j = layout.pairs
    return np.concatenate([single.ravel(), both[i, j].ravel()])


def means(functions: FloatArray, curves: FloatArray) -> FloatArray:
    """Return expected values (J, F, Q) of functions of the answer (F, C) at each ability."""
    return np.asarray(np.einsum("fc,jcq->jfq", functions, curves, optimize=True))


def expected_margins(layout: Layout, curves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the expected margins under the model."""
    single, pair = means(layout.single, curves), means(layout.pair, curves)
    both = np.einsum("ibq,q,jdq->ijbd", pair, weights, pair, optimize=True)
    return _stacked(layout, single @ weights, both)


def margin_covariance(layout: Layout, curves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return n times the covariance of observed margins, by equation (1)."""
    single, pair = means(layout.single, curves), means(layout.pair, curves)
    i, j = layout.pairs
    products = pair[i][:, :, None] * pair[j][:, None]  # (pairs, G, G, Q)
    given = np.concatenate([single.reshape(-1, weights.size), products.reshape(-1, weights.size)])
    mean = given @ weights
    total = (given * weights) @ given.T - np.outer(mean, mean)
    spread = _spreads(layout, curves)
    places = layout.places
    for item in range(layout.items):
        _add_shared(layout, (item, places[item]), total, (spread[item] * weights, pair))
    g, f = layout.pair.shape[0], layout.single.shape[0]
    own = spread[:, f:, f:]
    block = np.einsum("pbcq,q,pdeq->pbdce", own[i], weights, own[j], optimize=True)
    at = layout.n_single + np.arange(i.size * g * g).reshape(-1, g * g)
    total[at[:, :, None], at[:, None]] += block.reshape(-1, g * g, g * g)
    return np.asarray(total)


def _spreads(layout: Layout, curves: FloatArray) -> FloatArray:
    """Return, given the ability, covariances of functions of an answer (J, F+G, F+G, Q)."""
    functions = layout.functions
    mean = means(functions, curves)
    square = np.einsum("fc,gc,jcq->jfgq", functions, functions, curves, optimize=True)
    return np.asarray(square - mean[:, :, None] * mean[:, None])


def _add_shared(
    layout: Layout,
    one: tuple[int, IntArray],
    total: FloatArray,
    parts: tuple[FloatArray, FloatArray],
) -> None:
    """Add the covariances of equation (1) for all margins that contain one item."""
    item, places = one
    spread, pair = parts  # (F + G, F + G, Q) times weights; (J, G, Q)
    f, g = layout.single.shape[0], layout.pair.shape[0]
    others = np.delete(np.arange(layout.items), item)
    rest = pair[others].reshape(-1, spread.shape[2])
    alone = np.ones((1, spread.shape[2]))
    own = [(np.array([item * f + a]), alone) for a in range(f)]
    own += [(places[others, b].ravel(), rest) for b in range(g)]
    for a, (rows, left) in enumerate(own):
        for b, (columns, right) in enumerate(own):
            total[np.ix_(rows, columns)] += (left * spread[a, b]) @ right.T


def margin_slopes(
    layout: Layout, curves: FloatArray, slopes: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return derivatives (margins, J, p) of margins with respect to item parameters."""
    # `slopes` are the derivatives (J, C, p, Q) of the curves with respect to parameters.
    items, _, size, _ = slopes.shape
    f, g = layout.single.shape[0], layout.pair.shape[0]
    table = np.zeros((layout.size, items, size))
    own = np.einsum("fc,jcpq,q->jfp", layout.single, slopes, weights, optimize=True)
    for k in range(items):
        table[k * f : (k + 1) * f, k] = own[k]
    moved = np.einsum("gc,jcpq->jgpq", layout.pair, slopes, optimize=True)
    mean = means(layout.pair, curves) * weights
    both = np.einsum("ibpq,jdq->ijbdp", moved, mean, optimize=True)
    i, j = layout.pairs
    rows = layout.n_single + np.arange(i.size * g * g).reshape(-1, g, g)
    table[rows, i[:, None, None]] = both[i, j]
    table[rows, j[:, None, None]] = both[j, i].transpose(0, 2, 1, 3)
    return table
