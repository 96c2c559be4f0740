"""Report pages of metacognitive skill: coded traces, abstention, and revision."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from psychollm._base.numbers import percent
from psychollm.estimates.findings import Findings, in_words, sentence_list
from psychollm.estimates.layout import Criterion, Fact, Layout, arguments, by_question, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts, counted
from psychollm.studies.metacognitive_skill.revision import CONTROLLED

if TYPE_CHECKING:
    from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill
    from psychollm.studies.metacognitive_skill.revision import RevisionSkill
    from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill

_SOURCE = "# scores: the scores of each model, by name"
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
        facts.append(Fact(name="Repeated checks", value=span(study.repetition)))
    return tuple(facts)


def _skill_methods(study: "MetacognitiveSkill") -> tuple[str, ...]:
    return (
        f"<b>Coding.</b> Following {cite('kargupta')[1:-1]}, each trace is coded as 0, 1 or 2 "
        f"for each behaviour. A trace with a code of {study.threshold} or higher shows the "
        "behaviour. All codes were assigned by "
        f"{escape(f'the coder ‘{study.coder}’' if study.coder else 'one coder')}. Agreement of "
        f"coders is measured by Krippendorff’s α {cite('krippendorff')} and Cohen’s κ.",
        "<b>Deployment.</b> P(shown | right) − P(shown) is positive if a behaviour is associated "
        "with right answers. P(shown | right) − P(shown) is close to zero if nearly all traces "
        "show the behaviour. An association need not be causal. To estimate a causal effect, ask "
        "the same questions with a prompt that directs the model to the behaviour.",
        f"<b>Uncertainty.</b> Intervals of proportions are Wilson intervals {cite('wilson')} at "
        "the effective sample size, which accounts for several traces of one question. The "
        "interval of P(shown | right) − P(shown) combines three Wilson intervals "
        f"{cite('newcombe')}. Intervals of densities and diversities are percentiles of a "
        f"bootstrap over questions. The nominal coverage of intervals is {percent(study.level)}.",
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
    title="Metacognitive skill: how do models monitor their own thinking?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {len(study.categories)} behaviours, "
        f"{int(study.length.n.sum())} traces, {percent(study.level)} intervals"
    ),
    facts=_skill_facts,
    sections={
        "profiles": "",
        "verdict": "Are behaviours associated with right answers?",
        "prompting": "",
        "structure": "Is behaviour more diverse on open problems?",
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


def _abstention_intervals(study: "AbstentionSkill") -> str:
    """Return the methods of the intervals of proportions, F1 and phi in words."""
    overall = study.overall
    methods = {"proportions": overall.recall, "F1": overall.f1, "phi": overall.phi}
    robust, rest = [], []
    for name, one in methods.items():
        kind, _, scale = one.method.partition(", ")
        what = f"{name} (as {escape(scale)})" if scale not in {"", "proportion"} else name
        if kind == "sandwich":
            robust.append(what)
        else:
            rest.append(f"Intervals of {what} use the {escape(kind)} method.")
    if robust:
        rest.insert(
            0,
            f"Intervals of {sentence_list(robust)} use cluster-robust standard errors, which "
            "allow for dependent answers within a cluster.",
        )
    return " ".join(rest)


def _abstention_verdict(
    study: "AbstentionSkill", findings: Findings, smallest: SmallestEffects
) -> str:
    judged = findings.items[0].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `AbstentionSkill.findings` made it
    words = {
        Outcome.ABOVE: (
            "abstains more on unanswerable than on answerable questions",
            "abstain more on unanswerable than on answerable questions",
        ),
        Outcome.BELOW: (
            "abstains less on unanswerable than on answerable questions",
            "abstain less on unanswerable than on answerable questions",
        ),
        Outcome.SMALL: (
            "abstains equally on unanswerable and answerable questions",
            "abstain equally on unanswerable and answerable questions",
        ),
    }
    return counted(
        judged, words, whether="whether abstention is more frequent on unanswerable questions"
    )


ABSTENTION = Layout(
    title="Abstention: do models abstain on unanswerable questions?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {int(study.overall.n.max())} questions, "
        f"{percent(study.overall.recall.level)} intervals"
    ),
    verdict=_abstention_verdict,
    facts=lambda study, smallest: (
        Fact(name="Abstention on unanswerable questions", value=span(study.overall.recall)),
        Fact(name="Abstention on answerable ones", value=span(study.overall.over_abstention)),
        Fact(name="F1", value=span(study.overall.f1)),
        Fact(name="Phi", value=span(study.overall.phi)),
    ),
    sections=by_question("verdict"),
    methods=lambda study: (
        "<b>Abstention.</b> Unanswerable questions are paired with answerable ones. Recall is "
        "the abstention rate on unanswerable questions, over-abstention the rate on answerable "
        "ones. Phi is the correlation between whether the model abstains and whether the question "
        "is unanswerable. Unlike F1, phi is zero for a model that abstains at random. Coder of "
        "the replies: "
        f"{escape(in_words(study.reader))}. Replies without a code are excluded and counted.",
        "<b>Uncertainty.</b> The two questions of a pair and their repeats form a cluster. "
        f"{_abstention_intervals(study)}",
    ),
    call=lambda study, source, options: (
        f"{source or _SOURCE}\n"
        "answers = pd.concat([one.to_frame(model) for model, one in scores.items()])\n"
        + _call("abstention_skill", "answers", options)
    ),
    wanted=lambda study, smallest: (
        Criterion(
            what="abstention on unanswerable questions (phi)",
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
        Outcome.ABOVE: ("improves its answers by review", "improve their answers by review"),
        Outcome.BELOW: ("worsens its answers by review", "worsen their answers by review"),
        Outcome.SMALL: ("does not gain accuracy by review", "do not gain accuracy by review"),
    }
    whether = "whether a review improves accuracy more than a second answer without review"
    return counted(judged, words, whether=whether)


REVISION = Layout(
    title="Revision: do models improve their answers by reviewing them?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {percent(study.informativeness.level)} intervals"
    ),
    verdict=_revision_verdict,
    facts=lambda study, smallest: (
        Fact(name="Wrong answers rejected in review", value=span(study.rates["error_catch"])),
        Fact(name="Right answers rejected in review", value=span(study.rates["false_alarm"])),
        Fact(
            name="Accuracy after revision minus second answer without review",
            value=span(study.differences[CONTROLLED]),
        ),
        Fact(
            name="Right answers given up under pressure",
            value=span(study.rates["sycophantic_flip"]),
        ),
    ),
    sections=by_question("verdict"),
    methods=lambda study: (
        "<b>Revision.</b> The model answers each question, reviews its answer and revises it. As "
        "a control, the model answers again without a review, because repeated answers also "
        "differ. The rate of caught errors refers to wrong answers, the rate of false alarms to "
        "right answers. Several attempts at one question are not independent, so intervals use "
        f"the effective sample size {cite('wilson', 'newcombe')}.",
    ),
    call=lambda study, source, options: (
        f"{source or _SOURCE}\n"
        f"study = psy.studies.revision_skill(scores, level={study.informativeness.level:g})"
    ),
    wanted=lambda study, smallest: (
        Criterion(
            what="accuracy after revision minus second answer without review",
            estimate=study.differences[CONTROLLED],
            smallest=smallest.share,
        ),
    ),
)

PAGES = {"MetacognitiveSkill": LAYOUT, "AbstentionSkill": ABSTENTION, "RevisionSkill": REVISION}
