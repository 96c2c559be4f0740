"""Contrasts of rates on types of questions: references, Newcombe, resamples, bad input."""

import json

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings

QUICK = {"bootstrap": 20, "rng": 0}


def reference(golden, case: str) -> tuple[pd.DataFrame, list[dict]]:
    folder = golden / "metacognition"
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    return pd.read_csv(folder / f"{case}.csv"), [block["values"] for block in blocks]


@pytest.mark.parametrize("case", ["vornish_a", "vornish_b"])
def test_reference_contrasts(golden, case: str) -> None:
    frame, (values, _) = reference(golden, case)
    frame["refused"] = (frame["response"] == "refusal").astype(int)
    kinds = frame.drop_duplicates("item").set_index("item")["type"]
    scores = Ratings.from_long(frame, question="item", value="score")
    refusals = Ratings.from_long(frame, question="item", value="refused")
    found = {
        "certainty_inversion_C_minus_A": rate_contrast(scores, kinds, {"C": 1, "A": -1}, **QUICK),
        "stage1_mean": rate_contrast(scores, kinds, {"A": 0.5, "B": 0.5}, **QUICK),
        "refusal_rate_A": rate_contrast(refusals, kinds, {"A": 1}, **QUICK),
    }
    for key, estimate in found.items():
        wanted = [values[model][".derived"][key] for model in estimate.labels]
        assert estimate.value == pytest.approx(wanted, abs=1e-9), key
        low, high = estimate.interval.T
        assert (low <= estimate.value).all()
        assert (estimate.value <= high).all()


def simulated(n: int, seed: int, models: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.6, 0.4, size=(models, n))
    return (rng.uniform(size=(3, models, n)) < rate).astype(float)


def test_a_contrast_of_two_sets_of_single_answers_is_newcombes() -> None:
    # Newcombe (1998), method 10, example (a): 56/70 and 48/80 give 0.0524 to 0.3339
    scores = np.r_[np.ones(56), np.zeros(14), np.ones(48), np.zeros(32)]
    kinds = ["a"] * 70 + ["b"] * 80
    found = rate_contrast(scores[:, None], kinds, {"a": 1, "b": -1}, **QUICK)
    assert found.interval[0].round(4).tolist() == [0.0524, 0.3339]
    assert found.se[0] == pytest.approx(np.sqrt(0.16 / 69 + 0.24 / 79))


def test_resamples_keep_the_number_of_questions_of_each_type() -> None:
    runs = simulated(12, 6)
    kinds = ["A"] * 10 + ["B"] * 2
    found = rate_contrast(runs, kinds, {"A": 1, "B": -1}, bootstrap=400, rng=0)
    # Two questions of one type: without strata one resample in nine would hold none of them.
    assert np.isfinite(found.draws).all()
    assert found.draws.mean(axis=0) == pytest.approx(found.value, abs=0.1)


def test_differences_between_models_are_paired() -> None:
    runs = simulated(60, 7)
    runs[:, 1] = runs[:, 0]
    found = rate_contrast(runs, ["A", "B"] * 30, {"A": 1, "B": -1}, **QUICK)
    gap = found.difference(0, 1)
    assert (gap.value, gap.se) == (0.0, 0.0)


def test_clusters_over_both_types_are_paired() -> None:
    rng = np.random.default_rng(8)
    passage = rng.beta(0.3, 0.3, size=80)
    runs = (rng.uniform(size=(1, 1, 160)) < np.repeat(passage, 2)).astype(float)
    kinds, clusters = ["A", "B"] * 80, np.repeat(np.arange(80), 2)
    options = {"bootstrap": 400, "rng": 0}
    apart = rate_contrast(runs, kinds, {"A": 1, "B": -1}, **options)
    paired = rate_contrast(runs, kinds, {"A": 1, "B": -1}, clusters=clusters, **options)
    assert "two added clusters" in paired.method
    assert paired.se[0] < 0.8 * apart.se[0]
    within = rate_contrast(
        runs,
        kinds,
        {"A": 1, "B": -1},
        clusters=np.arange(160) // 4 * 2 + np.arange(160) % 2,
        **options,
    )
    assert "clusters of questions" in within.method
    assert "MOVER" in within.method


