"""Detection of log formats by content, and readers of three formats.

The Holistic Agent Leaderboard writes ``RUN_UPLOAD.json``. The respondent is an agent that uses a
model. A run lists the successful and the failed tasks; tasks that are in neither list are missing.

EvalScope writes ``OUTPUTS/TIME/reviews/MODEL/DATASET_SUBSET.jsonl``, with one line per answer.
Repeats of a question share a ``group_id`` and differ in ``generation_index``, which starts at 0;
old files lack both fields. A failed score has a status other than "success".

OpenCompass writes ``WORK_DIR/TIME/results/MODEL/DATASET.json``. OpenCompass records answers only
with the option ``--dump-eval-details``. The field ``details`` contains the answers by position or
as a list, and each answer has a field ``correct``. Questions are identified by their recorded
content, not by position.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm._base.convert import WORKBOOKS, conversion
from psychollm._base.errors import InputError
from psychollm.data.readers.logs.deepeval import is_deepeval, read_deepeval
from psychollm.data.readers.logs.every_eval_ever import (
    is_every_eval_ever,
    read_every_eval_ever,
)
from psychollm.data.readers.logs.helm import is_helm, read_helm
from psychollm.data.readers.logs.inspect_log import is_inspect, read_inspect
from psychollm.data.readers.logs.lighteval import is_lighteval, read_lighteval
from psychollm.data.readers.logs.lm_eval import is_lm_eval, read_lm_eval
from psychollm.data.readers.logs.openai_evals import is_openai_evals, read_openai_evals
from psychollm.data.readers.logs.promptfoo import is_promptfoo, read_promptfoo
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest, flatten, without
from psychollm.data.readers.logs.source import Reading, Source
from psychollm.data.readers.logs.table_log import (
    is_table,
    may_be_table,
    read_table_log,
    unknown_table,
)


def is_opencompass(source: Source) -> bool:
    """Return whether a file contains results of OpenCompass."""
    if not (whole := source.object):
        return False
    details = whole.get("details")
    if isinstance(details, dict):
        return "type" in details or all(place.isdigit() for place in details)
    if isinstance(details, list):
        return bool(details) and all(isinstance(one, dict) for one in details)
    # Recognise a file without metadata by its path, so that an error can name the missing option.
    numbers = all(isinstance(value, int | float) for value in whole.values())
    return source.path.parent.parent.name == "results" and numbers


def read_opencompass(source: Source) -> list[Run]:
    """Read the results of one model on one dataset."""
    details = list(_details(source.document.get("details") or {}))
    if not any("correct" in one for _, one in details):
        msg = (
            f"{source.path} does not say which answers are correct: run OpenCompass with "
            "--dump-eval-details, and with an evaluator that judges answers one by one"
        )
        raise InputError(msg)
    samples = [sample for place, one in details for sample in _samples(place, one)]
    return [
        Run(
            model=source.path.parent.name,
            task=source.path.stem,
            samples=tuple(samples),
            created=source.path.parts[-4] if len(source.path.parts) > 3 else "",
        )
    ]


def _details(found: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield position and details of each answer, without the additional key ``type``."""
    pairs = enumerate(found) if isinstance(found, list) else found.items()
    for place, one in pairs:
        if isinstance(one, Mapping):
            yield str(place), one


