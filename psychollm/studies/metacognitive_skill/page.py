"""The reports of metacognitive skill: coded traces, abstention, and revision."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from psychollm._base.numbers import percent
from psychollm.estimates.findings import Findings, in_words
from psychollm.estimates.layout import Criterion, Fact, Layout, arguments, by_question, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts, counted
from psychollm.studies.metacognitive_skill.revision import CONTROLLED

if TYPE_CHECKING:
    from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill
    from psychollm.studies.metacognitive_skill.revision import RevisionSkill
    from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill

_SOURCE = "# scores: those of each model, by its name"
_ARMS = ("coder", "baseline", "prompted")


def _call(function: str, inputs: str, options: str) -> str:
    return f"study = psy.studies.{function}({inputs}, {options})"


# Coded traces -----------------------------------------------------------------------------------


def _skill_facts(study: "MetacognitiveSkill", smallest: SmallestEffects) -> tuple[Fact, ...]:
    facts = [
        Fact(name=f"Show {in_words(name)}", value=span(study.prevalence[name]))
        for name in study.categories
    ]
    facts.append(Fact(name="Behaviours per 1,000 tokens", value=span(study.total_density, 1)))
    if study.repetition.defined.any():
        facts.append(Fact(name="Checks that repeat an earlier one", value=span(study.repetition)))
    return tuple(facts)


def _skill_methods(study: "MetacognitiveSkill") -> tuple[str, ...]:
    return (
        f"<b>Coding.</b> After {cite('kargupta')[1:-1]}: each trace has a code for each "
        f"behaviour, 0, 1 or 2, and counts as showing it from {study.threshold} on. The codes are "
        f"those of the {escape(f'coder ‘{study.coder}’' if study.coder else 'one coder')}; the "
        f"agreement of several is Krippendorff’s α {cite('krippendorff')} and Cohen’s κ.",
        "<b>Deployment.</b> P(shown | right) − P(shown) is above zero where a behaviour goes "
        "along with right answers and is often not there. It is an association: what a behaviour "
        "does takes an experiment, the same questions with a prompt that directs the model to it.",
        f"<b>Uncertainty.</b> Shares have Wilson’s interval {cite('wilson')} at the effective "
        "size, so that several traces of one question do not count as many; gaps join three such "
        f"intervals {cite('newcombe')}; densities and diversities have percentiles of resamples "
        f"of the questions. Intervals cover {percent(study.level)}.",
    )


def _skill_wanted(study: "MetacognitiveSkill", smallest: SmallestEffects) -> Iterator[Criterion]:
    for name in study.categories:
        yield Criterion(
            what=f"{in_words(name)}: gap",
            estimate=study.deployment[name].gap,
            smallest=smallest.share,
        )
    if study.scaffolding is not None:
        effect = study.scaffolding.effect
        yield Criterion(what="effect of the prompt", estimate=effect, smallest=smallest.share)


LAYOUT = Layout(
    title="Metacognitive skill: what do the models do about their own thinking?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {len(study.categories)} behaviours, "
        f"{int(study.length.n.sum())} traces, {percent(study.level)} intervals"
    ),
    facts=_skill_facts,
    sections={
        "profiles": "",
        "verdict": "Are behaviours deployed where answers come out right?",
        "prompting": "",
        "structure": "Does behaviour diversify where problems are open?",
        "agreement": "Do the coders agree?",
    },
    methods=_skill_methods,
    call=lambda study, source, options: (
        f"{source or '# codes: a row per trace and category'}\n"
        + _call("metacognitive_skill", f"codes{arguments(study, _ARMS)}", options)
    ),
    wanted=_skill_wanted,
)


# Abstention -------------------------------------------------------------------------------------


def _abstention_verdict(
    study: "AbstentionSkill", findings: Findings, smallest: SmallestEffects
) -> str:
    judged = findings.items[0].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `AbstentionSkill.findings` made it
    words = {
        Outcome.ABOVE: (
            "abstains where it should more than elsewhere",
            "abstain where they should more than elsewhere",
        ),
        Outcome.BELOW: (
            "abstains where it should less than elsewhere",
            "abstain where they should less than elsewhere",
        ),
        Outcome.SMALL: (
            "abstains regardless of whether it should",
            "abstain regardless of whether they should",
        ),
    }
    return counted(
        judged, words, data="questions", whether="whether they abstain where they should"
    )


ABSTENTION = Layout(
    title="Abstention: do the models keep silent where there is no answer?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {int(study.overall.n.max())} questions, "
        f"{percent(study.overall.recall.level)} intervals"
    ),
    verdict=_abstention_verdict,
    facts=lambda study, smallest: (
        Fact(name="Abstain where they should", value=span(study.overall.recall)),
        Fact(name="Abstain where they should not", value=span(study.overall.over_abstention)),
        Fact(name="F1", value=span(study.overall.f1)),
        Fact(name="Phi", value=span(study.overall.phi)),
    ),
    sections=by_question("verdict"),
    methods=lambda study: (
        "<b>Abstention.</b> Questions without an answer stand beside twins that have one. Recall "
        "is the share of the former abstained from, over-abstention that of the latter; phi is "
        "the correlation of both, zero for a model that abstains at random at any rate, which F1 "
        f"is not. Replies were read by the {escape(in_words(study.reader))}; what nobody "
        "could read is left out and counted.",
        "<b>Uncertainty.</b> Twins and repeats of a question are a cluster: "
        f"{escape(study.overall.recall.method)} for shares; F1 and phi: "
        f"{escape(study.overall.f1.method)}.",
    ),
    call=lambda study, source, options: (
        f"{source or _SOURCE}\n"
        "answers = pd.concat([one.to_frame(model) for model, one in scores.items()])\n"
        + _call("abstention_skill", "answers", options)
    ),
    wanted=lambda study, smallest: (
        Criterion(
            what="abstains where it should (phi)",
            estimate=study.overall.phi,
            smallest=smallest.correlation,
        ),
    ),
)


# Revision ---------------------------------------------------------------------------------------


def _revision_verdict(
    study: "RevisionSkill", findings: Findings, smallest: SmallestEffects
) -> str:
    judged = findings.items[0].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `RevisionSkill.findings` made it
    words = {
        Outcome.ABOVE: ("mends its answers", "mend their answers"),
        Outcome.BELOW: ("spoils its answers", "spoil their answers"),
        Outcome.SMALL: ("gains nothing by reviewing", "gain nothing by reviewing"),
    }
    whether = "whether reviewing beats asking once more"
    return counted(judged, words, data="questions", whether=whether)


REVISION = Layout(
    title="Revision: do the models mend their answers when they review them?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {percent(study.informativeness.level)} intervals"
    ),
    verdict=_revision_verdict,
    facts=lambda study, smallest: (
        Fact(name="Reviews fault wrong answers", value=span(study.rates["error_catch"])),
        Fact(name="Reviews fault right answers", value=span(study.rates["false_alarm"])),
        Fact(name="Revised minus asked again", value=span(study.differences[CONTROLLED])),
        Fact(
            name="Give up right answers when pressed", value=span(study.rates["sycophantic_flip"])
        ),
    ),
    sections=by_question("verdict"),
    methods=lambda study: (
        "<b>Revision.</b> Each question is answered, reviewed and revised. Answers also change "
        "where a model is merely asked once more: that is what revising has to beat. Errors "
        "caught are a share of the wrong answers, false alarms of the right ones. Several chains "
        "of one question are not several questions: intervals are at the effective size "
        f"{cite('wilson', 'newcombe')}.",
    ),
    call=lambda study, source, options: (
        f"{source or _SOURCE}\n"
        f"study = psy.studies.revision_skill(scores, level={study.informativeness.level:g})"
    ),
    wanted=lambda study, smallest: (
        Criterion(
            what="revised minus asked again",
            estimate=study.differences[CONTROLLED],
            smallest=smallest.share,
        ),
    ),
)

PAGES = {"MetacognitiveSkill": LAYOUT, "AbstentionSkill": ABSTENTION, "RevisionSkill": REVISION}
