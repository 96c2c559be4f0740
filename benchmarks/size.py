"""Count lines of code, lines of docstrings, and files by subpackage for docs/design_parts.md.

    python benchmarks/size.py [--against REVISION]

Code excludes docstrings, comments and blank lines. With ``--against``, each count follows that of
an earlier revision.
"""

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of(source: str) -> tuple[int, int]:
    """Return the numbers of lines of code and of docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings), len(docstrings)


def git(*words: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
    ).stdout


def sources(revision: str | None) -> dict[str, str]:
    """Return the modules of the library by path, as they are or as they were."""
    if revision is None:
        files = (ROOT / "psychollm").rglob("*.py")
        return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    names = git("ls-tree", "-r", "--name-only", revision, "psychollm").split()
    return {name: git("show", f"{revision}:{name}") for name in names if name.endswith(".py")}


def sizes(revision: str | None = None) -> dict[str, Counter[str]]:
    """Return code, docstrings and files by subpackage; "whole" is all of them."""
    counts: dict[str, Counter[str]] = {}
    for name, source in sources(revision).items():
        code, docstrings = lines_of(source)
        parts = Path(name).parts
        for key in (parts[1] if len(parts) > 2 else "(top)", "whole"):
            counts.setdefault(key, Counter()).update(code=code, docstrings=docstrings, files=1)
    return counts


def table(before: str | None) -> str:
    """Return the counts as a table in Markdown."""
    now, then = sizes(), sizes(before) if before else None
    rows = ["| subpackage | code | docstrings | files |", "|---|---:|---:|---:|"]
    for name in sorted(now, key=lambda name: (name == "whole", name)):
        cells = [
            f"{now[name][key]:,}"
            if then is None
            else f"{then.get(name, Counter())[key]:,} → {now[name][key]:,}"
            for key in ("code", "docstrings", "files")
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--against", metavar="REVISION", help="an earlier state to compare with")
    print(table(parser.parse_args().against))
