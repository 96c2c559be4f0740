"""The report of self-efficacy: totals, consistency, stability, and what they go along with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import extent, p_equals, percent
from psychollm.estimates.findings import Findings, sentence_list
from psychollm.estimates.layout import Criterion, Fact, Layout, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts

if TYPE_CHECKING:
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy


def _verdict(study: "SelfEfficacyStudy", findings: Findings, smallest: SmallestEffects) -> str:
    """Say whether ratings go with performance, or how far they come back, where nothing else."""
    every = study.identical.text(len(study.identical.labels) - 1)
    stable = f"{every} of ratings come back identically in all repeats"
    if not study.performance:
        return f"{stable}; no tasks were done that ratings could go with"
    judged = findings["performance"].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `finding_of_links` made it
    words = {
        Outcome.ABOVE: "higher ratings go with better performance",
        Outcome.BELOW: "higher ratings go with worse performance",
        Outcome.SMALL: "ratings have next to nothing to do with performance",
        Outcome.OPEN: "too few models, or too little difference between them, to say whether "
        "ratings go with performance",
    }
    parts = [
        f"{text} ({sentence_list(judged.which(one))})"
        for one, text in words.items()
        if judged.count(one)
    ]
    return f"{'; '.join(parts)}. {stable[0].upper()}{stable[1:]}"


def _facts(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> tuple[Fact, ...]:
    low, high = study.n_items * study.low, study.n_items * study.high
    facts = [
        Fact(name="Mean totals", value=span(study.means, 1), detail=f"of {low} to {high}"),
        Fact(name="Consistency (α)", value=span(study.consistency.alpha)),
        Fact(
            name="Identical ratings in all repeats",
            value=span(study.identical),
            detail="by condition, and over all",
        ),
    ]
    if np.isfinite(study.mixed.f_statistic):
        facts.append(
            Fact(
                name="Conditions differ (mixed model)",
                value=p_equals(study.mixed.p_value),
                detail=f"Friedman {p_equals(study.friedman.p_value)}",
            )
        )
    if study.performance:
        rho = extent([one.value for one in study.performance.values()])
        facts.append(Fact(name="Rank correlation with performance", value=rho))
    if study.revision is not None:
        facts.append(Fact(name="Net change when asked again", value=span(study.revision.change)))
    return tuple(facts)


def _methods(study: "SelfEfficacyStudy") -> tuple[str, ...]:
    return (
        f"<b>Ratings.</b> After {cite('jackson')[1:-1]}: each model rates a scale of "
        f"{study.n_items} statements, {study.low} to {study.high} points each, several times "
        "under each condition, the statements in new orders. Models are the unit of replication "
        "of every test and interval: repeats of a model are averaged first.",
        f"<b>Consistency and stability.</b> Cronbach’s α {cite('feldt')} is given of single "
        "administrations, as in the source, and of models’ means, since repeats of one model are "
        f"no further respondents. ICC(A,1) {cite('shrout')} is over models and repeats.",
        "<b>Conditions.</b> A mixed model with a random intercept for each model; Friedman’s "
        "test, which compares within models, beside Kruskal and Wallis’s, which does not know "
        "that the same models appear under each condition. Links are Spearman’s correlations over "
        "models.",
        "<b>Stance.</b> Where replies were coded, the mean code (0, 1, 2) of assertion and of "
        "anthropomorphism by the cues of the scheme <code>stance</code>: words, no judgement.",
    )


def _wanted(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> Iterator[Criterion]:
    slopes = None if study.difficulty is None else study.difficulty.slopes
    known = {"shift after feedback": study.feedback, "change per level of difficulty": slopes}
    for what, estimate in known.items():
        if estimate is not None:
            yield Criterion(what=what, estimate=estimate, smallest=smallest.share)


def _call(study: "SelfEfficacyStudy", source: str, options: str) -> str:
    made = source or "# scores: the scores of each model, by its name"
    return f"{made}\nstudy = psy.self_efficacy(scores, {options})"


LAYOUT = Layout(
    title="Self-efficacy: how sure are the models of themselves, and with what right?",
    subtitle=lambda study: (
        f"{len(study.models)} models, {len(study.conditions)} condition"
        f"{'s' * (len(study.conditions) > 1)}, {study.n_items} statements, "
        f"{percent(study.level)} intervals"
    ),
    models=lambda study: study.models,
    verdict=_verdict,
    facts=_facts,
    methods=_methods,
    call=_call,
    wanted=_wanted,
    units="models",
)

PAGES = {"SelfEfficacyStudy": LAYOUT}
