"""Models in this process: the adapter against stand-ins for torch and transformers."""
# ruff: noqa: S105, S106 -- tokens of text, no secrets

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest

from psychollm._base.errors import MissingPackageError, OptionError
from psychollm.collect.client import collect
from psychollm.collect.export import to_frame
from psychollm.collect.plan import read_plan
from psychollm.collect.store import Store
from psychollm.collect.wire import WIRES, transformers_local
from tests.collect.conftest import prompts

WORDS = ("<end>", "Yes", "\u0120no", "No", "perhaps", "\u0120yes.", "sea")
LOGITS = (0.0, 2.0, 0.5, 1.0, 3.0, -1.0, -math.inf)
MASS = np.exp(LOGITS) / np.exp(LOGITS).sum()


class Tensor:
    """As much of a tensor as is used."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, place: Any) -> "Tensor":
        return Tensor(self.values[place])

    def float(self) -> "Tensor":
        return self

    def tolist(self) -> Any:
        return self.values.tolist()


class Inputs(dict[str, Tensor]):
    def to(self, device: str) -> Self:
        return self


class Tokenizer:
    chat_template: str | None = "turns"
    pad_token_id = None
    eos_token_id = 0

    def __init__(self) -> None:
        self.texts: list[Any] = []

    def apply_chat_template(self, turns: list[dict[str, str]], **options: Any) -> Inputs:
        assert options == {
            "add_generation_prompt": True,
            "return_tensors": "pt",
            "return_dict": True,
        }
        self.texts.append(turns)
        return Inputs(input_ids=Tensor([[4] * len(turns)]))

    def __call__(self, text: str, return_tensors: str) -> Inputs:
        self.texts.append(text)
        return Inputs(input_ids=Tensor([[4, 4, 4]]))

    def decode(self, tokens: list[int], *, skip_special_tokens: bool = False) -> str:
        kept = [WORDS[token] for token in tokens if not (skip_special_tokens and token == 0)]
        return " ".join(kept).replace("\u0120", " ")

    def get_vocab(self) -> dict[str, int]:
        return {word: k for k, word in enumerate(WORDS)}


class Model:
    """Says what it was told to say, and keeps how it was asked."""

    device = "cpu"
    generation_config = SimpleNamespace(eos_token_id=[0])

    def __init__(self, says: Callable[[int], list[int]]) -> None:
        self.says = says
        self.options: list[dict[str, Any]] = []

    def to(self, device: str) -> Self:
        assert device == "cpu"
        return self

    def eval(self) -> None:
        """Do nothing."""

    def __call__(self, input_ids: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=Tensor([[LOGITS] * input_ids.shape[-1]]))

    def generate(self, input_ids: Tensor, **options: Any) -> Tensor:
        if "mirostat" in options:
            msg = "The following `model_kwargs` are not used by the model: ['mirostat']"
            raise ValueError(msg)
        self.options.append(options)
        said = self.says(len(self.options))[: options["max_new_tokens"]]
        return Tensor([[*input_ids.values[0], *said]])


class World:
    """Both libraries, with one model of one name."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.tokenizer = Tokenizer()
        self.model = Model(lambda n: [1, 0])
        self.loaded: list[str] = []
        self.torch = ModuleType("torch")
        self.torch.cuda = SimpleNamespace(is_available=lambda: False)  # type: ignore[attr-defined]
        self.torch.Tensor = type("Tensor", (), {})  # type: ignore[attr-defined] # SciPy asks for it
        self.torch.manual_seed = self.seeds.append  # type: ignore[attr-defined]
        self.torch.inference_mode = _nothing  # type: ignore[attr-defined]
        self.transformers = ModuleType("transformers")
        self.transformers.__version__ = "4.57.1"  # type: ignore[attr-defined]
        self.transformers.AutoTokenizer = SimpleNamespace(  # type: ignore[attr-defined]
            from_pretrained=lambda name: self.tokenizer
        )
        self.transformers.AutoModelForCausalLM = SimpleNamespace(  # type: ignore[attr-defined]
            from_pretrained=self._load
        )

    def _load(self, name: str, **options: str) -> Model:
        assert options == {"torch_dtype": "auto"}
        if name == "nowhere":
            msg = "no such folder"
            raise OSError(msg)
        self.loaded.append(name)
        return self.model

    def one(self) -> transformers_local.LocalModel:
        return transformers_local.LocalModel("m", self.tokenizer, self.model, self.torch)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setitem(sys.modules, "torch", made.torch)
    monkeypatch.setitem(sys.modules, "transformers", made.transformers)
    return made


