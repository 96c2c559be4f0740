"""Conversion of findings to page sections with figures and tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psychollm.estimates.exhibits import Drawing, Listing
from psychollm.estimates.findings import VERDICT, Finding, Findings
from psychollm.estimates.layout import Layout, needed
from psychollm.estimates.verdict import SmallestEffects
from psychollm.reports.figure import draw_figure
from psychollm.reports.page import Section


def sections_of(
    layout: Layout, study: Any, findings: Findings, smallest: SmallestEffects
) -> tuple[Section, ...]:
    """Return a section for each finding, and a section on the required sample sizes."""
    held = {one.key: one for one in findings}
    keys = [key for key in layout.sections if key in held]
    if not layout.alone:
        keys += [key for key in held if key not in layout.sections]
    needs = needed(tuple(layout.wanted(study, smallest)), layout.units)
    made = (*(_titled(layout, held[key]) for key in keys), needs)
    return tuple(section(one, layout.models(study)) for one in made if one is not None)


def _titled(layout: Layout, finding: Finding) -> Finding | None:
    """Return a finding with its section's title, or None if it is shown only at the top."""
    title = layout.sections.get(finding.key, "") or finding.question or "Findings"
    title = title.removesuffix(":").strip()
    if finding.key != VERDICT:
        return replace(finding, question=title)
    if not finding.rows and VERDICT not in layout.sections:
        return None
    return replace(finding, question=title, key="found", statement="")


def section(finding: Finding, models: Sequence[Any] = ()) -> Section:
    """Return the section of a finding, with its figures and tables."""
    listings = [
        (one, table)
        for one in finding.exhibits
        if isinstance(one, Listing) and (table := one.table()) is not None
    ]
    if any(one.instead for one, _ in listings):
        finding = replace(finding, rows=())
    return Section(
        title=finding.question,
        key=finding.key,
        body=finding.body_html(),
        figures=tuple(
            draw_figure(one, models) for one in finding.exhibits if isinstance(one, Drawing)
        ),
        tables=tuple(table for one, table in listings if not one.folded),
        folded=tuple(table for one, table in listings if one.folded),
    )
