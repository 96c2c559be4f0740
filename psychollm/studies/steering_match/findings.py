"""`steering_match` in plain sentences: the verdict rests on controls, not on R squared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.numbers import count, number, p_equals, significant, with_interval
from psychollm.estimates.findings import VERDICT, Finding, Findings
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome

if TYPE_CHECKING:
    from psychollm.studies.steering_match.evidence import Control
    from psychollm.studies.steering_match.result import SteeringMatch

_MANY = 1 / 3  # share of the targets from which a flag is said


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


def verdict(study: SteeringMatch, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return in one or two sentences what the match shows; `smallest.kappa` is what matters."""
    heads, p = study.headlines, study.p_values
    kappa = (
        f"held-out kappa {number(heads['held_out_kappa'])}, "
        f"{number(study.null.mean[4])} with questions exchanged ({p_equals(p['held_out_kappa'])})"
    )
    squares = (
        f"R2 of strengths on thresholds is {number(heads['r_squared'])}, and "
        f"{number(study.null.mean[0])} with questions exchanged: it is no evidence by itself"
    )
    return f"{_finding(study, kappa, smallest)}; {squares}."


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
    found = outcome(control.ahead.interval, smallest=smallest.kappa)
    return {
        Outcome.BELOW: "worse than",
        Outcome.SMALL: f"no better, to within {smallest.kappa:g}, than",
    }.get(found, "with too few questions to say whether better than")


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
        count = f"all {len(tables)} control directions" if len(tables) > 1 else "the control"
        said.append(f"{count} ({_ahead_text(closest)} ahead of the best)")
    if not said:
        return ", with no control direction and no log odds to compare with"
    text = f", better than {' and '.join(said)}"
    return text if tables else f"{text}; no random direction was given"


def findings(study: SteeringMatch, smallest: SmallestEffects) -> Findings:
    """Return the verdict, then how well strengths match, controls, and reservations."""
    heads, numbers = study.headlines, {str(key): value for key, value in study.headlines.items()}
    targets, left = study.targets, int(study.steered.collapsed.sum())
    total, rates = study.steered.strengths.size, _yes_rates(study)
    items = [
        Finding(
            key=VERDICT,
            statement=verdict(study, smallest=smallest),
            numbers={"p_values": dict(study.p_values), **numbers},
        ),
        Finding(
            key="answers",
            statement=(
                f"{targets.n_models} targets, {count(targets.n_questions)} questions, "
                f"{total - left} of {total} strengths used ({left} collapsed); yes-rates of the "
                f"steered model {number(rates.min())} to {number(rates.max())}."
            ),
        ),
        Finding(key="strengths", statement=_line_text(study)),
        Finding(
            key="agreement",
            statement=(
                f"Agreement {number(heads['agreement'])} at the best strength, "
                f"{number(heads['held_out_agreement'])} on questions held out, "
                f"{number(_mean(study.from_threshold.agreement.value))} at the strength that the "
                "threshold alone gives (line through the other targets); constant answer "
                f"{number(_mean(study.constant.agreement.value))}, random answers of the same "
                f"yes-rate {number(_mean(study.held_out.chance))}, unsteered "
                f"{number(_mean(study.unsteered.agreement.value))}, questions exchanged "
                f"{number(study.null.mean[3])}."
            ),
        ),
        Finding(
            key="kappa",
            statement=(
                f"Kappa {number(heads['kappa'])} at the best strength, "
                f"{number(heads['held_out_kappa'])} held out, "
                f"{number(_mean(study.from_threshold.kappa.value))} from the threshold."
            ),
        ),
        Finding(key="controls", question="Controls:", rows=_control_rows(study)),
        Finding(key="notes", question="To be kept in mind:", rows=_notes(study)),
    ]
    return Findings(items=tuple(one for one in items if one.statement or one.rows))


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


def _yes_rates(study: SteeringMatch) -> np.ndarray:
    return study.steered.yes_rates[study.steered.usable]


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _ahead_text(one: Control) -> str:
    return with_interval(one.ahead.value, one.ahead.interval, 3, signed=True)
