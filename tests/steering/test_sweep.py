"""Sweeps: tables, what is resumed, what has collapsed, and what cannot be swept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.steering import (
    Direction,
    DoseResponse,
    answer_logits,
    decoder_layers,
    hidden_states,
    random_direction,
    scan_layers,
    steer,
    sweep,
    sweep_directions,
)
from psychollm.steering.engines import LastToken, UpperLayers
from tests.steering.tiny import made, prompts, tokenizer, torch

STRENGTHS = np.linspace(-1, 1, 41)


@pytest.fixture(scope="module")
def model() -> Any:
    return made("llama")


@pytest.fixture(scope="module")
def direction(model: Any) -> Direction:
    return random_direction(hidden_states(model, tokenizer(), prompts()), rng=0)


def test_the_table(model: Any, direction: Direction) -> None:
    found = sweep(model, tokenizer(), prompts(), 2 * direction, STRENGTHS[::-1], layer=1)
    assert (found.engine, found.kind, found.layer) == ("last_token", "random", 1)
    np.testing.assert_allclose(found.strengths, STRENGTHS)
    np.testing.assert_allclose(found.doses, 2 * STRENGTHS, atol=1e-6)
    assert found.margin.shape == (41, 7)
    frame = found.to_frame()
    assert len(frame) == 41 * 7
    np.testing.assert_allclose(frame["margin"], found.margin.ravel())
    table = found.by_strength()
    assert table["order"].iloc[20] == pytest.approx(1.0)
    np.testing.assert_allclose(table["yes_rate"], found.yes_rates)
    np.testing.assert_allclose(
        found.base_margin, answer_logits(model, tokenizer(), prompts()).margin, atol=1e-4
    )


def test_it_is_kept_on_disk(model: Any, direction: Direction, tmp_path: Path) -> None:
    found = sweep(model, tokenizer(), prompts(), direction, [0, 1], layer=1)
    again = DoseResponse.load(found.save(tmp_path / "found.psy"))
    np.testing.assert_array_equal(again.log_yes, found.log_yes)
    assert (again.layer, again.engine, again.labels) == (1, "last_token", tuple(range(7)))


@pytest.mark.parametrize("engine", [LastToken, UpperLayers])
def test_interrupted_it_goes_on(
    model: Any,
    direction: Direction,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: Any,
) -> None:
    options = {"layer": 1, "batch_size": 2, "checkpoint": tmp_path / "sweep.npz"}
    options["positions"] = "prompt_last" if engine is LastToken else "all"
    answer, calls = engine.answer, []

    def breaking(self: Any, places: Any, strengths: Any) -> Any:
        calls.append(len(places))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return answer(self, places, strengths)

    monkeypatch.setattr(engine, "answer", breaking)
    with pytest.raises(KeyboardInterrupt):
        sweep(model, tokenizer(), prompts(), direction, STRENGTHS, **options)
    done = np.load(options["checkpoint"])["done"]
    assert done.sum() == 4
    found = sweep(model, tokenizer(), prompts(), direction, STRENGTHS, **options)
    assert sum(calls) == 2 + 2 + 2 + 2 + 2 + 2 + 1  # twice the check; four done, four tries left
    monkeypatch.undo()
    whole = sweep(
        model, tokenizer(), prompts(), direction, STRENGTHS, layer=1,
        positions=options["positions"],
    )  # fmt: skip
    np.testing.assert_allclose(found.margin, whole.margin, atol=1e-4)
    with pytest.raises(InputError, match="belongs to another sweep"):
        sweep(model, tokenizer(), prompts(), direction, STRENGTHS[1:], **options)


def test_layers_are_scanned_in_one_go(model: Any, direction: Direction) -> None:
    scan = scan_layers(model, tokenizer(), prompts(), direction, STRENGTHS)
    assert scan.layers == (0, 1, 2, 3)
    for layer in scan.layers:
        alone = sweep(model, tokenizer(), prompts(), direction, STRENGTHS, layer=layer)
        np.testing.assert_allclose(scan.layer(layer).margin, alone.margin, atol=1e-4)
    frame = scan.to_frame()
    assert frame["layer"].tolist() == [0, 1, 2, 3]
    assert np.isfinite(frame[["slope", "order", "mass"]].to_numpy()).all()
    everywhere = scan_layers(
        model, tokenizer(), prompts(), direction, [0, 1], layers=[2], positions="all"
    )
    assert everywhere.layer(2).engine == "upper_layers"
    with pytest.raises(InputError, match="was not swept"):
        scan.layer(9)


def test_directions_are_compared_in_one_go(model: Any, direction: Direction) -> None:
    named = {"found": direction, "back": -direction, "other": random_direction(direction, rng=9)}
    scan = sweep_directions(model, tokenizer(), prompts(), named, STRENGTHS, layer=1)
    for name, one in named.items():
        alone = sweep(model, tokenizer(), prompts(), one, STRENGTHS, layer=1)
        np.testing.assert_allclose(scan[name].margin, alone.margin, atol=1e-4)
    assert list(scan.besides("found")) == ["back", "other"]
    frame = scan.to_frame()
    assert frame["slope"][0] == pytest.approx(-frame["slope"][1], abs=1e-4)
    with pytest.raises(LabelError, match="was not swept"):
        scan["none"]
    with pytest.raises(OptionError, match="directions is empty"):
        sweep_directions(model, tokenizer(), prompts(), {}, STRENGTHS, layer=1)


def test_a_broken_model_is_flagged() -> None:
    logs = np.log([[0.002, 0.001], [0.5, 0.6], [np.nan, 0.1]])
    found = DoseResponse(
        strengths=[-9.0, 0.0, 9.0],
        doses=[-9.0, 0.0, 9.0],
        log_yes=logs,
        log_no=np.log([[0.002, 0.001], [0.3, 0.3], [0.1, 0.1]]),
        base_yes=logs[1],
        base_no=np.log([0.3, 0.3]),
        labels=("a", "b"),
        layer=3,
    )
    assert found.collapsed.tolist() == [True, False, True]
    assert found.usable().strengths.tolist() == [0.0]
    worse = DoseResponse(
        strengths=[9.0], doses=[9.0], log_yes=logs[:1], log_no=logs[:1],
        base_yes=logs[1], base_no=logs[1], labels=("a", "b"), layer=3,
    )  # fmt: skip
    with pytest.raises(InputError, match="answers neither yes nor no at any strength"):
        worse.usable()


def test_a_model_that_breaks_is_swept_to_the_end(model: Any, direction: Direction) -> None:
    found = sweep(model, tokenizer(), prompts(), direction, [0.0, 1e30], layer=1)
    assert found.margin.shape == (2, 7)
    assert not found.collapsed[0]


def test_sixteen_bits(direction: Direction) -> None:
    model = made("llama").to(torch.bfloat16)
    found, whole = (
        sweep(model, tokenizer(), prompts(), direction, [-1, 0, 1], layer=1, engine=engine)
        for engine in ("auto", "whole")
    )
    assert found.engine == "last_token"
    np.testing.assert_allclose(found.log_yes, whole.log_yes, atol=0.2)


def test_layers_that_accelerate_has_dispatched(direction: Direction) -> None:
    accelerate = pytest.importorskip("accelerate")
    plain = sweep(made("llama"), tokenizer(), prompts(), direction, [-1, 0, 1], layer=1)
    model = accelerate.dispatch_model(made("llama"), device_map={"": "cpu"}, force_hooks=True)
    for layer in decoder_layers(model):
        accelerate.hooks.add_hook_to_module(layer, accelerate.hooks.AlignDevicesHook("cpu"))
    before = [vars(layer)["forward"] for layer in decoder_layers(model)]
    for positions in ("prompt_last", "all"):
        found = sweep(
            model, tokenizer(), prompts(), direction, [-1, 0, 1], layer=1, positions=positions
        )
        assert found.engine != "whole"
        if positions == "prompt_last":
            np.testing.assert_allclose(found.margin, plain.margin, atol=1e-4)
    assert [vars(layer)["forward"] for layer in decoder_layers(model)] == before


def test_one_prompt_and_one_strength(model: Any, direction: Direction) -> None:
    found = sweep(model, tokenizer(), ["w1 :"], direction, [0.5], layer=0)
    with steer(model, 0.5 * direction, layer=0):
        alone = answer_logits(model, tokenizer(), ["w1 :"])
    np.testing.assert_allclose(found.margin[0], alone.margin, atol=1e-4)


def test_a_steered_model_is_swept_whole(model: Any, direction: Direction) -> None:
    with steer(model, -0.5 * direction, layer=1):
        found = sweep(model, tokenizer(), prompts(), direction, [0.0, 0.5], layer=1)
    assert found.engine == "whole"
    plain = answer_logits(model, tokenizer(), prompts())
    np.testing.assert_allclose(found.margin[1], plain.margin, atol=1e-4)


def test_engines_that_disagree_are_left_out(
    model: Any, direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = LastToken.answer
    monkeypatch.setattr(LastToken, "answer", lambda *args: answer(*args) + 0.1)

    def fail(*args: Any) -> Any:
        raise RuntimeError("cannot begin here")

    monkeypatch.setattr(UpperLayers, "answer", fail)
    found = sweep(model, tokenizer(), prompts(), direction, [0, 1], layer=1)
    assert (found.engine, found.max_error) == ("whole", 0.0)
    with pytest.raises(InputError, match="differs from whole passes by"):
        sweep(model, tokenizer(), prompts(), direction, [0, 1], layer=1, engine="last_token")


@pytest.mark.parametrize("strengths", [[], [[1.0]], [0.0, np.nan], [1.0, 1.0]])
def test_strengths_that_cannot_be(model: Any, direction: Direction, strengths: Any) -> None:
    with pytest.raises(OptionError, match="strengths"):
        sweep(model, tokenizer(), prompts(2), direction, strengths, layer=1)


def test_positions_and_engines_that_cannot_be(model: Any, direction: Direction) -> None:
    asked: Any = (model, tokenizer(), prompts(2), direction, [0, 1])
    with pytest.raises(OptionError, match="does not steer the first token of the reply"):
        sweep(*asked, layer=1, positions="generated")
    with pytest.raises(OptionError, match="engine='last_token' needs"):
        sweep(*asked, layer=1, positions="all", engine="last_token")
    with pytest.raises(OptionError, match="does not exist in"):
        sweep(*asked, layer=4)
