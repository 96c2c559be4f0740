"""What `test_fuzz.py` found, one call each; what the library asks of a caller's NumPy."""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.checks import check_number, float_array, n_dimensions
from psychollm._base.entry import warn
from psychollm._base.errors import InputError, PsychollmWarning
from psychollm.calibration.decisions.confusion import confusion
from psychollm.reliability.scales import split_half
from tests.every_function import public_functions

RNG = np.random.default_rng(0)
YES = (RNG.random((4, 40)) < 0.5).astype(int)
SURE = RNG.random((4, 40))
HALF = "a\ud800"
CORRELATED = np.full((4, 4), 0.5) + np.eye(4) * 0.5
TOLD = pd.DataFrame({"model": "m", "type": "C", "item": [0, 1], "run": 1, "score": [0, 1]})
TOLD = TOLD.assign(structure=0, skin=["x", "y"])


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("calibration.auroc", {"scores": [[1, 2], [1]], "correctness": [[1, 0]]}, "scores"),
        ("calibration.abstention", {"abstained": YES, "should_abstain": [1, [0, 1]]}, "should_ab"),
        ("calibration.brier", {"confidence": SURE * 1e300, "correctness": YES}, "too large"),
        ("calibration.f_beta", {"confidence": YES, "correctness": YES, "betas": [1e308]}, "betas"),
        ("calibration_panel", {"confidence": SURE, "correctness": YES, "metrics": []}, "metrics"),
        (
            "calibration.predicted_correctness",
            {"features": np.ones((40, 0)), "correctness": YES[0]},
            "no columns",
        ),
        ("data.simulate_meta_d", {"d_prime": [], "m_ratio": 1.0, "n_questions": 9}, "d_prime"),
        ("data.simulate_meta_d", {"d_prime": [1], "m_ratio": np.inf, "n_questions": 9}, "finite"),
        ("estimates.outcome", {"interval": ["x"], "smallest": 0.1}, "interval"),
        ("estimates.outcome", {"interval": [1.0], "smallest": 0.1}, "interval has shape"),
        ("estimates.wilson", {"successes": -1, "n": 9}, "successes holds -1"),
        ("estimates.wilson", {"successes": 10, "n": 9}, "more successes than n"),
        ("estimates.wilson", {"successes": 1, "n": 1e20}, "n holds 1e"),
        ("reliability.mcnemar", {"first_only": 1e20, "second_only": 2}, "counts of questions"),
        ("parallel_analysis", {"data": YES, "n_null": 10**12}, "at most 100000000"),
        ("calibration.brier", {"confidence": SURE, "correctness": YES, "bootstrap": 10**12},
         "bootstrap=1000000000000"),
        ("data.simulate_study", {"n_models": 3, "n_questions": 10**12}, "n_questions=1000"),
        ("tetrachoric", {"data": YES, "of": np.arange(2)}, "of=array"),
        ("reliability.set_difference", {"scores": YES, "first": [0], "second": [0, 1]},
         "first and second share 0"),
        ("factor.rotate", {"loadings": np.full((4, 2), 1e31)}, "loadings.0, 0. is 1e"),
        ("estimates.wilson", {"successes": 1, "n": np.inf}, "n holds inf"),
        (
            "estimates.paired_difference",
            {"first_only": 9, "second_only": 9, "n": 10},
            "first_only and second_only add up to more than n",
        ),
        ("evaluation_card", {"scores": YES, "n_draws": 0}, "n_draws=0"),
        ("factor.normal_covariance", {"matrix": np.eye(3), "n": 0}, "n=0"),
        ("factor.sampling_adequacy", {"correlation": np.ones((2, 3))}, "correlation must"),
        ("instruments.abstains", {"text": None}, "text is None"),
        ("instruments.grade", {"reply": 3, "answers": ["3"]}, "reply is 3"),
        ("instruments.exact_match", {"text": "a", "answers": [3]}, "answers is 3"),
        ("irt.item_slopes", {"loadings": 0.6, "thresholds": 0.1}, "loadings have shape"),
        ("irt.martin_loef_test", {"responses": YES, "items": 3}, "items=3 are not labels"),
        ("irt.martin_loef_test", {"responses": YES, "items": [np.ones(2)]}, "are not labels"),
        ("parallel_analysis", {"data": YES, "of": "rows"}, "of='rows'"),
        ("polychoric", {"data": YES, "of": None}, "of=None"),
        ("tetrachoric", {"data": YES, "of": None}, "of=None"),
        ("reliability.alpha_of_matrix", {"matrix": np.eye(3), "n": "3"}, "n='3'"),
        (
            "reliability.assumed_variance",
            {"first": 0.5, "second": 0.5, "correlation": 10**400},
            "correlation=1000",
        ),
        ("reliability.grim", {"rate": [50.0], "n": 3, "scale": "x"}, "scale='x'"),
        (
            "reliability.retest",
            {"scores": np.array([[[0, 10**400]], [[0, 1]]], dtype=object)},
            "is not a number up to",
        ),
        ("calibration.gaussian_meta_information", {"d_prime": [1, 2], "prior": [1, 1, 1]},
         r"d_prime \(2,\), prior \(3,\)"),
        ("calibration_panel", {"confidence": SURE, "correctness": YES, "metrics": [np.ones(2)]},
         "metrics names array"),
        ("data.simulate_meta_d",
         {"d_prime": [1], "m_ratio": 1.0, "n_questions": 9, "distances": [np.inf]}, "distances"),
        ("simulate_factor",
         {"loadings": [0.5], "thresholds": [0.0], "n_questions": 9, "missing": "x"}, "missing="),
        ("estimates.max_t", {"value": [0, 3], "draws": SURE[:, :2], "df": 5e-324}, "df=0.0"),
        ("estimates.wilson", {"successes": [1, 2], "n": 9, "df": [1, 2, 3]}, r"df \(3,\)"),
        ("factor_analysis", {"correlation": CORRELATED, "n_factors": 1, "n": 10**400}, "n=1000"),
        ("factor_analysis", {"correlation": CORRELATED, "n_factors": 1, "n": ""}, "n=''"),
        ("factor_analysis", {"correlation": CORRELATED, "n_factors": 1, "n": 10**12}, "most 1e9"),
        ("reliability.cohen_kappa", {"first": [[1, {}]], "second": [[1, 2]]}, "question 1, run 1"),
        ("reliability.krippendorff_alpha", {"ratings": YES, "metric": np.arange(2)}, "metric="),
        ("irt.known_items", {"slope": [1, 1], "intercept": [0, 0], "labels": [np.ones(2)] * 2},
         "labels must be hashable"),
        ("item_bank", {"responses": YES * np.nan}, "responses holds no answer"),
        ("item_bank", {"responses": iter(YES)}, "responses is a"),
        ("reliability.cohen_kappa", {"first": YES[0], "second": iter(YES[1])}, "second is a"),
        ("reliability.grim", {"rate": [1e308], "n": 3}, r"rate\[0\]"),
        ("reliability.grim", {"rate": [10**400], "n": 3}, "rate holds 1000"),
        ("reliability.grim", {"rate": [2.0**50], "n": 2**50}, "rate holds"),
        ("reliability.grim", {"rate": [0.5], "n": 1e308}, "n=1e"),
        ("reliability.retest", {"scores": iter(YES)}, "scores is a"),
        ("reliability.guttman_of_matrix",
         {"matrix": np.eye(40) + 0.5, "max_splits": 2**40}, "max_splits=1099511627776"),
        ("studies.skin_contrast",
         {"answers": TOLD, "kind": ["C"], "first": "x", "second": "y"}, r"kind=\['C'\]"),
        ("steering.difference_of_means", {"states": np.ones((6, 0))}, "states is empty"),
        ("studies.early_exit", dict.fromkeys(("confidence", "correct"), YES) | {"tokens": YES * 0},
         "tokens are all zero"),
    ],
)  # fmt: skip
def test_hostile_arguments_are_one_clear_error(name: str, given: dict[str, Any], words: str):
    try:
        function = public_functions()[name]
    except KeyError:
        function = public_functions()[name.rpartition(".")[2]]
    with pytest.raises(InputError, match=words):
        function(**given)