def _samples(place: str, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield one sample per answer, or one per repeat if the answer has several repeats."""
    correct = found.get("correct")
    verdicts = correct if isinstance(correct, list) else [correct]
    asked = found.get("prompt") or found.get("origin_prompt")
    content = digest(asked, found.get("references") or found.get("gold")) if asked else ""
    for verdict in verdicts:
        score = as_score(verdict)
        yield Sample(
            question=place,
            scores={"correct": score},
            error="" if score is not None else "not judged",
            content=content,
        )


def is_evalscope(source: Source) -> bool:
    """Return whether a file contains reviews of EvalScope."""
    return source.shape == "lines" and {"index", "sample_score"} <= source.first.keys()


def read_evalscope(source: Source) -> list[Run]:
    """Read the reviews of one model on one subset."""
    parts = source.path.parts
    return [
        Run(
            model=source.path.parent.name,
            task=source.path.stem,
            samples=tuple(_sample(line) for _, line in source.lines()),
            created=parts[-4] if len(parts) > 3 else "",
        )
    ]


def _sample(line: Mapping[str, Any]) -> Sample:
    review = line["sample_score"]
    score, group, place = review["score"], review.get("group_id"), review.get("generation_index")
    values = {str(name): as_score(value) for name, value in score["value"].items()}
    status = str(score.get("status") or "success")
    return Sample(
        question=str(line["index"] if group is None else group),
        scores=values or {"": None},
        repeat=None if place is None else int(place) + 1,
        error="" if values and status == "success" else status,
        content=digest(_asked(line), line.get("target")),
    )


def _asked(line: Mapping[str, Any]) -> list[Any]:
    """Return the turns of the conversation before the model's first turn."""
    asked: list[Any] = [line["input"]] if line.get("input") else []
    for turn in line.get("messages") or ():
        if turn["role"] == "assistant":
            break
        asked.append([turn["role"], turn["content"]])
    return asked


def is_hal(source: Source) -> bool:
    """Return whether a file is an upload of the Holistic Agent Leaderboard."""
    results = source.object.get("results")
    return isinstance(results, dict) and {"successful_tasks", "failed_tasks"} <= results.keys()


def read_hal(source: Source) -> list[Run]:
    """Read one run."""
    config, results = source.document.get("config") or {}, source.document["results"]
    settings = flatten(config.get("agent_args"))
    verdicts = dict.fromkeys(map(str, results["successful_tasks"] or ()), 1.0)
    verdicts |= dict.fromkeys(map(str, results["failed_tasks"] or ()), 0.0)
    return [
        Run(
            model=str(config.get("agent_name") or settings.get("model_name")),
            task=str(config.get("benchmark_name") or "hal"),
            samples=tuple(
                Sample(question=name, scores={"success": score})
                for name, score in verdicts.items()
            ),
            configuration=without(settings, ()),
            created=str(config.get("date") or ""),
        )
    ]


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
ENDINGS = (
    ".eval",
    ".json",
    ".jsonl",
    ".jsonl.gz",
    ".parquet",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".tsv.gz",
)


@dataclass(frozen=True, slots=True)
class LogReader:
    """The functions that detect and read one log format."""

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
    """Return the format of a log, detected from its content; None if the format is unknown."""
    return _format_of(Source(path))


def _format_of(source: Source) -> str | None:
    for name, one in READERS.items():
        with _laid_out(source.path, name):
            if one.knows(source):
                return name
    return None


@contextmanager
def _laid_out(path: Path, name: str) -> Iterator[None]:
    """If reading fails, raise an error that names the file and its expected format."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise InputError(msg) from error
    except _FOREIGN as error:
        # Readers assume the types of fields that the tool writes. Fields of other types cause
        # these errors.
        fault = f"field {error}" if isinstance(error, KeyError) else str(error)
        msg = f"{path} deviates from the log format of {name} ({fault}): which version wrote it?"
        raise InputError(msg) from error


def read_runs(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    reading: Reading | None = None,
    named: bool = True,
) -> list[Run]:
    """Read one log."""
    # An unknown file raises an error only if the caller named it. Unknown files in a folder are
    # skipped.
    if format is not None:
        check_choice("format", format, LogFormat)
    if named and path.suffix.lower() in WORKBOOKS:
        msg = f"{path} is a workbook, which cannot be read: {conversion(path)}"
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
        return f"{source.path} is neither a known log nor a table: {unknown_table(source)}"
    return (
        f"{source.path} is not a known log; it may accompany the log that holds the answers: "
        "pass that log, or the folder"
    )


def readable(path: Path) -> bool:
    """Return whether a file in a folder may be a log, according to its name."""
    return path.name.lower().endswith(ENDINGS)
