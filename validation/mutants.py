"""Insert single faults into the library, and count how often its tests detect them.

``nox -s mutants`` draws an equal number of random places from each subpackage; the same seed gives
the same places. At each place, Cosmic Ray changes one operator, number, comparison or loop. All
tests run once to record which lines each executes and how long it takes. For each mutant, the
tests that execute its line then run, the quickest first, until one fails. If the failing test also
fails without the change, the search continues. Mutants that no test could detect (annotations,
decorators) are not made.

Mutated kernels run as Python in tests that are quick without Numba. If these detect nothing, the
kernels are compiled again for some tests of their callers. Everything happens in a copy of the
tree. ``python -m validation.mutants --number 20`` tries a few in the current environment.

Takes hours with 200 mutants.
"""

import argparse
import ast
import contextlib
import difflib
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[1]
PACKAGE = Path("psychollm")
KERNELS = PACKAGE / "kernels"
PYTEST = ["-q", "--no-header", "--no-showlocals", "--tb=line", "-p", "no:cacheprovider"]
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
# The library has a class named Tested, which pytest would collect.
PYTEST += ["-W", "ignore::pytest.PytestCollectionWarning"]
# These are imported once, before a child process is forked for each mutant.
LARGE = (
    "numpy",
    "scipy.optimize",
    "scipy.stats",
    "pandas",
    "numba",
    "joblib",
    "matplotlib.pyplot",
)
PURE_LIMIT = 1.5  # longest test in seconds that runs kernels as Python
LIMIT = 3.0  # longest other test in seconds
OF_A_KERNEL = 8  # number of tests of its callers for each kernel
OF_A_KIND = 3  # number of cases of a parametrised test
ROUNDS = (
    15.0,
    45.0,
    15.0,
)  # seconds of tests: of the line, of the function, of a kernel's callers
SLOWER = 4.0  # a mutant that takes this many times longer counts as an infinite loop
WALL = 20.0  # elapsed seconds allowed per second of processor time
TIMEOUT = 124
# Operators are replaced only by others of the same kind. Python itself detects most other
# replacements, such as a bit operator between floats or ``is`` with a literal.
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

    def source(self) -> str:
        """Return the file with the change; as it is where the operator knows no change."""
        source = self.path.read_text(encoding="utf-8")
        try:
            return mutate_code(source, get_operator(self.operator)(), self.occurrence)
        except AttributeError:  # an exception name that includes its module
            return source


