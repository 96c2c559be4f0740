"""Details of lighteval: ``details/ORG/MODEL/TIME/details_TASK_TIME.parquet``.

Columns ``doc``, ``metric`` and ``model_response`` (not the names that its documentation gives).
``doc.id`` is a position; what was asked tells questions apart. Scorers: the fields of ``metric``.
The settings of the model stand in ``results/ORG/MODEL/results_TIME.json``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psychollm.data.readers.logs.run import Run, Sample, as_score, digest, flatten, without
from psychollm.data.readers.logs.source import Source, parse

_NAME = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-:.]+)\.parquet")
_NEEDED = {"doc", "metric"}
_NO_CONFIGURATION = frozenset({
    "batch_size", "cache_dir", "data_parallel_size", "device", "gpu_memory_utilization",
    "max_num_seqs", "model_name", "model_parallel", "model_sha", "seed",
    "tensor_parallel_size",
})  # fmt: skip


def is_lighteval(source: Source) -> bool:
    """Tell whether a file holds details of lighteval."""
    if source.shape != "parquet":
        return False
    with source.parquet() as file:
        return set(file.schema_arrow.names) >= _NEEDED


def read_lighteval(source: Source) -> list[Run]:
    """Read the details of one task.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    name = _NAME.fullmatch(source.path.name)
    time = name["time"] if name else ""
    model, settings, note = _model(source.path, time)
    with source.parquet() as file:
        batches = file.iter_batches(columns=sorted(_NEEDED))
        rows = [row for batch in batches for row in batch.to_pylist()]
    # A file may be renamed, for its name holds a character that some systems do not allow.
    stated = (rows[0]["doc"] or {}).get("task_name") if rows else None
    task = str(stated or (name["task"] if name else source.path.stem))
    return [
        Run(
            format="lighteval",
            source=str(source.path),
            model=model,
            task=task,
            samples=tuple(_sample(row) for row in rows),
            configuration=without(flatten(settings), _NO_CONFIGURATION),
            created=time,
            identity=f"{source.path.parent.parent}/{task}" if time else "",
            notes=note,
        )
    ]


def _model(path: Path, time: str) -> tuple[str, Any, tuple[str, ...]]:
    """Return name and settings of the model from the results file, the name else from folders."""
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
    return name, {}, (f"no results file: the model is called {name!r}, after the folder",)


def _sample(row: Mapping[str, Any]) -> Sample:
    doc, metric = row["doc"] or {}, row["metric"] or {}
    scores = {name: as_score(value) for name, value in metric.items()}
    scored = any(score is not None for score in scores.values())
    return Sample(
        question=str(doc.get("id")),
        scores=scores or {"": None},
        error="" if scored else "not scored",
        content=digest(doc.get("query"), doc.get("choices"), doc.get("gold_index")),
    )
