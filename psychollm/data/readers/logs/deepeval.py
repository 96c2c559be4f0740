"""Test runs of deepeval: ``test_run_TIME.json``.

The model's name can only be found in the recorded hyperparameters. A question is labelled by the
name of the test case, made unique by its input and expected output. The metrics are the scorers;
the additional scorer ``METRIC.success`` of a graded metric applies the metric's own threshold. A
metric that a model evaluates counts as a judge.
"""

import re
from collections.abc import Mapping
from typing import Any

from psychollm.data.readers.logs.run import (
    Run,
    Sample,
    Score,
    as_score,
    digest,
    flatten,
    without,
)
from psychollm.data.readers.logs.source import Source

_JUDGED = re.compile(r"[\[(](Conversational)?(GEval|DAG)[\])]$")  # names of judges


def is_deepeval(source: Source) -> bool:
    """Return whether a file contains a test run of deepeval."""
    return isinstance(source.object.get("testCases"), list)


def read_deepeval(source: Source) -> list[Run]:
    """Read one test run."""
    log = source.document
    settings = flatten(log.get("hyperparameters"))
    named = settings.get("model") or str(log.get("identifier") or "")
    notes = [] if named else [f"no model is named: the file name {source.path.stem!r} is used"]
    if log.get("conversationalTestCases"):
        notes.append(f"{len(log['conversationalTestCases'])} conversations were skipped")
    cases = log["testCases"]
    graded = {
        str(one.get("name"))
        for case in cases
        for one in case.get("metricsData") or []
        if as_score(one.get("score")) not in {0.0, 1.0, None}
    }
    judges = {
        str(one.get("name")): None
        for case in cases
        for one in case.get("metricsData") or []
        if one.get("evaluationModel") or _JUDGED.search(str(one.get("name")))
    }
    return [
        Run(
            model=named or source.path.stem,
            task=str(log.get("datasetAlias") or "deepeval"),
            samples=tuple(_sample(case, graded, source) for case in cases),
            configuration=without(settings, {"model"}),
            judges=tuple(judges),
            notes=tuple(notes),
        )
    ]


def _sample(case: Mapping[str, Any], graded: set[str], source: Source) -> Sample:
    scores: dict[str, Score] = {}
    errors = []
    for one in case.get("metricsData") or []:
        name, failed = str(one.get("name")), one.get("error")
        if failed:
            errors.append(str(failed))
        scores[name] = None if failed else as_score(one.get("score"))
        if name in graded:
            scores[f"{name}.success"] = None if failed else as_score(one.get("success"))
    if not scores:
        errors.append("no metric was computed")
    asked = case.get("input")
    return Sample(
        question=str(case.get("name") or asked),
        scores=scores or {"": None},
        error="; ".join(errors),
        content=digest(asked, case.get("expectedOutput")),
        about=source.about({"seconds": case.get("completionTime"), "cost": case.get("tokenCost")}),
    )
