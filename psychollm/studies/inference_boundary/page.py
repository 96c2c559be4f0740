"""The report of the inference boundary: rates by type, inversion, refusals, contrasts."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, percent
from psychollm._base.types import FloatArray
from psychollm.estimates.layout import Criterion, Fact, Layout, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.inference_boundary.monitoring_link import monitoring_link

if TYPE_CHECKING:
    from psychollm.studies.inference_boundary.study import InferenceBoundary


def _facts(study: "InferenceBoundary", smallest: SmallestEffects) -> tuple[Fact, ...]:
    inversion = study.certainty_inversion
    passed = [
        Fact(
            name=f"Pass, {name}",
            value=span(study.profiles[kind].retest.rate),
            detail=f"type {kind}",
        )
        for kind, name in (
            (study.answerable, "with an answer"),
            (study.lexical, "undefined word"),
            (study.interaction, "uncovered event"),
            (study.control, "words exchanged (control)"),
        )
        if kind in study.profiles
    ]
    inverted = Fact(
        name="Certainty inversion",
        value=span(inversion),
        detail=f"shown in {len(study.inverted)} of {len(study.labels)} models",
    )
    refused = Fact(name="Refusals where there is an answer", value=span(study.refusal_rate))
    return (*passed, inverted, refused)


def _subtitle(study: "InferenceBoundary") -> str:
    runs = max(len(one.retest.runs) for one in study.profiles.values())
    n = sum(float(one.retest.rate.n.max()) for one in study.profiles.values())
    return (
        f"{len(study.labels)} models, {count(n)} questions, {runs} run{'s' * (runs > 1)}, "
        f"{percent(study.level)} intervals"
    )


def _lead(study: "InferenceBoundary") -> str:
    """Say whether capability and monitoring go together (over models, permutations seeded)."""
    if len(study.labels) < 4:
        return ""
    return monitoring_link(study, level=study.level, rng=0).findings().verdict


def _methods(study: "InferenceBoundary") -> tuple[str, ...]:
    kinds = ", ".join(escape(str(kind)) for kind in study.profiles)
    return (
        f"<b>Questions.</b> After {cite('wong')[1:-1]}: rules with invented words settle some "
        "questions; others hold a word that no rule defines, or an event that no rule covers; in "
        "the control the words that double and block are exchanged. Rates are kept apart by type "
        f"({kinds}), since one score would hide how models fail. A refusal of a question that has "
        "an answer does not pass, and is counted apart from wrong answers. What failed or could "
        "not be read is missing.",
        "<b>Uncertainty.</b> Runs of one question are no independent questions: rates have "
        f"Wilson’s interval {cite('wilson')} at the effective size, from the variance between "
        f"questions; contrasts of types: {escape(study.certainty_inversion.method)}. Certainty "
        "inversion is the rate on uncovered events less the rate on questions with an answer; "
        "effects are called small where the interval lies within the smallest that matters "
        f"{cite('schuirmann')}, and undecided where it reaches beyond on both sides.",
    )


def _of_each(study: "InferenceBoundary") -> FloatArray:
    """Return the questions of each of two types (models,), the harmonic mean where they differ."""
    rates = [study.profiles[kind].retest.rate for kind in (study.interaction, study.answerable)]
    known = [dict(zip(one.labels, one.n.tolist(), strict=True)) for one in rates]
    n = np.array([[own.get(label, np.nan) for label in study.labels] for own in known])
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 / (1.0 / n).sum(axis=0))


def _wanted(study: "InferenceBoundary", smallest: SmallestEffects) -> Iterator[Criterion]:
    yield Criterion(
        what="certainty inversion",
        estimate=study.certainty_inversion,
        smallest=smallest.share,
        n=_of_each(study),
    )
    for name, contrast in study.skins.items():
        # A world is told in both skins.
        yield Criterion(what=name, estimate=contrast, smallest=smallest.share, n=contrast.n / 2.0)


def _call(study: "InferenceBoundary", source: str, options: str) -> str:
    pairs = [(one.thinking, one.base) for one in study.thinking]
    thinking = f", thinking={pairs!r}" if pairs else ""
    return (
        f"{source or '# scores: the scores of each model, by its name'}\n"
        "answers = pd.concat([one.to_frame(model) for model, one in scores.items()])\n"
        f"study = psy.inference_boundary(answers{thinking}, {options})"
    )


LAYOUT = Layout(
    title="Inference boundary: do the models know how far rules carry?",
    subtitle=_subtitle,
    lead=_lead,
    facts=_facts,
    methods=_methods,
    call=_call,
    wanted=_wanted,
    units="questions of each type",
)

PAGES = {"InferenceBoundary": LAYOUT}
