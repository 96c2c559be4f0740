"""Stores of runs, which are SQLite files with every request and every raw reply.

A reply is stored before the next request is sent; replies that arrive together share a
transaction. The journal is a write-ahead log with ``synchronous=NORMAL``. Commits survive even if
the process is killed, because the operating system keeps the written data. A power failure may
undo the last commits but never damages the file, and the affected requests are sent again.
``synchronous=FULL`` would only prevent the loss of the last commits, at the cost of one disk flush
per reply.

Two processes may share a store. A process leases a request before sending it, and renews the lease
while the process runs; otherwise the lease expires. Leases of killed processes on this machine are
released immediately.
"""

import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from psychollm.collect.errors import StoreError, check_path, clear_errors
from psychollm.collect.migrations import MIGRATIONS, check_ours, migrate, version_of
from psychollm.collect.records import Attempt, Entry, Job, job_of
from psychollm.collect.request import Request

LEASE_SECONDS = 60.0
BLOCK = 1000  # number of requests inserted per transaction
# SQL condition for requests that were never sent. An exchange that ended with a rejected parameter
# is not counted.
UNTRIED = (
    "NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.request = request.id "
    "AND kind <> 'refused_parameter')"
)

_FIELDS = tuple(Attempt.__dataclass_fields__)
_INSERT_ATTEMPT = (
    f"INSERT INTO attempt (request, {', '.join(_FIELDS)}) "  # noqa: S608 -- constants only
    f"VALUES (?{', ?' * len(_FIELDS)})"
)


