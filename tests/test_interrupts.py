"""One interrupt (Ctrl-C) ends a call, wherever it is: no second stage begins."""

import inspect
import signal
import sys
import time
import warnings
from typing import Any

import pytest

from psychollm.cli import INTERRUPTED, main
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions

AFTER, WITHIN = 0.2, 5.0  # seconds
ENDLESS = {"bootstrap": 300_000, "n_null": 300_000, "n_draws": 300_000, "n_splits": 100_000}


def endless(name: str) -> dict[str, Any]:
    return {
        key: n
        for key, n in ENDLESS.items()
        if key in inspect.signature(public_functions()[name]).parameters
    }


LONG = sorted(name for name in set(public_functions()) - WITHOUT_EXAMPLE if endless(name))


@pytest.fixture
def alarm():
    """Return a function that sets an alarm: it interrupts as SIGINT does."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("needs an alarm")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", LONG)
def test_one_interrupt_ends_a_call(name: str, alarm) -> None:
    try:
        call = example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public_functions()[name](**call)  # kernels are compiled
        start = time.monotonic()
        alarm(AFTER)
        try:
            public_functions()[name](**call | endless(name))
        except KeyboardInterrupt:
            assert time.monotonic() - start < WITHIN
        else:  # few answers have few permutations
            alarm(0)
            assert time.monotonic() - start < AFTER


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
