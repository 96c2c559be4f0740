"""The study of several models: reference values, slow twins, made-up models, degenerate tables."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.instruments.self_efficacy import TASKS, Scale, SelfEfficacy
from psychollm.studies.self_efficacy.links import HumanNorm
from psychollm.studies.self_efficacy.study import self_efficacy
from psychollm.studies.self_efficacy.table import over_models

QUICK = {"bootstrap": 40, "rng": 0}
ITEMS = [f"i{n}" for n in range(1, 11)]


def gses(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv").rename(columns={"rep": "repeat"})
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    return frame, blocks[0]["values"], blocks[1]["values"]


@pytest.fixture(scope="module", params=["gses_a", "gses_b"])
def reference(golden, request):
    frame, r, python = gses(golden, request.param)
    return frame, r, python, self_efficacy(frame, reference="comp", **QUICK)


def made_up(seed=0, n_models=6, **columns):
    """Ratings of models that differ, under two conditions, three times."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in range(n_models):
        for condition in ("none", "social"):
            for repeat in (1, 2, 3):
                mean = 1.5 + 0.4 * model + 0.3 * (condition == "social")
                ratings = np.clip(np.round(mean + 0.5 * rng.normal(size=10)), 1, 4)
                rows.append(
                    {"model": f"m{model}", "condition": condition, "repeat": repeat}
                    | dict(zip(ITEMS, ratings, strict=True))
                    | columns
                )
    return pd.DataFrame(rows)


def total(frame):
    return frame[ITEMS].sum(axis=1)


# --- Reference values ----------------------------------------------------------------------


def test_golden_consistency(reference) -> None:
    frame, r, python, study = reference
    found = study.consistency
    for place, condition in enumerate(found.conditions):
        wanted = r[condition]
        assert found.alpha.value[place] == pytest.approx(wanted["raw_alpha"], abs=1e-6)
        assert found.alpha.value[place] == pytest.approx(
            python[condition]["pingouin_alpha"], abs=1e-6
        )
        assert found.standardised.value[place] == pytest.approx(wanted["std_alpha"], abs=1e-6)
        assert found.mean_correlation.value[place] == pytest.approx(wanted["average_r"], abs=1e-6)
        assert found.alpha.n[place] == wanted["n"]
        assert found.n_respondents[place] == 10
        # Rows that repeat models are not respondents: the interval is wider than Feldt's.
        low, high = found.alpha.interval[place]
        assert high - low > wanted["feldt"]["upper"] - wanted["feldt"]["lower"]
        means = frame[frame["condition"] == condition].groupby("model")[ITEMS].mean()
        k = len(ITEMS)
        by_hand = k / (k - 1) * (1 - means.var().sum() / means.sum(axis=1).var())
        assert found.of_means.value[place] == pytest.approx(by_hand, abs=1e-12)


def test_golden_stability(reference) -> None:
    frame, r, python, study = reference
    forms = {"ICC1": "ICC(1,1)", "ICC2": "ICC(A,1)", "ICC3": "ICC(C,1)",
             "ICC1k": "ICC(1,k)", "ICC2k": "ICC(A,k)", "ICC3k": "ICC(C,k)"}  # fmt: skip
    for condition, found in study.stability.items():
        for row in r[condition]["icc_total"]:
            place = found.icc.place(row["type"])
            assert found.icc.value[place] == pytest.approx(row["ICC"], abs=1e-6)
            assert found.icc.interval[place] == pytest.approx([row["lo"], row["hi"]], abs=1e-6)
        for row in python[condition]["icc"]:
            place = next(
                found.icc.place(key) for key, name in forms.items() if name == row["Type"]
            )
            assert found.icc.value[place] == pytest.approx(row["ICC"], abs=1e-6)
    identical = r[".global"]["identical_item_rate"]
    assert study.identical.labels[-1] == "all"
    assert study.identical.value[-1] == pytest.approx(identical, abs=1e-12)
    ranges = frame.groupby(["model", "condition"])[ITEMS].agg(np.ptp)
    same = (ranges == 0).groupby("condition").mean().mean(axis=1)
    for label, value in zip(study.identical.labels[:-1], study.identical.value, strict=False):
        assert value == pytest.approx(same[label])


