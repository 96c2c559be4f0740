"""Figures and tables of an evaluation card."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm._base.numbers import number
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.findings import sentence
from psychollm.estimates.listing import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.evaluation_card.study import WORDS

if TYPE_CHECKING:
    from psychollm.reliability.components.crossed_logistic import CrossedLogistic
    from psychollm.studies.evaluation_card.study import EvaluationCard


def exhibits(
    result: "EvaluationCard", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    accuracies = Drawing(
        plot="plot_evaluation_card",
        of=result,
        key="accuracies",
        title="Accuracies and ranks of all models",
        caption=(
            "Accuracies with intervals; the best model is at the top. Thick lines are intervals "
            "of benchmark accuracy, thin lines intervals of generalised accuracy. Models of one "
            "tier share a colour: none differs significantly from the best of its tier. The "
            "right panel shows the intervals of the ranks."
        ),
    )
    shown: dict[str, Sequence[Exhibit]] = {
        "accuracy": (
            accuracies,
            Listing(table=partial(_models, result), folded=True, instead=True),
        )
    }
    if result.judged is not None:
        shown["judged"] = result.judged.findings(smallest=smallest)["scores"].exhibits
    if result.attempts is not None:
        found = result.attempts.findings(smallest=smallest)
        shown["attempts"] = found["models"].exhibits
        frontiers = [f"frontier_{of}" for of in result.attempts.spent]
        shown |= {key: found[key].exhibits for key in frontiers}
    if result.mixed is not None:
        shares = Drawing(
            plot="evaluation_card.draw_shares",
            of=result.mixed.share,
            options={"words": WORDS},
            key="shares",
            title="Proportions of variance",
            caption="Proportions of the variance of a single answer.",
        )
        table = partial(_components, result.mixed)
        shown["variance"] = (shares, Listing(table=table, folded=True, instead=True))
    if result.calibration:
        shown["calibration"] = (Listing(table=partial(_stated, result), instead=True),)
    return shown


def _models(result: "EvaluationCard") -> Table:
    ranks = result.comparison.rank_interval
    return Table.of(
        [
            name_column("model", result.labels),
            interval_column(
                "benchmark accuracy", result.benchmark.value, result.benchmark.interval, digits=3
            ),
            interval_column(
                "generalised accuracy", result.generalised.value, result.generalised.interval,
                digits=3, reasons=result.generalised.flags,
            ),
            number_column("questions", result.generalised.n, digits=0),
            number_column("best rank", ranks[:, 0], digits=0),
            number_column("worst rank", ranks[:, 1], digits=0),
            number_column("tier", result.comparison.tier, digits=0),
        ],
        caption="Accuracies, ranks and tiers",
    )  # fmt: skip


def _components(mixed: "CrossedLogistic") -> Table:
    variances = dict(
        zip(mixed.components.labels, range(len(mixed.components.labels)), strict=True)
    )
    texts = (
        mixed.components.text(variances[label]) if label in variances else "–"
        for label in mixed.share.labels
    )
    return Table.of(
        [
            text_column("effect", (sentence(WORDS[one])[:-1] for one in mixed.share.labels)),
            interval_column(
                "variance, %", 100.0 * mixed.share.value, 100.0 * mixed.share.interval,
                digits=1,
            ),
            text_column("variance of logits", texts),
        ],
        caption="Components of variance",
    )  # fmt: skip


def _stated(result: "EvaluationCard") -> Table:
    names = {"overconfidence": "confidence minus accuracy", "brier": "Brier", "auroc": "AUROC"}
    first = result.calibration[0]
    columns = [
        estimate_column(names.get(one.name, one.name), one, digits=3) for one in result.calibration
    ]
    return Table.of(
        [name_column("model", first.labels), *columns],
        caption=f"Reported confidence, {number(100 * first.level, 0)} % intervals",
    )
