"""The report of the inference boundary: rates by type, inversion, refusals, contrasts."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.verdict import SmallestEffects
from psychollm.plots.canvas import names_width
from psychollm.plots.inference_boundary import plot_boundary_rates, plot_failures
from psychollm.reports.layout import (
    Beside,
    Layout,
    Picture,
    Wanted,
    estimates_table,
    forest_picture,
    span,
)
from psychollm.reports.marks import Marks, row_of
from psychollm.reports.page import Fact, cite
from psychollm.reports.study_marks import forest
from psychollm.reports.table import (
    Column,
    Table,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.studies.inference_boundary.monitoring_link import monitoring_link

if TYPE_CHECKING:
    from psychollm.studies.inference_boundary.study import InferenceBoundary


def _rates(study: "InferenceBoundary") -> dict[str, Estimate]:
    return {str(kind): one.retest.rate for kind, one in study.profiles.items()}


def _size(study: "InferenceBoundary") -> tuple[float, float]:
    height = 1.4 + 0.42 * len(study.labels)
    return round(6.8 + names_width(study.labels), 2), min(height, 24.0)


def _rate_marks(study: "InferenceBoundary") -> Marks:
    series, where = list(_rates(study).items()), row_of(study.labels)
    return lambda canvas: forest(canvas.axes[0], series, where)


_RATES = Picture(
    key="rates-by-type",
    title="Share of answers that pass, by type of question",
    caption="Share of answers that pass, by type of question, with intervals; models from the "
    "most inverted to the least. Names in bold: certainty is shown to be inverted.",
    draw=lambda study, canvas: plot_boundary_rates(study, ax=canvas.subplots()),
    size=_size,
    marks=_rate_marks,
)
_FAILURES = Picture(
    key="failures",
    title="How models fail on uncovered events",
    caption="What models answer to questions about an event that no rule covers, when they do "
    "not say so. Confabulated: a rule is made up that closes the gap. Misattributed: what the "
    "rules settle is called open. Unmonitored: answered as if nothing were open.",
    draw=lambda study, canvas: plot_failures(study, ax=canvas.subplots()),
    size=lambda study: (_size(study)[0], 1.3 + 0.26 * len(study.labels)),
    worth=lambda study: study.profiles[study.interaction].failures is not None,
)


def _inversion(study: "InferenceBoundary") -> dict[str, Estimate]:
    return {"open events minus answerable": study.certainty_inversion}


def _confabulation(study: "InferenceBoundary") -> dict[str, Estimate]:
    return _kept({"answerable minus undefined words": study.confabulation})


def _refusals(study: "InferenceBoundary") -> dict[str, Estimate]:
    return {"refusals": study.refusal_rate}


def _hedging(study: "InferenceBoundary") -> dict[str, Estimate]:
    name = "refusals minus commitments"
    return _kept({name: study.refusal_minus_commitment})


def _skins(study: "InferenceBoundary") -> dict[str, Estimate]:
    """Return the contrasts by the shortest names that tell them apart: types, where they do."""
    short = [name.partition(":")[0] for name in study.skins]
    names = short if len(set(short)) == len(short) else list(study.skins)
    return dict(zip(names, study.skins.values(), strict=True))


def _kept(series: dict[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: one for name, one in series.items() if one is not None}


def _stability(study: "InferenceBoundary", smallest: SmallestEffects) -> Table | None:
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


def _failure_table(study: "InferenceBoundary", smallest: SmallestEffects) -> Table | None:
    shares = study.profiles[study.interaction].shares
    columns = [name_column("model", shares.labels)]
    columns += [
        interval_column(str(response), shares.value[:, k], shares.interval[:, k])
        for k, response in enumerate(shares.categories)
    ]
    columns.append(number_column("answers", shares.n, digits=0))
    return Table.of(columns, caption=f"All responses to questions of type {study.interaction}")


def _thinking(study: "InferenceBoundary", smallest: SmallestEffects) -> Table | None:
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


def _facts(study: "InferenceBoundary", smallest: SmallestEffects) -> tuple[Fact, ...]:
    rates, inversion = _rates(study), study.certainty_inversion
    passed = [
        Fact(name=f"Pass, {name}", value=span(rates[str(kind)]), detail=f"type {kind}")
        for kind, name in (
            (study.answerable, "with an answer"),
            (study.lexical, "undefined word"),
            (study.interaction, "uncovered event"),
            (study.control, "words exchanged (control)"),
        )
        if kind in study.profiles
    ]
    inverted = Fact(
        name="Certainty inversion",
        value=span(inversion),
        detail=f"shown in {len(study.inverted)} of {len(study.labels)} models",
    )
    refused = Fact(name="Refusals where there is an answer", value=span(study.refusal_rate))
    return (*passed, inverted, refused)


def _subtitle(study: "InferenceBoundary") -> str:
    runs = max(len(one.retest.runs) for one in study.profiles.values())
    n = sum(float(one.retest.rate.n.max()) for one in study.profiles.values())
    return (
        f"{len(study.labels)} models, {count(n)} questions, {runs} run{'s' * (runs > 1)}, "
        f"{percent(study.level)} intervals"
    )


def _lead(study: "InferenceBoundary") -> str:
    """Say whether capability and monitoring go together (over models, permutations seeded)."""
    if len(study.labels) < 4:
        return ""
    return monitoring_link(study, level=study.level, rng=0).findings().verdict


def _methods(study: "InferenceBoundary") -> tuple[str, ...]:
    kinds = ", ".join(escape(str(kind)) for kind in study.profiles)
    return (
        f"<b>Questions.</b> After {cite('wong')[1:-1]}: rules with invented words settle some "
        "questions; others hold a word that no rule defines, or an event that no rule covers; in "
        "the control the words that double and block are exchanged. Rates are kept apart by type "
        f"({kinds}), since one score would hide how models fail. A refusal of a question that has "
        "an answer does not pass, and is counted apart from wrong answers. What failed or could "
        "not be read is missing.",
        "<b>Uncertainty.</b> Runs of one question are no independent questions: rates have "
        f"Wilson’s interval {cite('wilson')} at the effective size, from the variance between "
        f"questions; contrasts of types: {escape(study.certainty_inversion.method)}. Certainty "
        "inversion is the rate on uncovered events less the rate on questions with an answer; "
        "effects are called small where the interval lies within the smallest that matters "
        f"{cite('schuirmann')}, and undecided where it reaches beyond on both sides.",
    )


def _wanted(study: "InferenceBoundary", smallest: SmallestEffects) -> Iterator[Wanted]:
    yield Wanted(
        what="certainty inversion", estimate=study.certainty_inversion, smallest=smallest.share
    )
    for name, contrast in study.skins.items():
        yield Wanted(what=name, estimate=contrast, smallest=smallest.share)


def _call(study: "InferenceBoundary", source: str, options: str) -> str:
    pairs = [(one.thinking, one.base) for one in study.thinking]
    thinking = f", thinking={pairs!r}" if pairs else ""
    return (
        f"{source or '# scores: the scores of each model, by its name'}\n"
        "answers = pd.concat([one.to_frame(model) for model, one in scores.items()])\n"
        f"study = psy.inference_boundary(answers{thinking}, {options})"
    )


LAYOUT = Layout(
    title="Inference boundary: do the models know how far rules carry?",
    subtitle=_subtitle,
    lead=_lead,
    facts=_facts,
    beside={
        "rates": Beside(
            pictures=(_RATES,),
            tables=(estimates_table("Rates of passing, by type", _rates, n=False),),
            folded=(_stability,),
            instead=True,
        ),
        "certainty": Beside(
            pictures=(
                forest_picture(
                    "certainty-inversion",
                    "Certainty inversion of each model",
                    "Rate on uncovered events minus rate on questions with an answer. Right of "
                    "the line a model doubts where it could know, and not where it cannot.",
                    _inversion,
                    x="rate on open events minus rate on answerable questions",
                    reference=0.0,
                    strong=lambda study: [one in study.inverted for one in study.labels],
                ),
            ),
            tables=(estimates_table("Certainty inversion", _inversion),),
            instead=True,
        ),
        "confabulation": Beside(
            pictures=(
                forest_picture(
                    "confabulation",
                    "Making up the meaning of words",
                    "Rate on questions with an answer minus rate on undefined words. Far right: "
                    "able, and ready to make up what a word means.",
                    _confabulation,
                    x="rate on answerable questions minus rate on undefined words",
                    reference=0.0,
                ),
            ),
            tables=(estimates_table("Making up the meaning of words", _confabulation),),
            instead=True,
        ),
        "refusal": Beside(
            pictures=(
                forest_picture(
                    "refusals",
                    "Refusals of questions that have an answer",
                    "Share of questions with an answer that are refused: a bias to refuse, to be "
                    "told from not knowing.",
                    _refusals,
                    x="share of questions with an answer that are refused",
                ),
                forest_picture(
                    "hedging",
                    "Refusals less commitments",
                    "Refusals where there is an answer minus committed answers where there is "
                    "none: below zero a model commits itself too readily, above it hedges.",
                    _hedging,
                    x="refusals of answerable minus commitments on open questions",
                    reference=0.0,
                ),
                _FAILURES,
            ),
            tables=(
                estimates_table("Refusals", lambda study: _refusals(study) | _hedging(study)),
            ),
            folded=(_failure_table,),
            instead=True,
        ),
        "thinking": Beside(tables=(_thinking,), instead=True),
        "skins": Beside(
            pictures=(
                forest_picture(
                    "skin-contrast",
                    "Difference of rates between tellings of the same worlds",
                    "Rate in one telling minus the rate in the other, on the same worlds, by "
                    "type of question.",
                    _skins,
                    x="difference of rates",
                    reference=0.0,
                ),
            ),
            tables=(estimates_table("Difference of rates", lambda study: study.skins, n=False),),
            instead=True,
        ),
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
    units="questions of each type",
)
