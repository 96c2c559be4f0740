"""Hostile arguments are refused in the library's words, or answered: in every public function.

Each argument of each example takes hostile values in turn: cells of 1e308, long doubles, text,
tables without rows, labels that are halves of letters. What is raised is an error of the library
that names an argument, or the place in it. Nothing warns in NumPy's words or divides by zero,
even under ``np.seterr(all="raise")``, fills the memory or goes on without end. By default each
function takes two of its values, always the same. ``nox -s fuzz -- tests/test_fuzz.py`` tries all
values, then several at once, drawn anew, for ten minutes.
"""

import inspect
import random
import re
import resource
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import MissingPackageError, PsychollmError, PsychollmWarning
from psychollm._base.result import Result
from psychollm.data.responses import Responses
from tests.effort import FUZZ
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions
from tests.test_every_input import arrays_of, thinned

WITHIN, MINUTES = 60, 10  # seconds of a call; of all draws together
MEMORY = 2**35
PLACES = "responses|model|question|item|respondent|rater|row|column|label|unit|category|matrix"
HALF, ACTING = "a\ud800", "\x1b[31m\u202e\n"
COUNTS = [0, 2.0, -1, 0.5, np.nan, np.inf, -np.inf, 1e308, 10**400, "3", "", None]
COUNTS += [np.longdouble(1), np.float32(2), 10**12, True, [2], {}]
WORDS = ["no such word", HALF, ACTING, "", 3, np.nan, None, ["x"], b"x", np.arange(2), {}]
CELLS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e29, 1e16, -1, 1e-160, 5e-324]
OBJECTS = ["x", "1", "", 10**400, None, 1j, HALF, {}]
# Each call takes seconds: their parts are called by others.
SLOW = {"question_audit", "shared_confidence", "predict_answers", "dimensionality"}
WITH_FILES = {"instruments.read_scale", "instruments.write_items"}  # gone after their examples
NAMES = sorted(set(public_functions()) - WITHOUT_EXAMPLE - WITH_FILES)


class Endless(BaseException):
    """Ends a call that goes on and on."""


@contextmanager
def limits() -> Iterator[None]:
    """End a call that takes too much time, or more memory than there is."""

    def end(*_: object) -> None:
        raise Endless

    before, (soft, hard) = signal.getsignal(signal.SIGPROF), resource.getrlimit(resource.RLIMIT_AS)
    signal.signal(signal.SIGPROF, end)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, WITHIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def hostile(value: Any) -> dict[str, Any]:
    """Return hostile values in place of an argument, by what is wrong with them."""
    if isinstance(value, Responses):
        return hostile_arrays(value.values) | hostile_frames(
            pd.DataFrame(value.values, index=list(value.models))
        )
    if isinstance(value, pd.DataFrame | pd.Series):
        return hostile_frames(value)
    if isinstance(value, np.ndarray):
        return hostile_arrays(value)
    if isinstance(value, bool | np.bool_) or value is None:
        return {}
    if isinstance(value, int | float | np.number):
        return {repr(one)[:9]: one for one in COUNTS}
    if isinstance(value, str):
        return {repr(one): one for one in WORDS}
    if not isinstance(value, list | tuple) or not value:
        return {}
    if all(isinstance(one, str) for one in value):
        return hostile_words(list(value))
    with suppress(ValueError, TypeError):
        if (array := np.array(value)).dtype.kind in "biuf":
            return hostile_arrays(array) | {"ragged": [*value, [1, 2, 3]]}
    return {}


def hostile_words(words: list[str]) -> dict[str, Any]:
    return {
        "labels": labels(words),
        "none": [],
        "one": words[:1],
        "equal": words[:1] * len(words),
        "shorter": words[:-1],
        "numbers": list(range(len(words))),
        "missing": [None, *words[1:]],
        "long doubles": list(np.arange(len(words), dtype=np.longdouble)),
        "arrays": [np.arange(2)] * len(words),
    }


def hostile_frames(frame: Any) -> dict[str, Any]:
    changed = {
        "no rows": frame.iloc[:0],
        "one row": frame.iloc[:1],
        "objects": frame.astype(object),
        "labels": frame.set_axis(index_of(frame.index)),
        "the same label": frame.set_axis(["same"] * len(frame)),
    }
    if frame.ndim == 2:
        changed["columns"] = frame.set_axis(index_of(frame.columns), axis=1)
        changed["no columns"] = frame.iloc[:, :0]
    return changed


def labels(values: Any) -> list[Any]:
    """Return as many labels: halves of letters, controls, numbers of other kinds, none."""
    odd = [HALF, f"b{ACTING}", np.longdouble(1.5), 10**400, "", "\x00", ("a", 1)]
    return [*odd, *values][: len(values)]


def index_of(values: Any) -> pd.Index:
    return pd.Index(labels(values), dtype=object, tupleize_cols=False)


