"""What shows the findings of the inference boundary: rates, contrasts, how models fail."""

from collections.abc import Mapping, Sequence
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
        "refusal": _refusals(study),
        "thinking": (Listing(table=partial(_thinking, study), instead=True),),
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


def _refusals(study: "InferenceBoundary") -> tuple[Exhibit | None, ...]:
    refusals, hedging = {"refusals": study.refusal_rate}, study.refusal_minus_commitment
    less = {} if hedging is None else {"refusals minus commitments": hedging}
    failures = Drawing(
        plot="plot_failures",
        of=study,
        key="failures",
        title="How models fail on uncovered events",
        caption="What models answer to questions about an event that no rule covers, when they do "
        "not say so. Confabulated: a rule is made up that closes the gap. Misattributed: what the "
        "rules settle is called open. Unmonitored: answered as if nothing were open.",
    )
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
        None if study.profiles[study.interaction].failures is None else failures,
        listing(refusals | less, "Refusals", instead=True),
        Listing(table=partial(_failure_table, study), folded=True),
    )


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


def _failure_table(study: "InferenceBoundary") -> Table | None:
    shares = study.profiles[study.interaction].shares
    columns = [name_column("model", shares.labels)]
    columns += [
        interval_column(str(response), shares.value[:, k], shares.interval[:, k])
        for k, response in enumerate(shares.categories)
    ]
    columns.append(number_column("answers", shares.n, digits=0))
    return Table.of(columns, caption=f"All responses to questions of type {study.interaction}")


def _thinking(study: "InferenceBoundary") -> Table | None:
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
            number_column("smallest that would show", [one.smallest_shown for one in pairs]),
            number_column(
                "questions needed for this one",
                [np.nan if one.needed is None else one.needed.n_questions for one in pairs],
                digits=0,
            ),
        ],
        caption="Reasoning before the answer",
    )