def test_golden_conditions(reference) -> None:
    frame, r, _, study = reference
    r = r[".global"]
    assert study.friedman.statistic == pytest.approx(r["friedman"], abs=1e-9)
    cells = frame.assign(total=total(frame)).pivot_table(
        index="model", columns="condition", values="total"
    )
    ranks = stats.kruskal(*cells.to_numpy().T)
    assert study.kruskal.statistic == pytest.approx(ranks.statistic, abs=1e-9)
    assert study.kruskal.effect == pytest.approx(ranks.statistic / (cells.size - 1), abs=1e-9)
    lme = r["lme"]
    wanted = {name.removeprefix("condition"): i for i, name in enumerate(lme["levels"])}
    for place, label in enumerate(study.mixed.contrasts.labels):
        i = wanted[label.split(" - ")[0]]
        assert study.mixed.contrasts.value[place] == pytest.approx(lme["est"][i], abs=1e-4)
    assert study.mixed.f_df == (3, pytest.approx(27))
    assert "(10 models): F(3, 27.0)" in study.summary()
    means = frame.assign(total=total(frame)).groupby("condition")["total"].mean()
    for label, value in zip(study.means.labels, study.means.value, strict=True):
        assert value == pytest.approx(means[label])


# --- Against slow twins --------------------------------------------------------------------


def test_means_rest_on_models() -> None:
    frame = made_up()
    study = self_efficacy(frame, **QUICK)
    own = frame.assign(total=total(frame)).groupby(["condition", "model"])["total"].mean()
    for place, condition in enumerate(study.means.labels):
        values = own[condition].to_numpy()
        interval = stats.t.interval(0.95, 5, values.mean(), stats.sem(values))
        assert study.means.value[place] == pytest.approx(values.mean())
        assert study.means.interval[place] == pytest.approx(interval)
        assert study.means.n[place] == 6
    one = study.totals[(study.totals["model"] == "m2") & (study.totals["condition"] == "none")]
    rows = frame[(frame["model"] == "m2") & (frame["condition"] == "none")]
    wanted = stats.t.interval(0.95, 2, total(rows).mean(), stats.sem(total(rows)))
    assert one[["lower", "upper"]].to_numpy()[0] == pytest.approx(wanted)


def test_shares_keep_inside_their_range() -> None:
    table = pd.DataFrame({"none": [0.0] * 8, "some": [0.0] * 7 + [0.5], "half": [0.5] * 8})
    found = over_models("x", "condition", table, Resampling(n=0), share=True)
    assert found.flags == (Reason.NONE,) * 3
    assert found.interval[0] == pytest.approx(wilson(0, 8))
    assert found.interval[2] == pytest.approx(wilson(4, 8))
    p, se = 0.0625, 0.0625
    n = p * (1 - p) / se**2 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 7)) ** 2
    assert found.interval[1] == pytest.approx(wilson(p * n, n))
    assert (found.interval >= 0).all()
    one = over_models("x", "condition", table.iloc[:1], Resampling(n=0), share=True)
    assert np.isnan(one.interval).all()
    assert one.flags == (Reason.TOO_FEW,) * 3


# --- Flat responders and other degenerate tables --------------------------------------------


def test_flat_responders() -> None:
    levels = pd.DataFrame({"model": list("abc"), "condition": "none"})
    apart = levels.assign(**{name: [1, 2, 4] for name in ITEMS})
    study = self_efficacy(apart, **QUICK)
    assert study.consistency.alpha.value == pytest.approx([1.0])
    assert study.style.flat.value == pytest.approx([1.0])
    assert study.without_flat is None
    assert "100 % of administrations give all items the same rating" in study.summary()
    alike = levels.assign(**dict.fromkeys(ITEMS, 3))
    found = self_efficacy(alike, **QUICK)
    assert np.isnan(found.consistency.alpha.value).all()
    assert found.consistency.alpha.flags == (Reason.NO_VARIANCE,)
    assert "alpha is undefined, the total score does not vary" in found.summary()
    mixed = pd.concat([made_up(), apart.assign(repeat=1, model=list("xyz"))])
    both = self_efficacy(mixed, **QUICK)
    assert both.without_flat.alpha.value[0] < both.consistency.alpha.value[0]


