"""What a study leaves behind: a report, tables, and one file for machines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm.cli.inputs import Tables
from psychollm.cli.settings import Settings
from psychollm.studies.shared_confidence.text import verdict

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.studies.shared_confidence.study import SharedConfidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Where results go, made sure of before anything is computed."""

    folder: Path | None
    settings: Settings

    @classmethod
    def prepare(cls, settings: Settings) -> "Outputs":
        """Make the folder, and see that what the report needs is installed.

        Raises
        ------
        InputError
            If the folder cannot be made.
        MissingPackageError
            If the report needs a package that is not installed.
        """
        folder = prepared(settings.out, report=settings.report)
        return cls(folder=folder, settings=settings)

    def write(self, study: "SharedConfidence", tables: Tables) -> None:
        """Write all files.

        Raises
        ------
        InputError
            If they cannot be written.
        """
        if self.folder is None:
            return
        try:
            self._write_files(self.folder, study, tables)
        except OSError as error:
            msg = f"--out {self.folder}: cannot be written ({error.strerror})"
            raise InputError(msg) from error

    def tell(self, study: "SharedConfidence", tables: Tables) -> None:
        """Say on the screen what was found and where it is."""
        if self.settings.json:
            print(as_json(results(study, tables, self.settings)))
        elif not self.settings.quiet:
            self._tell(study, tables)

    def _write_files(self, folder: Path, study: "SharedConfidence", tables: Tables) -> None:
        for name, frame in frames(study).items():
            write_csv(frame, folder / f"{name}.csv")
        (folder / "results.json").write_text(
            as_json(results(study, tables, self.settings)) + "\n", encoding="utf-8"
        )
        if self.settings.report:
            from psychollm.reports.shared_confidence import write_report

            write_report(
                study,
                folder / "report.html",
                source=tables.code,
                smallest=self.settings.smallest,
            )

    def _tell(self, study: "SharedConfidence", tables: Tables) -> None:
        if tables.left_out:
            print(tables.left_out)
        print(study.summary(smallest=self.settings.smallest))
        if self.folder is not None:
            print(f"\nReport: {self.folder / 'report.html'}" if self.settings.report else "")
            print(f"Tables: {self.folder}")


def prepared(folder: Path | None, *, report: bool) -> Path | None:
    """Make the folder, and see that what the report needs is installed.

    Raises
    ------
    InputError
        If the folder cannot be made.
    MissingPackageError
        If the report needs a package that is not installed.
    """
    if folder is None:
        return None
    if report:
        for module in ("matplotlib", "jinja2"):
            require(module, extra="plot", purpose="the report (or pass --no-report)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"--out {folder}: the folder cannot be made ({error.strerror})"
        raise InputError(msg) from error
    return folder


def frames(study: "SharedConfidence") -> "dict[str, pd.DataFrame]":
    """Return the tables of a study by the names of their files."""
    found = study.dimensionality
    return {
        "models": study.to_frame(),
        "loadings": study.loadings_frame(),
        "questions": study.scores.to_frame(),
        "dimensionality": found.to_frame(),
        "correlations": found.spectrum.correlation.to_frame(),
        "residuals": found.residuals.to_frame(),
        "f_beta": study.f_beta.to_frame(),
        "between_models": study.between.to_frame(),
        "individuation": study.individuation.to_frame(),
        "private_signal": study.private_signal.to_frame(),
        "pairwise_calibration": study.pairwise.to_frame(),
        "ensemble": study.ensemble.to_frame(),
        "screen": study.screen.to_frame(),
    }


def results(study: "SharedConfidence", tables: Tables, settings: Settings) -> dict[str, Any]:
    """Return what a study found as plain data: findings first, then the tables by model."""
    found = study.dimensionality
    return {
        "verdict": verdict(study, smallest=settings.smallest),
        "n_factors": found.n_factors,
        "simulated": study.simulated,
        "n_models": len(study.labels),
        "n_questions": study.n_questions,
        "level": study.level,
        "dimensionality": {
            "verdict": found.verdict,
            "shared_p": found.shared_test.p_value,
            "one_factor_p": found.one_factor_test.p_value,
            "second_share": found.second_share.observed,
            "second_share_p": found.second_share.p_value,
            "eigenvalue_shares": found.spectrum.shares,
            "n_empty_pairs": found.spectrum.n_empty,
            "min_eigenvalue": found.spectrum.min_eigenvalue,
            "quadratic_r2": found.spectrum.quadratic_r2.observed,
            "quadratic_r2_p": found.spectrum.quadratic_r2.p_value,
            "second_congruence": found.spectrum.congruence,
            "factors_by_rule": dict(found.factors_by_rule),
        },
        "private_signal": _fields(
            study.private_signal, ("mean", "mean_interval", "mean_p", "n_models", "adjustment")
        ),
        "individuation_average": records(study.individuation.average.to_frame()),
        "between_models": records(study.between.to_frame()),
        "f_beta_leaders": records(study.f_beta.leaders_frame()),
        "pairwise_calibration": _fields(
            study.pairwise,
            (
                "pooled_difference",
                "pooled_difference_interval",
                "pooled_expected",
                "pooled_excess",
                "pooled_excess_interval",
                "n_disagreements",
                "n_questions_split",
            ),
        ),
        "ensemble": _fields(
            study.ensemble,
            (
                "mean_gain",
                "mean_gain_interval",
                "mean_gain_at_equal_rate",
                "mean_gain_at_equal_rate_interval",
            ),
        ),
        "models": records(study.to_frame()),
        "screen": records(study.screen.to_frame()),
        "dropped": dict(study.dropped),
        "uncorrelated": dict(study.uncorrelated),
        "source": list(tables.source),
        "coding": dict(study.coding),
        "seed": study.seed,
        "call": study.call,
        "versions": dict(study.versions),
    }


def as_json(found: dict[str, Any]) -> str:
    """Return plain data as JSON; what is undefined is null.

    Examples
    --------
    >>> as_json({"p": float("nan"), "r": np.array([0.5, np.inf])}).split()
    ['{', '"p":', 'null,', '"r":', '[', '0.5,', 'null', ']', '}']
    """
    return json.dumps(_plain(found), indent=2, ensure_ascii=False, allow_nan=False)


def _fields(result: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


def records(frame: "pd.DataFrame") -> list[Mapping[Any, Any]]:
    """Return a table as one mapping per row."""
    return frame.to_dict(orient="records")  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    """Turn arrays into lists and what is not finite into None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