class Store:
    """One SQLite file with all requests of a run and their outcomes.

    Parameters
    ----------
    path : Path
        SQLite file, which is created if it does not exist.
    busy_seconds : float
        Number of seconds to wait for another process that is writing.
    create : bool
        Whether to create a missing file.

    Raises
    ------
    StoreError
        If the file is locked, has a newer version or is not a store, or if the disk is full.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     store.counts()
    {}
    """

    def __init__(self, path: Path, *, busy_seconds: float = 30.0, create: bool = True) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        check_path(path)
        if path.is_dir():
            msg = f"{path} is a folder: pass the path of a store file"
            raise StoreError(msg)
        if not create and not path.is_file():
            msg = f"{path} does not exist: name the store of a run"
            raise StoreError(msg)
        # Do not write, because the store may be in a read-only folder.
        self._fixed = not (create or all(os.access(one, os.W_OK) for one in (path, path.parent)))
        with clear_errors(path):
            try:
                self._open("mode=ro" if self._fixed else "")
            except sqlite3.OperationalError:
                # The write-ahead log cannot be opened in this folder, but without a log the file
                # is complete.
                if not self._fixed or _log_of(path):
                    raise
                self._open("immutable=1")

    def _open(self, how: str) -> None:
        place: str | Path = f"{self.path.absolute().as_uri()}?{how}" if how else self.path
        wait = self._busy_seconds
        self._db = sqlite3.connect(place, timeout=wait, isolation_level=None, uri=bool(how))
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        # Check the file before writing, because it may belong to another program.
        check_ours(self._db, self.path)
        self._db.row_factory = sqlite3.Row
        if self._fixed and version_of(self._db) == len(MIGRATIONS):
            return
        _keep_log(self._db, self._busy_seconds)
        self._db.execute("PRAGMA synchronous = NORMAL")
        migrate(self._db, self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release all leases and close the file."""
        try:
            if not self._fixed:
                self.release()
        finally:
            self._db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction, completely or not at all."""
        with clear_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[sqlite3.Row]:
        """Yield the rows of a read query."""
        with clear_errors(self.path):
            # `yield from` would close the cursor after the store, which would raise an error.
            for row in self._db.execute(query, values):  # noqa: UP028
                yield row

    # -- entering ------------------------------------------------------------------------------

    def enlist(self, requests: Iterable[Request]) -> int:
        """Enter new requests without changing existing ones; return the number of new requests.

        If a request has the prompt and model of an older request but other messages or parameters,
        the older request is kept but no longer sent.
        """
        pending = iter(requests)
        new = 0
        while block := list(islice(pending, BLOCK)):
            with self.writing() as db:
                new += sum(_enter(db, request) for request in block)
        return new

    def note(self, name: str, value: str) -> None:
        """Store a piece of information about the run, such as the plan, under a key."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def reopen(self, models: Iterable[str]) -> int:
        """Reopen the failed requests of models, and return the number of these requests."""
        with self.writing() as db:
            again = [
                db.execute(
                    "UPDATE request SET state = 'open' WHERE model = ? AND state = 'failed'",
                    (model,),
                ).rowcount
                for model in models
            ]
        return sum(again)

    def set_aside(self, models: Iterable[str]) -> None:
        """Suspend the unanswered requests of these models until `enlist` adds them again."""
        with self.writing() as db:
            for model in models:
                db.execute(
                    "UPDATE request SET superseded = 1 "
                    "WHERE model = ? AND state IN ('open', 'waiting')",
                    (model,),
                )

    def is_open(self, model: str, *, untried: bool = False) -> bool:
        """Return whether a model has open requests; with `untried`, only unsent requests count."""
        query = "SELECT 1 FROM request WHERE model = ? AND state = 'open' AND superseded = 0"
        if untried:
            query = f"{query} AND batch IS NULL AND {UNTRIED}"
        return next(self.rows(f"{query} LIMIT 1", (model,)), None) is not None

    # -- sending -------------------------------------------------------------------------------

    def claim(
        self, model: str, n: int, *, now: float | None = None, tried: bool = False
    ) -> list[Job]:
        """Lease up to `n` open requests of a model; with `tried`, only requests sent before."""
        moment = time.time() if now is None else now
        only = f"AND NOT {UNTRIED} " if tried else ""
        with self.writing() as db:
            waiting = db.execute(
                "UPDATE request SET lease_owner = ?, lease_until = ? WHERE id IN ("  # noqa: S608
                "SELECT id FROM request WHERE model = ? AND state = 'open' AND superseded = 0 "
                f"AND batch IS NULL AND lease_until <= ? {only}ORDER BY id LIMIT ?) "
                "RETURNING id, key, canonical, follows",
                (self.owner, moment + LEASE_SECONDS, model, moment, n),
            ).fetchall()
        waiting.sort(key=lambda row: int(row["id"]))
        return [
            job_of(row["id"], row["key"], row["canonical"], self.before(row["follows"]))
            for row in waiting
        ]

    def before(self, key: str | None) -> list[Mapping[str, str]]:
        """Return the conversation that a request continues, with all earlier replies."""
        if key is None:
            return []
        query = (
            "SELECT canonical, follows, text FROM request "
            "JOIN attempt ON attempt.id = request.answer WHERE key = ?"
        )
        row = next(self.rows(query, (key,)), None)
        if row is None:
            msg = f"{self.path}: request {key} has a continuation but no reply"
            raise StoreError(msg)
        reply = {"role": "assistant", "content": row["text"]}
        return [*self.before(row["follows"]), *json.loads(row["canonical"])["messages"], reply]

    def record(self, job: Job, attempt: Attempt, *, last: bool = False) -> int:
        """Store one exchange and its consequences in one transaction.

        Parameters
        ----------
        job : Job
            Request that was sent.
        attempt : Attempt
            Record of the exchange; if its kind is "ok", the request counts as answered.
        last : bool
            Whether this is the last attempt, after which a request without an answer fails.

        Returns
        -------
        int
            Number of requests that continue this request and can now be sent.
        """
        return self.record_all([Entry(job, attempt, last)])[0]

    def record_all(self, exchanges: Iterable[Entry]) -> list[int]:
        """Store several exchanges as `record` does, in one transaction."""
        with self.writing() as db:
            return [_keep(db, job, attempt, last=last) for job, attempt, last in exchanges]

    # -- leases and money ----------------------------------------------------------------------

    def renew(self) -> None:
        """Extend the leases of this process while the process runs."""
        with self.writing() as db:
            for table in ("request", "batch"):
                db.execute(
                    f"UPDATE {table} SET lease_until = ? WHERE lease_owner = ?",  # noqa: S608
                    (time.time() + LEASE_SECONDS, self.owner),
                )

    def release(self, *, charge: bool = False) -> None:
        """Release all leases of this process; `charge` counts reserved amounts as spent."""
        self._free(self.owner, charge=charge)

    def release_dead(self) -> int:
        """Release leases of killed processes on this machine, and return the number of leases.

        Amounts that killed processes had reserved count as spent, because the server may have
        processed the requests.
        """
        query = (
            "SELECT lease_owner FROM request WHERE lease_owner IS NOT NULL UNION "
            "SELECT lease_owner FROM batch WHERE lease_owner IS NOT NULL"
        )
        owners = [row[0] for row in self.rows(query)]
        return sum(self._free(owner, charge=True) for owner in owners if _is_dead(owner))

    def _free(self, owner: str, *, charge: bool) -> int:
        with self.writing() as db:
            if charge:
                db.execute(
                    "INSERT INTO ledger SELECT model, sum(reserved) FROM request "
                    "WHERE lease_owner = ? AND reserved > 0 GROUP BY model "
                    "ON CONFLICT (model) DO UPDATE SET spent = spent + excluded.spent",
                    (owner,),
                )
            db.execute(
                "UPDATE batch SET lease_owner = NULL, lease_until = 0 WHERE lease_owner = ?",
                (owner,),
            )
            return db.execute(
                "UPDATE request SET lease_owner = NULL, lease_until = 0, reserved = 0 "
                "WHERE lease_owner = ?",
                (owner,),
            ).rowcount

    def reserve(self, job: Job, amount: float, *, budget: float, model: float | None) -> bool:
        """Reserve the maximum cost of a request, unless it would exceed a budget.

        Parameters
        ----------
        job : Job
            Request about to be sent.
        amount : float
            Upper bound on the cost of the request.
        budget : float
            Budget of the run.
        model : float or None
            Budget of the request's model, if it has one.
        """
        with self.writing() as db:
            if spent_in(db, None) + amount > budget:
                return False
            if model is not None and spent_in(db, job.model) + amount > model:
                return False
            db.execute("UPDATE request SET reserved = ? WHERE id = ?", (amount, job.id))
        return True

    def drop(self, model: str, parameter: str, replacement: str | None, why: str) -> None:
        """Record that a model rejects a parameter, so that it is no longer sent."""
        with self.writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO dropped VALUES (?, ?, ?, ?, ?)",
                (model, parameter, replacement, time.time(), why),
            )

    # -- reading -------------------------------------------------------------------------------

    def dropped(self, model: str) -> dict[str, str | None]:
        """Return the parameters that a model rejects, each with its replacement."""
        query = "SELECT parameter, replacement FROM dropped WHERE model = ?"
        return {row[0]: row[1] for row in self.rows(query, (model,))}

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of requests of each model by state."""
        query = "SELECT model, state, count(*) FROM request WHERE superseded = 0 GROUP BY 1, 2"
        table: dict[str, dict[str, int]] = {}
        for model, state, n in self.rows(query):
            table.setdefault(model, {})[state] = n
        return table

    def spent(self, model: str | None = None) -> float:
        """Return the amount spent, by one model or in total."""
        with clear_errors(self.path):
            return spent_in(self._db, model, reserved=False)


def _keep_log(db: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch to a write-ahead log; retry, because SQLite does not wait for other processes."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _log_of(path: Path) -> bool:
    """Return whether the write-ahead log of a store has data that are not yet in the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _enter(db: sqlite3.Connection, request: Request) -> bool:
    """Enter one request; return whether it is new."""
    prompt = request.prompt
    cell = (request.model, prompt.key, prompt.repeat, request.sample)
    state = "open"
    if request.follows is not None:
        before = db.execute("SELECT state FROM request WHERE key = ?", (request.follows,))
        state = "open" if (before.fetchone() or ("",))[0] == "answered" else "waiting"
    new = db.execute(
        "INSERT OR IGNORE INTO request (key, model, prompt_key, item, repeat, sample, prompt, "
        "canonical, follows, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request.key,
            *cell[:2],
            prompt.item,
            *cell[2:],
            json.dumps(prompt.to_dict()),
            request.canonical,
            request.follows,
            state,
        ),
    ).rowcount
    db.execute(
        "UPDATE request SET superseded = (key <> ?) WHERE model = ? AND prompt_key = ? "
        "AND repeat = ? AND sample = ? AND superseded <> (key <> ?)",
        (request.key, *cell, request.key),
    )
    return bool(new)


def _keep(db: sqlite3.Connection, job: Job, attempt: Attempt, *, last: bool) -> int:
    """Store one exchange; return the number of requests that continue it and can now be sent."""
    values = (job.id, *(getattr(attempt, name) for name in _FIELDS))
    attempt_id = db.execute(_INSERT_ATTEMPT, values).lastrowid
    if attempt.cost:
        db.execute(
            "INSERT INTO ledger VALUES (?, ?) ON CONFLICT (model) "
            "DO UPDATE SET spent = spent + excluded.spent",
            (job.model, attempt.cost),
        )
    if attempt.kind == "ok":
        return _answered(db, job, attempt_id)
    if last:
        _settle(db, job, "failed", None)
    else:
        db.execute("UPDATE request SET reserved = 0, batch = NULL WHERE id = ?", (job.id,))
    return 0


def _answered(db: sqlite3.Connection, job: Job, attempt: int | None) -> int:
    _settle(db, job, "answered", attempt)
    return db.execute(
        "UPDATE request SET state = 'open' WHERE follows = ? AND state = 'waiting'", (job.key,)
    ).rowcount


def _settle(db: sqlite3.Connection, job: Job, state: str, answer: int | None) -> None:
    """Close a request; only its first answer counts."""
    db.execute(
        "UPDATE request SET state = ?, answer = ?, lease_owner = NULL, lease_until = 0, "
        "reserved = 0, batch = NULL WHERE id = ? AND answer IS NULL",
        (state, answer, job.id),
    )


# Two queries for the reserved amounts can use indexes; one query would read every request.
HELD = (
    "FROM request INDEXED BY request_by_lease WHERE lease_owner IS NOT NULL",
    "FROM request INDEXED BY request_by_batch WHERE batch IS NOT NULL AND lease_owner IS NULL",
)


def spent_in(db: sqlite3.Connection, model: str | None, *, reserved: bool = True) -> float:
    """Return the amount spent, plus reservations if requested."""
    queries = ["SELECT coalesce(sum(spent), 0) FROM ledger WHERE 1"]
    if reserved:
        queries += [f"SELECT coalesce(sum(reserved), 0) {held}" for held in HELD]
    of_model, values = ("", ()) if model is None else (" AND model = ?", (model,))
    return sum(float(db.execute(one + of_model, values).fetchone()[0]) for one in queries)


def _is_dead(owner: str) -> bool:
    """Return whether the process that owns a lease ran on this machine and has ended."""
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
