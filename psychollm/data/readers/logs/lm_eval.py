"""Samples of lm-evaluation-harness: ``samples_TASK_TIME.jsonl`` with ``results_TIME.json``.

Samples have one row per question and filter. The metrics are the scorers, and ``doc_hash``
identifies the question (``doc_id`` is only a position). Only the results file names the model;
without this file, the name of the folder is used. Rows of older versions do not name their filter,
so filters are called ``#1``, ``#2``, in the order of the rows. Filters aggregate repeated samples,
so a log contains no repeats.

For multiple choice, `confidence` is the probability that the model assigns to its chosen option,
relative to all options. The confidence is assigned to the metric ``acc``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any

from psychollm.data.readers.logs.run import (
    Run,
    Sample,
    as_score,
    differs,
    digest,
    flatten,
    without,
)
from psychollm.data.readers.logs.source import Source, parse

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-:.]+)\.jsonl")
_NO_METRICS = frozenset({
    "arguments", "doc", "doc_hash", "doc_id", "filter", "filtered_resps", "metrics",
    "prompt_hash", "resps", "target", "target_hash",
})  # fmt: skip
# Settings for hardware, speed and seeds do not distinguish respondents.
_NO_CONFIGURATION = frozenset({
    "base_url", "batch_size", "cache_dir", "data_parallel_size", "device", "device_map",
    "gpu_memory_utilization", "max_batch_size", "max_retries", "model", "num_concurrent",
    "parallelize", "pretrained", "seed", "tensor_parallel_size", "timeout",
    "tokenized_requests", "trust_remote_code", "verify_certificate",
})  # fmt: skip


def is_lm_eval(source: Source) -> bool:
    """Return whether a file contains samples of lm-evaluation-harness."""
    return source.shape == "lines" and {"doc_id", "resps"} <= source.first.keys()


def read_lm_eval(source: Source) -> list[Run]:
    """Read the samples of one task."""
    name = _NAME.fullmatch(source.path.name)
    task = name["task"] if name else source.path.stem.removeprefix("samples_")
    time = name["time"] if name else ""
    results, note = _results(source.path, time)
    model = _model(results) or source.path.parent.name.replace("__", "/")
    seen: Counter[Any] = Counter()
    samples = tuple(_sample(row, seen, source) for _, row in source.lines())
    return [
        Run(
            model=model,
            task=task,
            samples=samples,
            configuration=_configuration(results, task),
            created=time,
            # The harness writes every run to the same folder, so only the newest is used.
            identity=f"{source.path.parent}/{task}" if time else "",
            notes=(*note, *_deviations(results, task, samples)),
        )
    ]


# Only metrics that are means over samples can be compared with the samples.
_MEANS = frozenset({"acc", "acc_norm", "exact_match", "em", "f1", "contains", "mc1", "mc2"})


def _deviations(results: Mapping[str, Any], task: str, samples: Sequence[Sample]) -> Iterator[str]:
    """Report if the number or the mean of the samples differs from the results file."""
    asked = ((results.get("n-samples") or {}).get(task) or {}).get("effective")
    stated = (results.get("results") or {}).get(task) or {}
    for name in dict.fromkeys(one.filter for one in samples):
        own = [one for one in samples if one.filter == name]
        questions = {one.question for one in own}
        whose = f" of filter {name!r}" if name else ""
        if len(questions) < len(own):
            yield f"{len(own)} rows{whose} for {len(questions)} questions: repeats or copies"
        if isinstance(asked, int) and len(questions) != asked:
            yield f"results of {asked} questions, but the log holds {len(questions)}{whose}"
        for metric in _MEANS:
            value = as_score(stated.get(f"{metric},{name}"))
            if value is not None:
                yield from differs(metric, value, [one.scores.get(metric) for one in own])


def _results(path: Path, time: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    companion = path.with_name(f"results_{time}.json")
    if time and companion.is_file():
        found = parse(companion.read_bytes(), str(companion))
        if isinstance(found, dict):
            return found, ()
    name = path.parent.name.replace("__", "/")
    return {}, (f"no results file: the model is named {name!r}, after the folder",)


def _model(results: Mapping[str, Any]) -> str:
    stated = results.get("model_name") or results.get("model_name_sanitized") or ""
    return str(stated) or _arguments(results).get("pretrained", "")


def _arguments(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of the model, which are stored as text or as an object."""
    stated = (results.get("config") or {}).get("model_args") or {}
    if isinstance(stated, str):
        pairs = (pair.partition("=") for pair in stated.split(",") if pair)
        return {name.strip(): value for name, _, value in pairs}
    return flatten(stated)


def _configuration(results: Mapping[str, Any], task: str) -> dict[str, str]:
    config = results.get("config") or {}
    more = {
        "backend": config.get("model"),
        "weights": str(config.get("model_sha") or "")[:12],
        "gen_kwargs": config.get("gen_kwargs"),
        "num_fewshot": (results.get("n-shot") or {}).get(task),
        "system_instruction": results.get("system_instruction_sha"),
        "chat_template": results.get("chat_template_sha"),
        "fewshot_as_multiturn": results.get("fewshot_as_multiturn"),
    }
    return without(_arguments(results) | flatten(more), _NO_CONFIGURATION)


def _sample(row: Mapping[str, Any], seen: Counter[Any], source: Source) -> Sample:
    names = row.get("metrics") or [name for name in row if name not in _NO_METRICS]
    scores = {str(name): as_score(row.get(name)) for name in names}
    # A metric whose value is a pair or a text is not a score but an input to a statistic of the
    # task.
    kept = {
        name: score for name, score in scores.items() if score is not None or row.get(name) is None
    }
    confidence = _probability(row.get("filtered_resps")) if "acc" in kept else None
    return Sample(
        question=str(row["doc_id"]),
        scores=kept or {"": None},
        filter=_filter(row, seen),
        error="" if any(score is not None for score in kept.values()) else "not scored",
        confidence={} if confidence is None else {"acc": confidence},
        content=str(row.get("doc_hash") or digest(row.get("doc"), row.get("target"))),
        about=source.about(row.get("doc")),
    )


def _filter(row: Mapping[str, Any], seen: Counter[Any]) -> str:
    if "filter" in row:
        return str(row["filter"])
    seen[row["doc_id"]] += 1
    return f"#{seen[row['doc_id']]}"


def _probability(answers: Any) -> float | None:
    """Return the probability of the preferred option from the log-likelihoods of all options."""
    if not isinstance(answers, list) or len(answers) < 2:
        return None
    if not all(isinstance(one, list | tuple) and len(one) == 2 for one in answers):
        return None
    try:
        found = [float(one[0]) for one in answers]
    except (TypeError, ValueError, OverflowError):
        return None
    best = max(found)
    share = 1.0 / sum(exp(one - best) for one in found)
    return share if 0.0 < share <= 1.0 else None