class _Values(ast.NodeTransformer):
    """Remove code that does not change results."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return ast.Pass()
        if isinstance(node, ast.Call):  # the `strict` argument of `zip`, which no test triggers
            node.keywords = [one for one in node.keywords if one.arg != "strict"]
        for field in {"annotation", "returns", "decorator_list"} & set(node._fields):
            setattr(node, field, [] if field == "decorator_list" else None)
        return self.generic_visit(node)


def meaning(source: str) -> str | None:
    """Return the normalised source, or None if it is not valid Python."""
    try:
        return ast.dump(_Values().visit(ast.parse(source)))
    except SyntaxError:
        return None


# -- which mutants ------------------------------------------------------------------------------


def telling(operator: str) -> bool:
    """Return whether only a test of values can detect a mutation."""
    name, *change = operator.split("_")
    # A compiled function returns the same values without its decorator.
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
        mutant = Mutant(path, operator, occurrence, position[0])
        if meaning(mutant.source()) not in (None, meaning(path.read_text(encoding="utf-8"))):
            yield mutant


def sample(number: int, seed: int, only: list[str]) -> list[Mutant]:
    """Draw mutants, as many of each subpackage."""
    files: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.glob("*/**/*.py")):
        if path.parts[1] == "steering" and not find_spec("torch"):
            continue  # its tests do not run here
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


def set_kernels(*, pure: bool) -> None:
    """Compile kernels, or run them as Python, where a division by zero must not warn either."""
    import_module("numba").config.DISABLE_JIT = pure
    if pure:
        import_module("numpy").seterr(all="ignore")


class Recorder:
    """A plugin of pytest: which lines each test executes, and its seconds of processor time."""

    def __init__(self, coverage: Coverage, limit: float) -> None:
        self.coverage, self.limit = coverage, limit
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        signal.signal(signal.SIGPROF, self.too_slow)

    def too_slow(self, _: int, frame: FrameType | None) -> None:
        # Nothing may be raised while coverage holds its lock; try again a second later.
        if frame is None or Path(frame.f_code.co_filename).name != "collector.py":
            pytest.fail("slower than a test of a mutant may be")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.limit, 1.0)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self.seconds[item.nodeid] = time.process_time() - began
            self.coverage.switch_context("")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        if call.excinfo:  # do not interrupt the report of a failed test
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def record(tests: list[str], into: Path, *, pure: bool) -> None:
    """Run tests in this process, and write what they execute and how long they take.

    A test that takes longer than some seconds is left out. Compiled kernels show no lines: where
    `pure`, they are run as Python.
    """
    set_kernels(pure=pure)
    coverage = Coverage(data_file=f"{into}.lines", include=["psychollm/*"], config_file=False)
    recorder = Recorder(coverage, PURE_LIMIT if pure else LIMIT)
    coverage.start()
    # pytest cannot show the traceback of a test that was interrupted between two lines.
    shown = ["--tb=native", *["-Wignore"] * pure]
    pytest.main([*PYTEST, *shown, *tests], plugins=[recorder])
    coverage.stop()
    coverage.save()
    kept = {test: s for test, s in recorder.seconds.items() if test not in recorder.failed}
    into.write_text(json.dumps(kept), encoding="utf-8")


class Record:
    """What the tests execute, without and with compiled kernels; read from a folder."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: list[CoverageData] = []
        for path in sorted(folder.glob(f"{kind}-*.json")):
            self.seconds |= json.loads(path.read_text(encoding="utf-8"))
            self.lines.append(CoverageData(f"{path}.lines"))
            self.lines[-1].read()

    @cache  # noqa: B019 -- one record, which lasts as long as the process
    def of_file(self, path: Path) -> dict[int, set[str]]:
        """Return the tests that execute each line of a file."""
        found: dict[int, set[str]] = {}
        for data in self.lines:
            for file in data.measured_files():
                if Path(file).parts[-len(path.parts) :] == path.parts:
                    for line, tests in data.contexts_by_lineno(file).items():
                        found.setdefault(line, set()).update(tests)
        return {line: tests & self.seconds.keys() for line, tests in found.items()}

    def executing(self, path: Path, lines: Iterable[int]) -> set[str]:
        """Return the tests that execute any of some lines of a file."""
        known = self.of_file(path)
        return set().union(*(known.get(line, ()) for line in lines))

    def quickest(self, tests: Iterable[str], seconds: float) -> list[str]:
        """Return the tests that run first: the quick ones, few of a kind, until time is up."""
        chosen: list[str] = []
        kinds: Counter[str] = Counter()
        for test in sorted(tests, key=lambda one: (self.seconds[one], one)):
            kind = test.partition("[")[0]
            kinds[kind] += 1
            if kinds[kind] > OF_A_KIND:
                continue
            seconds -= self.seconds[test]
            if seconds < 0 and len(chosen) >= OF_A_KIND:
                break
            chosen.append(test)
        return chosen


def functions(path: Path) -> set[str]:
    """Return the names of the functions of a file."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def around(path: Path, line: int) -> tuple[range, range]:
    """Return the lines of the statement, or of its head, and of the function that hold a line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statement = function = range(line, line + 1)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.FunctionDef):
            function = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        body = getattr(node, "body", None)
        statement = range(node.lineno, body[0].lineno if body else (node.end_lineno or 0) + 1)
    return statement, function


