"""`self_efficacy` in plain sentences, every number with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import p_equals, with_interval

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.self_efficacy.effects import FactorEffect, Revision
    from psychollm.studies.self_efficacy.links import EfficacyLink, NormComparison
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy


def summary(study: SelfEfficacyStudy) -> str:
    """Return the findings in sentences, a paragraph per question asked of the data."""
    span = f"{study.n_items * study.low} to {study.n_items * study.high}"
    parts = [
        [f"Totals of {len(study.models)} models, {span}:", *_each(study.means, 1, signed=False)],
        ["Do items hang together?", *_indented(study.consistency.summary()), *_style(study)],
        ["Do ratings come back?", *_stability(study)],
    ]
    if np.isfinite(study.mixed.f_statistic):
        head = "Do conditions matter?"
        parts.append([head, f"  {study.mixed.summary()}", *_ranks(study)])
    if study.norm is not None:
        parts.append(_norm(study.norm))
    if study.performance:
        head = "Do higher totals go with better performance?"
        parts.append([head, *(f"  {_link(one)}" for one in study.performance.values())])
    if study.revision is not None:
        parts.append(_revision(study.revision))
    parts.extend(_effect(effect) for effect in study.effects.values())
    if study.feedback is not None:
        head = "Do ratings come nearer to the share of tasks passed after feedback?"
        parts.append([head, *_each(study.feedback)])
    if study.difficulty is not None:
        head = "Change per level of difficulty (range 0 to 1):"
        parts.append([head, *_each(study.difficulty.slopes, 3)])
    for name, links in study.links.items():
        head = f"Do totals go with {name}?"
        parts.append([head, *(f"  {_link(one)}" for one in links.values())])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _each(estimate: Estimate, digits: int = 2, *, signed: bool = True) -> list[str]:
    rows = []
    for i, label in enumerate(estimate.labels):
        rows.append(f"  {label}: {estimate.text(i, digits, signed=signed)}.")
    return rows


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _style(study: SelfEfficacyStudy) -> list[str]:
    """Say where ratings are flat, at an end of the scale, or disowned."""
    words = {
        "flat": "of administrations give all items one rating",
        "lowest": "of ratings are the lowest point",
        "highest": "of ratings are the highest point",
        "disowning": "of replies disown what the items suppose",
        "incomplete": "of administrations have no total and count nowhere",
    }
    rows = []
    for name, said in words.items():
        estimate: Estimate = getattr(study.style, name)
        if np.nan_to_num(estimate.value).any():
            top = int(np.nanargmax(estimate.value))
            rows.append(
                f"  Up to {100 * estimate.value[top]:.0f} % {said} ({estimate.labels[top]})."
            )
    return rows


def _stability(study: SelfEfficacyStudy) -> list[str]:
    rows = []
    for i, condition in enumerate(study.conditions):
        icc = study.stability[condition].icc
        rows.append(
            f"  {condition}: ICC(A,1) {icc.text(icc.place('ICC2'), 3)}; "
            f"identical ratings {study.identical.text(i)}."
        )
    return rows


def _ranks(study: SelfEfficacyStudy) -> list[str]:
    found = (study.friedman, study.kruskal)
    return [f"  {one.summary()}" for one in found if np.isfinite(one.statistic)]


def _norm(norm: NormComparison) -> list[str]:
    given = norm.norm
    source = f" ({given.source})" if given.source else ""
    rows = [f"Against people, mean {given.mean:g}, SD {given.sd:g}{source}:"]
    for i, condition in enumerate(norm.difference.labels):
        rows.append(
            f"  {condition}: {norm.difference.text(i, 1, signed=True)}, that is "
            f"{norm.standardised.text(i, signed=True)} SD; {100 * norm.below.value[i]:.0f} % of "
            "models lie below."
        )
    return rows


def _link(one: EfficacyLink) -> str:
    if not np.isfinite(one.value):
        note = f"unknown ({one.flag})"
    else:
        note = (
            f"rank correlation {with_interval(one.value, one.interval)}, {p_equals(one.p_value)}"
        )
    text = f"{one.condition}: {note}, {len(one.labels)} models"
    if one.ceiling:
        text += f"; ceiling: {100 * one.at_ceiling:.0f} % of models have the highest value"
    return f"{text}."


def _effect(effect: FactorEffect) -> list[str]:
    head = f"What does the {effect.factor} do (against {effect.baseline})?"
    return [head, *_each(effect.contrasts)]


def _missing(share: float) -> str:
    return f"; {100 * share:.0f} % are missing" if share > 0 else ""


def _revision(found: Revision) -> list[str]:
    rows = ["Do ratings stand when models are asked whether they are confident?"]
    for i, phrasing in enumerate(found.change.labels):
        rows.append(
            f"  {phrasing}: net change {found.change.text(i, signed=True)}; totals rise in "
            f"{100 * found.up.value[i]:.0f} % and fall in {100 * found.down.value[i]:.0f} % of "
            f"administrations{_missing(found.missing.value[i])}."
        )
    return rows
