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
    assert "over 10 models: F(3, 27.0)" in study.summary()
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


def test_norm_is_a_welch_test_of_two_groups() -> None:
    frame, norm = made_up(), HumanNorm(mean=29.0, sd=5.0, n=400, source="made up")
    study = self_efficacy(frame, norm=norm, **QUICK)
    own = frame.assign(total=total(frame)).groupby(["condition", "model"])["total"].mean()
    for place, condition in enumerate(study.norm.difference.labels):
        values = own[condition].to_numpy()
        test = stats.ttest_ind_from_stats(
            values.mean(), values.std(ddof=1), 6, 29.0, 5.0, 400, equal_var=False
        )
        se = np.hypot(stats.sem(values), 5.0 / 20.0)
        found = study.norm.difference
        assert found.value[place] / found.se[place] == pytest.approx(test.statistic)
        assert found.se[place] == pytest.approx(se)
        # The interval excludes zero where the test does, and by as much.
        low, high = found.interval[place]
        t = (values.mean() - 29.0 - low) / se
        assert 0.5 * (low + high) == pytest.approx(values.mean() - 29.0)
        df = (found.se[place] ** 4) / (stats.sem(values) ** 4 / 5 + (25.0 / 400) ** 2 / 399)
        assert t == pytest.approx(stats.t.ppf(0.975, df))
        assert study.norm.standardised.value[place] == pytest.approx(found.value[place] / 5)
        assert study.norm.below.value[place] == pytest.approx((values < 29).mean())
    exact = self_efficacy(frame, norm=HumanNorm(mean=29.0, sd=5.0), **QUICK)
    assert exact.norm.difference.se == pytest.approx(study.means.se)
    assert "mean 29, SD 5 (made up)" in study.summary()


def test_performance_and_other_measures() -> None:
    frame = made_up(n_models=8)
    rng = np.random.default_rng(1)
    tasks = pd.DataFrame(
        [
            {"model": f"m{m}", "condition": "social", "correct": rng.integers(0, 2)}
            for m in range(8)
            for _ in range(6)
        ]
    )
    nll = {f"m{m}": float(rng.normal()) for m in range(8)}
    split = {(f"m{m}", "none"): float(m) for m in range(7)}
    study = self_efficacy(
        frame, performance=tasks, measures={"mean NLL": nll, "style": split}, **QUICK
    )
    own = frame.assign(total=total(frame)).groupby(["condition", "model"])["total"].mean()
    wanted = stats.spearmanr(own["social"], tasks.groupby("model")["correct"].mean()).statistic
    assert set(study.performance) == {"social"}
    assert study.performance["social"].value == pytest.approx(wanted)
    assert not study.performance["social"].ceiling
    for condition in ("none", "social"):
        wanted = stats.spearmanr(own[condition], [nll[m] for m in own[condition].index]).statistic
        assert study.links["mean NLL"][condition].value == pytest.approx(wanted)
    assert len(study.links["style"]["none"].labels) == 7
    assert study.links["style"]["social"].flag is Reason.TOO_FEW
    text = study.summary()
    assert "Do totals go with mean NLL?" in text
    with pytest.raises(LabelError, match="names none of the models"):
        self_efficacy(frame, measures={"x": {"nobody": 1.0}}, **QUICK)


def test_ceiling_of_performance_is_said() -> None:
    frame = made_up()
    tasks = frame[["model", "condition"]].drop_duplicates().assign(correct=1.0)
    study = self_efficacy(frame, performance=tasks, **QUICK)
    found = study.performance["none"]
    assert (found.ceiling, found.at_ceiling, found.flag) == (True, 1.0, Reason.ALL_TIED)
    assert "ceiling: 100 % of models" in study.summary()
    assert study.to_frame()["performance_ceiling"].all()
    tasks.loc[tasks["model"].isin(["m0", "m1", "m2", "m3"]), "correct"] = 0.2
    mixed = self_efficacy(frame, performance=tasks, **QUICK).performance["none"]
    assert not mixed.ceiling
    assert mixed.at_ceiling == pytest.approx(2 / 6)


def test_follow_ups() -> None:
    first = made_up(n_models=4)
    parts = [first.assign(phrasing="")]
    change = {"neutral": 0, "sceptical": -1, "too_modest": 1}
    for phrasing, by in change.items():
        again = first.assign(phrasing=phrasing)
        again["i1"] = np.clip(again["i1"] + by, 1, 4)
        parts.append(again)
    frame = pd.concat(parts, ignore_index=True)
    study = self_efficacy(frame, **QUICK)
    found = study.revision
    assert found.change.labels == ("neutral", "sceptical", "too_modest")
    for place, by in enumerate(change.values()):
        moved = np.clip(first["i1"] + by, 1, 4) - first["i1"]
        assert found.change.value[place] == pytest.approx(moved.mean())
        assert found.up.value[place] == pytest.approx((moved > 0).mean())
        assert found.down.value[place] == pytest.approx((moved < 0).mean())
        assert found.unchanged.value[place] == pytest.approx((moved == 0).mean())
    pull = found.change.difference("too_modest", "sceptical")
    assert pull.value == pytest.approx(found.change.value[2] - found.change.value[1])
    assert pull.interval[0] > 0
    # They are no part of the first ratings.
    assert study.means.value == pytest.approx(self_efficacy(first, **QUICK).means.value)
    lost = frame.copy()
    lost.loc[lost["phrasing"] == "sceptical", ITEMS] = np.nan
    gone = self_efficacy(lost, **QUICK).revision
    assert np.isnan(gone.change.value[1])
    assert np.isnan(gone.down.value[1])
    assert gone.change.value[0] == found.change.value[0]
    assert gone.missing.value == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("factor", "plain", "other"),
    [
        ("mode", "all_at_once", "one_by_one"),
        ("placement", "task_first", "isolated"),
        ("persona", "plain", "novice"),
    ],
)
def test_factors_are_compared_within_models(factor, plain, other) -> None:
    first = made_up()
    second = first.assign(**{factor: other, "i2": np.clip(first["i2"] - 1, 1, 4)})
    frame = pd.concat([second, first.assign(**{factor: plain})], ignore_index=True)
    study = self_efficacy(frame, **QUICK)
    found = study.effects[factor]
    per_model = (second["i2"] - first["i2"]).groupby(first["model"]).mean()
    assert found.baseline == plain
    assert found.contrasts.labels == (other,)
    assert found.contrasts.value[0] == pytest.approx(per_model.mean())
    if per_model.std() > 0:
        assert found.contrasts.se[0] == pytest.approx(stats.sem(per_model))
    assert found.mixed.contrasts.value[0] == pytest.approx(per_model.mean(), abs=1e-6)
    assert found.mixed.f_df == (1, pytest.approx(5))
    whole = frame.assign(total=total(frame)).groupby(["model", factor])["total"].mean()
    wanted = stats.kruskal(whole.xs(plain, level=factor), whole.xs(other, level=factor))
    assert found.ranks.statistic == pytest.approx(wanted.statistic)
    assert study.means.value == pytest.approx(self_efficacy(first, **QUICK).means.value)
    assert f"What does the {factor} do (against {plain})?" in study.summary()


