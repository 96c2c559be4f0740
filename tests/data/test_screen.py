import numpy as np
import pytest
from scipy.stats import fisher_exact

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.data.screen import fisher_lower, validity_screen

BASE = np.random.default_rng(20).integers(0, 2, (6, 200)).astype(float)
CORRECT = np.where(np.random.default_rng(21).random(BASE.shape) < 0.7, BASE, 1 - BASE)


def screened(**changes):
    """Screen six sound models, some of them replaced by name of their row."""
    confidence = BASE.copy()
    for row, answers in changes.items():
        confidence[int(row[1:])] = answers
    return validity_screen(confidence, CORRECT)


def test_sound_models_are_not_flagged():
    screen = screened()
    assert screen.usable.all()
    assert not screen.flagged.any()
    assert screen.summary() == "6 of 6 models usable, 0 flagged."
    assert screen.untested == ("",) * 6


@pytest.mark.parametrize(("answer", "word"), [(1, "yes"), (0, "no")])
def test_constant(answer, word):
    screen = screened(m2=answer)
    assert screen.constant.tolist() == [False, False, True, False, False, False]
    assert screen.reasons[2] == (f"always says {word} (200 answers)",)
    assert not screen.usable[2]
    assert screen.untested[2] == f"always says {word}"
    assert np.isnan(screen.auroc[2])
    assert np.isnan(screen.p_inverted[2])


def test_nearly_constant_stays_usable():
    answers = np.ones(200)
    answers[:3] = 0
    screen = screened(m0=answers)
    assert screen.near_constant[0]
    assert screen.usable[0]
    assert screen.reasons[0] == ("nearly constant: yes to 98.50 % of 200 questions",)


def test_too_few_answers():
    answers = np.full(200, np.nan)
    answers[:20] = BASE[3, :20]
    screen = screened(m3=answers)
    assert screen.too_few[3]
    assert not screen.usable[3]
    assert screen.reasons[3] == ("too few answers: 20, but at least 30 are required",)


def test_a_silent_model():
    screen = screened(m3=np.nan)
    assert screen.too_few[3]
    assert not screen.constant[3]
    assert screen.untested[3] == "no question has both an answer and a correctness"


def test_inverted():
    screen = screened(m4=1 - BASE[4])
    assert screen.inverted.tolist() == [False, False, False, False, True, False]
    assert not screen.usable[4]
    assert "its yes goes with wrong answers (AUROC 0.34" in screen.reasons[4][0]
    assert screen.auroc[4] < 0.5 < screen.auroc[3]


def test_clones_name_each_other():
    nearly = BASE[1].copy()
    nearly[0] = 1 - nearly[0]
    screen = screened(m5=nearly)
    assert screen.clones == ((), (5,), (), (), (), (1,))
    assert screen.usable.tolist() == [True, True, True, True, True, False]
    assert "answers like 1 (agreement beyond chance 0.990 over 200 questions)" in screen.reasons[5]


def test_the_clone_of_an_unusable_model_is_kept():
    inverted = 1 - BASE[0]
    screen = validity_screen(np.array([inverted, inverted]), np.array([BASE[0], inverted]))
    assert screen.inverted.tolist() == [True, False]
    assert screen.usable.tolist() == [False, True]


def test_constant_models_are_no_clones():
    screen = screened(m1=1, m2=1)
    assert screen.clones == ((),) * 6


def test_clones_with_missing_answers():
    copy = BASE[0].copy()
    copy[::2] = np.nan
    assert screened(m5=copy).clones[5] == (0,)
    copy[20:] = np.nan  # ten in common are too few to tell
    assert screened(m5=copy).clones[5] == ()


def test_strong_factor_is_no_clone():
    """Models that share a factor with loadings of .97 are not the same model."""
    made = psy.simulate_factor(loadings=[0.97] * 8, thresholds=[0] * 8, n_questions=1_000, rng=1)
    assert not any(validity_screen(made.responses).clones)


def test_without_correctness():
    screen = validity_screen(BASE)
    assert screen.untested == ("no correctness was given",) * 6
    assert np.isnan(screen.p_inverted).all()
    assert not screen.inverted.any()


def test_correctness_that_does_not_vary():
    right = BASE.copy()
    right[0], right[1] = 1, 0
    screen = validity_screen(BASE, right)
    assert screen.untested[:3] == ("always correct", "never correct", "")


def test_false_alarms_stay_below_the_level():
    """Ten models without self-knowledge: any called inverted in at most 5 % of 400 tables.

    The exact test is conservative. An expected rate of at most .05 gives more than .083 (three
    standard errors above) with a chance below .2 %; seeded.
    """
    rng = np.random.default_rng(7)
    yes_rates, abilities = np.linspace(0.1, 0.9, 10), np.linspace(0.9, 0.2, 10)
    alarms = 0
    for _ in range(400):
        confidence = rng.random((10, 120)) < yes_rates[:, None]
        correctness = rng.random((10, 120)) < abilities[:, None]
        alarms += validity_screen(confidence, correctness).inverted.any()
    assert 0.01 < alarms / 400 < 0.083


def test_fisher_against_scipy():
    rng = np.random.default_rng(2)
    for _ in range(50):
        a, b, c, d = rng.integers(0, 40, 4)
        expected = fisher_exact([[a, b], [c, d]], alternative="less").pvalue
        n = a + b + c + d
        # scipy sums the same terms through gammaln: 1e-9 relative is its own accuracy
        np.testing.assert_allclose(fisher_lower(a, n, a + b, a + c), expected, rtol=1e-9)


def test_tables_must_match():
    with pytest.raises(ShapeError, match="7 models x 200 questions, but 6 x 200"):
        validity_screen(BASE, np.vstack([BASE, BASE[:1]]))


def test_bad_input_is_named():
    with pytest.raises(CodeError, match="confidence: model 0, question 0 has code 2"):
        validity_screen([[2, 1]])
    with pytest.raises(CodeError, match="correctness: model 0, question 1 has code 3"):
        validity_screen([[0, 1]], [[0, 3]])
    for option in (
        {"near_constant": 0.5},
        {"alpha": 0},
        {"min_answers": 0},
        {"clone_agreement": 2},
    ):
        with pytest.raises(OptionError, match=next(iter(option))):
            validity_screen(BASE, **option)


def test_frame_has_a_row_per_model():
    frame = screened(m0=1, m4=1 - BASE[4]).to_frame()
    assert frame["model"].tolist() == [0, 1, 2, 3, 4, 5]
    assert frame.loc[4, "reasons"].startswith("inverted")
    assert frame["usable"].tolist() == [False, True, True, True, False, True]


def test_deepseek_r1_is_named_inverted(shared):
    keep = psy.read_responses(shared / "data" / "cacioli_battery20_keep.csv.gz")
    correct = psy.read_responses(shared / "data" / "cacioli_battery20_correct.csv.gz")
    screen = validity_screen(keep, correct)
    named = [model for model, flag in zip(screen.models, screen.inverted, strict=True) if flag]
    assert named == ["DeepSeek-R1"]
    row = screen.models.index("DeepSeek-R1")
    np.testing.assert_allclose(screen.yes_rates[row], 0.18, atol=0.005)
    assert "DeepSeek-R1: inverted" in screen.summary()
    assert screen.near_constant.sum() == 4
