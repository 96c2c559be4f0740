"""Every architecture: layers found, padding without effect, and sweeps that equal whole passes."""

from typing import Any

import numpy as np
import pytest

from psychollm.steering import (
    answer_logits,
    decoder_layers,
    hidden_states,
    random_direction,
    steer,
    sweep,
)
from psychollm.steering.anatomy import anatomy
from tests.steering.tiny import ARCHITECTURES, made, prompts, tokenizer, torch

STRENGTHS = (-1.0, -0.3, 0.0, 0.5, 1.0)
TOLERANCE = 1e-4  # float32, as the sums are taken in another order


@pytest.fixture(params=sorted(ARCHITECTURES))
def model(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def test_layers_are_found_and_read(model: Any) -> None:
    layers = decoder_layers(model)
    assert len(layers) == anatomy(model).n_layers == 4
    states = hidden_states(model, tokenizer(), prompts(3))
    asked = tokenizer()(prompts(3)[0], return_tensors="pt")
    with torch.no_grad():
        known = model(input_ids=asked["input_ids"], output_hidden_states=True).hidden_states
    for layer in range(3):  # the last entry of transformers has passed the final norm
        expected = known[layer + 1][0, -1].numpy()
        np.testing.assert_allclose(states.states[0, layer], expected, atol=1e-4)


def test_padding_and_a_common_beginning_change_nothing(model: Any) -> None:
    asked = prompts()
    together = answer_logits(model, tokenizer(), asked, batch_size=4)
    alone = [answer_logits(model, tokenizer(), [prompt], batch_size=1) for prompt in asked]
    np.testing.assert_allclose(
        together.log_yes, [float(one.log_yes[0]) for one in alone], atol=TOLERANCE
    )


@pytest.mark.parametrize("positions", ["prompt_last", "all"])
def test_a_sweep_equals_whole_passes(model: Any, positions: Any) -> None:
    asked, words = prompts(), tokenizer()
    direction = random_direction(hidden_states(model, words, asked, layers=[1]), rng=0)
    whole = sweep(
        model, words, asked, direction, STRENGTHS, layer=1, positions=positions, engine="whole"
    )
    swept = sweep(
        model, words, asked, direction, STRENGTHS, layer=1, positions=positions, batch_size=3
    )
    assert np.ptp(whole.margin, axis=0).min() > 10 * TOLERANCE, "steering moves every answer"
    assert swept.engine != "whole"
    assert swept.max_error < TOLERANCE
    np.testing.assert_allclose(swept.log_yes, whole.log_yes, atol=TOLERANCE)
    np.testing.assert_allclose(swept.log_no, whole.log_no, atol=TOLERANCE)
    np.testing.assert_allclose(swept.base_margin, whole.margin[2], atol=TOLERANCE)
    with steer(model, 0.5 * direction, layer=1, positions=positions):
        steered = answer_logits(model, words, asked)
    np.testing.assert_allclose(steered.margin, whole.margin[3], atol=TOLERANCE)


def test_the_model_is_as_it_was(model: Any) -> None:
    before = [dict(vars(block)) for block in decoder_layers(model)]
    direction = random_direction(hidden_states(model, tokenizer(), prompts(3)), rng=0)
    sweep(model, tokenizer(), prompts(3), direction, STRENGTHS, layer=2)
    after = [dict(vars(block)) for block in decoder_layers(model)]
    assert [sorted(one) for one in after] == [sorted(one) for one in before]
    assert not any(block._forward_hooks for block in decoder_layers(model))
