"""Layout of a study's page around its findings: title, overview, order, methods.

The file `page.py` of a study defines its layout, and `psychollm.reports` creates the pages of all
studies. The page of a study without a layout contains only its findings.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from psychollm._base.numbers import number, percent
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Listing
from psychollm.estimates.findings import Finding, Findings, sentence_list
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.estimates.sample_size import POWER, about, units_needed
from psychollm.estimates.verdict import Outcome, SmallestEffects, verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Number in the overview, with its name, value and qualification."""

    name: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Effect to be judged, with the smallest effect of interest."""

    what: str
    estimate: Estimate
    smallest: float
    n: FloatArray | None = None  # numbers of units, if they differ from `estimate.n`
    # If the conclusion comes from a test instead of an interval: two-sided level of the test, and
    # standard errors under the null hypothesis.
    alpha: float | None = None
    null_se: FloatArray | None = None
    df: float = np.inf  # upper limit of the degrees of freedom of the standard errors

    @property
    def units(self) -> FloatArray:
        """Number of units (models,)."""
        return self.estimate.n if self.n is None else self.n

    def needed(self, effect: FloatArray | float, *, absence: bool = False) -> FloatArray:
        """Return the number of units needed to detect an effect, or to exclude it (models,)."""
        level, df = self.estimate.level, self.estimate.freedom
        alpha = 1.0 - level if absence or self.alpha is None else self.alpha
        half = 0.5 * np.diff(self.estimate.interval, axis=1)[:, 0]
        se = half / stdtrit(df, 0.5 + 0.5 * level)
        if self.estimate.pilot_df is not None:
            # A standard error is inversely proportional to the square root of the number of units,
            # but the length of a score interval is not. A standard error of zero, such as that of
            # a proportion of 1, is not used.
            se = np.where(self.estimate.se > 0.0, self.estimate.se, se)
        if self.null_se is not None:
            # The number of units needed to exclude an effect depends on the longer side of the
            # interval and on the standard error under the null hypothesis. The number needed to
            # detect an effect depends on the standard errors under the null hypothesis and under
            # the alternative.
            sides = np.abs(self.estimate.interval - self.estimate.value[:, None]).max(axis=1)
            longer = np.fmax(se, sides / stdtrit(df, 0.5 + 0.5 * level))
            se = np.fmax(se, self.estimate.se)
            reach, scatter = (longer, self.null_se) if absence else (self.null_se, se)
            a, b = ndtri([1.0 - 0.5 * alpha, 0.5 + 0.5 * POWER if absence else POWER])
            se = (a * reach + b * scatter) / (a + b)
        known = np.minimum(df, self.df)
        if self.estimate.pilot_df is not None:
            known = np.fmin(known, self.estimate.pilot_df)
        n = units_needed(self.units, se, effect, df=known, alpha=alpha, absence=absence)
        return np.where(se > 0.0, n, np.nan)  # a zero standard error is unreliable


def _as_it_is(study: Any, smallest: SmallestEffects) -> tuple[Any, Findings]:
    return study, study.findings(smallest=smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Components of the page of one study."""

    title: str
    # `of` takes the `details` of `write_report`; it returns the findings, and the object that all
    # functions below take as their first argument.
    of: Callable[..., tuple[Any, Findings]] = _as_it_is
    subtitle: Callable[[Any], str] | None = None  # by default the first line of the findings
    facts: Callable[[Any, SmallestEffects], tuple[Fact, ...]] = lambda study, smallest: ()
    # Titles of the sections, in order, by the key of their finding. A title replaces the finding's
    # question.
    sections: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False  # whether findings without a section are omitted
    verdict: Callable[[Any, Findings, SmallestEffects], str] | None = None
    lead: Callable[[Any], str] = lambda study: ""
    notices: Callable[[Any], tuple[str, ...]] = lambda study: ()
    methods: Callable[[Any], tuple[str, ...]] = lambda study: ()
    # The arguments of `call` are the study, the code that creates its data, and the code of the
    # options (resamples, coverage and seed).
    call: Callable[[Any, str, str], str] = lambda study, source, options: source
    models: Callable[[Any], Sequence[Any]] = lambda study: getattr(study, "labels", ())
    wanted: Callable[[Any, SmallestEffects], Iterable[Criterion]] = lambda study, smallest: ()
    units: str = "questions"  # name of the units whose required number is computed
    simulated: Callable[[Any], bool] = lambda study: False