@cache
def names_in(path: Path) -> dict[str, list[int]]:
    """Return the lines of a file that contain each name."""
    lines: dict[str, list[int]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            lines.setdefault(node.id, []).append(node.lineno)
    return lines


def of_callers(names: set[str], record: Record) -> set[str]:
    """Return the tests that execute a line outside the kernels that contains some names."""
    tests: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        if KERNELS not in path.parents and (spoken := names & names_in(path).keys()):
            tests |= record.executing(path, (n for name in spoken for n in names_in(path)[name]))
    return tests


def tests_of_kernels(compiled: Record) -> list[str]:
    """Return the tests to try in pure Python: those of a kernel, and quick ones of its callers."""
    beside = {
        str(test)
        for test in Path("tests").rglob("test_*.py")
        if "psychollm.kernels" in test.read_text(encoding="utf-8")
    }
    near = (test for test in compiled.seconds if test.partition("::")[0] in beside)
    tests = set(compiled.quickest(near, math.inf))
    for kernel in sorted(KERNELS.glob("*.py")):
        for name in functions(kernel):
            users = of_callers({name}, compiled)
            tests.update(compiled.quickest(users, PURE_LIMIT)[:OF_A_KERNEL])
    return sorted(tests)


# -- one mutant ---------------------------------------------------------------------------------


def forked(
    arguments: list[str], seconds: float, *, pure: bool, anew: Path | None = None
) -> tuple[int, str]:
    """Run pytest in a child of this process, which has loaded what is large; code and output.

    Seconds are of the processor: a busy machine makes no mutant look endless.
    """
    with tempfile.TemporaryFile() as output:
        if not (child := os.fork()):
            os.setsid()
            for stream in (1, 2):
                os.dup2(output.fileno(), stream)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 10))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            set_kernels(pure=pure)
            code = 1
            if not pure and anew and KERNELS in anew.parents:
                # The cache does not detect changes in a file whose functions a kernel calls.
                import_module("numba").config.CACHE_DIR = tempfile.mkdtemp(dir=Path.cwd())
            try:
                code = int(
                    pytest.main([*PYTEST, "-x", *["-Wignore"] * pure, *arguments], [Hurry()])
                )
            finally:
                sys.stdout.flush()
                os._exit(code)
        deadline = time.monotonic() + WALL * seconds
        status = 0
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        else:
            status = done[1]
        ended = bool(done[0])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
        output.seek(0)
        told = output.read().decode("utf-8", "replace")
    if not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in {9, signal.SIGXCPU}):
        return TIMEOUT, told
    return os.waitstatus_to_exitcode(status), told


