"""What ``psychollm calibrate`` leaves behind: a report, tables, and one file for machines."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError
from psychollm.calibration.panels.panel_text import verdict
from psychollm.cli.calibrate_inputs import StatedTables
from psychollm.cli.calibrate_settings import CalibrateSettings
from psychollm.cli.outputs import as_json, records
from psychollm.reports.calibration_evidence import Evidence, gather
from psychollm.studies.provenance import call_text, versions

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.panels.panel_curves import PanelCurves


def write_panel(
    panel: "CalibrationPanel",
    curves: "PanelCurves",
    tables: StatedTables,
    settings: CalibrateSettings,
    folder: Path | None,
) -> Callable[[], None]:
    """Write all files, and return what says on the screen what was found and where it is.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    evidence = gather(panel, curves, smallest=settings.smallest)
    found = results(evidence, tables, settings)
    if folder is not None:
        try:
            for name, frame in frames(evidence).items():
                write_csv(frame, folder / f"{name}.csv")
            (folder / "results.json").write_text(as_json(found) + "\n", encoding="utf-8")
            if settings.report:
                source = source_code(tables, settings)
                panel.report(
                    folder / "report.html",
                    source=source,
                    curves=curves,
                    smallest=settings.smallest,
                )
        except OSError as error:
            msg = f"--out {folder}: cannot be written ({error.strerror})"
            raise InputError(msg) from error
    if settings.json:
        return partial(print, as_json(found))
    return partial(_tell, panel, tables, settings, folder)


def _tell(
    panel: "CalibrationPanel",
    tables: StatedTables,
    settings: CalibrateSettings,
    folder: Path | None,
) -> None:
    if settings.quiet:
        return
    if tables.left_out:
        print(tables.left_out)
    print(panel.summary(smallest=settings.smallest))
    if folder is not None:
        print(f"\nReport: {folder / 'report.html'}" if settings.report else "")
        print(f"Tables: {folder}")


def frames(evidence: Evidence) -> "dict[str, pd.DataFrame]":
    """Return the tables of a panel by the names of their files."""
    return {
        "metrics": evidence.panel.to_frame(),
        **_comparisons(evidence),
        **evidence.curves.frames(),
    }


def _comparisons(evidence: Evidence) -> "dict[str, pd.DataFrame]":
    return {f"compare_{key}": found.to_frame() for key, found in evidence.comparisons.items()}


def results(
    evidence: Evidence, tables: StatedTables, settings: CalibrateSettings
) -> dict[str, Any]:
    """Return what was found as plain data: the verdict first, then numbers by model."""
    panel, curves = evidence.panel, evidence.curves
    answers = panel.answers
    clusters = answers.clusters
    return {
        "verdict": verdict(panel, smallest=settings.smallest),
        "n_models": len(panel.models),
        "n_questions": len(answers.questions),
        "n_clusters": None if clusters is None else int(clusters.max()) + 1,
        "n_bootstrap": panel.n_bootstrap,
        "level": panel.level,
        "metrics": records(panel.to_frame()),
        "calibration_error": records(curves.error.to_frame()),
        "corp": records(curves.reliability.to_frame()),
        **{name: records(frame) for name, frame in _comparisons(evidence).items()},
        "source": list(tables.source),
        "left_out": tables.left_out,
        "seed": settings.seed,
        "call": source_code(tables, settings),
        "versions": versions(),
    }


def source_code(tables: StatedTables, settings: CalibrateSettings) -> str:
    """Return the lines of Python that read the tables and make the panel."""
    options: dict[str, object] = {
        "n_bootstrap": settings.bootstrap,
        "level": settings.level,
        "rng": settings.seed,
    }
    inputs = ["confidence", "correctness"]
    if settings.metrics is not None:
        options = {"metrics": list(settings.metrics), **options}
    if tables.clusters is not None:
        inputs.append("clusters=clusters")
    call = call_text("psy.calibration_panel", tuple(inputs), options)
    call = call.replace("(", "(\n    ", 1).removesuffix(")") + ",\n)"
    return f"{tables.code}\npanel = {call}"
