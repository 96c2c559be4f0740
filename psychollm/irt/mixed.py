"""Items of several families, or with answers of their own, in one fit.

Tables have the width of the widest item: an answer that an item does not have has probability 0,
and a parameter that it does not have is `absent`, 0 in the climb and NaN in results.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.irt.estimates import Columns
from psychollm.irt.families import Curves, Dichotomous, Family, Link, Model
from psychollm.irt.polytomous import Graded, Nominal, PartialCredit
from psychollm.irt.priors import Priors
from psychollm.kernels.response_models import TINY

NEVER = -1_000.0  # log probability of an answer that an item does not have: exp is 0, 0 times it 0

YES_OR_NO: tuple[Model, ...] = ("rasch", "1pl", "2pl", "3pl", "4pl")
LOG_LINEAR: tuple[Model, ...] = ("gpcm", "nominal")
ONE_SLOPE: tuple[Model, ...] = ("rasch", "1pl")

OneFamily: TypeAlias = Dichotomous | Graded | PartialCredit | Nominal
Codes: TypeAlias = tuple[int, ...]


def models_of_items(
    model: Model | Mapping[Hashable, Model] | Sequence[Model], labels: Labels
) -> tuple[Model, ...]:
    """Return the model of each item.

    Raises
    ------
    OptionError
        If there is no such model, or one that cannot stand beside others.
    LabelError, ShapeError
        If items are not named, or others are, or models are not as many as items.

    Examples
    --------
    >>> models_of_items({"a": "2pl", "b": "graded"}, ("b", "a"))
    ('graded', '2pl')
    """
    if isinstance(model, str):
        check_choice("model", model, Model)
        return (model,) * len(labels)
    if isinstance(model, Mapping):
        strange = [label for label in model if label not in set(labels)]
        absent = [label for label in labels if label not in model]
        if strange or absent:
            wrong = f"names {listed(strange)}, which are not among"
            if not strange:
                wrong = f"leaves out {listed(absent)} of"
            msg = f"model {wrong} the items {listed(labels)}: name the model of each"
            raise LabelError(msg)
        models = tuple(model[label] for label in labels)
    else:
        models = tuple(model)
    if len(models) != len(labels):
        msg = f"model has {len(models)} entries for {len(labels)} items: name the model of each"
        raise ShapeError(msg)
    for one in set(models):
        check_choice("model", one, Model)
    alone = sorted(set(models) & set(ONE_SLOPE))
    if alone and len(set(models)) > 1:
        msg = (
            f"model={alone[0]!r} has one slope for all items, and cannot stand beside others: use "
            "'2pl' for its items"
        )
        raise OptionError(msg)
    return models


def codes_of(has_answer: BoolArray) -> list[Codes]:
    """Return the codes of the answers of each item, given which it has (J, C).

    Examples
    --------
    >>> codes_of(np.array([[True, False, True]]))
    [(0, 2)]
    """
    return [tuple(np.flatnonzero(row).tolist()) for row in has_answer]


def family_of(
    model: Model, link: Link, n_categories: int, codes: Codes = ()
) -> Dichotomous | Graded | PartialCredit | Nominal:
    """Return the family of items of one model with the same answers.

    Examples
    --------
    >>> family_of("gpcm", "logit", 4).names[0]
    'slope'
    """
    if model == "graded":
        return Graded(model, link, n_categories)
    if model == "gpcm":
        return PartialCredit(model, link, n_categories, codes)
    if model == "nominal":
        return Nominal(model, link, n_categories)
    return Dichotomous(model, link)


def family_of_items(
    models: Sequence[Model], link: Link, categories: Sequence[Codes], n_categories: int
) -> Family:
    """Return the family of items, given the model and the codes of the answers of each.

    Parameters
    ----------
    models : sequence of str, one per item
        The model of each.
    link : {"logit", "probit"}
        That of all which have one.
    categories : sequence of tuple of int, one per item
        Codes of the answers of each item, rising.
    n_categories : int
        One more than the highest code of all.

    Examples
    --------
    >>> family_of_items(["2pl", "graded"], "logit", [(0, 1), (0, 1, 2)], 3).absent
    array([[False, False,  True],
           [False, False, False]])
    >>> family_of_items(["2pl", "2pl"], "logit", [(0, 1), (0, 1)], 2)
    Dichotomous(model='2pl', link='logit')
    """
    kinds = list(zip(models, categories, strict=True))
    distinct = sorted(set(kinds))
    everything = tuple(range(n_categories))
    if len(distinct) == 1 and distinct[0][1] == everything:
        return family_of(distinct[0][0], link, n_categories)
    members = []
    for model, codes in distinct:
        regular = codes == tuple(range(len(codes)))
        family = family_of(model, link, len(codes), () if regular else codes)
        items = np.array([j for j, kind in enumerate(kinds) if kind == (model, codes)])
        members.append(Member(family, np.array(codes), items))
    return Mixed(tuple(members), link, n_categories, len(kinds))


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """Items of one family with the same answers."""

    family: OneFamily
    codes: IntArray  # (own C,) of the answers, rising
    items: IntArray  # (own J,) places among all

    @property
    def size(self) -> int:
        """Number of parameters of an item."""
        return len(self.family.names)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Items of several families, or with answers of their own."""

    members: tuple[Member, ...]
    link: Link
    n_categories: int
    n_items: int

    @property
    def model(self) -> Model | Literal["mixed"]:
        """Name of the model, if all items have the same."""
        models = {member.family.model for member in self.members}
        return models.pop() if len(models) == 1 else "mixed"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of the widest item."""
        return max((member.family.names for member in self.members), key=len)

    @property
    def tied(self) -> bool:
        """Every item has its own slope."""
        return False

    @property
    def exponential(self) -> bool:
        """The short form of the information is for two answers."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether the answers of all items have an order."""
        return all(member.family.ordered for member in self.members)

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values (J, p), infinite where a parameter is absent."""
        table = np.full((self.n_items, len(self.names)), np.inf)
        for member in self.members:
            table[member.items, : member.size] = member.family.bounds
        return table

    @property
    def absent(self) -> BoolArray:
        """Which parameters an item does not have (J, p)."""
        return np.isinf(self.bounds)

    @property
    def asymptotes(self) -> BoolArray:
        """Which parameters are logits of asymptotes (J, p)."""
        table = np.zeros((self.n_items, len(self.names)), dtype=np.bool_)
        for member in self.members:
            table[member.items, : member.size] = member.family.asymptotes
        return table

    def select(self, items: IntArray | slice) -> "Mixed":
        """Return the family of some of the items."""
        chosen = np.arange(self.n_items)[items]
        members = []
        for member in self.members:
            places = np.flatnonzero(np.isin(chosen, member.items))
            if places.size:
                members.append(Member(member.family, member.codes, places))
        return Mixed(tuple(members), self.link, self.n_categories, chosen.size)

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        """Return prior means and precisions of the parameters (J, p)."""
        means, precisions = np.zeros((2, self.n_items, len(self.names)))
        for member in self.members:
            own = member.family.prior_arrays(priors)
            means[member.items, : member.size], precisions[member.items, : member.size] = own
        return means, precisions

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return parameters to start from, given shares of answers (J, C)."""
        table = np.zeros((self.n_items, len(self.names)))
        for member in self.members:
            own = shares[np.ix_(member.items, member.codes)]
            table[member.items, : member.size] = member.family.start(own, signs[member.items])
        return table

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log probabilities (J, C, Q)."""
        table = np.full((self.n_items, self.n_categories, nodes.size), NEVER)
        for member, own in self._each(parameters):
            table[np.ix_(member.items, member.codes)] = member.family.log_probabilities(own, nodes)
        return table

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log probability of answer 0 (Q,) and log odds to it.

        Of an item without answer 0 the former is 0, the latter log probabilities.
        """
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
        """Return derivatives of log probabilities (J, C, p, Q), 0 where there is none."""
        shape = self.n_items, self.n_categories, len(self.names), nodes.size
        table = np.zeros(shape)
        for member, own in self._each(parameters):
            cells = np.ix_(member.items, member.codes, np.arange(member.size))
            table[cells] = member.family.scores(own, nodes)
        return table

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient, observed and expected information; an absent parameter's is 1."""
        size = len(self.names)
        gradient = np.zeros((self.n_items, size))
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

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the information about the ability (J, Q)."""
        table = np.empty((self.n_items, nodes.size))
        for member, own in self._each(parameters):
            table[member.items] = member.family.information(own, nodes)
        return table

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        """Return curves of all answers with two derivatives by the ability (J, C, n)."""
        shape = self.n_items, self.n_categories, abilities.size
        tables = np.full(shape, TINY), np.zeros(shape), np.zeros(shape)
        for member, own in self._each(parameters):
            cells = np.ix_(member.items, member.codes)
            for table, part in zip(tables, member.family.by_ability(own, abilities), strict=True):
                table[cells] = part
        return tables

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""
        moved = parameters.copy()
        for member, own in self._each(parameters):
            moved[member.items, : member.size] = member.family.rescaled(own, mean, sd)
        return moved

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        """Return what each answer counts (J, C): its code, or its slope if not ordered."""
        table = np.tile(np.arange(self.n_categories, dtype=np.float64), (self.n_items, 1))
        for member, own in self._each(parameters):
            if not member.family.ordered:
                cells = np.ix_(member.items, member.codes)
                table[cells] = member.family.answer_scores(own)
        return table

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        """Return the intercept of the step to each code above 0, NaN where there is none."""
        return self._by_step(
            (member, member.family.step_intercepts(own)) for member, own in self._each(parameters)
        )

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        """Return abilities at which answers of at least a code have even odds (J, C - 1)."""
        return self._by_step(
            (member, member.family.even_odds(own)) for member, own in self._each(parameters)
        )

    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        """Return estimates and errors by the names of the result."""
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
        """Yield members with the parameters of their items."""
        for member in self.members:
            yield member, parameters[member.items, : member.size]

    def _by_item(self, parts: Iterable[tuple[Member, FloatArray]]) -> FloatArray:
        """Put values of the items of members among all (J,)."""
        table = np.empty(self.n_items)
        for member, values in parts:
            table[member.items] = values
        return table

    def _by_step(self, parts: Iterable[tuple[Member, FloatArray]]) -> FloatArray:
        """Put values of the steps of members at the codes they lead to (J, C - 1)."""
        table = np.full((self.n_items, self.n_categories - 1), np.nan)
        for member, values in parts:
            table[np.ix_(member.items, member.codes[1:] - 1)] = values
        return table
