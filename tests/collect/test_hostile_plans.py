"""Plans and stores that cannot be used: one line each, at once, and bounded memory."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from psychollm.cli import UNUSABLE, main
from psychollm.collect import connection
from psychollm.collect.connection import Connections
from psychollm.collect.errors import StoreError
from psychollm.collect.faults import Kind
from psychollm.collect.plan import read_plan
from psychollm.collect.store import Store
from tests.collect.hostile import Hostile, said

pytest.importorskip("httpx")

PROMPT = '{"key":"q","item":"q","messages":[{"role":"user","content":"?"}],"reply":"yes_no"}\n'
PLAN = """
prompts = "ok.jsonl"
store = "run.sqlite"
#more
[endpoints.here]
url = "http://127.0.0.1:9/v1"
[[models]]
name = "a"
model = "org/a"
endpoint = "here"
"""
NUL = r"\u0000"
CHANGES = {
    "levels": ("#more", f"x = {'[' * 900}{']' * 900}", "is not valid TOML"),
    "tables": ("#more", f"x = {'{a=' * 900}1{'}' * 900}", "is not valid TOML"),
    "digits": ("#more", f"repeats = {'9' * 5000}", "4300 digits"),
    "fewer digits": ("#more", f"repeats = {'9' * 4000}", "repeats must be at most"),
    "hexadecimal": ("#more", f"repeats = 0x{'f' * 5000}", "repeats must be at most"),
    "repeats": ("#more", "repeats = 1000000000000", "repeats must be at most 1,000,000"),
    "NUL in prompts": ("ok.jsonl", f"ok{NUL}.jsonl", "cannot be read: embedded null"),
    "long prompts": ("ok.jsonl", "o" * 5000, "cannot be read: File name too long"),
    "device": ("ok.jsonl", "/dev/zero", "pipe or a device"),
    "pipe": ("ok.jsonl", "pipe", "pipe or a device"),
    "NUL in store": ("run.sqlite", f"run{NUL}.sqlite", "cannot be a store: "),
    "long store": ("run.sqlite", "r" * 5000, "cannot be a store: File name too long"),
    "URL": ("9/v1", f"9/{'v' * 200_000}", "url has more than 8,000 characters"),
    "name": ('"a"', f'"{"a" * 200_000}"', "one line of at most 200 characters"),
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "ok.jsonl").write_text(PROMPT)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


@pytest.mark.parametrize("name", CHANGES)
def test_a_hostile_plan_is_one_line(plan: Path, name: str, capsys) -> None:
    old, new, words = CHANGES[name]
    read_plan(plan)
    plan.write_text(PLAN.replace(old, new))
    assert main(["collect", str(plan)]) == UNUSABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not list(plan.parent.glob("*.sqlite"))


def test_a_store_of_no_possible_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be a store"):
        Store(tmp_path / ("r" * 5000), create=False)


# Stores that are only read -------------------------------------------------------------------


@pytest.fixture
def as_nobody(monkeypatch: pytest.MonkeyPatch):
    """Let nothing be written that permissions forbid, whoever runs the tests."""
    if os.name == "nt":
        pytest.skip("Windows has other permissions")

    @contextmanager
    def closed() -> Iterator[None]:
        before = os.geteuid()
        # `access` asks for the real user, who may be root.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        if before == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(before)
            monkeypatch.undo()

    return closed


@pytest.mark.parametrize("folder", [0o555, 0o755])
def test_a_store_is_read_where_nothing_can_be_written(
    plan: Path, as_nobody, folder: int, capsys
) -> None:
    # Not below `tmp_path`, whose parents are closed to others.
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.sqlite"
        with Store(path) as store:
            store.enlist(read_plan(plan).requests())
        path.chmod(0o444)
        path.parent.chmod(folder)
        with as_nobody():
            with Store(path, create=False) as store:
                assert sum(store.counts()["a"].values()) == 1
                with pytest.raises(StoreError, match="is read-only"), store.writing() as db:
                    db.execute("DELETE FROM request")
            assert main(["score", str(path)]) == UNUSABLE
            assert "prompt 'q' names no instrument" in capsys.readouterr().err  # it was read
            with pytest.raises(StoreError):
                Store(path)


# Replies under way ---------------------------------------------------------------------------


def test_replies_under_way_are_bounded_over_all_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_UNDER_WAY", 5_000_000)
    monkeypatch.setattr(connection, "LARGEST_REPLY", 2_000_000)
    received = connection._Received
    highest = 0
    take = received.take

    def noted(self: connection._Received, part: bytes) -> None:
        nonlocal highest
        take(self, part)
        highest = max(highest, received.under_way)

    monkeypatch.setattr(received, "take", noted)

    async def post_all(url: str) -> list[connection.Exchange]:
        lines = Connections(url, headers={}, timeout=30.0)
        sent = [lines.send("POST", "/x", b"{}", largest=2_000_000) for _ in range(12)]
        found = await asyncio.gather(*sent)
        found.append(await lines.send("POST", "/x", b"{}", largest=2_000_000))
        await lines.close()
        return found

    with Hostile(lambda body, n: said("y" * 1_500_000)) as server:
        *together, alone = asyncio.run(post_all(server.url))
    # Of twelve that arrive at the same moment none may find room; one that comes after them does.
    assert {one.kind for one in together} <= {Kind.OK, Kind.TOO_LARGE}
    assert alone.kind is Kind.OK
    assert highest <= 5_000_000 + 12 * connection.SMALL_REPLY
    assert received.under_way == 0
