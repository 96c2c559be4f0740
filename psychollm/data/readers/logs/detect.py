"""Which reader reads which log, told by what is in the file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm._base.convert import WORKBOOKS, conversion
from psychollm._base.errors import InputError
from psychollm.data.readers.logs.deepeval import is_deepeval, read_deepeval
from psychollm.data.readers.logs.evalscope import is_evalscope, read_evalscope
from psychollm.data.readers.logs.every_eval_ever import (
    is_every_eval_ever,
    read_every_eval_ever,
)
from psychollm.data.readers.logs.hal import is_hal, read_hal
from psychollm.data.readers.logs.helm import is_helm, read_helm
from psychollm.data.readers.logs.inspect_log import is_inspect, read_inspect
from psychollm.data.readers.logs.lighteval import is_lighteval, read_lighteval
from psychollm.data.readers.logs.lm_eval import is_lm_eval, read_lm_eval
from psychollm.data.readers.logs.openai_evals import is_openai_evals, read_openai_evals
from psychollm.data.readers.logs.opencompass import is_opencompass, read_opencompass
from psychollm.data.readers.logs.promptfoo import is_promptfoo, read_promptfoo
from psychollm.data.readers.logs.run import Run
from psychollm.data.readers.logs.source import Reading, Source
from psychollm.data.readers.logs.table_log import (
    is_table,
    may_be_table,
    read_table_log,
    unknown_table,
)

LogFormat: TypeAlias = Literal[
    "inspect",
    "lm-eval",
    "every-eval-ever",
    "helm",
    "lighteval",
    "opencompass",
    "promptfoo",
    "deepeval",
    "openai-evals",
    "hal",
    "evalscope",
    "table",
]
_FOREIGN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
ENDINGS = (".eval", ".json", ".jsonl", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")


@dataclass(frozen=True, slots=True)
class LogReader:
    """How to know a format, and how to read it."""

    knows: Callable[[Source], bool]
    read: Callable[[Source], list[Run]]


READERS: dict[str, LogReader] = {
    "inspect": LogReader(is_inspect, read_inspect),
    "lm-eval": LogReader(is_lm_eval, read_lm_eval),
    "every-eval-ever": LogReader(is_every_eval_ever, read_every_eval_ever),
    "helm": LogReader(is_helm, read_helm),
    "lighteval": LogReader(is_lighteval, read_lighteval),
    "promptfoo": LogReader(is_promptfoo, read_promptfoo),
    "deepeval": LogReader(is_deepeval, read_deepeval),
    "openai-evals": LogReader(is_openai_evals, read_openai_evals),
    "hal": LogReader(is_hal, read_hal),
    "evalscope": LogReader(is_evalscope, read_evalscope),
    "opencompass": LogReader(is_opencompass, read_opencompass),
    "table": LogReader(is_table, read_table_log),
}


def format_of(path: Path) -> str | None:
    """Return the format of a log by its content; None if no reader knows it."""
    return _format_of(Source(path))


def _format_of(source: Source) -> str | None:
    for name, one in READERS.items():
        with _laid_out(source.path, name):
            if one.knows(source):
                return name
    return None


@contextmanager
def _laid_out(path: Path, name: str) -> Iterator[None]:
    """Name a file in which a reader met what its tool does not write."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise InputError(msg) from error
    except _FOREIGN as error:
        # The readers take each field for what its tool writes there: this one was something else.
        fault = f"field {error}" if isinstance(error, KeyError) else str(error)
        msg = f"{path} is not laid out as a log of {name} ({fault}): which version wrote it?"
        raise InputError(msg) from error


def read_runs(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    reading: Reading | None = None,
    named: bool = True,
) -> list[Run]:
    """Read one log."""
    # A file that was found in a folder (not `named`) need not be one: if no reader knows it,
    # there are no runs in it.
    if format is not None:
        check_choice("format", format, LogFormat)
    if named and path.suffix.lower() in WORKBOOKS:
        msg = f"{path} is a workbook, which is not read: {conversion(path)}"
        raise InputError(msg)
    source = Source(path, reading)
    if source.reading.columns:
        name = "table" if named or is_table(source) else None
    elif format is not None:
        name = format if named or READERS[format].knows(source) else None
    else:
        name = _format_of(source)
        if name is None and named:
            if source.shape == "lines" or not may_be_table(source):
                raise InputError(_unknown(source))
            name = "table"
    if name is None:
        return []
    with _laid_out(path, name):
        runs = READERS[name].read(source)
    return [replace(run, format=name, source=str(path)) for run in runs]


def _unknown(source: Source) -> str:
    if source.shape in {"text", "parquet", "lines"}:
        return f"{source.path} is no log that is known, and no table: {unknown_table(source)}"
    return (
        f"{source.path} is no log that is known; it may go with the log that holds the answers: "
        "pass that, or the folder"
    )


def readable(path: Path) -> bool:
    """Tell whether a file in a folder may be a log, by its name."""
    return path.name.lower().endswith(ENDINGS)
