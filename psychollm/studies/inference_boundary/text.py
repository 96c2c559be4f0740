"""`inference_boundary` in plain sentences, every number with its interval."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import with_interval
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, counted, verdicts

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.inference_boundary.study import InferenceBoundary, ThinkingContrast


def summary(study: InferenceBoundary, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the findings in sentences, a paragraph per question asked of the data."""
    lines = [verdict(study, smallest=smallest), ""]
    lines += [f"{kind}: {_rates(study, kind)}" for kind in study.profiles]
    lines += ["", f"Certainty ({study.certainty_inversion.name}):"]
    lines += _each(study.certainty_inversion)
    if study.confabulation is not None:
        lines += ["", f"Making up words' meanings ({study.confabulation.name}):"]
        lines += _each(study.confabulation)
    lines += ["", f"Refusals of questions that have an answer ({study.answerable}):"]
    lines += _each(study.refusal_rate)
    if study.thinking:
        lines += ["", "Reasoning first:", *(f"  {_thinking(one)}" for one in study.thinking)]
    return "\n".join(lines)


def verdict(study: InferenceBoundary, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return in one sentence whose certainty is inverted, who differs little, and what is open."""
    least = f"to within {smallest.share:g}"
    words = {
        Outcome.ABOVE: ("doubts in the wrong place", "doubt in the wrong place"),
        Outcome.BELOW: (
            "passes fewer open questions than settled ones",
            "pass fewer open questions than settled ones",
        ),
        Outcome.SMALL: (f"passes as many of both, {least}", f"pass as many of both, {least}"),
    }
    found = verdicts(study.certainty_inversion, smallest=smallest.share)
    text = counted(found, words, data="questions", named=Outcome.ABOVE)
    return f"{text[0].upper()}{text[1:]}."


def _rates(study: InferenceBoundary, kind: Hashable) -> str:
    """Return the span of the rates of one type."""
    profile = study.profiles[kind]
    rate = profile.retest.rate
    if not rate.defined.any():
        return "no answers"
    low, high = np.nanargmin(rate.value), np.nanargmax(rate.value)
    return (
        f"{100 * rate.value[low]:.1f} % ({rate.labels[low]}) to {100 * rate.value[high]:.1f} % "
        f"({rate.labels[high]}) pass; runs: {len(profile.retest.runs)}"
    )


def _each(estimate: Estimate) -> list[str]:
    rows = []
    for i, label in enumerate(estimate.labels):
        if estimate.defined[i]:
            rows.append(f"  {label}: {estimate.text(i, signed=True)}")
        else:
            rows.append(f"  {label}: {estimate.flags[i]}")
    return rows


def _thinking(one: ThinkingContrast) -> str:
    difference = with_interval(one.difference.value, one.difference.interval, signed=True)
    text = (
        f"{one.thinking} against {one.base}: {difference}; "
        f"{one.detectable.n_questions} questions show differences from "
        f"{one.detectable.difference:.2f}"
    )
    needed = "" if one.needed is None else f", this one would need {one.needed.n_questions}"
    return f"{text}{needed}."
