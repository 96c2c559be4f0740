"""What importing loads, seen from a fresh interpreter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "httpcore",
    "httpx",
    "inspect_ai",
    "joblib",
    "llvmlite",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "pymc",
    "scipy.stats",
    "torch",
    "xarray",
}


def loaded_by(*statements: str) -> list[set[str]]:
    """Return the modules that a fresh interpreter has loaded after each of the statements."""
    steps = (f"{one}; found.append(sorted(sys.modules))" for one in statements)
    program = "; ".join(["import sys, json; found = []", *steps, "print(json.dumps(found))"])
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [set(names) for names in json.loads(run.stdout)]


def module_names() -> list[str]:
    paths = sorted((ROOT / "psychollm").rglob("*.py"))
    dotted = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in dotted if not name.endswith("__main__")]


# What one statement loads is loaded for the next: each set holds those before it.
@pytest.fixture(scope="module")
def by_names() -> list[set[str]]:
    return loaded_by(
        "import psychollm; dir(psychollm)",
        "psychollm.errors.LabelError",
        "psychollm.compare",
        "psychollm.studies.Comparison",
    )


@pytest.fixture(scope="module")
def by_commands() -> list[set[str]]:
    names = ", ".join(module_names())
    return loaded_by("import psychollm.cli", "import psychollm.cli.parser", f"import {names}")


def test_importing_the_package_loads_nothing_heavy(by_names: list[set[str]]) -> None:
    loaded = by_names[0]
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("psychollm")} == {
        "psychollm",
        "psychollm._base",
        "psychollm._base.version",
    }


def test_asking_for_an_error_loads_nothing_heavy(by_names: list[set[str]]) -> None:
    assert not by_names[1] & HEAVY


def test_comparing_loads_no_statistics_of_other_kinds(by_names: list[set[str]]) -> None:
    others = ("correlation", "factor", "irt", "nulls")
    assert not [n for n in by_names[2] if n.startswith(tuple(f"psychollm.{o}." for o in others))]


def test_a_study_loads_no_other(by_names: list[set[str]]) -> None:
    studies = {name.split(".")[2] for name in by_names[3] if name.startswith("psychollm.studies.")}
    assert studies == {"comparison"}


def test_the_command_line_starts_light(by_commands: list[set[str]]) -> None:
    assert not by_commands[0] & HEAVY


def test_the_list_of_commands_loads_no_study(by_commands: list[set[str]]) -> None:
    loaded = by_commands[1]
    assert not loaded & HEAVY
    studies = {name for name in loaded if name.startswith("psychollm.studies.")}
    assert {name.split(".")[3] for name in studies if name.count(".") > 2} == {"command"}


def test_every_module_imports_without_what_is_loaded_late(by_commands: list[set[str]]) -> None:
    assert not by_commands[2] & (HEAVY - {"numba", "llvmlite"})
