"""Metacognitive skill: rates against hand counts, arms, structures, coders, coverage."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.estimates.intervals import wilson
from psychollm.instruments.coding import Coding, Transcript
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from psychollm.studies.metacognitive_skill.traces import as_traces

QUICK = {"bootstrap": 100, "rng": 0}
CATEGORIES = ("evaluation", "goal_management")


def simulated(n=40, *, models=("a", "b"), arms=("unprompted", "prompted"), runs=1, seed=0):
    """Traces in which evaluation goes along with right answers, and the prompt brings it out."""
    rng = np.random.default_rng(seed)
    rows = []
    for model, item, arm, run in itertools.product(models, range(n), arms, range(1, runs + 1)):
        checks = rng.random() < (0.8 if arm == "prompted" else 0.4)
        right = float(rng.random() < (0.8 if checks else 0.4))
        spans = int(checks) * int(rng.integers(1, 4)), int(rng.integers(0, 3))
        common = (model, item, arm, run, "open" if item % 2 else "closed", right)
        tokens = int(rng.integers(50, 200))
        rows += [
            (*common, tokens, name, min(count, 2), count, 2, 1)
            for name, count in zip(CATEGORIES, spans, strict=True)
        ]
    names = "model item arm run structure correct tokens category code spans verified repeated"
    return pd.DataFrame(rows, columns=names.split())


TABLE = simulated()
STUDY = metacognitive_skill(TABLE, baseline="unprompted", structures=("closed", "open"), **QUICK)
OWN = TABLE[TABLE["arm"] == "unprompted"]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("model", ["a", "b"])
def test_rates_are_those_of_the_table(model, category):
    part = OWN[(OWN["model"] == model) & (OWN["category"] == category)]
    shown, right = part["code"] >= 1, part["correct"] == 1
    place = STUDY.labels.index(model)
    assert STUDY.prevalence[category].value[place] == pytest.approx(shown.mean())
    np.testing.assert_allclose(
        STUDY.prevalence[category].interval[place], wilson(shown.sum(), len(part))
    )
    density = 1000 * part["spans"].sum() / part["tokens"].sum()
    assert STUDY.density[category].value[place] == pytest.approx(density)
    found = STUDY.deployment[category]
    assert found.given_correct.value[place] == pytest.approx(shown[right].mean())
    assert found.given_wrong.value[place] == pytest.approx(shown[~right].mean())
    assert found.gap.value[place] == pytest.approx(shown[right].mean() - shown.mean())
    assert STUDY.accuracy.value[place] == pytest.approx(right.mean())
    assert STUDY.length.value[place] == pytest.approx(part["tokens"].mean())
    assert STUDY.repetition.value[place] == 0.5


def test_summary_and_frame():
    frame = STUDY.to_frame()
    assert len(frame) == 4
    assert {"gap", "gap_lower", "prompted_minus_spontaneous"} <= set(frame.columns)
    text = STUDY.summary()
    effects = "Effects of prompting (prompted minus unprompted)"
    for words in ("evaluation", effects, "Diversity on open minus closed"):
        assert words in text
    assert "StructureContrast" in repr(STUDY)


def test_one_arm_one_coder_no_grades():
    table = OWN.drop(columns=["arm", "correct", "structure", "tokens", "verified", "repeated"])
    study = metacognitive_skill(table, **QUICK)
    assert study.scaffolding is study.prompting is study.structure is study.agreement is None
    assert np.isnan(study.deployment["evaluation"].gap.value).all()
    assert np.isnan(study.total_density.value).all()
    assert np.isfinite(study.diversity.value).all()
    assert "The association with right answers is inconclusive" in study.summary()


def test_missing_codes_are_left_out():
    table = OWN.assign(code=OWN["code"].where(OWN["item"] > 9).astype(float))
    study = metacognitive_skill(table, **QUICK)
    assert study.prevalence["evaluation"].n.tolist() == [30, 30]


def test_threshold():
    strict = metacognitive_skill(TABLE, baseline="unprompted", threshold=2, **QUICK)
    part = OWN[(OWN["model"] == "a") & (OWN["category"] == "evaluation")]
    assert strict.prevalence["evaluation"].value[0] == pytest.approx((part["code"] == 2).mean())


def test_more_traces_of_a_question_are_not_more_questions():
    many = simulated(runs=4)
    copied = many[many["run"] == 1]
    copies = pd.concat([copied.assign(run=run) for run in range(1, 5)])
    one = metacognitive_skill(copied, baseline="unprompted", **QUICK)
    four = metacognitive_skill(copies, baseline="unprompted", **QUICK)
    # Between questions that repeat, the variance is estimated; that of single traces is known.
    expected = stats.t.ppf(0.975, 39) / stats.norm.ppf(0.975)
    for name in CATEGORIES:
        widths = [np.diff(study.prevalence[name].interval) for study in (one, four)]
        np.testing.assert_allclose(widths[1] / widths[0], expected, atol=0.03)
        assert four.prevalence[name].n.tolist() == [160, 160]


def test_order_of_rows_does_not_matter():
    shuffled = TABLE.sample(frac=1, random_state=1)
    study = metacognitive_skill(shuffled, baseline="unprompted", **QUICK)
    for name in CATEGORIES:
        for model in ("a", "b"):
            one, two = (
                each.deployment[name].gap.value[each.labels.index(model)]
                for each in (study, STUDY)
            )
            assert one == pytest.approx(two)


def test_from_the_instrument():
    transcripts = [
        Transcript(key=f"{model}{item}{arm}", text=text, model=model, item=str(item), arm=arm,
                   correct=item % 2)
        for model in "ab" for item in range(4)
        for arm, text in (("unprompted", "Three."), ("prompted", "Let me double-check: three."))
    ]  # fmt: skip
    frame = Coding(transcripts=transcripts).by_rules().to_frame()
    study = metacognitive_skill(frame, baseline="unprompted", **QUICK)
    assert study.prompting["evaluation"].value.tolist() == [1.0, 1.0]
    assert study.scaffolding.effect.value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        (lambda t: t.drop(columns="code"), {}, LabelError),
        (lambda t: t.assign(code=3), {"baseline": "unprompted"}, CodeError),
        (lambda t: t.assign(code="often"), {"baseline": "unprompted"}, CodeError),
        (lambda t: pd.concat([t, t]), {"baseline": "unprompted"}, LabelError),
        (lambda t: t, {}, OptionError),
        (lambda t: t, {"baseline": "none"}, LabelError),
        (lambda t: t, {"baseline": "unprompted", "prompted": "unprompted"}, OptionError),
        (lambda t: t, {"baseline": "unprompted", "coder": "x"}, LabelError),
        (lambda t: t, {"baseline": "unprompted", "structures": ("open", "x")}, LabelError),
        (lambda t: t, {"baseline": "unprompted", "threshold": 0}, OptionError),
        (
            lambda t: pd.concat([t.assign(coder=c) for c in "ab"]),
            {"baseline": "unprompted"},
            OptionError,
        ),
        (
            lambda t: pd.concat([t, t[t["arm"] == "unprompted"].assign(arm="c")]),
            {"baseline": "unprompted"},
            OptionError,
        ),
    ],
)
def test_bad_input(change, options, error):
    with pytest.raises(error):
        metacognitive_skill(change(TABLE), **options, **QUICK)


def test_traces_of_one_coder():
    found = as_traces(TABLE)
    assert found.categories == CATEGORIES
    assert len(found.model) == 160
    assert found.sums(np.ones(160), found.where("arm", "unprompted")).sum() == 80


def test_traces_of_one_question_are_no_questions() -> None:
    table = pd.DataFrame(
        {"model": [m for m in "ab" for _ in range(60)], "item": [*range(12)] * 10,
         "run": [r for r in range(5) for _ in range(12)] * 2, "category": "evaluation",
         "code": 1, "spans": [*range(12)] * 10, "tokens": 100}
    )  # fmt: skip
    study = metacognitive_skill(table, bootstrap=20, rng=0)
    assert study.density["evaluation"].df == pytest.approx(np.full(2, 11.0))
