"""Variance of a difference, assumed and from a pilot."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import OptionError
from psychollm.data.logs import read_scores
from psychollm.reliability.means.difference_variance import (
    DifferenceVariance,
    assumed_variance,
    pilot_variance,
)
from psychollm.reliability.means.power import questions_needed
from psychollm.reliability.means.score_differences import score_differences


def test_pairing_clusters_and_answers_move_the_number_as_they_should():
    paired = assumed_variance(0.7, 0.65, correlation=0.5)
    unpaired = assumed_variance(0.7, 0.65, correlation=0.5, design="unpaired")
    assert unpaired.between == pytest.approx(0.7 * 0.3 + 0.65 * 0.35)
    assert paired.between == pytest.approx(unpaired.between - np.sqrt(0.7 * 0.3 * 0.65 * 0.35))
    clustered = assumed_variance(
        0.7, 0.65, correlation=0.5, cluster_size=5, cluster_correlation=0.2
    )
    n = [questions_needed(0.05, v).n_questions for v in (paired, unpaired, clustered)]
    assert n[1] == pytest.approx(2 * n[0], rel=0.02)
    assert n[2] == pytest.approx(1.8 * n[0], rel=0.02)
    noisy = DifferenceVariance(between=0.1, within=0.2)
    assert noisy.standard_error(100, n_answers=4) == pytest.approx(np.sqrt(0.15 / 100))


@pytest.mark.parametrize("design", ["paired", "unpaired"])
@pytest.mark.parametrize("size", [None, 1, 5])
def test_a_pilot_predicts_its_own_standard_error(design, size):
    rng = np.random.default_rng(1)
    n = 150
    common = rng.normal(size=30).repeat(5)
    scores = (common + rng.normal(size=(2, n)) > np.array([[-0.2], [0.3]])).astype(float)
    scores[0] = np.where(rng.uniform(size=n) < 0.3, common > 0, scores[0])
    clusters = None if size is None else np.arange(n) // size
    variance = pilot_variance(scores, 0, 1, clusters=clusters, design=design)
    found = score_differences(scores, clusters=clusters)
    if design == "paired":
        expected = max(found.se[0], found.se_paired[0])
    else:
        one, two = (score_differences([row, 0 * row], clusters=clusters).se[0] for row in scores)
        expected = np.hypot(one, two)
    assert variance.standard_error(n) == pytest.approx(expected, rel=1e-9)
    assert variance.cluster_size == (5 if size == 5 else 1)


def test_a_pilot_with_several_answers_separates_their_noise():
    """Standard errors of both variances are about 0.01 with 4,000 questions."""
    rng = np.random.default_rng(2)
    chance = rng.beta(2, 1, (2, 4000))
    answers = (rng.uniform(size=(2, 4000, 4)) < chance[..., None]).astype(float)
    variance = pilot_variance(answers, 0, 1)
    assert variance.between == pytest.approx(2 / 18, abs=0.012)
    assert variance.within == pytest.approx(2 / 6, abs=0.02)


def test_the_variance_of_a_plan_is_named_if_it_is_a_number():
    with pytest.raises(OptionError, match=r"variance=0.2 .* pass assumed_variance"):
        questions_needed(0.05, 0.2)


def test_scores_read_from_files_are_a_pilot(tmp_path):
    drawn = np.random.default_rng(3).integers(0, 2, (2, 30))
    rows = [("ab"[m], f"q{k}", drawn[m, k]) for m in range(2) for k in range(30)]
    frame = pd.DataFrame(rows, columns=["model", "question", "score"])
    frame.to_csv(tmp_path / "pilot.csv", index=False)
    log = read_scores(tmp_path / "pilot.csv")
    assert pilot_variance(log, "a", "b").between == pilot_variance(drawn, 0, 1).between
