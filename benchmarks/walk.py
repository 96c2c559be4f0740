"""Count the files of the library that a command, or one call, passes through.

    python benchmarks/walk.py [--list]

``study`` and ``fit_irt`` take the tables of the embedded example, ``compare`` and ``card`` a table
of random scores; no page is written. The counts are the files of psychollm in which a function
runs between the arguments and the result, and how often a table is coerced or checked to be
binary. Everything runs once before counting, so that imports are excluded.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.cli import main as command

PACKAGE = Path(psy.__file__).parent
COERCIONS = ("as_responses", "is_binary", "paired_answers", "binary_tables")


def walks(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the four walks, on files written to the folder."""
    example = psy.load_example("shared_confidence")
    said, right, scores = (str(folder / f"{name}.csv") for name in ("said", "right", "scores"))
    example.confidence.to_frame().to_csv(said)
    example.correctness.to_frame().to_csv(right)
    random = np.random.default_rng(0).integers(0, 2, (5, 300))
    pd.DataFrame(random, list("abcde")).to_csv(scores)
    quiet = ["--quiet", "--json"]
    return {
        "study A.csv B.csv": lambda: command(["study", said, right, "--bootstrap", "20", *quiet]),
        "compare": lambda: command(["compare", scores, *quiet]),
        "card": lambda: command(["card", scores, *quiet]),
        "fit_irt": lambda: psy.fit_irt(example.correctness),
    }


def crossed(walk: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Count the calls of each function of the package, by file."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            calls[Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_name] += 1

    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        walk()
        sys.setprofile(note)
        try:
            walk()
        finally:
            sys.setprofile(None)
    return calls


def lines(name: str, calls: Counter[tuple[str, str]], *, listed: bool) -> Iterator[str]:
    """Yield what was counted."""
    files = Counter[str]()
    for (file, _), n in calls.items():
        files[file] += n
    coerced = sum(n for (_, function), n in calls.items() if function in COERCIONS)
    yield f"{name:<18} {len(files):>4} files, tables coerced or checked {coerced} times"
    if listed:
        yield from (f"{n:>8} {file}" for file, n in sorted(files.items()))


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the files")
    listed = parser.parse_args().list
    with tempfile.TemporaryDirectory() as name:
        for walk, done in walks(Path(name)).items():
            print("\n".join(lines(walk, crossed(done), listed=listed)))


if __name__ == "__main__":
    main()
