"""A prompt alone says who reads and scores what it was answered."""

from dataclasses import replace

import numpy as np
import pytest

from psychollm._base.errors import LabelError
from psychollm.instruments.instrument import INSTRUMENTS, instrument_of, reader_of, scorer_of
from psychollm.instruments.rule_world import RuleWorld

WORLD = RuleWorld(n=12, seed=3)


def test_every_prompt_of_a_rule_world_names_it() -> None:
    assert {instrument_of(prompt) for prompt in WORLD.prompts()} == {"rule_world"}


def test_read_and_scored_by_name_as_by_the_instrument() -> None:
    prompts = WORLD.prompts()
    replies = [f"Answer: {prompt.about.get('correct', 'A')}" for prompt in prompts]
    by_name = [reader_of("rule_world")(*pair) for pair in zip(prompts, replies, strict=True)]
    assert by_name == [WORLD.read(*pair) for pair in zip(prompts, replies, strict=True)]
    scores = scorer_of("rule_world")(prompts, by_name)
    np.testing.assert_array_equal(scores.strict, WORLD.score(by_name).strict)


def test_what_is_no_instrument_is_said() -> None:
    prompt = replace(WORLD.prompts()[0], about={})
    with pytest.raises(LabelError, match="names no instrument"):
        instrument_of(prompt)
    with pytest.raises(LabelError, match="no instrument 'horoscope': known are abstention"):
        instrument_of(replace(prompt, about={"instrument": "horoscope"}))
    with pytest.raises(LabelError, match="os"):
        reader_of("os")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_every_instrument_offers_both_functions(name: str) -> None:
    assert callable(reader_of(name))
    assert callable(scorer_of(name))