def test_personas_may_change_performance_too() -> None:
    first = made_up()
    frame = pd.concat([first.assign(persona="plain"), first.assign(persona="novice")])
    tasks = frame[["model", "condition", "persona"]].drop_duplicates()
    tasks = tasks.assign(correct=np.where(tasks["persona"] == "plain", 0.75, 0.5))
    study = self_efficacy(frame, performance=tasks, **QUICK)
    assert study.effects["persona"].accuracy.value == pytest.approx([-0.25])
    # What other personas do is no part of the main link.
    assert (study.performance["none"].other == 0.75).all()


def test_feedback_moves_ratings_towards_or_away_from_the_truth() -> None:
    rows = []
    for model, before in zip("abcd", (4, 3, 3, 2), strict=True):
        rating = {"": before, "true": 2, "too_low": 1}
        for feedback, given in rating.items():
            rows.append(
                {"model": model, "condition": "social", "feedback": feedback, "n_tasks": 6,
                 "correct": np.nan if feedback == "" else 2} | dict.fromkeys(ITEMS, given)
            )  # fmt: skip
    study = self_efficacy(pd.DataFrame(rows), **QUICK)
    true = 2 / 6
    gap = {rating: abs((rating - 1) / 3 - true) for rating in (1, 2, 3, 4)}
    before = np.array([gap[one] for one in (4, 3, 3, 2)])
    assert study.feedback.labels == ("true", "too_low")
    assert study.feedback.value == pytest.approx(
        [(before - gap[2]).mean(), (before - gap[1]).mean()]
    )
    assert study.effects["feedback"].baseline == "none"
    assert study.effects["feedback"].contrasts.value == pytest.approx([-10.0, -20.0])
    assert study.means.value == pytest.approx([30.0])  # without feedback


def test_difficulty() -> None:
    rows, done = [], []
    for model, fall in zip("abc", (0, 1, 1), strict=True):
        for level in (1, 2, 3):
            rows.append(
                {"model": model, "condition": "social", "level": level}
                | dict.fromkeys(ITEMS, 4 - fall * (level - 1))
            )
            done += [
                {"model": model, "condition": "social", "level": level, "correct": correct}
                for correct in {1: (1, 1), 2: (1, 0), 3: (0, 0)}[level]
            ]
    study = self_efficacy(pd.DataFrame(rows), performance=pd.DataFrame(done), **QUICK)
    found = study.difficulty
    assert found.efficacy.labels == (1, 2, 3)
    assert found.efficacy.value == pytest.approx([1, 7 / 9, 5 / 9])
    assert found.performance.value == pytest.approx([1, 0.5, 0])
    assert found.slopes.value == pytest.approx([-2 / 9, -0.5])
    assert found.slopes.difference("efficacy", "performance").value == pytest.approx(0.5 - 2 / 9)
    assert self_efficacy(pd.DataFrame(rows), **QUICK).difficulty is None
    assert self_efficacy(made_up(), **QUICK).difficulty is None


# --- Flat responders and other degenerate tables --------------------------------------------


def test_flat_responders() -> None:
    levels = pd.DataFrame({"model": list("abc"), "condition": "none"})
    apart = levels.assign(**{name: [1, 2, 4] for name in ITEMS})
    study = self_efficacy(apart, **QUICK)
    assert study.consistency.alpha.value == pytest.approx([1.0])
    assert study.style.flat.value == pytest.approx([1.0])
    assert study.without_flat is None
    assert "100 % of administrations give all items one rating" in study.summary()
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
    assert "have no total and count nowhere" in study.summary()
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
        (lambda frame: frame.assign(i1=5), CodeError, "holds 5 in 'i1'"),
        (lambda frame: frame.assign(i1="x"), CodeError, "no number"),
        (lambda frame: frame.assign(repeat=1), LabelError, "repeats model 'm0'"),
        (lambda frame: frame.assign(condition=None), LabelError, "row 1 has no condition"),
        (lambda frame: {}, ShapeError, "no model"),
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
    assert "Do ratings stand" in study.summary()
    json.dumps(study.to_dict())


def test_results_of_different_scales_are_no_study(results) -> None:
    other = SelfEfficacy(scale=Scale(name="x", items=("I cope.",)), conditions=("none",))
    with pytest.raises(LabelError, match="different scales"):
        self_efficacy({**results, "y": other.score({})}, **QUICK)