def hostile_arrays(array: Any) -> dict[str, Any]:
    """Return hostile arrays of the shape of another, or of no such shape."""
    if array.size == 0 or not array.ndim:
        return {}
    if array.dtype.kind not in "biuf":
        return {"none": array[:0], "one": array[:1], "shorter": array[:-1]}
    floats, at = array.astype(float), np.unravel_index(array.size // 2, array.shape)

    def cell(value: Any, kind: Any = float) -> Any:
        twin = array.astype(kind)
        twin[at] = value
        return twin

    first = array.flat[0]
    changed = {
        **{f"a cell of {one}": cell(one) for one in CELLS},
        **{f"all {one}": np.full_like(floats, one) for one in (*CELLS, 0, 1)},
        **{f"a cell of {one!r}"[:30]: cell(one, object) for one in OBJECTS},
        "constant": np.full_like(array, first),
        "times 1e300": floats * 1e300,
        "long doubles": array.astype(np.longdouble),
        "objects": array.astype(object),
        "text": array.astype(str),
        "complex": array.astype(complex),
        "empty": array[:0],
        "one row": array[:1],
        "two rows": array[:2],
        "shorter": array[:-1],
        "longer": np.concatenate([array, array[:1]]),
        "one dimension more": array[None],
        "a scalar": first,
        "a word": "x",
        "a dict": {"a": 1},
        "an iterator": iter(array.tolist()),
    }
    if array.ndim > 1:
        row, column = np.zeros(array.shape, bool), np.zeros(array.shape, bool)
        row[0], column[:, 0] = True, True
        changed |= {
            "a constant row": np.where(row, first, array),
            "a constant column": np.where(column, first, array),
            "a missing row": np.where(row, np.nan, array),
            "a missing column": np.where(column, np.nan, array),
            "no columns": array[:, :0],
            "one column": array[:, :1],
            "narrower": array[:, :-1],
            "flat": array.ravel(),
        }
    return changed


def whole_call(name: str) -> dict[str, Any]:
    """Return an example call with every array that it may take."""
    with suppress(AssertionError):
        return arrays_of(name)[0]
    return {key: thinned(value) for key, value in example_call(name).items()}


def finding(name: str, call: dict[str, Any]) -> str | None:
    """Return what is wrong with how a call ends, if anything."""
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="raise"), limits():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PsychollmWarning)
        try:
            shown(public_functions()[name](**call))
        except MissingPackageError:
            return None
        except PsychollmError as error:
            named = "|".join(inspect.signature(public_functions()[name]).parameters)
            spoken = re.search(rf"\b(?:{named}|{PLACES}|loadings)(?:s|\b)", str(error))
            return None if spoken else f"names no argument: {error}"
        except Endless:
            return f"goes on for {WITHIN} s"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            return f"{type(error).__name__}: {error} ({where(error)})"
    taken = time.process_time() - start
    return f"takes {taken:.0f} s" if taken > WITHIN else None


def shown(result: Any) -> None:
    """Let a result say all that it says."""
    if isinstance(result, Result):
        repr(result)
        result.to_dict()
        getattr(result, "summary", str)()
        with suppress(PsychollmError):  # it has no table
            result.to_markdown()


def where(error: BaseException) -> str:
    """Return the last line of the library that an error went through."""
    found, trace = "", error.__traceback__
    while trace:
        file = Path(trace.tb_frame.f_code.co_filename)
        found = f"{file.name}:{trace.tb_lineno}" if "psychollm" in file.parts[-4:-1] else found
        trace = trace.tb_next
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_hostile_arguments_are_refused_or_answered(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        call = whole_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    tried = [(p, kind) for p, value in call.items() for kind in hostile(value)]
    found = {}
    if not FUZZ:
        tried = random.Random(name).sample(tried, min(2, len(tried)))  # noqa: S311 - always the same
    elif wrong := finding(name, call):
        found["as it is"] = wrong
    if name in SLOW:
        tried = tried[::6]
    for parameter, kind in tried:
        one = whole_call(name)  # no call sees what another changed
        one[parameter] = hostile(one[parameter])[kind]
        if wrong := finding(name, one):
            found[f"{parameter}, {kind}"] = wrong
    assert not found, "\n".join(f"{case}: {wrong!a}" for case, wrong in found.items())


@pytest.mark.thorough
@pytest.mark.skipif(not FUZZ, reason="draws of ten minutes: nox -s fuzz")
def test_several_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random()  # noqa: S311 - fresh each time
    end, found, n = time.monotonic() + 60 * MINUTES, {}, 0
    while time.monotonic() < end:
        name = draw.choice(sorted(set(NAMES) - SLOW))
        try:
            call = whole_call(name)
        except ImportError:
            continue
        kinds = {}
        for parameter in draw.sample(sorted(call), min(len(call), draw.choice([1, 2, 2, 3]))):
            if values := hostile(call[parameter]):
                kinds[parameter] = draw.choice(sorted(values))
                call[parameter] = values[kinds[parameter]]
        n += 1
        if kinds and (wrong := finding(name, call)):
            found[f"{name}{kinds}"] = wrong
    assert n
    assert not found, f"{n:,} calls\n" + "\n".join(
        f"{case}: {wrong!a}" for case, wrong in found.items()
    )
