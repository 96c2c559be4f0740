"""Semantic calibration: golden values, the exchanged right answer, verdicts on simulated arms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.calibration.errors.binned import calibration_error
from psychollm.calibration.errors.smooth import SMOOTH_ECE, smooth_calibration_error
from psychollm.calibration.sampled.semantic_confidence import semantic_confidence
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments.semantic_sampling import SemanticSampling
from psychollm.studies.semantic_calibration.null import sample_null
from psychollm.studies.semantic_calibration.study import SemanticCalibration, semantic_calibration

CASES = ("semantic_a", "semantic_b")
FEW: dict[str, Any] = {"n_null": 99, "bootstrap": 100, "rng": 0}


def arms(*powers: float, questions: int = 200, samples: int = 10, seed: int = 0) -> SampledAnswers:
    """Simulate arms that share their knowledge: a power of one is calibrated."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(6, 0.3), questions)
    gold = (chances.cumsum(axis=1)[:, :-1] < rng.random((questions, 1))).sum(axis=1)
    classes = []
    for power in powers:
        sharp = chances**power
        sharp /= sharp.sum(axis=1, keepdims=True)
        draws = rng.random((questions, samples, 1))
        classes.append((sharp.cumsum(axis=1)[:, None, :-1] < draws).sum(axis=2))
    labels = [f"power {power:g}, {place}" for place, power in enumerate(powers)]
    return SampledAnswers.from_array(np.stack(classes), gold=gold.tolist(), models=labels)


# Golden values. Theirs takes the class that appears first where classes are tied.


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, golden: Path) -> dict[str, Any]:
    folder = golden / "metacognition"
    long = pd.read_csv(folder / f"{request.param}.csv")
    values = json.loads((folder / f"{request.param}.expected.json").read_text())
    return {
        "long": long,
        "values": values["blocks"][0]["values"],
        # pandas before 3.1 reads some numbers by a last bit off, and edges of bins are among them.
        "rows": pd.read_csv(
            folder / f"{request.param}_perquestion_expected.csv",
            converters=dict.fromkeys(("sem_conf", "sem2_conf_R10_seed0"), float),
        ),
    }


def test_golden_calibration_errors(case: dict[str, Any]) -> None:
    # Theirs are left-closed bins with the edges of np.linspace, rounded as by these products: 0.3
    # lies below 0.30000000000000004. The means of those bins, each a bin of its own, have the same
    # error.
    edges = [0.1 * k for k in range(11)]
    rows, values = case["rows"], case["values"]
    right = rows["modal_correct_first_tie"].to_numpy(dtype=float)
    for column, key in (("sem_conf", "sem1_ece_10"), ("sem2_conf_R10_seed0", "sem2_ece_10")):
        stated = rows[column]
        place = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, 9)
        means = stated.groupby(place).transform("mean").to_numpy().round(12)
        found = calibration_error(means, right, bins="discrete", n_null=19, bootstrap=20, rng=0)
        assert found.value.value[0] == pytest.approx(values[key], abs=1e-9)


def test_golden_smooth_error(case: dict[str, Any]) -> None:
    # relplot gives answers at exactly 0 or 1 half their weight, and sums over a mesh: 1e-3.
    rows = case["rows"]
    stated = rows["sem_conf"].to_numpy()
    found = smooth_calibration_error(
        stated,
        rows["modal_correct_first_tie"].to_numpy(dtype=float),
        weights=np.where((stated == 0) | (stated == 1), 0.5, 1.0),
        **FEW,
    )
    assert found.value.value[0] == pytest.approx(case["values"]["smece_sem_conf"], abs=1e-3)


def test_golden_ranking(case: dict[str, Any]) -> None:
    # Theirs takes entropies that differ by rounding for different: ranks of the table as it is.
    rows, values = case["rows"], case["values"]
    right = rows["modal_correct_first_tie"].to_numpy(dtype=float)
    for column, sign, key in (
        ("sem_conf", 1.0, "auroc_sem_conf"),
        ("discrete_se_nats", -1.0, "auroc_neg_discrete_se"),
        ("se_rao", -1.0, "auroc_neg_se_rao"),
    ):
        ranks = (sign * rows[column]).rank().to_numpy() / len(rows)
        found = auroc(ranks, right, bootstrap=50, rng=0)
        assert found.value[0] == pytest.approx(values[key], abs=1e-9)


