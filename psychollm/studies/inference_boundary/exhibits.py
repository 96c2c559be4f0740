"""Figures and tables of the inference boundary: rates, contrasts, kinds of failure."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.listing import (
    Column,
    Table,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.inference_boundary.study import InferenceBoundary


def exhibits(
    study: "InferenceBoundary", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    rates = Drawing(
        plot="plot_boundary_rates",
        of=study,
        key="rates-by-type",
        title="Pass rates by type of question",
        caption=(
            "Pass rates by type of question, with intervals. Models are in descending order of "
            "certainty inversion; bold names mark significant inversion."
        ),
    )
    by_type = {str(kind): one.retest.rate for kind, one in study.profiles.items()}
    contrast = {"no covering rule minus answerable": study.certainty_inversion}
    inversion = forest(
        contrast,
        key="certainty-inversion",
        title="Certainty inversion of each model",
        caption=(
            "Pass rate on questions that no rule covers minus pass rate on answerable questions. "
            "A positive value means that the model recognises missing rules more often than it "
            "answers answerable questions correctly."
        ),
        x="pass rate without covering rule minus answerable questions",
        reference=0.0,
        strong=[one in study.inverted for one in study.labels],
    )
    return {
        "rates": (
            rates,
            listing(by_type, "Pass rates by type", n=False, instead=True),
            Listing(table=partial(_stability, study), folded=True),
        ),
        "certainty": (inversion, listing(contrast, "Certainty inversion", instead=True)),
        "confabulation": _confabulation(study),
        "keyword": _keyword(study),
        "refusal": _refusals(study),
        "failures": (*_failures(study, study.lexical), *_failures(study, study.interaction)),
        "thinking": (Listing(table=partial(_thinking, study, smallest.share), instead=True),),
        "skins": (
            forest(
                _skins(study),
                key="skin-contrast",
                title="Difference in pass rates between surface forms",
                caption="Pass rate in one surface form minus that in the other, on the same "
                "worlds, by type of question.",
                x="difference in pass rates",
                reference=0.0,
            ),
            listing(study.skins, "Difference in pass rates", n=False, instead=True),
        ),
    }


def _confabulation(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    if study.confabulation is None:
        return ()
    contrast = {"answerable minus undefined words": study.confabulation}
    drawn = forest(
        contrast,
        key="confabulation",
        title="Invented meanings of words",
        caption=(
            "Pass rate on answerable questions minus pass rate on questions with an undefined "
            "word. A large value means that the model applies rules well but invents meanings of "
            "words."
        ),
        x="pass rate on answerable questions minus undefined words",
        reference=0.0,
    )
    return drawn, listing(contrast, "Invented meanings of words", instead=True)


def _keyword(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    if study.keyword is None or study.keyword_minus_strict is None:
        return ()
    rates = {"strict": study.profiles[study.lexical].retest.rate, "by keyword": study.keyword}
    drawn = forest(
        rates,
        key="keyword",
        title="Undefined words, scored strictly and by keyword",
        caption=(
            "Pass rate on questions with an undefined word. Strict scoring requires that the "
            "answer names the word and gives no number. Keyword scoring accepts any word of "
            "doubt, such as “cannot”."
        ),
        x="pass rate on undefined words",
    )
    each = rates | {"by keyword minus strict": study.keyword_minus_strict}
    return drawn, listing(each, "Undefined words, strictly and by keyword", n=False, instead=True)


def _refusals(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    refusals, hedging = {"refusals": study.refusal_rate}, study.refusal_minus_commitment
    less = {} if hedging is None else {"refusals minus definite answers": hedging}
    return (
        forest(
            refusals,
            key="refusals",
            title="Refusals of answerable questions",
            caption=(
                "Proportion of answerable questions that the model refuses. A refusal does not "
                "show that the model cannot apply the rules."
            ),
            x="proportion of answerable questions refused",
        ),
        forest(
            less,
            key="hedging",
            title="Refusals minus definite answers",
            caption=(
                "Refusals of answerable questions minus definite answers to unanswerable "
                "questions. Negative values mean overcommitment, positive values hedging."
            ),
            x="refusals of answerable minus definite answers to unanswerable questions",
            reference=0.0,
        ),
        listing(refusals | less, "Refusals", instead=True),
    )


_CHOSEN = (
    "Confabulated: {made_up}. Misattributed: the answer says that the rules do not cover "
    "something that they do cover. Unmonitored: the answer ignores that no rule covers the event."
)
_SAID = (
    "Invented: the reply states a number without expressing doubt. Hedged: the reply states a "
    "number and expresses doubt. Declined: the reply expresses doubt without naming the "
    "undefined word. Astray: the reply states no number, expresses no doubt and does not name the "
    "undefined word. Refusal: the model refuses the task."
)


_CLAIMS = {"confabulated", "misattributed", "unmonitored"}
_REACTIONS = {"invented", "hedged", "declined", "astray"}


def _failures(study: "InferenceBoundary", kind: Hashable) -> tuple[Exhibit | None, ...]:
    """Return the kinds of failure on one type of question that has no answer."""
    failures = study.profiles[kind].failures if kind in study.profiles else None
    if failures is None:
        return ()
    words = kind == study.lexical
    what = "a word that no rule defines" if words else "an event that no rule covers"
    made_up = "the answer invents a meaning" if words else "the answer invents a rule"
    responses = set(map(str, failures.categories))
    ways = _CHOSEN.format(made_up=made_up) if _CLAIMS & responses else ""
    ways = _SAID if _REACTIONS & responses else ways
    drawn = Drawing(
        plot="plot_failures",
        of=study,
        options={"kind": kind},
        key="failures-of-words" if words else "failures",
        title=(
            "Kinds of failure on "
            f"{'undefined words' if words else 'questions without a covering rule'}"
        ),
        caption=(
            f"Failed answers to questions about {what}, by kind. The numbers on the right count "
            f"failed answers. {ways}"
        ).rstrip(),
    )
    failed = Listing(table=partial(_shares_table, study, kind, failed=True))
    return drawn, failed, Listing(table=partial(_shares_table, study, kind), folded=True)


def _skins(study: "InferenceBoundary") -> dict[str, Estimate]:
    """Return the contrasts by type of question, or by full name if types repeat."""
    short = [name.partition(":")[0] for name in study.skins]
    names = short if len(set(short)) == len(short) else list(study.skins)
    return dict(zip(names, study.skins.values(), strict=True))


def _stability(study: "InferenceBoundary") -> Table | None:
    """Return the agreement between runs, by type of question."""
    if all(len(one.retest.runs) < 2 for one in study.profiles.values()):
        return None
    rows = [
        (kind, label, one.responses, row)
        for kind, one in study.profiles.items()
        for row, label in enumerate(one.labels)
    ]
    same = [one.all_identical for _, _, one, _ in rows]
    alpha = [one.krippendorff_alpha for _, _, one, _ in rows]
    at = [row for *_, row in rows]

    def column(heading: str, estimates: list[Estimate]) -> Column:
        both = list(zip(estimates, at, strict=True))
        return interval_column(
            heading,
            [one.value[row] for one, row in both],
            [one.interval[row] for one, row in both],
            reasons=[one.flags[row] for one, row in both],
        )

    return Table.of(
        [
            name_column("model", [label for _, label, _, _ in rows]),
            text_column("type", [str(kind) for kind, *_ in rows]),
            column("same response in all runs", same),
            column("Krippendorff’s α of responses", alpha),
        ],
        caption="Agreement of the runs",
    )


def _shares_table(
    study: "InferenceBoundary", kind: Hashable, *, failed: bool = False
) -> Table | None:
    profile = study.profiles[kind]
    shares = profile.failures if failed else profile.shares
    if shares is None:
        return None
    columns = [name_column("model", shares.labels)]
    columns += [number_column("failed answers", shares.n, digits=0)] if failed else []
    columns += [
        interval_column(str(response), shares.value[:, k], shares.interval[:, k])
        for k, response in enumerate(shares.categories)
    ]
    columns += [] if failed else [number_column("answers", shares.n, digits=0)]
    what = "Proportions of the failed answers" if failed else "All responses"
    return Table.of(columns, caption=f"{what} to questions of type {kind}")


def _thinking(study: "InferenceBoundary", smallest: float) -> Table | None:
    pairs = study.thinking
    return Table.of(
        [
            name_column("with reasoning", [one.thinking for one in pairs]),
            name_column("without", [one.base for one in pairs]),
            interval_column(
                "difference in pass rates, no covering rule",
                [one.difference.value for one in pairs],
                [one.difference.interval for one in pairs],
            ),
            text_column("worse", ["yes" if one.inverted else "not significant" for one in pairs]),
            number_column("smallest detectable", [one.smallest_shown for one in pairs]),
            number_column(
                "questions to detect the observed",
                [np.nan if one.needed is None else one.needed.n_questions for one in pairs],
                digits=0,
            ),
            number_column(
                f"questions to exclude {smallest:g}",
                [one.to_exclude(smallest) or np.nan for one in pairs],
                digits=0,
            ),
        ],
        caption="Reasoning before the answer",
    )
