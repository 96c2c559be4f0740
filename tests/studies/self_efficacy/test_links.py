"""Self-efficacy beside performance and other measures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import LabelError, PsychollmError
from psychollm.estimates.reasons import Reason
from psychollm.studies.self_efficacy.measures import as_measures
from psychollm.studies.self_efficacy.study import self_efficacy
from tests.studies.self_efficacy.test_study import QUICK, made_up, total


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
    assert "Do totals correlate with mean NLL?" in text
    with pytest.raises(LabelError, match="has none of the models"):
        self_efficacy(frame, measures={"x": {"nobody": 1.0}}, **QUICK)


def test_ceiling_of_performance_is_said() -> None:
    frame = made_up()
    tasks = frame[["model", "condition"]].drop_duplicates().assign(correct=1.0)
    study = self_efficacy(frame, performance=tasks, **QUICK)
    found = study.performance["none"]
    assert (found.ceiling, found.at_ceiling, found.flag) == (True, 1.0, Reason.ALL_TIED)
    assert "ceiling effect: 100 % of models" in " ".join(study.summary().split())
    assert study.to_frame()["performance_ceiling"].all()
    tasks.loc[tasks["model"].isin(["m0", "m1", "m2", "m3"]), "correct"] = 0.2
    mixed = self_efficacy(frame, performance=tasks, **QUICK).performance["none"]
    assert not mixed.ceiling
    assert mixed.at_ceiling == pytest.approx(2 / 6)


def test_measures_come_as_mappings_series_and_tables() -> None:
    frame = made_up(n_models=8)
    models = [f"m{m}" for m in range(8)]
    rng = np.random.default_rng(2)
    numbers = {(m, c): float(rng.normal()) for m in models for c in ("none", "social")}
    series = pd.Series(numbers, name="nll")
    long = series.rename_axis(["model", "condition"]).reset_index()
    long["model"] = long["model"].astype("category")
    wide = series.xs("none", level=1).rename("alone")
    given = [
        {"nll": numbers},
        {"nll": series},
        series,
        long,
        long.set_index(["model", "condition"]),
    ]
    columns = ["model", "condition", "value"]
    for one in given:
        ((name, read),) = as_measures(one).items()
        assert name == "nll"
        rows = read[columns].to_numpy().tolist()
        assert sorted(rows) == sorted([m, c, value] for (m, c), value in numbers.items())
    found = self_efficacy(frame, measures=series, **QUICK)
    by_model = self_efficacy(frame, measures=wide.to_frame(), **QUICK)
    assert by_model.links["alone"]["none"].value == found.links["nll"]["none"].value
    assert by_model.within is None
    assert set(as_measures(wide.rename(None))) == {"measure"}
    two = self_efficacy(frame, measures=long.assign(other=1), **QUICK)
    assert set(two.links) == {"nll", "other"}
    assert two.within["other"].flags[0] is Reason.ALL_TIED
    flat = {(m, c): float(m[1:]) for m in models for c in ("none", "social")}
    assert self_efficacy(frame, measures={"x": flat}, **QUICK).within["x"].flags[0]
    gap = self_efficacy(frame, measures=long.assign(nll=pd.array([pd.NA, *range(15)])), **QUICK)
    assert (gap.within["nll"].n[0], len(gap.links["nll"]["none"].labels)) == (7.0, 7)
    assert "within models, across conditions: rank correlation" in gap.summary()


def test_measures_that_are_none_are_refused() -> None:
    frame = made_up()
    for given, says in (
        (3.0, "measures is a float: pass numbers by name"),
        ({"x": 1.0}, r"measures\['x'\] is a float: pass"),
        (pd.Series({"m0": "high", "m1": "low"}, name="style"), r"measures\['style'\] has a value"),
        (pd.DataFrame({"model": ["m0"]}), "only the columns 'model'"),
        (pd.DataFrame({"x": [1.0, 2.0]}), r"measures\['x'\] has none of the models 'm0'"),
        ({"x": {("m0", "none", 1, 2): 1.0}}, "has the key"),
        ({"x": pd.DataFrame({"model": ["m0"], "a": 1, "b": 2})}, "is a table of 2 measures"),
    ):
        with pytest.raises(PsychollmError, match=says):
            self_efficacy(frame, measures=given, **QUICK)


def test_link_within_models_takes_off_what_models_and_conditions_are() -> None:
    rng = np.random.default_rng(3)
    models, cells = [f"m{m}" for m in range(12)], ("a", "b", "c")
    left = rng.normal(size=(12, 3))
    x = 3.0 * np.arange(12)[:, None] + 5.0 * np.arange(3) + left
    y = np.clip(np.rint(25 + np.arange(12)[:, None] - 2 * np.arange(3) - 2 * left), 10, 40)
    rows = [
        {"model": m, "condition": c} | {f"i{k + 1}": 1 + (y[i, j] - 10 > 10 * k) for k in range(4)}
        for i, m in enumerate(models)
        for j, c in enumerate(cells)
    ]
    frame = pd.DataFrame(rows).assign(i1=y.ravel())
    given = {(m, c): x[i, j] for i, m in enumerate(models) for j, c in enumerate(cells)}
    options = {"items": ["i1"], "points": (10, 40), **QUICK}
    found = self_efficacy(frame, measures={"x": given}, **options).within["x"]
    apart = []
    for one in (x, y):
        table = pd.DataFrame(one)
        table = table.sub(table.mean(axis=1), axis=0)
        apart.append(table.sub(table.mean(axis=0), axis=1).round(9).to_numpy().ravel())
    assert found.value[0] == pytest.approx(stats.spearmanr(*apart).statistic)
    low, high = found.interval[0]
    assert low < found.value[0] < high < 0.0
    shifted = {(m, c): one + 100 * (c == "b") - 9 * (m == "m3") for (m, c), one in given.items()}
    again = self_efficacy(frame, measures={"x": shifted}, **options).within["x"]
    assert again.interval == pytest.approx(found.interval)
