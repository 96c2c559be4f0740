"""`metacognitive_skill` in plain sentences, every number with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.findings import VERDICT, Finding, Findings, estimate_rows
from psychollm.estimates.verdict import Outcome, SmallestEffects, verdicts

if TYPE_CHECKING:
    from psychollm.studies.metacognitive_skill.arms import Scaffolding
    from psychollm.studies.metacognitive_skill.coders import CoderAgreement
    from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill


def findings(study: MetacognitiveSkill, smallest: SmallestEffects) -> Findings:
    """Return the verdict, then profiles, arms, structures and the agreement of coders."""
    profiles = Finding(
        key="profiles",
        question="What do traces show?",
        rows=tuple(f"{label}: {_profile(study, row)}" for row, label in enumerate(study.labels)),
        numbers={str(name): study.prevalence[name] for name in study.categories},
    )
    items = [_verdict(study, smallest), profiles]
    if study.scaffolding is not None:
        items.append(_prompting(study, study.scaffolding))
    if study.structure is not None and study.structure.widening is not None:
        first, second = study.structure.pair or ("", "")
        items.append(
            Finding(
                key="structure",
                question=f"Diversity on {second} minus {first}, in bits:",
                rows=estimate_rows(study.structure.widening),
                numbers={"widening": study.structure.widening},
            )
        )
    if study.agreement is not None:
        items.append(_agreement(study.agreement))
    return Findings(items=tuple(items))


def _prompting(study: MetacognitiveSkill, arms: Scaffolding) -> Finding:
    return Finding(
        key="prompting",
        question=f"Prompting ({study.prompted} against {study.baseline}):",
        rows=tuple(
            f"{label}: accuracy {arms.effect.text(row, signed=True)}; harms "
            f"{arms.harmed.text(row)} of right answers, helps {arms.helped.text(row)} of wrong "
            "ones"
            for row, label in enumerate(study.labels)
        ),
        numbers={"effect": arms.effect, "harmed": arms.harmed, "helped": arms.helped},
    )


def _agreement(agreement: CoderAgreement) -> Finding:
    codes = {str(name): one.krippendorff_alpha for name, one in agreement.codes.items()}
    return Finding(
        key="agreement",
        question=(
            f"Agreement of {', '.join(map(str, agreement.coders))} "
            "(Krippendorff's alpha, ordinal):"
        ),
        rows=tuple(f"{name}: {alpha.text()}" for name, alpha in codes.items()),
        numbers=codes,
    )


def _verdict(study: MetacognitiveSkill, smallest: SmallestEffects) -> Finding:
    """Say which behaviours go along with right answers."""
    shown: dict[Outcome, list[str]] = {}
    for name in study.categories:
        found = verdicts(study.deployment[name].gap, smallest=smallest.share)
        for one in Outcome:
            if who := found.which(one):
                shown.setdefault(one, []).append(f"{name} ({', '.join(who)})")
    parts = [
        f"{words}: {'; '.join(shown[one])}"
        for one, words in (
            (Outcome.ABOVE, "shown more often with right answers"),
            (Outcome.BELOW, "shown less often with right answers"),
            (Outcome.SMALL, f"alike with right answers, to within {smallest.share:g}"),
            (Outcome.OPEN, "too few traces to say"),
        )
        if one in shown
    ]
    text = ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts)
    gaps = {str(name): study.deployment[name].gap for name in study.categories}
    return Finding(key=VERDICT, statement=f"{text}.", numbers=gaps)


def _profile(study: MetacognitiveSkill, place: int) -> str:
    shares = np.array([study.prevalence[name].value[place] for name in study.categories])
    if not np.isfinite(shares).any():
        return "no trace was coded"
    most, least = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    names = study.categories
    return (
        f"shows {names[most]} most often ({study.prevalence[names[most]].text(place)} of traces) "
        f"and {names[least]} least ({study.prevalence[names[least]].text(place)}); "
        f"{study.total_density.text(place)} behaviours per 1,000 tokens, diversity "
        f"{study.diversity.text(place)} bits; repeats {study.repetition.text(place)} of its checks"
    )
