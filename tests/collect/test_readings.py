"""Replies of a store, read again: nothing is asked, and what is missing stays missing."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import joblib
import pytest

from psychollm._base.errors import LabelError
from psychollm.collect.client import prepare
from psychollm.collect.plan import Plan
from psychollm.collect.readings import instruments_in, readings
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.rule_world import RuleWorld
from psychollm.instruments.self_prediction import SelfPrediction
from tests.cli.stores import filled

WORLD = RuleWorld(n=8, seed=4)
KEPT = "SELECT count(*), max(id), sum(length(text)) FROM attempt"
ASKED = SelfPrediction(questions=[{"question": "2 + 2?", "answer": "4"}])


def says(prompt: Prompt, sample: int) -> str | None:
    """Fail for one item, decline for another, say the same to all others."""
    if prompt.item.endswith("A0001"):
        return None
    return "I cannot help with that." if prompt.item.endswith("A0002") else "Answer: 7"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled(tmp_path / "run.sqlite", WORLD.prompts(), {"m": says, "n": says}, repeats=2)


def test_readings_by_model_sample_and_prompt(store: Path) -> None:
    with Store(store, create=False) as opened:
        said = readings(opened)
    assert said.models == ("m", "n")
    assert set(said.by_model["m"]) == {0, 1}
    one = said.by_model["n"][1]
    assert list(one) == [prompt.key for prompt in WORLD.prompts()]
    first, second, *_ = WORLD.prompts()
    assert one[first.key] is None
    assert one[second.key] == WORLD.read(second, "I cannot help with that.")
    assert said.outcomes["m"]["failed"] == 2
    assert sum(said.outcomes["m"].values()) == 16
    frame = said.to_frame()
    assert len(frame) == 32
    assert frame["outcome"].value_counts()["failed"] == 4
    assert said.prompts["m"] == WORLD.prompts()


def test_scores_are_those_of_the_instrument(store: Path) -> None:
    with Store(store, create=False) as opened:
        said = readings(opened)
    texts = [says(prompt, 0) for prompt in WORLD.prompts()]
    direct = WORLD.score(
        [
            None if text is None else WORLD.read(prompt, text)
            for prompt, text in zip(WORLD.prompts(), texts, strict=True)
        ]
    )
    assert said.scores()["m"][0].responses == direct.responses
    pooled = said.pooled_scores()["m"]
    assert pooled.responses == direct.responses * 2
    assert pooled.runs == (1,) * 8 + (2,) * 8


def test_reading_again_changes_nothing(store: Path) -> None:
    with Store(store, create=False) as opened:
        before = next(opened.rows(KEPT))
        first, second = readings(opened), readings(opened)
        after = next(opened.rows(KEPT))
    assert tuple(before) == tuple(after)
    assert first.by_model == second.by_model


def test_processes_read_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["psychollm.collect.readings"], "BATCH", 3)
    with Store(store, create=False) as opened:
        here = readings(opened)
        with joblib.parallel_config(backend="loky"):
            there = readings(opened, n_jobs=2)
    assert there.by_model == here.by_model
    assert there.outcomes == here.outcomes
    assert there.keys == here.keys


def test_reading_needs_no_httpx(store: Path) -> None:
    program = (
        "import sys; sys.modules['httpx'] = None\n"
        "from pathlib import Path\n"
        "from psychollm.collect import Store, readings\n"
        f"with Store(Path({str(store)!r})) as store: print(readings(store).models)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "('m', 'n')\n", found.stderr


def test_what_was_not_asked_yet_is_missing_too(tmp_path: Path) -> None:
    plan = Plan(
        store=tmp_path / "run.sqlite",
        prompts=ASKED.prompts(),
        endpoints={"here": Endpoint(name="here", url="http://127.0.0.1:9/v1")},
        models=(Model(name="m", endpoint="here", model="m"),),
    )
    with Store(plan.store) as opened:
        prepare(plan, opened)
        said = readings(opened)
    assert set(said.by_model["m"][0].values()) == {None}
    assert said.outcomes == {"m": {"not_asked": 2}}
    assert "2 not asked" in said.summary()


def test_several_instruments(tmp_path: Path) -> None:
    both = (*WORLD.prompts(), *ASKED.prompts())
    path = filled(tmp_path / "both.sqlite", both, {"m": lambda prompt, sample: "Yes"})
    with Store(path) as opened:
        assert instruments_in(opened) == {"rule_world": 8, "self_prediction": 2}
        assert len(readings(opened, instrument="self_prediction").by_model["m"][0]) == 2
        with pytest.raises(LabelError, match="choose one"):
            readings(opened)
        with pytest.raises(LabelError, match="'coding' is none of them"):
            readings(opened, instrument="coding")


def test_one_key_for_several_prompts(tmp_path: Path) -> None:
    first = WORLD.prompts()[0]
    path = filled(tmp_path / "k.sqlite", [first, replace(first, repeat=1)], {"m": says})
    with Store(path) as opened, pytest.raises(LabelError, match="its own key"):
        readings(opened)
