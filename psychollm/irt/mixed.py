"""Items of several families, or with different sets of answers, in one fit.

Tables have as many columns as the item with the most answer categories (or parameters). Answer
categories that an item does not have get probability 0. Parameters that an item lacks are marked
`absent`; they are 0 in the optimisation and NaN in results.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.families import Columns, Curves, Family, Link, Model
from psychollm.irt.item_coordinates import Coordinates
from psychollm.irt.priors import Priors
from psychollm.kernels.response_models import TINY

NEVER = -1_000.0  # log probability of an absent answer: finite, but its exponential is 0


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """Items of one family with the same answer categories."""

    family: Family
    codes: IntArray  # codes of the answers, increasing
    items: IntArray  # positions of these items among all items

    @property
    def size(self) -> int:
        """Number of parameters of an item."""
        return len(self.family.names)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed(Family):
    """Items of several families, or with different sets of answers."""

    members: tuple[Member, ...]
    link: Link
    n_categories: int
    n_items: int

    @property
    def model(self) -> Model:  # type: ignore[override]
        """Name of the model if all items have the same model, else "mixed"."""
        models = {member.family.model for member in self.members}
        return models.pop() if len(models) == 1 else "mixed"

    @property
    def priors(self) -> tuple[str, ...]:
        return tuple({name: None for member in self.members for name in member.family.priors})

    @property
    def names(self) -> tuple[str, ...]:
        return max((member.family.names for member in self.members), key=len)

    @property
    def coordinates(self) -> Coordinates:
        msg = "items of several kinds have no common coordinates"
        raise NotImplementedError(msg)

    @property
    def ordered(self) -> bool:
        return all(member.family.ordered for member in self.members)

    @property
    def bounds(self) -> FloatArray:
        # parameters that an item does not have are unbounded
        table = np.full((self.n_items, len(self.names)), np.inf)
        for member in self.members:
            table[member.items, : member.size] = member.family.bounds
        return table

    @property
    def absent(self) -> BoolArray:
        return np.isinf(self.bounds)

    @property
    def asymptotes(self) -> BoolArray:
        table = np.zeros((self.n_items, len(self.names)), dtype=np.bool_)
        for member in self.members:
            table[member.items, : member.size] = member.family.asymptotes
        return table

    def select(self, items: IntArray | slice) -> "Mixed":
        chosen = np.arange(self.n_items)[items]
        members = []
        for member in self.members:
            places = np.flatnonzero(np.isin(chosen, member.items))
            if places.size:
                members.append(Member(member.family, member.codes, places))
        return Mixed(tuple(members), self.link, self.n_categories, chosen.size)

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        means, precisions = np.zeros((2, self.n_items, len(self.names)))
        for member in self.members:
            own = member.family.prior_arrays(priors)
            means[member.items, : member.size], precisions[member.items, : member.size] = own
        return means, precisions

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        table = np.zeros((self.n_items, len(self.names)))
        for member in self.members:
            own = shares[np.ix_(member.items, member.codes)]
            table[member.items, : member.size] = member.family.start(own, signs[member.items])
        return table

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        table = np.full((self.n_items, self.n_categories, nodes.size), NEVER)
        for member, own in self._each(parameters):
            table[np.ix_(member.items, member.codes)] = member.family.log_probabilities(own, nodes)
        return table

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return summed log probabilities of answer 0 (Q,) and log odds against answer 0."""
        # For an item without answer 0, return 0 and the log probabilities of its answers instead.
        base = np.zeros(nodes.size)
        odds = np.full((self.n_items, self.n_categories, nodes.size), NEVER)
        for member, own in self._each(parameters):
            if member.codes[0] == 0:
                first, rest = member.family.contrasts(own, nodes)
                base += first
                cells = np.ix_(member.items, member.codes[1:])
                odds[cells] = rest.reshape(len(own), -1, nodes.size)
            else:
                cells = np.ix_(member.items, member.codes)
                odds[cells] = member.family.log_probabilities(own, nodes)
        return base, odds[:, 1:].reshape(-1, nodes.size)

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        shape = self.n_items, self.n_categories, len(self.names), nodes.size
        table = np.zeros(shape)
        for member, own in self._each(parameters):
            cells = np.ix_(member.items, member.codes, np.arange(member.size))
            table[cells] = member.family.scores(own, nodes)
        return table

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        size = len(self.names)
        gradient = np.zeros((self.n_items, size))
        # set the information about an absent parameter to 1, so that matrices are not singular
        observed = np.tile(np.eye(size), (self.n_items, 1, 1))
        expected = observed.copy()
        for member, own in self._each(parameters):
            given = counts[np.ix_(member.items, member.codes)]
            found = member.family.moments(own, nodes, given)
            places = np.arange(member.size)
            gradient[np.ix_(member.items, places)] = found[0]
            observed[np.ix_(member.items, places, places)] = found[1]
            expected[np.ix_(member.items, places, places)] = found[2]
        return gradient, observed, expected

    def gradient(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        table = np.zeros((self.n_items, len(self.names)))
        for member, own in self._each(parameters):
            given = counts[np.ix_(member.items, member.codes)]
            table[member.items, : member.size] = member.family.gradient(own, nodes, given)
        return table

    def points(
        self, parameters: FloatArray, covariance: FloatArray, pairs: int | None = None
    ) -> FloatArray:
        pairs = pairs or len(self.names)
        table = np.zeros((2 * pairs, *parameters.shape))
        for member, own in self._each(parameters):
            blocks = covariance[member.items, : member.size, : member.size]
            table[:, member.items, : member.size] = member.family.points(own, blocks, pairs)
        return table

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        table = np.empty((self.n_items, nodes.size))
        for member, own in self._each(parameters):
            table[member.items] = member.family.information(own, nodes)
        return table

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        shape = self.n_items, self.n_categories, abilities.size
        tables = np.full(shape, TINY), np.zeros(shape), np.zeros(shape)
        for member, own in self._each(parameters):
            cells = np.ix_(member.items, member.codes)
            for table, part in zip(tables, member.family.by_ability(own, abilities), strict=True):
                table[cells] = part
        return tables

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        moved = parameters.copy()
        for member, own in self._each(parameters):
            moved[member.items, : member.size] = member.family.rescaled(own, mean, sd)
        return moved

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        table = np.tile(np.arange(self.n_categories, dtype=np.float64), (self.n_items, 1))
        for member, own in self._each(parameters):
            if not member.family.ordered:
                cells = np.ix_(member.items, member.codes)
                table[cells] = member.family.answer_scores(own)
        return table

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        return self._by_step(
            (member, member.family.step_intercepts(own)) for member, own in self._each(parameters)
        )

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        return self._by_step(
            (member, member.family.even_odds(own)) for member, own in self._each(parameters)
        )

    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        parts = []
        for member, own in self._each(parameters):
            blocks = covariance[member.items, : member.size, : member.size]
            own_held = held[member.items, : member.size]
            parts.append((member, member.family.columns(own, blocks, own_held)))
        table: Columns = {}
        for name in parts[0][1]:
            values = [(member, columns[name]) for member, columns in parts]
            table[name] = self._by_step(values) if "steps" in name else self._by_item(values)
        return table

    def _each(self, parameters: FloatArray) -> Iterator[tuple[Member, FloatArray]]:
        """Yield each member family with the parameters of its items."""
        for member in self.members:
            yield member, parameters[member.items, : member.size]

    def _by_item(self, parts: Iterable[tuple[Member, FloatArray]]) -> FloatArray:
        """Combine the members' values per item into an array of all items (J,)."""
        table = np.empty(self.n_items)
        for member, values in parts:
            table[member.items] = values
        return table

    def _by_step(self, parts: Iterable[tuple[Member, FloatArray]]) -> FloatArray:
        """Combine the members' step values into a table (J, C - 1).

        The column of a step is given by the higher of its two answer categories.
        """
        table = np.full((self.n_items, self.n_categories - 1), np.nan)
        for member, values in parts:
            table[np.ix_(member.items, member.codes[1:] - 1)] = values
        return table
