"""How much of the library two CSV files cross on their way through ``psychollm study``.

    python benchmarks/walk.py [--list]

The tables of the embedded example are written as CSV files and studied, without a report. Counted
are the files of psychollm of which a function ran between the first byte read and the result, and
how often a table was coerced, and checked to be binary. The study runs once before, so that
imports do not count.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psychollm as psy
from psychollm.cli.study_store import Study
from psychollm.studies.shared_confidence.study import shared_confidence

PACKAGE = Path(psy.__file__).parent
COERCIONS = ("as_responses", "is_binary", "paired_answers", "binary_tables")


def studied(folder: Path) -> None:
    """Read both tables and study them, as the command does."""
    files = (folder / "said.csv", folder / "right.csv")
    command = Study(inputs=files, bootstrap=20, quiet=True, json=True)
    tables = command._read()
    shared_confidence(tables.confidence, tables.correctness, n_null=19, **command.replication)


def crossed(folder: Path) -> Counter[tuple[str, str]]:
    """Count the calls of each function of the package, by file."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            calls[Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_name] += 1

    sys.setprofile(note)
    try:
        studied(folder)
    finally:
        sys.setprofile(None)
    return calls


def lines(calls: Counter[tuple[str, str]], *, listed: bool) -> Iterator[str]:
    """Yield what was counted."""
    files = Counter[str]()
    for (name, _), n in calls.items():
        files[name] += n
    yield f"{len(files)} files"
    for coercion in COERCIONS:
        n = sum(count for (_, name), count in calls.items() if name == coercion)
        yield f"{n} calls of {coercion}"
    if listed:
        yield from (f"{n:>8} {name}" for name, n in sorted(files.items()))


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the files")
    listed = parser.parse_args().list
    example = psy.load_example("shared_confidence")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        example.confidence.to_frame().to_csv(folder / "said.csv")
        example.correctness.to_frame().to_csv(folder / "right.csv")
        studied(folder)
        print("\n".join(lines(crossed(folder), listed=listed)))


if __name__ == "__main__":
    main()
