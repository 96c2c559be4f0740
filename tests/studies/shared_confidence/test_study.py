"""The study end to end: known truth, bad input, reproducibility, real answers."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.estimates.resampling import Bootstrap
from psychollm.studies.shared_confidence.study import _without_partners, shared_confidence
from tests.studies.shared_confidence.conftest import FAST, small


def test_the_truth_of_the_example_is_found(example, result):
    truth = example.truth
    assert result.dimensionality.n_factors == 1
    # 2,000 questions; the loading of the boldest model is the least certain.
    np.testing.assert_allclose(result.loadings, truth.loadings, atol=0.13)
    np.testing.assert_allclose(result.thresholds, truth.thresholds, atol=0.13)
    assert np.corrcoef(result.scores.scores, truth.scores)[0, 1] > 0.93
    private = np.flatnonzero(result.private_signal.p_adjusted < 0.05)
    np.testing.assert_array_equal(private, np.flatnonzero(truth.self_knowledge))


def test_the_recorded_call_repeats_the_result(once):
    """With the seed that was drawn from a generator."""
    said, right = small()
    names = {"shared_confidence": shared_confidence, "confidence": said, "correctness": right}
    assert f"rng={once.seed}" in once.call
    again = eval(once.call, names)  # noqa: S307
    assert again.to_dict() == once.to_dict()


def test_the_same_bits_for_any_number_of_jobs(once):
    two = shared_confidence(*small(), rng=once.seed, n_null=39, bootstrap=Bootstrap(40, n_jobs=2))
    assert two.to_dict() == once.to_dict()


def test_constant_models_leave_only_the_correlations():
    said, right = small(k=7)
    answers = said.values
    answers[2] = 1.0
    table = pd.DataFrame(answers, index=said.models, columns=said.questions)
    found = shared_confidence(table, right, rng=0, **FAST)
    assert found.uncorrelated == {"sim-03": f"always says yes ({said.n_questions} answers)"}
    assert np.isnan(found.loadings[2])
    assert found.labels == said.models
    assert found.confusion.yes_rate.value[2] == 1.0
    assert "sim-03" not in found.dimensionality.labels
    assert "sim-03 (always says yes" in found.summary()


def test_too_few_answers_are_not_called_answers_that_do_not_vary():
    said, right = small(k=3)
    few = said.select(questions=said.questions[:20])
    with pytest.raises(ShapeError, match="0 of 3 models can be correlated") as caught:
        shared_confidence(few, right.select(questions=said.questions[:20]), rng=0, **FAST)
    assert "'sim-01': too few answers: 20, but at least 30 are required;" in str(caught.value)
    assert "vary" not in str(caught.value)


def test_the_screen_names_or_drops(example):
    said, right = small(k=7, n=400)
    turned = said.flip(["sim-02"])
    flagged = shared_confidence(turned, right, rng=0, **FAST)
    assert not flagged.screen.usable[1]
    assert flagged.labels == said.models
    assert "sim-02: inverted" in flagged.summary()
    dropped = shared_confidence(turned, right, screen="drop", rng=0, **FAST)
    assert list(dropped.dropped) == ["sim-02"]
    assert "sim-02" not in dropped.labels
    assert len(dropped.screen.models) == 7


def test_missing_answers():
    said, right = small(n=300)
    rng = np.random.default_rng(0)
    answers, known = said.values, right.values
    answers[rng.random(answers.shape) < 0.15] = np.nan
    known[rng.random(known.shape) < 0.15] = np.nan
    found = shared_confidence(answers, known, rng=0, **FAST)
    assert (found.confusion.left_out > 0).all()
    assert np.isfinite(found.private_signal.p_value).all()


def test_tables_in_another_order_give_the_same(once):
    said, right = small()
    turned = right.select(models=right.models[::-1], questions=right.questions[::-1])
    other = shared_confidence(said, turned, rng=once.seed, **FAST)
    assert other.to_dict() == once.to_dict()


@pytest.mark.parametrize(
    ("confidence", "correctness", "error", "match"),
    [
        (np.empty((0, 0)), np.empty((0, 0)), ShapeError, "empty"),
        (np.ones((1, 40)), np.ones((1, 40)), ShapeError, "0 of 1 models"),
        (np.eye(5, 1), np.eye(5, 1), ShapeError, "0 of 5 models"),
        (np.eye(5, 9) + 1, np.eye(5, 9), CodeError, "confidence"),
        (np.eye(5, 9), np.eye(5, 9) + 1, CodeError, "correctness"),
        (np.full((5, 9), np.inf), np.eye(5, 9), CodeError, "confidence"),
        ([["yes", "no"]] * 5, np.eye(5, 2), CodeError, "yes"),
        (np.eye(5, 9), np.eye(5, 8), ShapeError, "5 x 9 are needed"),
        (None, np.eye(5, 9), InputError, "confidence=None"),
    ],
)
def test_bad_tables(confidence, correctness, error, match):
    with pytest.raises(error, match=match):
        shared_confidence(confidence, correctness, **FAST)


def test_duplicated_labels():
    frame = pd.DataFrame(np.eye(4, 6), index=["a", "a", "b", "c"])
    with pytest.raises(LabelError, match="'a'"):
        shared_confidence(frame, frame, **FAST)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("screen", "remove"),
        ("empty_cells", "half"),
        ("missing", "listwise"),
        ("adjustment", "none"),
        ("n_null", 0),
        ("bootstrap", 2.5),
        ("level", 95),
    ],
)
def test_bad_options_are_refused_before_anything_is_computed(option, value):
    with pytest.raises(OptionError, match=option):
        shared_confidence(*small(), **{option: value})


def test_nothing_usable():
    said, right = small(k=5, n=20)
    with pytest.raises(ShapeError, match="no model is usable"):
        shared_confidence(said, right, screen="drop", **FAST)


def test_real_answers_name_the_inverted_model(shared):
    said, right = (
        pd.read_csv(shared / "data" / f"cacioli_battery20_{name}.csv.gz", index_col=0)
        for name in ("keep", "correct")
    )
    found = shared_confidence(said, right, rng=0, **FAST)
    inverted = [
        model
        for model, flag in zip(found.screen.models, found.screen.inverted, strict=True)
        if flag
    ]
    assert any("r1" in str(model).lower() for model in inverted)
    assert "inverted" in found.summary()


def test_the_model_without_partners_is_left_out_and_not_its_many_partners():
    """Two models share every question, the third answered two others."""
    both, alone = [0.0, 1.0] * 4, [np.nan] * 8
    cells = [[*both, *alone[:2]], [*both, *alone[:2]], [*alone, 0.0, 1.0]]
    left_out = _without_partners(Responses(cells, models=list("abc")))
    assert left_out == {"c": "shares no questions with 'a' on which the answers of both vary"}
