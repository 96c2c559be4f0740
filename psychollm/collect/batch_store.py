"""What a store knows of batches: which requests are out in one, and how far it is.

A batch is written down before anything of it leaves, and its requests with it: while it is out
they are nobody else's, whatever becomes of the process that handed it in.

drafted -> sending (it may have reached the server) -> sent (the server has named it) -> closed
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from psychollm.collect.records import Job, job_of
from psychollm.collect.store import LEASE_SECONDS, UNTRIED, Store, spent_in

MOST_REQUESTS = 10_000  # of one batch
MOST_LETTERS = 40_000_000  # of its prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch that is not closed."""

    id: int
    model: str
    name: str
    made: float
    state: str
    file: str | None
    server_id: str | None


_FIELDS = ", ".join(Batch.__dataclass_fields__)


def draft(
    store: Store,
    model: str,
    amount: Callable[[Job], float],
    *,
    budget: float | None,
    model_budget: float | None,
) -> Batch | None:
    """Write down a batch of what a model was never asked, as much as budgets allow."""
    moment = time.time()
    with store.writing() as db:
        # Names of our own alone are put into the text.
        waiting = db.execute(
            "SELECT id, key, canonical, follows FROM request WHERE model = ? AND state = 'open' "  # noqa: S608
            f"AND superseded = 0 AND lease_until <= ? AND batch IS NULL AND {UNTRIED} "
            "ORDER BY id LIMIT ?",
            (model, moment, MOST_REQUESTS),
        ).fetchall()
        held, own = spent_in(db, None), spent_in(db, model)
        chosen: list[tuple[float, int]] = []
        letters = 0
        for row in waiting:
            before = store.before(row["follows"])
            job = job_of(row["id"], row["key"], row["canonical"], before)
            cost = amount(job)
            held, own = held + cost, own + cost
            letters += len(row["canonical"]) + sum(len(turn["content"]) for turn in before)
            over = held > (budget or held) or own > (model_budget or own)
            if over or (chosen and letters > MOST_LETTERS):
                break
            chosen.append((cost, job.id))
        if not chosen:
            return None
        number = db.execute(
            "INSERT INTO batch (model, name, made, state, lease_owner, lease_until) "
            "VALUES (?, ?, ?, 'drafted', ?, ?)",
            (model, uuid4().hex[:20], moment, store.owner, moment + LEASE_SECONDS),
        ).lastrowid
        db.executemany(
            "UPDATE request SET batch = ?, reserved = ? WHERE id = ?",
            [(number, cost, one) for cost, one in chosen],
        )
        row = db.execute(f"SELECT {_FIELDS} FROM batch WHERE id = ?", (number,)).fetchone()  # noqa: S608
    return Batch(**row)


def adopt(store: Store, model: str) -> list[Batch]:
    """Take charge of the batches of a model that nobody looks after."""
    moment = time.time()
    with store.writing() as db:
        rows = db.execute(
            "UPDATE batch SET lease_owner = ?, lease_until = ? WHERE model = ? "  # noqa: S608
            f"AND state <> 'closed' AND lease_until <= ? RETURNING {_FIELDS}",
            (store.owner, moment + LEASE_SECONDS, model, moment),
        ).fetchall()
    return [Batch(**row) for row in rows]


def note(
    store: Store, batch: Batch, *, state: str, file: str | None = None, server: str | None = None
) -> None:
    """Write down how far a batch is."""
    with store.writing() as db:
        db.execute(
            "UPDATE batch SET state = ?, file = coalesce(?, file), "
            "server_id = coalesce(?, server_id) WHERE id = ?",
            (state, file, server, batch.id),
        )


def close(store: Store, batch: Batch) -> None:
    """Close a batch, and set free what is still in it."""
    with store.writing() as db:
        db.execute(
            "UPDATE request SET batch = NULL, reserved = 0 WHERE batch = ?",
            (batch.id,),
        )
        db.execute(
            "UPDATE batch SET state = 'closed', lease_owner = NULL, lease_until = 0 WHERE id = ?",
            (batch.id,),
        )


def jobs_in(store: Store, batch: Batch) -> dict[str, Job]:
    """Return the requests that are out in a batch, by the names that they have there."""
    query = "SELECT id, key, canonical, follows FROM request WHERE batch = ? ORDER BY id"
    return {
        f"{batch.name}-{row['id']}": job_of(
            row["id"], row["key"], row["canonical"], store.before(row["follows"])
        )
        for row in list(store.rows(query, (batch.id,)))
    }


def server_ids(store: Store) -> list[str]:
    """Return what servers call the batches of a store."""
    query = "SELECT server_id FROM batch WHERE server_id IS NOT NULL"
    return [row[0] for row in store.rows(query)]
