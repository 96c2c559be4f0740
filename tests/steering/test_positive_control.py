"""A model in which the answer is known: one number per item decides, and steering must find it.

A small transformer is trained to say yes to an item of difficulty b with probability
1 / (1 + exp(2 b)). Respondents are simulated who say yes where b, blurred by a private error, is
below their threshold. The direction is made from half of the items and swept over the other half.
For each respondent the strength is chosen that agrees best; by construction it must follow the
threshold, and agreement must be beyond chance. A random direction of the same dose must fall
short.
"""

from typing import Any

import numpy as np
import pytest

from psychollm.steering import (
    Direction,
    HiddenStates,
    difference_of_means,
    hidden_states,
    random_direction,
    sweep,
)
from tests.steering.tiny import tokenizers, torch, transformers

N_ITEMS, N_FRAMES = 160, 6
STRENGTHS = np.linspace(-1.0, 1.0, 41)
THRESHOLDS = np.linspace(-1.4, 1.4, 15)
LAYER = 2

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def planted() -> tuple[Any, Any, np.ndarray]:
    """Return a trained model, its tokenizer and the difficulties of the items."""
    rng = np.random.default_rng(7)
    difficulty = rng.normal(size=N_ITEMS)
    words = [
        "[pad]", "yes", "no", ":", *(f"f{i}" for i in range(N_FRAMES)),
        *(f"q{i}" for i in range(N_ITEMS)),
    ]  # fmt: skip
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[pad]")  # noqa: S106
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=16,
    )  # fmt: skip
    torch.manual_seed(3)
    model = transformers.LlamaForCausalLM(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    chance = 1 / (1 + np.exp(2 * difficulty))
    for _ in range(200):
        items, frames = rng.integers(N_ITEMS, size=64), rng.integers(N_FRAMES, size=64)
        ids = np.stack([4 + frames, 4 + N_FRAMES + items, np.full(64, 3)], axis=1)
        logs = model(input_ids=torch.tensor(ids)).logits[:, -1].log_softmax(-1)
        p = torch.tensor(chance[items], dtype=torch.float32)
        loss = -(p * logs[:, 1] + (1 - p) * logs[:, 2]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    words_of = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    return model.eval(), words_of, difficulty


def kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cohen's kappa of two rows of answers; 0 where both are constant."""
    observed = (a == b).mean()
    chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float((observed - chance) / (1 - chance)) if chance < 1 else 0.0


class Control:
    """The trained model, its direction, and the simulated respondents."""

    def __init__(self) -> None:
        self.model, self.tokenizer, self.difficulty = planted()
        self.items = np.arange(N_ITEMS) % 2 == 1  # held out
        prompts = [f"f{i % N_FRAMES} q{i} :" for i in range(N_ITEMS)]
        self.states: HiddenStates = hidden_states(self.model, self.tokenizer, prompts)
        self.direction = difference_of_means(self.states.take(~self.items))
        self.prompts = [prompt for prompt, kept in zip(prompts, self.items, strict=True) if kept]
        errors = np.random.default_rng(11).normal(size=(len(THRESHOLDS), self.items.sum()))
        self.targets = self.difficulty[self.items] + 0.3 * errors < THRESHOLDS[:, None]

    def matched(self, direction: Direction, *, order: Any = None) -> tuple[float, float]:
        """Return R2 of the best strength on the threshold, and mean kappa at that strength."""
        targets = self.targets if order is None else self.targets[:, order]
        swept = sweep(
            self.model, self.tokenizer, self.prompts, direction, STRENGTHS, layer=LAYER
        ).usable()
        says = swept.says_yes
        best, kappas = [], []
        for target in targets:
            agreement = (says == target).mean(axis=1)
            ties = np.flatnonzero(agreement == agreement.max())
            place = ties[len(ties) // 2]
            best.append(swept.strengths[place])
            kappas.append(kappa(says[place], target))
        r = np.corrcoef(best, THRESHOLDS)[0, 1] if np.ptp(best) else 0.0
        return float(r**2), float(np.mean(kappas))


@pytest.fixture(scope="module")
def control() -> Control:
    return Control()


def test_the_model_has_learnt_the_difficulties(control: Control) -> None:
    answers = control.states.answers
    assert answers is not None
    assert np.corrcoef(answers.margin, -control.difficulty)[0, 1] > 0.95
    assert answers.mass.min() > 0.9


def test_the_direction_recovers_the_thresholds(control: Control) -> None:
    r2, agreement = control.matched(control.direction)
    random = [control.matched(random_direction(control.direction, rng=i)) for i in range(8)]
    assert r2 >= 0.9
    assert agreement > 0.7
    assert max(one[0] for one in random) < 0.9
    assert max(one[1] for one in random) < agreement - 0.1
    # With the items' names shuffled R2 stays high, which is why R2 alone proves nothing.
    order = np.random.default_rng(5).permutation(len(control.prompts))
    assert control.matched(control.direction, order=order)[1] < 0.25


def test_the_direction_moves_every_item_alike(control: Control) -> None:
    swept = sweep(
        control.model,
        control.tokenizer,
        control.prompts,
        control.direction,
        STRENGTHS,
        layer=LAYER,
    )
    rates = swept.yes_rates[~swept.collapsed]
    assert (np.diff(rates) >= 0).all()
    assert rates[0] < 0.1
    assert rates[-1] > 0.9
