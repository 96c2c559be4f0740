"""Recorded forms of replies, and the readers that they are for."""

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from psychollm.instruments import readers
from psychollm.instruments.reading import Reading

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "replies"
OPTIONS = {"A": "Paris", "B": "London", "C": "Rome", "D": "Berlin"}
LABELS = {"never true": 1, "sometimes true": 2, "often true": 3, "always true": 4}


class Form(NamedTuple):
    reply: str
    outcome: str
    value: str
    why: str


def read_option(reply: str, *, finish_reason: str | None = None) -> Reading:
    return readers.read_option(reply, OPTIONS, finish_reason=finish_reason)


READERS: dict[str, Callable[..., Reading]] = {
    "yes_no": readers.read_yes_no,
    "integer": readers.read_integer,
    "option": read_option,
    "rating": partial(readers.read_rating, labels=LABELS),
    "percent": readers.read_percent,
    "proportion": partial(readers.read_percent, scale="0-1"),
    "verbal": readers.read_verbal,
}


def forms(name: str) -> list[Form]:
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Form(row["reply"], row["outcome"], row["value"], row["why"])
            for row in csv.DictReader(file)
        ]


def agrees(reading: Reading, outcome: str, value: str) -> bool:
    if reading.outcome.value != outcome:
        return False
    if reading.value is None or isinstance(reading.value, str):
        return (reading.value or "") == value
    return abs(reading.value - float(value)) < 1e-9
