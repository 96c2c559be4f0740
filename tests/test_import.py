"""What importing loads, seen from a fresh interpreter."""

import json
import subprocess
import sys
from pathlib import Path

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


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after `statement`."""
    program = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(run.stdout))


def module_names() -> list[str]:
    paths = sorted((ROOT / "psychollm").rglob("*.py"))
    dotted = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in dotted if not name.endswith("__main__")]


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_by("import psychollm; dir(psychollm)")
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("psychollm")} == {
        "psychollm",
        "psychollm._base",
        "psychollm._base.version",
    }


def test_asking_for_an_error_loads_nothing_heavy() -> None:
    assert not loaded_by("import psychollm; psychollm.errors.LabelError") & HEAVY


def test_the_command_line_starts_light() -> None:
    assert not loaded_by("import psychollm.cli") & HEAVY


def test_the_list_of_commands_loads_no_study() -> None:
    loaded = loaded_by("import psychollm.cli.parser")
    assert not loaded & HEAVY
    studies = {name for name in loaded if name.startswith("psychollm.studies.")}
    assert {name.split(".")[3] for name in studies if name.count(".") > 2} == {"command"}


def test_a_study_loads_no_other() -> None:
    loaded = loaded_by("import psychollm; psychollm.compare; psychollm.studies.Comparison")
    studies = {name.split(".")[2] for name in loaded if name.startswith("psychollm.studies.")}
    assert studies == {"comparison"}


def test_comparing_loads_no_statistics_of_other_kinds() -> None:
    loaded = loaded_by("import psychollm; psychollm.compare")
    others = ("correlation", "factor", "irt", "nulls")
    assert not [n for n in loaded if n.startswith(tuple(f"psychollm.{o}." for o in others))]


def test_every_module_imports_without_what_is_loaded_late() -> None:
    names = ", ".join(module_names())
    assert not loaded_by(f"import {names}") & (HEAVY - {"numba", "llvmlite"})
