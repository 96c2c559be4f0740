"""The report of a comparison of models."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent, percent
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.plots.comparison import comparison_size, plot_comparison
from psychollm.reports.figure import draw_figure
from psychollm.reports.page import (
    Fact,
    Page,
    cite,
    finding_section,
    named_versions,
    render,
    write_text,
)
from psychollm.reports.table import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.studies.provenance import versions

if TYPE_CHECKING:
    from psychollm.estimates.findings import Findings
    from psychollm.studies.comparison.study import Comparison


def write_comparison(
    result: "Comparison",
    path: str | PathLike[str],
    *,
    source: str = "",
    smallest: SmallestEffects = SMALLEST,
) -> Path:
    """Write a comparison as one HTML page that needs no network and no other file.

    Parameters
    ----------
    result : Comparison
        What `psychollm.compare` returns.
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
    >>> from psychollm.studies.comparison.study import compare
    >>> page = write_comparison(compare([[1, 1, 0, 1], [0, 1, 0, 0]], rng=1),
    ...                         getfixture("tmp_path") / "report.html")
    >>> "Which model is better?" in page.read_text(encoding="utf-8")
    True
    """
    found = result.findings(smallest=smallest)
    return write_text(path, lambda: render(_page(result, found, source)))


def _page(result: "Comparison", found: "Findings", source: str) -> Page:
    figure = draw_figure(
        lambda figure: plot_comparison(result, ax=figure.subplots()),
        size=comparison_size(result),
        caption="Scores with their intervals, the best on top. Models of one tier, which cannot "
        "be told from its best, have one colour; on the right where each rank lies.",
        title="Scores and ranks of all models",
        key="scores",
    )
    return Page(
        title="Which model is better?",
        subtitle=found.head.removesuffix("."),
        verdict=found.verdict,
        facts=_facts(result),
        sections=(
            # The table holds what the lines of the finding say.
            finding_section(
                replace(found["ranks"], rows=()), figures=(figure,), tables=(_scores(result),)
            ),
            finding_section(found["differences"], folded=(_pairs(result),)),
            finding_section(found["power"]),
        ),
        methods=_methods(),
        call=source or "result = psy.compare(scores, rng=1)",
        versions=named_versions(versions()),
        models=tuple(map(str, result.labels)),
    )


def _methods() -> tuple[str, ...]:
    return (
        "Every two models are compared on the questions that both answered: the standard error "
        "of the difference is that of paired questions, or of clusters of them, with the "
        f"correction CR2 for few clusters {cite('miller', 'bell')}.",
        "The intervals of all differences hold at once. Their common multiple of the standard "
        "errors is the quantile of the largest error of all pairs; errors are drawn for all pairs "
        f"together, since pairs share models {cite('chernozhukov')}.",
        "How many models these intervals show to be better bounds the rank of a model from above, "
        f"how many to be worse from below {cite('mogstad')}. A tier ends before the first "
        "model that is shown to be worse than its best.",
    )


def _facts(result: "Comparison") -> tuple[Fact, ...]:
    tiers = result.tiers()
    return (
        Fact(name="Models", value=count(len(result.labels)), detail=f"in {len(tiers)} tiers"),
        Fact(name="Questions", value=count(result.n_questions)),
        Fact(name="Scores", value=extent(result.score.value, 3)),
        Fact(
            name="Smallest difference that can be shown",
            value=extent(result.detectable, 3),
            detail=f"with a chance of {percent(result.power)}",
        ),
    )


def _scores(result: "Comparison") -> Table:
    score = result.score
    return Table.of(
        [
            name_column("model", score.labels),
            interval_column("score", score.value, score.interval, digits=3, reasons=score.flags),
            number_column("questions", score.n, digits=0),
            number_column("rank", result.rank, digits=0),
            number_column("at best", result.rank_interval[:, 0], digits=0),
            number_column("at worst", result.rank_interval[:, 1], digits=0),
            number_column("tier", result.tier, digits=0),
        ],
        caption="Scores, ranks and tiers",
    )


def _pairs(result: "Comparison") -> Table:
    pairs = result.differences
    return Table.of(
        [
            name_column("model", pairs.first),
            name_column("and", pairs.second),
            interval_column(
                "difference", pairs.value, pairs.interval, digits=3, reasons=pairs.flags
            ),
            p_column("p, adjusted", pairs.adjusted, reasons=pairs.flags),
            number_column("questions", pairs.n, digits=0),
            number_column("questions needed", result.needed, digits=0),
        ],
        caption="Every pair of models",
    )
