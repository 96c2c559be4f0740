"""What one model's answers to a rule world come to: rates, refusals and what is missing."""

import numpy as np
import pytest

from psychollm.instruments import Outcome, Prompt
from psychollm.instruments.rule_world import RuleWorld

WORLD = RuleWorld(n=40, seed=1, skin="plumbing")


def perfect(prompt: Prompt) -> str:
    correct = prompt.about.get("correct")
    return f"Answer: {prompt.about['undefined'] if correct is None else correct}"


def test_a_perfect_model_passes_everything() -> None:
    for form in ("open", "choice"):
        world = RuleWorld(n=40, seed=2, lexical_form=form, n_repeats=2)
        prompts = world.prompts()
        scores = world.score([world.read(prompt, perfect(prompt)) for prompt in prompts])
        assert scores.strict.tolist() == [1.0] * 80
        assert [scores.rate(kind) for kind in "ABCM"] == [1.0] * 4
        frame = scores.to_frame("m")
        assert not frame.duplicated(["model", "item", "run"]).any()
        assert sorted(frame["run"].unique()) == [1, 2]


def test_the_claims_chosen_are_the_responses() -> None:
    world = RuleWorld(n=40, seed=2, types=("C",))
    scores = world.score([world.read(prompt, "Answer: A") for prompt in world.prompts()])
    assert scores.rate("C") == 0.25
    assert {claim: scores.responses.count(claim) for claim in set(scores.responses)} == {
        "gap": 10,
        "confabulated": 10,
        "misattributed": 10,
        "unmonitored": 10,
    }


def test_refusals_are_no_wrong_answers() -> None:
    world = RuleWorld(n=10, seed=2, types=("A",))
    replies = ["Answer: not settled"] * 4 + ["Answer: 99999"] * 5 + [""]
    pairs = zip(world.prompts(), replies, strict=True)
    scores = world.score([world.read(prompt, reply) for prompt, reply in pairs])
    assert scores.responses == ("refusal",) * 4 + ("wrong",) * 5 + (None,)
    assert scores.refusal_rate("A") == pytest.approx(4 / 9)
    assert scores.outcomes[-1] is Outcome.EMPTY
    assert scores.summary() == (
        "type A: 0.0 % of 9 answers pass, 44.4 % are refusals; 1 answer is missing"
    )


def test_failed_calls_are_missing() -> None:
    scores = WORLD.score([None] * 40)
    assert np.isnan(scores.strict).all()
    assert set(scores.outcomes) == {Outcome.FAILED}
    assert "none of 10 answers is readable" in scores.summary()
    assert WORLD.score({}).responses == (None,) * 40
