"""Search for logs in files and folders, and selection of the runs to include.

A respondent is a model in one configuration. The caller may instead define respondents by a
mapping from names, such as "before" and "after", to the logs of each respondent. Two runs of a
model on one task with different settings are two respondents, whose names contain the settings
that differ. A question is identified by its content, not its position: the same question has one
label in all runs, and different questions at the same position have different labels. If there are
several tasks, scorers or filters, the caller chooses among them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from psychollm._base.checks import check_choice, shown
from psychollm._base.entry import warn
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm._base.replicate import progress_bar
from psychollm._base.wording import parameter
from psychollm.data.labels import listed, naming_advice
from psychollm.data.readers.logs.detect import LogFormat, read_runs, readable
from psychollm.data.readers.logs.run import Run, Sample, Score, Word, digest
from psychollm.data.readers.logs.source import Reading

if TYPE_CHECKING:
    import pandas as pd

Unreadable: TypeAlias = Literal["skip", "refuse"]
OnePath: TypeAlias = str | PathLike[str]
SomePaths: TypeAlias = OnePath | Iterable[OnePath]
Paths: TypeAlias = SomePaths | Mapping[str, SomePaths]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An omitted part of a log, with the reason."""

    source: str  # file
    what: str  # model and task
    reason: str
    n: int  # number of answers


def all_runs(
    paths: Paths,
    *,
    format: str | None,  # noqa: A002
    reading: Reading,
    progress: bool,
    unreadable: Unreadable = "skip",
) -> tuple[list[Run], int, list[LeftOut]]:
    """Return every run in files and folders, the number of logs, and the unreadable files."""
    # A file that the caller names must be a log. In a folder, unknown files are skipped, because
    # tools write other files there. Damaged files are also skipped, unless no log remains.
    if format is not None:
        check_choice("format", format, LogFormat)
    check_choice("unreadable", unreadable, Unreadable)
    several = _named(paths) if isinstance(paths, Mapping) else {"": paths}
    files = [(name, *one) for name, own in several.items() for one in _files(own)]
    bar = progress_bar(show=progress, total=len(files), label="logs")
    by_name: dict[str, list[Run]] = {name: [] for name in several}
    damaged: list[InputError] = []
    left_out: list[LeftOut] = []
    n_logs = 0
    try:
        for name, path, named in files:
            bar.update(1)
            try:
                own = replace(reading, named=bool(name))
                held = read_runs(path, format=format, reading=own, named=named)
            except InputError as error:
                if named or unreadable == "refuse":
                    raise
                damaged.append(error)
                left_out.append(LeftOut(source=str(path), what="", reason=error.text, n=0))
                continue
            by_name[name] += held
            n_logs += bool(held)
    finally:
        bar.close()
    runs = _with_names(by_name)
    if damaged and not runs:
        raise damaged[0]
    if damaged:
        be = "is" if len(damaged) == 1 else "are"
        msg = (
            f"{len(damaged)} of {len(files)} files cannot be read and {be} left out: {damaged[0]}"
        )
        warn(msg)
    if not runs:
        first = ", ".join(str(path) for _, path, _ in files[:3])
        msg = f"there is no log in {first or 'the folder'}"
        raise InputError(msg)
    return _with_tasks(runs), n_logs, left_out


def _named(paths: Mapping[str, SomePaths]) -> Mapping[str, SomePaths]:
    """Check the names of paths."""
    bad = next((name for name in paths if not isinstance(name, str) or not name.strip()), None)
    if bad is not None or not paths:
        what = f"paths has the name {bad!r}" if paths else "paths is empty"
        msg = f"{what}: pass a mapping from names to logs or folders, such as {{'before': path}}"
        raise InputError(msg)
    return paths


def _with_names(by_name: Mapping[str, Sequence[Run]]) -> list[Run]:
    """Name models as the caller names their logs; ``NAME/MODEL`` if any has several models."""
    models = [{run.model for run in runs} for runs in by_name.values()]
    alone = all(len(own) < 2 for own in models)

    def called(name: str, run: Run) -> str:
        return run.model if not name else name if alone else f"{name}/{run.model}"

    return [
        replace(run, model=called(name, run)) for name, runs in by_name.items() for run in runs
    ]


MERGED = ".* count as repeats of one model"  # pattern of the warning


