r"""Posteriors of abilities where answers are read range by range, and what items get from them.

Items are the rows of a `CellTable`; their cells are read twice in a pass. The first reading adds
up the log-likelihood of each respondent at K nodes of its own,

.. math:: \theta_{iq} = c_i + s_i x_q,                                                  \quad (1)

where :math:`c_i` is the peak of its posterior, :math:`s_i^{-2}` the curvature there and
:math:`x_q` are Gauss-Hermite nodes (adaptive quadrature); the second the gradient and information
of each item under the posterior's weights at these nodes. The peaks are those of the pass before;
where one lies elsewhere now, differences between the three nodes in the middle lead there, and
the first reading is done again. With n answers of a respondent the relative error of K nodes is
of order :math:`n^{-\lfloor K/3 + 1 \rfloor}`, so that long tests need few.

Ranges are dealt to tasks that depend on the table alone, and what tasks return is added in their
order: the sums are the same to the last bit whoever does the work.

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

TASK_BYTES = 1 << 28  # of sums that tasks hold at once, all together
MOST_TASKS = 64
WORTH = 50  # cells of a task for each respondent, whose sums it keeps
LEAST_CELLS = 1 << 16  # of a range
PARCELS = 4  # in which each of several processes gets its tasks: a message costs milliseconds
LEAST_SHARED = 1 << 20  # cells; threads cost more than they bring where there are fewer
NODES = ((50_000, 3), (2_000, 5), (500, 9), (100, 15), (0, 21))  # from so many answers on
# The same where items have a distribution: rounds end at a thousandth of a standard error.
FEWER_NODES = ((2_000, 3), (500, 5), (100, 9), (0, 15))
SHORT, RARE = 100, 20  # answers, and rarer answers: fewer make posteriors skewed, or with edges
SKEWED = 21  # nodes for these
SMALL, FINEST = 1 << 18, 201  # cells of a table where an even grid costs little, and its nodes
HALF = 9.0  # of that grid, in deviations of the posterior
FEWEST = 3
OFF_PEAK = 0.5  # of a posterior's width, from which on nodes are laid anew
NEARER = 0.7  # by which a reading must bring peaks nearer for another to be worth it
FURTHEST = 2.0  # that a peak moves between two readings

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A table with items in rows and respondents in columns, and who reads it."""

    table: CellTable
    ranges: tuple[Ranges, ...]  # of each task
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
        """Deal ranges of rows to tasks."""
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
        """Yield what the function makes of each task where items are at `points`, in order."""
        tasks = (Task.of(ranges, points) for ranges in self.ranges)
        with closing(spread(function, tasks, self.who, parcels=PARCELS)) as results:
            for result in results:
                self.bar.update(1)
                yield result


