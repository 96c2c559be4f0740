"""Self-efficacy beside norms, performance and other measures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import LabelError
from psychollm.estimates.reasons import Reason
from psychollm.studies.self_efficacy.links import HumanNorm
from psychollm.studies.self_efficacy.study import self_efficacy
from tests.studies.self_efficacy.test_study import QUICK, made_up, total


@pytest.mark.parametrize("n", [5, 400])
def test_norm_is_a_welch_test_of_two_groups(n: int) -> None:
    frame, norm = made_up(), HumanNorm(mean=29.0, sd=5.0, n=n, source="made up")
    study = self_efficacy(frame, norm=norm, **QUICK)
    own = frame.assign(total=total(frame)).groupby(["condition", "model"])["total"].mean()
    for place, condition in enumerate(study.norm.difference.labels):
        values = own[condition].to_numpy()
        test = stats.ttest_ind_from_stats(
            values.mean(), values.std(ddof=1), 6, 29.0, 5.0, n, equal_var=False
        )
        se = np.hypot(stats.sem(values), 5.0 / np.sqrt(n))
        found = study.norm.difference
        assert found.value[place] / found.se[place] == pytest.approx(test.statistic)
        assert found.se[place] == pytest.approx(se)
        # The interval excludes zero where the test does, and by as much.
        low, high = found.interval[place]
        t = (values.mean() - 29.0 - low) / se
        assert 0.5 * (low + high) == pytest.approx(values.mean() - 29.0)
        df = (found.se[place] ** 4) / (stats.sem(values) ** 4 / 5 + (25.0 / n) ** 2 / (n - 1))
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
