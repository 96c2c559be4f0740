"""One scale for models and benchmarks: the truth is found, tables of any kind are taken."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.studies.stitching.study import StitchedBenchmarks


def test_it_finds_the_truth(found: StitchedBenchmarks, frame: pd.DataFrame) -> None:
    able = frame.drop_duplicates("model").set_index("model")["able"].loc[list(found.labels)]
    z = (able - able.mean()) / able.std(ddof=0)
    assert np.corrcoef(z, found.ability.value)[0, 1] > 0.98
    inside = (found.ability.interval[:, 0] <= z) & (z <= found.ability.interval[:, 1])
    assert inside.mean() >= 0.75
    hard = frame.drop_duplicates("benchmark").set_index("benchmark")["hard"]
    table = found.benchmarks.set_index("benchmark")
    assert np.corrcoef(hard.loc[table.index], table["difficulty"])[0, 1] > 0.95
    assert found.n_abilities == 1
    assert found.rmse[0] < 0.13


def test_wide_and_long_tables_say_the_same(found: StitchedBenchmarks, frame: pd.DataFrame) -> None:
    wide = frame.set_index(["model", "benchmark"])["performance"].unstack()  # noqa: PD010
    wide = wide.loc[list(found.labels), list(found.data.benchmarks)]
    dates = frame.drop_duplicates("model").set_index("model")["date"]
    other = psy.stitch_benchmarks(wide, date=dates, n_abilities=1, rng=1)
    np.testing.assert_allclose(other.ability.value, found.ability.value, atol=1e-6)
    shuffled = frame.sample(frac=1.0, random_state=1).astype({"model": "category"})
    third = psy.stitch_benchmarks(
        shuffled, model="model", benchmark="benchmark", score="performance", n_abilities=1, rng=1
    )
    order = [third.labels.index(model) for model in found.labels]
    np.testing.assert_allclose(third.ability.value[order], found.ability.value, atol=5e-3)


def test_percentages_are_refused_or_accepted() -> None:
    scores = np.array([[20.0, 40.0, np.nan], [50.0, 62.0, 70.0], [87.2, 90.0, 95.0]])
    with pytest.raises(
        CodeError, match=r"outside 0 to 1: divide percentages by 100, or pass out_of=100"
    ):
        psy.stitch_benchmarks(scores)
    found = psy.stitch_benchmarks(scores, out_of=100, rng=1)
    same = psy.stitch_benchmarks(scores / 100, rng=1)
    np.testing.assert_allclose(found.ability.value, same.ability.value)
    with pytest.raises(CodeError, match="has -0.1; 1 score outside"):
        psy.stitch_benchmarks([[-0.1, 0.5], [0.2, 0.4]])


@pytest.mark.parametrize(
    "scores",
    [
        np.full((5, 4), 0.5),
        np.array([[0.0, 1.0, 0.0, 1.0]] * 5),
        np.array([[0.0, 0.0], [1.0, 1.0]]),
        np.array([[True, False, True], [False, False, True]]),
        np.array([[0.3, np.nan], [np.nan, 0.4], [0.1, 0.2]]),
        np.array([[0.3, 0.2, np.nan, np.nan], [np.nan, np.nan, 0.4, 0.5]] * 2),
    ],
)
def test_small_and_odd_tables(scores: np.ndarray) -> None:
    found = psy.stitch_benchmarks(scores, rng=1)
    assert np.isfinite(found.ability.value).all()
    assert np.isfinite(found.ability.interval).all()
    told = found.predict(0)
    assert told[["value", "lower", "upper"]].notna().all(axis=None)
    new = found.predict("new", given={0: 0.5})
    assert new[["value", "lower", "upper"]].notna().all(axis=None)
    assert found.summary()


def test_sets_without_a_link_are_flagged() -> None:
    scores = np.array([[0.3, 0.2, np.nan, np.nan], [np.nan, np.nan, 0.4, 0.5]] * 2)
    scores[2:] += 0.2
    found = psy.stitch_benchmarks(scores, rng=1)
    assert [bool(flag) for flag in found.ability.flags] == [False, True, False, True]
    assert "2 sets of models" in " ".join(found.summary().split())


def test_bad_tables_are_refused(frame: pd.DataFrame) -> None:
    names = {"model": "model", "benchmark": "benchmark", "score": "performance"}
    twice = pd.concat([frame, frame.head(1)])
    with pytest.raises(
        LabelError, match=r"model 'm0' has two scores in benchmark 'b\d': average them"
    ):
        psy.stitch_benchmarks(twice, **names)
    with pytest.raises(ShapeError, match="at least two of each"):
        psy.stitch_benchmarks(frame[frame["benchmark"] == "b1"], **names)
    with pytest.raises(LabelError, match="no column 'points'"):
        psy.stitch_benchmarks(frame, **{**names, "score": "points"})
    with pytest.raises(OptionError, match="n must be at least 1"):
        psy.stitch_benchmarks(frame, **names, n=0)
    word = "is 'x', which is not a number"
    with pytest.raises(CodeError, match=word):
        psy.stitch_benchmarks(frame, **names, n={frame["benchmark"].iloc[0]: "x"})
    with pytest.raises(CodeError, match=word):
        psy.stitch_benchmarks(np.full((4, 4), 0.5), n="x")
    with pytest.raises(LabelError, match="benchmarks without scores: 'zz'"):
        psy.stitch_benchmarks(frame, **names, n={"zz": 3})
    moved = frame.assign(date=np.arange(len(frame)) + 1990)
    with pytest.raises(LabelError, match="has two dates in column 'date'"):
        psy.stitch_benchmarks(moved, **names)
    with pytest.raises(ShapeError, match="a forecast needs ten"):
        psy.stitch_benchmarks([[0.1, 0.2], [0.3, 0.4]]).forecast("2027-01-01")


def test_items_behind_scores_take_their_share_of_the_scatter() -> None:
    rng = np.random.default_rng(5)
    able, hard = rng.normal(size=(36, 1)), np.linspace(-1, 1, 6)
    p = 1.0 / (1.0 + np.exp(-(able - hard)))
    scores = rng.binomial(20, p) / 20
    plain = psy.stitch_benchmarks(scores, n_abilities=1, rng=1)
    aware = psy.stitch_benchmarks(scores, n=20, n_abilities=1, rng=1)
    assert np.median(plain.scatter) == pytest.approx(0.5 / np.sqrt(20), rel=0.3)
    assert np.median(aware.scatter) < 0.6 * np.median(plain.scatter)


def test_the_best_of_several_reports_is_higher_by_what_it_is() -> None:
    rng = np.random.default_rng(6)
    able, hard = rng.normal(size=(36, 1)), np.linspace(-1, 1, 6)
    marked = rng.random((36, 6)) < 0.5
    p = 1.0 / (1.0 + np.exp(-(able - hard + 0.6 * marked)))
    scores = np.clip(p + rng.normal(0, 0.04, p.shape), 0, 1)
    found = psy.stitch_benchmarks(scores, optimized=marked, n_abilities=1, rng=1)
    assert found.marked.value[0] == pytest.approx(0.6, abs=0.15)
    assert found.marked.interval[0, 0] < 0.6 < found.marked.interval[0, 1]
    whole = psy.stitch_benchmarks(scores, optimized=True, n_abilities=1, rng=1)
    assert np.isnan(whole.marked.value[0])
    assert whole.marked.flags[0] == "no benchmark has reports of both kinds"
    long = (
        pd.DataFrame(scores).rename_axis("model").reset_index().melt("model", var_name="benchmark")
    )
    long = long.rename(columns={"value": "score"}).assign(best=marked.T.ravel())
    same = psy.stitch_benchmarks(long, optimized="best", n_abilities=1, rng=1)
    assert same.marked.value[0] == pytest.approx(found.marked.value[0], abs=1e-9)
