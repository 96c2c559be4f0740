"""Report page of the inference boundary: rates by type, inversion, refusals, contrasts."""

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
            name=f"Pass rate, {name}",
            value=span(study.profiles[kind].retest.rate),
            detail=f"type {kind}",
        )
        for kind, name in (
            (study.answerable, "answerable"),
            (study.lexical, "undefined word"),
            (study.interaction, "no covering rule"),
            (study.control, "words exchanged (control)"),
        )
        if kind in study.profiles
    ]
    inverted = Fact(
        name="Certainty inversion",
        value=span(inversion),
        detail=f"significant in {len(study.inverted)} of {len(study.labels)} models",
    )
    refused = Fact(name="Refusals of answerable questions", value=span(study.refusal_rate))
    return (*passed, inverted, refused)


def _subtitle(study: "InferenceBoundary") -> str:
    runs = max(len(one.retest.runs) for one in study.profiles.values())
    n = sum(float(one.retest.rate.n.max()) for one in study.profiles.values())
    return (
        f"{len(study.labels)} models, {count(n)} questions, {runs} run{'s' * (runs > 1)}, "
        f"{percent(study.level)} intervals"
    )


def _lead(study: "InferenceBoundary") -> str:
    """Return the verdict on capability and monitoring; the permutations are seeded."""
    if len(study.labels) < 4:
        return ""
    return monitoring_link(study, level=study.level, rng=0).findings().verdict


def _methods(study: "InferenceBoundary") -> tuple[str, ...]:
    kinds = ", ".join(escape(str(kind)) for kind in study.profiles)
    return (
        f"<b>Questions.</b> The design follows {cite('wong')[1:-1]}. Some questions can be "
        "answered with the given rules, which use invented words. Other questions contain a word "
        "that no rule defines, or concern an event that no rule covers. In the control "
        "questions, the words for doubling and blocking are exchanged. Rates are reported by "
        f"type ({kinds}), because a single score would hide the kinds of failure. The refusal of "
        "an answerable question is a failure and is counted separately from wrong answers. "
        "Failed requests and replies that could not be parsed are treated as missing data.",
        "<b>Uncertainty.</b> Repeated runs of one question are not independent, so rates have "
        f"Wilson intervals {cite('wilson')} at the effective sample size, which is estimated "
        f"from the variance between questions. {_contrasts(study)} Certainty inversion is the "
        "pass rate on questions that no rule covers minus the pass "
        "rate on answerable questions. An effect is equivalent to zero if its interval is within "
        f"± the smallest effect of interest {cite('schuirmann')}, and inconclusive if it is "
        "neither equivalent nor significant.",
    )


def _contrasts(study: "InferenceBoundary") -> str:
    """Return the method of the intervals of contrasts in words."""
    method, _, units = study.certainty_inversion.method.partition(", effective n over ")
    if not units:
        return f"Intervals of contrasts are computed by the method ‘{escape(method)}’."
    return (
        "Intervals of contrasts combine the Wilson intervals of the rates by the MOVER method "
        "(method of variance estimates recovery); effective sample sizes are computed over "
        f"{units}."
    )


def _of_each(study: "InferenceBoundary") -> FloatArray:
    """Return the harmonic mean of the numbers of questions of both types (models,)."""
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
        # Each world has two surface forms.
        yield Criterion(what=name, estimate=contrast, smallest=smallest.share, n=contrast.n / 2.0)


def _call(study: "InferenceBoundary", source: str, options: str) -> str:
    pairs = [(one.thinking, one.base) for one in study.thinking]
    thinking = f", thinking={pairs!r}" if pairs else ""
    return (
        f"{source or '# scores: the scores of each model, by name'}\n"
        "answers = pd.concat([one.to_frame(model) for model, one in scores.items()])\n"
        f"study = psy.inference_boundary(answers{thinking}, {options})"
    )


LAYOUT = Layout(
    title="Inference boundary: do models recognise whether the given rules answer a question?",
    subtitle=_subtitle,
    lead=_lead,
    facts=_facts,
    methods=_methods,
    call=_call,
    wanted=_wanted,
    units="questions of each type",
)

PAGES = {"InferenceBoundary": LAYOUT}
