"""Report page of self-efficacy: totals, consistency, stability, and correlates."""

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
    """Return the verdict on performance and stability; without tasks, only on stability."""
    every = study.identical.text(len(study.identical.labels) - 1)
    stable = f"the proportion of ratings that are identical in all repeats is {every}"
    if not study.performance:
        return f"{stable}; there are no tasks, so validity is unknown"
    judged = findings["performance"].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `finding_of_links` made it
    words = {
        Outcome.ABOVE: "higher ratings predict better performance",
        Outcome.BELOW: "higher ratings predict worse performance",
        Outcome.SMALL: "ratings hardly correlate with performance",
        Outcome.OPEN: "the correlation of ratings with performance is inconclusive",
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
        Fact(
            name="Mean totals",
            value=span(study.means, 1),
            detail=f"possible range {low} to {high}",
        ),
        Fact(name="Consistency (α)", value=span(study.consistency.alpha)),
        Fact(
            name="Identical ratings in all repeats",
            value=span(study.identical),
            detail="by condition and overall",
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
        f"<b>Ratings.</b> Following {cite('jackson')[1:-1]}, each model rates the "
        f"{study.n_items} statements of a scale, from {study.low} to {study.high} points, several "
        "times under each condition and in varying orders. The model is the unit of replication "
        "of all tests and intervals: repeats of a model are averaged first.",
        f"<b>Consistency and stability.</b> Cronbach’s α {cite('feldt')} is reported for single "
        "administrations, as in the source, and for models’ means, since repeats of one model are "
        f"not independent respondents. ICC(A,1) {cite('shrout')} is computed over models and "
        "repeats.",
        "<b>Conditions.</b> The mixed model has a random intercept for each model. Friedman’s "
        "test compares conditions within models; the Kruskal–Wallis test ignores that the same "
        "models appear under each condition. Correlations are Spearman "
        "correlations over models.",
        "<b>Stance.</b> For coded replies, the page reports the mean code (0, 1 or 2) of "
        "assertion and of anthropomorphism. The coding scheme ‘stance’ is based on cue words, "
        "not on meaning.",
    )


def _wanted(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> Iterator[Criterion]:
    slopes = None if study.difficulty is None else study.difficulty.slopes
    known = {"shift after feedback": study.feedback, "change per level of difficulty": slopes}
    for what, estimate in known.items():
        if estimate is not None:
            yield Criterion(what=what, estimate=estimate, smallest=smallest.share)


def _call(study: "SelfEfficacyStudy", source: str, options: str) -> str:
    made = source or "# scores: the scores of each model, by name"
    return f"{made}\nstudy = psy.self_efficacy(scores, {options})"


LAYOUT = Layout(
    title="Self-efficacy: how do models rate their abilities, and are the ratings valid?",
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
