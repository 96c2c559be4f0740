"""List the scripts of this folder: what each shows, the pages that it writes, how long it takes.

    python -m validation.index [--write]

``--write`` makes docs/validation_tables.md. Its contents come from the scripts and the pages: the
first line of each docstring, its sentence "Takes ...", and the pages that name the script.
"""

import argparse
import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
OUT = DOCS / "validation_tables.md"


def scripts() -> dict[str, str]:
    """Return the docstring of each script that runs, by its module."""
    sources = {f"validation.{path.stem}": path for path in sorted(HERE.glob("*.py"))}
    sources["validation.ledger"] = HERE / "ledger" / "__main__.py"
    del sources["validation.__init__"], sources["validation.index"]
    found = {}
    for module, path in sorted(sources.items()):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            found[module] = ast.get_docstring(ast.parse(text)) or ""
    return found


def pages() -> dict[str, str]:
    """Return the text of each page, with that of the tables that it includes."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    tables = {name for name in texts if name.endswith("_tables.md")} - {OUT.name}

    def whole(text: str) -> str:
        named = re.findall(r"\{include\} (\w+\.md)", text)
        return "\n".join([text, *(texts[name] for name in named if name in tables)])

    own = sorted(set(texts) - tables - {OUT.name, "validation.md"})
    return {name.removesuffix(".md"): whole(texts[name]) for name in own}


def naming(module: str, texts: dict[str, str]) -> list[str]:
    """Return the pages that name a script, or whose tables do."""
    named = re.compile(rf"validation[./]{module.partition('.')[2]}\b")
    return [name for name, text in texts.items() if named.search(text)]


def takes(docstring: str) -> str:
    """Return how long a script takes, as its docstring says."""
    found = re.search(r"\bTakes\s+([^.]*)\.", docstring)
    return " ".join(found[1].split()) if found else "–"


def table() -> str:
    """Return the scripts as a table in Markdown."""
    lines = ["| script | what it shows | pages | takes |", "|---|---|---|---|"]
    texts = pages()
    for module, docstring in scripts().items():
        links = ", ".join(f"[{page}]({page}.md)" for page in naming(module, texts))
        shows = docstring.splitlines()[0].replace("``", "`")
        lines.append(f"| `{module}` | {shows} | {links or '–'} | {takes(docstring)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    made = table()
    if parser.parse_args().write:
        OUT.write_text(made, encoding="utf-8")
    print(made, end="")


if __name__ == "__main__":
    main()
