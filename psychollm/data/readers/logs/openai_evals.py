"""Recordings of OpenAI evals: one JSONL file per run, with lines in no fixed order.

The line with ``spec`` names the model and the evaluation. ``match`` events contain
``data.correct``, ``metrics`` events contain numbers by name, and ``sampling`` events contain the
prompt. A sample with events but without a verdict is a missing answer.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.readers.logs.run import Run, Sample, Score, as_score, digest, flatten
from psychollm.data.readers.logs.source import Source

_LOOK_AT = 20  # number of lines inspected to detect the format
Events = list[Mapping[str, Any]]


def is_openai_evals(source: Source) -> bool:
    """Return whether a file contains a recording of OpenAI evals."""
    if source.shape != "lines" or not source.first.keys() & {"spec", "final_report", "event_id"}:
        return False
    found = islice(source.lines(), _LOOK_AT)
    return any("spec" in one or {"sample_id", "type", "data"} <= one.keys() for _, one in found)


def read_openai_evals(source: Source) -> list[Run]:
    """Read one recording."""
    spec: Mapping[str, Any] | None = None
    events: dict[str, Events] = {}
    for _, line in source.lines():
        if "spec" in line:
            spec = line["spec"]
        elif "sample_id" in line:
            events.setdefault(str(line["sample_id"]), []).append(line)
    if spec is None:
        msg = f"{source.path}: no line holds the specification of the run, which names the model"
        raise InputError(msg)
    config = spec.get("run_config") or {}
    samples = [one for name, found in events.items() for one in _samples(name, found)]
    return [
        Run(
            model=" + ".join(map(str, spec.get("completion_fns") or ["?"])),
            task=str(spec.get("eval_name") or spec.get("base_eval") or source.path.stem),
            samples=tuple(samples),
            configuration=flatten({"completion_args": config.get("completion_args")}),
            created=str(spec.get("created_at") or ""),
        )
    ]


def _samples(name: str, events: Events) -> list[Sample]:
    """Return a sample for each verdict; several verdicts of one kind are repeats."""
    asked = next((one["data"].get("prompt") for one in _of("sampling", events)), None)
    expected = next((one["data"].get("expected") for one in _of("match", events)), None)
    content = digest(asked, expected) if asked else ""
    verdicts: list[dict[str, Score]] = [
        {"match": as_score(one["data"].get("correct"))} for one in _of("match", events)
    ]
    for place, one in enumerate(_of("metrics", events)):
        numbers = {key: as_score(value) for key, value in one["data"].items()}
        found = {key: number for key, number in numbers.items() if number is not None}
        if place < len(verdicts):
            verdicts[place] |= found
        elif found:
            verdicts.append(dict(found))
    if not verdicts:
        why = next((str(one["data"]) for one in _of("error", events)), "no verdict")
        return [Sample(question=name, scores={"": None}, error=why, content=content)]
    return [Sample(question=name, scores=one, content=content) for one in verdicts]


def _of(kind: str, events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        one for one in events if one.get("type") == kind and isinstance(one.get("data"), Mapping)
    ]
