"""``psychollm doctor`` and ``version``: report the state and the speed of the installation."""

import platform
import re
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from psychollm._base.version import __version__
from psychollm.cli.options import Command, option

DESCRIPTION = """\
Print the versions that affect results, installed and missing extras, and the speed of correlations
on this machine. The first run on a machine compiles for up to a minute.
"""
NOT_FOR_USERS = frozenset({"all", "test", "test-core", "docs", "lint", "bench", "dev", "peers"})
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9._-]+)(\[[^\]]*\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?"
)
_MODELS, _QUESTIONS, _ROUNDS = 19, 10_000, 5


@dataclass(frozen=True, kw_only=True)
class Version(Command):
    """Command `psychollm version`."""

    NAME = "version"
    HELP = "print the version"

    json: bool = option("print only JSON", default=False)

    def run(self) -> int:
        """Print the version of the library and of Python."""
        python = platform.python_version()
        versions = {"psychollm": __version__, "python": python}
        self.say(versions, f"psychollm {__version__} (Python {python})")
        return 0


@dataclass(frozen=True, kw_only=True)
class Doctor(Command):
    """Command `psychollm doctor`."""

    NAME = "doctor"
    HELP = "report what is installed, what is missing, and speed"
    DESCRIPTION = DESCRIPTION

    json: bool = option("print only JSON", default=False)
    speed: bool = option("time correlations", default=True)

    def run(self) -> int:
        """Print the state of the installation."""
        packages = {
            name: dict(zip(names, map(installed, names), strict=True))
            for name, names in needed().items()
        }
        state: dict[str, Any] = {
            "psychollm": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(terse=True),
            "packages": packages.pop(""),
            "extras": packages,
            "machine": machine(),
        }
        if self.speed:
            from psychollm.cli.notes import busy

            with busy("compiling, which the first time takes a minute", quiet=False):
                state["speed"] = speed()
        self.say(state, told(state))
        return 0


def needed() -> dict[str, list[str]]:
    """Return the names of packages by extra; required packages have the key ""."""
    packages: dict[str, list[str]] = {"": []}
    for line in requires("psychollm") or []:
        match = _REQUIREMENT.match(line)
        if match and match[1] != "psychollm" and match[3] not in NOT_FOR_USERS:
            packages.setdefault(match[3] or "", []).append(match[1])
    return packages


def installed(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """Return settings that affect speed: cores, linear algebra and cache of compiled code."""
    import joblib
    import numpy as np

    from psychollm.kernels import normal

    built: Any = np.show_config(mode="dicts")
    kernel: Any = normal.normal_cdf
    kept = kernel.stats.cache_path
    return {
        "cores": joblib.cpu_count(),
        "blas": built["Build Dependencies"]["blas"]["name"],
        "threads": "joblib, over kernels that release the interpreter's lock",
        "compiled code": f"kept in {kept}" if kept else "in memory only: no writable folder",
    }


def speed() -> dict[str, float]:
    """Return the time to compute correlations, with and without compilation."""
    import numpy as np

    from psychollm.correlation.tetrachoric import tetrachoric
    from psychollm.data.simulate import simulate_factor

    simulated = simulate_factor(
        loadings=np.full(_MODELS, 0.7),
        thresholds=np.linspace(-1.0, 1.0, _MODELS),
        n_questions=_QUESTIONS,
        rng=1,
    )
    start = time.perf_counter()
    tetrachoric(simulated.responses)
    first = time.perf_counter() - start
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        tetrachoric(simulated.responses)
        best = min(best, time.perf_counter() - start)
    return {"first seconds": first, "seconds": best}


def told(state: dict[str, Any]) -> str:
    """Return the state of the installation as text."""
    lines = [f"psychollm {state['psychollm']}, Python {state['python']}, {state['platform']}", ""]
    lines += [f"  {name:<14}{number or 'missing'}" for name, number in state["packages"].items()]
    lines += ["", "Extras"]
    for extra, packages in state["extras"].items():
        lacking = [name for name, number in packages.items() if number is None]
        advice = f'missing {", ".join(lacking)}: pip install "psychollm[{extra}]"'
        there = ", ".join(f"{name} {number}" for name, number in packages.items())
        lines.append(f"  {extra:<14}{advice if lacking else there}")
    lines += ["", "Machine"]
    lines += [f"  {name:<14}{value}" for name, value in state["machine"].items()]
    if "speed" in state:
        spent = state["speed"]
        lines.append(
            f"  {'speed':<14}{_MODELS} models x {_QUESTIONS:,} questions: "
            f"{1000 * spent['seconds']:.2f} ms, the first time {spent['first seconds']:.1f} s"
        )
    return "\n".join(lines)
