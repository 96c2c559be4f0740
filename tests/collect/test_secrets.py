"""Secrets: where they may stand, what they become, and that replies stay as they were sent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from psychollm._base.errors import OptionError
from psychollm.cli import main
from psychollm.collect.client import collect
from psychollm.collect.export import to_frame
from psychollm.collect.plan import Plan
from psychollm.collect.secrets import Blotter, named_in
from psychollm.collect.store import Store
from tests.collect.conftest import write_plan
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]
SECRET = "sk-very/secret+0123456789"  # noqa: S105 -- invented


def raws(plan: Plan) -> list[bytes]:
    with Store(plan.store) as store:
        return [row[0] for row in store.rows("SELECT raw FROM attempt ORDER BY id")]


def leaks(folder: Path) -> list[str]:
    """Return the files of a folder that hold the secret in any of its spellings."""
    forms = (SECRET, json.dumps(SECRET)[1:-1].replace("/", "\\/"), SECRET.replace("/", "%2F"))
    return [
        path.name
        for path in folder.iterdir()
        if any(form.encode() in path.read_bytes() for form in forms)
    ]


@pytest.mark.parametrize("key", ["token", "x", "EMPTY", "s", "not-needed", "content", "2"])
def test_placeholder_keys_leave_replies_alone(
    key: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", key)
    act = said("a box of 2 tokens: not-needed EMPTY", usage=(25, 12))
    with Hostile(lambda body, n: act) as server:
        plan = make_plan(server.url, 1, key="TEST_KEY")
        assert collect(plan).complete
    assert raws(plan) == [act.body]
    with Store(plan.store) as store:
        row = to_frame(store).iloc[0]
    assert (row["input_tokens"], row["output_tokens"]) == (25, 12)
    assert row["text"] == "a box of 2 tokens: not-needed EMPTY"


ECHOES = {
    "plain": SECRET,
    "escaped slash": SECRET.replace("/", "\\/"),
    "escaped slash and plus": SECRET.replace("/", "\\u002F").replace("+", "\\u002b"),
    "escaped letter": SECRET.replace("s", "\\u0073"),
    "within a string within JSON": SECRET.replace("/", "\\\\/").replace("+", "\\\\u002b"),
    "in an address": SECRET.replace("/", "%2F").replace("+", "%2b"),
}


@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_echoes_are_found_however_they_are_written(
    name: str, status: int, make_plan: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    body = said("the key is XX").body.replace(b"XX", ECHOES[name].encode())
    with Hostile(lambda asked, n: Act(status, body)) as server:
        plan = make_plan(server.url, 1, key="TEST_KEY", attempts=1)
        collect(plan)
    assert leaks(tmp_path) == []
    assert b"the key is [secret]" in raws(plan)[0]


def test_headers_addresses_and_parameters_take_secrets_from_the_environment(
    make_plan: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)

    def script(body: Body, n: int) -> Act:
        return Act(500, f"no: {SECRET}".encode()) if n == 1 else said(SECRET)

    with Hostile(script) as server:
        plan = make_plan(
            f"{server.url}?api_key=${{TEST_KEY}}&version=1",
            1,
            headers={"X-Api-Key": "${TEST_KEY}", "X-Plain": "yes"},
            parameters={"extra": {"access_token": ["${TEST_KEY}"]}, "user": "me"},
        )
        found = collect(plan)
    head = server.heads[0]
    assert head.startswith(
        "POST /v1/chat/completions?api_key=sk-very%2Fsecret%2B0123456789&version=1 "
    )
    assert f"X-Api-Key: {SECRET}" in head
    assert "X-Plain: yes" in head
    assert server.seen[0]["extra"] == {"access_token": [SECRET]}
    assert server.seen[0]["user"] == "me"
    assert found.complete
    assert leaks(tmp_path) == []
    assert SECRET not in repr(plan) + repr(found) + found.summary()


def test_prompts_are_sent_as_they_are(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks like a reference is one in the settings of a plan only."""
    monkeypatch.setenv("TEST_KEY", SECRET)
    with Hostile() as server:
        collect(make_plan(server.url, 1, system="Say ${TEST_KEY}."))
    assert server.seen[0]["messages"][0]["content"] == "Say ${TEST_KEY}."