def test_golden_means_through_the_instrument_and_the_study(case: dict[str, Any]) -> None:
    long, rows, values = case["long"], case["rows"], case["values"]
    gold = long.drop_duplicates("question")
    asked = SemanticSampling(
        [
            {"key": row.question, "text": row.question, "answer": row.gold}
            for row in gold.itertuples()
        ],
        n_samples=int(long["sample"].max()),
    )
    said = {(row.question, row.sample): row.cls for row in long.itertuples()}
    found = asked.score(
        [asked.read(one, said[one.item, one.repeat + 1]) for one in asked.prompts()]
    )
    study = semantic_calibration({"model": found}, **FEW)
    assert values["n_questions"] == study.n_questions == len(rows)
    assert study.mean_confidence.value[0] == pytest.approx(values["mean_sem_conf"], abs=1e-9)
    assert study.entropy.mean.value[0] == pytest.approx(values["mean_discrete_se"], abs=1e-9)
    expected = rows["modal_correct_expected"].mean()
    assert study.accuracy.value[0] == pytest.approx(expected, abs=1e-9)
    first = rows["modal_correct_first_tie"].mean()
    assert first == pytest.approx(values["accuracy_modal"], abs=1e-9)
    gap = values["mean_sem_conf"] - first
    assert gap == pytest.approx(values["overconfidence"], abs=1e-9)
    assert study.overconfidence.value[0] == pytest.approx(
        values["overconfidence"] + first - expected, abs=1e-9
    )
    ties = (study.confidence.n_tied > 1).sum()
    assert ties == values["n_questions_with_modal_ties"]
    # Their random halves are the same for all questions, whose errors therefore do not cancel.
    assert study.split_confidence is not None
    mean = study.split_confidence.confidence.mean()
    assert mean == pytest.approx(values["mean_sem2_conf"], abs=0.03)


# The exchanged right answer.


# The study.


@pytest.fixture(scope="module")
def study() -> SemanticCalibration:
    return semantic_calibration(arms(1.0, 3.0, 1.0), **{**FEW, "n_null": 199, "bootstrap": 400})


def test_a_sharpened_arm_is_found_and_a_calibrated_one_is_not(study: SemanticCalibration) -> None:
    sharp, same = study.contrasts
    assert sharp.arm == "power 3, 1"
    assert sharp.p_adjusted < 0.05 < same.p_adjusted
    assert sharp.excess.value > 0.1
    assert sharp.overconfidence.interval[0] > 0.0
    assert sharp.entropy.interval[1] < 0.0
    assert study.p_adjusted[1] == pytest.approx(3 * 0.005)
    assert study.findings().verdict == study.verdict
    assert study.verdict.startswith(
        "Semantic calibration is rejected for 'power 3, 1' (overconfident). "
        "The results on semantic calibration are inconclusive for 'power 1, 0' and 'power 1, 2'. "
        "Calibration is worse than that of 'power 1, 0' for 'power 3, 1'."
    )
    assert "Differences from 'power 1, 0', paired by question:" in study.summary()


def test_tables_hold_the_numbers(study: SemanticCalibration) -> None:
    frame = study.to_frame()
    assert frame["arm"].tolist() == list(study.labels)
    assert (frame["smece"] - frame["smece_expected"]).tolist() == pytest.approx(
        frame["smece_excess"].tolist()
    )
    assert (frame["confidence"] - frame["accuracy"]).tolist() == pytest.approx(
        frame["overconfidence"].tolist()
    )
    contrasts = study.contrast_frame()
    assert len(contrasts) == 2 * 5
    assert ((contrasts["lower"] <= contrasts["upper"]) | contrasts["difference"].isna()).all()
    assert set(study.curves()["arm"]) == set(study.labels)
    assert isinstance(study.to_dict()["contrasts"], list)


def test_another_baseline_turns_the_contrast() -> None:
    samples = arms(1.0, 2.0, questions=60)
    forth = semantic_calibration(samples, **FEW)
    back = semantic_calibration(samples, baseline=samples.models[1], **FEW)
    assert back.contrasts[0].excess.value == pytest.approx(-forth.contrasts[0].excess.value)
    assert back.contrasts[0].accuracy.value == pytest.approx(-forth.contrasts[0].accuracy.value)
    assert "Calibration is better than" in back.verdict or "inconclusive" in back.verdict


