"""Helpers of a run, tried by what they return."""

import asyncio
import sqlite3
from base64 import b64encode
from pathlib import Path

import pytest

from psychollm.collect.asking import Asked, Asker
from psychollm.collect.connection import Connections, Exchange, proxy_for
from psychollm.collect.errors import StoreError, clear_errors
from psychollm.collect.faults import Kind
from psychollm.collect.progress import ModelProgress, RunState, total_line
from psychollm.collect.records import Attempt, Job, job_of, most_tokens
from psychollm.collect.request import canonical_text, with_system
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store
from tests.collect.hostile import Hostile


def test_jobs() -> None:
    form = '{"model": "m", "model_id": "m", "messages": [], "parameters": {}}'
    assert job_of(1, "k", form).model == "m"
    form = '{"model": "m", "model_id": "m", "messages": [{"role": "user"}], "parameters": {}}'
    assert len(job_of(1, "k", form, [{"role": "user"}, {"role": "assistant"}]).messages) == 3
    turn = {"role": "user", "content": "why?"}
    job = Job(
        id=1, key="", model="m", model_id="m", messages=(turn,), parameters={"max_tokens": 5}
    )
    assert most_tokens(job) == (20, 5)


def test_requests() -> None:
    assert canonical_text({"b": 1, "a": [1.0]}) == '{"a":[1.0],"b":1}'
    first = with_system([{"role": "user", "content": "?"}], "Be brief.")[0]
    assert first == {"role": "system", "content": "Be brief."}


def test_nobody_answers(tmp_path: Path) -> None:
    model = Model(name="m", endpoint="e", model="m")
    job = Job(id=1, key="", model="m", model_id="m", messages=(), parameters={})
    with Store(tmp_path / "run.sqlite") as store:
        asker = Asker(Endpoint(name="e", url="http://127.0.0.1:9/v1"), {"m": model}, store)

        async def ask() -> Asked:
            try:
                return await asker.ask(job)
            finally:
                await asker.close()

        assert asyncio.run(ask()).kind is Kind.UNREACHABLE


def test_what_is_kept_where_no_reply_came() -> None:
    lost = Attempt(wire="w", started=0.0, seconds=1.0, sent="{}", kind="timeout")
    assert Asked(kind=Kind.TIMEOUT, attempt=lost).attempt.text is None
    exchange = Exchange(
        started=0.0, seconds=9.0, status=None, headers={}, raw=None, kind=Kind.TIMEOUT
    )
    assert exchange.kind is Kind.TIMEOUT


def test_this_machine_needs_no_proxy() -> None:
    assert proxy_for("http://127.0.0.1:8080/v1") is None


def test_progress_of_all_models() -> None:
    one = ModelProgress(name="m", total=10, before=4, answered=3, began=0.0)
    assert total_line([one, one], now=6.0) == "Total: 14/20 answered, 1/s, 6 s left"


def test_a_run_is_stopped_for_a_reason(tmp_path: Path) -> None:
    with Store(tmp_path / "run.sqlite") as store:
        state = RunState(store, {}, budget=None, draw=lambda: 0.5)
        state.stop("enough")
    assert (state.stopping, state.reason) == (True, "enough")


def test_what_sqlite_says_is_one_sentence(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_WRITE"
    with pytest.raises(StoreError, match="cannot be written or read"), clear_errors(tmp_path):
        raise error


def test_certificates_are_read_once_for_all_connections(monkeypatch) -> None:
    made = Connections("https://127.0.0.1:9/v1", headers={}, timeout=1.0)
    real, contexts = made._httpx.create_ssl_context, []

    def counted():
        contexts.append(real())
        return contexts[-1]

    monkeypatch.setattr(made._httpx, "create_ssl_context", counted)
    made._opened(None)
    made._opened(None)
    assert len(contexts) == 1


def test_the_proxy_of_the_environment_carries_requests_under_its_own_secret(monkeypatch) -> None:
    with Hostile() as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:mine@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")

        async def ask() -> Exchange:
            made = Connections(
                "http://models.example/v1", headers={"Authorization": "Bearer theirs"}, timeout=5.0
            )
            try:
                return await made.post(b"{}", "/chat/completions")
            finally:
                await made.close()

        assert asyncio.run(ask()).kind is Kind.OK
    head = proxy.heads[0]
    assert head.startswith("POST http://models.example/v1/chat/completions HTTP/1.1")
    assert "Authorization: Bearer theirs" in head
    assert f"Proxy-Authorization: Basic {b64encode(b'me:mine').decode()}" in head
