"""Wire formats: replies as servers send them, and anything else that may come."""

import json
import math
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire import WIRES
from psychollm.collect.wire.probabilities import (
    YesNoMass,
    token_of,
    verdict_at,
    word_of,
    yes_no_mass,
)
from psychollm.collect.wire.protocol import (
    Reply,
    UnreadableReplyError,
    Usage,
    Wire,
    fault_of,
    object_of,
)
from psychollm.collect.wire.thinking import thinking_of
from tests.effort import examples

CHAT, PLAIN, MESSAGES = (
    WIRES[name] for name in ("openai-chat", "openai-completions", "anthropic")
)
TALK = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hm?"},
    {"role": "assistant", "content": "Hm."},
    {"role": "user", "content": "So?"},
)
PARAMETERS = {"temperature": 0.5, "max_tokens": 9, "stop": "X", "logprobs": True}


def test_bodies() -> None:
    chat = CHAT.body("m", TALK, PARAMETERS)
    assert chat == {"model": "m", "messages": list(TALK), **PARAMETERS}
    plain = PLAIN.body("m", TALK, PARAMETERS)
    assert plain["prompt"] == "Be brief.\n\nHm?\n\nHm.\n\nSo?"
    assert plain["logprobs"] == 5
    messages = MESSAGES.body("m", TALK, PARAMETERS | {"max_tokens": 3})
    assert messages["system"] == "Be brief."
    assert messages["messages"] == list(TALK[1:])
    assert (messages["max_tokens"], messages["stop_sequences"]) == (3, ["X"])
    assert MESSAGES.body("m", TALK, {})["max_tokens"] > 0


def test_headers() -> None:
    assert CHAT.headers("s") == {"Authorization": "Bearer s"}
    assert CHAT.headers(None) == {}
    assert MESSAGES.headers("s")["x-api-key"] == "s"


def test_chat_reply_with_everything() -> None:
    found = CHAT.read(
        json.dumps(
            {
                "model": "served",
                "choices": [
                    {
                        "finish_reason": "length",
                        "message": {"content": "No", "reasoning_content": "Well,"},
                    }
                ],
                "usage": {
                    "prompt_tokens": 3,
                    "completion_tokens": 2,
                    "completion_tokens_details": {"reasoning_tokens": 1},
                    "cost": 0.5,
                },
            }
        ).encode()
    )
    assert (found.text, found.reasoning, found.finish_reason) == ("No", "Well,", "length")
    assert (found.usage.input, found.usage.output, found.usage.reasoning) == (3, 2, 1)
    assert found.usage.cost == 0.5
    assert found.mass is None


def test_chat_replies_without_text() -> None:
    for content, text in ((None, ""), ("", "")):
        reply = {"choices": [{"message": {"content": content}}]}
        assert CHAT.read(json.dumps(reply).encode()).text == text
    refusal = {"choices": [{"message": {"content": None, "refusal": "I will not."}}]}
    assert CHAT.read(json.dumps(refusal).encode()).text == "I will not."


def test_completion_reply() -> None:
    top = [{"Yes": math.log(0.5), " no": math.log(0.125)}]
    reply = {"choices": [{"text": "Yes", "logprobs": {"top_logprobs": top}}]}
    found = PLAIN.read(json.dumps(reply).encode())
    assert found.text == "Yes"
    assert found.mass is not None
    assert found.mass.p_yes == pytest.approx(0.8)


def test_message_reply() -> None:
    blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "A"}]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2}
    reply = {"content": blocks, "stop_reason": "end_turn", "usage": usage, "model": "x"}
    found = MESSAGES.read(json.dumps(reply).encode())
    assert (found.text, found.reasoning, found.finish_reason) == ("A", "Hm.", "stop")
    assert (found.usage.input, found.usage.output) == (7, 2)


