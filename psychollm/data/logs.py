"""Functions that read evaluation logs as one table of responses.

If a log is ambiguous, readers raise an error instead of guessing: the caller chooses the scorer,
the treatment of repeated answers, and the threshold of graded scores. By default, a failed answer
is missing and not wrong.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.entry import warn
from psychollm._base.errors import (
    CodeError,
    InputError,
    LabelError,
    OptionError,
    PsychollmWarning,
    ValidityWarning,
)
from psychollm._base.names import shortened
from psychollm._base.wording import Text, parameter
from psychollm.data.labels import Table, as_labels, listed
from psychollm.data.logs_cells import Repeats, one_per_cell
from psychollm.data.logs_result import LogImport, ScoreLog
from psychollm.data.logs_runs import (
    MERGED,
    Choice,
    Paths,
    Scorer,
    Unreadable,
    all_runs,
    choose,
    leave_out,
    questions,
    respondents,
    unlike,
    valid,
    warn_of_merged,
    with_parts,
    with_words,
)
from psychollm.data.long import Layout, check_cells
from psychollm.data.missing_codes import Missing, MissingValues
from psychollm.data.readers.logs.detect import LogFormat
from psychollm.data.readers.logs.run import (
    INVALIDATED,
    NO_ANSWER,
    UNSCORED,
    Run,
    Sample,
    Score,
)
from psychollm.data.readers.logs.source import Reading
from psychollm.data.responses import Responses
from psychollm.data.table import SCORE_MAP, word_advice

if TYPE_CHECKING:
    import pandas as pd

NoAnswer: TypeAlias = Literal["wrong", "missing"]
Errors: TypeAlias = Literal["missing", "wrong"]
Match: TypeAlias = Literal["content", "label"]
COLUMNS = (
    "model", "question", "score", "task", "repeat", "scorer", "filter", "error", "confidence",
    "format", "source",
)  # fmt: skip
_BY_LABEL = parameter("match", python="match='label'")


def read_logs(
    paths: Paths,
    *,
    format: LogFormat | None = None,  # noqa: A002
    task: str | Iterable[str] | None = None,
    scorer: Scorer | None = None,
    filter: str | None = None,  # noqa: A002
    repeats: Repeats | None = None,
    threshold: float | None = None,
    strict: bool = True,
    no_answer: NoAnswer | None = None,
    match: Match = "content",
    columns: Mapping[str, str] | None = None,
    layout: Layout = "auto",
    labels: bool = True,
    missing_values: MissingValues = None,
    score_map: Mapping[str, float] | None = None,
    errors: Errors = "missing",
    unreadable: Unreadable = "skip",
    progress: bool = False,
) -> LogImport:
    r"""Read logs of evaluation tools as one table of correctness by model and question.

    The supported formats are Inspect AI, lm-evaluation-harness, Every Eval Ever, HELM, lighteval,
    OpenCompass, promptfoo, deepeval, OpenAI evals, HAL, EvalScope, and any table with a row per
    score. The evaluation tools need not be installed.

    Parameters
    ----------
    paths : path, iterable of paths, or mapping of str to either
        Log files, or folders of log files. In a mapping such as ``{"before": path, "after":
        path}``, each key replaces the name of the model in its logs. If the logs of any key
        contain several models, all names have the form ``before/MODEL``.
    format : str, optional
        Log format; by default detected from the content of each file.
    task : str or iterable of str, optional
        Tasks to read; by default all tasks. Questions of several tasks are labelled
        ``TASK/QUESTION``.
    scorer : str or mapping of task to str, optional
        Scorer (metric) to read; required if there are several.
    filter : str, optional
        Filter (lm-evaluation-harness) or perturbation (HELM) to read; required if there are
        several.
    repeats : {"mean", "first", "majority", "keep"}, optional
        How to combine repeated answers to a question; required if there are any. "first" uses the
        first answer, even if it failed. "majority" gives a missing answer for ties. "keep" makes
        each repeat a row, ``MODEL #1``, ``MODEL #2``.
    threshold : float, optional
        Threshold for a correct answer; required if scores, or means of repeats, are not binary.
    strict : bool
        Whether correct means ``score > threshold`` (default) or ``score >= threshold``.
    no_answer : {"wrong", "missing"}, optional
        Meaning of the score "N" (no answer), which Inspect counts as wrong; required if "N"
        occurs.
    match : {"content", "label"}
        How to match questions of different runs: by their text, if the logs contain the text, or
        by their label.
    columns : mapping, optional
        Column names of tables, by role: ``model``, ``question``, ``score``, ``task``, ``repeat``,
        ``scorer``, ``filter``, ``error``, ``confidence``, ``content``.
    layout : {"auto", "wide", "long", "transposed"}
        Layout of tables: a row per model, per answer or per question. "auto" detects the layout
        from the header.
    labels : bool
        Whether a column of a wide table contains the row labels.
    missing_values : iterable, optional
        Values of tables that represent a missing answer, such as ``[-99, "."]``.
    score_map : mapping, optional
        Numeric values of scores that are words, such as ``{"left": 0, "both": 1}``. With
        ``scorer="SCORER:WORD"``, no map is needed: the given word scores 1, and other words score
        0.
    errors : {"missing", "wrong"}
        How to score answers that ended in an error.
    unreadable : {"skip", "refuse"}
        Whether to skip unreadable files of a folder with a warning, or to raise an error.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    LogImport
        Result with the table ``responses``, the long ``frame``, the ``confidence``, and a
        ``summary()`` of kept and dropped scores.

    Raises
    ------
    InputError
        If a file is damaged, malicious or not a log, or if a required option is missing; the
        message lists the possible values.
    MissingPackageError
        If a package that a log needs is not installed: zstandard for compressed logs, pyarrow for
        Parquet.

    Warns
    -----
    ValidityWarning
        If no question of a run has the same text as a question of another model.
    PsychollmWarning
        If answers in different folders are counted as repeats of one model and `repeats` is
        omitted.

    Notes
    -----
    Runs of a model with different settings (temperature, reasoning effort, prompt, solver, ...)
    are different respondents. A retried run counts once, in its latest version. Invalidated runs
    are ignored.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> _ = path.write_text("llm,item,score\na,q,1\na,r,0\nb,q,0\n")
    >>> read_logs(path, columns={"model": "llm"}).responses.values
    array([[ 1.,  0.],
           [ 0., nan]])
    """
    with warnings.catch_warnings():
        if repeats is not None:  # repeats in different folders are meant
            warnings.filterwarnings("ignore", MERGED, PsychollmWarning)
        record = read_scores(
            paths,
            format=format,
            task=task,
            scorer=scorer,
            filter=filter,
            no_answer=no_answer,
            match=match,
            columns=columns,
            layout=layout,
            labels=labels,
            missing_values=missing_values,
            score_map=score_map,
            errors=errors,
            unreadable=unreadable,
            progress=progress,
        )
    return imported(record, repeats=repeats, threshold=threshold, strict=strict)


def read_scores(
    paths: Paths,
    *,
    format: LogFormat | None = None,  # noqa: A002
    task: str | Iterable[str] | None = None,
    scorer: Scorer | None = None,
    filter: str | None = None,  # noqa: A002
    no_answer: NoAnswer | None = None,
    match: Match = "content",
    columns: Mapping[str, str] | None = None,
    layout: Layout = "auto",
    labels: bool = True,
    missing_values: MissingValues = None,
    score_map: Mapping[str, float] | None = None,
    errors: Errors = "missing",
    unreadable: Unreadable = "skip",
    progress: bool = False,
    keep: Sequence[str] = (),
) -> ScoreLog:
    r"""Read logs of evaluation tools as a long record of scores, binary or graded.

    The result can be passed to `psychollm.compare`. `read_logs` instead returns a binary table,
    for which the caller must specify how to treat repeats and graded scores.

    Parameters
    ----------
    paths : path, iterable of paths, or mapping of str to either
        Log files, or folders of log files. In a mapping such as ``{"before": path, "after":
        path}``, each key replaces the name of the model in its logs. If the logs of any key
        contain several models, all names have the form ``before/MODEL``.
    format : str, optional
        Log format; by default detected from the content of each file.
    task : str or iterable of str, optional
        Tasks to read; by default all. Questions of several tasks are labelled ``TASK/QUESTION``.
    scorer : str or mapping of task to str, optional
        Scorer (metric) to read; required if there are several.
    filter : str, optional
        Filter (lm-evaluation-harness) or perturbation (HELM) to read; required if there are
        several.
    no_answer : {"wrong", "missing"}, optional
        Meaning of the score "N" (no answer), which Inspect counts as wrong; required if "N"
        occurs.
    match : {"content", "label"}
        How to match questions of different runs: by their text, if the logs contain the text, or
        by their label.
    columns : mapping, optional
        Column names of tables, by role: ``model``, ``question``, ``score``, ``task``, ``repeat``,
        ``scorer``, ``filter``, ``error``, ``confidence``, ``content``.
    layout : {"auto", "wide", "long", "transposed"}
        Layout of tables: a row per model, per answer or per question. "auto" detects the layout
        from the header.
    labels : bool
        Whether a column of a wide table contains the row labels.
    missing_values : iterable, optional
        Values of tables that represent a missing answer, such as ``[-99, "."]``.
    score_map : mapping, optional
        Numeric values of scores that are words, such as ``{"left": 0, "both": 1}``. With
        ``scorer="SCORER:WORD"``, no map is needed: the given word scores 1, and other words score
        0.
    errors : {"missing", "wrong"}
        How to score answers that ended in an error.
    unreadable : {"skip", "refuse"}
        Whether to skip unreadable files of a folder with a warning, or to raise an error.
    progress : bool
        Whether to show a progress bar.
    keep : sequence of str
        Additional columns of the frame, such as a domain. The values come from columns of a table,
        Inspect's metadata, or lm-evaluation-harness documents.

    Returns
    -------
    ScoreLog
        Result with the long ``frame``, and a ``summary()`` of kept and dropped scores.

    Raises
    ------
    InputError
        If a file is damaged, malicious or not a log, or if a required option is missing; the
        message lists the possible values.
    MissingPackageError
        If a package that a log needs is not installed: zstandard for compressed logs, pyarrow for
        Parquet.
    LabelError
        If no log has a field of `keep`.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> _ = path.write_text("model,question,repeat,score\na,q,1,0.5\na,q,2,1\n")
    >>> read_scores(path).frame[["model", "question", "score", "repeat"]]
      model question  score  repeat
    0     a        q    0.5       1
    1     a        q    1.0       2

    Two runs of one model are compared by name:

    >>> read_scores({"before": path, "after": path}).frame["model"].unique().tolist()
    ['before', 'after']
    """
    check_choice("match", match, Match)
    if no_answer is not None:
        check_choice("no_answer", no_answer, NoAnswer)
    check_choice("errors", errors, Errors)
    kept = [name for name in ([keep] if isinstance(keep, str) else keep) if name not in COLUMNS]
    reading = Reading(
        keep=kept, columns=columns or {}, layout=layout, labels=labels,
        missing=Missing(missing_values), score_map=score_map or {},
    )  # fmt: skip
    everything, n_logs, damaged = all_runs(
        paths, format=format, reading=reading, progress=progress, unreadable=unreadable
    )
    runs, left_out = valid(everything)
    if not runs:
        msg = f"all {len(everything)} runs are left out: {left_out[0].reason}"
        raise InputError(msg)
    left_out = [*damaged, *left_out]
    runs = with_words(with_parts(runs, scorer), reading, scorer)
    choice = choose(runs, task=task, scorer=scorer, filter=filter)
    counted = [run for run in runs if run.task in choice.scorers]
    chosen = list(zip(counted, respondents(counted), strict=True))
    left_out += [
        leave_out(run, "a task that was not requested")
        for run in runs
        if run.task not in choice.scorers
    ]
    frame, n_apart = _frame(chosen, choice, by_content=match == "content", keep=kept)
    given = frame.loc[list(map(_is_word, frame["score"])), "scorer"]
    frame["score"] = _scores(frame["score"], no_answer, next(iter(given), ""))
    failed = frame["score"].isna() & ~frame["error"].isin(["", UNSCORED, INVALIDATED])
    frame.loc[frame["score"].isna() & (frame["error"] == ""), "error"] = NO_ANSWER
    wrong = errors == "wrong" and bool(failed.any())
    if wrong:
        frame.loc[failed, "score"] = 0.0
    if frame["score"].isna().all():
        raise InputError(_no_scores(counted, frame))
    return ScoreLog(
        frame=frame,
        scorers=choice.scorers,
        filters=choice.filters,
        n_logs=n_logs,
        left_out=tuple(left_out),
        notes=(
            *_notes(counted, n_apart),
            *([f"{failed.sum()} answers that ended in errors count as wrong"] if wrong else []),
        ),
    )


def _no_scores(runs: Sequence[Run], frame: "pd.DataFrame") -> str:
    """Return the reason why no answer has a score."""
    sources = listed(list(dict.fromkeys(run.source for run in runs)))
    if frame.empty:
        return (
            f"no answer has a score: the logs contain only summaries, no samples ({sources});"
            " pass logs that include their samples"
        )
    reasons = frame["error"].value_counts()
    if set(reasons.index) == {UNSCORED}:
        of_inspect = set(frame["format"]) == {"inspect"}
        how = ", with 'inspect score LOG --scorer NAME'" if of_inspect else ""
        return (
            f"no answer has a score: the logs are not scored yet ({len(frame):,} answers in "
            f"{sources}); score them first{how}"
        )
    told = "; ".join(f"{shortened(reason, 80)}, {n} times" for reason, n in reasons[:5].items())
    return (
        f"no answer has a score: {told} ({sources}); to count answers that ended in errors as "
        f"wrong, pass {parameter('errors', 'wrong')}"
    )


def _frame(
    chosen: Sequence[tuple[Run, str]],
    choice: Choice,
    *,
    by_content: bool,
    keep: Sequence[str] = (),
) -> tuple["pd.DataFrame", int]:
    """Return a long table of scores, and the number of labels changed to be unique."""
    import pandas as pd

    n_apart = 0
    several = len(choice.scorers) > 1
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for task in choice.scorers:
        own = [i for i, (run, _) in enumerate(chosen) if run.task == task]
        kept = [
            [one for one in chosen[i][0].samples if choice.takes(chosen[i][0], one)] for i in own
        ]
        labels, apart = questions(kept, by_content=by_content)
        n_apart += apart
        if apart and len(own) > 1:
            _warn_of_strangers(task, [chosen[i][0] for i in own], labels)
        last: dict[tuple[str, str], int] = {}  # last repeat of a respondent and question
        for i, samples, named in zip(own, kept, labels, strict=True):
            run, respondent = chosen[i]
            full = [f"{task}/{label}" for label in named] if several else named
            numbers = _repeats(samples, full, respondent, last)
            rows[i] = [
                _row(run, respondent, choice.scorers[task], sample, keep, question=name, repeat=n)
                for sample, name, n in zip(samples, full, numbers, strict=True)
            ]
    flat = [row for i in sorted(rows) for row in rows[i]]
    frame = pd.DataFrame(flat, columns=[*COLUMNS, *keep])
    if absent := [name for name in keep if (frame[name] == "").all()]:
        msg = f"{parameter('keep', absent[0])}: {chosen[0][0].source} has no such column or field"
        raise LabelError(msg)
    warn_of_merged(frame)
    return frame, n_apart


def _warn_of_strangers(task: str, runs: Sequence[Run], labels: Sequence[Sequence[str]]) -> None:
    """Warn if a run shares no question with other models, for example if wordings differ."""
    counts = Counter(label for named in labels for label in set(named))
    for run, named in zip(runs, labels, strict=True):
        if named and all(counts[label] == 1 for label in named):
            msg = (
                f"{run.source}: no question of {run.model} on {task!r} has the same text as one "
                f"of another model; if the questions are nevertheless the same, pass {_BY_LABEL}"
            )
            warn(msg, ValidityWarning)


def _repeats(
    samples: Sequence[Sample],
    labels: Sequence[str],
    respondent: str,
    last: dict[tuple[str, str], int],
) -> list[int]:
    """Return the number of each repeat, continuing the numbering of earlier runs."""
    before = {label: last.get((respondent, label), 0) for label in labels}
    count: dict[str, int] = {}
    numbers = []
    for one, label in zip(samples, labels, strict=True):
        count[label] = count.get(label, 0) + 1
        number = before[label] + (one.repeat if one.repeat is not None else count[label])
        last[respondent, label] = max(number, last.get((respondent, label), 0))
        numbers.append(number)
    return numbers


def _row(
    run: Run,
    respondent: str,
    scorer: str,
    sample: Sample,
    keep: Sequence[str],
    *,
    question: str,
    repeat: int,
) -> tuple[Any, ...]:
    score = sample.scores.get(scorer)
    error = "" if score is not None else sample.error or UNSCORED
    stated = sample.confidence.get(scorer, sample.confidence.get("", np.nan))
    return (
        respondent, question, score, run.task, repeat, scorer, sample.filter, error, stated,
        run.format, run.source, *(sample.about.get(name, "") for name in keep),
    )  # fmt: skip


def _scores(column: "pd.Series[Any]", no_answer: NoAnswer | None, scorer: str) -> Any:
    """Return scores as numbers; "no answer" is wrong or missing, as `no_answer` requests."""
    values: list[Score] = column.tolist()
    words = Counter(str(value).strip() for value in values if _is_word(value))
    if words:
        told = ", ".join(f"{word!r} {n} times" for word, n in words.most_common(5))
        advice, first = word_advice(words, SCORE_MAP), next(iter(words))
        msg = (
            f"scorer {scorer!r} gives words, not numbers ({told}): {advice}; for the proportion "
            f"of one word pass {parameter('scorer', f'{scorer}:{first}')}; where a word means no "
            f"score, pass {parameter('missing_values', [first])}"
        )
        raise CodeError(msg)
    n = sum(value == NO_ANSWER for value in values)
    if n and no_answer is None:
        msg = (
            f"{n:,} answers are marked as no answer ('N'): pass {parameter('no_answer', 'wrong')} "
            f"(as Inspect AI counts them) or {parameter('no_answer', 'missing')}"
        )
        raise OptionError(msg)
    instead = 0.0 if no_answer == "wrong" else np.nan
    plain = (instead if value == NO_ANSWER else value for value in values)
    return np.array([np.nan if value is None else value for value in plain], dtype=np.float64)


def _is_word(score: Any) -> bool:
    return isinstance(score, str) and score != NO_ANSWER


def _notes(runs: Sequence[Run], n_apart: int) -> tuple[str, ...]:
    notes = [f"{run.source}: {note}" for run in runs for note in run.notes]
    notes += unlike(runs)
    if n_apart:
        notes.append(
            f"{n_apart} questions have the label of another question but other content, and are "
            f"kept separate ({_BY_LABEL} merges them)"
        )
    return tuple(map(Text, notes))


def imported(
    record: ScoreLog,
    *,
    repeats: Repeats | None = None,
    threshold: float | None = None,
    strict: bool = True,
) -> LogImport:
    """Convert a record of scores to a table of correctness."""
    cells = one_per_cell(record.frame, repeats=repeats, threshold=threshold, strict=strict)
    stated = _table(cells.frame, "confidence")
    held = not np.isnan(stated.values).all()
    return LogImport(
        **{field.name: getattr(record, field.name) for field in fields(ScoreLog)},
        responses=_responses(_table(cells.frame, "score"), threshold, strict=strict),
        confidence=_as_frame(stated) if held else None,
        repeats=repeats,
        threshold=threshold,
        n_ties=cells.n_ties,
    )


def _table(cells: "pd.DataFrame", column: str) -> Table:
    """Return a table (models x questions, in order of occurrence) from one score per cell."""
    import pandas as pd

    row, models = pd.factorize(cells["model"])
    column_of, labels = pd.factorize(cells["question"])
    check_cells(len(models), len(labels), len(cells))
    values = np.full((len(models), len(labels)), np.nan)
    values[row, column_of] = cells[column].to_numpy(dtype=np.float64)
    return Table(
        values,
        as_labels("model", list(models), len(models)),
        as_labels("question", list(labels), len(labels)),
    )


def _responses(table: Table, threshold: float | None, *, strict: bool) -> Responses:
    made = Responses(table)
    if threshold is None:
        return made
    return Responses.from_codes(
        made.codes,
        made.missing,
        models=made.models,
        questions=made.questions,
        coding=f"score {'>' if strict else '>='} {threshold:g}",
    )


def _as_frame(table: Table) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        table.values,
        index=pd.Index(table.models, name="model"),
        columns=pd.Index(table.questions, name="question"),
    )
