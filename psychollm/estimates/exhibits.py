"""Descriptions of the figures and tables of a finding, which are created when needed.

Figures and tables are created, and plotting modules are imported, only if a page contains figures
or tables. A `Drawing` therefore contains the name of a function of `psychollm.plots`, and a
`Listing` contains a function that returns its table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from psychollm.estimates.listing import Table, estimate_column, name_column, number_column

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Figure, given by the name of a function of `psychollm.plots` and its arguments."""

    # Name of the function, with its module if the function is not public, as in a study's
    # `figures`.
    plot: str
    of: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    key: str  # identifier, unique on a page
    title: str  # description for readers who cannot see the figure
    caption: str  # HTML is allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Table of a finding, created when a page displays it."""

    table: Callable[[], Table | None]  # returns the table, or None if it has no rows
    folded: bool = False  # whether a long table is collapsed on the screen
    instead: bool = False  # whether the table replaces the rows of its finding


Exhibit: TypeAlias = Drawing | Listing


def forest(
    estimates: "Mapping[str, Estimate]",
    *,
    key: str,
    title: str,
    caption: str,
    x: str,
    reference: float | None = None,
    strong: Sequence[bool] | None = None,
) -> Drawing | None:
    """Return a forest plot of named estimates of the same models; None if all are undefined."""
    if not any(one.defined.any() for one in estimates.values()):
        return None
    options = {"names": list(estimates), "x": x, "reference": reference, "strong": strong}
    of = list(estimates.values())
    return Drawing(
        plot="plot_forest", of=of, options=options, key=key, title=title, caption=caption
    )


def listing(
    estimates: "Mapping[str, Estimate]",
    caption: str,
    *,
    of: str = "model",
    digits: int = 2,
    n: bool = True,
    folded: bool = False,
    instead: bool = False,
) -> Listing:
    """Return a table of named estimates of the same models, with intervals and reasons."""
    table = partial(_estimates, estimates, caption, of=of, digits=digits, n=n)
    return Listing(table=table, folded=folded, instead=instead)


def _estimates(
    estimates: "Mapping[str, Estimate]", caption: str, *, of: str, digits: int, n: bool
) -> Table | None:
    if not estimates:
        return None
    first = next(iter(estimates.values()))
    columns = [name_column(of, first.labels)]
    columns += [estimate_column(name, one, digits=digits) for name, one in estimates.items()]
    if n:
        columns.append(number_column("n", first.n, digits=0))
    return Table.of(columns, caption=caption)
