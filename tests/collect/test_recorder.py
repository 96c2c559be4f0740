"""Replies that arrive together: kept together, each before whoever handed it in goes on."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from psychollm.collect.errors import StoreError
from psychollm.collect.progress import Recorder
from psychollm.collect.records import Job
from psychollm.collect.store import Store
from tests.collect.test_store import DONE, LOST, filled

UNKEPT = replace(DONE, text=object())  # of no type that SQLite has


def run(path: Path, act: Callable[[Store, Recorder, list[Job]], Coroutine[Any, Any, None]]) -> int:
    """Let something be done with a store of eight requests, and return how often it committed."""
    with filled(path, 8) as store:
        jobs = store.claim("m", 8)
        said: list[str] = []
        store._db.set_trace_callback(said.append)
        asyncio.run(act(store, Recorder(store), jobs))
        store._db.set_trace_callback(None)
    return said.count("COMMIT")


def kept(path: Path) -> int:
    """Return how many replies another process would see."""
    with closing(sqlite3.connect(path / "run.sqlite")) as other:
        return int(other.execute("SELECT count(*) FROM attempt WHERE kind = 'ok'").fetchone()[0])


def test_those_who_wait_go_on_after_the_one_commit(tmp_path: Path) -> None:
    seen: list[int] = []

    async def act(store: Store, recorder: Recorder, jobs: list[Job]) -> None:
        async def one(job: Job) -> None:
            await recorder.record(job, DONE)
            seen.append(kept(tmp_path))

        await asyncio.gather(*map(one, jobs[:5]))
        await one(jobs[5])

    assert run(tmp_path, act) == 2
    assert seen == [5, 5, 5, 5, 5, 6]


def test_what_a_cancelled_task_handed_in_is_kept(tmp_path: Path) -> None:
    async def act(store: Store, recorder: Recorder, jobs: list[Job]) -> None:
        tasks = [asyncio.create_task(recorder.record(job, DONE)) for job in jobs]
        await asyncio.sleep(0)
        tasks[3].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(one, asyncio.CancelledError) for one in found].count(True) == 1

    assert run(tmp_path, act) == 1
    assert kept(tmp_path) == 8


def test_one_that_cannot_be_kept_takes_none_of_the_others_with_it(tmp_path: Path) -> None:
    async def act(store: Store, recorder: Recorder, jobs: list[Job]) -> None:
        attempts = [DONE, LOST, UNKEPT, DONE]
        handed = (
            recorder.record(job, attempt) for job, attempt in zip(jobs, attempts, strict=False)
        )
        found = await asyncio.gather(*handed, return_exceptions=True)
        assert [type(one) for one in found] == [int, int, StoreError, int]
        with pytest.raises(StoreError):
            await recorder.record(jobs[4], UNKEPT)

    run(tmp_path, act)
    assert kept(tmp_path) == 2
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": 2, "open": 6}}
        assert store.spent() == LOST.cost
