"""What shows the findings of the inference boundary: rates, contrasts, how models fail."""

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
    """Return the exhibits of each finding."""
    rates = Drawing(
        plot="plot_boundary_rates",
        of=study,
        key="rates-by-type",
        title="Share of answers that pass, by type of question",
        caption="Share of answers that pass, by type of question, with intervals; models from the "
        "most inverted to the least. Names in bold: certainty is shown to be inverted.",
    )
    by_type = {str(kind): one.retest.rate for kind, one in study.profiles.items()}
    contrast = {"open events minus answerable": study.certainty_inversion}
    inversion = forest(
        contrast,
        key="certainty-inversion",
        title="Certainty inversion of each model",
        caption="Rate on uncovered events minus rate on questions with an answer. Right of "
        "the line a model doubts where it could know, and not where it cannot.",
        x="rate on open events minus rate on answerable questions",
        reference=0.0,
        strong=[one in study.inverted for one in study.labels],
    )
    return {
        "rates": (
            rates,
            listing(by_type, "Rates of passing, by type", n=False, instead=True),
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
                title="Difference of rates between tellings of the same worlds",
                caption="Rate in one telling minus the rate in the other, on the same worlds, by "
                "type of question.",
                x="difference of rates",
                reference=0.0,
            ),
            listing(study.skins, "Difference of rates", n=False, instead=True),
        ),
    }


def _confabulation(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    if study.confabulation is None:
        return ()
    contrast = {"answerable minus undefined words": study.confabulation}
    drawn = forest(
        contrast,
        key="confabulation",
        title="Making up the meaning of words",
        caption="Rate on questions with an answer minus rate on undefined words. Far right: "
        "able, and ready to make up what a word means.",
        x="rate on answerable questions minus rate on undefined words",
        reference=0.0,
    )
    return drawn, listing(contrast, "Making up the meaning of words", instead=True)


def _keyword(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    if study.keyword is None or study.keyword_minus_strict is None:
        return ()
    rates = {"strict": study.profiles[study.lexical].retest.rate, "by keyword": study.keyword}
    drawn = forest(
        rates,
        key="keyword",
        title="Undefined words, scored strictly and by keyword",
        caption="Share of answers on undefined words that pass. Strictly, the word is named and "
        "no number is given; by keyword, any word of doubt passes, as “cannot” or “undefined”.",
        x="share of answers on undefined words that pass",
    )
    each = rates | {"by keyword minus strict": study.keyword_minus_strict}
    return drawn, listing(each, "Undefined words, strictly and by keyword", n=False, instead=True)


def _refusals(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    refusals, hedging = {"refusals": study.refusal_rate}, study.refusal_minus_commitment
    less = {} if hedging is None else {"refusals minus commitments": hedging}
    return (
        forest(
            refusals,
            key="refusals",
            title="Refusals of questions that have an answer",
            caption="Share of questions with an answer that are refused: a bias to refuse, to be "
            "told from not knowing.",
            x="share of questions with an answer that are refused",
        ),
        forest(
            less,
            key="hedging",
            title="Refusals less commitments",
            caption="Refusals where there is an answer minus committed answers where there is "
            "none: below zero a model commits itself too readily, above it hedges.",
            x="refusals of answerable minus commitments on open questions",
            reference=0.0,
        ),
        listing(refusals | less, "Refusals", instead=True),
    )


_CHOSEN = (
    "Confabulated: {made_up}. Misattributed: what the rules settle is called open. Unmonitored: "
    "answered as if nothing were open."
)
_SAID = (
    "Invented: a number, without doubt. Hedged: a number, with a word of doubt. Declined: doubt, "
    "without naming the word. Astray: something else. Refusal: the task is declined."
)


_CLAIMS = {"confabulated", "misattributed", "unmonitored"}
_REACTIONS = {"invented", "hedged", "declined", "astray"}


def _failures(study: "InferenceBoundary", kind: Hashable) -> tuple[Exhibit | None, ...]:
    """Return how models fail on a type of question that has no answer."""
    failures = study.profiles[kind].failures if kind in study.profiles else None
    if failures is None:
        return ()
    words = kind == study.lexical
    what = "a word that no rule defines" if words else "an event that no rule covers"
    made_up = "a meaning is made up" if words else "a rule is made up that closes the gap"
    responses = set(map(str, failures.categories))
    ways = _CHOSEN.format(made_up=made_up) if _CLAIMS & responses else ""
    ways = _SAID if _REACTIONS & responses else ways
    drawn = Drawing(
        plot="plot_failures",
        of=study,
        options={"kind": kind},
        key="failures-of-words" if words else "failures",
        title=f"How models fail on {'undefined words' if words else 'uncovered events'}",
        caption=f"What models answer to questions about {what}, when they do not say so; on the "
        f"right the number of failed answers, to which the shares refer. {ways}".rstrip(),
    )
    failed = Listing(table=partial(_shares_table, study, kind, failed=True))
    return drawn, failed, Listing(table=partial(_shares_table, study, kind), folded=True)


def _skins(study: "InferenceBoundary") -> dict[str, Estimate]:
    """Return the contrasts by the shortest names that tell them apart: types, where they do."""
    short = [name.partition(":")[0] for name in study.skins]
    names = short if len(set(short)) == len(short) else list(study.skins)
    return dict(zip(names, study.skins.values(), strict=True))


def _stability(study: "InferenceBoundary") -> Table | None:
    """Return how alike the runs are, by type."""
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
        caption="How alike the runs are",
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
    what = "Shares of the failed answers" if failed else "All responses"
    return Table.of(columns, caption=f"{what} to questions of type {kind}")


def _thinking(study: "InferenceBoundary", smallest: float) -> Table | None:
    pairs = study.thinking
    return Table.of(
        [
            name_column("reasons first", [one.thinking for one in pairs]),
            name_column("does not", [one.base for one in pairs]),
            interval_column(
                "difference of rates on open events",
                [one.difference.value for one in pairs],
                [one.difference.interval for one in pairs],
            ),
            text_column("inverted", ["yes" if one.inverted else "not shown" for one in pairs]),
            number_column("smallest detected", [one.smallest_shown for one in pairs]),
            number_column(
                "questions to detect this one",
                [np.nan if one.needed is None else one.needed.n_questions for one in pairs],
                digits=0,
            ),
            number_column(
                f"questions to show that it is below {smallest:g}",
                [one.to_exclude(smallest) or np.nan for one in pairs],
                digits=0,
            ),
        ],
        caption="Reasoning before the answer",
    )
