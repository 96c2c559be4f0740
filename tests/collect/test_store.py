"""The store: whole, shared, resumed, and clear about what ails it."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from psychollm.collect.errors import StoreError, clear_errors
from psychollm.collect.migrations import MIGRATIONS, migrate, version_of
from psychollm.collect.records import Attempt
from psychollm.collect.request import Request
from psychollm.collect.store import HELD, LEASE_SECONDS, Store
from psychollm.instruments.prompt import Message, Prompt
from tests.collect.conftest import prompts

DONE = Attempt(wire="w", started=0.0, seconds=0.1, sent="{}", kind="ok", text="Yes", raw=b"{}")
LOST = Attempt(wire="w", started=0.0, seconds=0.1, sent="{}", kind="timeout", cost=0.5)


def request(
    prompt: Prompt, *, model: str = "m", follows: str | None = None, **more: object
) -> Request:
    return Request.build(prompt, model=model, model_id="id", parameters=more, follows=follows)


def filled(path: Path, n: int = 3) -> Store:
    store = Store(path / "run.sqlite")
    store.enlist(request(prompt) for prompt in prompts(n))
    return store


def test_what_is_entered_twice_is_there_once(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        assert store.enlist(request(prompt) for prompt in prompts(5)) == 2
        assert store.counts() == {"m": {"open": 5}}


def test_an_answer_outlives_the_store(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        (job,) = store.claim("m", 1)
        store.record(job, DONE)
    with filled(tmp_path) as store:
        assert store.counts() == {"m": {"answered": 1, "open": 2}}
        assert [other.id for other in store.claim("m", 9)] == [2, 3]


def test_keys_tell_apart_what_differs_and_nothing_else() -> None:
    one, two = prompts(2)
    same = request(one, temperature=0.0, seed=1)
    assert same.key == request(one, seed=1, temperature=0.0).key
    others = [
        request(two, temperature=0.0, seed=1),
        request(one, temperature=0.0, seed=2),
        request(one, model="n", temperature=0.0, seed=1),
        request(one, follows="k", temperature=0.0, seed=1),
    ]
    assert len({same.key, *(other.key for other in others)}) == 5


def test_a_key_never_changes() -> None:
    # A change of this value makes every store ask everything again: raise KEY_VERSION instead.
    key = request(prompts(1)[0], temperature=0.0).key
    assert key == "2608f1fe293214e22ff86d9d6bbe0c1ed81580ec495c8ff65f4ae199bf5e74bb"


def test_the_way_of_asking_changes(tmp_path: Path) -> None:
    with filled(tmp_path, 1) as store:
        (job,) = store.claim("m", 1)
        store.record(job, DONE)
        changed = [request(prompt, temperature=1.0) for prompt in prompts(1)]
        assert store.enlist(changed) == 1
        assert store.counts() == {"m": {"open": 1}}
        # Back again: the old answer stands.
        store.enlist(request(prompt) for prompt in prompts(1))
        assert store.counts() == {"m": {"answered": 1}}


def test_two_owners_never_hold_the_same_request(tmp_path: Path) -> None:
    with filled(tmp_path, 10) as one, Store(tmp_path / "run.sqlite") as two:
        mine, theirs = one.claim("m", 6), two.claim("m", 6)
        assert len(mine) == 6
        assert len(theirs) == 4
        assert not {job.id for job in mine} & {job.id for job in theirs}


def test_leases_run_out(tmp_path: Path) -> None:
    with filled(tmp_path, 1) as one, Store(tmp_path / "run.sqlite") as two:
        (job,) = one.claim("m", 1, now=1000.0)
        assert two.claim("m", 1, now=1000.0 + LEASE_SECONDS / 2) == []
        (again,) = two.claim("m", 1, now=1000.0 + LEASE_SECONDS)
        # Both answer: both replies are kept, the first counts.
        two.record(again, DONE)
        one.record(job, LOST, last=True)
        assert one.counts() == {"m": {"answered": 1}}
        assert len(list(one.rows("SELECT 1 FROM attempt"))) == 2


def test_leases_of_the_living_stay(tmp_path: Path) -> None:
    with filled(tmp_path, 1) as one, Store(tmp_path / "run.sqlite") as two:
        one.claim("m", 1)
        assert two.release_dead() == 0
        assert two.claim("m", 1) == []


def test_a_budget_counts_what_is_under_way(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as one, Store(tmp_path / "run.sqlite") as two:
        (first,), (second,) = one.claim("m", 1), two.claim("m", 1)
        assert one.reserve(first, 0.6, budget=1.0, model=None)
        assert not two.reserve(second, 0.6, budget=1.0, model=None)
        assert not two.reserve(second, 0.3, budget=1.0, model=0.8)
        one.record(first, LOST)
        assert one.spent() == one.spent("m") == 0.5
        assert two.reserve(second, 0.5, budget=1.0, model=None)


@pytest.mark.parametrize("more", ["", " AND model = 'm'"])
@pytest.mark.parametrize("held", HELD)
def test_what_is_under_way_is_found_without_reading_all_requests(
    held: str, more: str, tmp_path: Path
) -> None:
    with filled(tmp_path) as store:
        (row,) = store.rows(f"EXPLAIN QUERY PLAN SELECT sum(reserved) {held}{more}")
    assert "SEARCH request USING INDEX request_by_" in row[3]


def test_a_budget_of_one_model_is_not_spent_by_another(tmp_path: Path) -> None:
    asked = [request(prompt, model=name) for prompt in prompts(2) for name in ("m", "n")]
    with Store(tmp_path / "run.sqlite") as store:
        store.enlist(asked)
        (first,), (other,) = store.claim("m", 1), store.claim("n", 1)
        assert store.reserve(first, 0.6, budget=2.0, model=1.0)
        # 0.6 is under way for the other model, then spent.
        assert store.reserve(other, 0.6, budget=2.0, model=1.0)
        store.record(first, LOST)
        store.record(other, LOST)
        assert (store.spent("m"), store.spent("n"), store.spent()) == (0.5, 0.5, 1.0)
        (second,) = store.claim("m", 1)
        # A budget may be used up: to the last, and no further.
        assert not store.reserve(second, 0.75, budget=9.0, model=1.0)
        assert store.reserve(second, 0.5, budget=1.5, model=1.0)
        (third,) = store.claim("n", 1)
        assert not store.reserve(third, 0.25, budget=1.5, model=9.0)


def test_prompts_that_follow_wait_and_get_the_whole_conversation(tmp_path: Path) -> None:
    turn = (Message("user", "And then?"),)
    chain = [request(prompts(1)[0])]
    for name in ("b", "c"):
        prompt = Prompt(key=name, item="q0", messages=turn, reply="text", follows="?")
        chain.append(request(prompt, follows=chain[-1].key))
    with Store(tmp_path / "run.sqlite") as store:
        store.enlist(chain)
        assert store.counts() == {"m": {"open": 1, "waiting": 2}}
        for _ in chain:
            (job,) = store.claim("m", 9)
            store.record(job, DONE)
        said = [turn["content"] for turn in job.messages]
        assert said == ["Question 0?", "Yes", "And then?", "Yes", "And then?"]


def test_a_store_from_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    filled(tmp_path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(StoreError, match=r"newer psychollm .* upgrade"):
        Store(path)


def test_files_that_are_no_stores(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database " * 100)
    with pytest.raises(StoreError, match="is not a psychollm store"):
        Store(text)
    other = tmp_path / "other.sqlite"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t (x)")
    db.close()
    before = other.read_bytes()
    with pytest.raises(StoreError, match="not a psychollm store"):
        Store(other)
    assert other.read_bytes() == before
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "nowhere" / "run.sqlite")
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "none.sqlite", create=False)


def test_a_locked_store(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    filled(tmp_path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        store = Store(path, busy_seconds=0.05)
        with pytest.raises(StoreError, match="locked by another process"):
            store.claim("m", 1)
    finally:
        db.execute("ROLLBACK")
        db.close()
    store.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store:
        (job,) = store.claim("m", 1)
        store.record(job, DONE)
        (job,) = store.claim("m", 1)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        huge = Attempt(wire="w", started=0, seconds=0, sent="", kind="ok", raw=bytes(10**6))
        with pytest.raises(StoreError, match="disk is full"):
            store.record(job, huge)
        store._db.execute("PRAGMA max_page_count = 1000000")
    with filled(tmp_path, 3) as store:
        assert store.counts() == {"m": {"answered": 1, "open": 2}}
        assert len(store.claim("m", 9)) == 2


def test_an_interrupted_step_of_migration_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (*MIGRATIONS, "CREATE TABLE extra (x);\nCREATE TABLE extra (x);\n")
    filled(tmp_path).close()
    monkeypatch.setattr("psychollm.collect.migrations.MIGRATIONS", broken)
    with pytest.raises(StoreError, match="already exists"):
        Store(tmp_path / "run.sqlite")
    monkeypatch.setattr("psychollm.collect.migrations.MIGRATIONS", MIGRATIONS)
    with filled(tmp_path) as store:
        assert store.counts() == {"m": {"open": 3}}


def test_a_step_of_migration_keeps_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path).close()
    more = (*MIGRATIONS, "ALTER TABLE request ADD COLUMN remark TEXT;\n")
    monkeypatch.setattr("psychollm.collect.migrations.MIGRATIONS", more)
    with Store(tmp_path / "run.sqlite") as store:
        assert [row[0] for row in store.rows("SELECT remark FROM request")] == [None] * 3


def test_many_open_a_new_store_at_once(tmp_path: Path) -> None:
    def take_part(number: int) -> None:
        start.wait()
        with Store(path) as store:
            store.note(str(number), "there")

    for turn in range(5):
        path = tmp_path / f"{turn}.sqlite"
        start = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(take_part, range(4)))
        with Store(path) as store:
            assert len(list(store.rows("SELECT 1 FROM about"))) == 4


def test_a_new_store_has_the_layout_of_this_version() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, Path("run.sqlite"))
    assert version_of(connection) == len(MIGRATIONS)
    connection.close()


def test_what_sqlite_says_is_named() -> None:
    with (
        pytest.raises(StoreError, match=r"^run\.sqlite cannot be opened: "),
        clear_errors("run.sqlite"),
    ):
        sqlite3.connect("/no/such/folder/run.sqlite")
