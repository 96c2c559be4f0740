"""Arms side by side: every instrument that has a study, measured and said."""

from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.exhibits import Drawing
from psychollm.estimates.verdict import SMALLEST
from psychollm.instruments import Abstention, Coding, Revision, Scaffold, SelfEfficacy
from psychollm.instruments.instrument import Instrument
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.self_prediction import SelfPrediction
from psychollm.studies.arms.exhibits import _ordered, exhibits
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
    assert set(MEASURES) == {*ASKED, "coding", "rule_world", "semantic_sampling"}


def rated(*, graded: bool, falls: int, seed: int, feedback: bool) -> dict[str, object]:
    """Return the scores of three models, who rate hard tasks lower and are told too much."""
    asks = SelfEfficacy(
        conditions=("social",),
        n_repeats=2,
        graded=graded,
        followups=("neutral",),
        feedback=("too_high",) if feedback else (),
    )
    rng = np.random.default_rng(seed)

    def reply(prompt: Prompt) -> str:
        about = prompt.about
        if about["stage"] == "task":
            right = about["rubric"]["answer"]
            wrong = next(one for one in about["rubric"]["options"] if one != right)
            return f"Answer: {right if rng.random() < 0.5 else wrong}"
        low = falls * (about.get("level", 1) - 1) + (about["stage"] == "followup")
        high = "feedback" in about
        ratings = np.clip(rng.integers(3, 5, 10) - low + high, 1, 4)
        return "\n".join(f"{n}. {one}" for n, one in enumerate(ratings, start=1))

    found = {}
    for model in "abc":
        said = {one.key: reply(one) for one in asks.prompts()}
        later = asks.feedback_prompts(said) if feedback else ()
        readings = {one.key: asks.read(one, said[one.key]) for one in asks.prompts()}
        readings |= {one.key: asks.read(one, reply(one)) for one in later}
        found[model] = asks.score(readings, feedback=later)
    return found


def test_graded_tasks_and_feedback_are_arms() -> None:
    arms = {
        "steady": rated(graded=True, falls=0, seed=1, feedback=True),
        "falling": rated(graded=True, falls=1, seed=2, feedback=True),
    }
    study = compare_arms(arms, "self_efficacy", bootstrap=200, rng=0)
    hard = "ratings of the hardest minus the easiest tasks"
    told, again = (
        "change of ratings by feedback, too high",
        "change of ratings when asked again, neutral",
    )
    tasks = ("share of tasks passed", "mean rating minus share of tasks passed")
    assert set(study.measures) == {"mean rating, 0 to 1", *tasks, hard, told, again}
    (fall,) = study.contrasts[hard]
    assert fall.pooled.interval[0, 1] < -0.4  # of the range; two levels
    assert (study.estimates[told].value > 0.0).any()
    assert (study.estimates[again].value < 0.0).all()
    one = study.estimates
    less = one["mean rating, 0 to 1"].value - one["share of tasks passed"].value
    assert one[tasks[1]].value == pytest.approx(less)
    plain = rated(graded=False, falls=0, seed=3, feedback=False)
    mixed = compare_arms({**arms, "plain": plain}, "self_efficacy", bootstrap=50, rng=0)
    assert "plain - steady: too few values in both arms" in mixed.findings().text()
    alone = compare_arms({"plain": plain, "told": arms["steady"]}, "self_efficacy", bootstrap=50)
    assert told not in alone.measures


def coded(chance: float, seed: int) -> dict[str, object]:
    """Return what rules find in traces that check their work with a given chance."""
    rng = np.random.default_rng(seed)
    traces = [
        {
            "key": f"{model}{item}",
            "model": model,
            "item": f"q{item}",
            "text": "Let me check that again. So 4." if rng.random() < chance else "So 4.",
        }
        for model in "ab"
        for item in range(40)
    ]
    return {"rules": Coding(transcripts=traces).by_rules()}


def test_traces_of_two_arms_are_compared_behaviour_by_behaviour() -> None:
    arms = {"plain": coded(0.3, 1), "careful": coded(0.9, 2)}
    study = compare_arms(arms, "coding", bootstrap=200, rng=0)
    (found,) = study.contrasts["share of traces with evaluation"]
    assert found.each.labels == ("a", "b")
    assert 0.3 < found.pooled.interval[0, 0] < 0.6 < found.pooled.interval[0, 1] < 0.8
    assert study.measures[0] == "share of behaviours shown"
    share = study.estimates["share of behaviours shown"].value * 5
    apart = [one.value for name, one in study.estimates.items() if name != study.measures[0]]
    assert share == pytest.approx(np.sum(apart, axis=0))
    assert "Questions by arm: plain 40, careful 40; 40 are in all arms" in study.summary()
    with pytest.raises(InputError, match=r"no coder in common \(plain: rules; careful: judge\)"):
        compare_arms({**arms, "careful": {"judge": arms["careful"]["rules"]}}, "coding")


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
    for words in ("instruct - base", "these models", "Questions by arm", "compare_arms"):
        assert words in page


def test_both_figures_of_a_measure_list_models_in_one_order() -> None:
    first, second = scored(ASKED["abstention"](), 3), scored(ASKED["abstention"](), 4)
    study = compare_arms({"x": first, "y": second}, "abstention", bootstrap=50, rng=0)
    for name, shown in exhibits(study, SMALLEST).items():
        figures = [one for one in shown if isinstance(one, Drawing)]
        models = [
            [label for label in one.of[0].labels if label in study.models] for one in figures
        ]
        assert all(own == models[0] for own in models), name
        for one in figures:
            assert one.options["order"].tolist() == list(range(len(one.of[0].labels)))
            assert "sorted by" in one.caption
    name = next(iter(study.measures))
    value = study.estimates[name].value
    known = [value[study.of_arm("x")[model]] for model in _ordered(study, name)]
    assert known == sorted(known, reverse=True)


def test_wrong_arms() -> None:
    one = sampled(1.0, 1)
    for instrument in (["x"], np.array([0, 1])):
        with pytest.raises(OptionError, match="has no measures for comparing arms"):
            compare_arms({"x": one, "y": one}, instrument)
    with pytest.raises(InputError, match="scores has 1 arm"):
        compare_arms({"x": one}, "semantic_sampling")
    with pytest.raises(InputError, match="arm 'y' has no replies"):
        compare_arms({"x": one, "y": {}}, "semantic_sampling")
    with pytest.raises(LabelError, match="baseline='q' is not an arm"):
        compare_arms({"x": one, "y": one}, "semantic_sampling", baseline="q")
    with pytest.raises(OptionError, match="instrument='wagering' has no measures"):
        compare_arms({"x": one, "y": one}, "wagering")
