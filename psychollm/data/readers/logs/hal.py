"""Uploads of the Holistic Agent Leaderboard: ``RUN_UPLOAD.json``.

The respondent is an agent with a model. A run lists the tasks that succeeded and those that
failed; one that is in neither list is not there at all.
"""

from psychollm.data.readers.logs.run import Run, Sample, flatten, without
from psychollm.data.readers.logs.source import Source


def is_hal(source: Source) -> bool:
    """Tell whether a file is an upload of the Holistic Agent Leaderboard."""
    results = source.object.get("results")
    return isinstance(results, dict) and {"successful_tasks", "failed_tasks"} <= results.keys()


def read_hal(source: Source) -> list[Run]:
    """Read one run."""
    config, results = source.document.get("config") or {}, source.document["results"]
    settings = flatten(config.get("agent_args"))
    verdicts = dict.fromkeys(map(str, results["successful_tasks"] or ()), 1.0)
    verdicts |= dict.fromkeys(map(str, results["failed_tasks"] or ()), 0.0)
    return [
        Run(
            model=str(config.get("agent_name") or settings.get("model_name")),
            task=str(config.get("benchmark_name") or "hal"),
            samples=tuple(
                Sample(question=name, scores={"success": score})
                for name, score in verdicts.items()
            ),
            configuration=without(settings, ()),
            created=str(config.get("date") or ""),
        )
    ]
