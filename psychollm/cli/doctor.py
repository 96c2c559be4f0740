"""``psychollm doctor``: what is installed, what is missing, and how fast this machine is."""

import argparse
import platform
import re
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING, Any

from psychollm._base.version import __version__

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

DESCRIPTION = """\
Print the versions that results depend on, which extras are installed and what the others need, and
how fast correlations are computed here. The first run on a machine compiles, for up to a minute.
"""
NOT_FOR_USERS = frozenset({"all", "test", "test-core", "docs", "lint", "bench", "dev", "peers"})
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9._-]+)(\[[^\]]*\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?"
)
_MODELS, _QUESTIONS, _ROUNDS = 19, 10_000, 5


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="say what is installed, what is missing, and how fast it is",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON and nothing else")
    parser.add_argument("--no-speed", action="store_true", help="leave out the timing")


def run(options: argparse.Namespace) -> int:
    """Print what was found."""
    found: dict[str, Any] = {
        "psychollm": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": {name: installed(name) for name in needed()[""]},
        "extras": {name: _extra(found) for name, found in needed().items() if name},
        "machine": machine(),
    }
    if not options.no_speed:
        from psychollm.cli.notes import busy

        with busy("compiling, which the first time takes a minute", quiet=False):
            found["speed"] = speed()
    if options.json:
        from psychollm.cli.outputs import as_json

        print(as_json(found))
    else:
        print(told(found))
    return 0


def needed() -> dict[str, list[str]]:
    """Return the packages that the library needs, under "", and each extra, under its name."""
    packages: dict[str, list[str]] = {"": []}
    for line in requires("psychollm") or []:
        match = _REQUIREMENT.match(line)
        if match and match[1] != "psychollm" and match[3] not in NOT_FOR_USERS:
            packages.setdefault(match[3] or "", []).append(match[1])
    return packages


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extra(packages: list[str]) -> dict[str, str | None]:
    return {package: installed(package) for package in packages}


def machine() -> dict[str, Any]:
    """Return what speed depends on: cores, linear algebra, where compiled code is kept."""
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
        "compiled code": f"kept in {kept}" if kept else "in memory only: nowhere to write",
    }


def speed() -> dict[str, float]:
    """Return how long correlations take here, once all is compiled."""
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


def told(found: dict[str, Any]) -> str:
    """Return what was found, for people to read."""
    lines = [f"psychollm {found['psychollm']}, Python {found['python']}, {found['platform']}", ""]
    lines += [f"  {name:<14}{number or 'missing'}" for name, number in found["packages"].items()]
    lines += ["", "Extras"]
    for extra, packages in found["extras"].items():
        lacking = [name for name, number in packages.items() if number is None]
        said = f'lacks {", ".join(lacking)}: pip install "psychollm[{extra}]"'
        there = ", ".join(f"{name} {number}" for name, number in packages.items())
        lines.append(f"  {extra:<14}{said if lacking else there}")
    lines += ["", "Machine"]
    lines += [f"  {name:<14}{value}" for name, value in found["machine"].items()]
    if "speed" in found:
        spent = found["speed"]
        lines.append(
            f"  {'speed':<14}{_MODELS} models x {_QUESTIONS:,} questions: "
            f"{1000 * spent['seconds']:.2f} ms, the first time {spent['first seconds']:.1f} s"
        )
    return "\n".join(lines)
