"""Matching of steered answers to targets: golden values, slow twins, properties, bad input."""

import doctest
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.studies import SteeredAnswers, SteeringMatch, steering_match
from psychollm.studies.steering_match.best_strengths import r_squared
from psychollm.studies.steering_match.grid import (
    count,
    criterion_curve,
    grid_of,
    log_likelihoods,
    peak,
    profiles_of,
)
from psychollm.studies.steering_match.reconstruction import held_out_answers, random_halves
from psychollm.studies.steering_match.result import finding
from tests.effort import examples
from tests.oracles import steering_match_slow as slow

FEW: dict[str, Any] = {"n_null": 39, "bootstrap": 60, "rng": 0, "steps": 2}
STRENGTHS = np.linspace(-1.0, 1.0, 11)


def simulated(
    known: float, *, gained: float = 0.0, questions: int = 150, targets: int = 7, seed: int = 0
) -> tuple[SteeredAnswers, psy.Responses]:
    """Simulate a sweep that knows the shared score in part, and targets with one factor."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=questions)
    tau = np.linspace(-1.2, 1.2, targets)
    noise = rng.normal(size=(targets, questions))
    answers = (0.8 * score + 0.6 * noise > tau[:, None]).astype(int)
    base = known * score + np.sqrt(1 - known**2) * rng.normal(size=questions)
    gain = 4.0 + rng.normal(size=questions)
    odds = 2.0 * base + STRENGTHS[:, None] * gain + gained * np.abs(STRENGTHS)[:, None] * score
    labels = [f"q{i}" for i in range(questions)]
    steered = SteeredAnswers.from_array(
        odds, strengths=STRENGTHS, scale="log_odds", questions=labels
    )
    models = [f"m{i}" for i in range(targets)]
    return steered, psy.Responses.from_array(answers, models=models, questions=labels)


@pytest.fixture(scope="module")
def study() -> SteeringMatch:
    steered, targets = simulated(0.8)
    control, _ = simulated(0.0, seed=9)
    return steering_match(steered, targets, controls={"random 1": control}, **FEW)


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
    return psy.Responses.from_array(values, models=targets.models, questions=targets.questions)


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


@examples(60)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(-6, 6))
def test_plateaus_match_loops(heights: list[int], start: int) -> None:
    strengths = start + np.arange(len(heights), dtype=float)
    curve = np.array([heights], dtype=float)
    found = peak(curve, strengths)
    middle, low, high = slow.middle(heights, strengths.tolist())
    assert (found.strength[0], *found.plateau[0]) == pytest.approx((middle, low, high))
    assert found.at_edge[0] == (low == strengths[0] or high == strengths[-1])
    nearest = peak(curve, strengths, ties="nearest_zero")
    assert nearest.strength[0] == slow.nearest_zero(heights, strengths.tolist())
    assert nearest.plateau[0, 0] <= nearest.strength[0] <= nearest.plateau[0, 1]


def test_held_out_matches_loops() -> None:
    steered, targets = simulated(0.6, questions=31, targets=3)
    halves = random_halves(31, 3, np.random.default_rng(0))
    grid = grid_of(steered, steps=1)
    answers = held_out_answers(grid, profiles_of(targets), halves, ties="middle")
    table = [[int(x) for x in row] for row in steered.yes]
    for found, measure in zip(answers, (slow.agreement, slow.kappa), strict=True):
        for row in range(3):
            expected = slow.held_out_hits(
                lists(targets, row), table, STRENGTHS.tolist(), halves.tolist(), measure
            )
            assert found.hits[row] == pytest.approx(expected)
        assert found.scored == pytest.approx(1.0)


def test_interpolation_is_linear_and_keeps_the_table() -> None:
    steered, _ = simulated(0.6)
    fine = grid_of(steered, steps=4)
    assert fine.strengths.size == 41
    assert fine.log_odds is not None
    assert fine.log_odds[::4] == pytest.approx(steered.log_odds)
    assert fine.log_odds[2] == pytest.approx(steered.log_odds[:2].mean(axis=0))


def test_nothing_is_interpolated_over_a_collapsed_strength() -> None:
    steered, _ = simulated(0.6)
    mass = np.ones(11)
    mass[3], mass[10] = 0.1, np.nan
    table = SteeredAnswers.from_array(
        steered.log_odds, strengths=STRENGTHS, scale="log_odds", mass=mass
    )
    assert np.flatnonzero(table.collapsed).tolist() == [3, 10]
    strengths = grid_of(table, steps=2).strengths
    inside = (strengths > STRENGTHS[2] + 1e-9) & (strengths < STRENGTHS[4] - 1e-9)
    assert not inside.any()
    assert strengths.max() == pytest.approx(STRENGTHS[9])


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


def test_probabilities_and_log_odds_are_one_table() -> None:
    steered, _ = simulated(0.6)
    shares = 1.0 / (1.0 + np.exp(-np.array(steered.log_odds)))
    table = SteeredAnswers.from_array(shares, strengths=STRENGTHS, scale="probability")
    assert table.log_odds == pytest.approx(steered.log_odds)
    assert table.yes == pytest.approx(steered.yes)


def test_workers_do_not_change_the_result(study: SteeringMatch) -> None:
    again = steering_match(
        study.steered, study.targets, **FEW | {"bootstrap": Bootstrap(60, n_jobs=2)}
    )
    assert np.array_equal(again.null.draws, study.null.draws)
    assert np.array_equal(again.best.strength.draws, study.best.strength.draws)


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_r_squared_is_that_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 6))
    assert r_squared(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert r_squared(x, y) == pytest.approx(slow.r_squared(x.tolist(), y.tolist()))
    gap = np.where(np.arange(6) == 2, np.nan, x)
    kept = np.arange(6) != 2
    assert r_squared(gap, y) == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1] ** 2)


def test_weights_are_repeats() -> None:
    steered, targets = simulated(0.6, questions=30)
    grid, profiles = grid_of(steered, steps=1), profiles_of(targets)
    weights = np.where(np.arange(30) < 10, 3.0, 1.0)
    drawn = np.repeat(np.arange(30), weights.astype(int))
    repeated = psy.Responses.from_array(targets.codes[:, drawn])
    for criterion in ("agreement", "kappa"):
        found = criterion_curve(grid, profiles, criterion, weights=weights)
        expected = criterion_curve(grid.permuted(drawn), profiles_of(repeated), criterion)
        assert found == pytest.approx(expected, nan_ok=True)


# What it shows. All seeds are fixed.


def test_r_squared_is_high_without_any_link() -> None:
    steered, targets = simulated(0.0)
    found = steering_match(steered, targets, **FEW)
    assert found.headlines["r_squared"] > 0.7
    assert found.p_values["held_out_kappa"] > 0.05
    assert finding(found) == "none"
    assert found.verdict().startswith(("Too few questions to say", "Steering reproduces which"))


def test_an_order_that_was_there_before_is_told(study: SteeringMatch) -> None:
    assert finding(study) == "order"
    assert "unsteered model" in study.verdict()
    assert study.p_values["held_out_kappa"] == 1 / 40
    assert study.controls[1].ahead.value > 0
    assert study.held_out_for_kappa.kappa.value.mean() > 0.2


def test_a_direction_that_reorders_is_told() -> None:
    steered, targets = simulated(0.3, gained=8.0, questions=400)
    control, _ = simulated(0.3, questions=400, seed=4)
    found = steering_match(steered, targets, controls={"random": control}, **FEW)
    assert finding(found) == "direction"
    assert "better than" in found.verdict()
    alone = steering_match(steered, targets, **FEW)
    assert "no random direction was given" in alone.verdict()
    rival = steering_match(steered, targets, controls={"itself": steered}, **FEW)
    assert finding(rival) == "control"
    assert "'itself'" in rival.verdict()


def test_answers_alone_are_enough() -> None:
    steered, targets = simulated(0.8)
    table = SteeredAnswers.from_array(
        steered.yes, strengths=STRENGTHS, scale="answers", questions=targets.questions
    )
    found = steering_match(table, targets, **FEW)
    assert sorted(found.matches) == ["agreement", "kappa"]
    assert found.controls == ()
    assert "no log odds to compare with" in found.verdict()
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
    found = steering_match(
        steered, psy.Responses.from_array(codes, questions=targets.questions), **FEW
    )
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


def test_a_sweep_of_the_steering_room_is_taken_as_it_is() -> None:
    from psychollm.steering.dose_response import DoseResponse

    steered, targets = simulated(0.8)
    odds = np.array(steered.log_odds)
    total = np.where(np.abs(STRENGTHS) > 0.9, 0.01, 0.9)[:, None]
    share = 1.0 / (1.0 + np.exp(-odds))
    base = 1.0 / (1.0 + np.exp(-np.array(steered.unsteered)))
    sweep = DoseResponse(
        strengths=STRENGTHS,
        doses=STRENGTHS,
        log_yes=np.log(total * share),
        log_no=np.log(total * (1 - share)),
        base_yes=np.log(0.9 * base),
        base_no=np.log(0.9 * (1 - base)),
        labels=targets.questions,
        layer=3,
    )
    table = SteeredAnswers.from_sweep(sweep)
    assert table.collapsed.tolist() == sweep.collapsed.tolist()
    found = steering_match(sweep, targets, controls={"same": sweep}, **FEW)
    assert "2 collapsed" in found.summary()
    assert found.controls[1].ahead.value == 0.0


# Output.


def test_frames_hold_every_target(study: SteeringMatch) -> None:
    frame = study.to_frame()
    assert frame["target"].tolist() == list(study.targets.models)
    assert (frame["lower"] <= frame["upper"]).all()
    assert (frame["plateau_lower"] <= frame["strength"]).all()
    assert np.isfinite(frame.select_dtypes("number").to_numpy()).all()
    table = study.controls_frame()
    assert table["name"].tolist() == [
        "direction",
        "cut-off on unsteered log odds",
        "random 1",
        "questions exchanged",
    ]
    curve = study.curve("m2")
    assert curve["agreement"].max() == pytest.approx(study.best.agreement[2])
    json.dumps(study.to_dict())


def test_words(study: SteeringMatch) -> None:
    text = study.summary()
    for part in ("R2", "Kappa", "constant answer", "Controls:", "11 of 11 strengths used"):
        assert part in text
    assert "SteeringMatch of 7 targets" in repr(study)
    assert "log odds at 11 strengths" in repr(study.steered)


def test_intervals_hold_the_values(study: SteeringMatch) -> None:
    best = study.best
    low, high = best.r_squared_interval
    assert low < best.line.r_squared < high
    assert 0 <= best.r_squared_questions[0] <= best.r_squared_questions[1] <= 1
    for part in (study.held_out, study.from_threshold, study.constant):
        bounds = part.agreement.interval
        assert (bounds[:, 0] <= part.agreement.value).all()
        assert (bounds[:, 1] >= part.agreement.value).all()


@pytest.mark.parametrize("page", ["steering_match.md", "difficulty.md"])
def test_pages_run(page: str) -> None:
    path = Path(__file__).resolve().parents[2] / "docs" / page
    failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert tried > 5
    assert failed == 0


# Bad input.


def table(**options: Any) -> SteeredAnswers:
    given_as: dict[str, Any] = {
        "values": np.zeros((3, 4)),
        "strengths": [-1, 0, 1],
        "scale": "answers",
    }
    given_as |= options
    return SteeredAnswers.from_array(given_as.pop("values"), **given_as)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"values": np.zeros(3)}, ShapeError, "table"),
        ({"values": [["a", "b"]] * 3}, CodeError, "numbers"),
        ({"values": np.full((3, 4), 2)}, CodeError, "strength -1, question 0: 2.0"),
        ({"values": np.full((3, 4), 2), "scale": "probability"}, CodeError, "scale 'probability'"),
        ({"values": np.full((3, 4), np.inf), "scale": "log_odds"}, CodeError, "inf"),
        ({"scale": "odds"}, OptionError, "scale='odds'"),
        ({"strengths": [0, 1]}, ShapeError, "one number per row"),
        ({"strengths": [0, 1, np.nan]}, OptionError, "finite"),
        ({"strengths": [0, 1, 1]}, LabelError, "unique"),
        ({"mass": [1.0, 1.0]}, ShapeError, "mass"),
        ({"mass": [0.01, 1.0, 0.01]}, InputError, "collapsed"),
        ({"mass": [np.nan] * 3}, InputError, "collapsed"),
        ({"values": np.full((3, 4), np.nan)}, InputError, "fewer than two"),
        ({"questions": ["a"]}, ShapeError, "questions holds 1"),
        ({"unsteered": [1.0], "scale": "log_odds"}, ShapeError, "unsteered"),
    ],
)
def test_bad_tables(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        table(**options)


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
    with pytest.raises(InputError, match="no sweep"):
        steering_match(np.zeros((3, 150)), study.targets)
    with pytest.raises(LabelError, match="m9"):
        study.profile("m9")
