"""What `steering_match` returns: strengths, reconstructions, nulls and controls of one sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.axes import Axes, dataset
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import count as count_text
from psychollm._base.numbers import number, p_equals, significant, with_interval
from psychollm._base.result import Result, figure_by
from psychollm._base.types import AnyArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.responses import Responses
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.null import Null
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, every, outcome
from psychollm.studies.steering_match.best_strengths import (
    BestStrengths,
)
from psychollm.studies.steering_match.evidence import (
    HEADLINES,
    Control,
    controls_frame,
)
from psychollm.studies.steering_match.grid import Grid, count, profiles_of
from psychollm.studies.steering_match.reconstruction import (
    Answers,
    Reconstruction,
)
from psychollm.studies.steering_match.steered_answers import SteeredAnswers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Choice = Literal["agreement", "kappa"]
_MANY = 1 / 3  # share of the targets from which a flag is said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteeringMatch(Study, Result):
    """How well one steered model reproduces the targets, and what the numbers are worth.

    Attributes
    ----------
    matches : mapping of str to BestStrengths
        Best strengths by "agreement", by "kappa" and, where log odds are known, by "likelihood".
    criterion : str
        The one that everything else rests on.
    at_best : Reconstruction
        At the best strength, on the questions that chose it: flattering.
    held_out, held_out_for_kappa : Reconstruction
        At strengths chosen on the other half of the questions, for agreement and for kappa.
    from_threshold : Reconstruction
        At the strength that the line through the *other* targets gives for the target's
        threshold: one scalar, nothing else of the target.
    constant, unsteered : Reconstruction
        Baselines: always the target's more frequent answer; the model without steering.
    lift : Estimate
        Held-out agreement less that of the constant answer.
    null, kappa_null : Null
        With questions exchanged: of the five headline numbers, of each target's held-out kappa.
    controls : tuple of Control
        The cut-off on the unsteered log odds, and the tables that were passed.
    steered : SteeredAnswers
        The table, with its collapsed strengths.
    targets : Responses
        The answers to be reproduced.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.studies import SteeredAnswers, steering_match
    >>> rng = np.random.default_rng(0)
    >>> ease, strengths = rng.normal(size=90), np.linspace(-2, 2, 9)
    >>> steered = SteeredAnswers.from_array(ease + strengths[:, None], strengths=strengths,
    ...                                     scale="log_odds")
    >>> targets = (ease + rng.normal(size=(5, 90)) > np.linspace(-1, 1, 5)[:, None]).astype(int)
    >>> study = steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)
    >>> list(study.matches), study.headlines["r_squared"] > 0.8
    (['agreement', 'kappa', 'likelihood'], True)
    """

    matches: Mapping[str, BestStrengths]
    criterion: Choice
    at_best: Reconstruction
    held_out: Reconstruction
    held_out_for_kappa: Reconstruction
    from_threshold: Reconstruction
    constant: Reconstruction
    unsteered: Reconstruction
    lift: Estimate
    null: Null
    kappa_null: Null
    controls: tuple[Control, ...]
    steered: SteeredAnswers
    targets: Responses
    level: float
    _answers: Mapping[str, Answers]
    _grid: Grid

    _AXES = Axes(
        {},
        "*=best",
        "held_out_agreement=held_out.agreement.value",
        "held_out_kappa=held_out_for_kappa.kappa.value",
        "kappa_p=kappa_null.p_value",
        ("kappa_p_adjusted", lambda match: adjust_p_values(match.kappa_null.p_value)),
        "from_threshold_agreement=from_threshold.agreement.value",
        "from_threshold_kappa=from_threshold.kappa.value",
        "constant=constant.agreement.value",
        "rate_matched=held_out.chance",
        "unsteered=unsteered.agreement.value",
        "lift",
        "n=held_out.agreement.n",
        "flag=best.strength.flags",
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, then how well strengths match, controls, and reservations."""
        heads, numbers = self.headlines, {str(key): value for key, value in self.headlines.items()}
        targets, left = self.targets, int(self.steered.collapsed.sum())
        total, rates = self.steered.strengths.size, self.steered.yes_rates[self.steered.usable]
        items = [
            Finding(
                statement=self._verdict(smallest),
                numbers={"p_values": dict(self.p_values), **numbers},
            ),
            Finding(
                key="answers",
                statement=(
                    f"{targets.n_models} targets, {count_text(targets.n_questions)} questions, "
                    f"{total - left} of {total} strengths used ({left} collapsed); yes-rates of "
                    f"the steered model {number(rates.min())} to {number(rates.max())}."
                ),
            ),
            Finding(key="strengths", statement=_line_text(self)),
            Finding(
                key="agreement",
                statement=(
                    f"Agreement {number(heads['agreement'])} at the best strength, "
                    f"{number(heads['held_out_agreement'])} on questions held out, "
                    f"{number(_mean(self.from_threshold.agreement.value))} at the strength that "
                    "the threshold alone gives (line through the other targets); constant answer "
                    f"{number(_mean(self.constant.agreement.value))}, random answers of the same "
                    f"yes-rate {number(_mean(self.held_out.chance))}, unsteered "
                    f"{number(_mean(self.unsteered.agreement.value))}, questions exchanged "
                    f"{number(self.null.mean[3])}."
                ),
            ),
            Finding(
                key="kappa",
                statement=(
                    f"Kappa {number(heads['kappa'])} at the best strength, "
                    f"{number(heads['held_out_kappa'])} held out, "
                    f"{number(_mean(self.from_threshold.kappa.value))} from the threshold."
                ),
            ),
            Finding(key="controls", question="Controls:", rows=_control_rows(self)),
            Finding(key="notes", question="To be kept in mind:", rows=_notes(self)),
        ]
        found = Findings(items=tuple(one for one in items if one.statement or one.rows))
        return exhibit(found, self, smallest)

    def _verdict(self, smallest: SmallestEffects) -> str:
        """Return in one or two sentences what the match shows."""
        heads, p = self.headlines, self.p_values
        kappa = (
            f"held-out kappa {number(heads['held_out_kappa'])}, {number(self.null.mean[4])} with "
            f"questions exchanged ({p_equals(p['held_out_kappa'])})"
        )
        squares = (
            f"R2 of strengths on thresholds is {number(heads['r_squared'])}, and "
            f"{number(self.null.mean[0])} with questions exchanged: it is no evidence by itself"
        )
        return f"{_finding(self, kappa, smallest)}; {squares}."

    @property
    def best(self) -> BestStrengths:
        """Best strengths by the criterion of the study."""
        return self.matches[self.criterion]

    @property
    def headlines(self) -> dict[str, float]:
        """R squared and the means over targets of agreement and kappa, in sample and held out."""
        return dict(zip(HEADLINES, map(float, self.null.observed), strict=True))

    @property
    def p_values(self) -> dict[str, float]:
        """P-values of the headline numbers, questions exchanged."""
        return dict(zip(HEADLINES, map(float, self.null.p_value), strict=True))

    def to_xarray(self) -> Any:
        """Return steered answers (strengths, questions) beside those of the targets.

        ``answers`` (targets, questions) is NaN where there is none; ``hits``, ``said``, ``truth``
        and ``scored`` (way, target, question) count, for each way in which a strength was chosen,
        how often as the target, how often yes, how often the target yes, and how often both.

        Raises
        ------
        MissingPackageError
            If xarray is not installed.
        """
        counted = ("way", "target", "question")
        variables: dict[str, tuple[tuple[str, ...], AnyArray | None]] = {
            "yes": (("strength", "question"), self.steered.yes),
            "log_odds": (("strength", "question"), self.steered.log_odds),
            "answers": (("target", "question"), self.targets.values),
        }
        for name in ("hits", "said", "truth", "scored"):
            held = [getattr(one, name) for one in self._answers.values()]
            variables[name] = (counted, np.array(held))
        coords = {
            "strength": self.steered.strengths,
            "question": self.targets.questions,
            "target": self.targets.models,
            "way": list(self._answers),
        }
        return dataset(variables, coords, of=self)

    def controls_frame(self) -> pd.DataFrame:
        """Return the headline numbers of the direction, each control, and exchanged questions."""
        return controls_frame(self.headlines, self.controls, self.null)

    def profile(self, target: Any) -> pd.DataFrame:
        """Return the answers of a target beside their reconstruction, one row per question.

        Raises
        ------
        LabelError
            If there is no such target.
        """
        import pandas as pd

        row = self.best.strength.place(target)
        answered = ~self.targets.missing[row]
        columns: dict[str, Any] = {
            "question": list(self.targets.questions),
            "target": np.where(answered, self.targets.codes[row], np.nan),
        }
        for name, found in self._answers.items():
            columns[name] = ratio(found.said[row], found.scored[row])
        return pd.DataFrame(columns)

    def curve(self, target: Any) -> pd.DataFrame:
        """Return agreement, kappa and the steered yes-rate over all strengths for a target.

        Raises
        ------
        LabelError
            If there is no such target.
        """
        row = self.best.strength.place(target)
        return _curve_frame(self._grid, count(self._grid, profiles_of(self.targets)), row)

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw the figure with its controls: `psychollm.plots.plot_steering_match`."""
        return figure_by("plot_steering_match")(self, figure=figure)

    def __repr__(self) -> str:
        return (
            f"SteeringMatch of {self.targets.n_models} targets on "
            f"{self.targets.n_questions:,} questions: {self.verdict}"
        )


def _curve_frame(grid: Grid, counts: Any, row: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "strength": grid.strengths,
            "agreement": counts.agreement[row],
            "kappa": counts.kappa[row],
            "yes_rate": ratio(counts.steered[row], counts.n[row]),
        }
    )


def finding(study: SteeringMatch) -> Literal["none", "order", "control", "direction"]:
    """Return which verdict holds."""
    # "none": questions exchanged, held-out kappa is as high. "order": it is higher, but as
    # high for a cut-off on the unsteered log odds. "control": it is higher than that, but
    # some control direction does as well. "direction": the direction is ahead of all
    # controls given.
    alpha = 1.0 - study.level
    p = study.p_values["held_out_kappa"]
    if not p <= alpha:
        return "none"
    behind = [one for one in study.controls if not _ahead(one, alpha)]
    if any(one.kind == "cut-off" for one in behind):
        return "order"
    return "control" if behind else "direction"


def _ahead(one: Control, alpha: float) -> bool:
    return one.ahead.value > 0 and one.ahead.p_value <= alpha


def _unshown(study: SteeringMatch, kappa: str, least: float) -> str:
    """Tell a direction that does nothing from questions that are too few to show what it does."""
    low, high = study.null.quantile([0.05, 0.95])[:, 4]
    if high - low < 2.0 * least:
        return (
            "Steering reproduces which questions get a yes no better than chance, to within "
            f"{least:g} in kappa ({kappa})"
        )
    return (
        f"Too few questions to say whether steering reproduces which questions get a yes ({kappa})"
    )


def _no_better(control: Control, smallest: SmallestEffects) -> str:
    """Say that a control does as well, or that it may."""
    judged = outcome(control.ahead.interval, smallest=smallest.kappa)
    return {
        Outcome.BELOW: "worse than",
        Outcome.SMALL: f"no better, to within {smallest.kappa:g}, than",
    }.get(judged, "with too few questions to say whether better than")


def _finding(study: SteeringMatch, kappa: str, smallest: SmallestEffects) -> str:
    kind = finding(study)
    if kind == "none":
        return _unshown(study, kappa, smallest.kappa)
    start = f"Steering reproduces in part which questions get a yes ({kappa})"
    tables = [one for one in study.controls if one.kind == "table"]
    if kind == "order":
        (cut,) = [one for one in study.controls if one.kind == "cut-off"]
        open_ = outcome(cut.ahead.interval, smallest=smallest.kappa) in {
            Outcome.OPEN,
            Outcome.ABOVE,
        }
        verb = "may be" if open_ else "are"
        return (
            f"{start}, but {_no_better(cut, smallest)} a cut-off moved on the unsteered log odds "
            f"(kappa {_ahead_text(cut)}): the questions {verb} in the order of the unsteered model"
        )
    if kind == "control":
        alpha = 1.0 - study.level
        rival = max(
            (one for one in tables if not _ahead(one, alpha)),
            key=lambda one: one.held_out_kappa,
        )
        return (
            f"{start}, but {_no_better(rival, smallest)} the control {rival.name!r} "
            f"({_ahead_text(rival)})"
        )
    return f"{start}{_beyond(study, tables)}"


def _beyond(study: SteeringMatch, tables: list[Control]) -> str:
    said = []
    cuts = [one for one in study.controls if one.kind == "cut-off"]
    if cuts:
        said.append(f"a cut-off on the unsteered log odds ({_ahead_text(cuts[0])})")
    if tables:
        closest = min(tables, key=lambda one: one.ahead.value)
        count = every(len(tables), "control direction") if len(tables) > 1 else "the control"
        said.append(f"{count} ({_ahead_text(closest)} ahead of the best)")
    if not said:
        return ", with no control direction and no log odds to compare with"
    text = f", better than {' and '.join(said)}"
    return text if tables else f"{text}; no random direction was given"


def _line_text(study: SteeringMatch) -> str:
    best = study.best
    (low, high), (first, last) = best.r_squared_interval, best.r_squared_questions
    null = study.null.quantile([0.05, 0.95])[:, 0]
    sign = "-" if best.line.slope < 0.0 else "+"
    return (
        f"Best strength = {significant(best.line.intercept)} {sign} "
        f"{significant(abs(best.line.slope))} x threshold: R2 "
        f"{number(study.headlines['r_squared'])} [{number(low)}, {number(high)}] for other "
        f"targets, [{number(first)}, {number(last)}] for other questions; with questions "
        f"exchanged {number(null[0])} to {number(null[1])} in 9 of 10."
    )


def _control_rows(study: SteeringMatch) -> tuple[str, ...]:
    return tuple(
        f"{one.name}: R2 {number(one.r_squared)}, held-out agreement "
        f"{number(one.held_out_agreement)}, kappa {number(one.held_out_kappa)}; direction "
        f"ahead in kappa by {_ahead_text(one)}"
        for one in study.controls
    )


def _notes(study: SteeringMatch) -> tuple[str, ...]:
    best = study.best
    notes = []
    n = best.at_edge.size
    if best.at_edge.mean() >= _MANY:
        notes.append(
            f"{int(best.at_edge.sum())} of {n} best strengths lie at the edge of the usable ones: "
            "the answers cannot be matched further out, or were not tried."
        )
    if best.wide.mean() >= _MANY:
        notes.append(f"{int(best.wide.sum())} of {n} targets have a wide plateau of strengths.")
    if not any(one.kind == "table" for one in study.controls):
        notes.append("No control directions were passed: random ones belong beside every match.")
    return tuple(notes)


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _ahead_text(one: Control) -> str:
    return with_interval(one.ahead.value, one.ahead.interval, 3, signed=True)
