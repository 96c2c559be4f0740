"""The report of a calibration panel."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, interval, number, percent, with_interval
from psychollm.calibration.panels.panel_text import verdict
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.reports import calibration_judgement as judgement
from psychollm.reports import calibration_sections as sections
from psychollm.reports.calibration_evidence import Evidence, gather
from psychollm.reports.calibration_methods import code, definitions, methods
from psychollm.reports.page import Fact, Page, models, names, render, write_text
from psychollm.reports.shared_confidence import named_versions
from psychollm.studies.provenance import versions

if TYPE_CHECKING:
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.panels.panel_curves import PanelCurves


def write_calibration_report(
    panel: "CalibrationPanel",
    path: str | PathLike[str],
    *,
    source: str = "",
    curves: "PanelCurves | None" = None,
    smallest: SmallestEffects = SMALLEST,
) -> Path:
    """Write a panel as one HTML page that needs no network and no other file.

    Parameters
    ----------
    panel : CalibrationPanel
        What `calibration_panel` returns.
    path : path
        File to write; its folder is made.
    source : str
        Lines of Python that make the panel, shown on the page.
    curves : PanelCurves, optional
        What ``panel.curves()`` returned, if it is at hand.
    smallest : SmallestEffects
        The smallest effects that matter, for what the page concludes.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    OptionError
        If `panel` is not a calibration panel.
    InputError
        If the file cannot be written.
    MissingPackageError
        If matplotlib or jinja2 is not installed.

    Examples
    --------
    >>> from psychollm.calibration.panels.panel import calibration_panel
    >>> said = [[0.9, 0.2, 0.7, 0.4], [0.5, 0.6, 0.5, 0.6]]
    >>> panel = calibration_panel(said, [[1, 0, 1, 0]] * 2, metrics=["brier", "auroc"],
    ...                           bootstrap=50, rng=0)
    >>> page = write_calibration_report(panel, getfixture("tmp_path") / "report.html")
    >>> "Does what is stated come true?" in page.read_text(encoding="utf-8")
    True
    """
    evidence = gather(panel, curves, smallest=smallest)
    return write_text(path, lambda: render(calibration_page(evidence, source=source)))


def calibration_page(evidence: Evidence, *, source: str = "") -> Page:
    """Put the parts of the report together."""
    panel = evidence.panel
    answers = panel.answers
    clusters = "" if answers.clusters is None else " of clusters"
    return Page(
        title="Calibration: can what the models say of their answers be believed?",
        subtitle=(
            f"{models(len(panel.models)).capitalize()}, {count(len(answers.questions))} "
            "questions, "
            f"{percent(panel.level)} intervals from {count(panel.n_bootstrap)} resamples{clusters}"
        ),
        verdict=verdict(panel, smallest=evidence.smallest),
        facts=_facts(evidence),
        notices=_notices(evidence),
        sections=(
            sections.overview(evidence),
            sections.reliability(evidence),
            sections.ranking(evidence),
            sections.selection(evidence),
            *([judgement.comparisons(evidence)] if evidence.comparisons else []),
            judgement.flags(evidence),
            sections.definitions_of(definitions(panel)),
        ),
        methods=methods(evidence),
        call=code(panel, source),
        versions=named_versions(versions()),
        models=tuple(map(str, panel.models)),
    )


def _facts(evidence: Evidence) -> tuple[Fact, ...]:
    panel, error = evidence.panel, evidence.curves.error
    rejected = int(evidence.miscalibrated.sum())
    facts = [
        Fact(name=name, value=extent(panel[key].value), detail=detail)
        for key, name, detail in (
            ("accuracy", "Share of correct answers", ""),
            (
                "overconfidence",
                "Mean confidence less share correct",
                "0: neither over nor under",
            ),
            ("auroc", "Confidence ranks correct above wrong (AUROC)", "one half: knows nothing"),
            ("aurc_normalised", "Normalised AURC", "1: random order, 0: all errors last"),
        )
        if key in panel.estimates
    ]
    facts.append(
        Fact(
            name="Calibration error",
            value=extent(error.value.value, digits=3),
            detail=f"{extent(error.expected.value, digits=3)} if calibrated"
            + (f"; rejected for {rejected} of {len(panel.models)}" * (len(panel.models) > 1)),
        )
    )
    if "brier" in panel.estimates and panel["brier"].defined.any():
        facts.append(_best(evidence))
    return tuple(facts)


def _best(evidence: Evidence) -> Fact:
    score = evidence.panel["brier"]
    best = int(np.nanargmin(score.value))
    value = with_interval(float(score.value[best]), score.interval[best], 3)
    if len(score.labels) == 1:
        bounds = interval(score.interval[0], 3)
        return Fact(name="Brier score", value=number(float(score.value[0]), 3), detail=bounds)
    return Fact(name="Lowest Brier score", value=str(score.labels[best]), detail=value)


def _notices(evidence: Evidence) -> tuple[str, ...]:
    """Name the models of which little can be said."""
    panel = evidence.panel
    defined = np.mean([found.defined for found in panel.estimates.values()], axis=0)
    little = defined < 0.5
    if not little.any():
        return ()
    verb = "has" if int(little.sum()) == 1 else "have"
    return (
        f"<b>{names(panel.models, little)}</b> {verb} no value on most metrics: see "
        '<a href="#flags">why</a>.',
    )
