"""Respondents whose answers are strange."""

import numpy as np

from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.person_fit import person_fit


def test_strange_respondent_is_found(simulated):
    answers = simulated(500, np.full(20, 1.5), np.linspace(2, -2, 20), 4)
    answers[7] = np.arange(20) >= 10  # misses what is easy, solves what is hard
    people = person_fit(fit_irt(answers), answers)
    assert people.zh.argmin() == 7
    assert people.to_frame().shape == (500, 6)
