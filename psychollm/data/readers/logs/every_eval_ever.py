"""Instance-level records of Every Eval Ever: ``UUID_samples.jsonl``.

One record per question and metric; the metric is told by ``evaluation_result_id``, named by the
aggregate file ``UUID.json`` where that lies beside the samples. Repeats have no field of their
own: records of one question and metric are numbered as they come. Records that psychollm wrote
name the respondent and the item in their metadata.

References
----------
EvalEval Coalition. Every Eval Ever, schema 0.3.0.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Source, parse

_NEEDED = {"model_id", "evaluation_name", "sample_id", "evaluation"}


def is_every_eval_ever(source: Source) -> bool:
    """Tell whether a file holds instance-level records of Every Eval Ever."""
    return source.shape == "lines" and source.first.keys() >= _NEEDED


def read_every_eval_ever(source: Source) -> list[Run]:
    """Read the records of one file, which may hold several evaluations.

    Raises
    ------
    InputError
        If a line is damaged, or lacks a field that the schema asks for.
    """
    names = _metric_names(source.path)
    samples: dict[tuple[str, str], list[Sample]] = {}
    for line, record in source.lines():
        if not record.keys() >= _NEEDED:
            lacking = ", ".join(sorted(_NEEDED - record.keys()))
            msg = f"{source.path}, line {line}: the record has no {lacking}"
            raise InputError(msg)
        about = record.get("metadata") or {}
        model = str(about.get("respondent") or record["model_id"])
        place = samples.setdefault((model, str(record["evaluation_name"])), [])
        place.append(_sample(record, about, names))
    return [
        Run(
            format="every-eval-ever",
            source=str(source.path),
            model=model,
            task=task,
            samples=tuple(found),
        )
        for (model, task), found in samples.items()
    ]


def _metric_names(path: Path) -> dict[str, str]:
    """Return the names of the metrics by the ids that records refer to."""
    aggregate = path.with_name(path.name.replace("_samples.jsonl", ".json"))
    if aggregate == path or not aggregate.is_file():
        return {}
    found = parse(aggregate.read_bytes(), str(aggregate))
    results = found.get("evaluation_results") if isinstance(found, dict) else None
    names = {}
    for one in results or []:
        metric = one.get("metric_config") or {}
        name = metric.get("metric_name") or metric.get("metric_id") or one.get("evaluation_name")
        if one.get("evaluation_result_id") and name:
            names[str(one["evaluation_result_id"])] = str(name)
    return names


def _sample(
    record: Mapping[str, Any], about: Mapping[str, Any], names: Mapping[str, str]
) -> Sample:
    verdict = record["evaluation"] or {}
    score = as_score(verdict.get("score"))
    if score is None:
        score = as_score(verdict.get("is_correct"))
    metric = str(record.get("evaluation_result_id") or "")
    error = "" if score is not None else str(record.get("error") or "not scored")
    asked = record.get("input") or {}
    return Sample(
        question=str(about.get("item") or record["sample_id"]),
        scores={names.get(metric, metric): score},
        error=error,
        content=digest(asked.get("raw"), asked.get("choices"), asked.get("reference"))
        or str(record.get("sample_hash") or ""),
    )
