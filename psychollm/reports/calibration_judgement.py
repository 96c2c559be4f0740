"""Sections of the report of a panel that weigh its numbers: comparisons and reservations."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number
from psychollm.calibration.panels.catalogue import panel_outputs
from psychollm.estimates.comparisons import Comparisons
from psychollm.estimates.findings import sentence
from psychollm.estimates.verdict import FEWEST, Outcome, Verdicts, counted, outcome
from psychollm.plots.calibration_panel import rank_order
from psychollm.plots.forest import plot_comparisons
from psychollm.reports.figure import Figure, draw_figure
from psychollm.reports.marks import cells, places
from psychollm.reports.page import Section, sentence_list
from psychollm.reports.table import Table, interval_column, p_column, text_column

if TYPE_CHECKING:
    from psychollm.reports.calibration_evidence import Evidence

_LARGEST = 7.4  # inches


def comparisons(evidence: "Evidence") -> Section:
    """Return which models differ."""
    found = evidence.comparisons
    return Section(
        title="Which models differ?",
        key="comparisons",
        paragraphs=tuple(_told(evidence, key) for key in found),
        figures=tuple(_matrix(evidence, key) for key in found),
        folded=tuple(_pairs(evidence, key) for key in found),
    )


def _heading(evidence: "Evidence", key: str) -> str:
    return panel_outputs()[key].heading


def _told(evidence: "Evidence", key: str) -> str:
    heading, pairs = _heading(evidence, key), _pair_verdicts(evidence, key)
    words = {
        Outcome.ABOVE: ("differs", "differ"),
        Outcome.SMALL: ("is alike", "are alike"),
    }
    # Which of a pair is named first means nothing: both directions are a difference.
    both = tuple(Outcome.ABOVE if one.shown else one for one in pairs.values())
    told = counted(Verdicts(tuple(pairs), both), words, kind="pair")
    return (
        f"<b>{escape(heading)}.</b> {sentence(told)[:-1]} (after adjustment for their number"
        f"{_alike(evidence, key)}). {_front(evidence, key)}"
    )


def _pair_verdicts(evidence: "Evidence", key: str) -> dict[tuple[Any, Any], Outcome]:
    """Return what the comparison of each pair of models shows, where it is defined."""
    result, estimate = evidence.comparisons[key], evidence.panel[key]
    answers = dict(zip(estimate.labels, estimate.n, strict=True))
    # Of a quantity without a smallest effect that matters nothing can be shown to be small.
    least = getattr(evidence.smallest, key, 0.0)
    return {
        (first, second): outcome(
            interval,
            smallest=least,
            rejected=bool(differ),
            enough=min(answers[first], answers[second]) >= FEWEST,
        )
        for first, second, interval, differ, p in zip(
            result.first,
            result.second,
            result.interval,
            result.differ,
            result.adjusted,
            strict=True,
        )
        if np.isfinite(p)
    }


def _alike(evidence: "Evidence", key: str) -> str:
    least = getattr(evidence.smallest, key, None)
    return "" if least is None else f"; alike: to within {number(least)}"


def _front(evidence: "Evidence", key: str) -> str:
    """Name the best model, those as good, and those that cannot be told from it."""
    estimate = evidence.panel[key]
    better = panel_outputs()[key].better
    if better not in {"higher", "lower"}:
        return ""
    value = estimate.value if better == "higher" else -estimate.value
    best = estimate.labels[int(np.nanargmax(value))]
    others: dict[Outcome, list[str]] = {}
    for (first, second), found in _pair_verdicts(evidence, key).items():
        if best in {first, second}:
            other = second if first == best else first
            others.setdefault(found, []).append(escape(str(other)))
    told = [
        f"{words}: {sentence_list(others[one])}"
        for one, words in (
            (Outcome.SMALL, "as good"),
            (Outcome.OPEN, "too few answers to tell from it"),
        )
        if one in others
    ]
    return f"Best is {escape(str(best))}, {'; '.join(told) if told else 'apart from all others'}."


def _matrix(evidence: "Evidence", key: str) -> Figure:
    k, estimate = len(evidence.labels), evidence.panel[key]
    best_first = rank_order(key, estimate).argsort().astype(np.float64)
    side = min(2.6 + 0.24 * k, _LARGEST)
    return draw_figure(
        lambda ax: plot_comparisons(evidence.comparisons[key], order=best_first, ax=ax),
        size=(side + 1.0, side),
        caption=f"Paired differences in {escape(_heading(evidence, key))}, row less column; a dot "
        "where the two differ after adjustment for all pairs.",
        title=f"Differences in {_heading(evidence, key)} between all pairs of models",
        key=f"compare-{key.replace('_', '-')}",
        marks=lambda drawn: cells(drawn.axes[0], "difference", places(evidence.labels), digits=3),
    )


def _pairs(evidence: "Evidence", key: str) -> Table:
    result: Comparisons = evidence.comparisons[key]
    order = np.argsort(np.nan_to_num(result.adjusted, nan=2.0), kind="stable").tolist()
    flags = [str(result.flags[pair]) for pair in order]
    return Table.of(
        [
            text_column("first", [result.first[pair] for pair in order]),
            text_column("second", [result.second[pair] for pair in order]),
            interval_column(
                "difference",
                result.value[order],
                result.interval[order],
                digits=3,
                reasons=flags,
            ),
            p_column("p", result.p_value[order], reasons=flags),
            p_column("p, adjusted", result.adjusted[order], reasons=flags),
        ],
        caption=f"All pairs on {escape(_heading(evidence, key))}",
    )


def flags(evidence: "Evidence") -> Section:
    """Return what is undefined, and what must be read with a reservation."""
    table = _flagged(evidence)
    undefined = sum(
        int((~estimate.defined).sum()) for estimate in evidence.panel.estimates.values()
    )
    total = len(evidence.labels) * len(evidence.panel)
    told = (
        f"{count(undefined)} of {count(total)} values are undefined."
        if table.rows
        else "Every value is defined, and none needs a reservation."
    )
    return Section(
        title="What is undefined, and what needs a reservation?",
        key="flags",
        paragraphs=(told,),
        tables=(table,) if table.rows else (),
    )


def _flagged(evidence: "Evidence") -> Table:
    """One row per reason and kind: whose values on which metrics it concerns."""
    rows: dict[tuple[str, bool], tuple[dict[Any, None], dict[str, None]]] = {}
    for key, estimate in evidence.panel.estimates.items():
        heading = _heading(evidence, key)
        for label, flag, defined in zip(
            estimate.labels, estimate.flags, estimate.defined, strict=True
        ):
            if flag or not defined:
                reason = str(flag) or "undefined"
                who, what = rows.setdefault((reason, bool(defined)), ({}, {}))
                who[label], what[heading] = None, None
    ordered = sorted(rows.items(), key=lambda row: (row[0][1], row[0][0]))
    return Table.of(
        [
            text_column("why", [reason for (reason, _), _ in ordered]),
            text_column("value", ["given" if known else "none" for (_, known), _ in ordered]),
            text_column("models", [sentence_list(list(who)) for _, (who, _) in ordered]),
            text_column("metrics", [sentence_list(list(what)) for _, (_, what) in ordered]),
        ],
        caption="Reasons, whose values they concern, and on which metrics",
    )
