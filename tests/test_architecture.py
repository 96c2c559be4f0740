"""The laws of the house, read from the source itself."""

import ast
import importlib
import itertools
import re
import statistics
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

from psychollm.cli.parser import COMMANDS
from psychollm.cli.study_store import of_stores

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "psychollm"

FLOORS = {
    "_base": 0,
    "kernels": 1,
    "data": 2,
    "estimates": 2,
    "correlation": 3,
    "factor": 3,
    "irt": 3,
    "calibration": 3,
    "nulls": 3,
    "instruments": 3,
    "reliability": 4,
    "studies": 5,
    "bank": 5,
    "plots": 6,
    "reports": 7,
    "cli": 8,
}
# Files of a study's folder that stand on a floor above it, found by being there.
HIGHER = {"figures.py": "plots", "command.py": "cli"}
LOOKED_UP = {"exhibits", "page", "figures", "command"}
# Rooms beside the tower: what they may import, and who may import them.
ANNEXES = {"collect", "kits", "steering", "integrations"}
BELOW_ANNEXES = {"_base", "data", "instruments"}
IMPORTED_BY_NOBODY = {"integrations"}

# Packages that cost more to import than NumPy: only where they are used, never on the way.
LATE = {
    "dask",
    "duckdb",
    "httpcore",
    "httpx",
    "inspect_ai",
    "jinja2",
    "joblib",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "pymc",
    "scipy.stats",
    "sklearn",
    "statsmodels",
    "torch",
    "tqdm",
    "xarray",
}

MAX_FILE_LINES = 460  # without docstrings, which describe each parameter where it stands
MAX_FUNCTION_LINES = 80

FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module

# Subpackages whose tests mirror their modules.
MIRRORED = [
    "calibration",
    "correlation",
    "data",
    "estimates",
    "factor",
    "instruments",
    "irt",
    "reliability",
    "studies",
]


@cache
def tree(path: Path) -> ast.Module:
    """Return a file, parsed once, when a test asks: collecting tests must not take seconds."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file: two dozen tests look at them."""
    return tuple(ast.walk(tree(path)))


def where(path: Path, node: ast.AST | None = None) -> str:
    line = f":{node.lineno}" if node is not None else ""
    return f"{path.relative_to(ROOT).as_posix()}{line}"


def room_of(path: Path) -> str:
    """Return the first folder below the package, or '' for files of the package itself.

    Some files of a study's folder stand higher, by their name.
    """
    parts = path.relative_to(PACKAGE).parts
    own = parts[0] if len(parts) > 1 else ""
    return HIGHER.get(path.name, own) if own == "studies" else own


def imported(node: ast.AST, path: Path) -> list[str]:
    """Return the dotted names that one statement imports, relative ones made absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = path.relative_to(ROOT).parent.parts
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
    return [f"{base}.{alias.name}" for alias in node.names]


@cache
def imports(path: Path) -> tuple[tuple[ast.AST, str], ...]:
    return tuple((node, name) for node in nodes(path) for name in imported(node, path))


def own_imports() -> Iterator[tuple[Path, ast.AST, str, str]]:
    """Yield each import of the package by one of its rooms: file, statement, room, target room."""
    for path in FILES:
        for node, name in imports(path):
            parts = name.split(".")
            if parts[0] == "psychollm" and room_of(path):
                yield path, node, room_of(path), parts[1]


def functions() -> Iterator[tuple[Path, Function]]:
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, Function):
                yield path, node


def body_lines(node: Function) -> int:
    """Return the number of lines from the first statement after the docstring to the last."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def allowed(room: str, target: str) -> bool:
    if room == target:
        return True
    if room in ANNEXES:
        return target in BELOW_ANNEXES
    if target in ANNEXES:
        return room == "cli" and target not in IMPORTED_BY_NOBODY
    return target in FLOORS and FLOORS[target] < FLOORS[room]


def test_every_room_stands_on_a_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {""}
    assert rooms <= set(FLOORS) | ANNEXES


def test_floors_are_those_of_the_design_and_of_the_docstrings() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (.+?) \|", page, flags=re.MULTILINE)
    drawn = {room: int(floor) for floor, rooms in rows for room in re.findall(r"`(\w+)`", rooms)}
    assert drawn == FLOORS
    said = {room: ast.get_docstring(tree(PACKAGE / room / "__init__.py")) for room in FLOORS}
    wrong = {
        room: text
        for room, text in said.items()
        if not (text or "").startswith(f"Layer {FLOORS[room]}: ") and room != "_base"
    }
    assert not wrong


