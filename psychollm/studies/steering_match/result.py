"""Result of `steering_match`: strengths, reconstructions, nulls and controls of one sweep."""

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
_MANY = 1 / 3  # proportion of targets from which a flag is reported


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteeringMatch(Study, Result):
    """Agreement of one steered model with the targets, compared with nulls and controls.

    Attributes
    ----------
    matches : mapping of str to BestStrengths
        Best strengths by "agreement", by "kappa" and, where log odds are known, by "likelihood".
    criterion : str
        Criterion that selects the best strengths for all other results.
    at_best : Reconstruction
        Reconstruction at the best strength, in sample (biased upwards).
    held_out, held_out_for_kappa : Reconstruction
        Reconstructions at strengths chosen on the other half of the questions, for agreement and
        for kappa.
    from_threshold : Reconstruction
        Reconstruction at the strength predicted from the target's threshold, by a regression line
        that is fitted to the *other* targets.
    constant, unsteered : Reconstruction
        Baselines: the target's more frequent answer, and the model without steering.
    lift : Estimate
        Held-out agreement minus the agreement of the baseline `constant`.
    null, kappa_null : Null
        Null distributions for permuted questions: the five headline statistics, and each target's
        held-out kappa.
    controls : tuple of Control
        Control predictors: a threshold on the unsteered log odds, and the tables passed by the
        caller.
    steered : SteeredAnswers
        Table of steered answers, with its collapsed strengths.
    targets : Responses
        Answers to reproduce.

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
        """Return the verdict, the fit of strengths, the controls, and limitations."""
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
                    f"{total - left} of {total} strengths usable ({left} collapsed); yes rates "
                    f"of the steered model from {number(rates.min())} to {number(rates.max())}."
                ),
            ),
            Finding(key="strengths", statement=_line_text(self)),
            Finding(
                key="agreement",
                statement=(
                    f"Agreement is {number(heads['agreement'])} at the best strength, "
                    f"{number(heads['held_out_agreement'])} if the strength is chosen on other "
                    f"questions, and {number(_mean(self.from_threshold.agreement.value))} at the "
                    "strength that a line fitted to the other targets predicts from the "
                    "threshold. Agreement of baselines: constant answer "
                    f"{number(_mean(self.constant.agreement.value))}, "
                    f"random answers of the same yes rate {number(_mean(self.held_out.chance))}, "
                    f"unsteered {number(_mean(self.unsteered.agreement.value))}, permuted "
                    f"questions {number(self.null.mean[3])}."
                ),
            ),
            Finding(
                key="kappa",
                statement=(
                    f"Kappa is {number(heads['kappa'])} at the best strength, "
                    f"{number(heads['held_out_kappa'])} if the strength is chosen on other "
                    f"questions, and {number(_mean(self.from_threshold.kappa.value))} at the "
                    "strength that a line fitted to the other targets predicts from the "
                    "threshold."
                ),
            ),
            Finding(key="controls", question="Controls:", rows=_control_rows(self)),
            Finding(key="notes", question="Limitations:", rows=_notes(self)),
        ]
        found = Findings(items=tuple(one for one in items if one.statement or one.rows))
        return exhibit(found, self, smallest)

    def _verdict(self, smallest: SmallestEffects) -> str:
        """Return the verdict in one or two sentences."""
        heads, p = self.headlines, self.p_values
        kappa = (
            f"held-out kappa {number(heads['held_out_kappa'])}, {number(self.null.mean[4])} for "
            f"permuted questions, {p_equals(p['held_out_kappa'])}"
        )
        squares = (
            f"thresholds predict strengths with R2 {number(heads['r_squared'])}, and with "
            f"{number(self.null.mean[0])} for permuted questions, so a high R2 alone is no "
            "evidence of steering"
        )
        return f"{_finding(self, kappa, smallest)}; {squares}."

    @property
    def best(self) -> BestStrengths:
        """Best strengths by the criterion of the study."""
        return self.matches[self.criterion]

    @property
    def headlines(self) -> dict[str, float]:
        """R squared, and mean agreement and kappa over targets, in sample and held out."""
        return dict(zip(HEADLINES, map(float, self.null.observed), strict=True))

    @property
    def p_values(self) -> dict[str, float]:
        """P-values of the headline statistics, from permuted questions."""
        return dict(zip(HEADLINES, map(float, self.null.p_value), strict=True))

    def to_xarray(self) -> Any:
        """Return steered answers (strengths, questions) and the targets' answers as a Dataset.

        The array ``answers`` (targets, questions) contains NaN for missing answers. The arrays
        ``hits``, ``said``, ``truth`` and ``scored`` have the dimensions way (of choosing a
        strength), target and question. The four arrays count agreements, yes answers, the target's
        yes answers, and questions that the target and the steered model both answered.

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
        """Return the headline statistics of the direction, controls and permuted questions."""
        return controls_frame(self.headlines, self.controls, self.null)

    def profile(self, target: Any) -> pd.DataFrame:
        """Return a target's answers and their reconstruction, one row per question.

        Raises
        ------
        LabelError
            If the target is unknown.
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
        """Return agreement, kappa and the steered yes rate over all strengths for a target.

        Raises
        ------
        LabelError
            If the target is unknown.
        """
        row = self.best.strength.place(target)
        return _curve_frame(self._grid, count(self._grid, profiles_of(self.targets)), row)

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw the figure of the match and its controls: `psychollm.plots.plot_steering_match`."""
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
    """Return the type of the verdict, such as "control"."""
    # "none": held-out kappa is not above its value for permuted questions. "order": it is above
    # that value, but not above the kappa of a threshold on the unsteered log odds. "control": it
    # is above both, but not above the kappa of at least one control direction. "direction": it is
    # above the kappas of all given controls.
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
    """Return a sentence: either an effect is absent, or the questions are too few to decide."""
    low, high = study.null.quantile([0.05, 0.95])[:, 4]
    if high - low < 2.0 * least:
        return (
            "Steering predicts which questions get a yes no better than chance (within "
            f"{least:g} in kappa; {kappa})"
        )
    return f"It is unclear whether steering predicts which questions get a yes ({kappa})"


