"""How many labels, and which."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.studies.judged_scores.study import judged_scores
from tests.studies.judged_scores.tables import QUESTIONS, tables


@pytest.fixture(scope="module")
def found():
    _, judge, people = tables()
    return judged_scores(judge, people, rng=1)


def test_a_plan_says_how_many_labels_and_which(found) -> None:
    plan = found.plan(half_width=0.03)
    assert (plan.equal > 60).all()
    assert (plan.unsure <= plan.equal * 1.03).all()
    assert plan.probability.sum() == pytest.approx(plan.unsure.max(), rel=0.02)
    assert plan.to_label().index[0] in QUESTIONS
    # Where the judge says no it is right or wrong by chance: label these.
    truth, _, people = tables(n=100)
    rng = np.random.default_rng(0)
    unsure = rng.random(300) < 0.3
    judge = truth.copy()
    judge.iloc[:, unsure] = 0.5
    plan = judged_scores(judge, people, rng=1).plan(half_width=0.03)
    assert plan.unsure.max() < 0.75 * plan.equal.max()
    assert plan.probability[unsure].min() > plan.probability[~unsure].max()
    with pytest.raises(OptionError, match="half_width"):
        found.plan(half_width=0.0)
