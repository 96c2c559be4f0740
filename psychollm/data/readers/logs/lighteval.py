"""Details of lighteval: ``details/ORG/MODEL/TIME/details_TASK_TIME.parquet``.

The columns are ``doc``, ``metric`` and ``model_response`` (lighteval's documentation uses other
names). ``doc.id`` is only a position, so questions are identified by their content. The scorers
are the fields of ``metric``. The settings of the model are in
``results/ORG/MODEL/results_TIME.json``.

Before version 0.11, rows were flat: ``example``, ``choices``, ``gold``, ``gold_index`` and
``metrics``, without an id. Some versions before 0.11 wrote every field as the text of a Python
literal; others did so only if the fields of a task did not fit one schema. The text of a literal
is parsed but never executed. JSON lines pushed to the Hugging Face Hub have the same rows.
"""

import re
from ast import literal_eval
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psychollm.data.readers.logs.run import Run, Sample, as_score, digest, flatten, without
from psychollm.data.readers.logs.source import Source, parse

_NAME = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-:.]+)\.parquet")
_NEEDED = {"doc", "metric"}
_FLAT = {"example", "gold_index", "metrics"}
_CONTENT = {"example", "choices", "gold", "gold_index", "instruction"}
_LONGEST = 1 << 20  # longest text that is parsed, in characters
_NUMPY = re.compile(r"\bnp\.(?:float|int|bool)\w*\(([^()]*)\)")  # a number printed by NumPy 2
_NAN = re.compile(r"\b(?:nan|inf)\b(?=\s*[,}\]])")
_NO_CONFIGURATION = frozenset({
    "batch_size", "cache_dir", "data_parallel_size", "device", "gpu_memory_utilization",
    "max_num_seqs", "model_name", "model_parallel", "model_sha", "seed",
    "tensor_parallel_size",
})  # fmt: skip


def is_lighteval(source: Source) -> bool:
    """Return whether a file contains details of lighteval."""
    if source.shape == "lines":
        return source.first.keys() >= _FLAT
    if source.shape != "parquet":
        return False
    with source.parquet() as file:
        names = set(file.schema_arrow.names)
    return names >= _NEEDED or names >= _FLAT


def read_lighteval(source: Source) -> list[Run]:
    """Read the details of one task."""
    name = _NAME.fullmatch(source.path.name)
    time = name["time"] if name else ""
    model, settings, note = _model(source.path, time)
    rows = _rows(source)
    # Prefer the recorded name, because file names may not contain all characters of task names.
    stated = (rows[0].get("doc") or {}).get("task_name") if rows else None
    task = str(stated or (name["task"] if name else source.path.stem))
    return [
        Run(
            model=model,
            task=task,
            samples=tuple(
                _sample(row) if "metric" in row else _flat_sample(row, place)
                for place, row in enumerate(rows)
            ),
            configuration=without(flatten(settings), _NO_CONFIGURATION),
            created=time,
            identity=f"{source.path.parent.parent}/{task}" if time else "",
            notes=note,
        )
    ]


def _rows(source: Source) -> list[Mapping[str, Any]]:
    """Return the rows of a file; columns of replies are omitted from Parquet files."""
    if source.shape == "lines":
        return [row for _, row in source.lines()]
    with source.parquet() as file:
        names = set(file.schema_arrow.names)
        wanted = _NEEDED if names >= _NEEDED else names & (_CONTENT | _FLAT)
        batches = file.iter_batches(columns=sorted(wanted))
        return [row for batch in batches for row in batch.to_pylist()]


def _model(path: Path, time: str) -> tuple[str, Any, tuple[str, ...]]:
    """Return the model's name and settings from the results file, or its name from a folder."""
    parts = path.parts
    below = parts[parts.index("details") + 1 : -2] if "details" in parts[:-2] else parts[-3:-2]
    if "details" in parts[:-2]:
        root = Path(*parts[: parts.index("details")])
        results = root.joinpath("results", *below, f"results_{time}.json")
        if results.is_file():
            found = parse(results.read_bytes(), str(results)).get("config_general") or {}
            name = str(found.get("model_name") or "/".join(below))
            return name, found.get("model_config"), ()
    name = "/".join(below) or path.stem
    return name, {}, (f"no results file: the model is named {name!r}, after the folder",)


def _sample(row: Mapping[str, Any]) -> Sample:
    doc = row["doc"] or {}
    content = digest(doc.get("query"), doc.get("choices"), doc.get("gold_index"))
    return _scored(str(doc.get("id")), row["metric"], content)


def _flat_sample(row: Mapping[str, Any], place: int) -> Sample:
    """Return the sample in a row of an old log; the fields of the row may be text."""
    found = {name: _taken_apart(row.get(name)) for name in _CONTENT - {"example", "instruction"}}
    content = digest(row.get("instruction"), row.get("example"), *found.values())
    return _scored(str(place), _taken_apart(row["metrics"]), content)


def _scored(question: str, metric: Any, content: str) -> Sample:
    found = metric if isinstance(metric, Mapping) else {}
    scores = {name: as_score(value) for name, value in found.items()}
    scored = any(score is not None for score in scores.values())
    return Sample(
        question=question,
        scores=scores or {"": None},
        error="" if scored else "not scored",
        content=content,
    )


def _taken_apart(value: Any) -> Any:
    """Return the list, mapping or number that a text represents, otherwise the text."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return value
    try:
        return literal_eval(_NAN.sub("None", _NUMPY.sub(r"\1", value)))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
