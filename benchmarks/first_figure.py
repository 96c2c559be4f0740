"""Time from ``pip install`` to the first figure, in an empty environment.

Run ``python benchmarks/first_figure.py [DISTRIBUTION] [--cold]``. DISTRIBUTION is a wheel, an
sdist or a folder of source (this one unless told). The script makes a virtual environment in a
temporary folder, installs the distribution there with its extra for figures, and runs the study of
the embedded example from an empty folder, where kernels are compiled, and then again with the
compiled kernels. A measurement ends when the report, which contains its figures, is on disk. The
last command compares the models of the example. Processor time, which does not depend on the load
of the machine or on the network, is shown next to each elapsed time. With ``--cold`` pip uses no
cache, so that every package is downloaded. The script ends with an error if the installed program
does not behave as README.md describes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, folder: Path) -> str:
    """Run a command that sees neither this tree nor this environment; return what it printed."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=env, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def clocks() -> tuple[float, float]:
    """Return the wall's time, and the processor's of this process and those it waited for."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


def measure(distribution: Path, *, cold: bool) -> list[tuple[str, float, float]]:
    """Return each step and its seconds, by the wall and by the processor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        bin_ = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        marks = [clocks()]
        venv.create(folder / "venv", with_pip=True, symlinks=os.name != "nt")
        marks.append(clocks())
        install = [bin_ / "python", "-m", "pip", "install", "-q"]
        run(*install, *["--no-cache-dir"] * cold, f"{distribution}[plot]", folder=folder)
        marks.append(clocks())
        study = [bin_ / "psychollm", "study", "--example", "--out", "report"]
        said = run(*study, folder=folder)
        marks.append(clocks())
        run(*study, folder=folder)
        marks.append(clocks())
        run(bin_ / "psychollm", "compare", "--example", folder=folder)
        marks.append(clocks())
        page = (folder / "report" / "report.html").read_text(encoding="utf-8")
        assert "<svg" in page or "data:image/" in page, "the report holds no figure"
        assert "factor" in said, said
        where = run(
            bin_ / "python", "-c", "import psychollm as p; print(p.__file__)", folder=folder
        )
        assert where.startswith(str(folder)), f"another psychollm was tried: {where}"
    steps = (
        "environment", "pip install", "first study and report", "second study and report",
        "comparison",
    )  # fmt: skip
    return [
        (step, after[0] - before[0], after[1] - before[1])
        for step, before, after in zip(steps, marks, marks[1:], strict=False)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="From pip install to the first figure.")
    parser.add_argument("distribution", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--cold", action="store_true", help="download every package anew")
    options = parser.parse_args()
    steps = measure(options.distribution.resolve(), cold=options.cold)
    first = steps[:3]
    wall, processor = (sum(step[i] for step in first) for i in (1, 2))
    for step in [*first, (options.distribution.name, wall, processor), *steps[3:]]:
        print("{:>40} {:6.1f} s, processor {:6.1f} s".format(*step))


if __name__ == "__main__":
    main()
