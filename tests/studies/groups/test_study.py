"""Results for each group, and differences against their definition."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.studies.groups.study import calibration_by, compare_by

DOMAIN = np.repeat(["sums", "proofs", "words"], [60, 50, 40])


@pytest.fixture(scope="module")
def right() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    chance = np.where(DOMAIN == "sums", 0.9, 0.55) - np.array([[0.0], [0.1], [0.0], [0.2]])
    scores = (rng.random((4, 150)) < chance).astype(int)
    return pd.DataFrame(scores, index=list("abcd"), columns=[f"q{i}" for i in range(150)])


@pytest.fixture(scope="module")
def sure(right) -> pd.DataFrame:
    return right * 0.3 + np.random.default_rng(3).random(right.shape) * 0.7


def test_each_domain_has_its_comparison(right) -> None:
    found = compare_by(right, DOMAIN, rng=1)
    assert found.labels == ("sums", "proofs", "words")
    assert found.n.tolist() == [60, 50, 40]
    for domain, result in found.results.items():
        own = psy.compare(right.loc[:, domain == DOMAIN], rng=1)
        assert result.labels == own.labels
        assert result.score.interval == pytest.approx(own.score.interval)


def test_differences_of_domains_are_those_of_independent_means(right) -> None:
    rows = compare_by(right, DOMAIN, rng=1, bootstrap=4000).differences.to_frame()
    assert len(rows) == 4 * 3
    parts = {domain: right.loc[:, domain == DOMAIN] for domain in ("sums", "proofs", "words")}
    for row in rows.itertuples():
        first, second = (parts[one].loc[row.model] for one in (row.first, row.second))
        assert row.value == pytest.approx(first.mean() - second.mean())
        welch = stats.ttest_ind(first, second, equal_var=False)
        assert row.se == pytest.approx(abs(row.value / welch.statistic), rel=0.06)
        assert row.lower < row.value < row.upper
    assert (rows["adjusted"] >= rows["p_value"]).all()


def test_differences_of_families_are_paired(right) -> None:
    families = pd.Series({"d": "small", "c": "big", "b": "small", "a": "big"})
    found = compare_by(right, families, of="models", rng=1, bootstrap=4000)
    (row,) = found.differences.to_frame().itertuples()
    gaps = right.loc[["a", "c"]].mean() - right.loc[["b", "d"]].mean()
    assert row.value == pytest.approx(gaps.mean())
    assert row.se == pytest.approx(gaps.std() / np.sqrt(150), rel=0.05)
    assert found.results["big"].labels == tuple(sorted("ac", key=lambda m: -right.loc[m].mean()))
    assert (row.first, row.second) == ("big", "small")


def test_each_group_has_its_panel(right, sure) -> None:
    options = {"metrics": ["brier", "auroc"], "bootstrap": 200}
    found = calibration_by(sure, right, DOMAIN, rng=1, **options)
    for domain, panel in found.results.items():
        own = psy.calibration_panel(
            sure.loc[:, domain == DOMAIN], right.loc[:, domain == DOMAIN], rng=1, **options
        )
        for metric in ("brier", "auroc"):
            assert panel[metric].value == pytest.approx(own[metric].value)
    rows = found.differences.to_frame().set_index(["metric", "model", "first", "second"])
    expected = found.results["sums"]["brier"].value[1] - found.results["words"]["brier"].value[1]
    assert rows.loc[("brier", "b", "sums", "words"), "value"] == pytest.approx(expected)


def test_families_share_the_resamples_of_one_panel(right, sure) -> None:
    options = {"metrics": ["brier"], "bootstrap": 300}
    found = calibration_by(sure, right, list("xyxy"), of="models", rng=1, **options)
    draws = [found.estimates[family]["brier"].draws.mean(axis=1) for family in "xy"]
    assert found.differences.se == pytest.approx([(draws[0] - draws[1]).std(ddof=1)])
    # Families that answer alike do not differ in any resample.
    twice = [pd.concat([one.iloc[:2], one.iloc[:2].set_axis(["e", "f"])]) for one in (sure, right)]
    alike = calibration_by(*twice, list("xxyy"), of="models", rng=1, **options)
    assert alike.differences.se == pytest.approx([0.0])


def test_repeats_and_clusters_stay_together(right) -> None:
    runs = np.stack([right.to_numpy()] * 3, axis=2)
    alone = compare_by(right.to_numpy(), DOMAIN, rng=1).differences
    again = compare_by(runs, DOMAIN, rng=1).differences
    assert again.se == pytest.approx(alone.se)
    pages = np.arange(150) // 5
    wider = compare_by(np.repeat(right.to_numpy()[:, ::5], 5, 1), DOMAIN, clusters=pages, rng=1)
    assert (wider.differences.se > 1.5 * alone.se).mean() > 0.8


def test_what_is_said(right) -> None:
    found = compare_by(right, DOMAIN, rng=1)
    text = found.summary()
    assert "3 groups of questions." in text
    assert "of the 12 differences between groups" in text.lower()
    assert "sums, 60 questions: " in text
    shown = int((found.differences.adjusted <= 0.05).sum())
    assert f"{shown} of the 12 differences between groups are significant" in text
    alone = compare_by(right, list("xyyy"), of="models", rng=1)
    assert "only one model" in alone.summary()
    assert set(alone.results) == {"y"}
    assert set(alone.to_frame()["group"]) == {"x", "y"}


def test_what_cannot_be_used(right) -> None:
    with pytest.raises(LabelError, match="by has one label only"):
        compare_by(right, ["a"] * 150)
    with pytest.raises(ShapeError, match="by holds 3 labels for 150 questions"):
        compare_by(right, ["a", "b", "b"])
    with pytest.raises(LabelError, match="by: model 'a' has no label"):
        compare_by(right, [None, "x", "y", "y"], of="models")
    with pytest.raises(OptionError, match="of='both'"):
        compare_by(right, DOMAIN, of="both")


def test_the_same_seed_gives_the_same_differences(right) -> None:
    first, second = (compare_by(right, DOMAIN, rng=5).differences for _ in range(2))
    assert first.interval.tolist() == second.interval.tolist()
