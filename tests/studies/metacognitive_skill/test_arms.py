"""Arms against each other, and coders."""

import numpy as np
import pandas as pd
import pytest

from psychollm.estimates.intervals import paired_difference
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from tests.studies.metacognitive_skill.test_study import QUICK, STUDY, TABLE


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
