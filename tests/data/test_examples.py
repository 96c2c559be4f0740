import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm.data.examples import make_example, pack_example


def test_generator_makes_the_stored_answers_bit_for_bit():
    stored, made = psy.load_example("shared_confidence"), make_example()
    np.testing.assert_array_equal(stored.confidence.codes, made.confidence.codes)
    np.testing.assert_array_equal(stored.correctness.codes, made.correctness.codes)
    for name in ("loadings", "thresholds", "abilities", "self_knowledge"):
        np.testing.assert_array_equal(getattr(stored.truth, name), getattr(made.truth, name))
    for name in ("scores", "easiness"):  # in thousandths
        rounded = np.round(getattr(made.truth, name), 3)
        np.testing.assert_array_equal(getattr(stored.truth, name), rounded)
    assert sum(array.nbytes for array in pack_example(made).values()) < 28_000


def test_it_says_that_it_is_simulated_wherever_it_shows():
    example = psy.load_example("shared_confidence")
    assert example.simulated
    for text in (
        repr(example),
        example._repr_html_(),
        repr(example.confidence),
        repr(example.correctness),
        example.description,
    ):
        assert "SIMULATED" in text
    assert all(model.startswith("sim-") for model in example.confidence.models)


def test_shape_and_screen():
    example = psy.load_example("shared_confidence")
    assert example.confidence.codes.shape == (19, 2_000)
    assert example.confidence.align(example.correctness) is not None
    assert not psy.validity_screen(example.confidence, example.correctness).flagged.any()
    rates = example.confidence.yes_rates
    assert rates.min() < 0.05
    assert rates.max() > 0.95


def test_unknown_example():
    with pytest.raises(OptionError, match="use one of 'shared_confidence'"):
        psy.load_example("iris")
