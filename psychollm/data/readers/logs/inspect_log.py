"""Logs of Inspect AI: ``.eval`` archives and ``.json`` files.

An archive contains ``header.json`` (the run), ``samples/*.json`` (one answer each) and a journal;
an unfinished log has only the journal. A ``.json`` file contains the same data in one object. The
field ``eval.model`` names the model, and ``eval.task`` the task. The field ``sample.id``, a number
or a text that is unique within a data set, identifies the question. The field ``sample.epoch`` is
the number of the repeat. Version 1 of the format, used until mid-2024, has one score,
``sample.score``, whose scorer is named in ``results.scorer``.

A scorer is a judge if its scores contain the conversation with a grader model.

A score is ``"C"`` (1), ``"P"`` (0.5), ``"I"`` (0), ``"N"`` (no answer), a number, a truth value,
or a mapping from names to such values. Inspect counts ``"N"`` as 0, but the caller may count it as
missing. Each name in a mapping is a separate scorer, ``scorer.name``. A failed sample has no
score, even if Inspect was configured to score it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.readers.csv_file import MISSING_WORDS
from psychollm.data.readers.logs.archive import Archive
from psychollm.data.readers.logs.run import (
    INVALIDATED,
    NO_ANSWER,
    Run,
    Sample,
    Score,
    Word,
    as_score,
    differs,
    digest,
    flatten,
    without,
)
from psychollm.data.readers.logs.source import Source, parse

MAX_SCORERS, MAX_SCORES = 100, 5_000_000  # limits per run; each sample stores all scorers
HEADER, JOURNAL = "header.json", "_journal/start.json"
_GRADES: dict[str, Score] = {
    "c": 1.0,
    "p": 0.5,
    "i": 0.0,
    "n": NO_ANSWER,
    "yes": 1.0,
    "no": 0.0,
    "true": 1.0,
    "false": 0.0,
}
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# Runs that differ only in transport settings or seeds are repeats of one respondent.
_NO_CONFIGURATION = frozenset({
    "adaptive_connections", "attempt_timeout", "batch", "cache", "custom_outputs",
    "max_connections", "max_retries", "seed", "timeout",
})  # fmt: skip


def is_inspect(source: Source) -> bool:
    """Return whether a file is a log of Inspect AI."""
    if source.shape == "archive":
        with source.archive() as archive:
            return HEADER in archive.names or JOURNAL in archive.names
    run = source.object.get("eval")
    return isinstance(run, dict) and "task_id" in run and "model" in run


def read_inspect(source: Source) -> list[Run]:
    """Read one log."""
    if source.shape != "archive":
        log = source.document
        return [_run(source, log, log.get("samples") or [])]
    with source.archive() as archive:
        name = HEADER if HEADER in archive.names else JOURNAL
        if name not in archive.names:
            msg = f"{source.path} holds neither {HEADER} nor {JOURNAL}: not an Inspect AI log"
            raise InputError(msg)
        log = _member(source, archive, name)
        names = [one for one in archive.names if re.fullmatch(r"samples/.*\.json", one)]
        # Read samples one at a time, because their unused parts may be large.
        members = (_member(source, archive, one) for one in names)
        return [_run(source, log, members)]


def _member(source: Source, archive: Archive, name: str) -> dict[str, Any]:
    where = f"{source.path}, member {name!r}"
    found = parse(archive.read(name), where)
    if not isinstance(found, dict):
        msg = f"{where} does not hold a JSON object"
        raise InputError(msg)
    return found


def _run(source: Source, log: Mapping[str, Any], found: Iterable[Any]) -> Run:
    samples: list[Sample] = []
    judges: dict[str, None] = {}
    for one in found:
        samples.append(_sample(one, log, source))
        judges |= dict.fromkeys(_judges(one, log))
    scorers = list(dict.fromkeys(name for one in samples for name in one.scores))
    if len(scorers) * len(samples) > MAX_SCORES and len(scorers) > MAX_SCORERS:
        msg = f"{source.path} is refused: {len(scorers):,} scorers are implausible"
        raise InputError(msg)
    about = log.get("eval") or {}
    if not about.get("model"):
        msg = f"{source.path} names no model: is it damaged?"
        raise InputError(msg)
    samples.sort(key=lambda one: one.repeat or 0)
    none: dict[str, Score] = dict.fromkeys(scorers or [""])
    return Run(
        model=str(about.get("model")),
        task=str(about.get("task")),
        samples=tuple(replace(one, scores={**none, **one.scores}) for one in samples),
        configuration=_configuration(log, about),
        created=str(about.get("created", "")),
        identity=str(about.get("task_id", "")),
        invalid=INVALIDATED if log.get("invalidated") else "",
        judges=tuple(judges),
        notes=tuple(_notes(log, about, samples)),
    )


def _notes(
    log: Mapping[str, Any], about: Mapping[str, Any], samples: Sequence[Sample]
) -> Iterator[str]:
    status, results = log.get("status", "started"), _fields(log.get("results"))
    config, asked = about.get("config") or {}, results.get("total_samples")
    part = config.get("limit") or config.get("sample_id")  # the run used a part of the data set
    if not isinstance(asked, int) and not part:
        asked, epochs = (about.get("dataset") or {}).get("samples"), config.get("epochs") or 1
        asked = asked * epochs if isinstance(asked, int) and isinstance(epochs, int) else None
    n = len({(one.question, one.repeat) for one in samples})
    if status != "success":
        of = f" of {asked}" if isinstance(asked, int) else ""
        yield f"the run did not finish (status {status!r}): it has {n}{of} samples"
    elif isinstance(asked, int) and asked != n:
        yield f"the run reports {asked} samples, but the log holds {n}"
    elif n:
        yield from _deviations(results, samples)


def _fields(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _deviations(results: Mapping[str, Any], samples: Sequence[Sample]) -> Iterator[str]:
    """Report differences between the accuracy that a log states and the mean of its samples."""
    scores = results.get("scores")
    for one in map(_fields, scores if isinstance(scores, list) else []):
        name, reducer = str(one.get("name")), one.get("reducer") or "mean"
        metrics = _fields(one.get("metrics"))
        stated = [as_score(_fields(metrics.get(key)).get("value")) for key in ("accuracy", "mean")]
        value = next((each for each in stated if each is not None), None)
        given = [sample.scores[name] for sample in samples if name in sample.scores]
        if value is None or reducer != "mean" or any(isinstance(each, Word) for each in given):
            continue
        yield from differs(name, value, [0.0 if each == NO_ANSWER else each for each in given])


def _configuration(log: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that may make runs of one model different respondents."""
    steps = (log.get("plan") or {}).get("steps") or []
    # Older logs lack ``params_passed``, but their ``params`` contains only passed parameters.
    solver = [
        {one.get("solver"): one.get("params_passed", one.get("params")) or {}} for one in steps
    ]
    return without(
        flatten(about.get("model_generate_config"))
        | flatten(about.get("model_args"))
        | flatten(about.get("model_roles"), "role")
        | flatten(about.get("task_args_passed") or about.get("task_args"), "task")
        | flatten({"solver": solver or about.get("solver")}),
        _NO_CONFIGURATION,
    )