def test_a_bank_in_which_nothing_varies_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="vary|varies|differ"):
        psy.item_bank(np.ones((12, 40), dtype=int), rng=0)


def test_whole_floats_are_counts() -> None:
    assert len(psy.parallel_analysis(YES, n_null=5.0, rng=0).draws) == 5
    assert psy.irt.fit_factors(YES, 1.0).loadings.shape == (40, 1)
    assert psy.calibration.rate_confidence(SURE, n_ratings=3.0).n_ratings == 3
    for bootstrap in (20.0, psy.Bootstrap(20.0)):
        assert psy.calibration.brier(SURE, YES, bootstrap=bootstrap, rng=0).draws.shape == (20, 4)
        assert repr(psy.reliability.generalizability(YES, bootstrap=bootstrap, rng=0))


def test_numbers_with_digits_lost_are_zero() -> None:
    assert float_array([5e-324, 1e-300], "x").tolist() == [0.0, 1e-300]
    assert np.isnan(psy.estimates.wilson(0, 5e-324)).all()
    assert np.isnan(psy.irt.known_items([1e-160], [0.5]).difficulty).all()
    assert np.isnan(psy.reliability.alpha_of_matrix(np.full((3, 3), 1e-160), n=50).se).all()
    with np.errstate(all="raise"):
        found = psy.calibration_panel(SURE[0], YES[0] * 5e-324, bootstrap=20, rng=0)
    assert np.isnan(found.estimates["auroc"].value).all()


