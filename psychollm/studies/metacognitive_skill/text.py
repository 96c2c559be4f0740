"""`metacognitive_skill` in plain sentences, every number with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, verdicts

if TYPE_CHECKING:
    from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill


def summary(study: MetacognitiveSkill, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the findings in sentences, a paragraph per question asked of the data."""
    lines = [verdict(study, smallest=smallest), ""]
    for place, label in enumerate(study.labels):
        lines.append(f"{label}: {_profile(study, place)}")
    if study.scaffolding is not None:
        found = study.scaffolding
        lines += ["", f"Prompting ({study.prompted} against {study.baseline}):"]
        lines += [
            f"  {label}: accuracy {found.effect.text(place, signed=True)}; harms "
            f"{found.harmed.text(place)} of right answers, helps {found.helped.text(place)} of "
            "wrong ones"
            for place, label in enumerate(study.labels)
        ]
    if study.structure is not None and study.structure.widening is not None:
        first, second = study.structure.pair or ("", "")
        lines += ["", f"Diversity on {second} minus {first}, in bits:"]
        lines += [
            f"  {label}: {study.structure.widening.text(place, signed=True)}"
            for place, label in enumerate(study.labels)
        ]
    if study.agreement is not None:
        coders = ", ".join(map(str, study.agreement.coders))
        lines += ["", f"Agreement of {coders} (Krippendorff's alpha, ordinal):"]
        lines += [
            f"  {name}: {one.krippendorff_alpha.text(0)}"
            for name, one in study.agreement.codes.items()
        ]
    return "\n".join(lines)


def verdict(study: MetacognitiveSkill, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return in one sentence which behaviours go along with right answers."""
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
    return f"{text}."


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
