"""Runs of HELM: ``per_instance_stats.json`` with ``run_spec.json`` and ``scenario_state.json``.

The field ``instance_id`` identifies a question, but only within a scenario. The field
``train_trial_index`` is the number of the repeat. Every statistic of an instance, except counts
and times, becomes a scorer. The column ``filter`` of the result contains the perturbation of each
question. Each split of a run is a separate task. ``max_prob`` is the confidence, if the model
returned likelihoods.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from psychollm._base.errors import InputError
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest, flatten, without
from psychollm.data.readers.logs.source import Source, parse

SPEC, STATE = "run_spec.json", "scenario_state.json"
ORIGINAL = "original"
_BOOKKEEPING = re.compile(
    r"num_.*|inference_.*|training_.*|batch_size|finish_reason.*|prompt_truncated|logprob.*"
    r"|max_prob|estimated_.*|denoised_.*|predicted_index|observed_.*|perplexity|bits_per_byte"
)
_NO_CONFIGURATION = frozenset({
    "eval_splits", "max_eval_instances", "model", "model_deployment", "num_train_trials",
    "random",
})  # fmt: skip


def is_helm(source: Source) -> bool:
    """Return whether a file contains the per-instance statistics of a HELM run."""
    if source.shape != "document" or not isinstance(source.document, list):
        return False
    first = source.document[0] if source.document else None
    return isinstance(first, dict) and {"instance_id", "stats"} <= first.keys()


def read_helm(source: Source) -> list[Run]:
    """Read one run."""
    spec = _companion(source.path, SPEC)
    if spec is None:
        msg = f"{source.path}: {SPEC}, which names the model, is not in the same folder"
        raise InputError(msg)
    adapter = spec.get("adapter_spec") or {}
    asked = _asked(source.path)
    by_split: dict[str, list[Sample]] = {}
    for one in source.document:
        if not one.get("stats"):
            continue  # an entry without statistics contains no answer
        split, sample = _sample(one, asked)
        by_split.setdefault(split, []).append(sample)
    task = _task(str(spec.get("name") or source.path.parent.name))
    several = len(by_split) > 1
    return [
        Run(
            model=str(adapter.get("model") or adapter.get("model_deployment")),
            task=f"{task}:{split}" if several else task,
            samples=tuple(samples),
            configuration=without(flatten(adapter), _NO_CONFIGURATION),
        )
        for split, samples in by_split.items()
    ]


def _companion(path: Path, name: str) -> dict[str, Any] | None:
    companion = path.with_name(name)
    if not companion.is_file():
        return None
    found = parse(companion.read_bytes(), str(companion))
    return found if isinstance(found, dict) else None


def _task(name: str) -> str:
    """Return the name of a run without its model."""
    return re.sub(r"[,:]model(_deployment)?=[^,]*", "", name)


def _perturbation(found: Mapping[str, Any]) -> str:
    stated = found.get("perturbation") or {}
    return str(stated.get("name") or ORIGINAL) if isinstance(stated, Mapping) else str(stated)


class _Trial(NamedTuple):
    """Question, version and trial, which identify an entry of a run."""

    question: str
    version: str  # original or perturbation
    number: int


def _asked(path: Path) -> dict[_Trial, tuple[str, str]]:
    """Return the prompt's digest and the error for each question, version and trial."""
    state = _companion(path, STATE) or {}
    found = {}
    for one in state.get("request_states") or []:
        instance, result = one.get("instance") or {}, one.get("result") or {}
        trial = _Trial(str(instance.get("id")), _perturbation(instance), _number(one))
        text = digest((instance.get("input") or {}).get("text"), _answers(instance))
        failed = result.get("success") is False
        found[trial] = (text, str(result.get("error") or "failed request") if failed else "")
    return found


def _number(found: Mapping[str, Any]) -> int:
    return int(found.get("train_trial_index") or 0)


def _answers(instance: Mapping[str, Any]) -> list[Any]:
    return [(one.get("output") or {}).get("text") for one in instance.get("references") or []]


def _sample(
    found: Mapping[str, Any], asked: Mapping[_Trial, tuple[str, str]]
) -> tuple[str, Sample]:
    """Return the split of an instance and its scores."""
    stats: Sequence[Any] = found.get("stats") or []
    means = {one["name"]["name"]: as_score(one.get("mean")) for one in stats}
    split = next((str(one["name"].get("split") or "") for one in stats), "")
    trial = _Trial(str(found["instance_id"]), _perturbation(found), _number(found))
    content, error = asked.get(trial, ("", ""))
    scores = {
        name: None if error else mean
        for name, mean in means.items()
        if not _BOOKKEEPING.fullmatch(name)
    }
    # If the model returned no likelihoods, HELM writes a log-likelihood of 0 and a probability of
    # 1, which are ignored.
    confidence = means.get("max_prob") if means.get("logprob") != 0.0 else None
    return split, Sample(
        question=trial.question,
        scores=scores or {"": None},
        repeat=trial.number + 1,
        filter=trial.version,
        error=error,
        confidence={} if confidence is None or error else {"": confidence},
        content=content,
    )