def _no_better(control: Control, smallest: SmallestEffects) -> str:
    """Return in words how the direction compares with a control that it does not exceed."""
    judged = outcome(control.ahead.interval, smallest=smallest.kappa)
    return {
        Outcome.BELOW: "worse than",
        Outcome.SMALL: f"equivalent (within {smallest.kappa:g}) to",
    }.get(judged, "not significantly better than")


def _finding(study: SteeringMatch, kappa: str, smallest: SmallestEffects) -> str:
    kind = finding(study)
    if kind == "none":
        return _unshown(study, kappa, smallest.kappa)
    start = f"Steering partly predicts which questions get a yes ({kappa})"
    tables = [one for one in study.controls if one.kind == "table"]
    if kind == "order":
        (cut,) = [one for one in study.controls if one.kind == "cut-off"]
        open_ = outcome(cut.ahead.interval, smallest=smallest.kappa) in {
            Outcome.OPEN,
            Outcome.ABOVE,
        }
        verb = "may preserve" if open_ else "preserves"
        return (
            f"{start}, but is {_no_better(cut, smallest)} a threshold on the unsteered log odds "
            f"(kappa {_ahead_text(cut)}); steering {verb} the order of questions of the unsteered "
            "model"
        )
    if kind == "control":
        alpha = 1.0 - study.level
        rival = max(
            (one for one in tables if not _ahead(one, alpha)),
            key=lambda one: one.held_out_kappa,
        )
        return (
            f"{start}, but is {_no_better(rival, smallest)} the control {rival.name!r} "
            f"({_ahead_text(rival)})"
        )
    return f"{start}{_beyond(study, tables)}"


def _beyond(study: SteeringMatch, tables: list[Control]) -> str:
    said = []
    cuts = [one for one in study.controls if one.kind == "cut-off"]
    if cuts:
        said.append(f"a threshold on the unsteered log odds ({_ahead_text(cuts[0])})")
    if tables:
        closest = min(tables, key=lambda one: one.ahead.value)
        count = every(len(tables), "control direction") if len(tables) > 1 else "the control"
        said.append(f"{count} (by {_ahead_text(closest)} over the best)")
    if not said:
        return "; no control direction and no log odds were given"
    text = f", better than {' and '.join(said)}"
    return text if tables else f"{text}; no random direction was given"


def _line_text(study: SteeringMatch) -> str:
    best = study.best
    (low, high), (first, last) = best.r_squared_interval, best.r_squared_questions
    null = study.null.quantile([0.05, 0.95])[:, 0]
    sign = "-" if best.line.slope < 0.0 else "+"
    return (
        f"Best strength = {significant(best.line.intercept)} {sign} "
        f"{significant(abs(best.line.slope))} x threshold. R2 is "
        f"{number(study.headlines['r_squared'])}; its interval is [{number(low)}, "
        f"{number(high)}] when generalising to other targets and [{number(first)}, "
        f"{number(last)}] when generalising to other questions. If questions are permuted, 90 % "
        f"of R2 values are between {number(null[0])} and {number(null[1])}."
    )


def _control_rows(study: SteeringMatch) -> tuple[str, ...]:
    return tuple(
        f"{one.name}: R2 {number(one.r_squared)}, held-out agreement "
        f"{number(one.held_out_agreement)}, kappa {number(one.held_out_kappa)}; "
        f"the kappa of the direction is higher by {_ahead_text(one)}"
        for one in study.controls
    )


def _notes(study: SteeringMatch) -> tuple[str, ...]:
    best = study.best
    notes = []
    n = best.at_edge.size
    if best.at_edge.mean() >= _MANY:
        notes.append(
            f"{int(best.at_edge.sum())} of {n} best strengths are at the edge of the usable "
            "range: the optimum may be outside it."
        )
    if best.wide.mean() >= _MANY:
        notes.append(
            f"For {int(best.wide.sum())} of {n} targets, a wide range of strengths fits about "
            "equally well."
        )
    if not any(one.kind == "table" for one in study.controls):
        notes.append("No control directions were given: always compare with random directions.")
    return tuple(notes)


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _ahead_text(one: Control) -> str:
    return with_interval(one.ahead.value, one.ahead.interval, 3, signed=True)