def test_the_order_of_samples_changes_nothing_but_random_halves() -> None:
    samples = arms(1.5, questions=40)
    rng = np.random.default_rng(0)
    order = rng.permuted(np.tile(np.arange(10), (1, 40, 1)), axis=2)
    right = np.take_along_axis(samples.right, order, 2)
    turned = SampledAnswers.from_array(
        np.take_along_axis(samples.codes, order, 2), correct=right, models=samples.models
    )
    one, other = (semantic_calibration(table, **FEW) for table in (samples, turned))
    for name in ("accuracy", "mean_confidence", "overconfidence", "excess_overconfidence"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
    assert one.smooth.value.value == pytest.approx(other.smooth.value.value)


def test_questions_that_an_arm_did_not_answer_are_left_out_of_all() -> None:
    classes = [
        [["a", "a"], ["a", "b"], ["b", "b"]] * 8,
        [["a", "a"], [None, None], ["a", "b"]] * 8,
    ]
    samples = SampledAnswers.from_array(classes, gold=["a"] * 24, models=["base", "instruct"])
    found = semantic_calibration(samples, **FEW)
    assert found.n_questions == 16
    assert found.n_left_out.tolist() == [0, 8]
    assert found.accuracy.value.tolist() == pytest.approx([0.5, 0.75])
    assert "8 further questions were not answered" in " ".join(found.summary().split())


_SAID = {0: "I don't know.", 3: "unanswerable", 4: "Bern"}


def test_abstentions_are_left_out_and_named() -> None:
    asked = SemanticSampling(
        [{"key": f"q{i}", "text": f"Where {i}?", "answer": "Rome"} for i in range(12)], n_samples=3
    )
    said = [asked.read(one, _SAID.get(int(one.item[1:]) % 6, "Rome")) for one in asked.prompts()]
    found = semantic_calibration({"m": asked.score(said)}, **FEW)
    assert found.n_questions == 8
    assert found.accuracy.value.tolist() == [0.75]
    assert "nearly always repeats its answer" in found.summary()


def test_one_sample_per_question_tells_nothing() -> None:
    samples = SampledAnswers.from_array([[["a"]] * 20], gold=["a", "b"] * 10)
    found = semantic_calibration(samples, **FEW)
    assert found.split_confidence is None
    assert found.mean_confidence.value[0] == 1.0
    # One sample is right or not: exchanged with the right answer it is always the same.
    assert found.p_value.value[0] == 1.0
    assert found.excess.value[0] == pytest.approx(0.0, abs=1e-12)
    assert "only one sample" in found.summary()


def test_one_question() -> None:
    samples = SampledAnswers.from_array([[["a", "b", "a"]]], gold=["a"])
    found = semantic_calibration(samples, **FEW)
    assert found.n_questions == 1
    assert isinstance(found.summary(), str)


def test_clusters_are_drawn_whole() -> None:
    samples = arms(1.0, 2.0, questions=60)
    clusters = np.repeat(np.arange(15), 4)
    found = semantic_calibration(samples, clusters=clusters, **FEW)
    assert "clusters" in found.accuracy.method
    missing = SampledAnswers.from_array(
        np.where(np.arange(60)[None, :, None] < 4, np.nan, samples.codes),
        correct=samples.right,
        models=samples.models,
    )
    fewer = semantic_calibration(missing, clusters=clusters, **FEW)
    assert fewer.n_questions == 56


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"arms": {}}, InputError),
        ({"arms": [1, 2]}, InputError),
        ({"baseline": "none"}, LabelError),
        ({"level": 1.0}, OptionError),
        ({"n_null": 5}, OptionError),
        ({"arms": SampledAnswers.from_array([[["a", "b"]]])}, InputError),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception]) -> None:
    given = {"arms": arms(1.0, questions=20), **FEW, **options}
    with pytest.raises(error):
        semantic_calibration(**given)


def test_planning_allows_for_the_skewness_of_errors_under_calibration() -> None:
    """Sample sizes rest on the critical value itself, which is above that of a normal null."""
    calibrated = arms(1.0, questions=150, seed=5)
    confidence = semantic_confidence(calibrated)
    draws = sample_null(
        SMOOTH_ECE, calibrated.codes[0], calibrated.right[0], confidence.confidence[0],
        confidence.correct[0], n_null=8_000, rng=1,
    ).draws  # fmt: skip
    reach = (np.quantile(draws, 0.95) - draws.mean()) / ndtri(0.95)
    assert reach > 1.1 * draws.std()
    found = semantic_calibration(calibrated, n_null=399, bootstrap=50, rng=2).spread
    # The quantile of 400 larger data sets has a standard error of 6 %.
    np.testing.assert_allclose(found, reach, rtol=0.2)
