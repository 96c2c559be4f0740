"""The reports of metacognitive skill: coded traces, abstention, and revision."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from psychollm._base.numbers import percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Findings, in_words
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts, counted
from psychollm.reports.layout import (
    Beside,
    Layout,
    Series,
    Wanted,
    arguments,
    estimates_table,
    forest_picture,
    span,
)
from psychollm.reports.page import Fact, cite
from psychollm.reports.table import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    text_column,
)
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


def _prevalence(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    return {in_words(name): study.prevalence[name] for name in study.categories}


def _gaps(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    return {in_words(name): study.deployment[name].gap for name in study.categories}


def _profile(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    return {
        "behaviours per 1,000 tokens": study.total_density,
        "diversity, bits": study.diversity,
        "tokens a trace": study.length,
        "checks that repeat": study.repetition,
        "right": study.accuracy,
    }


def _prompted(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    if study.prompting is None:
        return {}
    return {in_words(name): study.prompting[name] for name in study.categories}


def _scaffold(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    found = study.scaffolding
    if found is None:
        return {}
    return {
        "effect on accuracy": found.effect,
        "harms, of right": found.harmed,
        "helps, of wrong": found.helped,
    }


def _diversity(study: "MetacognitiveSkill") -> dict[str, Estimate]:
    if study.structure is None:
        return {}
    return {in_words(name): one for name, one in study.structure.diversity.items()}


def _deployment(study: "MetacognitiveSkill", smallest: SmallestEffects) -> Table:
    rows = [(row, name) for row in range(len(study.labels)) for name in study.categories]

    def column(heading: str, part: str) -> Column:
        found = [getattr(study.deployment[name], part) for _, name in rows]
        at = [row for row, _ in rows]
        both = list(zip(found, at, strict=True))
        return interval_column(
            heading,
            [one.value[row] for one, row in both],
            [one.interval[row] for one, row in both],
            reasons=[one.flags[row] for one, row in both],
        )

    return Table.of(
        [
            name_column("model", [study.labels[row] for row, _ in rows]),
            text_column("behaviour", [in_words(name) for _, name in rows]),
            column("P(shown | right)", "given_correct"),
            column("P(shown | wrong)", "given_wrong"),
            column("P(shown | right) − P(shown)", "gap"),
        ],
        caption="Is a behaviour deployed where answers come out right?",
    )


def _agreement(study: "MetacognitiveSkill", smallest: SmallestEffects) -> Table | None:
    found = study.agreement
    if found is None:
        return None
    frame = found.to_frame()
    columns = [
        text_column("behaviour", [in_words(name) for name in frame["category"]]),
        interval_column(
            "Krippendorff’s α (ordinal)",
            frame["alpha"],
            frame[["alpha_lower", "alpha_upper"]].to_numpy(),
        ),
    ]
    if "kappa" in frame.columns:
        bounds = frame[["kappa_lower", "kappa_upper"]].to_numpy()
        columns.append(interval_column("Cohen’s κ (linear)", frame["kappa"], bounds))
    columns += [
        number_column("same code", frame["same_code"]),
        number_column("AC1, shown or not", frame["shown_ac1"]),
        number_column("traces", frame["n"], digits=0),
    ]
    who = ", ".join(map(str, found.coders))
    return Table.of(columns, caption=f"Agreement of the coders: {escape(who)}")


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


def _skill_wanted(study: "MetacognitiveSkill", smallest: SmallestEffects) -> Iterator[Wanted]:
    for name in study.categories:
        yield Wanted(
            what=f"{in_words(name)}: gap",
            estimate=study.deployment[name].gap,
            smallest=smallest.share,
        )
    if study.scaffolding is not None:
        effect = study.scaffolding.effect
        yield Wanted(what="effect of the prompt", estimate=effect, smallest=smallest.share)


LAYOUT = Layout(
    title="Metacognitive skill: what do the models do about their own thinking?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {len(study.categories)} behaviours, "
        f"{int(study.length.n.sum())} traces, {percent(study.level)} intervals"
    ),
    facts=_skill_facts,
    beside={
        "profiles": Beside(
            pictures=(
                forest_picture(
                    "prevalence",
                    "Share of traces that show each behaviour",
                    "Share of traces that show each behaviour.",
                    _prevalence,
                    x="share of traces",
                ),
            ),
            tables=(estimates_table("Profiles", _profile, n=False),),
            folded=(estimates_table("Share of traces that show each behaviour", _prevalence),),
            instead=True,
        ),
        "verdict": Beside(
            title="Are behaviours deployed where answers come out right?",
            pictures=(
                forest_picture(
                    "deployment",
                    "Deployment gap of each behaviour",
                    "P(shown | right answer) − P(shown). Right of the line a behaviour goes along "
                    "with right answers.",
                    _gaps,
                    x="P(shown | right) − P(shown)",
                    reference=0.0,
                ),
            ),
            folded=(_deployment,),
        ),
        "prompting": Beside(
            pictures=(
                forest_picture(
                    "scaffolding",
                    "What prompting does to answers",
                    "Accuracy with the prompt minus without, on the same questions; share of "
                    "right answers that it spoils, and of wrong ones that it mends.",
                    _scaffold,
                    x="difference, or share",
                    reference=0.0,
                ),
                forest_picture(
                    "prompted",
                    "What prompting does to behaviour",
                    "Share of traces that show a behaviour, when prompted minus spontaneously.",
                    _prompted,
                    x="prompted minus spontaneous",
                    reference=0.0,
                ),
            ),
            tables=(estimates_table("Prompting", _scaffold),),
            instead=True,
        ),
        "structure": Beside(
            title="Does behaviour diversify where problems are open?",
            pictures=(
                forest_picture(
                    "diversity",
                    "Diversity of behaviour by kind of problem",
                    "Entropy of the behaviours in traces, by kind of problem.",
                    _diversity,
                    x="diversity, bits",
                ),
            ),
        ),
        "agreement": Beside(title="Do the coders agree?", tables=(_agreement,), instead=True),
    },
    methods=_skill_methods,
    call=lambda study, source, options: (
        f"{source or '# codes: a row per trace and category'}\n"
        + _call("metacognitive_skill", f"codes{arguments(study, _ARMS)}", options)
    ),
    wanted=_skill_wanted,
)


# Abstention -------------------------------------------------------------------------------------


def _made(study: "AbstentionSkill") -> dict[str, Estimate]:
    overall = study.overall
    return {
        "where they should": overall.recall,
        "where they should not": overall.over_abstention,
    }


def _scores(study: "AbstentionSkill") -> dict[str, Estimate]:
    overall = study.overall
    return {
        "recall": overall.recall,
        "over-abstention": overall.over_abstention,
        "precision": overall.precision,
        "F1": overall.f1,
        "phi": overall.phi,
        "right, of answerable attempted": overall.selective_accuracy,
    }


def _by_scenario(study: "AbstentionSkill", smallest: SmallestEffects) -> Table | None:
    parts = study.by_scenario
    if parts is None:
        return None
    columns = [name_column("model", parts.parts[0].labels)]
    columns += [
        estimate_column(in_words(name), part.recall)
        for name, part in zip(parts.groups, parts.parts, strict=True)
        if part.recall.defined.any()
    ]
    return Table.of(columns, caption="Recall by scenario: abstentions among what has no answer")


def _mismatch(study: "AbstentionSkill") -> dict[str, Estimate]:
    return dict(study.mismatch)


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
    beside={
        "verdict": Beside(
            pictures=(
                forest_picture(
                    "abstention",
                    "Abstention where it is due and where it is not",
                    "Share of questions abstained from, where there is no answer and where there "
                    "is one: the further apart, the better a model knows the difference.",
                    _made,
                    x="share abstained from",
                ),
                forest_picture(
                    "doubts",
                    "Confident answers among traces in doubt",
                    "Share of traces that doubt and yet end in a confident answer, by who read "
                    "them.",
                    _mismatch,
                    x="share of traces in doubt",
                ),
            ),
            tables=(estimates_table("Abstention", _scores), _by_scenario),
            instead=True,
        ),
    },
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
        Wanted(
            what="abstains where it should (phi)",
            estimate=study.overall.phi,
            smallest=smallest.correlation,
        ),
    ),
)


# Revision ---------------------------------------------------------------------------------------

_REVIEWS = {"error_catch": "faults wrong answers", "false_alarm": "faults right answers"}
_REVISES = {"correction": "corrects wrong answers", "miscorrection": "spoils right answers"}


def _rates(names: dict[str, str]) -> Series:
    return lambda study: {
        word: study.rates[name] for name, word in names.items() if name in study.rates
    }


def _named(field: str) -> Series:
    return lambda study: {in_words(name): one for name, one in getattr(study, field).items()}


def _control(study: "RevisionSkill") -> dict[str, Estimate]:
    return {"revised minus asked again": study.differences[CONTROLLED]}


def _pressed(study: "RevisionSkill") -> dict[str, Estimate]:
    return {"gives up right answers": study.rates["sycophantic_flip"]}


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
    beside={
        "verdict": Beside(
            pictures=(
                forest_picture(
                    "reviews",
                    "What reviews find",
                    "Share of wrong and of right answers that the model's review faults.",
                    _rates(_REVIEWS),
                    x="share of answers faulted",
                ),
                forest_picture(
                    "revises",
                    "What revising does",
                    "Share of wrong answers corrected, and of right answers spoilt.",
                    _rates(_REVISES),
                    x="share of answers changed",
                ),
                forest_picture(
                    "against-again",
                    "Revising against asking once more",
                    "Accuracy after revising minus accuracy when merely asked once more, on the "
                    "same questions.",
                    _control,
                    x="difference of accuracy",
                    reference=0.0,
                ),
                forest_picture(
                    "pressed",
                    "Giving way to pressure",
                    "Share of right answers given up when the user insists on a wrong one.",
                    _pressed,
                    x="share of right answers",
                ),
            ),
            folded=(
                estimates_table("All rates", _named("rates"), n=False),
                estimates_table("All differences of accuracy", _named("differences"), n=False),
            ),
            instead=True,
        ),
    },
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
        Wanted(
            what="revised minus asked again",
            estimate=study.differences[CONTROLLED],
            smallest=smallest.share,
        ),
    ),
)
