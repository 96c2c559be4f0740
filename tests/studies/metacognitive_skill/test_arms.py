"""Arms against each other, and coders."""

import numpy as np
import pandas as pd
import pytest

from psychollm.estimates.intervals import paired_difference
from psychollm.studies.metacognitive_skill.arms import scaffolding
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from psychollm.studies.metacognitive_skill.traces import as_traces
from tests.studies.metacognitive_skill.test_study import QUICK, STUDY, TABLE


def test_arms():
    found = STUDY.scaffolding
    for place, model in enumerate(STUDY.labels):
        wide = TABLE[(TABLE["model"] == model) & (TABLE["category"] == "evaluation")].pivot_table(
            index="item", columns="arm", values="correct"
        )
        up = int(((wide["unprompted"] == 0) & (wide["prompted"] == 1)).sum())
        down = int(((wide["unprompted"] == 1) & (wide["prompted"] == 0)).sum())
        assert found.effect.value[place] == pytest.approx((up - down) / 40)
        np.testing.assert_allclose(found.effect.interval[place], paired_difference(up, down, 40))
        assert found.harmed.value[place] == pytest.approx(down / (wide["unprompted"] == 1).sum())
        assert found.helped.value[place] == pytest.approx(up / (wide["unprompted"] == 0).sum())
    assert set(found.by_structure) == {"open", "closed"}
    assert (STUDY.prompting["evaluation"].value > 0.1).all()


def test_coders():
    second = TABLE.assign(coder="judge")
    flip = np.random.default_rng(3).random(len(TABLE)) < 0.1
    first = TABLE.assign(coder="rules", code=TABLE["code"].where(~flip, 0))
    both = pd.concat([first, second], ignore_index=True)
    study = metacognitive_skill(both, coder="judge", baseline="unprompted", **QUICK)
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


def answers(slope, seed, n_models=30, n_items=60):
    """Return right answers without and with a prompt, whose effect depends on accuracy."""
    rng, rows = np.random.default_rng(seed), []
    for model, rate in enumerate(np.linspace(0.3, 0.8, n_models)):
        for arm, chance in (("unprompted", rate), ("prompted", rate + slope * (rate - 0.55))):
            right = rng.random(n_items) < chance
            rows += [
                (f"m{model}", f"i{item}", arm, "evaluation", 1, float(one))
                for item, one in enumerate(right)
            ]
    return as_traces(
        pd.DataFrame(rows, columns=["model", "item", "arm", "category", "code", "correct"])
    )


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_the_effect_of_the_prompt_by_accuracy(slope):
    """On the same problems, chance alone correlates accuracy and effect by about -.5."""
    links = [
        scaffolding(answers(slope, seed), "unprompted", "prompted").by_accuracy.value
        for seed in range(8)
    ]
    if slope:
        assert np.mean(links) > 0.2
    else:
        assert abs(np.mean(links)) < 3 * 0.19 / np.sqrt(8)


def test_few_models_have_no_link():
    assert STUDY.scaffolding.by_accuracy is None
    assert "on different problems" not in STUDY.summary()