def _sample(found: Mapping[str, Any], log: Mapping[str, Any], source: Source) -> Sample:
    error = _error(found)
    scores: dict[str, Score] = {}
    confidence: dict[str, float] = {}
    for name, one in _scores(found, log).items():
        parts = parts_of(name, one.get("value"))
        scores |= {part: None if error else grade_of(value) for part, value in parts.items()}
        stated = as_score((one.get("metadata") or {}).get("confidence"))
        if stated is not None and not error:
            confidence |= dict.fromkeys(parts, stated)
    if not scores and not error:
        error = f"limit: {found['limit'].get('type')}" if found.get("limit") else "not scored"
    epoch = found.get("epoch")
    return Sample(
        question=str(found.get("id")),
        scores=scores,
        repeat=epoch if isinstance(epoch, int) else None,
        error=error,
        confidence=confidence,
        content=digest(_asked(found.get("input")), found.get("choices"), found.get("target")),
        about=source.about({**_spent(found), **_fields(found.get("metadata"))}),
    )


def _spent(found: Mapping[str, Any]) -> dict[str, float]:
    """Return the recorded time, tokens and cost of a sample."""
    used = [_fields(one) for one in _fields(found.get("model_usage")).values()]
    totals = {
        "seconds": [found.get("total_time")],
        "tokens": [one.get("total_tokens") for one in used],
        "cost": [one.get("total_cost") for one in used],
    }
    known = {name: [as_score(one) for one in values] for name, values in totals.items()}
    return {
        name: sum(one for one in values if one is not None)
        for name, values in known.items()
        if values and None not in values
    }


def _scores(found: Mapping[str, Any], log: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scores of a sample by scorer; in version 1, the run names the only scorer."""
    if (one := found.get("score")) and not found.get("scores"):
        stated = (log.get("results") or {}).get("scorer") or {}
        return {str(stated.get("name") or "score"): one}
    return found.get("scores") or {}


def _judges(found: Mapping[str, Any], log: Mapping[str, Any]) -> Iterator[str]:
    """Yield scorers that are models, recognised by their metadata or by Inspect's names."""
    for name, one in _scores(found, log).items():
        if "grading" in _fields(one.get("metadata")) or name.startswith("model_graded_"):
            yield from parts_of(name, one.get("value"))


def _error(found: Mapping[str, Any]) -> str:
    if found.get("invalidation"):
        return INVALIDATED
    error = found.get("error")
    if not error:
        return ""
    return str(error.get("message") if isinstance(error, Mapping) else error) or "error"


def _asked(asked: Any) -> Any:
    """Return the input without parts that differ between runs, such as message ids."""
    if not isinstance(asked, list):
        return asked
    return [[one.get("role"), one.get("content")] for one in asked if isinstance(one, Mapping)]


def parts_of(name: str, value: Any) -> dict[str, Any]:
    """Map each scorer to its value; a score with several values becomes several scorers."""
    if isinstance(value, Mapping):
        return {f"{name}.{part}": one for part, one in value.items()}
    if isinstance(value, list):
        return {f"{name}.{place}": one for place, one in enumerate(value)}
    return {name: value}


def grade_of(value: Any) -> Score:
    """Convert a value in an Inspect log to a score."""
    if not isinstance(value, str):
        return as_score(value)
    word = value.strip().lower()
    if word in _GRADES:
        return _GRADES[word]
    if _NUMBER.fullmatch(word):
        return as_score(float(word))
    return None if word in MISSING_WORDS else Word(value)
