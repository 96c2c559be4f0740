"""Difficulty from text: R squared by hand, noise, groups, missing scores, bad input."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.studies import Difficulty, difficulty
from psychollm.studies.difficulty.questions import (
    PENALTIES,
    as_questions,
    fold_of,
    out_of_fold,
    parts,
    ridge,
)
from psychollm.studies.difficulty.words import SURFACE, learn_words, surface, terms
from tests.oracles import difficulty_slow as slow
from tests.studies.difficulty.test_gating import FEW


@pytest.fixture(scope="module")
def study(texts: list[str], easy: np.ndarray) -> Difficulty:
    noisy = easy + np.random.default_rng(2).normal(0, 0.5, easy.size)
    return difficulty(texts, noisy, **FEW)


def test_terms_are_those_of_scikit_learn(texts: list[str]) -> None:
    extraction = pytest.importorskip("sklearn.feature_extraction.text")
    words = learn_words(texts)
    theirs = extraction.TfidfVectorizer(
        analyzer=lambda text: list(terms(text).elements()), sublinear_tf=True, min_df=2
    )
    expected = theirs.fit_transform(texts).toarray()
    assert words.terms == tuple(theirs.get_feature_names_out())
    assert words.measure(texts)[:, : len(words.terms)] == pytest.approx(expected, abs=1e-12)
    new = ["Which country has Paris as its capital?", "", "unheard-of words"]
    found = words.measure(new)[:, : len(words.terms)]
    assert found == pytest.approx(theirs.transform(new).toarray(), abs=1e-12)


@pytest.mark.parametrize("shape", [(30, 4), (20, 60)])
def test_ridge_is_that_of_scikit_learn(shape: tuple[int, int]) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    y = x[:, 0] + rng.normal(size=shape[0])
    found = ridge(x, y, np.arange(shape[0]))
    theirs = linear.Ridge(alpha=found.penalty, solver="svd").fit(x, y)
    assert found.weights == pytest.approx(theirs.coef_, abs=1e-8)
    assert found.intercept == pytest.approx(theirs.intercept_, abs=1e-8)


@pytest.mark.parametrize("grouped", [False, True])
def test_penalty_is_the_best_of_what_is_left_out(grouped: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(24, 5))
    y = x @ rng.normal(size=5) + 2.0 * rng.normal(size=24)
    groups = np.arange(24) // (3 if grouped else 1)
    square = ((x - x.mean(axis=0)) ** 2).sum(axis=1).mean()
    errors = [slow.left_out_error(x, y, square * one, groups) for one in PENALTIES]
    found = ridge(x, y, groups)
    assert found.penalty == pytest.approx(square * PENALTIES[int(np.argmin(errors))])
    weights = slow.ridge_fit(x, y, found.penalty)
    assert [found.intercept, *found.weights] == pytest.approx(weights)


def test_predictions_are_by_models_that_never_saw_the_fold(
    texts: list[str], easy: np.ndarray
) -> None:
    questions = as_questions(texts)
    fold = fold_of(questions.groups, 5, np.random.default_rng(0))
    found = out_of_fold(questions, easy, fold)
    spoilt = easy.copy()
    spoilt[fold == 2] = 99.0
    again = out_of_fold(questions, spoilt, fold)
    assert np.array_equal(again[fold == 2], found[fold == 2])
    assert not np.array_equal(again[fold != 2], found[fold != 2])


def test_the_text_is_found_and_length_alone_is_less(study: Difficulty) -> None:
    assert study.r_squared.value[0] > 0.6
    assert study.lead.interval[0] > 0.0
    assert "better than its length alone" in study.verdict
    assert study.r_squared.value[2] == 0.0
    assert study.correlation.flags[2] is Reason.CONSTANT


def test_r_squared_by_hand(study: Difficulty, texts: list[str]) -> None:
    y, found = study.scores, study.predicted
    fold = fold_of(np.arange(len(texts)), 5, np.random.default_rng(0))
    means = np.empty(y.size)
    for fit_on, own in parts(fold):
        means[own] = y[fit_on].mean()
    expected = 1 - ((y - found) ** 2).sum() / ((y - means) ** 2).sum()
    assert study.r_squared.value[0] == pytest.approx(expected)
    assert study.correlation.value[0] == pytest.approx(np.corrcoef(y, found)[0, 1])
    assert study.correlation.value[1] == pytest.approx(
        np.corrcoef(y, study.predicted_by_length)[0, 1]
    )


def test_noise_is_not_predicted(texts: list[str]) -> None:
    found = difficulty(texts, np.random.default_rng(7).normal(size=len(texts)), **FEW)
    assert found.r_squared.value[0] < 0.05
    assert found.verdict.startswith(
        ("The text of questions predicts almost none", "It is unclear whether")
    )


def test_groups_tell_templates_from_knowledge() -> None:
    # Each template has a difficulty of its own that its words do not tell.
    rng = np.random.default_rng(4)
    kinds = [f"subject{k} topic{k} matter{k}" for k in "abcdefghijkl"]
    of = rng.integers(12, size=180)
    texts = [f"Tell of {kinds[k]} number {rng.integers(9)}." for k in of]
    scores = rng.normal(size=12)[of] + rng.normal(0, 0.3, 180)
    alone = difficulty(texts, scores, **FEW)
    grouped = difficulty(texts, scores, groups=of.tolist(), **FEW)
    assert alone.r_squared.value[0] > 0.7
    assert grouped.r_squared.interval[0, 0] < 0.0
    assert grouped.n_groups == 12
    assert "groups of questions" in grouped.summary()


def test_scale_of_scores_does_not_matter(study: Difficulty, texts: list[str]) -> None:
    again = difficulty(texts, 10.0 * study.scores - 3.0, **FEW)
    assert again.r_squared.value == pytest.approx(study.r_squared.value)
    assert again.predicted == pytest.approx(10.0 * study.predicted - 3.0)


def test_questions_without_a_score_are_left_out(texts: list[str], easy: np.ndarray) -> None:
    gaps = easy.copy()
    gaps[:10] = np.nan
    found = difficulty(
        dict(zip("abcdefghij", texts[:10], strict=True)) | dict(enumerate(texts[10:])), gaps, **FEW
    )
    assert found.labels == tuple(range(len(texts) - 10))
    direct = difficulty(texts[10:], easy[10:], **FEW)
    assert found.predicted == pytest.approx(direct.predicted)


def test_embeddings_and_hidden_states(texts: list[str], easy: np.ndarray) -> None:
    def embed(questions: list[str]) -> list[list[float]]:
        return [[float(len(one)), float("+" in one), 3.0] for one in questions]

    made = difficulty(texts, easy, features=embed, **FEW)
    held = difficulty(texts, easy, features=np.array(embed(texts)), **FEW)
    assert np.array_equal(made.predicted, held.predicted)
    assert made.names == ("feature 0", "feature 1", "feature 2")
    assert made.weights[2] == 0.0  # it does not vary


def test_scores_of_the_shared_factor() -> None:
    example = psy.load_example("shared_confidence")
    answers = example.confidence.select(questions=list(example.confidence.questions[:300]))
    scores = psy.question_scores(answers)
    texts = {
        name: f"Question {'x' * (20 + round(8 * score))}"
        for name, score in zip(scores.questions, scores.scores, strict=True)
    }
    backwards = dict(reversed(texts.items()))
    found = difficulty(backwards, scores, **FEW)
    assert found.ceiling == scores.reliability
    assert found.labels == tuple(backwards)
    assert found.correlation.value[1] > 0.9
    assert "upper bound of R²" in found.summary()
    assert "length alone" in found.verdict


def test_frames(study: Difficulty) -> None:
    assert study.to_frame()["score"].to_numpy() == pytest.approx(study.scores)
    weights = study.weights_frame()
    assert weights["weight"].is_monotonic_decreasing
    assert {f"[{name}]" for name in SURFACE} <= set(weights["feature"])
    json.dumps(study.to_dict())


@given(st.text(max_size=60))
def test_any_text_can_be_measured(text: str) -> None:
    assert np.isfinite(surface(text)).all()
    assert len(surface(text)) == len(SURFACE)
    words = learn_words(["one question", "another question"])
    assert np.isfinite(words.measure([text])).all()


@given(st.lists(st.integers(0, 6), min_size=8, max_size=40), st.integers(2, 6))
def test_folds_keep_groups_whole(groups: list[int], n_folds: int) -> None:
    codes = np.unique(groups, return_inverse=True)[1]
    if codes.max() == 0:
        with pytest.raises(OptionError, match="one group"):
            fold_of(codes, n_folds, np.random.default_rng(0))
        return
    fold = fold_of(codes, n_folds, np.random.default_rng(0))
    assert all(np.unique(fold[codes == one]).size == 1 for one in range(codes.max() + 1))
    assert np.unique(fold).size == min(n_folds, codes.max() + 1)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"texts": "one"}, InputError, "list of questions"),
        ({"texts": ["a?"] * 5, "scores": [1.0] * 5}, ShapeError, "at least 20"),
        ({"texts": ["a?"] * 39 + [""]}, CodeError, "question 39"),
        ({"texts": ["a?"] * 39 + [None]}, CodeError, "not a text"),
        ({"scores": [1.0] * 3}, ShapeError, "one number per question"),
        ({"scores": [1.0] * 40}, InputError, "differ"),
        ({"scores": {0: 1.0}}, LabelError, "no value for question 1"),
        ({"features": np.zeros((3, 2))}, ShapeError, "features"),
        ({"features": [["a"]] * 40}, CodeError, "numbers"),
        ({"features": np.full((40, 1), np.inf)}, CodeError, "finite"),
        ({"groups": ["a"] * 3}, ShapeError, "groups"),
        ({"groups": ["a"] * 40}, OptionError, "one group"),
        ({"n_folds": 1}, OptionError, "n_folds"),
        ({"level": 2}, OptionError, "level"),
        ({"bootstrap": 0}, OptionError, "bootstrap"),
    ],
)
def test_bad_studies(change: dict[str, Any], error: type[Exception], words: str) -> None:
    options: dict[str, Any] = {
        "texts": [f"Number {i}?" for i in range(40)],
        "scores": np.arange(40.0),
        "bootstrap": 20,
    }
    options |= change
    with pytest.raises(error, match=words):
        difficulty(options.pop("texts"), options.pop("scores"), **options)
