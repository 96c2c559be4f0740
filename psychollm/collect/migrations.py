"""The database layout of a store, as numbered migrations.

``PRAGMA user_version`` is the number of applied migrations; ``PRAGMA application_id`` identifies
the file as a psychollm store. Published migrations never change; changes to the layout are
appended as new migrations.
"""

import sqlite3
from pathlib import Path

from psychollm.collect.errors import StoreError

APPLICATION = 0x50534C4D  # "PSLM"

_FIRST = """
CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,             -- hash of `canonical`
    model TEXT NOT NULL,                  -- name of the model in the plan
    prompt_key TEXT NOT NULL,
    item TEXT NOT NULL,
    repeat INTEGER NOT NULL,              -- administration, of the prompt
    sample INTEGER NOT NULL,              -- repetition, of the plan
    prompt TEXT NOT NULL,                 -- the prompt whole, as JSON
    canonical TEXT NOT NULL,              -- what is asked, as JSON
    follows TEXT,                         -- key of the request whose conversation goes on
    state TEXT NOT NULL,                  -- waiting, open, answered, failed
    answer INTEGER REFERENCES attempt(id),
    superseded INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT,
    lease_until REAL NOT NULL DEFAULT 0,
    reserved REAL NOT NULL DEFAULT 0      -- of the budget, while it is being asked
);
CREATE INDEX request_by_state ON request (model, state, id);
CREATE INDEX request_by_place ON request (model, prompt_key, repeat, sample);
CREATE INDEX request_by_follows ON request (follows) WHERE follows IS NOT NULL;
CREATE INDEX request_by_lease ON request (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES request(id),
    wire TEXT NOT NULL,
    started REAL NOT NULL,                -- seconds since 1970
    seconds REAL NOT NULL,
    sent TEXT NOT NULL,                   -- the body whole, as it left
    status INTEGER,                       -- of HTTP; NULL where nothing came back
    raw BLOB,                             -- what came back, whole
    kind TEXT NOT NULL,                   -- "ok" or what went wrong
    detail TEXT,
    retry_after REAL,
    text TEXT,
    reasoning TEXT,
    finish_reason TEXT,
    served_model TEXT,
    provider TEXT,
    fingerprint TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost REAL NOT NULL DEFAULT 0,
    yes_mass REAL,
    no_mass REAL
);
CREATE INDEX attempt_by_request ON attempt (request);
CREATE TABLE ledger (
    model TEXT PRIMARY KEY,
    spent REAL NOT NULL DEFAULT 0
);
CREATE TABLE dropped (
    model TEXT NOT NULL,
    parameter TEXT NOT NULL,
    replacement TEXT,
    noticed REAL NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (model, parameter)
);
CREATE TABLE about (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
"""

_SECOND = """
CREATE TABLE allowance (
    place TEXT NOT NULL,                  -- address of the endpoint, and whose secret it is
    unit TEXT NOT NULL,                   -- requests, tokens
    free_at REAL NOT NULL,                -- when all that was taken will have come in
    noted REAL NOT NULL,                  -- by the clock of who took last
    PRIMARY KEY (place, unit)
);
"""

_THIRD = """
ALTER TABLE attempt ADD COLUMN sequence_logprob REAL;
ALTER TABLE attempt ADD COLUMN sequence_tokens INTEGER;
"""

_FOURTH = """
CREATE TABLE batch (
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,            -- ours; the names of its requests begin with it
    made REAL NOT NULL,
    state TEXT NOT NULL,                  -- drafted, sending, sent, closed
    file TEXT,                            -- what was uploaded for it
    server_id TEXT,                       -- what the server calls it
    lease_owner TEXT,
    lease_until REAL NOT NULL DEFAULT 0
);
ALTER TABLE request ADD COLUMN batch INTEGER REFERENCES batch(id);
CREATE INDEX request_by_batch ON request (batch) WHERE batch IS NOT NULL;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate a store to the layout of this version."""
    check_ours(connection, path)
    if version_of(connection) == len(MIGRATIONS):
        return
    # Two processes may open a new store concurrently, so the store is locked and its version is
    # read again.
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(connection), len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error unless the file is empty or a store that this version can read."""
    # Read both values in one transaction, because another process may be creating the store.
    connection.execute("BEGIN")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    connection.execute("COMMIT")
    if application != APPLICATION and tables:
        msg = f"{path} is a database, but not a psychollm store: name another file"
        raise StoreError(msg)
    version = version_of(connection)
    if version > len(MIGRATIONS):
        msg = (
            f"{path} was written by a newer psychollm (layout {version}; this version supports "
            f"{len(MIGRATIONS)}): upgrade psychollm"
        )
        raise StoreError(msg)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the number of migrations applied to a store."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