def test_answers_without_a_value_warn_in_no_words_of_numpy() -> None:
    fit = psy.irt.fit_multidimensional(YES, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = psy.irt.multidimensional_ability(fit, YES * np.nan)
    assert np.isnan(found.reliability).all()


def test_splits_in_parts_are_those_of_all_at_once(monkeypatch) -> None:
    matrix = np.cov(RNG.normal(size=(50, 9)).T) + 0.3
    whole = split_half._all_splits(matrix)
    monkeypatch.setattr(split_half, "_AT_ONCE", 7)
    parts = split_half._all_splits(matrix)
    np.testing.assert_allclose(parts.coefficients, whole.coefficients, atol=1e-13)
    assert parts.highest.tolist() == whole.highest.tolist()
    assert parts.lowest.tolist() == whole.lowest.tolist()


def test_numbers_that_cannot_be_squared_are_named() -> None:
    with pytest.raises(InputError, match=r"x\[1\] is -1e\+31, too large"):
        float_array([0.0, -1e31], "x")
    assert np.isposinf(float_array([np.inf, np.nan], "x")[0])
    assert np.isposinf(float_array(np.array([np.longdouble("1e400")]), "x")[0])
    with pytest.raises(InputError, match="x has rows of different lengths"):
        n_dimensions([[1], [1, 2]], "x")
    assert check_number("x", np.float32(2)) == 2.0
    for wrong in ("1", None, np.nan, np.inf, 10**400):
        with pytest.raises(InputError, match="x="):
            check_number("x", wrong)


def test_halves_of_letters_and_huge_labels_are_shown() -> None:
    found = confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision
    for label in (HALF, 10**400):
        named = type(found)(**{
            name: (label,) if name == "labels" else getattr(found, name)
            for name in found.__dataclass_fields__
        })  # fmt: skip
        assert named.to_frame()["model"].tolist() == [label]
        assert named.to_markdown()
        assert repr(named)


def test_groups_without_an_estimate_have_none_without_a_warning() -> None:
    sure = SURE.copy()
    sure[0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = psy.calibration_by(
            sure, YES, ["x", "y"] * 20, metrics=["brier"], bootstrap=20, rng=0
        )
    assert np.isnan(found.differences.se[0])


def test_what_is_too_small_for_a_float_is_zero_whatever_numpy_is_told() -> None:
    tiny = SURE.copy()
    tiny[0, 0] = 5e-324
    with np.errstate(all="raise"):
        found = psy.calibration.brier(tiny, YES, bootstrap=20, rng=0)
        assert found.to_markdown()
        assert psy.calibration_by(tiny, YES, ["x", "y"] * 20, bootstrap=20, rng=0).summary()
        with pytest.raises(FloatingPointError):
            np.square(np.array([1e-300]))
    assert np.isfinite(found.value).all()


def test_entries_are_the_functions_of_their_modules() -> None:
    for function in (psy.compare, psy.calibration.brier, psy.load, psy.read_responses):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 - ours
    assert psy.data.read_responses is psy.read_responses


def test_a_warning_points_at_the_caller() -> None:
    rows = (RNG.random((80, 6)) < 0.5).astype(int)
    with pytest.warns(PsychollmWarning, match="the 80 rows are correlated") as noted:
        psy.tetrachoric(pd.DataFrame(rows))
    assert noted[0].filename == __file__
    with pytest.warns(PsychollmWarning) as noted:
        warn("here", PsychollmWarning)
    assert noted[0].filename == __file__
