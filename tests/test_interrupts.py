"""One interrupt (Ctrl-C) ends a call, wherever it is: no second stage begins."""

import gc
import inspect
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from psychollm.cli import INTERRUPTED, main
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions

AFTER, WITHIN = 0.1, 5.0  # seconds
ENDLESS = {
    "bootstrap": 300_000, "n_null": 300_000, "n_draws": 300_000, "n_splits": 100_000,
    "n_starts": 100_000, "n_repeats": 100_000,
}  # fmt: skip
# What tells that a function may take long.
TELLING = {*ENDLESS, "progress", "n_jobs", "checkpoint", "n_folds", "max_splits", "chains"}
# Read files: no number makes them take long.
READING = {
    "calibration.scan_stated", "data.judges_in", "data.read_categories", "data.read_pair_counts",
    "data.scan", "data.stream_responses", "read_logs", "read_scores",
}  # fmt: skip


def parameters(name: str) -> set[str]:
    return set(inspect.signature(public_functions()[name]).parameters)


def endless(name: str) -> dict[str, Any]:
    return {key: n for key, n in ENDLESS.items() if key in parameters(name)}


def answers(rows: int, columns: int) -> Any:
    """Return binary answers with one ability."""
    rng = np.random.default_rng(0)
    easy = rng.normal(size=columns)
    return (rng.normal(size=(rows, 1)) + easy + rng.normal(size=(rows, columns)) > 0).astype(int)


def larger(name: str, folder: Path) -> dict[str, Any]:
    """Return the arguments of a call that takes long, where no number makes one so."""
    match name:
        case "fit_irt" | "irt.fit_multidimensional" | "irt.fit_factors" | "irt.short_form":
            return {"responses": answers(3000, 300)} | ({"dimensions": 3} if "dim" in name else {})
        case "irt.fit_irt_groups":
            return {"responses": answers(3000, 300), "groups": ["a", "b", "c"] * 1000}
        case "factor.full_information":
            return {"responses": answers(60, 20_000)}
        case "predict_answers":
            return {"responses": answers(60, 1500)}
        case "ability":
            return {"responses": answers(100_000, 5), "method": "wle"}
        case "calibration.predicted_correctness":
            return {
                "features": np.random.default_rng(0).normal(size=(20_000, 60)),
                "correctness": answers(1, 20_000)[0], "n_folds": 100,
            }  # fmt: skip
        case "studies.probe_transfer":
            rng = np.random.default_rng(0)
            return {
                "states": rng.normal(size=(5000, 60)), "outcome": answers(1, 5000)[0],
                "topics": ["x", "y", "z", "w"] * 1250,
            }  # fmt: skip
        case "reliability.guttman_of_matrix":
            return {"matrix": np.eye(32) + 0.5, "max_splits": 2**40}
        case "data.count_blocks":
            return {"blocks": (answers(200, 5000) for _ in range(10_000))}
    return {}


LONG = sorted(
    name
    for name in set(public_functions()) - WITHOUT_EXAMPLE - READING
    if TELLING & parameters(name)
)


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.fixture
def alarm():
    """Return a function that sets an alarm: it interrupts as SIGINT does."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("needs an alarm")

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Python drops what is raised in a callback of weakref, and in what that calls.
        if any(one.f_code.co_filename.endswith("weakref.py") for one in outwards(frame)):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
        else:
            signal.default_int_handler(number, frame)

    # Python also drops what is raised in a finalizer of garbage that earlier tests have left.
    gc.disable()
    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


@pytest.mark.parametrize("name", LONG)
def test_one_interrupt_ends_a_call(name: str, alarm, tmp_path: Path) -> None:
    try:
        call = example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public_functions()[name](**call)  # kernels are compiled
        longer = endless(name) | larger(name, tmp_path)
        assert longer, "name in `larger` what makes it take long"
        # Other programs delay a call, but not the processor's time that it takes.
        start, spent = time.monotonic(), time.process_time()
        alarm(AFTER)
        try:
            public_functions()[name](**call | longer)
            taken = time.monotonic() - start
            alarm(0)
        except KeyboardInterrupt:
            assert time.process_time() - spent < WITHIN
        else:  # few answers have few permutations
            assert taken < AFTER


def test_an_interrupt_during_imports_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *where: object) -> None:
            if name == "psychollm.cli.parser":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "psychollm.cli.parser", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert main(["version"]) == INTERRUPTED
    assert capsys.readouterr().err == "psychollm: interrupted\n"
