"""The command as a user starts it, in a process of its own, and inside this one."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.cli import main
from psychollm.data.simulate_study import simulate_study
from psychollm.estimates.verdict import SmallestEffects

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).resolve().parents[2]


def _apart_from_compiling(errors: str) -> str:
    """Leave out what only the first run on a machine says; test_warm.py reads it."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if "this happens once on a machine" not in line)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs the command in an empty folder."""

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [sys.executable, "-m", "psychollm", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
            timeout=300,
        )
        ended.stderr = _apart_from_compiling(ended.stderr)
        return ended

    return command


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Return a function that does the same inside this process, which is quicker."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        errors = _apart_from_compiling(told.err)
        return subprocess.CompletedProcess(arguments, code, told.out, errors)

    return command


@pytest.fixture
def effects_judged(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the smallest effects of interest that are read while the test runs, by name."""
    read: set[str] = set()

    def reading(name: str) -> property:
        slot = vars(SmallestEffects)[name]

        def value(effects: SmallestEffects) -> float:
            read.add(name)
            return float(slot.__get__(effects))

        return property(value, slot.__set__)

    with_values = SmallestEffects.with_values

    def typed(effects: SmallestEffects, values: dict[str, float]) -> SmallestEffects:
        made = with_values(effects, values)
        read.clear()  # making new effects reads all
        return made

    monkeypatch.setattr(SmallestEffects, "with_values", typed)
    monkeypatch.setattr(SmallestEffects, "changed", ())
    for one in fields(SmallestEffects):
        monkeypatch.setattr(SmallestEffects, one.name, reading(one.name))
    return read


@pytest.fixture(autouse=True)
def _figures_stay_empty(undrawn: None) -> None:
    """Leave the figures of pages empty; those of the command in a process of its own are drawn."""


@pytest.fixture
def plotting() -> None:
    """Skip where no report can be made."""
    pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a table of confidence and one of correctness, wide CSV."""
    folder = tmp_path_factory.mktemp("tables")
    made = simulate_study(n_models=6, n_questions=120, rng=0)
    paths = folder / "said.csv", folder / "right.csv"
    for table, path in zip((made.confidence, made.correctness), paths, strict=True):
        frame = pd.DataFrame(table.codes, index=table.models, columns=table.questions)
        frame.to_csv(path, index_label="model")
    return paths


@pytest.fixture(scope="session")
def long_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one long CSV with a stated confidence and the correctness."""
    made = simulate_study(n_models=6, n_questions=120, rng=0)
    rng = np.random.default_rng(0)
    said = made.confidence.codes
    sure = np.where(said == 1, rng.integers(60, 100, said.shape), rng.integers(1, 41, said.shape))
    k, n = said.shape
    frame = pd.DataFrame(
        {
            "model": np.repeat(made.confidence.models, n),
            "item": np.tile(np.arange(n), k),
            "sure": sure.ravel(),
            "right": made.correctness.codes.ravel(),
        }
    )
    path = tmp_path_factory.mktemp("long") / "long.csv"
    frame.to_csv(path, index=False)
    return path
