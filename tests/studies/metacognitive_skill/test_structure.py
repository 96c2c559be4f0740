"""Diversity of behaviours by the structure of questions."""

import numpy as np
import pytest

from psychollm.studies.metacognitive_skill.structure import entropy_of
from tests.studies.metacognitive_skill.test_study import OWN, STUDY


def test_diversity_and_structure():
    for place, model in enumerate(STUDY.labels):
        own = OWN[OWN["model"] == model]
        for structure, estimate in STUDY.structure.diversity.items():
            part = own[own["structure"] == structure]
            counts = part.groupby("category")["spans"].sum()
            p = counts / counts.sum()
            expected = -(p * np.log2(p)).sum() + 1 / (2 * counts.sum() * np.log(2))
            assert estimate.value[place] == pytest.approx(expected)
    wide, narrow = (STUDY.structure.diversity[one].value for one in ("open", "closed"))
    np.testing.assert_allclose(STUDY.structure.widening.value, wide - narrow)
    assert STUDY.structure.prevalence["open"]["evaluation"].n.tolist() == [20, 20]


def test_entropy_of_nothing_is_undefined():
    sums = {"spans a": np.zeros((1, 2)), "spans b": np.array([[0.0, 3.0]])}
    found = entropy_of(("a", "b"), "spans", sums.__getitem__)
    assert np.isnan(found[0, 0])
    assert found[0, 1] == 0.0