def warn_of_merged(frame: "pd.DataFrame") -> None:
    """Warn if answers in different folders are counted as repeats of one model.

    Runs to be compared, such as those before and after a change, look like repeats if the logs
    name the same model.
    """
    folder = {source: str(Path(source).parent) for source in frame["source"].unique()}
    if len(set(folder.values())) < 2:
        return
    cells = frame[["model", "question"]].assign(folder=frame["source"].map(folder))
    cells = cells.drop_duplicates()
    merged = cells[cells.duplicated(["model", "question"])]
    if merged.empty:
        return
    model, question, second = merged.iloc[0]
    same = (cells["model"] == model) & (cells["question"] == question)
    first = cells.loc[same, "folder"].iloc[0]
    msg = (
        f"answers of {model!r} in {first} and {second} to the same questions count as repeats of "
        f"one model; to compare the folders, {naming_advice(first, second)}"
    )
    warn(msg)


def _with_tasks(runs: Sequence[Run]) -> list[Run]:
    """Name the tasks of tables without task names; files with distinct models form one task."""
    nameless = [run for run in runs if not run.task and run.format == "table"]
    models = {(run.model, run.source) for run in nameless}
    files = {source for _, source in models}
    own = len(files) == 1 or len({model for model, _ in models}) < len(models)

    def named(run: Run) -> Run:
        if run.task or run.format != "table":
            return run
        return replace(run, task=Path(run.source).name.partition(".")[0] if own else "scores")

    return [named(run) for run in runs]


def _files(paths: SomePaths) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and whether the caller named it."""
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not several:
        msg = "paths is empty: name at least one log or folder"
        raise InputError(msg)
    for path in (one for named in several for one in _globbed(Path(named))):
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if readable(one) and one.is_file())
            if not inside:
                msg = f"{path}: there is no log in this folder"
                raise InputError(msg)
            yield from ((one, False) for one in inside)
        elif path.is_file():
            yield path, True
        else:
            msg = f"{path}: no such file or folder"
            raise InputError(msg)


def _globbed(path: Path) -> list[Path]:
    """Expand a pattern of file names, because some shells do not; return other paths unchanged."""
    if path.exists() or not has_magic(str(path)):
        return [path]
    found = sorted(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207 -- Path.glob rejects absolute patterns
    if not found:
        msg = f"{path}: no file matches"
        raise InputError(msg)
    return found


def valid(runs: Sequence[Run]) -> tuple[list[Run], list[LeftOut]]:
    """Return the runs to include, and the runs that were invalidated or replaced by later runs."""
    newest: dict[tuple[str, ...], Run] = {}
    for run in runs:
        key = _key(run)
        if not run.invalid and (key not in newest or newest[key].created <= run.created):
            newest[key] = run
    kept, left_out = [], []
    for run in runs:
        replaced = bool(run.identity) and newest.get(_key(run)) is not run
        if run.invalid or replaced:
            left_out.append(leave_out(run, run.invalid or "replaced by a later run"))
        else:
            kept.append(run)
    return kept, left_out


def _key(run: Run) -> tuple[str, ...]:
    # Some logs do not name the task, so the task is ignored if runs have an identity.
    return (run.format, run.identity, run.model, "" if run.identity else run.task)


def leave_out(run: Run, reason: str) -> LeftOut:
    """Return the record of an omitted run."""
    what = f"{run.model} on {run.task}"
    return LeftOut(source=run.source, what=what, reason=reason, n=len(run.samples))


Scorer: TypeAlias = str | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen scorer and filter of each task."""

    scorers: Mapping[str, str]
    filters: Mapping[str, str]

    def takes(self, run: Run, sample: Sample) -> bool:
        """Return whether a sample of a chosen task is included, possibly as a missing answer."""
        if sample.filter != self.filters[run.task] and sample.filter != "":
            return False
        return self.scorers[run.task] in sample.scores or _unscored(sample)


