"""Results of promptfoo: a ``results.json`` whose ``results`` have version 2 or later, or JSONL.

The JSONL form has the same results, one per line, without the name and the time of the run.

The provider's label becomes the respondent's label; several prompts count as several
configurations. A question is identified by the variables and assertions of a test, because
``--repeat`` gives each repeat a separate index. The scorers are ``success`` (all assertions
passed), ``score`` if it differs from ``success``, and each named metric. A failed call is a
missing answer, not a wrong answer. Model-graded assertions count as judges and are named by their
metric or type, such as ``llm-rubric``. The verdicts of judges are parts of ``success`` and are
returned only on request.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psychollm.data.readers.logs.run import Run, Sample, Score, as_score, digest, flatten
from psychollm.data.readers.logs.source import Source

_CALL_FAILED = 2  # failureReason: 0 none, 1 failed assertion, 2 failed call
_LABEL = 60
_JUDGES = re.compile(
    r"(not-)?(agent-rubric|answer-relevance|context-(faithfulness|recall|relevance)|factuality"
    r"|conversation-relevance|g-eval|llm-rubric|model-graded-.+|pi|search-rubric)"
)
_LINE = {"promptIdx", "testIdx", "success", "provider"}  # fields in every line of JSONL


def is_promptfoo(source: Source) -> bool:
    """Return whether a file contains results of promptfoo."""
    if source.shape == "lines":
        return source.first.keys() >= _LINE
    results = source.object.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list)


def read_promptfoo(source: Source) -> list[Run]:
    """Read all providers and prompts of one file."""
    found, about, created = _results(source)
    graded = any(_success(one) != as_score(one.get("score")) for one in found if not _error(one))
    runs: dict[tuple[str, str, str], list[Sample]] = {}
    for one in found:
        provider = one.get("provider") or {}
        stated = provider if isinstance(provider, Mapping) else {"id": provider}
        model = str(stated.get("label") or stated.get("id"))
        key = (model, str(stated.get("id")), _prompt(one))
        runs.setdefault(key, []).append(_sample(one, source, graded=graded))
    task = str(about.get("description") or "promptfoo")
    same = _same(found)
    return [
        Run(
            model=model,
            task=task,
            samples=tuple(samples),
            configuration=flatten({"provider": identity, "prompt": prompt}),
            created=created,
            identity=same and f"{same} {identity} {prompt}",
            judges=tuple(dict.fromkeys(name for one in samples for name in one.parts)),
        )
        for (model, identity, prompt), samples in runs.items()
    ]


def _results(source: Source) -> tuple[list[Mapping[str, Any]], Mapping[str, Any], str]:
    """Return the results, the configuration, and the time of the run."""
    if source.shape == "lines":
        return [line for _, line in source.lines()], {}, ""
    results = source.document["results"]
    about = source.document.get("config") or {}
    return results["results"], about, str(results.get("timestamp") or "")


def _same(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the identity of the run, to detect a run that the option ``-o`` wrote twice."""
    ids = sorted(str(one.get("id") or "") for one in found)
    return digest(ids) if all(ids) else ""


def _prompt(found: Mapping[str, Any]) -> str:
    stated = found.get("prompt") or {}
    return str(stated.get("label") or found.get("promptId") or found.get("promptIdx") or "")


def _success(found: Mapping[str, Any]) -> float | None:
    return as_score(found.get("success"))


def _error(found: Mapping[str, Any]) -> str:
    """Return the reason why a call failed; ``error`` may also report a failed assertion."""
    reply = found.get("response") or {}
    stated = reply.get("error") if isinstance(reply, Mapping) else None
    if found.get("failureReason") == _CALL_FAILED or stated:
        whole = str(stated or found.get("error") or "").strip()
        return whole.partition("\n")[0] or "failed call"  # omit the stack trace
    return ""


def _sample(found: Mapping[str, Any], source: Source, *, graded: bool) -> Sample:
    error = _error(found)
    test = found.get("testCase") or {}
    asked = found.get("vars") or test.get("vars") or {}
    scores: dict[str, Score] = {"success": _success(found)}
    if graded:
        scores["score"] = as_score(found.get("score"))
    named = found.get("namedScores") or {}
    scores |= {f"metric {name}": as_score(value) for name, value in named.items()}
    return Sample(
        question=_label(test.get("description"), asked),
        scores=dict.fromkeys(scores) if error else scores,
        error=error,
        content=digest(asked, test.get("assert")),
        about=source.about(_spent(found)),
        parts={} if error else _judged(found),
    )


def _spent(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return time, tokens and cost of a call."""
    taken, used = as_score(found.get("latencyMs")), found.get("tokenUsage") or {}
    stated = {
        "seconds": None if taken is None else taken / 1000.0,
        "tokens": used.get("total") if isinstance(used, Mapping) else None,
        "cost": found.get("cost"),
    }
    return {name: value for name, value in stated.items() if value is not None}


def _judged(found: Mapping[str, Any]) -> dict[str, Score]:
    """Return the scores of model-graded assertions; assertions with the same name are numbered."""
    parts: dict[str, Score] = {}
    for one in _components(found.get("gradingResult")):
        assertion = one.get("assertion") or {}
        kind = str(assertion.get("type"))
        if _JUDGES.fullmatch(kind):
            name = str(assertion.get("metric") or kind)
            again = sum(part == name or part.startswith(f"{name} #") for part in parts)
            parts[f"{name} #{again + 1}" if again else name] = as_score(one.get("score"))
    return parts


def _components(result: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the results of single assertions, including those in sets of assertions."""
    inner = result.get("componentResults") if isinstance(result, Mapping) else None
    for one in inner or []:
        if isinstance(one, Mapping):
            yield from _components(one)
            if one.get("assertion"):
                yield one


def _label(description: Any, asked: Mapping[str, Any]) -> str:
    """Return a name for a test: its description or its variables, shortened if long."""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in asked.values())
    whole = " ".join((str(description) if description else " | ".join(texts)).split())
    return whole if len(whole) <= _LABEL else f"{whole[: _LABEL - 9]}~{digest(whole)[:8]}"
