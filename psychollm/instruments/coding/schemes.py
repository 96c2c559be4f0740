"""What is looked for in traces: categories of metacognitive behaviour.

`FIVE` has the five kinds of metacognitive control by which Kargupta et al. (2025) code reasoning;
`RATIONALIST` the habits of careful argument that have been proposed as teachable skills. The
definitions are the project's own.

References
----------
Kargupta, P., et al. (2025). Cognitive foundations for reasoning and their manifestation in LLMs.
arXiv:2511.16660.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from psychollm._base.checks import check_choice

SchemeName: TypeAlias = Literal["five", "rationalist"]


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of behaviour."""

    name: str
    meaning: str  # completes "the writer ..."


@dataclass(frozen=True, slots=True)
class Scheme:
    """Categories that a trace is coded by.

    Examples
    --------
    >>> RATIONALIST.names[-1]
    'steelman'
    """

    name: str
    categories: tuple[Category, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the categories."""
        return tuple(one.name for one in self.categories)


FIVE = Scheme(
    "five",
    (
        Category(
            "self_awareness",
            "says what it knows or does not know, how sure it is, or where it is likely to err",
        ),
        Category(
            "context_awareness",
            "takes stock of what the task asks for, what is given, and what the situation demands",
        ),
        Category(
            "strategy_selection",
            "chooses a way to proceed, weighs it against another, or changes it",
        ),
        Category(
            "goal_management",
            "sets itself a goal or parts of one, puts them in order, or sees how far it has come",
        ),
        Category(
            "evaluation", "checks a step or a result, or judges whether it is right or good enough"
        ),
    ),
)
RATIONALIST = Scheme(
    "rationalist",
    (
        Category("logical_dependencies", "says what a conclusion rests on, or falls with"),
        Category("cruxes", "names the one thing that would change its conclusion"),
        Category("assume_or_argue", "keeps what it merely assumes apart from what it argues for"),
        Category(
            "motivated_reasoning",
            "asks whether it holds a conclusion because it would like it to be true",
        ),
        Category("steelman", "puts the best case for a view that it does not take"),
    ),
)
SCHEMES: dict[str, Scheme] = {one.name: one for one in (FIVE, RATIONALIST)}


def as_scheme(scheme: SchemeName | Scheme) -> Scheme:
    """Return a scheme by its name, or one of the user's own as it is."""
    if isinstance(scheme, Scheme):
        return scheme
    check_choice("scheme", scheme, SchemeName)
    return SCHEMES[scheme]
