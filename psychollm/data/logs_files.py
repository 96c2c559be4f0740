"""Paths to runs: every log in files and folders, and which of the runs count."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from psychollm._base.errors import InputError
from psychollm._base.progress import progress_bar
from psychollm.data.readers.logs.detect import read_runs, readable
from psychollm.data.readers.logs.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a log held that takes no part, and why."""

    source: str  # the file
    what: str  # the model and the task
    reason: str
    n: int  # answers


def all_runs(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    format: str | None,  # noqa: A002
    columns: Mapping[str, str] | None,
    progress: bool,
) -> tuple[list[Run], int]:
    """Return every run in files and folders, and the number of logs."""
    # What is named must be a log; in a folder, files that no reader knows are passed over, for
    # tools keep more than answers there.
    files = list(_files(paths))
    bar = progress_bar(show=progress, total=len(files), label="logs")
    runs: list[Run] = []
    n_logs = 0
    try:
        for path, named in files:
            found = read_runs(path, format=format, columns=columns, named=named)
            runs += found
            n_logs += bool(found)
            bar.update(1)
    finally:
        bar.close()
    if not runs:
        msg = f"there is no log in {', '.join(str(path) for path, _ in files[:3]) or 'the folder'}"
        raise InputError(msg)
    return runs, n_logs


def _files(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and whether it was named itself."""
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not several:
        msg = "paths is empty: name at least one log or folder"
        raise InputError(msg)
    for path in map(Path, several):
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if readable(one) and one.is_file())
            if not inside:
                msg = f"{path}: there is no log in this folder"
                raise InputError(msg)
            yield from ((one, False) for one in inside)
        elif path.is_file():
            yield path, True
        else:
            msg = f"{path}: there is no such file or folder"
            raise InputError(msg)


def valid(runs: Sequence[Run]) -> tuple[list[Run], list[LeftOut]]:
    """Return the runs that count: not those invalidated or replaced by a later one."""
    newest: dict[tuple[str, ...], Run] = {}
    for run in runs:
        key = _key(run)
        if not run.invalid and (key not in newest or newest[key].created <= run.created):
            newest[key] = run
    kept, left_out = [], []
    for run in runs:
        replaced = bool(run.identity) and newest.get(_key(run)) is not run
        if run.invalid or replaced:
            left_out.append(leave_out(run, run.invalid or "a later run takes its place"))
        else:
            kept.append(run)
    return kept, left_out


def _key(run: Run) -> tuple[str, ...]:
    # Not the task where there is an identity: one form of a log may not name it.
    return (run.format, run.identity, run.model, "" if run.identity else run.task)


def leave_out(run: Run, reason: str) -> LeftOut:
    """Return the record of a run that takes no part."""
    what = f"{run.model} on {run.task}"
    return LeftOut(source=run.source, what=what, reason=reason, n=len(run.samples))
