"""Steering while a model runs: where it acts, that it ends, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm.steering import (
    Direction,
    answer_logits,
    decoder_layers,
    hidden_states,
    random_direction,
    steer,
)
from tests.steering.tiny import made, prompts, tokenizer, torch


@pytest.fixture(scope="module")
def model() -> Any:
    return made("llama")


@pytest.fixture(scope="module")
def direction(model: Any) -> Direction:
    return random_direction(hidden_states(model, tokenizer(), prompts()), rng=0)


def generated(model: Any, *, use_cache: bool, beams: int = 1) -> list[list[int]]:
    asked = tokenizer()(prompts(3), return_tensors="pt", padding=True, padding_side="left")
    said = model.generate(
        input_ids=asked["input_ids"],
        attention_mask=asked["attention_mask"],
        max_new_tokens=6,
        do_sample=False,
        use_cache=use_cache,
        num_beams=beams,
        pad_token_id=0,
        eos_token_id=None,
    )
    found: list[list[int]] = said[:, asked["input_ids"].shape[1] :].tolist()
    return found


@pytest.mark.parametrize("beams", [1, 2])
@pytest.mark.parametrize("positions", ["prompt_last", "generated", "all"])
def test_a_cache_changes_nothing(
    model: Any, direction: Direction, positions: Any, beams: int
) -> None:
    found = []
    for use_cache in (True, False):
        with steer(model, 3 * direction, layer=1, positions=positions):
            found.append(generated(model, use_cache=use_cache, beams=beams))
    assert found[0] == found[1]
    assert found[0] != generated(model, use_cache=True, beams=beams)


def test_what_is_generated_is_steered_after_the_first_token(
    model: Any, direction: Direction
) -> None:
    plain = generated(model, use_cache=True)
    with steer(model, 3 * direction, layer=1, positions="generated"):
        steered = generated(model, use_cache=True)
    assert [row[0] for row in steered] == [row[0] for row in plain]
    assert steered != plain


def states(model: Any, ids: Any, layer: int) -> Any:
    """Return what a layer returns for a batch of tokens."""
    kept = []
    handle = decoder_layers(model)[layer].register_forward_hook(
        lambda module, args, output: kept.append(output)
    )
    with torch.no_grad():
        model(input_ids=ids)
    handle.remove()
    return kept[0][0] if isinstance(kept[0], tuple) else kept[0]


@pytest.mark.parametrize(("positions", "moved"), [("prompt_last", [4]), ("all", [0, 1, 2, 3, 4])])
def test_the_state_moves_by_the_dose(
    model: Any, direction: Direction, positions: Any, moved: list[int]
) -> None:
    ids = torch.tensor([[9, 10, 11, 12, 6]])
    before = states(model, ids, 2)
    with steer(model, 0.25 * direction, layer=2, positions=positions):
        after = states(model, ids, 2)
    change = (after - before)[0].numpy()
    expected = np.zeros_like(change)
    expected[moved] = 0.25 * direction.displacement(2)
    np.testing.assert_allclose(change, expected, atol=1e-4)
    norm = direction.hidden_norms[direction.place(2)]
    assert np.linalg.norm(change[-1]) == pytest.approx(0.25 * norm, rel=1e-3)


def test_padding_on_the_right_does_not_hide_the_last_token(
    model: Any, direction: Direction
) -> None:
    rows = torch.tensor([[9, 10, 6, 0, 0], [9, 10, 11, 12, 6]])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with torch.no_grad(), steer(model, direction, layer=1):
        both = model(input_ids=rows, attention_mask=mask).logits[0, 2]
        alone = model(input_ids=rows[:1, :3]).logits[0, 2]
    np.testing.assert_allclose(both.numpy(), alone.numpy(), atol=1e-4)


def test_several_layers_and_contexts_add_up(model: Any, direction: Direction) -> None:
    asked, words = prompts(), tokenizer()
    with steer(model, direction, layer=(0, 2)):
        at_once = answer_logits(model, words, asked)
    half = 0.5 * direction
    with (
        steer(model, direction, layer=0),
        steer(model, half, layer=2),
        steer(model, half, layer=2),
    ):
        nested = answer_logits(model, words, asked)
    np.testing.assert_allclose(nested.margin, at_once.margin, atol=1e-4)


def test_opposite_doses_cancel(model: Any, direction: Direction) -> None:
    asked, words = prompts(), tokenizer()
    with steer(model, direction, layer=1), steer(model, -direction, layer=1):
        both = answer_logits(model, words, asked)
    np.testing.assert_allclose(both.margin, answer_logits(model, words, asked).margin, atol=1e-4)


def test_an_error_inside_leaves_no_hook(model: Any, direction: Direction) -> None:
    with pytest.raises(KeyError, match="broken"), steer(model, direction, layer=1):
        raise KeyError("broken")
    watched = [*decoder_layers(model), model.model]
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in watched)


def test_sixteen_bits_keep_small_doses(direction: Direction) -> None:
    model = made("llama").to(torch.bfloat16)
    ids = torch.tensor([[9, 10, 11, 12, 6]])
    before = states(model, ids, 1)
    with steer(model, 0.05 * direction, layer=1):
        after = states(model, ids, 1)
    expected = before.float()[0, -1] + torch.tensor(0.05 * direction.displacement(1))
    assert after.dtype == torch.bfloat16
    assert torch.equal(after[0, -1], expected.to(torch.bfloat16))


def test_a_recurrent_model_is_steered_everywhere_or_not_at_all() -> None:
    from tests.steering.tiny import SMALL, WORDS, transformers

    config = transformers.MambaConfig(
        hidden_size=32, num_hidden_layers=2, vocab_size=len(WORDS), state_size=4
    )
    torch.manual_seed(0)
    model = transformers.MambaForCausalLM(config).eval()
    asked, words = prompts(), tokenizer()
    made_here = random_direction(hidden_states(model, words, asked), rng=0)
    assert SMALL["hidden_size"] == made_here.hidden_size
    with pytest.raises(OptionError, match="positions='all'"), steer(model, made_here, layer=0):
        pass
    before = answer_logits(model, words, asked)
    with steer(model, made_here, layer=0, positions="all"):
        after = answer_logits(model, words, asked)
    assert not np.allclose(before.margin, after.margin)


@pytest.mark.parametrize("layer", [4, -1, 1.5, True, []])
def test_unknown_layers(model: Any, direction: Direction, layer: Any) -> None:
    with pytest.raises(OptionError, match="layer"), steer(model, direction, layer=layer):
        pass


def test_a_direction_without_the_layer(model: Any, direction: Direction) -> None:
    with (
        pytest.raises(OptionError, match="no vector for layer 1"),
        steer(model, direction.only(2, 3), layer=1),
    ):
        pass


def test_a_direction_of_another_width(model: Any) -> None:
    other = Direction(vectors=np.ones((1, 8)), hidden_norms=[1.0], layers=(1,), kind="made")
    with pytest.raises(ShapeError, match="8 components"), steer(model, other, layer=1):
        pass


def test_unknown_positions(model: Any, direction: Direction) -> None:
    with (
        pytest.raises(OptionError, match="positions"),
        steer(model, direction, layer=1, positions="last"),  # type: ignore[arg-type]
    ):
        pass


def test_a_model_in_training(direction: Direction) -> None:
    model = made("gpt2").train()
    with pytest.raises(InputError, match=r"model\.eval\(\)"), steer(model, direction, layer=1):
        pass


def test_what_is_no_model(direction: Direction) -> None:
    with pytest.raises(InputError, match="causal language model"):
        decoder_layers(object())


def test_a_model_without_a_list_of_layers() -> None:
    model = made("gpt2")
    model.config.n_layer = 7
    with pytest.raises(InputError, match="no list of 7 decoder layers"):
        decoder_layers(model)
