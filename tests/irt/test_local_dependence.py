"""Pairs of items that depend on each other beyond the ability."""

import numpy as np
import pytest

from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from tests.irt.test_fit import MIRT, fitted
from tests.irt.test_model_fit import tolerance


def numbers(table):
    return np.array([[np.nan if x is None else x for x in row] for row in table], dtype=float)


@pytest.mark.parametrize("name", MIRT)
def test_pairs_and_respondents(name, mirt, data_of):
    row, answers = mirt[name], data_of(mirt[name]["data"])
    fit, atol = fitted(row, data_of), tolerance(name)
    pairs = local_dependence(fit, answers)
    np.testing.assert_allclose(pairs.q3, numbers(row["Q3"]), atol=1e-5)
    theirs = numbers(row["LD_X2"])
    low, high = np.tril_indices(len(theirs), -1), np.triu_indices(len(theirs), 1)
    np.testing.assert_allclose(pairs.x2[low], np.abs(theirs[low]), atol=atol)
    np.testing.assert_allclose(pairs.signed[high], theirs[high], atol=1e-5)
    people = person_fit(fit, answers)
    for ours in ("zh", "infit", "outfit"):
        key = f"{'Zh' if ours == 'zh' else ours}_first50"
        np.testing.assert_allclose(getattr(people, ours)[:50], row[key], atol=atol)


def test_dependent_pair_is_found(simulated):
    answers = simulated(2000, np.full(20, 1.3), np.linspace(-1, 1, 20), 3)
    copied = np.random.default_rng(1).random(2000) < 0.3
    answers[copied, 5] = answers[copied, 2]
    fit = fit_irt(answers)
    first = local_dependence(fit, answers).to_frame().iloc[0]
    assert (first["item"], first["other"]) == (2, 5)
    assert first["signed"] > 0.1
    assert model_fit(fit, answers).p_value < 1e-6
