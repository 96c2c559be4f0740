"""What ratings show of the raters, and of the things that they rated."""

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
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
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

_SHOWN = 5  # raters at each end that the summary lists


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterSeverity(Study, Result):
    """Severity, discrimination and tendencies of raters, and what each of them changes.

    Examples
    --------
    >>> from psychollm.studies.rater_severity.study import rater_severity
    >>> raters = [[0, 0, 0, 1, 0, 0] * 5, [0, 1, 0, 1, 1, 0] * 5, [1, 1, 0, 1, 1, 1] * 5]
    >>> found = rater_severity(raters, rng=1)
    >>> found.labels[int(np.argmax(found.severity.value))], found.raw.round(2).tolist()
    (0, [0.17, 0.5, 0.83])
    """

    severity: Estimate  # (raters,) logits beyond the average rater; the harsh rate lower
    difference: Estimate  # (raters,) mean rating of all things, less that of the average rater
    rate: Estimate  # (raters,) mean rating that the rater would give to all things
    discrimination: Estimate  # (raters,) logits for one SD of the things
    middle: Estimate | None  # (raters,) share of ratings at neither end, "unsure" among them
    drift: Estimate | None  # (raters,) change of severity from the first to the last time
    interaction: Estimate | None  # (raters x groups,) logits of severity for the group
    at_once: FloatArray  # (raters, 2) intervals of `difference` that all hold together
    adjusted: FloatArray  # (raters,) p-values of no difference, for all raters at once
    things: Estimate  # (things,) mean rating that all raters together would give
    raw: FloatArray  # (raters,) mean rating as given
    raw_things: FloatArray  # (things,)
    reliability: float  # of the things' places, from all raters
    reliability_without: FloatArray  # (raters,) without the rater
    turned: IntArray  # (raters,) things whose mean rating crosses the middle without the rater
    turned_corrected: IntArray  # (raters,) the same of corrected ratings
    agreement: Estimate  # (1,) Krippendorff's alpha
    spread: Mapping[str, float]  # standard deviation between raters, by kind of parameter
    categories: Labels  # from the lowest rating to the highest
    unsure: bool  # whether the middle one of three lies between no and yes
    drift_of_all: bool  # whether drift is that of the rater, not beyond the average rater's
    tied: bool  # whether all raters have one discrimination
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
        """Raters from the one that rates lowest."""
        return [int(place) for place in np.argsort(self.difference.value, kind="stable")]

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study, by name."""
        things = self.things.to_frame()
        things.insert(1, "raw", self.raw_things)
        found = {"raters": self.to_frame(), "things": things}
        for name in ("middle", "drift", "interaction"):
            estimate = getattr(self, name)
            if estimate is not None:
                found[name] = estimate.to_frame()
        return found

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return what each rater's difference from the average rater shows, all at once.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest difference that matters, as a share of the scale.
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
        """Draw each rater's difference from the average rater: `psychollm.plots.plot_forest`."""
        return drawn_by("plot_forest")(
            self.difference, reference=0.0, x="mean rating less that of the average rater", ax=ax
        )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return who rates low and high, who tells things apart, and who changes what."""
        judged = self.outcomes(smallest=smallest)
        items = [
            Finding(
                statement=self._verdict(judged),
                numbers={"difference": self.difference, "adjusted_p": self.adjusted},
                outcome=judged,
            ),
            Finding(
                key="severity",
                question="Who rates low, and who high?",
                rows=self._listed(self.order, self._rater),
                explanation=(
                    "The difference is in the mean rating that a rater would give to all these "
                    "things, whichever of them it rated. Severity is in logits, for one average "
                    "thing."
                ),
                numbers={"severity": self.severity, "rate": self.rate},
            ),
            Finding(
                key="discrimination",
                question="Who tells things apart?",
                statement=(
                    "All raters have one discrimination, "
                    f"{self.discrimination.text(0)} logits for one SD of the things."
                    if self.tied
                    else ""
                ),
                rows=() if self.tied else self._by_discrimination(),
                explanation=(
                    "Logits by which a rating rises for one standard deviation of the things, as "
                    "all raters see them. Near 0, ratings have nothing to do with those of others."
                ),
                numbers={"discrimination": self.discrimination},
            ),
            *self._asked(),
            Finding(
                key="without",
                question="Whom to drop, and what would change?",
                statement=(
                    f"All {len(self.labels)} raters together place these things with a "
                    f"reliability of {number(self.reliability)}; their agreement (Krippendorff's "
                    f"alpha) is {self.agreement.text(0)}."
                ),
                rows=self._without(),
                explanation=(
                    "Reliability is the share of true variance in the things' places. A thing "
                    "turns where its mean rating crosses the middle of the scale; a corrected "
                    "rating is the mean that all raters together would give."
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
            Outcome.SMALL: ("about as the average", "about as the average"),
        }
        said = counted(judged, words, kind="rater", data="ratings")
        return (
            f"{self.labels[lowest]} rates lowest: its mean rating of all things would be "
            f"{self.rate.text(lowest)}, that of {self.labels[highest]}, the highest, "
            f"{self.rate.text(highest)}. {said[:1].upper()}{said[1:]}."
        )

    def _listed(self, order: Sequence[int], say: Callable[[int], str]) -> tuple[str, ...]:
        """Return a line for each rater, of many for those at both ends."""
        if len(order) <= 2 * _SHOWN + 1:
            return tuple(map(say, order))
        left = len(order) - 2 * _SHOWN
        return (
            *map(say, order[:_SHOWN]),
            f"and {left} between, in the table of raters",
            *map(say, order[-_SHOWN:]),
        )

    def _rater(self, row: int) -> str:
        flag = self.severity.flags[row]
        return (
            f"{self.labels[row]}: {self.difference.text(row, signed=True)}, severity "
            f"{self.severity.text(row, signed=True)}; as given, its mean rating is "
            f"{number(self.raw[row])}" + (f" ({flag})" if flag else "")
        )

    def _by_discrimination(self) -> tuple[str, ...]:
        order = np.argsort(self.discrimination.value, kind="stable").tolist()
        return self._listed(
            order, lambda row: f"{self.labels[row]}: {self.discrimination.text(row)}"
        )

    def _asked(self) -> list[Finding]:
        """Return findings about what not all ratings have."""
        found = []
        if self.middle is not None:
            middle = self.middle
            order = np.argsort(-middle.value, kind="stable").tolist()
            found.append(
                Finding(
                    key="middle",
                    question=(
                        f"Who says {self.categories[1]}?"
                        if self.unsure
                        else "Who keeps to the middle of the scale?"
                    ),
                    rows=self._listed(
                        order, lambda row: f"{self.labels[row]}: {middle.text(row)}"
                    ),
                    explanation="The share of all things to which the rater would give a rating "
                    "at neither end.",
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
        whom = "" if self.drift_of_all else ", beyond that of the average rater"
        return Finding(
            key="drift",
            question="Who drifts over time?",
            statement=f"The intervals of {len(clear)} of {len(self.labels)} raters exclude no "
            "drift.",
            rows=tuple(
                f"{self.labels[row]}: {drift.text(row, signed=True)}"
                for row in clear[: 2 * _SHOWN]
            ),
            explanation=f"The change of severity from the first to the last time{whom}, in "
            "logits. Each interval holds for itself.",
            numbers={"drift": drift},
        )

    def _interacting(self, interaction: Estimate) -> Finding:
        clear = _clear(interaction)
        total = int(interaction.defined.sum())
        return Finding(
            key="interaction",
            question="Who is harsher to some groups of things?",
            statement=f"The intervals of {len(clear)} of {total} pairs of rater and group exclude "
            f"0; by chance {percent(1.0 - self.level)} would.",
            rows=tuple(
                f"{interaction.labels[row][0]} with {interaction.labels[row][1]}: "
                f"{interaction.text(row, signed=True)}"
                for row in clear[: 2 * _SHOWN]
            ),
            explanation="What severity a rater adds for a group, beyond its own and beyond that "
            "of all raters for the group, in logits. Each interval holds for itself.",
            numbers={"interaction": interaction},
        )

    def _without(self) -> tuple[str, ...]:
        """Say what changes without raters whose loss costs least, and most."""
        order = np.argsort(-self.reliability_without, kind="stable").tolist()
        things = count(len(self.things.labels))
        return self._listed(
            order,
            lambda row: (
                f"without {self.labels[row]}: reliability "
                f"{number(self.reliability_without[row])}, {count(self.turned[row])} of {things} "
                f"things turn, corrected {count(self.turned_corrected[row])}"
            ),
        )


def _clear(estimate: Estimate) -> list[int]:
    """Return rows whose interval excludes 0, the largest in standard errors first."""
    low, high = estimate.interval.T
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(estimate.value) / estimate.se
    rows = np.flatnonzero((low > 0.0) | (high < 0.0))
    return [int(row) for row in rows[np.argsort(-size[rows], kind="stable")]]
