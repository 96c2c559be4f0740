"""Actual and expected cost and time of collection by model."""

import math
from collections.abc import Mapping
from typing import Any

from psychollm.collect.roster import Endpoint
from psychollm.collect.store import Store

_QUERY = """
SELECT model, count(*) AS exchanges, sum(attempt.id = answer) AS answered,
       total(input_tokens) AS input_tokens, total(output_tokens) AS output_tokens,
       total(reasoning_tokens) AS reasoning_tokens, total(seconds) AS seconds
FROM attempt JOIN request ON request.id = attempt.request GROUP BY model
"""
_COUNTS = ("exchanges", "answered", "input_tokens", "output_tokens", "reasoning_tokens")


def costs(store: Store) -> dict[str, dict[str, Any]]:
    """Return the exchanges, tokens, seconds and cost of each model in a store.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.

    Returns
    -------
    dict
        A dictionary for each model with the number of ``exchanges``, the number that were
        ``answered``, the total ``seconds`` of all exchanges, and the ``cost``. The dictionary also
        contains the numbers of ``input_tokens``, ``output_tokens`` and ``reasoning_tokens``
        (included in the output). The cost includes amounts that a killed run had reserved.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     costs(store)
    {}
    """
    table = {}
    for row in list(store.rows(_QUERY)):
        counts = {name: int(row[name] or 0) for name in _COUNTS}
        cost = store.spent(row["model"])
        table[row["model"]] = {**counts, "seconds": float(row["seconds"]), "cost": cost}
    return table


def cost_table(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return lines of text with tokens and cost of each model, or no lines if the cost is zero."""
    if not any(one["cost"] for one in found.values()):
        return []
    head = ("", "input", "output", "thinking", "cost", "a reply")
    rows: list[tuple[str, ...]] = [head]
    for name, one in found.items():
        tokens = (one["input_tokens"], one["output_tokens"], one["reasoning_tokens"])
        each = one["cost"] / one["answered"] if one["answered"] else math.nan
        rows.append((name, *(f"{n:,}" for n in tokens), f"{one['cost']:.3g}", f"{each:.2g}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]


def likely(
    before: Mapping[str, Any] | None, n: int, endpoint: Endpoint, tokens: int
) -> tuple[float, float]:
    """Return the expected cost and seconds of `n` requests, extrapolated from earlier requests."""
    # Without earlier requests, the cost is unknown, and the time is computed only from rate
    # limits.
    limits = ((endpoint.requests_per_minute, n), (endpoint.tokens_per_minute, tokens))
    paced = [60.0 * units / limit for limit, units in limits if limit is not None]
    if not before or not before["answered"]:
        return math.nan, max(paced, default=math.nan)
    cost, seconds = (before[name] / before["answered"] * n for name in ("cost", "seconds"))
    return cost, max([seconds / endpoint.concurrency, *paced])