def by_question(keys: str) -> dict[str, str]:
    """Return sections in the order of the keys, with the findings' questions as titles."""
    return dict.fromkeys(keys.split(), "")


# Units needed ---------------------------------------------------------------------------------

_MOST = 1e9  # numbers of units above this limit are not printed


def needed(wanted: Sequence[Criterion], units: str) -> Finding | None:
    """Return the numbers of units needed for conclusions; None if all effects are conclusive."""
    rows: list[tuple[Any, ...]] = []
    for one in wanted:
        estimate, least = one.estimate, one.smallest
        judged = verdicts(estimate, smallest=least)
        detect, exclude = one.needed(least), one.needed(least, absence=True)
        found = one.needed(estimate.value)
        rows += [
            (
                str(label), one.what, estimate.value[row], estimate.interval[row], least,
                float(one.units[row]), float(exclude[row]), float(detect[row]), float(found[row]),
            )
            for row, label in enumerate(estimate.labels)
            if judged.outcomes[row] is Outcome.OPEN and estimate.defined[row]
        ]  # fmt: skip
    if not rows:
        return None
    columns = list(zip(*rows, strict=True))
    decides = [most for row in rows if np.isfinite(most := max(row[6:8]))]
    text = (
        f"Some effects are inconclusive. The table gives the numbers of {units} needed with "
        f"{percent(POWER)} power to show that a null effect is negligible, to detect the "
        "smallest effect of interest, and to detect an effect of the estimated size. "
        f"Required numbers of {units} account for the uncertainty of the standard errors and "
        "assume that these errors are inversely proportional to the square root of the number."
    )
    if decides:
        most = about(max(decides))
        single = re.sub(r"s\b", "", units, count=1)
        are = f"{single} is" if most.endswith(" 1") else f"{units} are"
        text += f" To reach a conclusion on every effect in the table, {most} {are} needed."
    now = [float(f"{n:.6g}") for n in columns[5]]
    table = Table.of(
        [
            name_column("model or condition", columns[0]),
            text_column("effect", columns[1]),
            interval_column("estimate", columns[2], columns[3]),
            number_column("smallest effect of interest", columns[4]),
            number_column(f"{units} now", now, digits=0),
            *(
                number_column(heading, [n if n < _MOST else np.nan for n in numbers], digits=0)
                for heading, numbers in zip(
                    (
                        "to show that it is negligible",
                        "to detect the smallest effect",
                        "to detect the estimated effect",
                    ),
                    columns[6:],
                    strict=True,
                )
            ),
        ],
        caption=f"Numbers of {units} needed",
    )
    return Finding(
        key="needed",
        question=f"How many {units} are needed?",
        statement=text,
        exhibits=(Listing(table=lambda: table, folded=len(rows) > 12),),
    )


def span(estimate: Estimate, digits: int = 2) -> str:
    """Return the lowest and the highest value of an estimate as text."""
    known = estimate.value[estimate.defined]
    if not known.size:
        return "unknown"
    low, high = number(float(known.min()), digits), number(float(known.max()), digits)
    return low if low == high else f"{low} to {high}"


def arguments(study: Any, names: Sequence[str]) -> str:
    """Return the stored arguments of a study's call as code; "" if there are none."""
    kept = {name: getattr(study, name) for name in names}
    return "".join(f", {name}={one!r}" for name, one in kept.items() if one not in (None, ""))


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def names(labels: Sequence[Any], which: Iterable[Any], *, most: int = 6) -> str:
    """Return the labels of some models as HTML, joined for a sentence."""
    chosen = [escape(str(label)) for label, keep in zip(labels, which, strict=True) if keep]
    return sentence_list(chosen, most=most)


def models(n: int) -> str:
    """Return a number of models in words."""
    if n < len(_WORDS):
        return f"{_WORDS[n]} model{'' if n < 2 else 's'}"
    return f"{n} models"
