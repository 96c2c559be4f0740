"""``psychollm warm``, and what is told while kernels are compiled."""

import json
from types import FunctionType

import numba

from psychollm.calibration import brier, cox
from psychollm.cli import main, notes, warm
from psychollm.cli.study import OfTables
from psychollm.kernels import compilation


def test_it_runs_the_examples_and_says_where_the_code_is_kept(capsys, monkeypatch) -> None:
    def broken() -> None:
        """Fail.

        >>> raise OSError("this machine has no such file")
        """

    def warns_of() -> None:
        """Show an error.

        >>> raise ValueError("as it should")
        Traceback (most recent call last):
        ValueError: as it should
        """

    chosen = {"brier": brier, "broken": broken, "warns_of": warns_of}
    monkeypatch.setattr(warm, "public_functions", lambda: chosen)
    assert main(["warm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skipped"] == ["broken"]
    assert found["examples"] == 2
    assert found["seconds"] > 0
    assert main(["warm", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "kept in" in out
    assert "broken" in out


def test_every_subpackage_that_computes_is_compiled() -> None:
    functions = warm.public_functions()
    assert cox in functions.values()
    assert {name.partition(".")[0] for name in functions} >= {
        "calibration", "correlation", "data", "factor", "irt", "nulls", "reliability", "studies"
    }  # fmt: skip


def test_compiling_is_told_once_also_where_nobody_watches(capsys) -> None:
    def kernel(x: float) -> float:
        return x + 1.0

    def of_the_library() -> FunctionType:
        copied = FunctionType(kernel.__code__, {}, "kernel")
        copied.__module__ = "psychollm.kernels.tried"
        return copied

    with notes.compilation(tell=True) as kernels:
        numba.njit(kernel)(1.0)
        assert kernels == []
        for _ in range(2):
            numba.njit(of_the_library())(1.0)
    err = capsys.readouterr().err
    assert len(kernels) == 2
    assert err.count("\n") == 1
    assert "compiling kernels.tried." in err
    assert "once on a machine" in err
    numba.njit(of_the_library())(1.0)
    assert len(kernels) == 2


def test_functions_can_be_named(capsys) -> None:
    assert main(["warm", "--json", "calibration.brier", "calibration.cox"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 2
    assert main(["warm", "calibration.brierr"]) == 2
    assert "did you mean calibration.brier?" in capsys.readouterr().err


def test_a_study_names_functions_that_are_compiled_ahead() -> None:
    assert list(warm.chosen(OfTables.AHEAD)) == list(OfTables.AHEAD)


def test_another_process_compiles_ahead(monkeypatch) -> None:
    calls: list[str] = []

    class Helper:
        def __init__(self, command: list[str], **_: object) -> None:
            calls.extend(command[2:])

        def kill(self) -> None:
            calls.append("killed")

        def wait(self) -> None:
            calls.append("ended")

    monkeypatch.setattr(warm.subprocess, "Popen", Helper)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    with warm.compiling_ahead(["calibration.brier"]):
        assert calls == []
        for _ in range(2):
            compilation.compiling("kernel")
        assert calls == ["psychollm", "warm", "--quiet", "calibration.brier"]
    assert calls[-2:] == ["killed", "ended"]
    calls.clear()
    with warm.compiling_ahead([]):
        compilation.compiling("kernel")
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 1)
    with warm.compiling_ahead(["calibration.brier"]):
        compilation.compiling("kernel")
    assert calls == []
    assert compilation.LISTENERS == []


def test_all_is_compiled_here_where_no_process_can_be_started(monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(warm.subprocess, "Popen", refuse)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    with warm.compiling_ahead(["calibration.brier"]):
        compilation.compiling("kernel")
    assert compilation.LISTENERS == []
