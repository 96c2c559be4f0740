"""How a study becomes a page: its title, what stands beside each finding, how it was made.

A study words its findings itself; a layout says which figures and tables show them. One mechanism
makes all pages from that. A study without a layout of its own is shown by findings and table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.numbers import count, number, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import VERDICT, Finding, Findings
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.verdict import Outcome, SmallestEffects, verdicts
from psychollm.plots.canvas import names_width
from psychollm.plots.forest import plot_forest
from psychollm.reports.figure import Figure, draw_figure
from psychollm.reports.marks import Marks, row_of
from psychollm.reports.page import Fact, Section, finding_section
from psychollm.reports.study_marks import forest
from psychollm.reports.table import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    text_column,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Draw: TypeAlias = Callable[[Any, "Canvas"], object]
TableOf: TypeAlias = Callable[[Any, SmallestEffects], Table | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of a page, for any study of its kind."""

    key: str
    title: str  # for those who cannot see it
    caption: str
    draw: Draw
    size: Callable[[Any], tuple[float, float]]
    marks: Callable[[Any], Marks] | None = None
    worth: Callable[[Any], bool] = lambda study: True  # whether there is anything to see

    def drawn(self, study: Any) -> Figure:
        """Draw it."""
        return draw_figure(
            lambda canvas: self.draw(study, canvas),
            size=self.size(study),
            caption=self.caption,
            title=self.title,
            key=self.key,
            marks=None if self.marks is None else self.marks(study),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is shown beside a finding."""

    pictures: tuple[Picture, ...] = ()
    tables: tuple[TableOf, ...] = ()
    folded: tuple[TableOf, ...] = ()  # long tables
    title: str = ""  # in place of the question of the finding
    instead: bool = False  # whether they say what the rows of the finding would

    def section(self, finding: Finding, study: Any, smallest: SmallestEffects) -> Section:
        """Return the finding with what shows it."""

        def made(tables: Iterable[TableOf]) -> tuple[Table, ...]:
            shown = (table(study, smallest) for table in tables)
            return tuple(one for one in shown if one is not None)

        if self.instead:
            finding = replace(finding, rows=())
        return finding_section(
            finding,
            figures=tuple(one.drawn(study) for one in self.pictures if one.worth(study)),
            tables=made(self.tables),
            folded=made(self.folded),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An effect that is judged, and the smallest of its kind that matters."""

    what: str
    estimate: Estimate
    smallest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a page of one study is made of."""

    title: str
    subtitle: Callable[[Any], str]
    facts: Callable[[Any, SmallestEffects], tuple[Fact, ...]] = lambda study, smallest: ()
    beside: Mapping[str, Beside] = field(default_factory=dict)  # by finding, in their order
    alone: bool = False  # whether findings that are not named there stay away
    verdict: Callable[[Any, Findings, SmallestEffects], str] | None = None
    lead: Callable[[Any], str] = lambda study: ""
    notices: Callable[[Any], tuple[str, ...]] = lambda study: ()
    methods: Callable[[Any], tuple[str, ...]] = lambda study: ()
    # Of the study, the lines that make its data, and how it chooses resamples, coverage and seed.
    call: Callable[[Any, str, str], str] = lambda study, source, options: source
    models: Callable[[Any], Sequence[Any]] = lambda study: getattr(study, "labels", ())
    wanted: Callable[[Any, SmallestEffects], Iterable[Wanted]] = lambda study, smallest: ()
    units: str = "questions"  # what more of would be needed
    simulated: Callable[[Any], bool] = lambda study: False

    def sections(
        self, study: Any, findings: Findings, smallest: SmallestEffects
    ) -> tuple[Section, ...]:
        """Return a section for each finding, and one on what would be needed."""
        held = {one.key: one for one in findings}
        keys = [key for key in self.beside if key in held]
        if not self.alone:
            keys += [key for key in held if key not in self.beside]
        shown = []
        for key in keys:
            finding = held[key]
            if key == VERDICT:  # its statement stands on top
                if not finding.rows and key not in self.beside:
                    continue
                finding = replace(finding, key="found", statement="")
            beside = self.beside.get(key, Beside())
            title = beside.title or finding.question or "What was found"
            finding = replace(finding, question=_heading(title))
            shown.append(beside.section(finding, study, smallest))
        needs = needed_section(tuple(self.wanted(study, smallest)), self.units)
        return (*shown, *((needs,) if needs else ()))


def _heading(question: str) -> str:
    """Return a question as it stands above a section."""
    return question.removesuffix(":").strip()


# Forests ------------------------------------------------------------------------------------

Series: TypeAlias = Callable[[Any], Mapping[str, Estimate]]


def forest_picture(
    key: str,
    title: str,
    caption: str,
    series: Series,
    *,
    x: str,
    reference: float | None = None,
    strong: Callable[[Any], Sequence[bool]] | None = None,
) -> Picture:
    """Return the picture of estimates of the same models, a row per model."""

    def known(study: Any) -> dict[str, Estimate]:
        return {name: one for name, one in series(study).items() if one.defined.any()}

    def draw(study: Any, canvas: "Canvas") -> None:
        every = series(study)
        plot_forest(
            list(every.values()),
            names=list(every),
            reference=reference,
            strong=None if strong is None else strong(study),
            x=x,
            ax=canvas.subplots(),
        )

    def size(study: Any) -> tuple[float, float]:
        shown = known(study)
        labels = next(iter(shown.values())).labels
        row = max(0.24, 0.11 * len(shown))
        legend = 0.22 * -(-len(shown) // 3) if len(shown) > 1 else 0.0
        height = 1.0 + legend + row * len(labels)
        return round(6.4 + names_width(labels), 2), min(height, 24.0)

    def marks(study: Any) -> Marks:
        shown = known(study)
        where = row_of(next(iter(shown.values())).labels)
        return lambda canvas: forest(canvas.axes[0], list(shown.items()), where)

    return Picture(
        key=key,
        title=title,
        caption=caption,
        draw=draw,
        size=size,
        marks=marks,
        worth=lambda study: bool(known(study)),
    )


def estimates_table(
    caption: str, series: Series, *, of: str = "model", digits: int = 2, n: bool = True
) -> TableOf:
    """Return what makes a table of estimates of the same models, with intervals and reasons."""

    def made(study: Any, smallest: SmallestEffects) -> Table | None:
        shown = series(study)
        if not shown:
            return None
        first = next(iter(shown.values()))
        columns = [name_column(of, first.labels)]
        columns += [estimate_column(name, one, digits=digits) for name, one in shown.items()]
        if n:
            columns.append(number_column("n", first.n, digits=0))
        return Table.of(columns, caption=caption)

    return made


# What would be needed --------------------------------------------------------------------------

_POWER = 0.8


def units_needed(estimate: Estimate, smallest: float, *, power: float = _POWER) -> np.ndarray:
    """Return how many units would show an effect of the smallest size, for each model.

    The width of the interval is taken to shrink with the root of the number of units; NaN where
    there is no interval.
    """
    z = normal_multiplier(estimate.level)
    half = 0.5 * np.diff(estimate.interval, axis=1)[:, 0]
    with np.errstate(invalid="ignore"):
        needed = (
            estimate.n * ((z + normal_multiplier(2.0 * power - 1.0)) / z * half / smallest) ** 2
        )
    return np.where(half > 0, np.ceil(needed), np.nan)


def needed_section(wanted: Sequence[Wanted], units: str) -> Section | None:
    """Return how many units would settle what is open; None where nothing is."""
    rows: list[tuple[str, str, Estimate, int, float, float]] = []
    for one in wanted:
        needed = units_needed(one.estimate, one.smallest)
        judged = verdicts(one.estimate, smallest=one.smallest)
        rows += [
            (one.what, str(label), one.estimate, place, one.smallest, float(needed[place]))
            for place, label in enumerate(one.estimate.labels)
            if judged.outcomes[place] is Outcome.OPEN and one.estimate.defined[place]
        ]
    if not rows:
        return None
    finite = [row[-1] for row in rows if np.isfinite(row[-1])]
    text = (
        f"For some effects there are too few {units} to say whether there is one. Beside each "
        f"stands how many {units} would show the smallest that matters with a chance of "
        f"{percent(_POWER)}, if intervals go on to shrink with the root of their number."
    )
    if finite:
        text += f" For all of them it takes {count(max(finite))}."
    table = Table.of(
        [
            name_column("who", [row[1] for row in rows]),
            text_column("effect", [row[0] for row in rows]),
            interval_column(
                "found",
                [row[2].value[row[3]] for row in rows],
                [row[2].interval[row[3]] for row in rows],
            ),
            number_column("smallest that matters", [row[4] for row in rows]),
            number_column(f"{units} now", [float(row[2].n[row[3]]) for row in rows], digits=0),
            number_column(f"{units} needed", [row[5] for row in rows], digits=0),
        ],
        caption=f"How many {units} would decide",
    )
    few = len(rows) <= 12
    return Section(
        title="What would be needed?",
        key="needed",
        paragraphs=(text,),
        tables=(table,) if few else (),
        folded=() if few else (table,),
    )


def span(estimate: Estimate, digits: int = 2) -> str:
    """Return lowest and highest value of an estimate."""
    known = estimate.value[estimate.defined]
    if not known.size:
        return "unknown"
    low, high = number(float(known.min()), digits), number(float(known.max()), digits)
    return low if low == high else f"{low} to {high}"


def arguments(study: Any, names: Sequence[str]) -> str:
    """Return the arguments of a call that a study keeps under these names, where there are any."""
    kept = {name: getattr(study, name) for name in names}
    return "".join(f", {name}={one!r}" for name, one in kept.items() if one not in (None, ""))