LITERAL = {
    "authorization": {"headers": {"Authorization": f"Bearer {SECRET}"}},
    "a key": {"headers": {"x-api-key": SECRET}},
    "a name of their own": {"headers": {"X-Team": f"Bearer {SECRET}"}},
    "cookie": {"headers": {"Cookie": f"session={SECRET}"}},
    "a query string": {"url": f"http://127.0.0.1:9/v1?key={SECRET}"},
    "a query string, named so": {"url": f"http://127.0.0.1:9/v1?access_token={SECRET}"},
    "a parameter": {"parameters": {"api_key": SECRET}},
    "a parameter within": {"parameters": {"extra": [{"client_secret": SECRET}]}},
}


@pytest.mark.parametrize("name", LITERAL)
def test_secrets_that_stand_in_a_plan_are_refused_and_not_repeated(
    name: str, make_plan: MakePlan
) -> None:
    with pytest.raises(OptionError, match=r"\$\{") as caught:
        make_plan(**{"url": "http://127.0.0.1:9/v1"} | LITERAL[name])
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_tokens": 5},
        {"prompt_cache_key": "study-7", "stop_token_ids": [2]},
        {"logit_bias": {"1": 1.0}, "service_tier": "flex"},
    ],
)
def test_parameters_that_are_no_secrets(
    parameters: dict[str, object], make_plan: MakePlan
) -> None:
    make_plan("http://127.0.0.1:9/v1?api-version=2024-10-21", parameters=parameters)


@pytest.mark.parametrize("value", ["", "two\nlines" + SECRET, SECRET + "\x00", SECRET + "\u2026"])
def test_values_that_no_header_can_hold_are_named_by_their_variable(
    value: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\x00" in value:
        monkeypatch.setattr("os.environ", {"TEST_KEY": value})
    else:
        monkeypatch.setenv("TEST_KEY", value)
    for option in ({"key": "TEST_KEY"}, {"headers": {"X-Key": "${TEST_KEY}"}}):
        with pytest.raises(OptionError, match="TEST_KEY") as caught:
            collect(make_plan("http://127.0.0.1:9/v1", **option))
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "headers",
    [{"a b": "c"}, {"A": "\u2026"}, {"A": "b\nc"}, {"Accept-Encoding": "gzip"},
     {"content-length": "3"}, {"A": 1}],
)  # fmt: skip
def test_headers_that_cannot_be(headers: dict[str, object], make_plan: MakePlan) -> None:
    with pytest.raises(OptionError, match="header"):
        make_plan("http://127.0.0.1:9/v1", headers=headers)


@pytest.mark.parametrize("url", ["http://", "http://a:99999/v1", "http://[::1/v1", "http://a:b/"])
def test_addresses_that_cannot_be(url: str, make_plan: MakePlan) -> None:
    with pytest.raises(OptionError, match="url"):
        make_plan(url)


def test_a_secret_in_a_comment_of_the_plan_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    with Hostile() as server:
        plan = write_plan(tmp_path, server.url, 1, extra=f'key = "TEST_KEY"  # {SECRET}')
        assert main(["collect", str(plan), "--quiet"]) == 0
    assert leaks(tmp_path) == ["plan.toml"]


def test_the_key_of_a_plan_replaces_no_header_of_another_case(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    with Hostile() as server:
        collect(make_plan(server.url, 1, key="TEST_KEY", headers={"authorization": "${TEST_KEY}"}))
    assert server.heads[0].lower().count("authorization:") == 1


def test_names_in_settings() -> None:
    assert sorted(named_in({"a": ["${ONE}"]}, "x-${TWO}")) == ["ONE", "TWO"]


def test_an_escaped_secret_is_blotted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-abc/0123456789")
    blot = Blotter(["MY_KEY"])
    assert blot(b'{"error": "sk-abc\\/0123456789"}') == b'{"error": "[secret]"}'
