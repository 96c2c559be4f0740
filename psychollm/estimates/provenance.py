"""Provenance of a study: seed, call and versions."""

import platform
import re
from collections.abc import Mapping
from importlib.metadata import version

from psychollm._base.version import __version__


def call_text(function: str, inputs: tuple[str, ...], options: Mapping[str, object]) -> str:
    """Return code that calls a function with positional inputs and keyword options."""
    arguments = [*inputs, *(f"{name}={value!r}" for name, value in options.items())]
    return f"{function}({', '.join(arguments)})"


def with_imports(code: str) -> str:
    """Return code with missing standard imports added."""
    lines = {"pd": "import pandas as pd", "psy": "import psychollm as psy"}
    absent = [
        line
        for name, line in lines.items()
        if re.search(rf"\b{name}\.", code) and line not in code
    ]
    return "\n".join([*absent, "", code] if absent else [code])


def versions() -> dict[str, str]:
    """Return the versions of the packages that a result may depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"psychollm": __version__, "python": platform.python_version(), **packages}


def cuts(coding: Mapping[str, str]) -> str:
    """Return a phrase on the user's thresholds for converting numbers to answers, or ""."""
    what = {"confidence": "yes", "correctness": "right"}
    made = [f"a {rule} counts as {what[name]}" for name, rule in coding.items() if ">" in rule]
    text = " and ".join(made).replace("model ", "each model's ")
    return f"when {text.replace('balanced', 'balanced cut')}" if made else ""
