"""How likely replies are, against one pass for each."""

import math

import numpy as np
import pytest

from psychollm._base.errors import InputError
from psychollm.steering import reply_likelihood
from tests.steering.tiny import made, tokenizer, torch

PROMPTS = ["w1 w2 :", "w3 ?", "w1 w4 w5 w6 :"]
REPLIES = ["w7 w8 w9", "yes", "no w1"]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_replies_token_by_token(name: str) -> None:
    model, words = made(name), tokenizer()
    found = reply_likelihood(model, words, PROMPTS, REPLIES, batch_size=2)
    assert found.n_tokens.tolist() == [3, 1, 2]
    for i, (prompt, reply) in enumerate(zip(PROMPTS, REPLIES, strict=True)):
        ids = words(f"{prompt} {reply}", return_tensors="pt")["input_ids"]
        n = len(reply.split())
        with torch.no_grad():
            logs = model(input_ids=ids).logits[0].log_softmax(-1)
        by_hand = sum(float(logs[-k - 1, ids[0, -k]]) for k in range(1, n + 1))
        assert found.total[i] == pytest.approx(by_hand, abs=1e-4)
        assert found.perplexity[i] == pytest.approx(math.exp(-by_hand / n), rel=1e-4)
    np.testing.assert_allclose(found.to_frame()["mean"], found.mean)


@pytest.mark.parametrize(
    ("replies", "message"),
    [("yes", "one text per prompt"), (["yes"], r"one text per prompt \(3\)"),
     (["yes", "", "no"], "reply to prompt 1 is empty")],
)  # fmt: skip
def test_replies_that_cannot_be(replies: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reply_likelihood(made("gpt2"), tokenizer(), PROMPTS, replies)