def test_no_file_imports_in_a_circle() -> None:
    """Imports in functions and for type checkers count: what two files share is in a third."""
    graph = {name_of(path): set(imported_from(path)) for path in FILES}
    circles = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle = error.args[1]  # each imports the one before it
            circles.append(set(circle))
            for target, name in itertools.pairwise(circle):
                graph[name].discard(target)
        else:
            break
    assert circles == []


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_from(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports anywhere."""
    for _, name in imports(path):
        target = name if name in MODULES else name.rpartition(".")[0]
        if target in MODULES and target != name_of(path):
            yield target


def test_modules_that_docstrings_name_exist() -> None:
    wrong = [
        f"{where(path, node)}: {name}"
        for path in FILES
        for node in nodes(path)
        if isinstance(node, Function | ast.ClassDef)
        for name in re.findall(r"\bpsychollm(?:\.\w+)+", ast.get_docstring(node) or "")
        if not leads_somewhere(name)
    ]
    wrong += [
        f"{where(path)}: {name}"
        for path in FILES
        for name in re.findall(r"\bpsychollm(?:\.\w+)+", ast.get_docstring(tree(path)) or "")
        if not leads_somewhere(name)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", MIRRORED)
def test_every_public_module_has_a_test_of_its_name(room: str) -> None:
    """A test stands where its module does, or in the folder of the subpackage.

    An instrument is a package, and may have one file of tests.
    """
    public = importlib.import_module(f"psychollm.{room}")
    missing = set()
    for name in public.__all__:
        value = getattr(public, name)
        if isinstance(value, ModuleType):
            continue
        _, home, *inner, last = value.__module__.split(".")
        tests, file = ROOT / "tests" / home, f"test_{last}.py"
        allowed = [tests.joinpath(*inner, file), tests / file]
        if room == "instruments" and inner:
            allowed.append(tests / f"test_{inner[0]}.py")
        if not any(path.exists() for path in allowed):
            missing.add(value.__module__)
    assert not missing


def leads_somewhere(name: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    longest = next(k for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in MODULES)
    found: object = importlib.import_module(".".join(parts[:longest]))
    for part in parts[longest:]:
        found = getattr(found, part, None)
    return found is not None


def test_imports_go_down() -> None:
    wrong = [
        f"{where(path, node)}: {room} imports {target}"
        for path, node, room, target in own_imports()
        if not allowed(room, target)
    ]
    assert not wrong, "imports go down the floors, never up or sideways:\n" + "\n".join(wrong)


@pytest.mark.parametrize("room", ["reports", "cli"])
def test_pages_and_the_command_line_import_no_study(room: str) -> None:
    """What is to be shown of a study, or typed for it, is in its folder."""
    wrong = [
        f"{where(path, node)}: {name}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node, name in imports(path)
        if name.startswith("psychollm.studies")
    ]
    assert not wrong, wrong


def test_what_a_study_has_above_itself_is_looked_up_and_never_imported() -> None:
    wrong = [
        f"{where(path, node)}: {name}"
        for path in FILES
        for node, name in imports(path)
        if (found := re.match(r"psychollm\.studies\.(\w+)\.(\w+)", name))
        if found[2] in LOOKED_UP and path.parent != PACKAGE / "studies" / found[1]
    ]
    assert not wrong, wrong


def test_commands_of_studies_are_found_by_being_there() -> None:
    files = sorted((PACKAGE / "studies").rglob("command.py"))
    modules = [importlib.import_module(name_of(path)) for path in files]
    commands = {one.COMMAND for one in modules if hasattr(one, "COMMAND")}
    stores = {name for one in modules for name in getattr(one, "STORES", {})}
    assert commands <= set(COMMANDS.values())
    assert stores == set(of_stores())
    known = ("COMMAND", "STORES", "ARMS")
    assert all(any(hasattr(one, name) for name in known) for one in modules)
    analyses = {one for one in COMMANDS.values() if one.__module__.startswith("psychollm.studies")}
    assert analyses == commands
    assert len(commands) >= 4


def test_the_surface_imports_only_the_ground_floor() -> None:
    names = [name for _, name in imports(PACKAGE / "__init__.py") if name.startswith("psychollm")]
    assert all(name.startswith("psychollm._base.") for name in names), names


def test_kernels_need_numba_and_numpy_only() -> None:
    known = {"collections", "math", "numba", "numpy", "typing", "llvmlite"}
    wrong = [
        f"{where(path, node)}: {name}"
        for path in FILES
        if room_of(path) == "kernels"
        for node, name in imports(path)
        if name.split(".")[0] not in known
        if not name.startswith(("psychollm.kernels.", "psychollm._base.types."))
    ]
    assert not wrong, wrong


def test_numba_stays_behind_its_door() -> None:
    wrong = [
        where(path, node)
        for path in FILES
        if room_of(path) != "kernels"
        for node, name in imports(path)
        if name.split(".")[0] in {"numba", "llvmlite"}
    ]
    assert not wrong, f"Numba is imported in kernels/ only: {wrong}"


@pytest.mark.parametrize("option", ["fastmath", "parallel"])
def test_compiler_options_that_are_never_set(option: str) -> None:
    wrong = [
        where(path, node)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.keyword) and node.arg == option and room_of(path) == "kernels"
    ]
    assert not wrong, f"{option}= breaks NaN tests or threads: {wrong}"


def module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that run at import, without those for type checkers only."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            pending += node.body + node.orelse
        if isinstance(node, ast.Try):
            pending += node.body + node.orelse + [s for h in node.handlers for s in h.body]


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    wrong = [
        f"{where(path, node)}: {name}"
        for path in FILES
        for node in module_level(tree(path))
        for name in imported(node, path)
        if any(name == late or name.startswith(f"{late}.") for late in LATE)
    ]
    assert not wrong, f"import these inside the function that needs them: {wrong}"


def docstring_lines(path: Path) -> int:
    """Return the number of lines of the docstrings in a file."""
    return sum(
        (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
        for node in nodes(path)
        if isinstance(node, Documented) and ast.get_docstring(node) is not None
    )


def test_files_are_small() -> None:
    sizes = {
        where(path): len(path.read_text(encoding="utf-8").splitlines()) - docstring_lines(path)
        for path in FILES
    }
    assert not {name: lines for name, lines in sizes.items() if lines > MAX_FILE_LINES}


def test_functions_are_small() -> None:
    sizes = {f"{where(path, node)} {node.name}": body_lines(node) for path, node in functions()}
    assert not {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES}
    assert statistics.median(sizes.values()) <= 8
    assert statistics.quantiles(sizes.values(), n=10)[-1] <= 40


def wide_tuples(annotation: ast.expr) -> Iterator[str]:
    """Yield the tuples of three or more parts in an annotation, those in strings included."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):  # a word of Literal
                yield from wide_tuples(ast.parse(node.value, mode="eval").body)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"tuple", "Tuple"}:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
            if len(parts) > 2:
                yield ast.unparse(node)


