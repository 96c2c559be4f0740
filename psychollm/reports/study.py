"""Report of a study, arranged by the study's layout."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.errors import OptionError
from psychollm._base.numbers import count
from psychollm.estimates.findings import Study, folder_of, sentence
from psychollm.estimates.layout import Layout
from psychollm.estimates.provenance import versions
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.reports.page import Page, named_versions, render, write_text
from psychollm.reports.sections import sections_of

SIMULATED = "These are not real models: the data were simulated from known parameters."


def write_report(
    result: Study,
    path: str | PathLike[str],
    *,
    source: str = "",
    options: str = "rng=1",
    smallest: SmallestEffects = SMALLEST,
    simulated: bool = False,
    details: Mapping[str, Any] | None = None,
) -> Path:
    """Write a study as one self-contained HTML page.

    Parameters
    ----------
    result : Study
        Result of `shared_confidence`, `inference_boundary` or another study.
    path : path
        File to write; its folder is created.
    source : str
        Python code that creates the data; the report shows it with the call.
    options : str
        Code of the arguments for resampling, coverage and seed; the report shows it in the call.
    smallest : SmallestEffects
        Smallest effects of interest, for the conclusions of the page.
    simulated : bool
        Whether to label the data as simulated; data simulated by this library are always labelled.
    details : mapping, optional
        Further arguments for some pages: ``curves`` for a calibration panel, and ``texts`` and
        ``fdr`` for a question audit.

    Returns
    -------
    Path
        Path of the written file.

    Raises
    ------
    OptionError
        If `result` has no report.
    InputError
        If the file cannot be written.
    MissingPackageError
        If matplotlib or jinja2 is not installed.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.data.simulate_study import simulate_study
    >>> made = simulate_study(n_models=6, n_questions=200, rng=0)
    >>> study = psy.shared_confidence(
    ...     made.confidence, made.correctness, n_null=19, bootstrap=19, rng=0)
    >>> page = write_report(study, getfixture("tmp_path") / "report.html")
    >>> "SIMULATED" in page.read_text(encoding="utf-8").upper()
    True
    """
    if not isinstance(result, Study):
        msg = f"a {type(result).__name__} has no report: pass the result of a study"
        raise OptionError(msg)
    return write_text(
        path,
        lambda: report_text(
            result,
            source=source,
            options=options,
            smallest=smallest,
            simulated=simulated,
            details=details,
        ),
    )


def report_text(
    result: Study,
    *,
    source: str = "",
    options: str = "rng=1",
    smallest: SmallestEffects = SMALLEST,
    simulated: bool = False,
    details: Mapping[str, Any] | None = None,
) -> str:
    """Return the page as HTML text."""
    layout = layout_of(result)
    study, findings = layout.of(result, smallest, **(details or {}))
    verdict = findings.verdict
    if layout.verdict is not None:
        verdict = sentence(layout.verdict(study, findings, smallest))
    subtitle = layout.subtitle
    page = Page(
        title=layout.title,
        subtitle=findings.head.removesuffix(".") if subtitle is None else subtitle(study),
        verdict=verdict,
        lead=layout.lead(study),
        facts=layout.facts(study, smallest),
        notices=layout.notices(study),
        sections=sections_of(layout, study, findings, smallest),
        methods=layout.methods(study),
        call=layout.call(study, source, options),
        versions=named_versions(getattr(study, "versions", None) or versions()),
        simulated=SIMULATED if simulated or layout.simulated(study) else "",
        models=tuple(map(str, layout.models(study))),
    )
    return render(page)


def layout_of(study: Any) -> Layout:
    """Return the layout of a study's page; the default layout shows the findings."""
    folder = folder_of(study)
    if folder and find_spec(f"psychollm.{folder}.page"):
        pages: Mapping[str, Layout] = import_module(f"psychollm.{folder}.page").PAGES
        if found := pages.get(type(study).__name__):
            return found
    models = getattr(study, "labels", ())
    return Layout(
        title=" ".join(_words(type(study).__name__)).capitalize(),
        subtitle=lambda study: f"{count(len(models))} rows" if models else "",
    )


def _words(name: str) -> list[str]:
    """Split a name before each capital letter, such as "StateProbe" into two words."""
    spaced = "".join(f" {one}" if one.isupper() else one for one in name)
    return spaced.split()
