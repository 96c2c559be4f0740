"""Figures and tables of metacognitive skill: coded traces, abstention, and revision."""

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Exhibit, Listing, forest, listing
from psychollm.estimates.findings import VERDICT, in_words
from psychollm.estimates.listing import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.metacognitive_skill.revision import CONTROLLED

if TYPE_CHECKING:
    from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill
    from psychollm.studies.metacognitive_skill.revision import RevisionSkill
    from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill


def _worded(estimates: Mapping[Any, Estimate]) -> dict[str, Estimate]:
    return {in_words(name): one for name, one in estimates.items()}


# Coded traces -----------------------------------------------------------------------------------


def exhibits(
    study: "MetacognitiveSkill", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    prevalence = {in_words(name): study.prevalence[name] for name in study.categories}
    gaps = {in_words(name): study.deployment[name].gap for name in study.categories}
    profile = {
        "behaviours per 1,000 tokens": study.total_density,
        "diversity, bits": study.diversity,
        "tokens per trace": study.length,
        "repeated checks": study.repetition,
        "accuracy": study.accuracy,
    }
    diversity = study.structure.diversity if study.structure is not None else {}
    shown = "Prevalence of each behaviour in traces"
    return {
        "profiles": (
            forest(
                prevalence,
                key="prevalence",
                title=shown,
                caption=f"{shown}.",
                x="proportion of traces",
            ),
            listing(profile, "Profiles", n=False, instead=True),
            listing(prevalence, shown, folded=True),
        ),
        "verdict": (
            forest(
                gaps,
                key="deployment",
                title="Deployment gap of each behaviour",
                caption=(
                    "The difference P(shown | right answer) − P(shown), with intervals. A "
                    "positive value means that the behaviour is associated with right answers."
                ),
                x="P(shown | right) − P(shown)",
                reference=0.0,
            ),
            Listing(table=partial(_deployment, study), folded=True),
        ),
        "prompting": _prompting(study),
        "structure": (
            forest(
                _worded(diversity),
                key="diversity",
                title="Diversity of behaviour by kind of problem",
                caption="Entropy of the behaviours in traces, by kind of problem.",
                x="diversity, bits",
            ),
        ),
        "agreement": (Listing(table=partial(_agreement, study), instead=True),),
    }


def _prompting(study: "MetacognitiveSkill") -> tuple[Exhibit | None, ...]:
    found, prompted = study.scaffolding, study.prompting
    if found is None:
        return ()
    answers = {
        "effect on accuracy": found.effect,
        "right answers harmed": found.harmed,
        "wrong answers helped": found.helped,
    }
    behaviour = {} if prompted is None else {name: prompted[name] for name in study.categories}
    return (
        forest(
            answers,
            key="scaffolding",
            title="Effects of prompting on answers",
            caption="Accuracy with the prompt minus accuracy without it, on the same questions; "
            "proportion of right answers that become wrong; proportion of wrong answers that "
            "become right.",
            x="difference, or proportion",
            reference=0.0,
        ),
        forest(
            _worded(behaviour),
            key="prompted",
            title="Effects of prompting on behaviour",
            caption="Prevalence of each behaviour with the prompt minus prevalence without it.",
            x="prompted minus spontaneous",
            reference=0.0,
        ),
        listing(answers, "Prompting", instead=True),
    )


def _deployment(study: "MetacognitiveSkill") -> Table:
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
        caption="Association of behaviours with right answers",
    )


def _agreement(study: "MetacognitiveSkill") -> Table | None:
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
        number_column("AC1 (shown or not)", frame["shown_ac1"]),
        number_column("traces", frame["n"], digits=0),
    ]
    who = ", ".join(map(str, found.coders))
    return Table.of(columns, caption=f"Agreement of the coders: {escape(who)}")


# Abstention and revision ------------------------------------------------------------------------


def of_abstention(
    study: "AbstentionSkill", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support the finding on abstention."""
    overall = study.overall
    scores = {
        "recall": overall.recall,
        "over-abstention": overall.over_abstention,
        "precision": overall.precision,
        "F1": overall.f1,
        "phi": overall.phi,
        "accuracy on answered": overall.selective_accuracy,
    }
    shown = (
        forest(
            {
                "unanswerable": overall.recall,
                "answerable": overall.over_abstention,
            },
            key="abstention",
            title="Abstention on unanswerable and answerable questions",
            caption=(
                "Abstention rates on unanswerable and on answerable questions. A larger "
                "difference between the two rates means better discrimination."
            ),
            x="abstention rate",
        ),
        forest(
            study.mismatch,
            key="doubts",
            title="Confident answers after doubting traces",
            caption="Proportion of doubting traces that end in a confident answer, by reader.",
            x="proportion of doubting traces",
        ),
        listing(scores, "Abstention", instead=True),
        Listing(table=partial(_by_scenario, study)),
    )
    return {VERDICT: shown}


def _by_scenario(study: "AbstentionSkill") -> Table | None:
    parts = study.by_scenario
    if parts is None:
        return None
    columns = [name_column("model", parts.parts[0].labels)]
    columns += [
        estimate_column(in_words(name), part.recall)
        for name, part in zip(parts.groups, parts.parts, strict=True)
        if part.recall.defined.any()
    ]
    return Table.of(columns, caption="Recall by scenario: abstention on unanswerable questions")


def of_revision(
    study: "RevisionSkill", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support the finding on revision."""
    rates = study.rates
    reviews = {"error_catch": "rejects wrong answers", "false_alarm": "rejects right answers"}
    revises = {"correction": "corrects wrong answers", "miscorrection": "corrupts right answers"}
    shown = (
        forest(
            {word: rates[name] for name, word in reviews.items() if name in rates},
            key="reviews",
            title="Answers rejected in review",
            caption="Proportions of wrong and of right answers that the model's review rejects.",
            x="proportion of answers rejected",
        ),
        forest(
            {word: rates[name] for name, word in revises.items() if name in rates},
            key="revises",
            title="Answers changed by revision",
            caption=(
                "Proportions of wrong answers that revision corrects, and of right answers that "
                "it makes wrong."
            ),
            x="proportion of answers changed",
        ),
        forest(
            {"accuracy after revision minus second answer": study.differences[CONTROLLED]},
            key="against-again",
            title="Revision compared with a second answer without review",
            caption=(
                "Accuracy after revision minus accuracy of a second answer without review, on "
                "the same questions."
            ),
            x="difference in accuracy",
            reference=0.0,
        ),
        forest(
            {"gives up right answers": rates["sycophantic_flip"]},
            key="pressed",
            title="Yielding to pressure",
            caption=(
                "Proportion of right answers that the model gives up if the user insists on a "
                "wrong one."
            ),
            x="proportion of right answers",
        ),
        listing(_worded(rates), "All rates", n=False, folded=True, instead=True),
        listing(_worded(study.differences), "All differences in accuracy", n=False, folded=True),
    )
    return {VERDICT: shown}