def test_no_parameter_is_a_tuple_of_three_or_more() -> None:
    """What stands together has names: parameters of their own, or a record."""
    wrong = [
        f"{where(path, node)} {node.name}: {parameter.arg}: {found}"
        for path, node in functions()
        for parameter in ast.walk(node.args)
        if isinstance(parameter, ast.arg) and parameter.annotation is not None
        for found in wide_tuples(parameter.annotation)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_function_swallows_keywords() -> None:
    wrong = [where(path, node) for path, node in functions() if node.args.kwarg is not None]
    assert not wrong, f"**kwargs hides misspelt options: {wrong}"


def dataclass_options(node: ast.ClassDef) -> dict[str, str]:
    """Return the options of a class's dataclass decorator, as they stand in the source."""
    calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
    return {
        str(option.arg): ast.unparse(option.value)
        for call in calls
        if ast.unparse(call.func) == "dataclass"
        for option in call.keywords
    }


def test_results_are_frozen() -> None:
    law = {"frozen": "True", "slots": "True", "kw_only": "True", "eq": "False"}
    wrong = [
        f"{where(path, node)} {node.name}"
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) == "Result" for b in node.bases)
        if not law.items() <= dataclass_options(node).items()
    ]
    assert not wrong, f"results are dataclasses with {law}: {wrong}"


def test_oracles_share_no_code_with_the_library() -> None:
    wrong = []
    for path in sorted((ROOT / "tests" / "oracles").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = imported(node, path)
            wrong += [where(path, node) for name in names if name.split(".")[0] == "psychollm"]
    assert not wrong, f"a twin that imports the library proves nothing: {wrong}"