@lru_cache
def rules(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes (K,) in widths of the posterior, and logs of their weights without a kernel."""
    if n_nodes == FINEST:
        nodes = np.linspace(-HALF, HALF, FINEST)
        return nodes, np.full(FINEST, np.log(nodes[1] - nodes[0]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, np.log(weights) + 0.5 * nodes**2


def nodes_for(answers: AnyArray, counts: Sequence[tuple[int, int]]) -> int:
    """Return how many nodes do, given how many answers each respondent gave (N,)."""
    few = float(np.quantile(answers, 0.01))
    return next(k for least, k in counts if few >= least)


def enough_nodes(answered: AnyArray, yes: AnyArray, counts: Sequence[tuple[int, int]]) -> int:
    """Return how many nodes do for the likelihood itself: more where a posterior is skewed."""
    few = np.quantile(answered, 0.01)
    rarer = np.minimum(yes, answered - yes)[answered >= few].min()
    if few >= SHORT and rarer >= RARE:
        return nodes_for(answered, counts)
    return FINEST if max(answered.sum(), 16 * answered.size) < SMALL else SKEWED


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posteriors of N abilities on their nodes, from one reading."""

    centre: FloatArray  # (N,)
    width: FloatArray  # (N,)
    weights: FloatArray  # (N, K)
    log_marginal: float  # of all respondents
    peak: FloatArray  # (N,) as differences between nodes have it
    spread: FloatArray  # (N,) the width there

    @property
    def nodes(self) -> FloatArray:
        """Shape (N, K)."""
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
        """Of all posteriors together."""
        return float(self.means.mean())

    @property
    def sd(self) -> float:
        """Of all posteriors together."""
        return float(np.sqrt(self.means.var() + self.variances.mean()))

    @property
    def off(self) -> float:
        """Largest distance of a peak from the middle of its nodes, in widths."""
        return float(np.max(np.abs(self.peak - self.centre) / self.spread))


def _nodes(centre: FloatArray, width: FloatArray, k: int) -> FloatArray:
    return np.asarray(centre[:, None] + width[:, None] * rules(k)[0])


def posterior_at(
    answers: Answers, points: FloatArray, centre: FloatArray, width: FloatArray, k: int
) -> Posterior:
    """Return posteriors where items are at any of `points` (S, J, 2), by one reading."""
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
    if k == FINEST:  # moments find their way where an edge has no parabola
        return replace(found, peak=found.means, spread=np.sqrt(found.variances) + 0.01 * width)
    return found


def _peaks(
    joint: FloatArray, centre: FloatArray, width: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return where parabolas through the three middle nodes peak, and their widths."""
    middle = k // 2
    step = width * (rules(k)[0][middle + 1] - rules(k)[0][middle])
    below, here, above = (joint[:, middle + i] for i in (-1, 0, 1))
    curvature = np.maximum((2.0 * here - below - above) / step**2, 1.0)  # that of the prior
    move = 0.5 * (above - below) / step / curvature
    return centre + np.clip(move, -FURTHEST, FURTHEST), 1.0 / np.sqrt(curvature)


def scores_at(
    answers: Answers, points: FloatArray, posterior: Posterior, *, curved: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return gradients (S, J, 2) at points; if `curved`, mean information (J, 2, 2), too."""
    rows = _rows(posterior)
    read = partial(answers.reader.scores, table=answers.table, rows=rows, curved=curved)
    found = np.concatenate(list(answers.each(read, points)), axis=1)
    if not curved:
        return found, np.zeros((found.shape[1], 0, 0))
    return found[:, :, :2], _matrices(found[:, :, 2:].mean(axis=0))


def targets_at(
    answers: Answers, point: FloatArray, posterior: Posterior, prior: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradient (J, 2), information (J, 2, 2) and where scoring steps lead (J, 2)."""
    rows = _rows(posterior)
    read = partial(answers.reader.targets, table=answers.table, rows=rows, prior=prior)
    found = np.concatenate(list(answers.each(read, point[None])))
    return found[:, :2], _matrices(found[:, 2:5]), found[:, 5:]


def missing_at(answers: Answers, point: FloatArray, posterior: Posterior) -> FloatArray:
    """Return what abilities leave open of the information about each item (J, 2, 2)."""
    read = partial(answers.reader.missing, table=answers.table, rows=_rows(posterior))
    return _matrices(np.concatenate(list(answers.each(read, point[None]))))


def _rows(posterior: Posterior) -> FloatArray:
    return np.column_stack([posterior.nodes, posterior.weights, posterior.means])


def _matrices(entries: FloatArray) -> FloatArray:
    """Return symmetric matrices (J, 2, 2) of their three entries."""
    return entries[:, [0, 1, 1, 2]].reshape(-1, 2, 2)


@dataclass(frozen=True, slots=True, eq=False)
class StreamedAbilities:
    """Respondents whose abilities are integrated out, as `item_population.Abilities`."""

    answers: Answers
    keep: BoolArray  # (J,) which rows of the table are items
    centre: FloatArray  # (N,)
    width: FloatArray  # (N,)
    n_nodes: int
    tied: bool
    # (kept J,) items without a finite estimate, which carry no information about abilities
    lost: BoolArray
    far: bool = True  # whether peaks may lie elsewhere

    def posterior(self, points: FloatArray) -> Posterior:
        """Return posteriors where items are at any of `points` (S, kept J, 2), peaks found."""
        every, centre, width = self._every(points), self.centre, self.width
        searched, k, before = False, FEWEST if self.far else self.n_nodes, np.inf
        while True:
            # Peaks are looked for with three nodes, a cheaper reading, until these lead no nearer.
            found = posterior_at(self.answers, every, centre, width, k)
            # A slope without bound makes an edge where a peak is never found.
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
        """Return gradient, information and targets (kept J, ...) of items at a point."""
        every = self._every(point[None])[0]
        found = targets_at(self.answers, every, posterior, prior)
        score, information, target = (part[self.keep] for part in found)
        return score, information, target

    def missing(self, point: FloatArray, posterior: Posterior) -> FloatArray:
        """Return what abilities leave open of the information of items at a point (kept J, 2)."""
        return missing_at(self.answers, self._every(point[None])[0], posterior)[self.keep]

    def moved(self, posterior: Posterior, mean: float = 0.0, sd: float = 1.0) -> Self:
        """Return the respondents with nodes about these peaks, from `mean` in units of `sd`."""
        return replace(
            self,
            centre=(posterior.peak - mean) / sd,
            width=posterior.spread / sd,
            far=posterior.off > 0.5 * OFF_PEAK,
        )

    def expected(self, points: FloatArray, centre: FloatArray) -> Expected[Self]:
        """Return what items at `points` (S, J, p) get from abilities."""
        # While items still move much, three nodes do.
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
        """Put points of items among all rows; the others are passed over."""
        if self.keep.all() and not self.lost.any():
            return points
        every = np.full((len(points), self.keep.size, 2), np.nan)
        every[:, self.keep] = np.where(self.lost[:, None], np.nan, points)
        return every


def start_centres(yes: AnyArray, answered: AnyArray) -> FloatArray:
    """Return rough abilities (N,) from how many answers, and how many of them yes."""
    rates = (yes + 0.5) / (answered + 1.0)
    logits = np.log(rates / (1.0 - rates))
    weight = answered / (answered + 4.0)
    centred = weight * (logits - np.average(logits, weights=answered + 1e-9))
    return np.asarray(centred / max(float(centred.std()), 1e-6))
