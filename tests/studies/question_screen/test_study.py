"""Questions: against brute force, with known faults, and without any."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.studies.question_screen.redundancy import _chances, _suspects, _tails
from psychollm.studies.question_screen.study import question_screen


def drawn(k: int = 40, n: int = 60, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chance = expit(rng.normal(size=(k, 1)) - rng.normal(size=n))
    return (rng.random((k, n)) < chance).astype(float)


@pytest.fixture(scope="module")
def faulty() -> np.ndarray:
    """Answers with a question that all get right, one without answers, a twin and a wrong key."""
    right = drawn()
    order = np.argsort(right.mean(axis=1))
    right[:, 0], right[:, 1] = 1.0, np.nan
    right[:, 3] = right[:, 2]
    right[:, 4] = 0.0
    right[order[:20], 4] = 1.0
    return right


def test_each_fault_is_found(faulty) -> None:
    found = question_screen(faulty)
    assert found.dead[:2] == ("all right", "no answer")
    assert not any(found.dead[2:])
    assert np.flatnonzero(found.against).tolist() == [4]
    assert found.rest_correlation[4] < -0.6
    assert found.pairs.tolist() == [[2, 3]]
    assert found.partners()[2] == (3,)
    assert found.alike.tolist() == [[40, 40]]
    verdict = found.findings().verdict
    assert "58 of 60 questions distinguish between models, and " in verdict
    assert "; 2 have zero variance" in verdict
    assert "1 pair is flagged as a duplicate" in verdict


def test_a_hard_question_is_one_that_few_solve(faulty) -> None:
    found = question_screen(faulty, hard=0.3)
    with np.errstate(invalid="ignore"):
        assert found.hard.tolist() == (faulty.mean(axis=0) <= 0.3).tolist()
    rows = found.findings()["hard"].rows
    shares = [int(row.partition(" %")[0].split()[-1]) for row in rows if "%" in row]
    assert shares == sorted(shares)


@given(st.lists(st.floats(0.02, 0.98), min_size=2, max_size=9), st.integers(0, 9))
def test_the_tail_is_that_of_all_outcomes(chances: list[float], seed: int) -> None:
    k = len(chances)
    chance = np.array([chances, chances[::-1]]).T
    right = np.random.default_rng(seed).random((k, 2)) < 0.5
    alike, both, tail = _tails(right, np.ones((k, 2), bool), chance, np.array([[0, 1]]))
    one = chance[:, 0] * chance[:, 1] + (1 - chance[:, 0]) * (1 - chance[:, 1])
    outcomes = np.array(list(product((0, 1), repeat=k)))
    mass = np.prod(np.where(outcomes, one, 1 - one), axis=1)
    assert both == [k]
    assert alike == [(right[:, 0] == right[:, 1]).sum()]
    assert tail[0] == pytest.approx(mass[outcomes.sum(axis=1) >= alike[0]].sum())


@pytest.mark.parametrize("k", [12, 30])
def test_no_pair_below_the_size_is_passed_over(k: int) -> None:
    right = drawn(k, 40, seed=k)
    varied = right.any(axis=0) & ~right.all(axis=0)
    right = right[:, varied] > 0
    seen = np.random.default_rng(0).random(right.shape) < 0.9
    chance = _chances(right.astype(float) * seen, seen)
    pairs = np.stack(np.triu_indices(right.shape[1], 1), axis=1)
    tail = _tails(right, seen, chance, pairs)[2]
    size = float(np.quantile(tail, 0.02))
    wanted = {tuple(pair) for pair in pairs[tail <= size].tolist()}
    kept = {tuple(pair) for block in _suspects(right, seen, chance, size) for pair in block}
    assert wanted <= kept
    assert len(kept) < len(pairs)


def test_chances_keep_the_margins() -> None:
    right = drawn(60, 80)
    right = right[:, right.any(axis=0) & ~right.all(axis=0)]
    chance = _chances(right, np.ones(right.shape, bool))
    assert chance.sum(axis=0) == pytest.approx(right.sum(axis=0), abs=1e-4)
    assert chance.mean(axis=1) == pytest.approx(right.mean(axis=1), abs=0.03)


def test_repeats_are_not_models(faulty) -> None:
    runs = np.stack([faulty] * 3, axis=2)
    assert question_screen(runs).pairs_p == pytest.approx(question_screen(faulty).pairs_p)


def test_copies_of_a_model_are_not_models_where_families_are_given() -> None:
    once, families = drawn(12, 30), np.repeat(np.arange(12), 4)
    copies = np.repeat(once, 4, axis=0)
    alone, found = question_screen(once), question_screen(copies, families=families)
    assert len(question_screen(copies).pairs) > 0 == len(alone.pairs)
    assert found.against_p == pytest.approx(alone.against_p, nan_ok=True)
    assert found.pairs.tolist() == alone.pairs.tolist()
    assert found.n.tolist() == [48] * 30
    assert found.summary().startswith("48 models of 12 families, 30 questions.")
    card = psy.evaluation_card(copies, families=families, n_draws=100, rng=0)
    assert card.screen is not None
    assert card.screen.against_p == pytest.approx(alone.against_p, nan_ok=True)
    with pytest.raises(ShapeError, match="families holds 2 labels for 12 models"):
        question_screen(once, families=["a", "b"])


def test_families_that_answer_a_question_alike_leave_it_untested() -> None:
    right = drawn(12, 30)
    right[:, 0] = np.arange(12) % 2
    found = question_screen(right, families=np.arange(12) // 2)
    assert not found.dead[0]
    assert np.isnan(found.against_p[0])


def test_a_table_log_and_an_array_say_the_same(tmp_path) -> None:
    right = drawn(12, 20)
    frame = pd.DataFrame(right, columns=[f"q{i}" for i in range(20)])
    frame.index = pd.Index([f"m{i}" for i in range(12)], name="model")
    frame.to_csv(tmp_path / "scores.csv")
    found = question_screen(psy.read_scores(tmp_path / "scores.csv")).to_frame()
    own = question_screen(frame).to_frame()
    pd.testing.assert_frame_equal(found, own)


def test_graded_scores_are_split_or_taken_as_shares(faulty) -> None:
    graded = np.where(np.isnan(faulty), np.nan, 1.0 + 8.0 * faulty)
    with pytest.raises(CodeError, match="threshold="):
        question_screen(graded)
    assert question_screen(graded, threshold=5.0).pairs.tolist() == [[2, 3]]
    assert question_screen(0.1 + 0.8 * faulty).against.tolist() == (
        question_screen(faulty).against.tolist()
    )


def test_few_models_show_nothing_and_say_so() -> None:
    found = question_screen(drawn(4, 30))
    text = found.summary()
    assert "With 4 models, no pair can be significant" in text
    assert not len(found.pairs)
    alone = question_screen(drawn(1, 30))
    assert not any(alone.dead)
    assert "All other checks require several models" in alone.summary()


def test_what_cannot_be_used() -> None:
    with pytest.raises(ShapeError, match="every value is missing"):
        question_screen([[np.nan, np.nan]])
    with pytest.raises(OptionError, match="hard=2"):
        question_screen([[1, 0]], hard=2)
    with pytest.raises(OptionError, match="alpha=0"):
        question_screen([[1, 0]], alpha=0)


def test_redundant_pairs_as_a_table(faulty) -> None:
    frame = question_screen(faulty).redundant()
    assert frame[["first", "second", "alike", "n"]].to_numpy().tolist() == [[2, 3, 40, 40]]
    assert frame["p"].item() < 0.001


def test_questions_with_equally_many_right_answers_are_fitted_as_one() -> None:
    right = drawn(20, 80)
    right = right[:, right.any(axis=0) & ~right.all(axis=0)]
    chance = _chances(right, np.ones(right.shape, bool))
    # A model without answers leaves the fit as it is, question by question.
    more = np.concatenate([right, np.zeros((1, right.shape[1]))])
    seen = np.arange(21)[:, None] < np.full(right.shape[1], 20)
    assert _chances(more, seen)[:20] == pytest.approx(chance, abs=1e-5)
