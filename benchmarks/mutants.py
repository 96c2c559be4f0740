"""Break the library in one place at a time, and count how often its tests notice.

``nox -s mutants`` draws places at random, the same ones for the same seed, as many from each
subpackage. At each, Cosmic Ray changes one operator, number, comparison or loop; then the tests
that say most about the file run, until the first one fails. That one must pass without the change,
or nothing is concluded. Mutants that no test could see (annotations, decorators) are not made.
``python -m benchmarks.mutants --number 20`` tries a few in the environment at hand.
"""

import argparse
import ast
import contextlib
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).parents[1]
PACKAGE = Path("psychollm")
PYTEST = ["-x", "-q", "--no-header", "--no-showlocals", "--tb=line", "-p", "no:cacheprovider"]
# Operators of one kind take each other's places. Python itself notices most others: a bit operator
# between floats, ``is`` beside a literal.
KINDS = ({"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}, {"Is", "IsNot"})


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    operator: str
    occurrence: int
    line: int

    @property
    def subpackage(self) -> str:
        return self.path.parts[1]


class _Values(ast.NodeTransformer):
    """Leave out what does not change what is computed."""

    def visit(self, node: ast.AST) -> ast.AST:
        for field in {"annotation", "returns", "decorator_list"} & set(node._fields):
            setattr(node, field, [] if field == "decorator_list" else None)
        return self.generic_visit(node)


def meaning(source: str) -> str | None:
    """Return what a source computes, or None where it is no Python."""
    try:
        return ast.dump(_Values().visit(ast.parse(source)))
    except SyntaxError:
        return None


# -- which mutants ------------------------------------------------------------------------------


def telling(operator: str) -> bool:
    """Return whether only a test of values notices a mutation."""
    name, *change = operator.split("_")
    # A compiled function has the same values without its decorator.
    return name != "core/RemoveDecorator" and all(len(kind & set(change)) != 1 for kind in KINDS)


@cache
def places(path: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Return the mutations of a file by the position of what they change."""
    tree = get_ast(path.read_text(encoding="utf-8"))
    by_position: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments() or not telling(name):
            continue
        positions = (p for node in ast_nodes(tree) for p in operator().mutation_positions(node))
        for occurrence, (start, _) in enumerate(positions):
            by_position.setdefault(start, []).append((name, occurrence))
    return by_position


def drawn(files: list[Path], rng: random.Random) -> Iterator[Mutant]:
    """Draw mutants of a subpackage: a line decides the file, a place the mutation."""
    lines = [path.read_text(encoding="utf-8").count("\n") for path in files]
    seen: set[tuple[Path, tuple[int, int]]] = set()
    for _ in range(100 * len(files)):
        path = rng.choices(files, lines)[0]
        if not (known := places(path)):
            continue
        position = rng.choice(sorted(known))
        operator, occurrence = rng.choice(known[position])
        if (path, position) in seen:
            continue
        seen.add((path, position))
        source = path.read_text(encoding="utf-8")
        mutated = mutate_code(source, get_operator(operator)(), occurrence)
        if meaning(mutated) not in (None, meaning(source)):
            yield Mutant(path, operator, occurrence, position[0])


def sample(number: int, seed: int, only: list[str]) -> list[Mutant]:
    """Draw mutants, as many of each subpackage."""
    files: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.glob("*/**/*.py")):
        if not only or path.parts[1] in only:
            files.setdefault(path.parts[1], []).append(path)
    streams = {
        name: drawn(paths, random.Random(f"{seed} {name}"))  # noqa: S311
        for name, paths in files.items()
    }
    mutants: list[Mutant] = []
    while streams and len(mutants) < number:
        for name in list(streams)[: number - len(mutants)]:
            if (mutant := next(streams[name], None)) is None:
                del streams[name]
            else:
                mutants.append(mutant)
    return mutants


# -- which tests --------------------------------------------------------------------------------


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file names in its imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
    return frozenset(names)


def module(path: Path) -> str:
    """Return the dotted name of a file."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def users(path: Path) -> list[Path]:
    """Return the files of the library that import one."""
    return [one for one in sorted(PACKAGE.rglob("*.py")) if module(path) in imports(one)]


@cache
def words(path: Path) -> Counter[str]:
    return Counter(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def tests_of(path: Path, most: int) -> list[str]:
    """Return the files of tests that say most about a module, the nearest first, and itself.

    Tests that import it come first, then those that import what uses it; among these, the ones
    that speak most of its names.
    """
    near = [path, *users(path)]
    second = {module(one) for one in near[1:]}
    names = {
        node.name
        for one in near
        for node in ast.parse(one.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }

    def nearness(test: Path) -> tuple[int, int, int, int]:
        spoken, parts = words(test), set(re.split(r"[/_.]", str(test)))
        return (
            module(path) in imports(test),
            test.stem == f"test_{path.stem}",
            len(imports(test) & second),
            sum(name in spoken for name in names)
            + max(len(parts & set(re.split(r"[/_.]", str(one)))) for one in near),
        )

    ranked = sorted(Path("tests").rglob("test_*.py"), key=nearness, reverse=True)
    return [str(path), *(str(test) for test in ranked[:most] if any(nearness(test)))]


# -- one mutant ---------------------------------------------------------------------------------


@contextlib.contextmanager
def fresh_kernels(path: Path) -> Iterator[None]:
    """Put away what Numba compiled from a file and from all that call it, for the while."""
    stale, more = set(), {path}
    while more:
        stale |= more
        more = {user for one in more for user in users(one)} - stale
    kept = {
        file: file.read_bytes()
        for one in stale
        for file in one.parent.glob(f"__pycache__/{one.stem}.*.nb?")
    }
    stamp = path.stat()
    for file in kept:
        file.unlink()
    try:
        yield
    finally:
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        for one in stale:
            for file in one.parent.glob(f"__pycache__/{one.stem}.*.nb?"):
                file.unlink()
        for file, compiled in kept.items():
            file.write_bytes(compiled)


def passes(tests: list[str], seconds: float) -> bool:
    """Say whether tests pass, in time, without any change."""
    run = [sys.executable, "-m", "pytest", *PYTEST, *tests]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return not subprocess.run(
            run, capture_output=True, timeout=seconds, check=False
        ).returncode
    return False


def verdict(mutant: Mutant, most: int, seconds: float) -> tuple[str, str]:
    """Return what became of a mutant, and the difference that it makes to the source."""
    tests = tests_of(mutant.path, most)
    command = shlex.join([sys.executable, "-m", "pytest", *PYTEST, *tests])
    specification = MutationSpec(
        module_path=mutant.path,
        operator_name=mutant.operator,
        occurrence=mutant.occurrence,
        start_pos=(mutant.line, 0),
        end_pos=(mutant.line, 1),
    )
    with fresh_kernels(mutant.path):
        result = mutate_and_test([specification], command, seconds)
    change = [
        line
        for line in (result.diff or "").splitlines()
        if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}
    ]
    told = "\n".join(change)
    if result.output == "timeout":
        return "timeout" if passes(tests, seconds) else "unclear", told
    if result.test_outcome != "killed":
        return str(result.test_outcome.value), f"{told}\n  tests: {' '.join(tests)}"
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", result.output, re.MULTILINE)
    killer = failed[1] if failed else tests[0]
    if passes([killer], seconds) or passes([killer.split("::")[0]], seconds):
        return "killed", f"{told}\n  by {killer}"
    return "unclear", f"{told}\n  {killer} fails without it too"


def enter_copy(folder: str) -> None:
    """Give this process a copy of the tree, to break."""
    copy = Path(tempfile.mkdtemp(dir=folder))
    for name in ("psychollm", "tests", "benchmarks", "docs", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_build"))
    for file in ROOT.glob("*.*"):
        if file.is_file():
            shutil.copy2(file, copy)
    os.chdir(copy)
    # Programs that tests start find the copy, too.
    os.environ["PYTHONPATH"] = str(copy)


def main() -> int:
    """Draw, try, tell; 1 where fewer are killed than should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="subpackages")
    parser.add_argument("--files", type=int, default=12, help="files of tests for each, at most")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for each")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.9, help="share to be killed")
    options = parser.parse_args()
    os.chdir(ROOT)
    counts: dict[str, Counter[str]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(options.jobs, initializer=enter_copy, initargs=(folder,)) as pool,
    ):
        running = {
            pool.submit(verdict, mutant, options.files, options.timeout): mutant
            for mutant in sample(options.number, options.seed, options.only)
        }
        for future in as_completed(running):
            mutant, (outcome, told) = running[future], future.result()
            counts.setdefault(mutant.subpackage, Counter())[outcome] += 1
            print(f"{outcome}: {mutant.path}:{mutant.line} {mutant.operator}\n{told}", flush=True)
    total = sum(counts.values(), Counter())
    outcomes = sorted(total)
    print("\n" + "".join(f"{name:>14}" for name in ["subpackage", *outcomes]))
    for name, row in [*sorted(counts.items()), ("all", total)]:
        print(f"{name:>14}" + "".join(f"{row[outcome]:>14}" for outcome in outcomes))
    # A change that no test lives to see the end of is seen.
    killed = (total["killed"] + total["timeout"]) / total.total()
    print(f"\nkilled: {killed:.1%} of {total.total()}")
    return int(killed < options.least)


if __name__ == "__main__":
    sys.exit(main())
