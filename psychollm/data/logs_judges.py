"""Scorers that record the verdicts of judge models in logs."""

from collections.abc import Iterable

from psychollm.data.logs_runs import Paths, Unreadable, all_runs, valid
from psychollm.data.readers.logs.detect import LogFormat
from psychollm.data.readers.logs.source import Reading


def judges_in(
    paths: Paths,
    *,
    format: LogFormat | None = None,  # noqa: A002
    task: str | Iterable[str] | None = None,
    unreadable: Unreadable = "skip",
) -> tuple[str, ...]:
    """Return the scorers that record the verdicts of a judge model in logs.

    Judges are promptfoo's model-graded assertions, deepeval's metrics with an evaluation model,
    and Inspect AI's model-graded scorers. In Inspect AI, a scorer that records a conversation with
    a grader is also a judge. To analyse a judge, pass its name as `scorer` to `read_scores`, and
    the result to `psychollm.judged_scores`.

    Parameters
    ----------
    paths : path, iterable of paths, or mapping of str to either
        Log files, or folders of log files, by name in a mapping (see `read_scores`).
    format : str, optional
        Log format; by default detected from the content of each file.
    task : str or iterable of str, optional
        Tasks to include; by default all.
    unreadable : {"skip", "refuse"}
        Whether to skip unreadable files of a folder with a warning, or to raise an error.

    Returns
    -------
    tuple of str
        Names of scorers in the order of their occurrence; empty if the logs have none.

    Raises
    ------
    InputError
        If a file is damaged or not a log.

    Examples
    --------
    >>> import json
    >>> path = getfixture("tmp_path") / "a.json"
    >>> about = {"task_id": "t", "task": "t", "model": "m"}
    >>> given = {"match": {"value": "I"}, "model_graded_qa": {"value": "C"}}
    >>> _ = path.write_text(json.dumps({"eval": about, "samples": [{"id": 1, "scores": given}]}))
    >>> judges_in(path)
    ('model_graded_qa',)
    """
    runs, _, _ = all_runs(
        paths, format=format, reading=Reading(), progress=False, unreadable=unreadable
    )
    wanted = None if task is None else {task} if isinstance(task, str) else set(task)
    counted = [run for run in valid(runs)[0] if wanted is None or run.task in wanted]
    return tuple(dict.fromkeys(name for run in counted for name in run.judges))
