"""What stands around the findings of a study on its page: title, facts, order, methods.

The file `page.py` of a study holds its layout; the page is made in one way for all
(`psychollm.reports`). A study without a layout of its own is shown by its findings.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from psychollm._base.numbers import count, number, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Listing
from psychollm.estimates.findings import Finding, Findings, sentence_list
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.estimates.verdict import Outcome, SmallestEffects, verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number of the overview: what it is, its value, and what qualifies it."""

    name: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """An effect that is judged, and the smallest of its kind that matters."""

    what: str
    estimate: Estimate
    smallest: float


def _as_it_is(study: Any, smallest: SmallestEffects) -> tuple[Any, Findings]:
    return study, study.findings(smallest=smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a page of one study is made of."""

    title: str
    # What the other parts are told of, and what was found; takes the `details` of `write_report`.
    of: Callable[..., tuple[Any, Findings]] = _as_it_is
    subtitle: Callable[[Any], str] | None = None  # the head of the findings by default
    facts: Callable[[Any, SmallestEffects], tuple[Fact, ...]] = lambda study, smallest: ()
    # By key, in their order: the title in place of the question of the finding.
    sections: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False  # whether findings that are not named there stay away
    verdict: Callable[[Any, Findings, SmallestEffects], str] | None = None
    lead: Callable[[Any], str] = lambda study: ""
    notices: Callable[[Any], tuple[str, ...]] = lambda study: ()
    methods: Callable[[Any], tuple[str, ...]] = lambda study: ()
    # Of the study, the lines that make its data, and how it chooses resamples, coverage and seed.
    call: Callable[[Any, str, str], str] = lambda study, source, options: source
    models: Callable[[Any], Sequence[Any]] = lambda study: getattr(study, "labels", ())
    wanted: Callable[[Any, SmallestEffects], Iterable[Criterion]] = lambda study, smallest: ()
    units: str = "questions"  # what more of would be needed
    simulated: Callable[[Any], bool] = lambda study: False


def by_question(keys: str) -> dict[str, str]:
    """Return the sections of these keys in their order, each under its finding's question."""
    return dict.fromkeys(keys.split(), "")


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


def needed(wanted: Sequence[Criterion], units: str) -> Finding | None:
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
    return Finding(
        key="needed",
        question="What would be needed?",
        statement=text,
        exhibits=(Listing(table=lambda: table, folded=len(rows) > 12),),
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


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def names(labels: Sequence[Any], which: Iterable[Any], *, most: int = 6) -> str:
    """Return the labels of some models as in a sentence, safe inside a page."""
    chosen = [escape(str(label)) for label, keep in zip(labels, which, strict=True) if keep]
    return sentence_list(chosen, most=most)


def models(n: int) -> str:
    """Return a number of models with the word."""
    if n < len(_WORDS):
        return f"{_WORDS[n]} model{'' if n < 2 else 's'}"
    return f"{n} models"
