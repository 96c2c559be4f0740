"""Each wire against a server that holds to the rules of its provider, on loopback."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from psychollm._base.errors import OptionError
from psychollm.collect.client import collect
from psychollm.collect.export import to_frame
from psychollm.collect.plan import Plan
from psychollm.collect.readings import readings
from psychollm.collect.store import Store
from psychollm.collect.verdicts import verdict_probabilities
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.semantic_sampling import SemanticSampling
from tests.collect.hostile import Act
from tests.collect.providers import KEY, PROVIDERS, Json, Provider, RefusedError, Said

MakePlan = Callable[..., Plan]
EVERYTHING = {"temperature": 0.0, "top_p": 0.9, "max_tokens": 64, "stop": "END", "seed": 1}
STREAMING = [name for name in PROVIDERS if name != "bedrock"]
LISTED = ["openai-chat", "azure", "openai-responses", "gemini", "vertex"]


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_KEY", KEY)


def asked(make_plan: MakePlan, server: Provider, wire: str, **options: Any) -> Plan:
    query = "?api-version=2024-10-21" if wire == "azure" else ""
    known = {"wire": wire, "key": "PROVIDER_KEY", "start_concurrency": 1, "n": 1, "attempts": 2}
    return make_plan(server.url + query, **(known | options))


def first(plan: Plan) -> dict[str, Any]:
    with Store(plan.store) as store:
        return to_frame(store).iloc[0].to_dict()


TALK = (
    Prompt(key="a", item="q", messages=(Message("user", "Can you?"),), reply="text"),
    Prompt(key="b", item="q", messages=(Message("user", "Do."),), reply="text", follows="a"),
)


def dropped(plan: Plan) -> Mapping[str, str | None]:
    """Return the parameters that a server has refused."""
    with Store(plan.store) as store:
        return store.dropped("m")


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_is_sent_is_allowed_and_what_comes_is_read(wire: str, make_plan: MakePlan) -> None:
    with PROVIDERS[wire]() as server:
        plan = asked(
            make_plan, server, wire, asked=TALK, system="Be brief.", parameters=EVERYTHING
        )
        found = collect(plan)
        left_out = dropped(plan)
    assert found.complete, found.summary()
    assert found.failures == {}  # what the format lacks is left out beforehand
    assert set(left_out) <= {"seed", "stop"}
    row = first(plan)
    assert (row["text"], row["finish_reason"]) == ("Yes", "stop")
    assert (row["input_tokens"], row["output_tokens"]) == (11, 7)
    assert row["served_model"] in {"served-1", None}
    last = str(server.seen[-1])
    assert last.count("Be brief.") == 1
    assert "Yes" in last  # the reply before


@pytest.mark.parametrize("wire", STREAMING)
def test_a_stream_leaves_the_same_record(wire: str, make_plan: MakePlan) -> None:
    thought = "" if wire in {"openai-chat", "azure"} else "Hm, well."
    said = Said("No, never.", thought=thought, counts=(3, 4, 5))
    rows = []
    for stream in (False, True):
        with PROVIDERS[wire](lambda body: said) as server:
            store = make_plan("http://127.0.0.1:9").store.with_name(f"{stream}.sqlite")
            plan = asked(make_plan, server, wire, stream=stream, store=store)
            assert collect(plan).complete
        rows.append(first(plan))
    own = {"started", "seconds"}
    whole, streamed = ({k: v for k, v in row.items() if k not in own} for row in rows)
    assert str(whole) == str(streamed)
    assert whole["text"] == "No, never."
    assert (whole["reasoning"] or "") == thought


@pytest.mark.parametrize("wire", STREAMING)
def test_a_stream_that_ends_early_is_no_reply(wire: str, make_plan: MakePlan) -> None:
    class Cut(PROVIDERS[wire]):  # type: ignore[misc]
        def act(self, head: str, raw: bytes) -> Act:
            act = super().act(head, raw)
            body = act.body if len(self.seen) > 1 else act.body[: act.body.rindex(b"data:")]
            body = body.replace(b"data: [DONE]\n\n", b"") if len(self.seen) < 2 else body
            if len(self.seen) < 2 and wire in {"openai-chat", "azure"}:
                body = body[: body.index(b'"finish_reason": "stop"')]
                body = body[: body.rindex(b"data:")]
            return Act(act.status, body, act.headers)

    with Cut() as server:
        found = collect(asked(make_plan, server, wire, stream=True))
    assert found.complete
    assert found.failures == {"broken": 1}


THINKING: dict[str, dict[Any, Callable[[Json], bool]]] = {
    "openai-chat": {
        "low": lambda b: (b["reasoning_effort"], b["max_completion_tokens"]) == ("low", 4104),
        4000: lambda b: (b["reasoning_effort"], b["max_completion_tokens"]) == ("low", 4008),
        "off": lambda b: b["reasoning_effort"] == "none",
    },
    "openai-responses": {
        "high": lambda b: (b["reasoning"], b["max_output_tokens"]) == ({"effort": "high"}, 32776),
        "off": lambda b: (b["reasoning"], b["max_output_tokens"]) == ({"effort": "none"}, 16),
    },
    "anthropic": {
        "low": lambda b: (
            (b["thinking"], b["output_config"]) == ({"type": "adaptive"}, {"effort": "low"})
            and b["max_tokens"] == 4104
        ),
        4000: lambda b: (
            (b["thinking"], b["max_tokens"]) == ({"type": "enabled", "budget_tokens": 4000}, 4008)
        ),
        "off": lambda b: (b["thinking"], b["max_tokens"]) == ({"type": "disabled"}, 8),
    },
    "gemini": {
        "low": lambda b: (
            b["generationConfig"]
            == {
                "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
                "maxOutputTokens": 4104,
            }
        ),
        4000: lambda b: b["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 4000,
        "off": lambda b: b["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0},
    },
    "bedrock": {
        "low": lambda b: (
            b["additionalModelRequestFields"] == {"reasoning_effort": "low"}
            and b["inferenceConfig"] == {"maxTokens": 4104}
        ),
        "off": lambda b: b["additionalModelRequestFields"] == {"reasoning_effort": "none"},
    },
}


@pytest.mark.parametrize(
    ("wire", "setting"), [(wire, one) for wire, all_ in THINKING.items() for one in all_]
)
def test_thinking_is_one_setting(wire: str, setting: Any, make_plan: MakePlan) -> None:
    adaptive = isinstance(setting, str)
    with PROVIDERS[wire](reasons=True, adaptive=adaptive) as server:
        plan = asked(make_plan, server, wire, parameters={"thinking": setting})
        found = collect(plan)
    assert found.complete, found.summary()
    assert THINKING[wire][setting](server.seen[-1]), server.seen[-1]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_an_answer_that_thinking_cut_off_is_a_status_of_its_own(
    wire: str, make_plan: MakePlan
) -> None:
    inline = wire in {"openai-chat", "azure"}
    said = Said("<think>Hm, well" if inline else "", "" if inline else "Hm, well", "length")
    with PROVIDERS[wire](lambda body: said, reasons=True, adaptive=True) as server:
        limit = {"max_completion_tokens": 20}
        found = collect(asked(make_plan, server, wire, parameters=limit))
    assert found.failed == (1,)
    assert found.failures == {"cut_by_thinking": 1}  # and is not asked again in this run
    assert first_failure(found.store) == ("cut_by_thinking", "Hm, well", "")


def first_failure(path: str) -> tuple[str, str, str]:
    with Store(Path(path)) as store:
        assert to_frame(store)["text"].isna().all()  # missing in all tables
        (row,) = store.rows("SELECT kind, reasoning, text FROM attempt")
    return tuple(row)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_reply_that_was_held_back_is_missing(wire: str, make_plan: MakePlan) -> None:
    with PROVIDERS[wire](lambda body: Said("I", end="filter")) as server:
        found = collect(asked(make_plan, server, wire))
    assert (found.failed, found.failures) == ((1,), {"filtered": 1})


def test_a_prompt_that_gemini_blocks_is_held_back(make_plan: MakePlan) -> None:
    with PROVIDERS["gemini"](lambda body: Said("", end="blocked")) as server:
        assert collect(asked(make_plan, server, "gemini")).failures == {"filtered": 1}


def test_a_prompt_that_azure_blocks_is_held_back(make_plan: MakePlan) -> None:
    with PROVIDERS["azure"]() as server:
        plan = asked(make_plan, server, "azure", system="forbidden")
        assert collect(plan).failures == {"filtered": 1}


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_secret_that_is_refused_ends_the_asking(
    wire: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER_KEY", "another-secret-0123456789")
    with PROVIDERS[wire]() as server:
        found = collect(asked(make_plan, server, wire, n=5))
    assert found.left == (5,)
    assert "unauthorised" in found.halted["m"]
    assert len(server.paths) == 1


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_model_that_is_not_there_ends_the_asking(wire: str, make_plan: MakePlan) -> None:
    with PROVIDERS[wire]() as server:
        plan = asked(make_plan, server, wire, n=5)
        server.check = no_such_model  # type: ignore[method-assign]
        found = collect(plan)
    assert "not_found" in found.halted["m"]


def no_such_model(path: str, headers: Json, body: Json) -> bool:
    raise RefusedError(404, "no such model")


REFUSES = {
    "openai-chat": {"temperature": 0.0, "top_p": 0.5},
    "openai-responses": {"temperature": 0.0, "top_p": 0.5},
}


@pytest.mark.parametrize("wire", REFUSES)
def test_what_a_reasoning_model_refuses_is_left_out_and_recorded(
    wire: str, make_plan: MakePlan
) -> None:
    with PROVIDERS[wire](reasons=True) as server:
        plan = asked(make_plan, server, wire, n=2, parameters=REFUSES[wire])
        assert collect(plan).complete
        assert set(REFUSES[wire]) <= set(dropped(plan))


def test_thinking_is_never_left_out(make_plan: MakePlan) -> None:
    """A model of budgets that is given a level: an answer without thinking would be another."""
    with PROVIDERS["anthropic"](adaptive=False) as server:
        plan = asked(make_plan, server, "anthropic", parameters={"thinking": "low"})
        found = collect(plan)
        assert dropped(plan) == {}
    assert (found.failed, found.failures) == ((1,), {"bad_request": 1})


def test_claude_thinks_at_its_own_temperature(make_plan: MakePlan) -> None:
    with PROVIDERS["anthropic"]() as server:
        parameters = {"thinking": 2000, "temperature": 0.0}
        plan = asked(make_plan, server, "anthropic", parameters=parameters)
        assert collect(plan).complete
        assert set(dropped(plan)) == {"temperature"}


REASONED = [
    ("So", -0.1, {"So": -0.1, "No": -3.0}),
    (".\n", -0.2, {".\n": -0.2}),
    ("Answer", -0.1, {"Answer": -0.1}),
    (":", -0.0, {":": -0.0}),
    (" Yes", math.log(0.7), {" Yes": math.log(0.7), " No": math.log(0.2), "yes": math.log(0.05)}),
]


@pytest.mark.parametrize("wire", LISTED)
@pytest.mark.parametrize("stream", [False, True])
def test_yes_and_no_where_the_verdict_stands(wire: str, stream: bool, make_plan: MakePlan) -> None:
    """The first token would say that "no" has a mass of .05, and "yes" none."""
    said = Said("So.\nAnswer: Yes", tokens=REASONED)
    with PROVIDERS[wire](lambda body: said) as server:
        parameters = {"logprobs": True, "top_logprobs": 5}
        plan = asked(make_plan, server, wire, parameters=parameters, stream=stream)
        assert collect(plan).complete
    row = first(plan)
    assert row["yes_mass"] == pytest.approx(0.75)
    assert row["no_mass"] == pytest.approx(0.2)
    assert row["sequence_logprob"] == pytest.approx(-0.4 + math.log(0.7))
    assert row["sequence_tokens"] == 5


# -- tokens that a command prints -----------------------------------------------------------------


def test_a_token_is_printed_anew_when_it_has_run_out(
    make_plan: MakePlan, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("ya29.first-token-0123456789")
    with PROVIDERS["vertex"](lambda body: Said(f"You sent {token.read_text()}")) as server:
        server.keys = {"ya29.first-token-0123456789"}

        def expire(body: Json) -> Said:
            said = Said(f"You sent {token.read_text()}")
            if len(server.seen) == 2:
                token.write_text("ya29.second-token-012345678")
                server.keys = {"ya29.second-token-012345678"}
            return said

        server.says = expire
        plan = make_plan(
            server.url, 5, wire="vertex", key_command=f"cat {token}", start_concurrency=1
        )
        found = collect(plan)
    assert found.complete
    assert found.failures == {}
    for path in plan.store.parent.glob("run.sqlite*"):
        held = path.read_bytes()
        assert b"ya29.first-token" not in held
        assert b"ya29.second-token" not in held


def test_a_command_that_prints_no_token(make_plan: MakePlan) -> None:
    for command in ("false", "no-such-program-here", "true"):
        with pytest.raises(OptionError, match="key_command"):
            collect(make_plan("http://127.0.0.1:9", 1, wire="vertex", key_command=command))


def test_what_cannot_be(make_plan: MakePlan) -> None:
    with pytest.raises(OptionError, match="does not support streams"):
        make_plan("http://127.0.0.1:9", wire="bedrock", stream=True)
    with pytest.raises(OptionError, match="both give a secret"):
        make_plan("http://127.0.0.1:9", key="A", key_command="true")
    for setting in ("lots", 0, -1, True, 2.5):
        with pytest.raises(OptionError, match="thinking="):
            make_plan("http://127.0.0.1:9", parameters={"thinking": setting})
    both = {"thinking": "high", "reasoning_effort": "low"}
    with pytest.raises(
        OptionError, match="'m': thinking and reasoning_effort control the same setting"
    ):
        make_plan("http://127.0.0.1:9", parameters=both)


def test_a_table_of_raw_chosen_and_normalised_values(make_plan: MakePlan) -> None:
    """Yes and no, letters, digits; and the likelihood of a sample reaches semantic sampling."""

    def letter(*listed: tuple[str, float]) -> list[tuple[str, float, dict[str, float]]]:
        top = {text: math.log(p) for text, p in listed}
        head = [("Answer", -0.5, {"Answer": -0.5}), (":", 0.0, {":": 0.0})]
        return [*head, (listed[0][0], math.log(listed[0][1]), top)]

    said = {
        "yes_no": REASONED,
        "option": letter((" B", 0.5), (" A", 0.25), ("(B", 0.125), (" The", 0.1)),
        "percent": letter((" 85", 0.5), (" 9", 0.3), ("100", 0.1)),
        "rating": [("Confidence", -0.5, {}), *letter((" 7", 0.5), (" 6", 0.25))[1:]],
        "text": letter((" Rome", 0.5)),
    }
    asked_for = tuple(
        Prompt(key=form, item=form, messages=(Message("user", form),), reply=form)  # type: ignore[arg-type]
        for form in said
    )

    def says(body: Json) -> Said:
        form = body["messages"][-1]["content"]
        return Said("".join(text for text, _, _ in said[form]), tokens=said[form])

    with PROVIDERS["openai-chat"](says) as server:
        parameters = {"logprobs": True, "top_logprobs": 5}
        plan = asked(make_plan, server, "openai-chat", asked=asked_for, parameters=parameters)
        assert collect(plan).complete
    with Store(plan.store) as store:
        table = verdict_probabilities(store).set_index(["reply", "value"])
    assert set(table.index) == {
        *(("yes_no", one) for one in ("yes", "no")),
        *(("option", one) for one in "ab"),
        *(("percent", one) for one in ("85", "9", "100")),
        *(("rating", one) for one in "76"),
    }
    assert table.loc[("option", "b"), "raw"] == pytest.approx(0.625)
    assert table.loc[("option", "b"), "normalised"] == pytest.approx(0.625 / 0.875)
    assert table.loc[("option", "b"), "chosen"] == pytest.approx(0.5)
    assert table.loc[("percent", "85"), "normalised"] == pytest.approx(5 / 9)
    assert table.loc[("yes_no", "yes"), ["raw", "captured"]].tolist() == pytest.approx(
        [0.75, 0.95]
    )
    assert set(table["where"]) == {"answer"}
    assert table["position"].tolist()[:2] == [4, 4]


def test_semantic_entropy_of_hosted_models_weighs_by_likelihood(make_plan: MakePlan) -> None:
    sampling = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
    texts = [("Rome", -0.25), ("Paris", -1.5)]

    def says(body: Json) -> Said:
        text, logprob = texts[len(server.seen) - 1]
        return Said(text, tokens=[(text, logprob, {text: logprob})])

    with PROVIDERS["openai-chat"](says) as server:
        parameters = {"logprobs": True, "top_logprobs": 5}
        prompts = sampling.prompts()
        plan = asked(make_plan, server, "openai-chat", asked=prompts, parameters=parameters)
        assert collect(plan).complete
    with Store(plan.store) as store:
        said = readings(store)
    for scores in (said.pooled_scores()["m"], said.scores()["m"][0]):
        assert scores.samples.loglik.ravel().tolist() == [-0.25, -1.5]