def test_floor_and_ceiling_shares() -> None:
    frame = pd.DataFrame({"model": list("ab"), "condition": "none", "i1": [1, 4], "i2": [1, 3]})
    study = self_efficacy(frame, **QUICK)
    assert study.style.lowest.value == pytest.approx([0.5])
    assert study.style.highest.value == pytest.approx([0.25])
    assert np.isnan(study.style.disowning.value).all()


def test_one_model_once() -> None:
    study = self_efficacy(made_up(n_models=1).query("repeat == 1"), **QUICK)
    assert study.means.flags == (Reason.TOO_FEW,) * 2
    assert np.isfinite(study.means.value).all()
    assert np.isnan(study.means.interval).all()
    assert np.isnan(study.identical.value).all()
    assert np.isnan(study.stability["none"].icc.value).all()
    assert np.isnan(study.mixed.f_statistic)
    assert study.summary()
    assert len(study.to_frame()) == 2
    json.dumps(study.to_dict())


def test_missing_ratings() -> None:
    frame = made_up()
    frame.loc[0, "i3"] = np.nan
    frame.loc[frame["model"] == "m5", ITEMS] = np.nan
    study = self_efficacy(frame, **QUICK)
    assert study.means.n.tolist() == [5, 5]
    assert study.style.incomplete.value == pytest.approx([(1 / 3 + 1) / 6, 1 / 6])
    assert "have no total and are excluded" in study.summary()
    assert np.isfinite(study.consistency.alpha.value).all()
    # The first model's other repeats still tell its total.
    own = total(frame[(frame["model"] == "m0") & (frame["condition"] == "none")].iloc[1:]).mean()
    row = study.totals[(study.totals["model"] == "m0") & (study.totals["condition"] == "none")]
    assert row["mean"].tolist() == [own]
    assert row["n"].tolist() == [2]


def test_order_of_rows_does_not_matter() -> None:
    frame = made_up()
    mixed = frame.sample(frac=1.0, random_state=1)
    # Labels stand in order of appearance; numbers belong to their labels.
    first, second = (self_efficacy(one, **QUICK) for one in (frame, mixed))
    for name in ("means", "identical"):
        one, other = getattr(first, name), getattr(second, name)
        for place, label in enumerate(one.labels):
            at = other.place(label)
            assert other.value[at] == pytest.approx(one.value[place], rel=1e-12)
            assert other.interval[at] == pytest.approx(one.interval[place], rel=1e-9)
    for condition, found in first.stability.items():
        assert second.stability[condition].icc.value == pytest.approx(found.icc.value)
    assert second.friedman.statistic == pytest.approx(first.friedman.statistic)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda frame: frame.drop(columns="model"), LabelError, "no column 'model'"),
        (lambda frame: frame[["model", "condition"]], LabelError, "i1, i2"),
        (lambda frame: frame.iloc[:0], ShapeError, "empty"),
        (lambda frame: frame.assign(i1=5), CodeError, "has 5 in 'i1'"),
        (lambda frame: frame.assign(i1="x"), CodeError, "not a number"),
        (lambda frame: frame.assign(repeat=1), LabelError, "repeats model 'm0'"),
        (lambda frame: frame.assign(condition=None), LabelError, "row 1 has no condition"),
        (lambda frame: {}, ShapeError, "at least one model"),
        (lambda frame: frame.assign(phrasing="neutral"), ShapeError, "no first ratings"),
    ],
)
def test_tables_that_cannot_be_used(change, error, message) -> None:
    with pytest.raises(error, match=message):
        self_efficacy(change(made_up()), **QUICK)


def test_options_that_cannot_be_used() -> None:
    frame = made_up()
    with pytest.raises(OptionError, match="points"):
        self_efficacy(frame, points=(4, 1), **QUICK)
    with pytest.raises(LabelError, match="no column 'j1'"):
        self_efficacy(frame, items=["j1"], **QUICK)
    with pytest.raises(LabelError, match="no condition 'x'"):
        self_efficacy(frame, reference="x", **QUICK)
    with pytest.raises(CodeError, match="correct=2"):
        self_efficacy(frame, performance=frame.assign(correct=2), **QUICK)
    for wrong in ({"sd": 0.0}, {"sd": 1.0, "n": 1}):
        with pytest.raises(OptionError):
            HumanNorm(mean=1.0, **wrong)
    resampled = self_efficacy(frame, alpha_interval="bootstrap", **QUICK)
    assert "BCa" in resampled.consistency.alpha.method
    wide = frame.assign(i1=7)
    assert self_efficacy(wide, points=(1, 7), **QUICK).high == 7
    few = self_efficacy(frame, items=["i1", "i2", "i3"], **QUICK)
    assert few.n_items == 3


