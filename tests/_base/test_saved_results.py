"""Every result: saved and loaded to the last bit, as JSON, as a table, in a notebook."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError
from psychollm._base.result import Result, load
from tests._base.every_result import BASES, PROBES, every_class

Made = dict[str, list[Result]]


def differences(a: Any, b: Any, at: str) -> list[str]:
    """Return where two values differ, in type, in shape or in a bit."""
    if isinstance(a, Mapping):
        found = [] if type(b) is dict and list(a) == list(b) else [f"{at}: keys"]
        return found or [one for key in a for one in differences(a[key], b[key], f"{at}[{key!r}]")]
    if type(a) is not type(b):
        return [f"{at}: {type(a).__name__} became {type(b).__name__}"]
    if isinstance(a, np.ndarray):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return [f"{at}: {a.dtype} {a.shape} became {b.dtype} {b.shape}"]
        if b.flags.writeable:
            return [f"{at}: can be written"]
        return [] if a.dtype.hasobject or a.tobytes() == b.tobytes() else [f"{at}: values"]
    if isinstance(a, float | np.floating):
        # The sign of a NaN is kept; what else its bits may say is not, but in arrays.
        same = np.signbit(a) == np.signbit(b) and (a == b or (np.isnan(a) and np.isnan(b)))
        return [] if same else [f"{at}: {a!r} became {b!r}"]
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True, check_index_type=True)
        return []
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        pairs = [(getattr(a, name), getattr(b, name), f"{at}.{name}") for name in names]
        return [one for x, y, where in pairs for one in differences(x, y, where)]
    if isinstance(a, tuple | list):
        if len(a) != len(b):
            return [f"{at}: length"]
        pairs = [(x, y, f"{at}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True))]
        return [one for x, y, where in pairs for one in differences(x, y, where)]
    return [] if a == b else [f"{at}: {a!r} became {b!r}"]


def test_every_class_is_tried(made: Made) -> None:
    untried = set(every_class()) - set(made) - set(BASES) - set(PROBES)
    assert not untried, (
        f"no example makes {sorted(untried)}: add one to EXAMPLES in tests/_base/every_result.py, "
        "or say in BASES why there can be none"
    )
    assert not set(BASES) & set(made), "these are made after all: take them from BASES"


def test_every_result_comes_back_to_the_last_bit(made: Made, tmp_path: Path) -> None:
    wrong = []
    for name, results in made.items():
        for result in results:
            again = load(result.save(tmp_path / "saved.psy"))
            wrong += differences(result, again, name)
            assert repr(again) == repr(result)
    assert not wrong


def has_table(result: Result) -> bool:
    axes = result._axes()
    declared = axes is not None and bool(axes.columns)
    return declared or type(result).to_frame is not Result.to_frame


def test_what_was_loaded_works(made: Made, tmp_path: Path) -> None:
    """Methods that read private fields and whole results do what they did."""
    for results in made.values():
        result = results[-1]
        again = type(result).load(result.save(tmp_path / "saved.psy"))
        if hasattr(result, "summary"):
            assert again.summary() == result.summary()
        if has_table(result):
            pd.testing.assert_frame_equal(again.to_frame(), result.to_frame(), check_exact=True)


def test_every_result_is_json(made: Made) -> None:
    for results in made.values():
        for result in results:
            json.dumps(result.to_dict(), allow_nan=False)


def test_every_result_shows_itself_in_a_notebook(made: Made) -> None:
    for name, results in made.items():
        page = results[-1]._repr_html_()
        assert name in page
        assert "http" not in page
        assert "<script" not in page
        assert page.count("<tr>") <= 8, "a table that does not fit a screen"
        assert page.count("<p>") + page.count("<pre>") <= 8


def test_every_table_is_markdown_and_latex(made: Made) -> None:
    for results in made.values():
        result = results[-1]
        if not has_table(result):
            with pytest.raises(InputError, match="has no table"):
                result.to_markdown()
            continue
        frame = result.to_frame()
        if frame.shape[1] == 0:
            with pytest.raises(InputError, match="is empty"):
                result.to_latex()
            continue
        lines = result.to_markdown().splitlines()
        assert len(lines) == len(frame) + 2
        assert len({len(line.replace("\\|", "")) for line in lines if "\\|" not in line}) == 1
        assert "nan" not in "\n".join(lines).casefold().split()
        columns = lines[1].count("|") - 1
        latex = result.to_latex().splitlines()
        assert latex[1:5:2] == ["\\toprule", "\\midrule"]
        rows = [line for line in latex if line.endswith(" \\\\")]
        assert {line.replace("\\&", "").count("&") for line in rows} == {columns - 1}