def test_mass_of_all_forms_of_the_word() -> None:
    listed = [("Yes", -1.0), (" YES", -2.0), ("\u2581yes", -3.0), ("\u0120Yes.", -4.0)]
    more = [("yesterday", -0.1), ("No", None), (None, -1.0), ("not", 0.0)]
    found = yes_no_mass([token_of("Yes", None, [*listed, *more])])
    assert found is not None
    assert found.yes == pytest.approx(sum(math.exp(-k) for k in (1, 2, 3, 4)))
    assert found.no == 0.0
    assert yes_no_mass([]) is None
    other = yes_no_mass([token_of("The", None, [("The", -0.1)])])
    assert other is not None
    assert math.isnan(other.p_yes)


def test_replies_of_a_real_model(shared: Path) -> None:
    """Reference: over 60 questions, "yes" and "no" caught .23 of the first token on average."""
    path = shared / "samples" / "smollm2_squad" / "raw_responses.jsonl"
    captured = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        found = CHAT.read(json.dumps(row["response"]).encode())
        choice = row["response"]["choices"][0]
        assert found.text == choice["message"]["content"]
        assert found.finish_reason == choice["finish_reason"]
        assert found.usage.output == row["response"]["usage"]["completion_tokens"]
        if row["kind"] == "confidence":
            assert found.mass is not None
            captured.append(found.mass.captured)
    assert len(captured) == 60
    assert np.mean(captured) == pytest.approx(0.23, abs=0.01)


