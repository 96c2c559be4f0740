"""Self-efficacy beside performance and other measures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import LabelError
from psychollm.estimates.reasons import Reason
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
