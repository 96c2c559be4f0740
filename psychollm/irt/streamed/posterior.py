r"""Posteriors of abilities and statistics of items, from answers read in ranges of rows.

Items are the rows of a `CellTable`; their cells are read twice per step. The first data pass sums
the log-likelihood of each respondent at its own K nodes,

.. math:: \theta_{iq} = c_i + s_i x_q,                                                  \quad (1)

where :math:`c_i` is the mode of the respondent's posterior, :math:`s_i^{-2}` is the curvature at
the mode, and :math:`x_q` are Gauss-Hermite nodes (adaptive quadrature). The second pass computes
the gradient and information of each item under the posterior weights of these nodes. The nodes are
centred on the modes of the previous step. If a mode has moved, a parabola through the three middle
nodes locates the new mode, and the first pass is repeated. With n answers of a respondent the
relative error of K nodes is of order :math:`n^{-\lfloor K/3 + 1 \rfloor}`, so that long tests need
few nodes. Ranges are assigned to tasks that depend only on the table, and results are added in the
order of tasks. Sums are therefore bitwise identical for any number of workers.

References
----------
Liu, Q., & Pierce, D. A. (1994). A note on Gauss-Hermite quadrature. Biometrika, 81(3), 624-629.
https://doi.org/10.1093/biomet/81.3.624
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Self, TypeVar

import numpy as np

from psychollm._base.replicate import Progress, Workers, spread, workers
from psychollm._base.types import AnyArray, BoolArray, FloatArray
from psychollm.data.cells import PART, CellTable, parts
from psychollm.irt.item_population import Expected
from psychollm.irt.streamed.readings import COMPILED, Ranges, Reader, Task

TASK_BYTES = 1 << 28  # memory limit for the sums of all tasks
MOST_TASKS = 64
WORTH = 50  # smallest number of cells of a task per respondent
LEAST_CELLS = 1 << 16  # smallest number of cells of a range
PARCELS = 4  # number of parcels per process; small, because each message takes milliseconds
LEAST_SHARED = 1 << 20  # with fewer cells, a single thread is faster
# numbers of nodes by smallest number of answers
NODES = ((50_000, 3), (2_000, 5), (500, 9), (100, 15), (0, 21))
# Numbers of nodes for hierarchical priors, whose iterations end at a thousandth of a standard
# error.
FEWER_NODES = ((2_000, 3), (500, 5), (100, 9), (0, 15))
# posteriors are skewed if there are fewer answers, or fewer occurrences of the rarer answer
SHORT, RARE = 100, 20
SKEWED = 21  # nodes for skewed posteriors
SMALL, FINEST = 1 << 18, 201  # largest table for an equidistant grid, and the number of its nodes
HALF = 9.0  # half the range of the equidistant grid, in posterior SDs
FEWEST = 3
OFF_PEAK = 0.5  # a mode that moves further, in posterior widths, requires new nodes
NEARER = 0.7  # reduction of the shift for which another pass is worthwhile
FURTHEST = 2.0  # largest move of a mode between two passes

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Table with items in rows and respondents in columns, and the function that reads it."""

    table: CellTable
    ranges: tuple[Ranges, ...]  # ranges of each task
    who: Workers
    bar: Progress
    reader: Reader

    @classmethod
    def of(
        cls,
        table: CellTable,
        who: Workers,
        bar: Progress,
        n_nodes: int,
        reader: Reader = COMPILED,
    ) -> "Answers":
        """Assign ranges of rows to tasks."""
        cells = int(table.start[-1])
        ranges = parts(table, int(np.clip(cells / MOST_TASKS, LEAST_CELLS, PART)))
        size = 8 * table.n_columns * (3 * n_nodes + 2)
        worth = cells // (WORTH * table.n_columns)
        n = min(len(ranges), MOST_TASKS, max(4, min(TASK_BYTES // size, worth)))
        bounds = np.linspace(0, len(ranges), n + 1).astype(int)
        dealt = tuple(ranges[a:b] for a, b in pairwise(bounds) if b > a)
        if who.shared and cells < LEAST_SHARED:
            who = workers(1)
        return cls(table, dealt, who, bar, reader)

    def each(self, function: Callable[[Task], T], points: FloatArray) -> Generator[T]:
        """Yield the function's results by task, in order; items have parameters `points`."""
        tasks = (Task.of(ranges, points) for ranges in self.ranges)
        with closing(spread(function, tasks, self.who, parcels=PARCELS)) as results:
            for result in results:
                self.bar.update(1)
                yield result


@lru_cache
def rules(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes (K,) in posterior SDs, and log weights without the normal kernel."""
    if n_nodes == FINEST:
        nodes = np.linspace(-HALF, HALF, FINEST)
        return nodes, np.full(FINEST, np.log(nodes[1] - nodes[0]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, np.log(weights) + 0.5 * nodes**2


def nodes_for(answers: AnyArray, counts: Sequence[tuple[int, int]]) -> int:
    """Return the number of nodes that the given numbers of answers (N,) require."""
    few = float(np.quantile(answers, 0.01))
    return next(k for least, k in counts if few >= least)


def enough_nodes(answered: AnyArray, yes: AnyArray, counts: Sequence[tuple[int, int]]) -> int:
    """Return the number of nodes for the likelihood; skewed posteriors require more nodes."""
    few = np.quantile(answered, 0.01)
    rarer = np.minimum(yes, answered - yes)[answered >= few].min()
    if few >= SHORT and rarer >= RARE:
        return nodes_for(answered, counts)
    return FINEST if max(answered.sum(), 16 * answered.size) < SMALL else SKEWED


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posteriors of N abilities on their nodes, from one data pass."""

    centre: FloatArray  # (N,)
    width: FloatArray  # (N,)
    weights: FloatArray  # (N, K)
    log_marginal: float  # log-likelihood of all respondents
    peak: FloatArray  # (N,) modes from differences between nodes
    spread: FloatArray  # (N,) widths at the modes

    @property
    def nodes(self) -> FloatArray:
        """Nodes of each respondent's ability (N, K)."""
        return _nodes(self.centre, self.width, self.weights.shape[1])

    @property
    def means(self) -> FloatArray:
        """Posterior means (N,)."""
        return np.asarray(np.einsum("iq,iq->i", self.weights, self.nodes))

    @property
    def variances(self) -> FloatArray:
        """Posterior variances (N,)."""
        gap = self.nodes - self.means[:, None]
        return np.asarray(np.einsum("iq,iq->i", self.weights, gap**2))

    @property
    def mean(self) -> float:
        """Mean of all abilities."""
        return float(self.means.mean())

    @property
    def sd(self) -> float:
        """SD of all abilities."""
        return float(np.sqrt(self.means.var() + self.variances.mean()))

    @property
    def off(self) -> float:
        """Largest distance of a mode from the centre of its nodes, in posterior SDs."""
        return float(np.max(np.abs(self.peak - self.centre) / self.spread))


def _nodes(centre: FloatArray, width: FloatArray, k: int) -> FloatArray:
    return np.asarray(centre[:, None] + width[:, None] * rules(k)[0])


def posterior_at(
    answers: Answers, points: FloatArray, centre: FloatArray, width: FloatArray, k: int
) -> Posterior:
    """Return posteriors with items averaged over `points` (S, J, 2), by one data pass."""
    nodes = _nodes(centre, width, k)
    read = partial(answers.reader.likelihood, table=answers.table, nodes=nodes)
    total = np.zeros((centre.size, k + 2))
    for one in answers.each(read, points):
        total += one
    joint = total[:, k : k + 1] * nodes + total[:, k + 1 :] - total[:, :k]
    joint /= len(points)
    joint -= 0.5 * nodes**2
    peak, spread = _peaks(joint, centre, width, k)
    joint += rules(k)[1] + np.log(width)[:, None] - 0.5 * np.log(2.0 * np.pi)
    top = joint.max(axis=1, keepdims=True)
    np.exp(joint - top, out=joint)
    sums = joint.sum(axis=1, keepdims=True)
    found = Posterior(
        centre=centre,
        width=width,
        weights=joint / sums,
        log_marginal=float((np.log(sums) + top).sum()),
        peak=peak,
        spread=spread,
    )
    if k == FINEST:  # on an equidistant grid, use moments if no parabola exists
        return replace(found, peak=found.means, spread=np.sqrt(found.variances) + 0.01 * width)
    return found


def _peaks(
    joint: FloatArray, centre: FloatArray, width: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return peaks and widths of parabolas through the three middle nodes."""
    middle = k // 2
    step = width * (rules(k)[0][middle + 1] - rules(k)[0][middle])
    below, here, above = (joint[:, middle + i] for i in (-1, 0, 1))
    # the prior has curvature 1
    curvature = np.maximum((2.0 * here - below - above) / step**2, 1.0)
    move = 0.5 * (above - below) / step / curvature
    return centre + np.clip(move, -FURTHEST, FURTHEST), 1.0 / np.sqrt(curvature)


def scores_at(
    answers: Answers, points: FloatArray, posterior: Posterior, *, curved: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return gradients (S, J, 2) at points; with `curved` also mean information (J, 2, 2)."""
    rows = _rows(posterior)
    read = partial(answers.reader.scores, table=answers.table, rows=rows, curved=curved)
    found = np.concatenate(list(answers.each(read, points)), axis=1)
    if not curved:
        return found, np.zeros((found.shape[1], 0, 0))
    return found[:, :, :2], _matrices(found[:, :, 2:].mean(axis=0))


def targets_at(
    answers: Answers, point: FloatArray, posterior: Posterior, prior: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradient (J, 2), information (J, 2, 2), and parameters after steps (J, 2)."""
    rows = _rows(posterior)
    read = partial(answers.reader.targets, table=answers.table, rows=rows, prior=prior)
    found = np.concatenate(list(answers.each(read, point[None])))
    return found[:, :2], _matrices(found[:, 2:5]), found[:, 5:]


def missing_at(answers: Answers, point: FloatArray, posterior: Posterior) -> FloatArray:
    """Return the missing information about each item (J, 2, 2)."""
    read = partial(answers.reader.missing, table=answers.table, rows=_rows(posterior))
    return _matrices(np.concatenate(list(answers.each(read, point[None]))))


def _rows(posterior: Posterior) -> FloatArray:
    return np.column_stack([posterior.nodes, posterior.weights, posterior.means])


def _matrices(entries: FloatArray) -> FloatArray:
    """Return symmetric matrices (J, 2, 2) from their three distinct entries."""
    return entries[:, [0, 1, 1, 2]].reshape(-1, 2, 2)


@dataclass(frozen=True, slots=True, eq=False)
class StreamedAbilities:
    """Respondents whose abilities are integrated out; implements `item_population.Abilities`."""

    answers: Answers
    keep: BoolArray  # (J,) mask of the rows that are items
    centre: FloatArray  # (N,)
    width: FloatArray  # (N,)
    n_nodes: int
    tied: bool
    # (kept J,) mask of items without a finite estimate, which are excluded from the posteriors
    lost: BoolArray
    far: bool = True  # whether modes may have moved

    def posterior(self, points: FloatArray) -> Posterior:
        """Locate the modes; return posteriors averaged over item `points` (S, kept J, 2)."""
        every, centre, width = self._every(points), self.centre, self.width
        searched, k, before = False, FEWEST if self.far else self.n_nodes, np.inf
        while True:
            # As long as the modes improve, locate them with three nodes, which is fast.
            found = posterior_at(self.answers, every, centre, width, k)
            # With a diverging slope, the likelihood is a step function without a mode.
            near = not OFF_PEAK < found.off <= NEARER * before
            if near and k == self.n_nodes:
                return found
            searched |= near
            k, before = self.n_nodes if searched else FEWEST, np.inf if near else found.off
            centre, width = found.peak, found.spread

    def scores(
        self, points: FloatArray, posterior: Posterior, *, curved: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradients (S, kept J, 2) and mean information (kept J, 2, 2)."""
        every = self._every(points)
        score, information = scores_at(self.answers, every, posterior, curved=curved)
        if self.keep.all():
            return score, information
        return score[:, self.keep], information[self.keep]

    def targets(
        self, point: FloatArray, posterior: Posterior, prior: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient, information, and parameters after scoring steps (kept J, ...)."""
        every = self._every(point[None])[0]
        found = targets_at(self.answers, every, posterior, prior)
        score, information, target = (part[self.keep] for part in found)
        return score, information, target

    def missing(self, point: FloatArray, posterior: Posterior) -> FloatArray:
        """Return the missing information of items at a point (kept J, 2)."""
        return missing_at(self.answers, self._every(point[None])[0], posterior)[self.keep]

    def moved(self, posterior: Posterior, mean: float = 0.0, sd: float = 1.0) -> Self:
        """Return the respondents with nodes about their standardised posterior modes."""
        return replace(
            self,
            centre=(posterior.peak - mean) / sd,
            width=posterior.spread / sd,
            far=posterior.off > 0.5 * OFF_PEAK,
        )

    def expected(self, points: FloatArray, centre: FloatArray) -> Expected[Self]:
        """Return the information that abilities contain about items at `points` (S, J, p)."""
        # Three nodes suffice as long as items change considerably.
        here = replace(self, n_nodes=FEWEST) if self.far else self
        posterior = here.posterior(points)
        score, information = self.scores(points, posterior, curved=False)
        if self.tied:
            information = self.scores(points.mean(axis=0, keepdims=True), posterior)[1]
        mean, sd = posterior.mean, posterior.sd
        return Expected(
            score=score,
            information=information if self.tied else np.zeros(0),
            mean=np.asarray(mean),
            sd=np.asarray(sd),
            objective=posterior.log_marginal,
            abilities=self.moved(posterior, mean, sd),
        )

    def _every(self, points: FloatArray) -> FloatArray:
        """Expand points of items to all rows, with NaN for rows that are skipped."""
        if self.keep.all() and not self.lost.any():
            return points
        every = np.full((len(points), self.keep.size, 2), np.nan)
        every[:, self.keep] = np.where(self.lost[:, None], np.nan, points)
        return every


def start_centres(yes: AnyArray, answered: AnyArray) -> FloatArray:
    """Return rough estimates of abilities (N,) from counts of all answers and of yes answers."""
    rates = (yes + 0.5) / (answered + 1.0)
    logits = np.log(rates / (1.0 - rates))
    weight = answered / (answered + 4.0)
    centred = weight * (logits - np.average(logits, weights=answered + 1e-9))
    return np.asarray(centred / max(float(centred.std()), 1e-6))
