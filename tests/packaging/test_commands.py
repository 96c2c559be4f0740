"""Commands that the documents name: each runs, and hides no package from the others."""

import argparse
import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from psychollm.cli.parser import build_parser

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "validation")
SCRIPTS = [one for name in FOLDERS for one in sorted((ROOT / name).glob("*.py"))]
SCRIPTS += sorted((ROOT / "examples").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(rf"python3? (?:-m ((?:{'|'.join(FOLDERS)})\.\w+)|([\w/]+\.py))")
# An example needs these before it knows its options.
OPTIONAL = {
    "examples/steering_smollm2.py": "torch",
    "examples/steering_match_smollm2.py": "torch",
    "benchmarks.bayes_irt_speed": "pymc",
    "validation.mutants": "cosmic_ray",
    "benchmarks.bench_local_models": "torch",
}
# Runs many programs in one process, each as if alone: its own first place to import from.
HELP_OF_ALL = """
import contextlib, io, json, os, runpy, sys, traceback
failed = {}
for name in json.loads(sys.argv[1]):
    sys.argv = [name, "--help"]
    path, printed, loaded = list(sys.path), io.StringIO(), set(sys.modules)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            if name.endswith(".py"):
                sys.path[0] = os.path.abspath(os.path.dirname(name))
                runpy.run_path(name, run_name="__main__")
            else:
                sys.path[0] = os.getcwd()
                runpy.run_module(name, run_name="__main__", alter_sys=True)
        failed[name] = "it ran, and did not say what its options are"
    except SystemExit as end:
        if end.code or "usage:" not in printed.getvalue():
            failed[name] = f"exit code {end.code}: {printed.getvalue()}"
    except BaseException:
        failed[name] = traceback.format_exc()
    sys.path[:] = path
    for module in set(sys.modules) - loaded:
        if module.partition(".")[0] in {"benchmarks", "validation"}:
            del sys.modules[module]
print(json.dumps(failed))
"""


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command of a parser."""
    found = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def named_programs() -> dict[str, str]:
    """Return each program that a page or a script tells to run, and where it is told."""
    programs = {}
    for page in PAGES + SCRIPTS:
        text = page.read_text(encoding="utf-8")
        for module, script in re.findall(
            r"python3? (?:-m ((?:benchmarks|validation)\.\w+)|([\w/]+\.py))", text
        ):
            path = ROOT / script
            if script and not path.exists():
                path = page.parent / script
            name = module or path.relative_to(ROOT).as_posix()
            programs[name] = page.name
    return programs


def test_every_program_that_is_named_says_what_its_options_are() -> None:
    programs = named_programs()
    assert len(programs) > 25
    present = [name for name in programs if find_spec(OPTIONAL.get(name, "psychollm"))]
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL, json.dumps(present)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout)
    assert failed == {}, "\n".join(
        f"{name} ({programs[name]}): {why}" for name, why in failed.items()
    )


def test_every_script_with_a_main_program_is_named_somewhere() -> None:
    named = set(named_programs())
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in SCRIPTS
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    ]
    alone = [
        p
        for p in silent
        if p not in named and p.removesuffix(".py").replace("/", ".") not in named
    ]
    assert alone == []


def test_no_script_hides_a_package() -> None:
    # Run by its path, a script's folder comes first: its neighbours must not be packages' names.
    taken = set(sys.stdlib_module_names) | set(packages_distributions()) | {"coverage"}
    assert [path.name for path in SCRIPTS if path.stem in taken] == []


def told_in_blocks() -> dict[str, str]:
    """Return each line of a fenced block that calls ``psychollm``, and its page."""
    return {
        line: page.name
        for page in PAGES
        for block in re.findall(
            r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        )
        for line in re.findall(r"^(?:[\w/.]*/)?psychollm ([a-z].*)$", block, re.M)
    }


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    return build_parser()


@pytest.mark.parametrize("line", told_in_blocks())
def test_commands_and_options_of_psychollm_exist(
    line: str, parser: argparse.ArgumentParser
) -> None:
    words = re.split(r"[#|\\]", line)[0].split()
    while commands := subcommands(parser):  # a command may have commands of its own
        assert words[0] in commands
        parser = commands[words.pop(0)]
    known = parser._option_string_actions
    assert [word for word in words if word.startswith("--") and word not in known] == []


def test_sessions_of_nox_that_are_named_exist() -> None:
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.M))
    named = {
        name
        for page in [*PAGES, ROOT / ".ci" / "run"]
        for line in re.findall(
            r"nox\"? (?:--\S+ \S+ )?-s ([^#`\n]*)", page.read_text(encoding="utf-8")
        )
        for name in re.findall(r"[\w]+", line.split(" -- ")[0].split("(")[0])
    }
    assert named
    assert named - {name.rstrip("_") for name in sessions} == set()
