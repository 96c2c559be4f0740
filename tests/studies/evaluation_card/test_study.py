"""The evaluation card: accuracies with their intervals, and what is said of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, ShapeError
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.reliability.components.crossed_logistic import fit_crossed
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.repeated_scores import repeated_scores
from psychollm.studies.evaluation_card.accuracies import Chances, accuracies
from psychollm.studies.evaluation_card.study import EvaluationCard, evaluation_card

DATA = Path(__file__).parents[4] / "shared" / "data"


def drawn(seed, models, questions, answers=1, empty=0.0):
    """Return scores of a crossed model, and the chances of all cells."""
    rng = np.random.default_rng(seed)
    level, ease = 0.5 + 0.8 * rng.normal(size=models), 1.2 * rng.normal(size=questions)
    chance = 1.0 / (1.0 + np.exp(-(level[:, None] + ease)))
    scores = (rng.random((models, questions, answers)) < chance[..., None]).astype(float)
    scores[rng.random((models, questions)) < empty] = np.nan
    return scores, chance


@pytest.fixture(scope="module")
def card() -> EvaluationCard:
    scores, _ = drawn(1, 6, 150, 2)
    return evaluation_card(scores, domains=np.arange(150) % 3, families=list("aabbcc"), rng=1)


def test_the_generalised_interval_of_single_answers_is_that_of_a_share() -> None:
    scores, _ = drawn(2, 5, 300)
    found = evaluation_card(scores, rng=1)
    hits = np.sort(scores.sum(axis=(1, 2)))[::-1]
    np.testing.assert_allclose(found.generalised.value, hits / 300)
    np.testing.assert_allclose(found.generalised.interval, wilson(hits, 300), atol=2e-3)
    assert set(found.benchmark.flags) == {Reason.ONE_ANSWER}
    width = np.diff(found.benchmark.interval) / np.diff(found.generalised.interval)
    assert ((width > 0.7) & (width < 0.97)).all()


def test_repeats_tell_how_far_benchmark_accuracy_varies() -> None:
    scores, _ = drawn(3, 4, 200, 5)
    found = evaluation_card(scores, rng=1)
    order = np.argsort(-scores.mean(axis=(1, 2)), kind="stable")
    variance = scores[order].var(axis=2, ddof=1).sum(axis=1) / 5.0 / 200.0**2
    np.testing.assert_allclose(found.benchmark.se, np.sqrt(variance))
    between = scores[order].mean(axis=2).var(axis=1, ddof=1) / 200.0
    np.testing.assert_allclose(found.generalised.se, np.sqrt(between), rtol=1e-10)


def test_domains_are_strata_and_clusters_are_drawn() -> None:
    scores, _ = drawn(4, 4, 120)
    domains = np.argsort(np.argsort(scores.mean(axis=(0, 2)), kind="stable")) // 40
    plain = evaluation_card(scores, rng=1)
    strata = evaluation_card(scores, domains=domains, rng=1)
    passages = domains * 10 + np.arange(120) % 10
    clusters = evaluation_card(scores, clusters=passages, rng=1)
    assert (strata.generalised.se < 0.95 * plain.generalised.se).all()
    order = [plain.labels.index(label) for label in range(4)]
    robust = mean_score(scores[:, :, 0], clusters=passages, bootstrap=0).se
    np.testing.assert_allclose(clusters.generalised.se[order], robust)


def test_empty_cells_are_predicted() -> None:
    """Half of the models got only what the others find easy: their mean is fooled."""
    scores, chance = drawn(5, 20, 200)
    known = scores[10:].mean(axis=(0, 2))
    easy = known > np.median(known)
    scores[:10, ~easy] = np.nan
    answers = repeated_scores(scores)
    rng = np.random.default_rng(1)
    chances = Chances.of(fit_crossed(answers, None, None), rng)
    benchmark, general = accuracies(answers, chances, clusters=None, domains=None, level=0.95)
    truth = chance.mean(axis=1)
    plain = np.nanmean(scores, axis=(1, 2))
    assert (plain[:10] - truth[:10]).mean() > 0.1
    assert abs((benchmark.value[:10] - truth[:10]).mean()) < 0.03
    covered = (benchmark.interval[:, 0] <= truth) & (truth <= benchmark.interval[:, 1])
    assert covered.sum() >= 17
    assert (general.se >= benchmark.se).all()


@pytest.mark.parametrize("empty", [0.0, 0.3])
def test_intervals_of_benchmark_accuracy_cover(empty: float) -> None:
    """Seeded; 160 intervals of nominal 95 %: the false-alarm rate of the bounds is below 1 %."""
    covered = []
    for seed in range(8):
        scores, chance = drawn(seed, 20, 100, 1, empty)
        answers = repeated_scores(scores)
        chances = Chances.of(fit_crossed(answers, None, None), np.random.default_rng(1))
        found, _ = accuracies(answers, chances, clusters=None, domains=None, level=0.95)
        low, high = found.interval.T
        covered.append((low <= chance.mean(axis=1)) & (chance.mean(axis=1) <= high))
    assert 0.89 < np.mean(covered) <= 1.0


def test_what_is_said(card: EvaluationCard) -> None:
    assert card.summary().count("\n") < 24
    text = card.findings().text()
    assert text.startswith("6 models, 150 questions, 2 answers per question.")
    for words in ("benchmark accuracy", "random variation of repeated answers", "reliability"):
        assert words in text
    assert card.gaps[0].startswith("No clusters were given")
    assert card.findings()["variance"].rows[0].startswith("families of models:")
    frame = card.to_frame()
    assert frame["generalised"].is_monotonic_decreasing
    assert list(frame["tier"]) == list(card.comparison.tier)


def test_gaps_are_said() -> None:
    scores, _ = drawn(6, 3, 60, 1, 0.2)
    gaps = " ".join(evaluation_card(scores, rng=1).gaps)
    for words in (
        "asked once",
        "of the cells have no answer",
        "There are 3 models",
        "calibration",
    ):
        assert words in gaps


def test_the_page_says_how_to_repeat_it_and_the_middle_difference(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    right = rng.random((6, 60)) < np.linspace(0.3, 0.9, 6)[:, None]
    domains = np.repeat(["x", "y", "z"], 20)
    card = evaluation_card(right.astype(int), domains=domains, families=list("aabbcc"), rng=1)
    card.report(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert "evaluation_card(scores, domains=domains, families=families, rng=1)" in page
    assert f">{np.median(card.comparison.detectable):.3f}<" in page


def test_graded_scores_do_without_the_model() -> None:
    rng = np.random.default_rng(1)
    found = evaluation_card(rng.random((3, 80)), rng=1)
    assert found.mixed is None
    assert np.isnan(found.benchmark.interval).all()
    assert set(found.benchmark.flags) == {Reason.ONE_SAMPLE}
    assert np.isfinite(found.generalised.interval).all()
    scaled = evaluation_card(10.0 * rng.random((3, 80)), rng=1)
    assert scaled.screen is None
    assert (scaled.generalised.interval[:, 1] > 1.0).all()


def test_confidences_follow_the_models() -> None:
    scores, _ = drawn(7, 3, 100)
    stated = np.array([[0.2], [0.5], [0.9]]) * np.ones((3, 100))
    found = evaluation_card(scores[:, :, 0], confidence=stated, rng=1)
    over = found.calibration[0]
    mean = scores.mean(axis=(1, 2))
    right = [stated[label, 0] - mean[label] for label in over.labels]
    np.testing.assert_allclose(over.value, right)
    assert "Does reported confidence match accuracy?" in found.summary()


def test_human_labels_follow_the_models() -> None:
    """Labels of 80 of 120 answers, as an array: the card sorts models by their score."""
    scores, _ = drawn(5, 4, 120)
    scores = scores[np.argsort(scores.sum(axis=(1, 2)))]  # the best is the last
    labels = np.where(np.arange(120) < 80, scores[..., 0], np.nan)
    found = evaluation_card(scores, human_labels=labels, rng=1)
    assert found.judged is not None
    assert found.judged.score.value == pytest.approx(found.benchmark.value)  # nobody disagrees
    named = evaluation_card(scores, human_labels=pd.DataFrame(labels), rng=1)
    assert str(named.judged) == str(found.judged)


def test_a_log_of_scores_and_confidences(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        {"question": np.tile(np.arange(60), 2), "model": np.repeat(["a", "b"], 60)}
    )
    rows["score"], rows["confidence"] = rng.integers(0, 2, 120), rng.random(120).round(2)
    rows.to_csv(tmp_path / "scores.csv", index=False)
    found = psy.evaluation_card(psy.read_scores(tmp_path / "scores.csv"), rng=1)
    assert [one.name for one in found.calibration] == ["overconfidence", "Brier score", "AUROC"]


def test_constant_answers_have_no_model() -> None:
    found = evaluation_card(np.ones((2, 30)), rng=1)
    assert found.mixed is None
    assert (found.generalised.interval[:, 0] < 1.0).all()


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="families holds 2 labels for 3 models"):
        evaluation_card(drawn(1, 3, 20)[0], families=["a", "b"])
    with pytest.raises(LabelError, match="domains: question 0 has no label"):
        evaluation_card(drawn(1, 3, 20)[0], domains=[None] + ["a"] * 19)


def test_mmlu_pro() -> None:
    """29 models, 12,032 questions: nearly all variance is questions, and ranks are reliable."""
    path = DATA / "mmlu_pro_correct.csv.gz"
    if not path.exists():
        pytest.skip("shared/data is not here")
    table = pd.read_csv(path, index_col="model").iloc[:, ::20]
    found = evaluation_card(table, rng=1)
    assert found.mixed is not None
    assert found.mixed.reliability.value[0] > 0.95
    assert found.missing > 0.0
    share = dict(zip(found.mixed.share.labels, found.mixed.share.value, strict=True))
    assert share["question"] > share["model"] > 0.02
