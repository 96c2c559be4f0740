"""Matching of steered answers to targets: golden values, slow twins, properties, bad input."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.studies import SteeredAnswers, SteeringMatch, steering_match
from psychollm.studies.steering_match.grid import (
    count,
    grid_of,
    log_likelihoods,
    profiles_of,
)
from tests.oracles import steering_match_slow as slow
from tests.studies.steering_match.conftest import FEW, STRENGTHS, simulated

# Golden values.


@pytest.fixture(scope="module", params=["steering_a", "steering_b"])
def case(request: pytest.FixtureRequest, golden: Path) -> dict[str, Any]:
    folder = golden / "metacognition"
    letter = request.param[-1]
    values = json.loads((folder / f"{request.param}.expected.json").read_text())
    block = values["blocks"][0]
    base = pd.read_csv(folder / f"steering_base_{letter}.csv")
    targets = pd.read_csv(folder / f"steering_targets_{letter}.csv").drop(columns="item").T
    low, high, step = block["values"]["alpha_grid"]
    strengths = low + step * np.arange(round((high - low) / step) + 1)
    odds = base["base_margin"].to_numpy() + strengths[:, None] * base["gain"].to_numpy()
    steered = SteeredAnswers.from_array(odds, strengths=strengths, scale="log_odds")
    return {
        "values": block["values"],
        "tol": block["tol"],
        "acts": pd.read_csv(folder / f"steering_acts_{letter}.csv"),
        "study": steering_match(
            steered,
            targets.to_numpy(),
            thresholds=block["values"]["tau_yes"],
            ties="nearest_zero",
            steps=1,
            n_null=19,
            bootstrap=20,
            rng=0,
        ),
        "plain": targets.to_numpy(),
    }


def test_golden_keys_are_all_tested(case: dict[str, Any]) -> None:
    assert set(case["values"]) == {
        *("alpha_grid", "tie_rule", "best_alpha", "agreement", "mean_agreement", "tau_yes"),
        *("slope", "intercept", "r2", "p", "mean_diff_vector", "mean_diff_norm"),
        *("projection_auc", "agreement_base_alpha0", "agreement_constant_baseline"),
    }


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("best_alpha", lambda s: s.best.strength.value),
        ("agreement", lambda s: s.best.agreement),
        ("agreement", lambda s: s.at_best.agreement.value),
        ("mean_agreement", lambda s: s.headlines["agreement"]),
        ("slope", lambda s: s.best.line.slope),
        ("intercept", lambda s: s.best.line.intercept),
        ("r2", lambda s: s.best.line.r_squared),
        ("r2", lambda s: s.headlines["r_squared"]),
        ("p", lambda s: s.best.line.p_value),
        ("tau_yes", lambda s: s.best.thresholds),
        ("agreement_base_alpha0", lambda s: s.unsteered.agreement.value),
        ("agreement_constant_baseline", lambda s: s.constant.agreement.value),
    ],
)
def test_golden(case: dict[str, Any], key: str, found: Any) -> None:
    assert found(case["study"]) == pytest.approx(case["values"][key], abs=case["tol"], rel=1e-9)


def test_golden_thresholds_of_yes_rates(case: dict[str, Any]) -> None:
    # Ours is the latent value above which a target says yes: theirs with the sign turned.
    own = steering_match(case["study"].steered, case["plain"], n_null=19, bootstrap=5, rng=0)
    assert own.best.thresholds == pytest.approx(
        -np.array(case["values"]["tau_yes"]), abs=case["tol"]
    )


def test_golden_direction(case: dict[str, Any]) -> None:
    from psychollm.steering.extract import difference_of_means

    yes = case["acts"]["yes"].to_numpy()
    hidden = case["acts"].drop(columns="yes").to_numpy()
    vector = difference_of_means(hidden[:, None, :], yes)
    # Vectors are held in single precision, lengths in double.
    length = vector.about["lengths"][0]
    assert length == pytest.approx(case["values"]["mean_diff_norm"], rel=1e-6)
    assert vector.vectors[0] * length == pytest.approx(
        case["values"]["mean_diff_vector"], rel=1e-5
    )


def test_golden_projection(case: dict[str, Any]) -> None:
    yes = case["acts"]["yes"].to_numpy()
    hidden = case["acts"].drop(columns="yes").to_numpy()
    along = hidden @ np.array(case["values"]["mean_diff_vector"])
    found = auroc(along[None], yes[None], bootstrap=0).value[0]
    assert found == pytest.approx(case["values"]["projection_auc"], abs=case["tol"])


# Slow twins.


def lists(targets: psy.Responses, row: int) -> list[int | None]:
    codes = zip(targets.codes[row].tolist(), targets.missing[row].tolist(), strict=True)
    return [None if missing else code for code, missing in codes]


def with_gaps(targets: psy.Responses, seed: int = 3) -> psy.Responses:
    values = targets.codes.astype(float)
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = np.nan
    return psy.Responses(values, models=targets.models, questions=targets.questions)


def test_counts_match_loops() -> None:
    steered, targets = simulated(0.6, questions=40)
    targets = with_gaps(targets)
    odds = np.array(steered.log_odds)
    odds[4, :5] = np.nan
    table = SteeredAnswers.from_array(
        odds, strengths=STRENGTHS, scale="log_odds", questions=targets.questions
    )
    counts = count(grid_of(table, steps=1), profiles_of(targets))
    for row in range(targets.n_models):
        target = lists(targets, row)
        for place in range(STRENGTHS.size):
            answers = [None if np.isnan(x) else int(x > 0) for x in odds[place]]
            assert counts.agreement[row, place] == pytest.approx(slow.agreement(target, answers))
            assert counts.kappa[row, place] == pytest.approx(
                slow.kappa(target, answers), nan_ok=True
            )


def test_likelihoods_match_loops() -> None:
    steered, targets = simulated(0.6, questions=40, targets=3)
    targets = with_gaps(targets)
    grid = grid_of(steered, steps=1)
    found = log_likelihoods(grid, profiles_of(targets)).sum(axis=2)
    for row in range(3):
        target = lists(targets, row)
        for place in (0, 4, 10):
            odds = steered.log_odds[place].tolist()
            slope = slow.best_slope(target, odds)
            assert found[row, place] == pytest.approx(
                slow.log_likelihood(target, odds, slope), abs=1e-6
            )


# Properties.


def test_questions_in_any_order(study: SteeringMatch) -> None:
    steered, targets = study.steered, study.targets
    order = np.random.default_rng(5).permutation(targets.n_questions)
    shuffled = steered.ordered(tuple(targets.questions[i] for i in order))
    again = steering_match(
        shuffled, targets, controls=None, n_null=39, bootstrap=60, rng=0, steps=2
    )
    assert again.best.strength.value == pytest.approx(study.best.strength.value)
    assert again.null.draws == pytest.approx(study.null.draws)


def test_turning_the_strengths_turns_the_line(study: SteeringMatch) -> None:
    steered, targets = study.steered, study.targets
    turned = SteeredAnswers.from_array(
        steered.log_odds,
        strengths=-steered.strengths,
        scale="log_odds",
        questions=targets.questions,
    )
    again = steering_match(turned, targets, **FEW)
    assert again.best.strength.value == pytest.approx(-study.best.strength.value)
    assert again.best.line.slope == pytest.approx(-study.best.line.slope)
    assert again.headlines["held_out_kappa"] == pytest.approx(
        study.headlines["held_out_kappa"], abs=0.01
    )  # where the middle lies between two strengths, the lower is taken


def test_workers_do_not_change_the_result(study: SteeringMatch) -> None:
    again = steering_match(
        study.steered, study.targets, **FEW | {"bootstrap": Bootstrap(60, n_jobs=2)}
    )
    assert np.array_equal(again.null.draws, study.null.draws)
    assert np.array_equal(again.best.strength.draws, study.best.strength.draws)


# What it shows. All seeds are fixed.


def test_answers_alone_are_enough() -> None:
    steered, targets = simulated(0.8)
    table = SteeredAnswers.from_array(
        steered.yes, strengths=STRENGTHS, scale="answers", questions=targets.questions
    )
    found = steering_match(table, targets, **FEW)
    assert sorted(found.matches) == ["agreement", "kappa"]
    assert found.controls == ()
    assert "no log odds were given" in found.verdict
    assert found.unsteered.agreement.value[0] == pytest.approx(
        (steered.yes[5] == targets.codes[0]).mean()
    )


def test_one_scalar_uses_nothing_else_of_a_target(study: SteeringMatch) -> None:
    best = study.best
    others = np.arange(best.thresholds.size) != 0
    slope, intercept = np.polyfit(best.thresholds[others], best.strength.value[others], 1)
    wanted = intercept + slope * best.thresholds[0]
    grid = grid_of(study.steered, steps=2)
    place = np.abs(grid.strengths - wanted).argmin()
    expected = (grid.yes[place] == study.targets.codes[0]).mean()
    assert study.from_threshold.agreement.value[0] == pytest.approx(expected)
    profile = study.profile("m0")
    assert (profile["target"] == profile["from threshold"]).mean() == pytest.approx(expected)


def test_a_target_that_always_says_yes() -> None:
    steered, targets = simulated(0.8)
    codes = np.concatenate([targets.codes, np.ones((1, 150))]).astype(float)
    codes = np.concatenate([codes, np.full((1, 150), np.nan)])
    codes[-1, :12] = 1.0
    codes[-1, 0] = 0.0
    found = steering_match(steered, psy.Responses(codes, questions=targets.questions), **FEW)
    assert found.best.strength.flags[7] is Reason.NO_NO
    assert np.isnan(found.held_out_for_kappa.kappa.value[7])
    assert np.isnan(found.best.thresholds[7])
    assert found.best.line.n == 8
    assert found.best.at_edge[7]
    assert np.isnan(found.from_threshold.agreement.value[7])
    assert found.lift.value[7] == pytest.approx(found.held_out.agreement.value[7] - 1.0)


def test_thresholds_may_be_given_in_many_ways(study: SteeringMatch) -> None:
    values = study.best.thresholds
    labels = study.targets.models
    named = dict(zip(reversed(labels), reversed(values.tolist()), strict=True))
    result = SimpleNamespace(labels=labels, thresholds=values)
    for given_as in (named, values.tolist(), result):
        again = steering_match(study.steered, study.targets, thresholds=given_as, **FEW)
        assert again.best.line.slope == pytest.approx(study.best.line.slope)
    with pytest.raises(LabelError, match="'m3'"):
        steering_match(study.steered, study.targets, thresholds={"m0": 0, "m1": 0, "m2": 0})
    with pytest.raises(ShapeError, match="one number per target"):
        steering_match(study.steered, study.targets, thresholds=[0.0])


# Bad input.


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"criterion": "likelihood"}, OptionError, "criterion"),
        ({"ties": "first"}, OptionError, "ties"),
        ({"n_null": 5}, OptionError, "n_null"),
        ({"bootstrap": 0}, OptionError, "bootstrap"),
        ({"steps": 0}, OptionError, "steps"),
        ({"level": 95}, OptionError, "level"),
        ({"controls": {"other": np.zeros(3)}}, InputError, "controls\\['other'\\]"),
    ],
)
def test_bad_options(
    study: SteeringMatch, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        steering_match(study.steered, study.targets, **options)


def test_bad_targets(study: SteeringMatch) -> None:
    with pytest.raises(LabelError, match="same questions"):
        steering_match(study.steered, np.zeros((3, 150), dtype=int))
    with pytest.raises(ShapeError, match="at least"):
        steering_match(study.steered, study.targets.select(models=["m0"]))
    with pytest.raises(CodeError, match="yes/no"):
        steering_match(study.steered, np.full((3, 150), 2))
    with pytest.raises(InputError, match="not a sweep"):
        steering_match(np.zeros((3, 150)), study.targets)
    with pytest.raises(LabelError, match="m9"):
        study.profile("m9")
