"""Functions that read scores given as words, such as "left", as categories."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError
from psychollm._base.wording import parameter
from psychollm.data.logs import Match, _frame
from psychollm.data.logs_runs import Paths, Scorer, all_runs, choose, respondents, valid
from psychollm.data.readers.logs.detect import LogFormat
from psychollm.data.readers.logs.run import NO_ANSWER, Word
from psychollm.data.readers.logs.source import Reading

if TYPE_CHECKING:
    import pandas as pd


def read_categories(
    paths: Paths,
    *,
    format: LogFormat | None = None,  # noqa: A002
    task: str | Iterable[str] | None = None,
    scorer: Scorer | None = None,
    filter: str | None = None,  # noqa: A002
    match: Match = "content",
    progress: bool = False,
) -> "pd.DataFrame":
    """Read scores that are words, such as "left", "right" and "both".

    Parameters
    ----------
    paths : path, iterable of paths, or mapping of str to either
        Log files, or folders of log files, by name in a mapping (see `read_scores`).
    format : str, optional
        Log format; by default detected from the content of each file.
    task : str or iterable of str, optional
        Tasks to read; by default all. Questions of several tasks are labelled ``TASK/QUESTION``.
    scorer : str or mapping of task to str, optional
        Scorer (metric) to read; required if there are several.
    filter : str, optional
        Filter (lm-evaluation-harness) or perturbation (HELM) to read; required if there are
        several.
    match : {"content", "label"}
        How to match questions of different runs: by their text, if the logs contain the text, or
        by their label.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        Table with one row per answer, and the columns model, question, run and response.
        `psychollm.reliability.Ratings.from_long` accepts the table, for agreement and for the
        proportion of each category (`psychollm.reliability.response_shares`).

    Raises
    ------
    InputError
        If a file is damaged, malicious or not a log, if a required option is missing, or if no
        score is a word.
    OptionError
        If an option does not exist.
    LabelError
        If a task, a scorer or a filter does not occur in the logs.

    Examples
    --------
    >>> import json
    >>> path = getfixture("tmp_path") / "a.json"
    >>> about = {"task_id": "t", "task": "t", "model": "m"}
    >>> said = [{"id": k, "scores": {"side": {"value": w}}} for k, w in ((1, "left"), (2, "both"))]
    >>> _ = path.write_text(json.dumps({"eval": about, "samples": said}))
    >>> read_categories(path)
      model question  run response
    0     m        1    1     left
    1     m        2    1     both
    """
    import pandas as pd

    check_choice("match", match, Match)
    everything, _, _ = all_runs(paths, format=format, reading=Reading(), progress=progress)
    runs, _ = valid(everything)
    choice = choose(runs, task=task, scorer=scorer, filter=filter)
    counted = [run for run in runs if run.task in choice.scorers]
    chosen = list(zip(counted, respondents(counted), strict=True))
    frame, _ = _frame(chosen, choice, by_content=match == "content")
    words = [one if isinstance(one, str) and one != NO_ANSWER else None for one in frame["score"]]
    if not any(words):
        held = dict.fromkeys(
            name
            for run in runs
            for sample in run.samples
            for name, score in sample.scores.items()
            if isinstance(score, Word)
        )
        more = (
            f"; those of {', '.join(map(repr, held))} are: pass {parameter('scorer')}"
            if held
            else ""
        )
        msg = f"no score is a word{more}; read numeric scores with read_scores"
        raise InputError(msg)
    named = frame[["model", "question", "repeat"]].rename(columns={"repeat": "run"})
    return named.assign(response=pd.Series(words, index=named.index, dtype=object))
