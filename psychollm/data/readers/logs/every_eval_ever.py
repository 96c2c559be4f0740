"""Instance-level records of Every Eval Ever: ``UUID_samples.jsonl``.

The file has one record per question and metric. The metric is identified by
``evaluation_result_id`` and named in the aggregate file ``UUID.json``, if the aggregate file is in
the same folder. The ids of metrics differ between models, so a single id without a name is not
used as a scorer. The format has no field for repeats, so records of one question and metric are
numbered in order. The metadata of records written by psychollm contain the names of the respondent
and the item; the scorer of these records is "grade".

References
----------
EvalEval Coalition. Every Eval Ever, schema 0.3.0.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Source, parse

_KEPT = ("evaluation", "evaluation_result_id", "error", "input", "metadata", "sample_id",
         "sample_hash")  # fmt: skip
_OWN = "/grade"  # suffix of ids in records written by psychollm
_NEEDED = {"model_id", "evaluation_name", "sample_id", "evaluation"}


def is_every_eval_ever(source: Source) -> bool:
    """Return whether a file contains instance-level records of Every Eval Ever."""
    return source.shape == "lines" and source.first.keys() >= _NEEDED


def read_every_eval_ever(source: Source) -> list[Run]:
    """Read the records of one file, which may contain several evaluations."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line, record in source.lines():
        if not record.keys() >= _NEEDED:
            lacking = ", ".join(sorted(_NEEDED - record.keys()))
            msg = f"{source.path}, line {line}: the record has no {lacking}"
            raise InputError(msg)
        model = str(_about(record).get("respondent") or record["model_id"])
        # Keep only the fields that are used later, because replies may be long.
        kept = {name: record.get(name) for name in _KEPT}
        found.setdefault((model, str(record["evaluation_name"])), []).append(kept)
    names = _metric_names(source.path)
    return [
        Run(
            model=model,
            task=task,
            samples=_samples(records, names),
        )
        for (model, task), records in found.items()
    ]


def _about(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record.get("metadata") or {}


def _metric_names(path: Path) -> dict[str, str]:
    """Map the ids of metrics in the records to their names."""
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


def _samples(records: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> tuple[Sample, ...]:
    """Return the samples of one model and evaluation."""
    ids = {str(one.get("evaluation_result_id") or "") for one in records}
    scorers = {one: "grade" if one.endswith(_OWN) else names.get(one, one) for one in ids}
    if len(ids) == 1 and set(scorers.values()) == ids:
        scorers = dict.fromkeys(ids, "")
    return tuple(_sample(one, scorers) for one in records)


def _sample(record: Mapping[str, Any], scorers: Mapping[str, str]) -> Sample:
    verdict = record["evaluation"] or {}
    score = as_score(verdict.get("score"))
    if score is None:
        score = as_score(verdict.get("is_correct"))
    asked = record.get("input") or {}
    return Sample(
        question=str(_about(record).get("item") or record["sample_id"]),
        scores={scorers[str(record.get("evaluation_result_id") or "")]: score},
        error="" if score is not None else str(record.get("error") or "not scored"),
        content=digest(asked.get("raw"), asked.get("choices"), asked.get("reference"))
        or str(record.get("sample_hash") or ""),
    )