# --- From the instrument -------------------------------------------------------------------

ASKS = SelfEfficacy(
    conditions=("none", "computational", "social"),
    n_repeats=2,
    modes=("all_at_once", "one_by_one"),
    placements=("task_first", "isolated"),
    personas=("plain", "mechanistic"),
    followups=("neutral", "too_modest"),
    feedback=("true", "too_low"),
)
RUBRICS = {task.key: task.rubric for task in TASKS}


def reply_of(prompt, skill, rng):
    about = prompt.about
    if about["stage"] == "task":
        passes = rng.random() < skill
        wrong = {"number": -1, "option": "D"}[about["rubric"]["kind"]]
        answer = about["rubric"]["answer"] if passes else wrong
        if answer == "D":
            answer = next(one for one in "ABC" if one != about["rubric"]["answer"])
        return f"Answer: {answer}"
    mean = 1.5 + 2 * skill - (about["persona"] == "mechanistic")
    mean += 0.5 * (about.get("phrasing") == "too_modest") - 0.5 * ("feedback" in about)

    def rating():
        return int(np.clip(np.round(mean + 0.3 * rng.normal()), 1, 4))

    if about["stage"] == "item":
        return str(rating())
    text = "\n".join(f"{n}. {rating()}" for n in range(1, 11))
    disowns = about["persona"] == "mechanistic" or skill < 0.3
    return text + ("\nAs a program, I do not have goals." if disowns else "")


def asked(skill, seed):
    rng = np.random.default_rng(seed)
    prompts = ASKS.prompts()
    replies = {one.key: reply_of(one, skill, rng) for one in prompts}
    second = ASKS.feedback_prompts(replies)
    replies |= {one.key: reply_of(one, skill, rng) for one in second}
    readings = {one.key: ASKS.read(one, replies[one.key]) for one in (*prompts, *second)}
    return ASKS.score(readings, feedback=second)


@pytest.fixture(scope="module")
def results():
    return {f"m{place}": asked(skill, place) for place, skill in enumerate((0.2, 0.5, 0.7, 0.9))}


def test_from_replies_to_the_study(results, tmp_path) -> None:
    study = self_efficacy(results, **QUICK)
    assert study.conditions == ("none", "computational", "social")
    assert set(study.effects) == {"persona", "placement", "mode", "feedback"}
    assert study.effects["persona"].contrasts.interval[0, 1] < 0
    assert study.effects["persona"].accuracy is not None
    assert study.revision.change.difference("too_modest", "neutral").value > 0
    assert study.effects["feedback"].contrasts.labels == ("true", "too_low")
    assert set(study.performance) == {"computational", "social"}
    assert study.style.disowning.value == pytest.approx([0.25] * 3)
    # Without a task there is no placement to compare; the plain design is found all the same.
    assert study.means.n.tolist() == [4, 4, 4]
    assert study.consistency.alpha.n.tolist() == [8, 8, 8]
    tasks = pd.concat([one.tasks_frame(label) for label, one in results.items()])
    frames = pd.concat([one.to_frame(label) for label, one in results.items()])
    frames.to_csv(tmp_path / "rows.csv", index=False)
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    frames, tasks = (pd.read_csv(tmp_path / name) for name in ("rows.csv", "tasks.csv"))
    again = self_efficacy(frames, performance=tasks, **QUICK)
    assert again.revision.change.value == pytest.approx(study.revision.change.value)
    assert again.feedback.value == pytest.approx(study.feedback.value)
    assert again.means.value == pytest.approx(study.means.value)
    assert again.performance["social"].value == pytest.approx(study.performance["social"].value)
    assert "Do ratings change" in study.summary()
    json.dumps(study.to_dict())


def test_results_of_different_scales_are_no_study(results) -> None:
    other = SelfEfficacy(scale=Scale(name="x", items=("I cope.",)), conditions=("none",))
    with pytest.raises(LabelError, match="different scales"):
        self_efficacy({**results, "y": other.score({})}, **QUICK)
