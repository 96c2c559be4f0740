"""Figure and table of models compared with people."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import Table, estimate_column, name_column, number_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.people.score import PeopleScore
    from psychollm.studies.people.study import BesidePeople


def exhibits(
    result: "BesidePeople", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support the finding."""
    return {"verdict": tuple(_of_parts(result))}


def _of_parts(result: "BesidePeople") -> Iterator[Exhibit | None]:
    for number, (name, part) in enumerate(result.parts.items()):
        if part.score.defined.any() and part.baseline.defined.all():
            yield Drawing(
                plot="plot_people",
                of=part,
                options={"name": name},
                key=f"people-{number + 1}",
                title=f"Models compared with people: {name}",
                caption="Scores of models, with intervals, on the questions that people answered. "
                "The line shows the mean of people, the dark band its interval, and the light "
                "band ± 1 SD of people. Each tick at the bottom shows the score of one person.",
            )
        yield Listing(table=partial(_table, name, part), instead=True)


def _table(name: str, part: "PeopleScore") -> Table:
    digits = part.digits
    return Table.of(
        [
            name_column("model", part.labels),
            estimate_column("score", part.score, digits=digits),
            estimate_column("model − people", part.difference, digits=digits),
            estimate_column("proportion of people below", part.place, digits=2),
            number_column("questions", part.difference.n, digits=0),
        ],
        caption=f"Models compared with people: {name}. {part.told()}.",
    )