def plan_of(folder: Path, n: int, *, name: str = "folder", extra: str = "") -> Path:
    lines = [json.dumps(prompt.to_dict()) for prompt in prompts(n)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    (folder / "plan.toml").write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n'
        f'[endpoints.here]\nwire = "transformers"\n{extra}\n'
        f'[[models]]\nname = "m"\nmodel = "{name}"\nendpoint = "here"\n'
        "[models.parameters]\ntemperature = 0.0\nlogprobs = true\ntop_logprobs = 2\nseed = 5\n"
        "reasoning_effort = 'low'\n"
    )
    return folder / "plan.toml"


def test_from_a_plan_to_a_table(world: World, tmp_path: Path) -> None:
    plan = read_plan(plan_of(tmp_path, 3))
    assert collect(plan).answered == (3,)
    assert world.loaded == ["folder"]
    assert world.seeds == [5, 5, 5]
    with Store(plan.store) as store:
        table = to_frame(store)
        assert store.dropped("m") == {"reasoning_effort": None}
    assert table["text"].tolist() == ["Yes"] * 3
    assert table["finish_reason"].tolist() == ["stop"] * 3
    assert table["input_tokens"].tolist() == [1] * 3
    assert table["output_tokens"].tolist() == [2] * 3
    # "Yes" and " yes.", " no" and "No": whether or not they are among the two likeliest.
    np.testing.assert_allclose(table["yes_mass"], MASS[1] + MASS[5])
    np.testing.assert_allclose(table["no_mass"], MASS[2] + MASS[3])
    assert all(not one["do_sample"] and "temperature" not in one for one in world.model.options)


def test_options_of_generation(world: World) -> None:
    asked = {"temperature": 0.7, "max_completion_tokens": 5, "stop": "END", "min_p": 0.1}
    reply = world.one().reply([{"role": "user", "content": "?"}], asked, seconds=9.0)
    (options,) = world.model.options
    assert options.pop("tokenizer") is world.tokenizer
    assert options == {
        "do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 1.0, "max_new_tokens": 5,
        "repetition_penalty": 1.0, "stop_strings": ["END"], "min_p": 0.1, "max_time": 9.0,
        "pad_token_id": 0,
    }  # fmt: skip
    assert "logprobs" not in reply["choices"][0]
    assert world.seeds == []


def test_a_reply_that_is_cut_off(world: World) -> None:
    world.model.says = lambda n: [4, 4, 4, 4]
    talk = [{"role": "user", "content": "?"}]
    choice = world.one().reply(talk, {"max_tokens": 3}, seconds=9.0)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (
        "perhaps perhaps perhaps",
        "length",
    )
    world.model.says = lambda n: [4, 0]
    choice = world.one().reply(talk, {"max_tokens": 2}, seconds=9.0)["choices"][0]
    assert choice["finish_reason"] == "stop"


def test_a_reply_that_ends_at_a_word(world: World) -> None:
    world.model.says = lambda n: [1, 4, 6]
    talk = [{"role": "user", "content": "?"}]
    asked = {"stop": ["sea", "per"], "max_tokens": 3}
    choice = world.one().reply(talk, asked, seconds=9.0)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Yes ", "stop")


