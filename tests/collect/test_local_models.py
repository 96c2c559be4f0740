"""Models in this process: what waits together is asked together, by a stand-in."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from psychollm._base.errors import MissingPackageError, OptionError
from psychollm.collect.client import Collection, collect
from psychollm.collect.export import to_frame
from psychollm.collect.plan import read_plan
from psychollm.collect.store import Store
from psychollm.collect.wire import WIRES, transformers_local
from psychollm.collect.wire.local_loading import NoSuchModelError, Precision
from psychollm.collect.wire.local_model import Made, Outcome, TooLargeError
from tests.collect.conftest import prompts

Says = Callable[[int, str], Outcome]  # from the number of a batch and a question


def said(text: str, seconds: float = 0.0) -> Made:
    choice = {"index": 0, "message": {"content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return Made(reply={"choices": [choice], "usage": usage}, seconds=seconds)


class World:
    """Both libraries as empty modules, and models that say what they were told to say."""

    def __init__(self) -> None:
        self.says: Says = lambda n, question: said(f"Yes {question}")
        self.loaded: list[tuple[str, Precision, str]] = []
        self.batches: list[list[Mapping[str, Any]]] = []
        self.stop = Event()

    def load(self, name: str, precision: Precision, device: str) -> Any:
        if name == "nowhere":
            msg = "no such folder"
            raise NoSuchModelError(msg)
        if name == "far":
            msg = "bits=4 needs an accelerator"
            raise OptionError(msg)
        self.loaded.append((name, precision, device))
        return SimpleNamespace(replies=self.replies)

    def replies(
        self, asked: Sequence[Mapping[str, Any]], *, seconds: float, stop: Event
    ) -> list[Outcome]:
        self.batches.append([*asked])
        self.stop = stop
        return [self.says(len(self.batches), one["messages"][-1]["content"]) for one in asked]

    @property
    def sizes(self) -> list[int]:
        return [*map(len, self.batches)]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    torch = ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})  # type: ignore[attr-defined] # SciPy asks for it
    # Each device is there.
    there = SimpleNamespace(cpu=lambda: None)
    torch.zeros = lambda n, dtype, device: there  # type: ignore[attr-defined]
    torch.uint8 = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    monkeypatch.setattr(transformers_local, "load", made.load)
    return made


GREEDY = "temperature = 0.0\nseed = 5\n"


def plan_of(
    folder: Path, n: int, *, name: str = "folder", extra: str = "", parameters: str = GREEDY
) -> Path:
    lines = [json.dumps(prompt.to_dict()) for prompt in prompts(n)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    (folder / "plan.toml").write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n'
        f'[endpoints.here]\nwire = "transformers"\n{extra}\n'
        f'[[models]]\nname = "m"\nmodel = "{name}"\nendpoint = "here"\n'
        f"[models.parameters]\n{parameters}"
    )
    return folder / "plan.toml"


def run(folder: Path, n: int, **options: str) -> Collection:
    return collect(read_plan(plan_of(folder, n, **options)))


def test_from_a_plan_to_a_table(world: World, tmp_path: Path) -> None:
    found = run(tmp_path, 3, parameters=GREEDY + "reasoning_effort = 'low'\nnum_beams = 4\n")
    assert found.answered == (3,)
    assert world.loaded == [("folder", Precision("auto", None), "auto")]
    assert world.batches[0][0] == {
        "messages": [{"role": "user", "content": "Question 0?"}],
        "temperature": 0.0, "seed": 5, "max_tokens": 8,
    }  # fmt: skip
    with Store(tmp_path / "run.sqlite") as store:
        table = to_frame(store)
        assert store.dropped("m") == {"reasoning_effort": None, "num_beams": None}
    assert table["text"].tolist() == [f"Yes Question {k}?" for k in range(3)]
    assert table["output_tokens"].tolist() == [2] * 3


def test_what_waits_together_is_asked_together(world: World, tmp_path: Path) -> None:
    assert run(tmp_path, 30, extra="concurrency = 10").answered == (30,)
    # The window grows by one with each whole batch, up to its limit.
    assert world.sizes == [8, 9, 10, 3]
    asked = [one["messages"][0]["content"] for batch in world.batches for one in batch]
    assert asked == [f"Question {k}?" for k in range(30)]


def test_replies_drawn_with_a_seed_are_drawn_alone(world: World, tmp_path: Path) -> None:
    assert run(tmp_path, 5, parameters="seed = 5\n").answered == (5,)
    assert world.sizes == [1] * 5
    (tmp_path / "run.sqlite").unlink()
    assert run(tmp_path, 5, parameters="temperature = 0.7\n").answered == (5,)
    assert world.sizes[5:] == [5]


def test_models_and_settings_are_kept_apart(world: World, tmp_path: Path) -> None:
    path = plan_of(tmp_path, 4)
    others = (("hot", "folder", "temperature = 1.0"), ("round", "folder", "bits = 4"))
    path.write_text(
        path.read_text()
        + "".join(
            f'[[models]]\nname = "{name}"\nmodel = "{model}"\nendpoint = "here"\n'
            f"[models.parameters]\n{setting}\n"
            for name, model, setting in others
        )
    )
    assert collect(read_plan(path)).answered == (4, 4, 4)
    for batch in world.batches:
        assert len({one.get("temperature") for one in batch}) == 1
        assert all("bits" not in one for one in batch)
    assert [precision for _, precision, _ in world.loaded] == [
        Precision("auto", None),
        Precision("auto", 4),
    ]


def test_another_precision_is_another_respondent(world: World, tmp_path: Path) -> None:
    for k, precision in enumerate(("", "dtype = 'bfloat16'\n", "bits = 8\n", "bits = 8\n")):
        run(tmp_path, 2, parameters=GREEDY + precision, extra=f"device = 'cuda:{k}'")
    # The device is no part of it: nothing is asked once more for the last.
    assert world.sizes == [2, 2, 2]
    assert [device for *_, device in world.loaded] == ["cuda:0", "cuda:1", "cuda:2"]
    with Store(tmp_path / "run.sqlite") as store:
        sent = [json.loads(row[0]) for row in store.rows("SELECT sent FROM attempt")]
    assert [one.get("bits", one.get("dtype")) for one in sent[::2]] == [None, "bfloat16", 8]


def test_a_precision_that_is_none(tmp_path: Path) -> None:
    for setting, match in (("bits = 5", "bits=5 must be 4 or 8"), ("dtype = 'int4'", "'float16'")):
        with pytest.raises(OptionError, match=match):
            read_plan(plan_of(tmp_path, 1, parameters=setting))


@pytest.fixture
def no_device(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(n: int, *, dtype: object, device: str) -> None:
        msg = "Torch not compiled with CUDA enabled\nmore"
        raise AssertionError(msg)

    monkeypatch.setattr(sys.modules["torch"], "zeros", zeros)
    cuda = SimpleNamespace(device_count=lambda: 1)
    monkeypatch.setattr(sys.modules["torch"], "cuda", cuda, raising=False)


@pytest.mark.usefixtures("no_device")
def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    match = r"device='cuda:9' cannot be used \(Torch not .* enabled\): use auto, .* cpu, cuda:0"
    with pytest.raises(OptionError, match=match):
        run(tmp_path, 1, extra='device = "cuda:9"')


def test_a_device_is_no_setting_of_a_server(tmp_path: Path) -> None:
    path = plan_of(tmp_path, 1, extra='device = "cpu"\nurl = "http://127.0.0.1:9"')
    path.write_text(path.read_text().replace('"transformers"', '"openai-chat"'))
    with pytest.raises(OptionError, match="leave out device"):
        read_plan(path)


def test_a_model_that_is_not_there(world: World, tmp_path: Path) -> None:
    found = run(tmp_path, 2, name="nowhere")
    assert found.answered == (0,)
    assert "not_found" in found.halted["m"]


def test_what_is_to_be_mended_first_ends_the_run(world: World, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="needs an accelerator"):
        run(tmp_path, 2, name="far")
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"open": 2}}
        assert not list(store.rows("SELECT * FROM attempt"))


def test_a_parameter_that_generation_does_not_know(world: World, tmp_path: Path) -> None:
    def knows(n: int, question: str) -> Outcome:
        known = "mirostat" not in world.batches[-1][0]
        return said("Yes") if known else ValueError("`model_kwargs` not used: ['mirostat']")

    world.says = knows
    assert run(tmp_path, 2, parameters=GREEDY + "mirostat = 2\n").answered == (2,)
    with Store(tmp_path / "run.sqlite") as store:
        assert "mirostat" in store.dropped("m")


def test_replies_that_take_too_long(world: World, tmp_path: Path) -> None:
    """Those that ended in time count; the batch is halved for the others."""
    world.says = lambda n, question: said("Yes", seconds=0.0 if n > 1 or "3" in question else 9.0)
    found = run(tmp_path, 8, extra="timeout = 5")
    assert (found.answered, found.failures) == ((8,), {"timeout": 7})
    assert world.sizes[0] == 8
    assert max(world.sizes[1:]) <= 5
    with Store(tmp_path / "run.sqlite") as store:
        (why,) = {row[0] for row in store.rows("SELECT detail FROM attempt WHERE kind <> 'ok'")}
    assert why == "no complete reply within 5 s"


def test_what_breaks_is_tried_again(world: World, tmp_path: Path) -> None:
    world.says = lambda n, question: said("Yes") if n > 1 else RuntimeError("broken")
    found = run(tmp_path, 2)
    assert (found.answered, found.failures) == ((2,), {"server_error": 2})


def test_a_conversation_that_does_not_fit_fails_alone(world: World, tmp_path: Path) -> None:
    full = TooLargeError("the conversation does not fit into memory")
    world.says = lambda n, question: full if "1" in question else said("Yes")
    found = run(tmp_path, 3)
    assert (found.answered, found.failed) == ((2,), (1,))
    assert found.failures == {"bad_request": 1}, "asked once"


def test_interrupted_it_begins_nothing_more(world: World, tmp_path: Path) -> None:
    def interrupted(n: int, question: str) -> Outcome:
        os.kill(os.getpid(), signal.SIGINT)
        world.stop.wait(0.5)  # for the interrupt to be seen while this is under way
        return said("Yes")

    world.says = interrupted
    found = run(tmp_path, 6, parameters="seed = 5\n")  # each waits by itself
    assert (found.answered, found.left, found.stopped) == ((1,), (5,), "interrupted")
    with Store(tmp_path / "run.sqlite") as store:
        assert not list(store.rows("SELECT * FROM request WHERE lease_owner IS NOT NULL"))
    world.says = lambda n, question: said("Yes")
    assert run(tmp_path, 6, parameters="seed = 5\n").answered == (6,)


def test_interrupted_twice_generation_ends(world: World, tmp_path: Path) -> None:
    def interrupted(n: int, question: str) -> Outcome:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            ended = world.stop.wait(0.5)
        assert ended or world.stop.wait(30), "generation is told to end"
        return said("Yes")

    world.says = interrupted
    found = run(tmp_path, 1)
    assert (found.answered, found.left, found.stopped) == ((0,), (1,), "interrupted")
    assert world.stop.is_set()


def test_an_address_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leave out url"):
        read_plan(plan_of(tmp_path, 1, extra='url = "http://127.0.0.1:9/v1"'))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[steering\]"):
        run(tmp_path, 1)
    with pytest.raises(MissingPackageError):
        WIRES["transformers"].open("", secret=None, headers={}, timeout=1.0)