@pytest.mark.parametrize(
    ("kinds", "clusters", "reason"),
    [
        (list("AAAB"), None, Reason.ONE_QUESTION),
        (list("AABB"), [1, 1, 2, 3], Reason.ONE_CLUSTER),
        (list("AABB"), [1, 1, 1, 1], Reason.ONE_CLUSTER),
    ],
)
def test_no_interval(kinds, clusters, reason) -> None:
    runs = [[[1, 0, 1, 1]], [[1, 0, 0, 1]]]
    found = rate_contrast(runs, kinds, {"A": 1, "B": -1}, clusters=clusters, **QUICK)
    assert found.flags == (reason,)
    assert np.isfinite(found.value).all()
    assert np.isnan(found.interval).all()
    assert np.isnan(found.se).all()


def test_a_type_without_answers() -> None:
    runs = np.array([[[1, 0, np.nan, np.nan], [1, 1, 0, 1]]])
    found = rate_contrast(runs, list("AABB"), {"A": 1, "B": -1}, **QUICK)
    assert found.flags == (Reason.NO_RATINGS, Reason.NONE)
    assert np.isnan(found.value[0])
    assert np.isnan(found.interval[0]).all()


@pytest.mark.parametrize(
    ("kinds", "weights", "error", "message"),
    [
        (list("AAB"), {"A": 1}, ShapeError, "kinds holds 3 labels for 4 questions"),
        (list("AABB"), {"D": 1}, LabelError, "no question is of the type 'D'"),
        (list("AABB"), {}, OptionError, "one finite number per type"),
        (list("AABB"), {"A": np.inf}, OptionError, "one finite number per type"),
    ],
)
def test_bad_contrasts(kinds, weights, error, message) -> None:
    with pytest.raises(error, match=message):
        rate_contrast([[[1, 0, 1, 1]]], kinds, weights, **QUICK)


def test_names() -> None:
    runs = [[[1, 0, 1, 1]]]
    kinds = list("AABB")
    assert rate_contrast(runs, kinds, {"A": -1, "B": 1}, **QUICK).name == "- A + B"
    assert rate_contrast(runs, kinds, {"A": 0.5, "B": 0.5}, **QUICK).name == "0.5 A + 0.5 B"


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_pairs_that_all_agree_leave_an_interval(score: float) -> None:
    rng = np.random.default_rng(0)
    same = np.full(20, score) if score else (rng.random(20) < 0.6) * 1.0
    pairs = np.tile(same, 2)[None]
    found = rate_contrast(
        [pairs], ["A"] * 20 + ["B"] * 20, {"A": 1, "B": -1}, clusters=[*range(20)] * 2, **QUICK
    )
    low, high = found.interval[0]
    assert -0.2 < low < -0.1
    assert found.value[0] == 0.0
    assert high == pytest.approx(-low)


def test_rare_disagreement_of_pairs_is_covered() -> None:
    rng = np.random.default_rng(0)
    first = rng.random((200, 20)) < 0.7
    second = np.where(rng.random((200, 20)) < 0.05, rng.random((200, 20)) < 0.8, first)
    runs = np.concatenate([first, second], axis=1)[None] * 1.0
    found = rate_contrast(
        runs, ["A"] * 20 + ["B"] * 20, {"A": 1, "B": -1}, clusters=[*range(20)] * 2, **QUICK
    )
    truth = 0.05 * (0.7 - 0.8)
    low, high = found.interval.T
    assert ((low <= truth) & (truth <= high)).mean() > 0.93  # .25 by percentiles of resamples
    assert (low >= -1.0).all()
    assert (high <= 1.0).all()


@pytest.mark.parametrize("weight", [5e-324, 1e308])
def test_weights_that_no_product_can_hold(weight: float) -> None:
    with pytest.raises(OptionError, match="one finite number per type"):
        rate_contrast(np.eye(4), list("aabb"), {"a": weight, "b": 1.0}, **QUICK)