class Hurry:
    """A pytest plugin that stops at the first failing example of a property, without shrinking."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.default, phases=phases)
        settings.load_profile("mutants")


@dataclass
class Judge:
    """Decides on mutants in a copy of the tree, from the lines that its tests executed."""

    compiled: Record
    pure: Record

    def rounds(self, mutant: Mutant) -> Iterator[tuple[list[str], Record]]:
        """Return tests to run, one set after the other, and the record that they are from."""
        path = mutant.path
        statement, function = around(path, mutant.line)
        kernel = KERNELS in path.parents
        record = self.pure if kernel else self.compiled
        line = record.executing(path, [mutant.line]) or record.executing(path, statement)
        whole = record.executing(path, function) or record.executing(path, record.of_file(path))
        # A test may depend on the set-up of another test in its file.
        files = {test.partition("::")[0] for test in line}
        whole |= {test for test in record.seconds if test.partition("::")[0] in files}
        first = record.quickest(line, ROUNDS[0])
        yield first, record
        yield record.quickest(whole - set(first), ROUNDS[1]), record
        if kernel:
            users = of_callers(functions(path), self.compiled)
            yield self.compiled.quickest(users, ROUNDS[2]), self.compiled

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """Return the verdict on a mutant, and the reason."""
        source, mutated = mutant.path.read_text(encoding="utf-8"), mutant.source()
        change = [
            line
            for line in difflib.unified_diff(source.splitlines(), mutated.splitlines(), n=0)
            if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}
        ]
        tried = 0
        for tests, record in self.rounds(mutant):
            pure = record is self.pure
            while tests:
                tried += len(tests)
                seconds = SLOWER * sum(record.seconds[test] for test in tests) + 20
                with broken(mutant.path, mutated):
                    code, told = forked(tests, seconds, pure=pure, anew=mutant.path)
                if code == 0:
                    break
                if code == TIMEOUT:
                    return "timeout", "\n".join(change)
                failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", told, re.MULTILINE)
                killer = failed[1] if failed else tests[0]
                clean, why = forked([killer], 60, pure=pure)
                if clean == 0:
                    return "killed", "\n".join([*change, f"  by {killer}"])
                if clean == pytest.ExitCode.INTERNAL_ERROR:
                    raise RuntimeError(why)
                tests = [test for test in tests if not test.startswith(killer)]
        return "survived", "\n".join([*change, f"  {tried} tests"])


@contextlib.contextmanager
def broken(path: Path, mutated: str) -> Iterator[None]:
    """Replace a file by its mutant inside the context."""
    source, stamp = path.read_bytes(), path.stat()
    path.write_text(mutated, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


# -- copies of the tree -------------------------------------------------------------------------


def copy_tree(tree: Path, into: Path) -> None:
    """Copy what tests need, compiled kernels included."""
    for name in (".ci", "psychollm", "tests", "benchmarks", "validation", "docs", "examples"):
        shutil.copytree(tree / name, into / name, ignore=shutil.ignore_patterns("_build"))
    for file in [*tree.glob("*.*"), *tree.glob("LICENSE")]:
        if file.is_file():
            shutil.copy2(file, into)


def enter(tree: Path) -> None:
    """Work in a copy, this process and programs that tests start; load what is large."""
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree)
    sys.path[:0] = [str(tree)]
    for name in LARGE:
        import_module(name)


def recorded(folder: Path, jobs: int) -> None:
    """Record in a folder what all tests execute, once for a state of the tree."""
    if (folder / "done").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tree").mkdir(parents=True)
    copy_tree(ROOT, folder / "tree")
    files = [
        str(path.relative_to(ROOT))
        for path in sorted([*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("psychollm/**/*.py")])
        if path.name != "__main__.py"
    ]
    random.Random(0).shuffle(files)  # noqa: S311 -- no secret
    side_by_side(folder, "compiled", [files[job::jobs] for job in range(jobs)])
    os.chdir(folder / "tree")
    tests = tests_of_kernels(Record(folder, "compiled"))
    side_by_side(folder, "pure", [tests[job::jobs] for job in range(jobs)])
    (folder / "done").touch()


def side_by_side(folder: Path, kind: str, parts: list[list[str]]) -> None:
    """Record parts of the tests in processes of their own."""
    running = [
        get_context("fork").Process(
            target=record_part, args=(folder, part, folder / f"{kind}-{job}.json", kind == "pure")
        )
        for job, part in enumerate(parts)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()


def record_part(folder: Path, tests: list[str], into: Path, pure: bool) -> None:
    """Record a part of the tests in the copy."""
    enter(folder / "tree")
    record(tests, into, pure=pure)


def state() -> str:
    """Return a name of the state of the library and its tests."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("psychollm/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


# -- all mutants --------------------------------------------------------------------------------

_judges: list[Judge] = []


def start(folder: Path, scratch: Path) -> None:
    """Give this process a copy of the tree, to break."""
    copy = Path(tempfile.mkdtemp(dir=scratch))
    copy_tree(folder / "tree", copy)
    # Bytecode of one mutant must not be used for the next.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    enter(copy)
    _judges.append(Judge(Record(folder, "compiled"), Record(folder, "pure")))


def judged(mutant: Mutant) -> tuple[str, str]:
    """Decide on a mutant in the copy of this process."""
    return _judges[0].verdict(mutant)


def main() -> int:
    """Draw, test and report; return 1 if too few mutants are killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="subpackages")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.9, help="share to be killed")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "psychollm-mutants" / state(),
        help="where what the tests execute is recorded",
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "Agg")
    recorded(folder, options.jobs)
    os.chdir(folder / "tree")
    counts: dict[str, Counter[str]] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        ProcessPoolExecutor(
            options.jobs, get_context("fork"), start, (folder, Path(scratch))
        ) as pool,
    ):
        running = {
            pool.submit(judged, mutant): mutant
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
    # A mutant that runs into the time limit counts as detected.
    killed = (total["killed"] + total["timeout"]) / total.total()
    print(f"\nkilled: {killed:.1%} of {total.total()}")
    return int(killed < options.least)


if __name__ == "__main__":
    sys.exit(main())