def choose(
    runs: Sequence[Run],
    *,
    task: str | Iterable[str] | None,
    scorer: Scorer | None,
    filter: str | None,  # noqa: A002
) -> Choice:
    """Return the chosen scorers and filters."""
    tasks = _tasks(runs, task)
    names = {one: _scorers(_samples(runs, one)) for one in tasks}
    if scorer is None:
        _check_alike(names, named=task is not None)
    elif not isinstance(scorer, str):
        _check_known("scorer", scorer, tasks)
    stated = scorer if isinstance(scorer, Mapping) else dict.fromkeys(tasks, scorer)
    scorers = {one: _one("scorer", one, own, stated.get(one)) for one, own in names.items()}
    # A sample that does not name a filter is included for every filter.
    named = {
        one: list(dict.fromkeys(each.filter for each in _samples(runs, one) if each.filter))
        or [""]
        for one in tasks
    }
    return Choice(scorers, _filters(named, filter))


def _samples(runs: Sequence[Run], task: str) -> list[Sample]:
    return [sample for run in runs if run.task == task for sample in run.samples]


def _tasks(runs: Sequence[Run], task: str | Iterable[str] | None) -> list[str]:
    present = list(dict.fromkeys(run.task for run in runs))
    if task is None:
        return present
    wanted = [task] if isinstance(task, str) else list(dict.fromkeys(task))
    _check_known("task", wanted, present)
    return wanted


def _check_known(what: str, wanted: Iterable[str], present: Sequence[str]) -> None:
    for one in wanted:
        if one not in present:
            msg = f"{parameter(what, one)}: no such task; the logs hold {listed(present)}"
            raise LabelError(msg)


def _unscored(sample: Sample) -> bool:
    return all(score is None for score in sample.scores.values()) and "" in sample.scores


def _scorers(samples: Iterable[Sample]) -> list[str]:
    """Return the scorers of a task, ignoring samples without any score."""
    scored = (one for one in samples if not _unscored(one))
    return list(dict.fromkeys(name for one in scored for name in one.scores)) or [""]


def _check_alike(names: Mapping[str, Sequence[str]], *, named: bool) -> None:
    """Raise an error if tasks have different scorers and the caller did not choose."""
    if named or len({frozenset(own) for own in names.values()}) == 1:
        return
    shown = "; ".join(f"{task!r}: {listed(own)}" for task, own in list(names.items())[:12])
    each = parameter("scorer", python="a scorer=", command="{} TASK=NAME,...")
    msg = (
        f"these logs hold {len(names)} tasks with different scoring ({shown}): "
        f"pass {parameter('task')}, with {each} for each task if necessary"
    )
    raise OptionError(msg)


def _one(what: str, task: str, names: Sequence[str], wanted: str | None) -> str:
    if wanted is None:
        if len(names) == 1:
            return names[0]
        msg = (
            f"task {task!r} has {len(names)} {what}s: pass {parameter(what)}, one of {_all(names)}"
        )
        raise OptionError(msg)
    if wanted not in names:
        msg = f"{parameter(what, wanted)}: task {task!r} has no such {what}, but {_all(names)}"
        raise LabelError(msg)
    return wanted


def _all(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:40])


def _filters(names: Mapping[str, Sequence[str]], wanted: str | None) -> dict[str, str]:
    """Return the filter of each task; the caller must choose if a task has several."""
    if wanted is not None and not any(wanted in own for own in names.values()):
        present = list(dict.fromkeys(name for own in names.values() for name in own if name))
        known = f"the filters are {_all(present)}" if present else "these logs have no filters"
        msg = f"{parameter('filter', wanted)}: {known}"
        raise LabelError(msg)
    return {
        task: own[0] if len(own) == 1 else _one("filter", task, own, wanted)
        for task, own in names.items()
    }


def with_parts(runs: Sequence[Run], scorer: Scorer | None) -> list[Run]:
    """Return runs in which the requested parts of scores are additional scorers."""
    wanted = set(scorer.values() if isinstance(scorer, Mapping) else [scorer])

    def full(one: Sample, names: Sequence[str]) -> Sample:
        failed = dict.fromkeys(names) if one.error else {}
        asked = {name: score for name, score in one.parts.items() if name in names}
        return replace(one, scores={**one.scores, **failed, **asked})

    def of(run: Run) -> Run:
        names = [name for name in run.judges if name in wanted]
        return replace(run, samples=tuple(full(one, names) for one in run.samples))

    return [of(run) if wanted & {*run.judges} else run for run in runs]


