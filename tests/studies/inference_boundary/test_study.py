"""The study of the inference boundary: every reference value, contrasts, pairs, bad input."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.ratings import Ratings
from psychollm.studies.inference_boundary.profile import failing_responses
from psychollm.studies.inference_boundary.study import (
    InferenceBoundary,
    inference_boundary,
)

CASES = ["vornish_a", "vornish_b"]
QUICK = {"bootstrap": 40, "rng": 0}
KEYS = {
    "rate",
    "per_run",
    "wilson_pooled",
    "wilson_run1",
    "pairwise_agreement",
    "all_identical",
    "majority_rate",
    "fleiss_kappa_score",
    "kripp_nominal_response",
    "response_share",
    "kappa12",
}


def number(value: float | None) -> float:
    return math.nan if value is None else value


@pytest.fixture(scope="module", params=CASES)
def case(golden, request) -> tuple[pd.DataFrame, list[dict], InferenceBoundary]:
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{request.param}.csv")
    blocks = json.loads((folder / f"{request.param}.expected.json").read_text())["blocks"]
    study = inference_boundary(frame, commits=("B", "D"), thinking=[("m2", "m1")], **QUICK)
    return frame, blocks, study


@pytest.mark.parametrize("kind", ["A", "B", "C", "M"])
def test_reference_values_of_every_type(case, kind) -> None:
    _, blocks, study = case
    assert blocks[0]["tol"] == 1e-9
    profile = study.profiles[kind]
    for i, model in enumerate(profile.labels):
        wanted = blocks[0]["values"][model][kind]
        found = {
            "rate": profile.retest.rate.value[i],
            "per_run": profile.retest.rates[i],
            "wilson_pooled": profile.pooled_intervals[i],
            "wilson_run1": profile.retest.intervals[i, 0],
            "pairwise_agreement": profile.scores.pairwise.value[i],
            "all_identical": profile.scores.all_identical.value[i],
            "majority_rate": profile.retest.majority.value[i],
            "fleiss_kappa_score": profile.scores.fleiss_kappa.value[i],
            "kripp_nominal_response": profile.responses.krippendorff_alpha.value[i],
            "kappa12": profile.first_two.value[i],
        }
        assert set(wanted) == KEYS == {*found, "response_share"}
        for key, value in found.items():
            expected = wanted[key] if isinstance(wanted[key], list) else number(wanted[key])
            assert value == pytest.approx(expected, abs=1e-9, nan_ok=True), (model, key)
        shares = dict(zip(profile.shares.categories, profile.shares.value[i], strict=True))
        own = {name: share for name, share in shares.items() if share}
        assert own == pytest.approx(wanted["response_share"], abs=1e-9)


def test_reference_contrasts(case) -> None:
    _, blocks, study = case
    found = {
        "certainty_inversion_C_minus_A": study.certainty_inversion,
        "stage1_mean": study.stage_one,
        "refusal_rate_A": study.refusal_rate,
    }
    for model in study.labels:
        wanted = blocks[0]["values"][model][".derived"]
        assert set(wanted) == set(found)
        for key, estimate in found.items():
            place = estimate.labels.index(model)
            assert estimate.value[place] == pytest.approx(wanted[key], abs=1e-9), key


def test_what_r_makes_of_the_open_events(case) -> None:
    frame, blocks, study = case
    profile = study.profiles["C"]
    own = frame[(frame["type"] == "C") & frame["run"].isin([1, 2])]
    scores = Ratings.from_long(own, question="item", value="score")
    psych = cohen_kappa(scores, interval="asymptotic", **QUICK)
    for i, model in enumerate(profile.labels):
        wanted = blocks[1]["values"][model]
        rate = profile.retest.rates[i, 0]
        found = {
            "kappa12": profile.first_two.value[i],
            "kappa12_ci": psych.interval[i],
            "all_runs_identical": profile.responses.all_identical.value[i],
            "rate": profile.retest.rate.value[i],
            "wilson_items_run1": [rate, *profile.retest.intervals[i, 0]],
            "cp_items_run1": [rate, *profile.exact_intervals[i, 0]],
        }
        assert set(wanted) == set(found)
        for key, value in found.items():
            assert value == pytest.approx(wanted[key], abs=1e-6), (model, key)


def test_confabulation_is_the_gap_between_answers_and_undefined_words(case) -> None:
    frame, _, study = case
    rates = frame.pivot_table(index="model", columns="type", values="score")
    found = dict(zip(study.labels, study.confabulation.value, strict=True))
    assert found == pytest.approx((rates["A"] - rates["B"]).to_dict())
    assert "Invented meanings of words (A - B):" in study.summary()


def test_failures_are_shares_of_failures(case) -> None:
    frame, _, study = case
    failures = study.profiles["C"].failures
    assert failures.categories == ("B", "C", "D")
    assert failures.value.sum(axis=1) == pytest.approx(np.ones(9))
    own = frame[(frame["type"] == "C") & (frame["model"] == "m1") & (frame["score"] == 0)]
    assert failures.value[0, 0] == pytest.approx((own["response"] == "B").mean())


def test_hedging_is_refusal_minus_commitment(case) -> None:
    frame, _, study = case
    for i, model in enumerate(study.labels):
        own = frame[frame["model"] == model]
        refused = (own.loc[own["type"] == "A", "response"] == "refusal").mean()
        commits = own.loc[own["type"] == "C", "response"].isin(["B", "D"]).mean()
        assert study.refusal_minus_commitment.value[i] == pytest.approx(refused - commits)


def test_thinking_is_a_paired_difference(case) -> None:
    frame, _, study = case
    (found,) = study.thinking
    own = frame[frame["type"] == "C"].groupby("model")["score"].mean()
    assert found.difference.value == pytest.approx(own["m2"] - own["m1"])
    low, high = found.difference.interval
    assert low <= found.difference.value <= high
    assert found.detectable.power == pytest.approx(0.8, abs=1e-6)
    assert found.detectable.n_questions == 30
    assert found.needed is None or found.needed.power >= 0.8


def simulated(rates: dict[str, dict[str, float]], n: int = 40, runs: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for model, own in rates.items():
        for kind, rate in own.items():
            for item in range(n):
                passed = int(rng.random() < rate)
                said = "gap" if passed else ("unmonitored" if kind == "C" else "refusal")
                rows += [(model, kind, f"{kind}{item}", run, said, passed) for run in range(runs)]
    return pd.DataFrame(rows, columns=["model", "type", "item", "run", "response", "score"])


def test_inversions_are_found_and_named() -> None:
    frame = simulated({"sound": {"A": 0.95, "C": 0.6}, "crossed": {"A": 0.5, "C": 0.95}})
    study = inference_boundary(frame, thinking=[("sound", "crossed")], **QUICK)
    assert study.inverted == ("crossed",)
    assert study.thinking[0].inverted
    assert study.stage_one is None
    text = study.summary()
    assert "1 of 2 models (crossed) has a higher pass rate on questions that no rule" in text
    assert "sound minus crossed: difference -" in text
    calm = inference_boundary(frame[frame["model"] == "sound"], **QUICK)
    assert calm.summary().startswith("The model has a lower pass rate on questions that no")


def test_order_of_rows_changes_no_number() -> None:
    frame = simulated({"a": {"A": 0.8, "C": 0.5}, "b": {"A": 0.6, "C": 0.7}})
    mixed = frame.sample(frac=1.0, random_state=1)
    first, second = inference_boundary(frame, **QUICK), inference_boundary(mixed, **QUICK)
    for model in first.labels:
        one, two = (study.certainty_inversion for study in (first, second))
        i, j = one.place(model), two.place(model)
        assert one.value[i] == pytest.approx(two.value[j])
        assert one.interval[i] == pytest.approx(two.interval[j])


def test_missing_answers_and_one_run() -> None:
    frame = simulated({"a": {"A": 0.8, "C": 0.5}}, runs=1)
    frame.loc[3, "score"] = np.nan
    frame.loc[3, "response"] = None
    study = inference_boundary(frame, **QUICK)
    assert study.profiles["A"].first_two is None
    assert study.profiles["A"].retest.n.tolist() == [[39.0]]
    assert study.refusal_rate.n[0] == 39
    assert len(study.to_frame()) == 2


def test_a_model_that_never_fails() -> None:
    frame = simulated({"a": {"A": 1.0, "C": 1.0}})
    study = inference_boundary(frame, **QUICK)
    assert study.profiles["C"].failures is None
    assert study.refusal_minus_commitment is None
    assert failing_responses(frame) == []
    assert study.inverted == ()


def test_bad_input() -> None:
    frame = simulated({"a": {"A": 1.0, "C": 1.0}})
    with pytest.raises(LabelError, match="no column 'score'"):
        inference_boundary(frame.drop(columns="score"))
    with pytest.raises(LabelError, match="answers has no row of type 'X'"):
        inference_boundary(frame, interaction="X")
    with pytest.raises(LabelError, match="'b' is not a model"):
        inference_boundary(frame, thinking=[("b", "a")], **QUICK)
    frame.loc[0, "item"] = "C0"
    with pytest.raises(LabelError, match="item 'C0' has several types"):
        inference_boundary(frame)


def test_thinking_that_too_few_questions_could_be_read_of_is_no_error() -> None:
    frame = simulated({name: {"A": 0.5, "C": 0.5} for name in ("slow", "fast")})
    frame.loc[(frame["type"] == "C") & (frame["item"] != "C0"), "score"] = np.nan
    study = inference_boundary(frame, thinking=[("slow", "fast")], bootstrap=20, rng=0)
    (found,) = study.thinking
    assert found.detectable is None
    assert np.isnan(found.smallest_shown)
    assert "too few questions to detect any difference" in " ".join(study.summary().split())


def test_rates_that_are_equal_are_given_once() -> None:
    frame = simulated({"a": {"A": 1.0, "C": 0.5}, "b": {"A": 1.0, "C": 0.9}})
    rows = inference_boundary(frame, **QUICK).summary()
    assert "type A: 100.0 % of answers pass (both models); 2 runs" in rows
    assert " (a) to " in rows
    one = inference_boundary(frame[frame["model"] == "a"], **QUICK).summary()
    assert "type A: 100.0 % of answers pass; 2 runs" in one
