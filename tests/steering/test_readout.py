"""What a model would answer: forms of words, templates, batches, and what cannot be asked."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.prompt import Message, Prompt
from psychollm.steering import answer_logits, answer_tokens, hidden_states
from tests.steering.tiny import WORDS, made, prompts, tokenizer, torch, transformers


@pytest.fixture(scope="module")
def model() -> Any:
    return made("gpt2")


def test_all_forms_of_a_word_count(model: Any) -> None:
    found = answer_logits(model, tokenizer(), prompts(1))
    asked = tokenizer()(prompts(1)[0], return_tensors="pt")
    with torch.no_grad():
        chances = model(input_ids=asked["input_ids"]).logits[0, -1].softmax(-1).numpy()
    yes = chances[[WORDS.index("yes"), WORDS.index("Yes")]].sum()
    no = chances[[WORDS.index("no"), WORDS.index("No")]].sum()
    assert np.exp(found.log_yes[0]) == pytest.approx(yes, rel=1e-5)
    assert found.mass[0] == pytest.approx(yes + no, rel=1e-5)
    assert found.p_yes[0] == pytest.approx(yes / (yes + no), rel=1e-5)
    assert found.n_tokens.tolist() == [len(asked["input_ids"][0])]


def test_other_words_may_be_asked_for(model: Any) -> None:
    found = answer_logits(model, tokenizer(), prompts(1), yes=["W1"], no="w2")
    assert found.tokens.yes == (WORDS.index("w1"),)
    assert found.tokens.no == (WORDS.index("w2"),)


@pytest.mark.parametrize("size", [1, 2, 50])
def test_batches_change_nothing(model: Any, size: int) -> None:
    one, other = (
        hidden_states(model, tokenizer(), prompts(), batch_size=n).states for n in (3, size)
    )
    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("token", [-2, -12])
def test_states_of_earlier_tokens(model: Any, token: int) -> None:
    asked = prompts(3)
    found = hidden_states(model, tokenizer(), asked, layers=[2], token=token)
    for row, prompt in zip(found.states, asked, strict=True):
        ids = tokenizer()(prompt, return_tensors="pt")
        with torch.no_grad():
            known = model(input_ids=ids["input_ids"], output_hidden_states=True).hidden_states[3][
                0, token
            ]
        np.testing.assert_allclose(row[0], known.numpy(), atol=1e-4)


def test_conversations_go_through_the_template(model: Any) -> None:
    words = tokenizer()
    words.chat_template = (
        "{% for turn in messages %}w1 {{ turn.content }} {% endfor %}"
        "{% if add_generation_prompt %}:{% endif %}"
    )
    asked = Prompt(key="q1", item="q1", messages=(Message("user", "w2 w3"),), reply="yes_no")
    found = answer_logits(model, words, [asked])
    same = answer_logits(model, words, ["w1 w2 w3 :"])
    assert found.labels == ("q1",)
    np.testing.assert_allclose(found.margin, same.margin, atol=1e-6)
    with pytest.raises(InputError, match="strings and conversations"):
        answer_logits(model, words, [asked, "w1 :"])


def test_answers_are_called_after_their_questions(model: Any) -> None:
    turns = (Message("user", "w2 :"),)
    asked = [
        Prompt(key=key, item=item, messages=turns, reply="yes_no")
        for key, item in (("a/1", "a"), ("b/1", "b"), ("a/2", "a"))
    ]
    assert answer_logits(model, tokenizer(), asked[:2]).labels == ("a", "b")
    assert answer_logits(model, tokenizer(), asked).labels == ("a/1", "b/1", "a/2")


def test_conversations_without_a_template(model: Any) -> None:
    turns = (Message("system", "w1"), Message("user", "w2 :"))
    asked = Prompt(key="q1", item="q1", messages=turns, reply="yes_no")
    found = answer_logits(model, tokenizer(), [asked])
    assert found.n_tokens.tolist() == [3]


def test_the_opening_token_comes_once(model: Any) -> None:
    words = tokenizer()
    words.add_special_tokens({"bos_token": "[start]"})
    words.backend_tokenizer.post_processor = __import__(
        "tokenizers"
    ).processors.TemplateProcessing(single="[start] $A", special_tokens=[("[start]", 1)])
    plain, opened = (answer_logits(model, words, [text]) for text in ("w1 :", "[start] w1 :"))
    assert plain.n_tokens.tolist() == opened.n_tokens.tolist() == [3]


def test_prompts_that_end_differently(model: Any) -> None:
    with pytest.raises(InputError, match=r"prompt 1 ends with '\?', prompt 0 with ':'"):
        answer_logits(model, tokenizer(), ["w1 w2 :", "w1 w2 ?"])


@pytest.mark.parametrize("asked", [[], "w1 :"])
def test_what_are_no_prompts(model: Any, asked: Any) -> None:
    with pytest.raises(InputError, match="prompts must be a sequence"):
        answer_logits(model, tokenizer(), asked)


def test_an_empty_prompt(model: Any) -> None:
    with pytest.raises(InputError, match="prompt 1 is empty"):
        answer_logits(model, tokenizer(), ["w1 :", ""])


def test_words_that_the_tokenizer_lacks() -> None:
    with pytest.raises(InputError, match=r"none of \['oui'\] as a single token"):
        answer_tokens(tokenizer(), yes=["oui"])
    with pytest.raises(OptionError, match="may belong to one answer only"):
        answer_tokens(tokenizer(), yes=["yes"], no=["Yes"])
    with pytest.raises(OptionError, match="at least one word"):
        answer_tokens(tokenizer(), no=[])
    with pytest.raises(OptionError, match="at least one word"):
        answer_tokens(tokenizer(), no=["no", " "])


@pytest.mark.parametrize("token", [0, -99])
def test_tokens_that_are_not_there(model: Any, token: int) -> None:
    with pytest.raises(OptionError, match="must count from the end"):
        hidden_states(model, tokenizer(), prompts(2), token=token)


def test_states_that_are_no_numbers() -> None:
    model = made("gpt2")
    with torch.no_grad():
        model.transformer.h[2].mlp.c_proj.bias[0] = float("nan")
    with pytest.raises(InputError, match="prompt 0: the state of layer 2 is not a number"):
        hidden_states(model, tokenizer(), prompts(2))
    with pytest.raises(InputError, match="the answer is not a number"):
        answer_logits(model, tokenizer(), prompts(2))


def test_a_tokenizer_that_marks_spaces() -> None:
    known = {"\u0120yes": 0, "Yes": 1, "\u2581NO": 2, "Y": 3, "Now": 4, "no.": 5}

    class Marked(transformers.PreTrainedTokenizerFast):
        def __init__(self) -> None:
            pass

        def get_vocab(self) -> dict[str, int]:
            return known

    assert answer_tokens(Marked()).yes == (0, 1)
    assert answer_tokens(Marked()).no == (2,)