def test_a_base_model_continues_a_text(world: World) -> None:
    world.tokenizer.chat_template = None
    turns = [{"role": "system", "content": "One."}, {"role": "user", "content": "Two."}]
    world.one().reply(turns, {}, seconds=9.0)
    assert world.tokenizer.texts == ["One.\n\nTwo."]


def test_first_tokens_are_json(world: World) -> None:
    asked = {"logprobs": True, "top_logprobs": 7}
    reply = world.one().reply([{"role": "user", "content": "?"}], asked, seconds=9.0)
    first = json.loads(json.dumps(reply, allow_nan=False))["choices"][0]["logprobs"]["content"][0]
    assert first["token"] == "perhaps"
    assert [one["token"] for one in first["top_logprobs"]][-1] == "sea"
    total = sum(math.exp(one["logprob"]) for one in first["top_logprobs"])
    assert total == pytest.approx(1.0)


def test_a_model_that_is_not_there(world: World, tmp_path: Path) -> None:
    found = collect(read_plan(plan_of(tmp_path, 2, name="nowhere")))
    assert found.answered == (0,)
    assert "not_found" in found.halted["m"]


def test_a_parameter_that_generation_does_not_know(world: World, tmp_path: Path) -> None:
    path = plan_of(tmp_path, 2)
    path.write_text(path.read_text() + "mirostat = 2\n")
    assert collect(read_plan(path)).answered == (2,)
    with Store(tmp_path / "run.sqlite") as store:
        assert "mirostat" in store.dropped("m")


def test_a_reply_that_takes_too_long(world: World, tmp_path: Path) -> None:
    def slow(n: int) -> list[int]:
        import time

        time.sleep(0.02 if n == 1 else 0.0)
        return [1, 0]

    world.model.says = slow
    found = collect(read_plan(plan_of(tmp_path, 1, extra="timeout = 0.01")))
    assert (found.answered, found.failures) == ((1,), {"timeout": 1})


def test_what_breaks_is_tried_again(world: World, tmp_path: Path) -> None:
    def broken(n: int) -> list[int]:
        if n == 1:
            msg = "out of memory"
            raise RuntimeError(msg)
        return [1, 0]

    world.model.says = broken
    found = collect(read_plan(plan_of(tmp_path, 1)))
    assert (found.answered, found.failures) == ((1,), {"server_error": 1})


def test_an_address_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leave out url"):
        read_plan(plan_of(tmp_path, 1, extra='url = "http://127.0.0.1:9/v1"'))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[steering\]"):
        collect(read_plan(plan_of(tmp_path, 1)))
    with pytest.raises(MissingPackageError):
        WIRES["transformers"].open("", secret=None, headers={}, timeout=1.0)


@pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None,
    reason="needs torch and transformers",
)
@pytest.mark.parametrize(
    "template", [None, "{% for m in messages %}{{ m['content'] }} {% endfor %}"]
)
def test_a_real_model_with_random_weights(template: str | None, tmp_path: Path) -> None:
    import tokenizers
    import torch
    import transformers

    words = ["<end>", "<unk>", "Yes", "No", "Question", "0", "?", "system", "user"]
    vocabulary = {word: k for k, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<end>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, eos_token_id=0, bos_token_id=0,
    )  # fmt: skip
    folder = tmp_path / "model"
    tokenizer.save_pretrained(folder)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    path = plan_of(tmp_path, 2, name=str(folder))
    path.write_text(path.read_text().replace("temperature = 0.0", "temperature = 1.0"))
    plan = read_plan(path)
    assert collect(plan).answered == (2,)
    with Store(plan.store) as store:
        assert store.dropped("m") == {"reasoning_effort": None}
        table = to_frame(store)
    inputs = tokenizer("Question 0?", return_tensors="pt")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.inference_mode():
        mass = torch.softmax(model(**inputs).logits[0, -1].float(), dim=-1).numpy()
    assert table["yes_mass"][0] == pytest.approx(mass[2], rel=1e-4)
    assert table["no_mass"][0] == pytest.approx(mass[3], rel=1e-4)
    assert table["text"][0] is not None
