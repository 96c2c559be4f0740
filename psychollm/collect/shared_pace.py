"""Limits per minute, kept in the store: all processes that share it keep them together.

Each takes its units before it asks, in one transaction, and waits until they have come in. Moments
are those of the clock on the wall, for processes have no other in common; if it is set back, what
was taken before is forgotten.
"""

import sqlite3
import time
from collections.abc import Mapping

from psychollm.collect.pace import Allowance
from psychollm.collect.roster import Endpoint
from psychollm.collect.store import Store


class SharedAllowance:
    """The requests and tokens per minute of one endpoint, among all processes of a store."""

    # Endpoints with one address and one secret have them in common.

    def __init__(self, store: Store, endpoint: Endpoint) -> None:
        self._store = store
        self._place = f"{endpoint.url} {endpoint.key or ''}".strip()
        given = {"requests": endpoint.requests_per_minute, "tokens": endpoint.tokens_per_minute}
        self._limits = {unit: limit for unit, limit in given.items() if limit is not None}

    def take(self, tokens: float, *, now: float | None = None) -> float:
        """Take one request and its tokens; return how many seconds to wait before asking."""
        return self._change({"requests": 1.0, "tokens": tokens}, now)

    def give_back(self, tokens: float, *, requests: float = 0.0) -> None:
        """Return what was taken and not used; negative tokens were used beyond."""
        self._change({"requests": -requests, "tokens": -tokens}, None)

    def _change(self, units: Mapping[str, float], now: float | None) -> float:
        changed = {unit: units[unit] for unit in self._limits if units[unit]}
        if not changed:
            return 0.0
        moment = time.time() if now is None else now
        wait = 0.0
        with self._store.writing() as db:
            for unit, n in changed.items():
                allowance = self._load(db, unit, moment)
                if n > 0:
                    wait = max(wait, allowance.take(n, now=moment))
                else:
                    allowance.give_back(-n)
                db.execute(
                    "INSERT OR REPLACE INTO allowance VALUES (?, ?, ?, ?)",
                    (self._place, unit, allowance.free_at, moment),
                )
        return wait

    def _load(self, db: sqlite3.Connection, unit: str, now: float) -> Allowance:
        query = "SELECT free_at, noted FROM allowance WHERE place = ? AND unit = ?"
        row = db.execute(query, (self._place, unit)).fetchone()
        allowance = Allowance(per_minute=self._limits[unit])
        if row is not None and row[1] <= now + _CLOCKS_DIFFER:
            allowance.free_at = row[0]
        return allowance


_CLOCKS_DIFFER = 5.0  # seconds that the clocks of two machines may differ by
