"""Arms side by side: every instrument that has a study, measured and said."""

from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments import Abstention, Revision, Scaffold, SelfEfficacy
from psychollm.instruments.instrument import Instrument
from psychollm.instruments.self_prediction import SelfPrediction
from psychollm.studies.arms.measures import MEASURES
from psychollm.studies.arms.study import ArmStudy, compare_arms

SUMS = [
    {"key": f"q{n}", "question": f"What is {n} + 40?", "answer": str(n + 40), "rule": "numeric"}
    for n in range(20)
]


def scored(asked: Instrument, seed: int) -> dict[str, object]:
    """Return the scores of two models that answer at random."""
    rng = np.random.default_rng(seed)

    def reply(prompt: object) -> str:
        drawn = rng.random()
        form = getattr(prompt, "reply", "")
        if form == "yes_no":
            return "Answer: Yes" if drawn < 0.5 else "Answer: No"
        if getattr(prompt, "about", {})["instrument"] == "self_efficacy":
            return "\n".join(f"{n}. {1 + int(4 * rng.random())}" for n in range(1, 11))
        if "abstention" in getattr(prompt, "about", {})["instrument"] and drawn < 0.4:
            return "Answer: I don't know."
        right = getattr(prompt, "about", {}).get("reference") or ["59"]
        return f"Answer: {right[0] if drawn < 0.6 else 7}"

    return {
        model: asked.score([asked.read(one, reply(one)) for one in asked.prompts()])
        for model in "ab"
    }


ASKED = {
    "self_prediction": lambda: SelfPrediction(questions=SUMS),
    "self_efficacy": lambda: SelfEfficacy(conditions=("none",), n_repeats=2),
    "abstention": lambda: Abstention(n_pairs=4),
    "revision": lambda: Revision(questions=SUMS),
    "scaffold": lambda: Scaffold(questions=SUMS),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_instrument_has_measures_that_are_zero_between_equals(name: str) -> None:
    asked = ASKED[name]()
    first = scored(asked, 1)
    study = compare_arms({"x": first, "y": first}, name, bootstrap=50, rng=0)
    for contrasts in study.contrasts.values():
        values = contrasts[0].each.value
        np.testing.assert_allclose(values[np.isfinite(values)], 0.0, atol=1e-12)
    assert study.shared > 0
    other = compare_arms({"x": first, "y": scored(asked, 2)}, name, bootstrap=50, rng=0)
    assert isinstance(other, ArmStudy)
    text = other.summary()
    assert "y - x" in text
    assert "models like these" in text
    assert set(other.tables()) == {"contrasts", "arms"}


def test_the_instruments_are_those_tried_here_and_with_the_command() -> None:
    assert set(MEASURES) == {*ASKED, "rule_world", "semantic_sampling"}


def sampled(sharp: float, seed: int, n: int = 150) -> dict[str, SampledAnswers]:
    truth = np.random.default_rng(9)
    chance = truth.uniform(0.5, 1.0, n)
    right = (truth.random(n) < chance).astype(int)
    rng = np.random.default_rng(seed)
    own = chance**sharp / (chance**sharp + (1 - chance) ** sharp)
    return {
        model: SampledAnswers.from_array(
            [(rng.random((n, 10)) < own[:, None]).astype(int)], gold=right
        )
        for model in "ab"
    }


def test_tuning_breaks_calibration_and_the_page_says_so(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arms = {"base": sampled(1.0, 1), "instruct": sampled(4.0, 2), "again": sampled(1.0, 3)}
    study = compare_arms(arms, "semantic_sampling", n_null=99, bootstrap=200, rng=0)
    name = "overconfidence beyond a calibrated model"
    tuned, again = study.contrasts[name]
    assert tuned.pooled.interval[0, 0] > 0.0
    assert again.pooled.interval[0, 0] < 0.0 < again.pooled.interval[0, 1]
    assert "is higher under instruct than under base" in study.verdict
    page = psy.reports.write_report(study, tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("instruct - base", "these models", "What is compared?", "compare_arms"):
        assert words in page


def test_wrong_arms() -> None:
    one = sampled(1.0, 1)
    with pytest.raises(InputError, match="scores hold 1 arm"):
        compare_arms({"x": one}, "semantic_sampling")
    with pytest.raises(InputError, match="arm 'y' has no replies"):
        compare_arms({"x": one, "y": {}}, "semantic_sampling")
    with pytest.raises(LabelError, match="baseline='q' is no arm"):
        compare_arms({"x": one, "y": one}, "semantic_sampling", baseline="q")
    with pytest.raises(OptionError, match="instrument='coding' has no measures"):
        compare_arms({"x": one, "y": one}, "coding")
