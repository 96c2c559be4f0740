"""The notebooks run from the first cell to the last, as they stand, and keep no outputs."""

import ast
import json
import warnings
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    shown, namespace = [], {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            shown.append(run("".join(cell["source"]), namespace, f"{path.name}, cell {number}"))
    plt.close("all")
    assert any(shown)


def run(source: str, namespace: dict[str, object], name: str) -> str:
    """Run a cell, and return what a notebook shows of the value of its last line."""
    lines = ast.parse(source, name).body
    value = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive")
        exec(compile(ast.Module(lines, []), name, "exec"), namespace)  # noqa: S102
        if value is None:
            return ""
        shown = eval(compile(ast.Expression(value.value), name, "eval"), namespace)  # noqa: S307
    if shown is None or source.rstrip().endswith(";"):
        return ""
    return shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown)
