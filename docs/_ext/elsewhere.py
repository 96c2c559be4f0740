"""Inventories of other projects, made from ``elsewhere.toml``: no build needs a network."""

import tomllib
import zlib
from pathlib import Path

Mapping = dict[str, tuple[str, str]]


def inventories(folder: Path) -> Mapping:
    """Write an inventory for each project into a folder, and return what intersphinx wants."""
    folder.mkdir(parents=True, exist_ok=True)
    projects = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    mapping: Mapping = {}
    for project, told in projects.items():
        file = folder / f"{project}.inv"
        file.write_bytes(_inventory(project, told["pages"]))
        mapping[project] = (told["address"], str(file))
    return mapping


def _inventory(project: str, pages: dict[str, list[str]]) -> bytes:
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = (
        f"{name} py:{_kind(name)} 1 {page.replace('$', name)} -\n"
        for page, names in pages.items()
        for name in names
    )
    return head.encode() + zlib.compress("".join(lines).encode())


def _kind(name: str) -> str:
    last = name.rpartition(".")[2]
    return "class" if last[0].isupper() or last == "ndarray" else "function"
