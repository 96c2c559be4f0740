"""`inference_boundary` in plain sentences, every number with its interval."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import with_interval
from psychollm.estimates.findings import VERDICT, Finding, Findings, estimate_rows, sentence
from psychollm.estimates.verdict import Outcome, SmallestEffects, counted, verdicts

if TYPE_CHECKING:
    from psychollm.studies.inference_boundary.study import InferenceBoundary, ThinkingContrast


def findings(study: InferenceBoundary, smallest: SmallestEffects) -> Findings:
    """Return the verdict, then the rates, and the contrasts of each model."""
    rates = Finding(
        key="rates",
        question="Rates by type of question:",
        rows=tuple(f"{kind}: {_rates(study, kind)}" for kind in study.profiles),
        numbers={str(kind): one.retest.rate for kind, one in study.profiles.items()},
    )
    items = [_verdict(study, smallest), rates]
    items += [
        Finding(
            key=key,
            question=f"{what} ({name}):",
            rows=estimate_rows(estimate, signed=key != "refusal"),
            numbers={key: estimate},
        )
        for key, what, name, estimate in (
            ("certainty", "Certainty", study.certainty_inversion.name, study.certainty_inversion),
            (
                "confabulation",
                "Making up words' meanings",
                getattr(study.confabulation, "name", ""),
                study.confabulation,
            ),
            (
                "refusal",
                "Refusals of questions that have an answer",
                study.answerable,
                study.refusal_rate,
            ),
        )
        if estimate is not None
    ]
    if study.thinking:
        contrasts = {f"{one.thinking} - {one.base}": one.difference for one in study.thinking}
        items.append(
            Finding(
                key="thinking",
                question="Reasoning first:",
                rows=tuple(map(_thinking, study.thinking)),
                numbers=contrasts,
            )
        )
    return Findings(items=tuple(items))


def _verdict(study: InferenceBoundary, smallest: SmallestEffects) -> Finding:
    """Say whose certainty is inverted, who differs little, and what is open."""
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
    numbers = {"certainty_inversion": study.certainty_inversion}
    return Finding(key=VERDICT, statement=sentence(text), numbers=numbers, outcome=found)


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


def _thinking(one: ThinkingContrast) -> str:
    difference = with_interval(one.difference.value, one.difference.interval, signed=True)
    text = (
        f"{one.thinking} against {one.base}: {difference}; "
        f"{one.detectable.n_questions} questions show differences from "
        f"{one.detectable.difference:.2f}"
    )
    needed = "" if one.needed is None else f", this one would need {one.needed.n_questions}"
    return f"{text}{needed}."
