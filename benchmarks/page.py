"""Write the page of benchmarks: the latest asv results as tables in Markdown.

python -m benchmarks.page --out docs/benchmarks_tables.md

docs/benchmarks.md says how asv is run before that.
"""

import argparse
import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ABSENT = "–"
KINDS = {"time": "time", "timeraw": "time", "peakmem": "memory", "track": "tracked"}
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One number with its benchmark and parameters."""

    module: str
    group: str  # the class
    what: str  # the method without its kind
    kind: str
    parameters: str
    text: str


def newest(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the latest results below a folder, and the machine that they come from."""
    files = [path for path in folder.glob("*/*.json") if path.name != "machine.json"]
    if not files:
        msg = f"{folder} holds no results: run asv first (see the top of benchmarks/page.py)"
        raise SystemExit(msg)
    found = max((json.loads(path.read_text("utf-8")) | {"_": str(path)} for path in files), key=at)
    machine = json.loads((Path(found["_"]).parent / "machine.json").read_text("utf-8"))
    return found, machine


def at(found: dict[str, Any]) -> int:
    """When the last benchmark of a file began, in milliseconds."""
    place = found["result_columns"].index("started_at")
    return max(
        (one[place] or 0 for one in found["results"].values() if len(one) > place), default=0
    )


def measured(found: dict[str, Any], known: dict[str, Any]) -> Iterator[Measured]:
    """Yield every number of a file of results."""
    columns = found["result_columns"]
    for name, values in found["results"].items():
        module, group, method = name.split(".")[:3]
        prefix, _, what = method.partition("_")
        one = dict(zip(columns, values, strict=False))
        combinations = list(product(*(one["params"] or [])))
        low, high = (one.get(f"stats_q_{q}") or [None] * len(combinations) for q in (25, 75))
        rows = one["result"] or [None] * len(combinations)
        for place, (combination, value) in enumerate(zip(combinations, rows, strict=True)):
            yield Measured(
                module=module,
                group=group,
                what=what.replace("_", " "),
                kind=KINDS[prefix],
                parameters=parameters(known.get(name, {}), combination),
                text=shown(KINDS[prefix], value, low[place], high[place], known.get(name, {})),
            )


def parameters(about: dict[str, Any], combination: tuple[str, ...]) -> str:
    """Return parameters with their names."""
    names = about.get("param_names") or [""] * len(combination)
    pairs = zip(names, combination, strict=False)
    return ", ".join(f"{name} {value}".strip().replace("'", "") for name, value in pairs)


def shown(kind: str, value: Any, low: Any, high: Any, about: dict[str, Any]) -> str:
    """Return a number with its unit; a time with the quartiles of its runs."""
    if value is None or not isfinite(value):
        return ABSENT
    if kind == "memory":
        return f"{value / 1e6:,.0f} MB"
    if kind == "tracked":
        unit = about.get("unit") or ""
        return f"{significant(value, 4)} {unit if unit != 'unit' else ''}".strip()
    scale, unit = next((pair for pair in TIMES if value >= pair[0]), TIMES[-1])
    text = f"{significant(value / scale)} {unit}"
    if low is None or high is None or low == high:
        return text
    return f"{text} ({significant(low / scale)} to {significant(high / scale)})"


def significant(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, without a power of ten if it is large."""
    if value == 0 or isinstance(value, int):
        return f"{value:,}"
    decimals = digits - 1 - floor(log10(abs(value)))
    return f"{value:.{digits - 1}e}" if decimals > 8 else f"{value:,.{max(decimals, 0)}f}"


def said(module: str) -> tuple[str, dict[str, str]]:
    """Return the docstrings of a file of benchmarks and of its classes."""
    path = HERE / f"{module}.py"
    if not path.is_file():
        return module, {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return ast.get_docstring(tree) or module, {
        one.name: " ".join((ast.get_docstring(one) or "").split()) for one in classes
    }


def head(found: dict[str, Any], machine: dict[str, Any], python: str) -> str:
    """Return the machine, the versions and the date."""
    began = datetime.fromtimestamp(at(found) / 1000, tz=UTC)
    memory = int(machine.get("ram") or 0) / 2**30
    return (
        f"{machine.get('cpu', '')}, {machine.get('num_cpu', '?')} cores, {memory:.0f} GiB, "
        f"{machine.get('os', '').partition(' ')[0]}; Python {python}; {began:%d %B %Y}; commit "
        f"{found['commit_hash'][:8]}."
    )


def table(rows: list[Measured]) -> list[str]:
    """Return one table: a row for each benchmark and combination of parameters."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for one in rows:
        if one.text != ABSENT:
            cells.setdefault((one.what, one.parameters), {})[one.kind] = one.text
    kinds = [kind for kind in KINDS.values() if any(kind in row for row in cells.values())]
    kinds = list(dict.fromkeys(kinds))
    words = ["benchmark", *(["parameters"] if any(given for _, given in cells) else [])]
    rule = [":---"] * len(words) + ["---:"] * len(kinds)
    lines = [f"| {' | '.join([*words, *kinds])} |", f"| {' | '.join(rule)} |"]
    for key, row in cells.items():
        numbers = [row.get(kind, "") for kind in kinds]
        lines.append(f"| {' | '.join([*key[: len(words)], *numbers])} |")
    return [*lines, ""]


def page(folder: Path, python: str) -> str:
    """Return all tables."""
    found, machine = newest(folder)
    known = json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))
    rows = list(measured(found, known))
    lines, absent = [head(found, machine, python), ""], []
    for module in sorted({one.module for one in rows}):
        here = [one for one in rows if one.module == module and one.text != ABSENT]
        title, classes = said(module)
        if not here:
            absent.append(f"`{module}`")
            continue
        lines += [f"## {title.splitlines()[0].rstrip('.')}", ""]
        for group in dict.fromkeys(one.group for one in here):
            chosen = [one for one in here if one.group == group]
            lines += [classes.get(group) or group, "", *table(chosen)]
    if absent:
        lines.append(
            f"Not measured: {', '.join(absent)}, because its requirements are not installed."
        )
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    import platform

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path(".asv/results"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks_tables.md"))
    options = parser.parse_args()
    options.out.write_text(page(options.results, platform.python_version()), encoding="utf-8")


if __name__ == "__main__":
    main()
