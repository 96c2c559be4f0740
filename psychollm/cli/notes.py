"""One-line notes on standard error, in the words of the command, and who sees progress."""

import re
import shlex
import sys
import threading
import warnings
from ast import literal_eval
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from psychollm._base.errors import PsychollmWarning
from psychollm._base.shown import on_screen, one_line

_OPTIONS = (
    (
        "pass value=,",
        "pass --value-column,",
        "pass --confidence-column or --correctness-column,",
    ),
    ("pass model=", "pass --model-column", "pass --columns model=COLUMN"),
    ("pass question=", "pass --question-column", "pass --columns question=COLUMN"),
    ('codes={"yes": 1, "no": 0}', "--codes yes=1,no=0"),
    ("codes= (what words mean)", "--codes (what words mean)"),
    ('duplicates="first" or "last"', "--duplicates first or last"),
    (
        "split a stated confidence with Responses(values, threshold=...)",
        "split a stated confidence with --threshold",
        "split scores into 1 and 0",
    ),
    ("pass task=, with a scorer= for each", "pass --task, with --scorer TASK=NAME,... for each"),
    ("pass scorer=,", "pass --scorer,"),
    ("pass filter=,", "pass --filter,"),
    ("pass repeats=,", "pass --repeats,"),
    ("(with a threshold=)", "(with --threshold)"),
    ("pass threshold=,", "pass --threshold,"),
    ("no_answer='wrong'", "--no-answer wrong"),
    ("no_answer='missing'", "--no-answer missing"),
    ("match='label'", "--by-label"),
    ("columns= ", "--columns "),
    ("threshold=", "--threshold "),
    ("divide by ", "pass --scale "),
    ("scale=", "--scale "),
    ("responses.select(models=validity_screen(responses).usable)", "--drop-unusable"),
    ("responses.select(models=...)", "--leave-out MODEL"),
    ("psychollm.data.align(first, second)", "--common"),
    (".select(models=..., questions=...)", "--leave-out MODEL"),
    ("say repeats='first' or repeats='majority'", "pass --repeats first or --repeats majority"),
    ("choose one with instrument=...", "choose one with --instrument"),
    (
        "; read it with pandas and pass the frame to Responses",
        ": write the table as one of these",
    ),
    (
        "the metrics of psychollm.calibration work with fewer",
        "'psychollm calibrate' works with fewer",
    ),
    ("; labels belong in the index (DataFrame.set_index)", ""),
)


def complain(text: str) -> None:
    """Write one line to standard error."""
    line = " ".join(text.split())
    print(on_screen(f"psychollm: {line}", sys.stderr), file=sys.stderr)


@contextmanager
def as_notes(*, quiet: bool) -> Iterator[None]:
    """Print the library's warnings as notes."""

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        complain(f"note: {in_options(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", PsychollmWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def watched(*, quiet: bool) -> bool:
    """Whether to show bars: to a person at a terminal who has tqdm, and to nobody else."""
    from importlib.util import find_spec

    return at_terminal() and not quiet and find_spec("tqdm") is not None


def at_terminal() -> bool:
    """Whether somebody sees standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def busy(doing: str, *, quiet: bool, after: float = 1.0) -> Iterator[None]:
    """Say at a terminal what takes longer than a second, and take it away when it is done."""
    # For work that has no parts to count. Elsewhere nothing is written.
    if quiet or not at_terminal():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"psychollm: {doing} ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def computing(*, quiet: bool) -> Iterator[None]:
    """Say that something is computed, where no bars show it, and that it is compiled first."""
    doing = 'computing (bars come with pip install "psychollm[progress]")'
    with compilation(tell=not quiet), busy(doing, quiet=quiet or watched(quiet=quiet)):
        yield


@contextmanager
def compilation(*, tell: bool = False) -> Iterator[list[str]]:
    """Collect the names of the kernels that are compiled, and tell of the first if asked to."""
    # Whoever reads a log should know as well why nothing happens for half a minute: this is
    # written whether or not standard error is a terminal.
    from psychollm.kernels._jit import on_compilation

    kernels: list[str] = []

    def note(kernel: str) -> None:
        kernels.append(kernel)
        if tell and len(kernels) == 1:
            complain(
                f"compiling {kernel.removeprefix('psychollm.')} and what else is needed; this "
                "happens once on a machine and takes up to a minute ('psychollm warm' compiles "
                "everything)"
            )

    with on_compilation(note):
        yield kernels


_NAMED = re.compile(
    r"\b(?:pass |with )?(missing_values|codes|score_map|layout|errors|scorer|duplicates)="
    r"(\([^()]*\)|\[[^\]]*\]|\{[^{}]*\}|'[^']*')"
)


def _typed(found: "re.Match[str]") -> str:
    """Return an argument of Python with its value as it is typed."""
    name = found[1].replace("missing_values", "missing").replace("_", "-")
    try:
        value = literal_eval(found[2])
    except (SyntaxError, ValueError):
        return found[0]
    if isinstance(value, list) and ... in value:
        return f"--{name} VALUE,..."
    if isinstance(value, dict):
        value = ",".join(f"{word}={one}" for word, one in value.items())
    elif not isinstance(value, str):
        value = ",".join(map(str, value)) or "none"
    lead = found[0][: found.start(1) - found.start()]
    return f"{lead}--{name} {shlex.quote(one_line(value))}"


def in_options(text: str, known: Collection[str] = ()) -> str:
    """Replace Python arguments by the options of a command: by the first of them that it has."""
    for argument, *names in _OPTIONS:
        fitting = (one for one in names if set(re.findall(r"--[a-z-]+", one)) <= set(known))
        text = text.replace(argument, next(fitting, names[0]) if known else names[0])
    return _NAMED.sub(_typed, text)
