"""`self_efficacy` in plain sentences, every number with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import p_equals, with_interval
from psychollm.estimates.findings import Finding, Findings, estimate_rows

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.self_efficacy.effects import Revision
    from psychollm.studies.self_efficacy.links import EfficacyLink, NormComparison
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy


def findings(study: SelfEfficacyStudy) -> Findings:
    """Return a finding per question asked of the data, those that the answers allow."""
    span = f"{study.n_items * study.low} to {study.n_items * study.high}"
    items = [
        _of(
            "totals",
            f"Totals of {len(study.models)} models, {span}:",
            estimate_rows(study.means, 1, signed=False),
            {"means": study.means},
        ),
        _of(
            "consistency",
            "Do items hang together?",
            (*study.consistency.summary().splitlines(), *_style(study)),
            {"alpha": study.consistency.alpha},
        ),
        _of(
            "stability", "Do ratings come back?", _stability(study), {"identical": study.identical}
        ),
    ]
    if np.isfinite(study.mixed.f_statistic):
        rows = (study.mixed.summary(), *_ranks(study))
        items.append(_of("conditions", "Do conditions matter?", rows, {"p": study.mixed.p_value}))
    if study.norm is not None:
        items.append(_norm(study.norm))
    if study.performance:
        items.append(
            _links(
                "performance", "Do higher totals go with better performance?", study.performance
            )
        )
    if study.revision is not None:
        items.append(_revision(study.revision))
    items += [
        _of(
            str(effect.factor),
            f"What does the {effect.factor} do (against {effect.baseline})?",
            estimate_rows(effect.contrasts),
            {"contrasts": effect.contrasts},
        )
        for effect in study.effects.values()
    ]
    if study.feedback is not None:
        question = "Do ratings come nearer to the share of tasks passed after feedback?"
        rows = estimate_rows(study.feedback)
        items.append(_of("feedback", question, rows, {"shift": study.feedback}))
    if study.difficulty is not None:
        slopes = study.difficulty.slopes
        question = "Change per level of difficulty (range 0 to 1):"
        items.append(_of("difficulty", question, estimate_rows(slopes, 3), {"slopes": slopes}))
    items += [
        _links(str(name), f"Do totals go with {name}?", links)
        for name, links in study.links.items()
    ]
    return Findings(items=tuple(items))


def _of(key: str, question: str, rows: Iterable[str], numbers: Mapping[str, Any]) -> Finding:
    return Finding(key=key, question=question, rows=tuple(rows), numbers=numbers)


def _links(key: str, question: str, links: Mapping[Any, EfficacyLink]) -> Finding:
    rows = tuple(map(_link, links.values()))
    numbers = {str(condition): one for condition, one in links.items()}
    return Finding(key=key, question=question, rows=rows, numbers=numbers)


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
                f"Up to {100 * estimate.value[top]:.0f} % {said} ({estimate.labels[top]})."
            )
    return rows


def _stability(study: SelfEfficacyStudy) -> list[str]:
    rows = []
    for i, condition in enumerate(study.conditions):
        icc = study.stability[condition].icc
        rows.append(
            f"{condition}: ICC(A,1) {icc.text(icc.place('ICC2'), 3)}; "
            f"identical ratings {study.identical.text(i)}."
        )
    return rows


def _ranks(study: SelfEfficacyStudy) -> list[str]:
    found = (study.friedman, study.kruskal)
    return [one.summary() for one in found if np.isfinite(one.statistic)]


def _norm(norm: NormComparison) -> Finding:
    given = norm.norm
    source = f" ({given.source})" if given.source else ""
    rows = []
    for i, condition in enumerate(norm.difference.labels):
        rows.append(
            f"{condition}: {norm.difference.text(i, 1, signed=True)}, that is "
            f"{norm.standardised.text(i, signed=True)} SD; {100 * norm.below.value[i]:.0f} % of "
            "models lie below."
        )
    question = f"Against people, mean {given.mean:g}, SD {given.sd:g}{source}:"
    return _of("people", question, rows, {"difference": norm.difference})


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


def _missing(share: float) -> str:
    return f"; {100 * share:.0f} % are missing" if share > 0 else ""


def _revision(found: Revision) -> Finding:
    rows = []
    for i, phrasing in enumerate(found.change.labels):
        rows.append(
            f"{phrasing}: net change {found.change.text(i, signed=True)}; totals rise in "
            f"{100 * found.up.value[i]:.0f} % and fall in {100 * found.down.value[i]:.0f} % of "
            f"administrations{_missing(found.missing.value[i])}."
        )
    question = "Do ratings stand when models are asked whether they are confident?"
    return _of("revision", question, rows, {"change": found.change})
