"""The evaluation card as one page."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number, percent
from psychollm.estimates.findings import sentence
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.plots.evaluation_card import card_size, draw_shares, plot_evaluation_card
from psychollm.reports.figure import Figure, draw_figure, on_axes
from psychollm.reports.page import (
    Fact,
    Page,
    Section,
    cite,
    finding_section,
    named_versions,
    render,
    write_text,
)
from psychollm.reports.table import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    text_column,
)
from psychollm.studies.evaluation_card.study import WORDS, detectable_texts
from psychollm.studies.provenance import versions

if TYPE_CHECKING:
    from psychollm.estimates.findings import Findings
    from psychollm.reliability.components.crossed_logistic import CrossedLogistic
    from psychollm.studies.evaluation_card.study import EvaluationCard


def write_evaluation_card(
    result: "EvaluationCard",
    path: str | PathLike[str],
    *,
    source: str = "",
    smallest: SmallestEffects = SMALLEST,
) -> Path:
    """Write an evaluation card as one HTML page that needs no network and no other file.

    Parameters
    ----------
    result : EvaluationCard
        What `psychollm.evaluation_card` returns.
    path, source, smallest
        As in `write_report`.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    InputError, MissingPackageError
        As in `write_report`.

    Examples
    --------
    >>> from psychollm.studies.evaluation_card.study import evaluation_card
    >>> card = evaluation_card([[1, 1, 0, 1, 1], [0, 1, 0, 0, 1]], rng=1)
    >>> page = write_evaluation_card(card, getfixture("tmp_path") / "card.html")
    >>> "Evaluation card" in page.read_text(encoding="utf-8")
    True
    """
    found = result.findings(smallest=smallest)
    return write_text(path, lambda: render(_page(result, found, source)))


def _page(result: "EvaluationCard", found: "Findings", source: str) -> Page:
    accuracy = draw_figure(
        on_axes(lambda ax: plot_evaluation_card(result, ax=ax)),
        size=card_size(result),
        caption="Accuracies with their intervals, the best on top: thick for these questions, "
        "thin for questions like these. Models of one tier, which cannot be told from its best, "
        "have one colour; on the right where each rank lies.",
        title="Accuracies and ranks of all models",
        key="accuracies",
    )
    sections = [
        finding_section(
            replace(found["accuracy"], rows=()), figures=(accuracy,), folded=(_models(result),)
        ),
        _variance(result, found),
        finding_section(found["power"]),
    ]
    if result.screen is not None:
        sections.append(finding_section(found["suspects"]))
    if result.calibration:
        sections.append(
            finding_section(replace(found["calibration"], rows=()), tables=(_stated(result),))
        )
    sections.append(finding_section(found["gaps"]))
    return Page(
        title="Evaluation card",
        subtitle=found.head.removesuffix("."),
        verdict=found.verdict,
        facts=_facts(result),
        sections=tuple(sections),
        methods=_methods(),
        call=source or _call(result),
        versions=named_versions(versions()),
        models=tuple(map(str, result.labels)),
    )


def _call(result: "EvaluationCard") -> str:
    """Return how to repeat the card."""
    mixed, groups = result.mixed, ""
    if mixed is not None:
        known = ("domains", mixed.domains), ("families", mixed.families)
        groups = "".join(f"{name}={name}, " for name, one in known if one is not None)
    return f"card = psy.evaluation_card(scores, {groups}rng=1)"


def _facts(result: "EvaluationCard") -> tuple[Fact, ...]:
    tiers = result.comparison.tiers()
    middle, every = detectable_texts(result)
    spread = f"; {every} over the pairs" if every != middle else ""
    facts = [
        Fact(
            name="Models",
            value=count(len(result.labels)),
            detail=f"in {len(tiers)} tier{'s' * (len(tiers) != 1)}",
        ),
        Fact(
            name="Questions",
            value=count(result.n_questions),
            detail=f"{result.n_answers:.3g} answers to each" if result.n_answers > 1.0 else "",
        ),
        Fact(
            name="Smallest difference that can be shown",
            value=middle,
            detail=f"with a chance of {percent(result.comparison.power)}{spread}",
        ),
    ]
    if result.mixed is not None:
        reliability = result.mixed.reliability
        facts.append(Fact(name="Reliability of the ranking", value=reliability.text(0, 2)))
    return tuple(facts)


def _variance(result: "EvaluationCard", found: "Findings") -> Section:
    if result.mixed is None:
        return finding_section(found["variance"])
    return finding_section(
        replace(found["variance"], rows=()),
        figures=(_bar(result.mixed),),
        folded=(_components(result.mixed),),
    )


def _bar(mixed: "CrossedLogistic") -> Figure:
    n_lines = -(-len(mixed.share.labels) // 3)
    return draw_figure(
        on_axes(lambda ax: draw_shares(mixed.share, WORDS, ax)),
        size=(7.4, 0.75 + 0.22 * n_lines),
        caption="Shares of the variance of a single answer.",
        title="Shares of variance",
        key="shares",
    )


def _models(result: "EvaluationCard") -> Table:
    ranks = result.comparison.rank_interval
    return Table.of(
        [
            name_column("model", result.labels),
            interval_column(
                "these questions", result.benchmark.value, result.benchmark.interval, digits=3
            ),
            interval_column(
                "questions like these", result.generalised.value, result.generalised.interval,
                digits=3, reasons=result.generalised.flags,
            ),
            number_column("questions", result.generalised.n, digits=0),
            number_column("at best", ranks[:, 0], digits=0),
            number_column("at worst", ranks[:, 1], digits=0),
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
                "share of variance, %", 100.0 * mixed.share.value, 100.0 * mixed.share.interval,
                digits=1,
            ),
            text_column("variance of logits", texts),
        ],
        caption="Where the answers vary",
    )  # fmt: skip


def _stated(result: "EvaluationCard") -> Table:
    names = {"overconfidence": "confidence beyond accuracy", "brier": "Brier", "auroc": "AUROC"}
    first = result.calibration[0]
    columns = [
        estimate_column(names.get(one.name, one.name), one, digits=3) for one in result.calibration
    ]
    return Table.of(
        [name_column("model", first.labels), *columns],
        caption=f"Stated confidence, {number(100 * first.level, 0)} % intervals",
    )


def _methods() -> tuple[str, ...]:
    return (
        "Benchmark accuracy is the mean chance of a right answer over these questions; "
        "generalised accuracy the mean over the questions that they stand for "
        f"{cite('nist')}. The first varies with answers only, the second with questions, too, "
        f"within domains where there are any {cite('miller')}. Intervals are Wilson's, of as many "
        "answers as would vary like the mean.",
        "Right and wrong answers are taken apart by a logistic mixed model with crossed effects "
        "of models, questions and, where there are any, families, domains and repeats. Questions "
        "and interactions are integrated out by adaptive quadrature, models by Laplace's "
        f"approximation; what is not known of the variances is kept {cite('inla')}. It predicts "
        "cells without an answer, too.",
        "Ranks and tiers follow from paired differences whose intervals hold all at once "
        f"{cite('mogstad')}.",
    )
