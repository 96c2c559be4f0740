"""Semantic confidence and entropy: golden values, slow twins, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, OptionError
from psychollm.calibration.sampled.semantic_confidence import semantic_confidence
from psychollm.calibration.sampled.semantic_entropy import semantic_entropy
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.reasons import Reason
from tests.oracles import semantic_slow as slow

CASES = ("semantic_a", "semantic_b")


def read(golden: Path, case: str) -> tuple[pd.DataFrame, SampledAnswers, pd.DataFrame]:
    long = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    expected = pd.read_csv(golden / "metacognition" / f"{case}_perquestion_expected.csv")
    samples = SampledAnswers.from_long(
        long, question="question", answer="cls", gold="gold", loglik="loglik"
    )
    return long, samples, expected


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("confidence", "sem_conf"),
        ("correct", "modal_correct_expected"),
        ("sample_accuracy", "any_correct_rate"),
        ("agreement", "pairwise_agreement_unbiased"),
        ("n_samples", "n"),
        ("n_classes", "n_classes"),
        ("n_tied", "n_modal_ties"),
    ],
)
def test_confidence_per_question(golden: Path, case: str, field: str, column: str) -> None:
    _, samples, expected = read(golden, case)
    found = getattr(semantic_confidence(samples), field)[0]
    assert found == pytest.approx(expected[column].to_numpy(), abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_means_over_questions(golden: Path, case: str) -> None:
    _, samples, _ = read(golden, case)
    path = golden / "metacognition" / f"{case}.expected.json"
    values = json.loads(path.read_text())["blocks"][0]["values"]
    found = semantic_confidence(samples)
    assert found.confidence.mean() == pytest.approx(values["mean_sem_conf"], abs=1e-9)
    assert (found.n_tied > 1).sum() == values["n_questions_with_modal_ties"]
    for estimator, key in (("discrete", "mean_discrete_se"), ("likelihood", "mean_se_rao")):
        entropy = semantic_entropy(samples, estimator=estimator, bootstrap=2, rng=0)
        assert entropy.mean.value[0] == pytest.approx(values[key], abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_twin_of_split_halves_is_the_published_estimator(golden: Path, case: str) -> None:
    # Ten permutations from seed 0 per question; ties go to the class that appears first.
    long, _, expected = read(golden, case)
    for (_, rows), value in zip(
        long.groupby("question", sort=False), expected["sem2_conf_R10_seed0"], strict=True
    ):
        classes, rng = rows["cls"].to_list(), np.random.default_rng(0)
        halves = [
            slow.first_half_then_second(classes, rng.permutation(len(classes)), "appearance")
            for _ in range(10)
        ]
        assert np.mean(halves) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("classes", ["aab", "aabb", "aaabbc", "abcd", "aaaabbbc"])
def test_split_halves_converge_to_the_mean_over_all_halves(classes: str) -> None:
    samples = SampledAnswers.from_array([list(classes)])
    found = semantic_confidence(samples, estimator="split_sample", splits=40_000, rng=0)
    # 40,000 halves of a share with standard deviation below 0.3: five standard errors
    assert found.confidence[0, 0] == pytest.approx(slow.split_sample_exact(classes), abs=0.0075)


def test_split_halves_remove_the_bias_of_the_largest_share() -> None:
    # Ten equally likely classes, 20 samples: the chance of any class is one tenth.
    rng = np.random.default_rng(1)
    samples = SampledAnswers.from_array(rng.integers(10, size=(2000, 20)))
    same = semantic_confidence(samples).confidence.mean()
    split = semantic_confidence(samples, estimator="split_sample", rng=0).confidence.mean()
    assert same > 0.2
    # A class chosen in ten of twenty draws and counted in the others: se 0.0012
    assert split == pytest.approx(0.1, abs=0.006)


classes_of_one_question = st.lists(st.sampled_from("abcd"), min_size=2, max_size=8)


@given(classes=classes_of_one_question, seed=st.integers(0, 1000))
def test_slow_twins(classes: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    right, loglik = rng.integers(2, size=len(classes)) * 1.0, rng.normal(-3, 1, len(classes))
    samples = SampledAnswers.from_array([classes], correct=[right], loglik=[loglik])
    found = semantic_confidence(samples)
    assert found.confidence[0, 0] == pytest.approx(slow.modal(classes)[0])
    assert found.correct[0, 0] == pytest.approx(slow.expected_correctness(classes, right))
    assert found.agreement[0, 0] == pytest.approx(slow.pairs_alike(classes))
    truth = {
        "discrete": slow.entropy(classes),
        "miller_madow": slow.entropy(classes) + (len(set(classes)) - 1) / (2 * len(classes)),
        "likelihood": slow.likelihood_entropy(classes, loglik),
        "monte_carlo": slow.monte_carlo_entropy(classes, loglik),
        "predictive": -loglik.mean(),
    }
    for estimator, value in truth.items():
        entropy = semantic_entropy(samples, estimator=estimator, bootstrap=2, rng=0).entropy
        assert entropy[0, 0] == pytest.approx(value, abs=1e-12), estimator


@given(classes=classes_of_one_question, order=st.randoms())
def test_the_order_of_samples_and_the_names_of_classes_do_not_matter(classes, order) -> None:
    shuffled = [f"class {label}" for label in classes]
    order.shuffle(shuffled)
    first, second = (
        semantic_confidence(SampledAnswers.from_array([c])) for c in (classes, shuffled)
    )
    assert (first.confidence == second.confidence).all()
    assert (first.n_classes == second.n_classes).all()
    assert (first.agreement == second.agreement).all()


def test_every_model_has_its_own_classes_and_missing_samples() -> None:
    classes = [[["x", "x", None]], [["y", "x", "z"]]]
    samples = SampledAnswers.from_array(classes, gold=["x"], models=["m", "n"])
    found = semantic_confidence(samples)
    assert found.confidence.tolist() == [[1.0], [pytest.approx(1 / 3)]]
    assert found.correct.tolist() == [[1.0], [pytest.approx(1 / 3)]]
    assert found.n_samples.tolist() == [[2.0], [3.0]]


def test_one_sample_is_flagged_and_has_no_entropy() -> None:
    samples = SampledAnswers.from_array([["a"], ["b"]], gold=["a", "a"])
    found = semantic_confidence(samples)
    assert found.confidence.tolist() == [[1.0, 1.0]]
    assert found.flags == (Reason.ONE_SAMPLE,)
    split = semantic_confidence(samples, estimator="split_sample", rng=0)
    assert np.isnan(split.confidence).all()
    entropy = semantic_entropy(samples, bootstrap=2, rng=0)
    assert np.isnan(entropy.entropy).all()
    assert entropy.mean.flags == (Reason.ONE_SAMPLE,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: semantic_confidence([["a"]]), InputError, "SampledAnswers.from_array"),
        (
            lambda: semantic_entropy(SampledAnswers.from_array([["a"]]), estimator="likelihood"),
            OptionError,
            "needs log-likelihoods",
        ),
        (
            lambda: semantic_entropy(
                SampledAnswers.from_array([["a"]], loglik=[[-1.0]]),
                estimator="likelihood",
                length_normalise=True,
            ),
            OptionError,
            "n_tokens",
        ),
        (
            lambda: semantic_confidence(SampledAnswers.from_array([["a"]]), estimator="sem3"),
            OptionError,
            "sem3",
        ),
    ],
)
def test_bad_input_is_named(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_tables() -> None:
    samples = SampledAnswers.from_array([["a", "b"], ["a", "a"]], questions=["x", "y"])
    frame = semantic_confidence(samples).to_frame()
    assert frame["question"].tolist() == ["x", "y"]
    assert frame["confidence"].tolist() == [0.5, 1.0]
    assert semantic_entropy(samples, bootstrap=2, rng=0).to_frame().shape == (2, 5)
