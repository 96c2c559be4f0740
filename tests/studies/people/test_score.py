"""Models beside people: coverage, limits, words."""

import numpy as np
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, Outcome
from psychollm.studies.people.score import score_of, totals_of
from psychollm.studies.people.table import beside_people


def drawn(rng, n_people=8, n_questions=40, better=0.0):
    """Return answers of people and of a model: yes or no, with people and questions that vary."""
    ease = 1.2 * rng.standard_normal(n_questions)
    theirs = 0.8 * rng.standard_normal((n_people, 1)) + ease
    its = better + ease + 0.8 * rng.standard_normal((1, n_questions))
    return tuple(
        (rng.random(one.shape) < 1 / (1 + np.exp(-one))).astype(float) for one in (theirs, its)
    )


@pytest.mark.parametrize("n_people", [8, 15])
def test_intervals_cover(n_people: int) -> None:
    """Of 300 intervals at least 92 % cover (a standard error is 1.3 %); as runs few would."""
    rng = np.random.default_rng(n_people)
    hits = []
    for _ in range(300):
        people, model = drawn(rng, n_people)
        part = score_of(model, ("m",), people, level=0.95)
        truths = (part.baseline, 0.5), (part.difference, 0.0), (part.place, 0.5)
        hits.append([one.interval[0, 0] <= true <= one.interval[0, 1] for one, true in truths])
    assert (np.mean(hits, axis=0) > 0.92).all()


def test_a_difference_is_found_and_so_is_the_place() -> None:
    people, model = drawn(np.random.default_rng(1), 20, 200, better=2.0)
    found = beside_people(model, people)
    part = found.parts["score"]
    assert part.outcomes(SMALLEST).outcomes == (Outcome.ABOVE,)
    assert part.difference.value[0] == pytest.approx(model.mean() - people.mean())
    assert part.place.value[0] == (model.mean() > people.mean(axis=1)).mean()
    assert "Above people: 0." in found.summary()


def test_few_people_have_no_interval_but_a_reason() -> None:
    people, model = drawn(np.random.default_rng(1), 4)
    part = beside_people(model, people).parts["score"]
    for one in (part.baseline, part.difference, part.place):
        assert one.flags == (Reason.FEW_PEOPLE,)
        assert np.isfinite(one.value).all()
        assert np.isnan(one.interval).all()
    assert part.outcomes(SMALLEST).outcomes == (Outcome.OPEN,)


def test_one_question_says_nothing_of_others() -> None:
    part = beside_people([[1]], np.array([[1.0], [0], [1], [0], [1], [1]])).parts["score"]
    assert part.difference.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(part.difference.interval).all()


def test_people_who_all_answer_right_are_as_many_as_they_are() -> None:
    part = beside_people(np.zeros((1, 60)), np.ones((8, 60))).parts["score"]
    low, high = part.baseline.interval[0]
    assert (round(low, 3), high) == (0.676, 1.0)  # Wilson, 8 of 8
    assert part.difference.interval[0, 1] < 0.0
    assert part.place.value[0] == 0.0


def test_the_order_of_people_and_questions_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    people, model = drawn(rng, 10, 30)
    people[rng.random(people.shape) < 0.2] = np.nan
    rows, columns = rng.permutation(10), rng.permutation(30)
    one = beside_people(model, people).to_frame()
    other = beside_people(model[:, columns], people[rows][:, columns]).to_frame()
    numbers = one.select_dtypes("number").columns
    np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-9, atol=1e-12)


def test_questions_of_a_cluster_go_together() -> None:
    people, model = drawn(np.random.default_rng(5), 12, 8)
    people, model = np.repeat(people, 5, axis=1), np.repeat(model, 5, axis=1)
    alone = beside_people(model, people).parts["score"].difference.interval[0]
    together = beside_people(model, people, clusters=np.arange(40) // 5)
    bounds = together.parts["score"].difference.interval[0]
    assert np.ptp(bounds) > 1.3 * np.ptp(alone)


def test_totals_of_a_scale_vary_with_people_alone() -> None:
    totals = np.array([20.0, 24, 25, 27, 29, 31, 33])
    part = totals_of(np.array([40.0]), np.zeros(1), ("m",), totals, level=0.95)
    margin = 2.4469 * totals.std(ddof=1) / np.sqrt(7)  # t with 6 degrees of freedom
    low, high = part.baseline.interval[0]
    assert high - totals.mean() == pytest.approx(margin, rel=0.15)
    assert part.n_questions == 0
    assert part.place.value[0] == 1.0
    assert low < totals.mean()
