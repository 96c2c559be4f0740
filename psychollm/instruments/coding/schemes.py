"""Categories of metacognitive behaviour in traces, and the words by which they are known.

`FIVE` has the five kinds of metacognitive control by which Kargupta et al. (2025) code reasoning;
`RATIONALIST` the habits of careful argument that have been proposed as teachable skills. The
definitions are the project's own.

The rules stand in `cues.csv`, for anybody to read. Each cue has a name, so that every code can be
traced to the words it rests on. A strong cue names the behaviour; a weak one goes along with it. A
cue that can be denied ("no need to check") does not count where its clause denies it. The patterns
are for English; {i} and {me} stand for first persons.

References
----------
Kargupta, P., et al. (2025). Cognitive foundations for reasoning and their manifestation in LLMs.
arXiv:2511.16660.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm.instruments.readers.clauses import clause_before, denied

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


_NEEDLESS = re.compile(r"(?i)\b(?:no (?:need|reason|point|use)|without|needless|unnecessary)\b")


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that speak for a category."""

    name: str
    pattern: re.Pattern[str]
    strong: bool = False
    deniable: bool = False

    def places(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return where it stands between two places of a text, denials left out."""
        spans = (match.span() for match in self.pattern.finditer(text, start, end))
        return [span for span in spans if not (self.deniable and _idle(text, span[0]))]


def _idle(text: str, start: int) -> bool:
    before = clause_before(text, start)
    return denied(text, start) or _NEEDLESS.search(before) is not None


_I = r"(?:i|we)"
_ME = r"(?:let me|let's|let us|i'll|i will|we'll|i should|i need to|i must|we should|we need to)"


def _cues() -> dict[str, tuple[Cue, ...]]:
    """Return the cues of each category, from the file beside this one."""
    table = files("psychollm.instruments.coding").joinpath("cues.csv").read_text(encoding="utf-8")
    cues: dict[str, tuple[Cue, ...]] = {}
    for row in csv.DictReader(table.splitlines()):
        words = row["pattern"].replace("{i}", _I).replace("{me}", _ME)
        cue = Cue(
            row["cue"],
            re.compile(rf"(?i)\b(?:{words})"),
            strong=row["strength"] == "strong",
            deniable=row["denial"] == "deniable",
        )
        cues[row["category"]] = (*cues.get(row["category"], ()), cue)
    return cues


LEXICON: Mapping[str, tuple[Cue, ...]] = _cues()
