"""No text of a result lets a label act: not on a terminal, in Markdown, or on a page."""

import io
import re
import sys
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import PsychollmError
from psychollm._base.result import Result
from psychollm._base.shown import visible
from psychollm.data.responses import Responses
from psychollm.estimates.findings import Study
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions

HOSTILE = "\x1b[31m\u202e\nTAIL<img src=x>[a](http://e.vil)`"
# Runs of seconds: their parts are results of others.
SLOW = {
    "shared_confidence",
    "shared_confidence_by",
    "studies.fit_gate",
    "semantic_calibration",
    "dimensionality",
}


def named(value: Any) -> Any:
    """Return an argument with hostile labels, where it has or can have some."""
    if isinstance(value, Responses):
        return Responses(
            value.values,
            models=[f"{one}{HOSTILE}" for one in value.models],
            questions=[f"{one}{HOSTILE}" for one in value.questions],
            codes=None,
        )
    if isinstance(value, pd.DataFrame):
        return value.rename(index=named, columns=named) if value.index.dtype == object else value
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf":
        rows, columns = ([f"{k}{HOSTILE}" for k in range(n)] for n in value.shape)
        return pd.DataFrame(value, index=rows, columns=columns)
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return named(np.array(value)) if len({*map(len, value)}) == 1 else value
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return [one + HOSTILE for one in value]
    if isinstance(value, dict):
        return {f"{key}{HOSTILE}": one for key, one in value.items()}
    return value


def called(name: str, call: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return public_functions()[name](**call)


def with_hostile_labels(name: str, call: dict[str, Any]) -> Any:
    """Return what a call gives with hostile labels wherever it takes them."""
    changed = {key: named(value) for key, value in call.items()}
    changed = {key: value for key, value in changed.items() if value is not call[key]}
    with suppress(Exception):  # no labels are wanted in one of them: which?
        return called(name, call | changed)
    result = None
    for key, value in changed.items():
        with suppress(Exception):
            result = called(name, call | {key: value})
            call = call | {key: value}
    if result is None:
        with suppress(PsychollmError, OSError):  # a file that is gone after its example
            result = called(name, call)
    return result


def on_a_screen(result: Any) -> dict[str, str]:
    """Return the texts of a result that are for a screen."""
    found = {"repr": repr(result), "str": str(result)}
    if hasattr(result, "summary"):
        found["summary"] = result.summary()
    if isinstance(result, Study):
        found["findings"] = repr(result.findings())
    return found


def texts(result: Any) -> dict[str, str]:
    """Return all texts that a result writes."""
    found = on_a_screen(result) | {"page": result._repr_html_()}
    if isinstance(result, Study):
        findings = result.findings()
        found |= {"findings.md": findings.to_markdown(), "findings.page": findings.to_html()}
    with suppress(PsychollmError):  # it has no table
        found |= {"table.md": result.to_markdown(), "LaTeX": result.to_latex()}
    return found


@pytest.mark.parametrize("name", sorted(set(public_functions()) - WITHOUT_EXAMPLE - SLOW))
def test_no_label_acts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        call = example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    result = with_hostile_labels(name, call)
    if not isinstance(result, Result):
        return
    with monkeypatch.context() as ascii_screen:
        ascii_screen.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        sys.stdout.write("".join(on_a_screen(result).values()))
        sys.stdout.flush()
    for kind, text in texts(result).items():
        assert visible(text) == text, kind
        if kind != "page":
            assert not re.search(r"(?m)^\s*TAIL", text), kind
        if kind.endswith("page"):
            assert "<img" not in text, kind
        if kind.endswith(".md"):
            assert not re.search(r"(?<!\\)<img|(?<!\\)\]\(|(?<!\\)`", text), kind
