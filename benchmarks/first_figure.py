"""How long a newcomer waits: from ``pip install`` to the first figure, in an empty environment.

Run ``python benchmarks/first_figure.py [DISTRIBUTION] [--cold]``. DISTRIBUTION is a wheel, an
sdist or a folder of source (this one unless told). A virtual environment is made in a temporary
folder, the distribution is installed there with its extra for figures, and the study of the
embedded example runs, from a folder that holds nothing; the clock stops when the report, whose
figures are inside it, is on disk. ``--cold`` lets pip use no cache, so that every package is
downloaded. It ends with an error if what was installed does not do what README.md says.
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


def measure(distribution: Path, *, cold: bool) -> dict[str, float]:
    """Return the seconds of each step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        marks = [time.perf_counter()]
        venv.create(folder / "venv", with_pip=True, symlinks=os.name != "nt")
        bin_ = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        marks.append(time.perf_counter())
        options = ["--no-cache-dir"] if cold else []
        run(bin_ / "python", "-m", "pip", "install", "-q", *options, f"{distribution}[plot]",
            folder=folder)  # fmt: skip
        marks.append(time.perf_counter())
        said = run(bin_ / "psychollm", "study", "--example", "--out", "report", folder=folder)
        marks.append(time.perf_counter())
        page = (folder / "report" / "report.html").read_text(encoding="utf-8")
        assert "<svg" in page or "data:image/" in page, "the report holds no figure"
        assert "one factor" in said.lower() or "factor" in said.lower(), said
        where = run(bin_ / "python", "-c", "import psychollm; print(psychollm.__file__)",
                    folder=folder)  # fmt: skip
        assert where.startswith(str(folder.resolve())), f"another psychollm was tried: {where}"
    steps = ("environment", "install", "study and report")
    return {step: b - a for step, a, b in zip(steps, marks, marks[1:], strict=False)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("distribution", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--cold", action="store_true", help="download every package anew")
    options = parser.parse_args()
    seconds = measure(options.distribution.resolve(), cold=options.cold)
    for step, value in seconds.items():
        print(f"{step:>18} {value:6.1f} s")
    print(f"{'altogether':>18} {sum(seconds.values()):6.1f} s  {options.distribution.name}")


if __name__ == "__main__":
    main()