def with_words(runs: Sequence[Run], reading: Reading, scorer: Scorer | None) -> list[Run]:
    """Return runs with words mapped to numbers; with ``SCORER:WORD``, the word scores 1."""
    wanted = scorer.values() if isinstance(scorer, Mapping) else [scorer or ""]
    shares = {name: name.rpartition(":") for name in wanted if ":" in name}

    def scores(sample: Sample) -> dict[str, Score]:
        found = dict(sample.scores)
        for full, (name, _, word) in shares.items():
            given = found.get(name)
            if isinstance(given, Word) and full not in sample.scores:
                found[full] = float(given.strip() == word)
        return {
            name: number(one.strip()) if isinstance(one, Word) else one
            for name, one in found.items()
        }

    def number(word: str) -> Score:
        return None if reading.missing.holds(word) else reading.score_map.get(word, Word(word))

    if not shares and not reading.score_map and not reading.missing:
        return list(runs)
    return [
        replace(run, samples=tuple(replace(one, scores=scores(one)) for one in run.samples))
        for run in runs
    ]


_LONG = 40
UNSET = "unset"


def respondents(runs: Sequence[Run]) -> list[str]:
    """Return the name of the respondent of each run."""
    # Only settings that differ within a task distinguish respondents, because some settings, such
    # as the number of examples, usually differ between tasks.
    differing: dict[str, dict[str, None]] = {}
    by_place: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for run in runs:
        by_place.setdefault((run.model, run.task), []).append(run.configuration)
    for (model, _), settings in by_place.items():
        names = dict.fromkeys(name for one in settings for name in one)
        several = {name: None for name in names if len({one.get(name) for one in settings}) > 1}
        differing.setdefault(model, {}).update(several)
    return [_respondent(run, list(differing[run.model])) for run in runs]


def _respondent(run: Run, differing: Sequence[str]) -> str:
    if not differing:
        return run.model
    short = [name.split(".")[-1] for name in differing]
    names = short if len(set(short)) == len(short) else differing
    whole = [run.configuration.get(name, UNSET) for name in differing]
    values = [
        one if len(one) <= _LONG else f"{one[: _LONG - 16]}~{digest(one)[:8]}" for one in whole
    ]
    pairs = (f"{name}={value}" for name, value in zip(names, values, strict=True))
    return f"{run.model} [{', '.join(pairs)}]"


def questions(
    runs: Sequence[Sequence[Sample]], *, by_content: bool = True
) -> tuple[list[list[str]], int]:
    """Return the label of each sample's question, and the number of changed labels."""
    if not by_content:
        return [[one.question for one in samples] for samples in runs], 0
    taken: dict[str, tuple[str, int]] = {}
    labels: dict[tuple[str, int], str] = {}
    keys = [_keys(samples) for samples in runs]
    n_apart = 0
    for samples, own in zip(runs, keys, strict=True):
        for one, key in zip(samples, own, strict=True):
            if key is None or key in labels:
                continue
            label = one.question
            if label in taken:
                n_apart += 1
                label = f"{label}~{digest(*key)[:8]}"
            taken[label], labels[key] = key, label
    named = [
        [one.question if key is None else labels[key] for one, key in zip(*both, strict=True)]
        for both in zip(runs, keys, strict=True)
    ]
    return named, n_apart


def _keys(samples: Sequence[Sample]) -> list[tuple[str, int] | None]:
    """Return the key of each question (its content and a count), or None without content.

    The count distinguishes questions with the same content but different labels in a run.
    """
    seen: dict[str, dict[str, int]] = {}
    keyed: list[tuple[str, int] | None] = []
    for one in samples:
        twins = seen.setdefault(one.content, {})
        twin = twins.setdefault(one.question, len(twins))
        keyed.append((one.content, twin) if one.content else None)
    return keyed


# The following settings describe how questions were presented, not the respondent.
_PUT = ("num_fewshot", "system_instruction", "max_train_instances", "method", "instructions")


def unlike(runs: Sequence[Run]) -> list[str]:
    """Describe differences in how questions were presented to models."""
    stated: dict[tuple[str, str], dict[str, list[str]]] = {}
    for run in runs:
        for name in _PUT:
            value = run.configuration.get(name)
            if value is not None:
                models = stated.setdefault((run.task, name), {})
                models.setdefault(value, []).append(run.model)
    return [
        f"models were not asked alike on {task!r}: {name} is "
        + "; ".join(
            f"{shown(value)} ({listed(list(dict.fromkeys(who)))})" for value, who in models.items()
        )
        for (task, name), models in stated.items()
        if len(models) > 1
    ]
