"""Metacognitive skill: rates against hand counts, arms, structures, coders, coverage."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.estimates.intervals import paired_difference, wilson
from psychollm.estimates.reasons import Reason
from psychollm.instruments.coding import Coding, Transcript
from psychollm.studies.metacognitive_skill.structure import entropy_of
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from psychollm.studies.metacognitive_skill.traces import as_traces

QUICK = {"bootstrap": 100, "rng": 0}
CATEGORIES = ("evaluation", "goal_management")


def simulated(n=40, *, models=("a", "b"), arms=("own", "led"), runs=1, seed=0):
    """Traces in which evaluation goes along with right answers, and the prompt brings it out."""
    rng = np.random.default_rng(seed)
    rows = []
    for model, item, arm, run in itertools.product(models, range(n), arms, range(1, runs + 1)):
        checks = rng.random() < (0.8 if arm == "led" else 0.4)
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
STUDY = metacognitive_skill(TABLE, baseline="own", structures=("closed", "open"), **QUICK)
OWN = TABLE[TABLE["arm"] == "own"]


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


def test_the_gap_is_that_of_right_and_wrong():
    """The gap is the share of wrong answers times the difference."""
    for found in STUDY.deployment.values():
        difference = found.given_correct.value - found.given_wrong.value
        expected = (1 - STUDY.accuracy.value) * difference
        np.testing.assert_allclose(found.gap.value, expected, atol=1e-12)


def test_diversity_and_structure():
    for place, model in enumerate(STUDY.labels):
        own = OWN[OWN["model"] == model]
        for structure, estimate in STUDY.structure.diversity.items():
            part = own[own["structure"] == structure]
            counts = part.groupby("category")["spans"].sum()
            p = counts / counts.sum()
            expected = -(p * np.log2(p)).sum() + 1 / (2 * counts.sum() * np.log(2))
            assert estimate.value[place] == pytest.approx(expected)
    wide, narrow = (STUDY.structure.diversity[one].value for one in ("open", "closed"))
    np.testing.assert_allclose(STUDY.structure.widening.value, wide - narrow)
    assert STUDY.structure.prevalence["open"]["evaluation"].n.tolist() == [20, 20]


def test_arms():
    found = STUDY.scaffolding
    for place, model in enumerate(STUDY.labels):
        wide = TABLE[(TABLE["model"] == model) & (TABLE["category"] == "evaluation")].pivot_table(
            index="item", columns="arm", values="correct"
        )
        up = int(((wide["own"] == 0) & (wide["led"] == 1)).sum())
        down = int(((wide["own"] == 1) & (wide["led"] == 0)).sum())
        assert found.effect.value[place] == pytest.approx((up - down) / 40)
        np.testing.assert_allclose(found.effect.interval[place], paired_difference(up, down, 40))
        assert found.harmed.value[place] == pytest.approx(down / (wide["own"] == 1).sum())
        assert found.helped.value[place] == pytest.approx(up / (wide["own"] == 0).sum())
    assert set(found.by_structure) == {"open", "closed"}
    assert (STUDY.prompting["evaluation"].value > 0.1).all()


def test_summary_and_frame():
    frame = STUDY.to_frame()
    assert len(frame) == 4
    assert {"gap", "gap_lower", "prompted_minus_spontaneous"} <= set(frame.columns)
    text = STUDY.summary()
    for words in ("evaluation", "Prompting (led against own)", "Diversity on open minus closed"):
        assert words in text
    assert "StructureContrast" in repr(STUDY)


def test_one_arm_one_coder_no_grades():
    table = OWN.drop(columns=["arm", "correct", "structure", "tokens", "verified", "repeated"])
    study = metacognitive_skill(table, **QUICK)
    assert study.scaffolding is study.prompting is study.structure is study.agreement is None
    assert np.isnan(study.deployment["evaluation"].gap.value).all()
    assert np.isnan(study.total_density.value).all()
    assert np.isfinite(study.diversity.value).all()
    assert "Too few traces to say" in study.summary()


@pytest.mark.parametrize(
    ("code", "correct", "flag"),
    [
        ([1] * 6, [1, 0] * 3, Reason.CONSTANT),
        ([0] * 6, [1, 0] * 3, Reason.CONSTANT),
        ([1, 0] * 3, [1] * 6, Reason.NO_WRONG),
        ([1, 0] * 3, [0] * 6, Reason.NO_CORRECT),
        ([1, 0] * 3, [None] * 6, Reason.TOO_FEW),
    ],
)
def test_what_tells_nothing_of_deployment(code, correct, flag):
    table = pd.DataFrame(
        {"model": "m", "item": range(6), "category": "x", "code": code, "correct": correct}
    )
    gap = metacognitive_skill(table, **QUICK).deployment["x"].gap
    assert gap.flags == (flag,)
    assert np.isnan(gap.value).all()
    assert np.isnan(gap.interval).all()


def test_missing_codes_are_left_out():
    table = OWN.assign(code=OWN["code"].where(OWN["item"] > 9).astype(float))
    study = metacognitive_skill(table, **QUICK)
    assert study.prevalence["evaluation"].n.tolist() == [30, 30]


def test_threshold():
    strict = metacognitive_skill(TABLE, baseline="own", threshold=2, **QUICK)
    part = OWN[(OWN["model"] == "a") & (OWN["category"] == "evaluation")]
    assert strict.prevalence["evaluation"].value[0] == pytest.approx((part["code"] == 2).mean())


def test_coders():
    second = TABLE.assign(coder="judge")
    flip = np.random.default_rng(3).random(len(TABLE)) < 0.1
    first = TABLE.assign(coder="rules", code=TABLE["code"].where(~flip, 0))
    both = pd.concat([first, second], ignore_index=True)
    study = metacognitive_skill(both, coder="judge", baseline="own", **QUICK)
    np.testing.assert_array_equal(
        study.prevalence["evaluation"].value, STUDY.prevalence["evaluation"].value
    )
    frame = study.agreement.to_frame()
    assert study.agreement.coders == ("rules", "judge")
    assert (frame["alpha"] > 0.6).all()
    assert (frame["kappa"] < 1).all()
    assert (frame["kappa_lower"] < frame["kappa"]).all()
    assert frame["n"].tolist() == [160, 160]
    assert "Krippendorff" in study.summary()


def test_more_traces_of_a_question_are_not_more_questions():
    many = simulated(runs=4)
    copied = many[many["run"] == 1]
    copies = pd.concat([copied.assign(run=run) for run in range(1, 5)])
    one = metacognitive_skill(copied, baseline="own", **QUICK)
    four = metacognitive_skill(copies, baseline="own", **QUICK)
    # Between questions that repeat, the variance is estimated; that of single traces is known.
    expected = stats.t.ppf(0.975, 39) / stats.norm.ppf(0.975)
    for name in CATEGORIES:
        widths = [np.diff(study.prevalence[name].interval) for study in (one, four)]
        np.testing.assert_allclose(widths[1] / widths[0], expected, atol=0.03)
        assert four.prevalence[name].n.tolist() == [160, 160]


def test_order_of_rows_does_not_matter():
    shuffled = TABLE.sample(frac=1, random_state=1)
    study = metacognitive_skill(shuffled, baseline="own", **QUICK)
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
        for arm, text in (("own", "Three."), ("led", "Let me double-check: three."))
    ]  # fmt: skip
    frame = Coding(transcripts=transcripts).by_rules().to_frame()
    study = metacognitive_skill(frame, baseline="own", **QUICK)
    assert study.prompting["evaluation"].value.tolist() == [1.0, 1.0]
    assert study.scaffolding.effect.value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        (lambda t: t.drop(columns="code"), {}, LabelError),
        (lambda t: t.assign(code=3), {"baseline": "own"}, CodeError),
        (lambda t: t.assign(code="often"), {"baseline": "own"}, CodeError),
        (lambda t: pd.concat([t, t]), {"baseline": "own"}, LabelError),
        (lambda t: t, {}, OptionError),
        (lambda t: t, {"baseline": "none"}, LabelError),
        (lambda t: t, {"baseline": "own", "prompted": "own"}, OptionError),
        (lambda t: t, {"baseline": "own", "coder": "x"}, LabelError),
        (lambda t: t, {"baseline": "own", "structures": ("open", "x")}, LabelError),
        (lambda t: t, {"baseline": "own", "threshold": 0}, OptionError),
        (lambda t: pd.concat([t.assign(coder=c) for c in "ab"]), {"baseline": "own"}, OptionError),
        (
            lambda t: pd.concat([t, t[t["arm"] == "own"].assign(arm="c")]),
            {"baseline": "own"},
            OptionError,
        ),
    ],
)
def test_bad_input(change, options, error):
    with pytest.raises(error):
        metacognitive_skill(change(TABLE), **options, **QUICK)


def test_entropy_of_nothing_is_undefined():
    sums = {"spans a": np.zeros((1, 2)), "spans b": np.array([[0.0, 3.0]])}
    found = entropy_of(("a", "b"), "spans", sums.__getitem__)
    assert np.isnan(found[0, 0])
    assert found[0, 1] == 0.0


def test_intervals_of_the_gap_hold():
    """120 models on 60 questions, nominal 95 %: below 88 % once in 500."""
    rng = np.random.default_rng(11)
    shown_right, shown_wrong, accuracy = 0.6, 0.3, 0.6
    right = rng.random((120, 60)) < accuracy
    shown = rng.random((120, 60)) < np.where(right, shown_right, shown_wrong)
    models, items = np.indices(right.shape).reshape(2, -1)
    table = pd.DataFrame({"model": models, "item": items, "category": "x"}).assign(
        code=shown.ravel().astype(int), correct=right.ravel().astype(int)
    )
    gap = metacognitive_skill(table, bootstrap=10, rng=0).deployment["x"].gap
    expected = (1 - accuracy) * (shown_right - shown_wrong)
    held = (gap.interval[:, 0] <= expected) & (expected <= gap.interval[:, 1])
    assert held.mean() >= 0.88


def test_traces_of_one_coder():
    found = as_traces(TABLE)
    assert found.categories == CATEGORIES
    assert len(found.model) == 160
    assert found.sums(np.ones(160), found.where("arm", "own")).sum() == 80


def test_traces_of_one_question_are_no_questions() -> None:
    table = pd.DataFrame(
        {"model": [m for m in "ab" for _ in range(60)], "item": [*range(12)] * 10,
         "run": [r for r in range(5) for _ in range(12)] * 2, "category": "evaluation",
         "code": 1, "spans": [*range(12)] * 10, "tokens": 100}
    )  # fmt: skip
    study = metacognitive_skill(table, bootstrap=20, rng=0)
    assert study.density["evaluation"].df == pytest.approx(np.full(2, 11.0))