NAMES = (
    *("choices", "message", "content", "text", "logprobs", "top_logprobs", "token", "logprob"),
    *("usage", "error", "code", "prompt_tokens", "cost", "completion_tokens_details", "type"),
    *("finish_reason", "model"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("name", WIRES)
@hypothesis.given(reply=JSON)
@examples(50)
def test_any_json_is_a_reply_or_named(name: str, reply: object) -> None:
    _read_or_named(WIRES[name], json.dumps(reply).encode())
    _read_or_named(WIRES[name], json.dumps({"choices": [reply], "content": [reply]}).encode())
    whole = {"choices": [{"message": {"content": "Yes"}, "text": "Yes", "logprobs": reply}]}
    _read_or_named(WIRES[name], json.dumps(whole | {"usage": reply, "model": reply}).encode())


@pytest.mark.parametrize("name", WIRES)
@hypothesis.given(raw=st.binary(max_size=60))
@examples(30)
def test_any_bytes_are_a_reply_or_named(name: str, raw: bytes) -> None:
    _read_or_named(WIRES[name], raw)


def _read_or_named(wire: Wire, raw: bytes) -> None:
    try:
        found = wire.read(raw)
    except UnreadableReplyError:
        return
    assert isinstance(found.text, str)
    found.text.encode()
    assert found.mass is None or found.mass.yes >= 0


def test_each_wire_reads_its_own() -> None:
    body = b'{"content": [{"type": "text", "text": "No"}], "stop_reason": "max_tokens"}'
    reply = MESSAGES.read(body)
    assert (reply.text, reply.finish_reason) == ("No", "length")
    assert CHAT.read(b'{"choices": [{"message": {"content": "Yes."}}]}').text == "Yes."
    turns = [{"role": "user", "content": "2 + 2 ="}]
    assert PLAIN.body("m", turns, {}) == {"model": "m", "prompt": "2 + 2 ="}
    assert WIRES["transformers"].local


def test_addresses_of_requests() -> None:
    line = CHAT.open("http://127.0.0.1:9/v1/", secret=None, headers={}, timeout=1.0)
    assert str(line.at(CHAT.place("m", stream=False))) == "http://127.0.0.1:9/v1/chat/completions"


def test_mass_of_yes_and_no() -> None:
    mass = YesNoMass(yes=0.3, no=0.1)
    assert (round(mass.captured, 3), round(mass.p_yes, 3)) == (0.4, 0.75)
    assert (word_of("\u0120Yes."), word_of(" NO")) == ("yes", "no")


@pytest.mark.parametrize(
    ("said", "text", "thought"),
    [
        ("<think>Hm.</think>\n\nYes", "Yes", "Hm."),
        ("Hm.</think>Yes", "Yes", "Hm."),  # the prompt had opened it
        ("<think>Hm", "", "Hm"),  # cut off
        ("Use <think> and </think>.", "Use <think> and </think>.", None),
        ("Yes", "Yes", None),
        ("<think></think>Yes", "Yes", None),
        ("[THINK]Hm.[/THINK]Yes", "Yes", "Hm."),
        ("[THINK]Answer: Yes", "", "Answer: Yes"),
        ("<|channel|>analysis<|message|>Answer: Yes", "", "Answer: Yes"),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>analysis"
            "<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>No",
            "No",
            "Hm.\nSo.",
        ),
        ("<|channel|>final<|message|>No", "No", None),
    ],
)
@pytest.mark.parametrize("wire", [one for one in WIRES if one != "transformers"])
def test_thinking_in_tags_is_kept_apart(
    wire: str, said: str, text: str, thought: str | None
) -> None:
    found = WIRES[wire].read(json.dumps(reply_of(wire, said, end="length")).encode())
    assert (found.text, found.reasoning, found.finish_reason) == (text, thought, "length")
    fault = fault_of(found)
    assert (fault is None) == bool(text)
    assert fault is None or fault[0] is Kind.CUT_BY_THINKING


def reply_of(wire: str, said: str, *, end: str) -> dict[str, object]:
    """Return the form that a server of a wire gives a reply."""
    length = end == "length"
    if wire == "anthropic":
        blocks = [{"type": "text", "text": said}]
        return {"content": blocks, "stop_reason": "max_tokens" if length else end}
    if wire in {"gemini", "vertex"}:
        parts = {"parts": [{"text": said}]}
        return {
            "candidates": [
                {"content": parts, "finishReason": end.upper().replace("LENGTH", "MAX_TOKENS")}
            ]
        }
    if wire == "bedrock":
        message = {"content": [{"text": said}]}
        return {"output": {"message": message}, "stopReason": "max_tokens" if length else end}
    if wire == "openai-responses":
        item = {"type": "message", "content": [{"type": "output_text", "text": said}]}
        details = {"reason": "max_output_tokens" if length else end}
        return {"output": [item], "status": "incomplete", "incomplete_details": details}
    return {"choices": [{"message": {"content": said}, "text": said, "finish_reason": end}]}


@pytest.mark.parametrize(
    ("wire", "end"), [("bedrock", "malformed_model_output"), ("gemini", "malformed_response")]
)
def test_what_is_malformed_is_no_answer(wire: str, end: str) -> None:
    fault = fault_of(WIRES[wire].read(json.dumps(reply_of(wire, "Yes", end=end)).encode()))
    assert fault is not None
    assert fault[0] is Kind.SERVER_ERROR


def test_chat_servers_that_have_another_word_for_the_limit() -> None:
    for end in ("max_tokens", "MAX_TOKENS"):
        choice = {"message": {"content": "", "reasoning": "Hm"}, "finish_reason": end}
        found = CHAT.read(json.dumps({"choices": [choice]}).encode())
        assert found.finish_reason == "length"
        fault = fault_of(found)
        assert fault is not None
        assert fault[0] is Kind.CUT_BY_THINKING


REFUSALS = {
    "beside nothing": ("openai-chat", {"content": None, "refusal": "I cannot. Answer: Yes"}),
    "beside an answer": ("openai-chat", {"content": "Answer: Yes", "refusal": "I cannot."}),
    "a part": ("openai-chat", {"content": [{"type": "refusal", "refusal": "No."}]}),
    "an item": (
        "openai-responses",
        {
            "content": [
                {"type": "output_text", "text": "Answer: Yes"},
                {"type": "refusal", "refusal": "I cannot."},
            ]
        },
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_explicit_refusal_is_no_answer(name: str) -> None:
    wire, message = REFUSALS[name]
    choice = {"message": message, "finish_reason": "stop"}
    item = {"type": "message", **message}
    body = {"choices": [choice], "output": [item], "status": "completed"}
    found = WIRES[wire].read(json.dumps(body).encode())
    assert found.finish_reason == "refusal"
    assert found.text
    fault = fault_of(found)
    assert fault is not None
    assert fault[0] is Kind.FILTERED


@pytest.mark.parametrize("limit", LIMITS)
def test_every_name_of_the_limit_bounds_what_is_spent(limit: str) -> None:
    body = MESSAGES.body("m", TALK, {limit: 16})
    assert {name: body[name] for name in LIMITS if name in body} == {"max_tokens": 16}
    responses = WIRES["openai-responses"]
    assert limit not in responses.lacks
    assert responses.body("m", TALK, {limit: 32})["max_output_tokens"] == 32
    body = CHAT.body("m", TALK, {limit: 16, "thinking": 4000})
    assert [body[name] for name in LIMITS if name in body] == [4016]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("reasoning_effort", "low"),
        ("reasoning", {"effort": "low"}),
        ("output_config", {"effort": "low"}),
        ("thinkingConfig", {"thinkingBudget": 9}),
        ("reasoningConfig", {"type": "disabled"}),
    ],
)
def test_two_settings_of_thinking_are_one_error(name: str, own: object) -> None:
    with pytest.raises(OptionError, match=f"thinking and {name} control the same"):
        thinking_of({"thinking": "high", name: own})
    assert thinking_of({name: own}) is None
    # A format's own table, and what else stands in one, are no second setting.
    assert thinking_of({"thinking": {"type": "enabled"}, name: own}) is None
    assert thinking_of({"thinking": 9, "reasoning": {"summary": "auto"}}) is not None


def test_what_is_no_probability_says_nothing() -> None:
    for top in ([("Yes", 0.7)], [("Yes", -1.0), ("No", 5.0)], [("Yes", 1e300)]):
        token = token_of("Yes", -1.0, top)
        assert token.top == ()
        assert yes_no_mass([token]) is None
    assert yes_no_mass([token_of("Yes", 0.7, [("Yes", -1.0)])]) is None
    assert yes_no_mass([token_of("Yes", -0.01, [("Yes", -0.01), ("yes", -0.01)])]) is None
    rounded = yes_no_mass([token_of("Yes", 1e-6, [("Yes", 1e-6), ("No", -7.0)])])
    assert rounded is not None
    assert rounded.yes == 1.0


def test_no_tokens_left_for_the_answer() -> None:
    for more in ({"reasoning": "Hm"}, {"usage": Usage(output=9, reasoning=9)}):
        found = fault_of(Reply(text=" ", finish_reason="length", **more))
        assert found is not None
        assert found[0] is Kind.CUT_BY_THINKING
    assert fault_of(Reply(text="Y", finish_reason="length", reasoning="Hm")) is None


def test_where_the_verdict_stands() -> None:
    def at(*texts: str) -> tuple[int, str] | None:
        return verdict_at([token_of(text, -0.1) for text in texts])

    assert at("Yes", ".") == (0, "first")
    assert at("\n", " Yes") == (1, "first")
    assert at("The", " answer", " is", ":", " **", "No", "**") == (5, "answer")
    assert at("Answer", ":", " No", "\n", "Answer", ":", "\n", "Yes") == (7, "answer")
    assert at("Answer", ": Yes") == (1, "answer")
    assert at("Answer", ":") is None
    assert at() is None


def test_faults_of_replies() -> None:
    assert object_of(b'{"a": "\xff"}') == {"a": "\ufffd"}
    filtered = fault_of(Reply(text="No", finish_reason="content_filter"))
    assert filtered is not None
    assert filtered[0] is Kind.FILTERED
    empty = fault_of(Reply(text=""))
    assert empty is not None
    assert empty[0] is Kind.EMPTY
    assert fault_of(Reply(text="", finish_reason="length")) is None
