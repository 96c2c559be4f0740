"""From items to verdict: made-up models answer a rule world in two skins, in words."""

import numpy as np
import pandas as pd
import pytest

from psychollm.instruments import Outcome, Prompt
from psychollm.instruments.rule_world import RuleWorld, RuleWorldScores
from psychollm.studies.inference_boundary.skin_contrast import skin_contrast
from psychollm.studies.inference_boundary.study import inference_boundary

QUICK = {"bootstrap": 40, "rng": 0}


def letter(prompt: Prompt, claim: str) -> str:
    return next(key for key, value in prompt.about["claims"].items() if value == claim)


def reply(prompt: Prompt, model: str, chance: float) -> str:
    """A doubter refuses what has an answer; a believer makes up what has none."""
    about = prompt.about
    if about["type"] == "C":
        doubts = model == "doubter" or about["skin"] == "plumbing" or chance < 0.3
        return f"I weighed it.\n\n**Answer:** {letter(prompt, 'gap' if doubts else 'unmonitored')}"
    if about["type"] == "B":
        word = about["undefined"]
        if model == "doubter":
            return f"The rules do not define {word}.\nAnswer: {word}"
        return "Answer: 12"
    if model == "doubter" and chance < 0.5:
        return "Answer: it cannot be determined"
    return f"Step by step.\nAnswer: {about['correct']}"


def asked(model: str, skin: str) -> RuleWorldScores:
    world = RuleWorld(n=80, seed=6, skin=skin, n_repeats=2)
    rng = np.random.default_rng(0)
    readings = {
        prompt.key: world.read(prompt, reply(prompt, model, rng.random()))
        for prompt in world.prompts()
    }
    return world.score(readings)


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    return pd.concat(
        asked(model, skin).to_frame(model)
        for model in ("doubter", "believer")
        for skin in ("synthetic", "plumbing")
    )


def test_profiles_tell_the_models_apart(answers) -> None:
    synthetic = answers[answers["skin"] == "synthetic"]
    study = inference_boundary(synthetic, thinking=[("believer", "doubter")], **QUICK)
    doubter, believer = (study.labels.index(label) for label in ("doubter", "believer"))
    rates = {kind: profile.retest.rate.value for kind, profile in study.profiles.items()}
    assert rates["B"][doubter] == rates["C"][doubter] == rates["A"][believer] == 1.0
    assert rates["B"][believer] == 0.0
    assert study.inverted == ("doubter",)
    assert study.refusal_rate.value[doubter] == pytest.approx(1 - rates["A"][doubter])
    assert study.confabulation.value[believer] == 1.0
    assert study.profiles["C"].failures.categories == ("unmonitored",)
    assert study.thinking[0].inverted


def test_the_believer_is_saved_by_the_trade(answers) -> None:
    found = skin_contrast(answers, "C", "synthetic", "plumbing", **QUICK)
    believer, doubter = (found.place(label) for label in ("believer", "doubter"))
    assert found.value[doubter] == 0.0
    assert found.interval[believer, 1] < 0.0


def test_keyword_scores_stand_beside_strict_ones(answers) -> None:
    assert (answers["outcome"] == Outcome.ANSWERED).any()
    own = answers[answers["type"] != "B"]
    assert own["keyword"].equals(own["score"])
