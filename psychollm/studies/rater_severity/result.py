"""Result for raters, and for the objects that they rated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, further
from psychollm.estimates.verdict import (
    FEWEST,
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    outcome,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN = 5  # number of raters at each end in the summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterSeverity(Study, Result):
    """Severity, discrimination and tendencies of raters, and effects of omitting each rater.

    Examples
    --------
    >>> from psychollm.studies.rater_severity.study import rater_severity
    >>> raters = [[0, 0, 0, 1, 0, 0] * 5, [0, 1, 0, 1, 1, 0] * 5, [1, 1, 0, 1, 1, 1] * 5]
    >>> found = rater_severity(raters, rng=1)
    >>> found.labels[int(np.argmax(found.severity.value))], found.raw.round(2).tolist()
    (0, [0.17, 0.5, 0.83])
    """

    severity: Estimate  # (raters,) logits relative to the average rater; higher is harsher
    difference: Estimate  # (raters,) expected mean rating minus that of the average rater
    rate: Estimate  # (raters,) expected mean rating of all rated objects
    discrimination: Estimate  # (raters,) logits per SD of the rated objects
    middle: Estimate | None  # (raters,) proportion of ratings at neither end, including "unsure"
    drift: Estimate | None  # (raters,) change of severity from the first to the last time
    interaction: Estimate | None  # (raters x groups,) effect on severity for the group, in logits
    at_once: FloatArray  # (raters, 2) simultaneous intervals of `difference`
    adjusted: FloatArray  # (raters,) p-values for no difference, adjusted for all raters
    things: Estimate  # (things,) expected mean rating by all raters
    raw: FloatArray  # (raters,) observed mean rating
    raw_things: FloatArray  # (things,)
    # reliability of the estimated quality of the rated objects, from all raters
    reliability: float
    reliability_without: FloatArray  # (raters,) reliability without the rater
    # (raters,) number of rated objects whose mean rating crosses the midpoint if the rater is left
    # out
    turned: IntArray
    turned_corrected: IntArray  # (raters,) the same number for corrected ratings
    agreement: Estimate  # (1,) Krippendorff's alpha
    spread: Mapping[str, float]  # SD between raters, by kind of parameter
    categories: Labels  # categories from the lowest rating to the highest
    unsure: bool  # whether the middle of three categories is between no and yes
    drift_of_all: bool  # whether drift is absolute, not relative to the average rater
    tied: bool  # whether all raters have the same discrimination
    convergence: Convergence
    labels: Labels  # (raters,)
    level: float

    _AXES = Axes(
        {"rater": "labels"},
        "difference=difference.value",
        "difference_{bound}=difference.interval",
        "adjusted_p=adjusted",
        "severity=severity.value",
        "severity_{bound}=severity.interval",
        "discrimination=discrimination.value",
        "discrimination_{bound}=discrimination.interval",
        "rate=rate.value",
        "rate_{bound}=rate.interval",
        "raw",
        "reliability_without",
        "turned",
        "turned_corrected",
        "n=severity.n",
        "flag=severity.flags",
        arrays={"rater": "raw reliability_without turned turned_corrected adjusted"},
    )

    @property
    def order(self) -> list[int]:
        """Raters in order of increasing mean rating."""
        return [int(place) for place in np.argsort(self.difference.value, kind="stable")]

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        things = self.things.to_frame()
        things.insert(1, "raw", self.raw_things)
        found = {"raters": self.to_frame(), "things": things}
        for name in ("middle", "drift", "interaction"):
            estimate = getattr(self, name)
            if estimate is not None:
                found[name] = estimate.to_frame()
        return found

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return simultaneous conclusions on each rater's difference from the average rater.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest difference of interest, as a proportion of the scale.
        """
        span = self._span
        return Verdicts(
            tuple(str(label) for label in self.labels),
            tuple(
                outcome(
                    bounds / span,
                    smallest=smallest.share,
                    rejected=bool(p <= 1.0 - self.level),
                    enough=bool(n >= FEWEST),
                )
                for bounds, p, n in zip(
                    self.at_once, self.adjusted, self.difference.n, strict=True
                )
            ),
        )

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot each rater's difference from the average rater: `psychollm.plots.plot_forest`."""
        return drawn_by("plot_forest")(
            self.difference, reference=0.0, x="mean rating minus that of the average rater", ax=ax
        )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return raters' severity and discrimination, and effects of omitting raters."""
        judged = self.outcomes(smallest=smallest)
        items = [
            Finding(
                statement=self._verdict(judged),
                numbers={"difference": self.difference, "adjusted_p": self.adjusted},
                outcome=judged,
            ),
            Finding(
                key="severity",
                question="Which raters rate low or high?",
                rows=self._listed(self.order, self._rater),
                explanation=(
                    "The difference compares expected mean ratings of all these things, including "
                    "those that the rater did not rate. Severity is given in logits, for a thing "
                    "of average quality."
                ),
                numbers={"severity": self.severity, "rate": self.rate},
            ),
            Finding(
                key="discrimination",
                question="Which raters discriminate between things?",
                statement=(
                    "All raters have the same discrimination, "
                    f"{self.discrimination.text(0)} logits per SD of the things."
                    if self.tied
                    else ""
                ),
                rows=() if self.tied else self._by_discrimination(),
                explanation=(
                    "Discrimination is the increase of a rating, in logits, per standard "
                    "deviation of quality as estimated from all raters. If it is near 0, the "
                    "rater's ratings are unrelated to those of others."
                ),
                numbers={"discrimination": self.discrimination},
            ),
            *self._asked(),
            Finding(
                key="without",
                question="What changes if a rater is omitted?",
                statement=(
                    f"All {len(self.labels)} raters measure quality with a "
                    f"reliability of {number(self.reliability)}; their agreement (Krippendorff's "
                    f"alpha) is {self.agreement.text(0)}."
                ),
                rows=self._without(),
                explanation=(
                    "Reliability is the proportion of true variance in estimated quality. The "
                    "verdict on a thing changes if its mean rating crosses the midpoint of the "
                    "scale. A corrected rating is the expected mean over all raters."
                ),
                numbers={
                    "reliability": self.reliability,
                    "reliability_without": self.reliability_without,
                    "agreement": self.agreement,
                },
            ),
        ]
        ratings = count(self.severity.n.sum())
        head = (
            f"{len(self.labels)} raters, {count(len(self.things.labels))} things, {ratings} "
            f"ratings from {self.categories[0]} to {self.categories[-1]}"
            + (f", {self.categories[1]} between" if self.unsure else "")
            + "."
        )
        return exhibit(Findings(items=tuple(items), head=head), self, smallest)

    @property
    def _span(self) -> float:
        low, high = self.categories[0], self.categories[-1]
        if self.unsure or not (isinstance(low, int | float) and isinstance(high, int | float)):
            return 1.0
        return float(high - low)

    def _verdict(self, judged: Verdicts) -> str:
        lowest, highest = self.order[0], self.order[-1]
        words = {
            Outcome.ABOVE: ("rates higher than the average", "rate higher than the average"),
            Outcome.BELOW: ("rates lower", "rate lower"),
            Outcome.SMALL: ("is equivalent to the average", "are equivalent to the average"),
        }
        said = counted(judged, words, kind="rater")
        return (
            f"{self.labels[lowest]} is the harshest rater and {self.labels[highest]} the most "
            f"lenient. Their expected mean ratings of all things are {self.rate.text(lowest)} and "
            f"{self.rate.text(highest)}. {said[:1].upper()}{said[1:]}."
        )

    def _listed(self, order: Sequence[int], say: Callable[[int], str]) -> tuple[str, ...]:
        """Return a line of text per rater or, with many raters, only for the extreme raters."""
        if len(order) <= 2 * _SHOWN + 1:
            return tuple(map(say, order))
        left = len(order) - 2 * _SHOWN
        return (
            *map(say, order[:_SHOWN]),
            further(left, "raters"),
            *map(say, order[-_SHOWN:]),
        )

    def _rater(self, row: int) -> str:
        flag = self.severity.flags[row]
        return (
            f"{self.labels[row]}: {self.difference.text(row, signed=True)}, severity "
            f"{self.severity.text(row, signed=True)}; observed mean rating "
            f"{number(self.raw[row])}" + (f" ({flag})" if flag else "")
        )

    def _by_discrimination(self) -> tuple[str, ...]:
        order = np.argsort(self.discrimination.value, kind="stable").tolist()
        return self._listed(
            order, lambda row: f"{self.labels[row]}: {self.discrimination.text(row)}"
        )

    def _asked(self) -> list[Finding]:
        """Return the findings that are available only for some kinds of ratings."""
        found = []
        if self.middle is not None:
            middle = self.middle
            order = np.argsort(-middle.value, kind="stable").tolist()
            found.append(
                Finding(
                    key="middle",
                    question=(
                        f"Which raters say {self.categories[1]}?"
                        if self.unsure
                        else "Which raters prefer the middle of the scale?"
                    ),
                    rows=self._listed(
                        order, lambda row: f"{self.labels[row]}: {middle.text(row)}"
                    ),
                    explanation="Expected proportion of all things to which the rater gives "
                    "neither the lowest nor the highest rating.",
                    numbers={"middle": middle},
                )
            )
        if self.drift is not None:
            found.append(self._drifting(self.drift))
        if self.interaction is not None:
            found.append(self._interacting(self.interaction))
        return found

    def _drifting(self, drift: Estimate) -> Finding:
        clear = _clear(drift)
        whom = "" if self.drift_of_all else ", relative to the average rater"
        return Finding(
            key="drift",
            question="Which raters drift over time?",
            statement=f"The intervals of {len(clear)} of {len(self.labels)} raters exclude a "
            "drift of zero.",
            rows=tuple(
                f"{self.labels[row]}: {drift.text(row, signed=True)}"
                for row in clear[: 2 * _SHOWN]
            ),
            explanation=f"Change of severity from the first to the last time{whom}, in "
            "logits, with pointwise intervals.",
            numbers={"drift": drift},
        )

    def _interacting(self, interaction: Estimate) -> Finding:
        clear = _clear(interaction)
        total = int(interaction.defined.sum())
        return Finding(
            key="interaction",
            question="Which raters are harsher to some groups of things?",
            statement=f"The intervals of {len(clear)} of {total} pairs of rater and group "
            f"exclude 0; {percent(1.0 - self.level)} are expected to do so by chance.",
            rows=tuple(
                f"{interaction.labels[row][0]} with {interaction.labels[row][1]}: "
                f"{interaction.text(row, signed=True)}"
                for row in clear[: 2 * _SHOWN]
            ),
            explanation="Values are changes of severity for a group, in logits, relative to the "
            "rater's severity and to the group's mean over raters, with pointwise intervals.",
            numbers={"interaction": interaction},
        )

    def _without(self) -> tuple[str, ...]:
        """Return the effects of omitting the least and the most informative raters."""
        order = np.argsort(-self.reliability_without, kind="stable").tolist()
        things = count(len(self.things.labels))
        return self._listed(
            order,
            lambda row: (
                f"without {self.labels[row]}: reliability "
                f"{number(self.reliability_without[row])}, {count(self.turned[row])} of {things} "
                f"verdicts change ({count(self.turned_corrected[row])} after correction)"
            ),
        )


def _clear(estimate: Estimate) -> list[int]:
    """Return rows whose interval excludes 0, by decreasing standardised value."""
    low, high = estimate.interval.T
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(estimate.value) / estimate.se
    rows = np.flatnonzero((low > 0.0) | (high < 0.0))
    return [int(row) for row in rows[np.argsort(-size[rows], kind="stable")]]
