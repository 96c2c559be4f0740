"""Every study on fixed seeds finds what it found before (tests/golden/studies.json)."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.estimates.findings import Findings
from tests.goldens import FOLDER, Kept, alike, check, flat
from tests.studies.difficulty.conftest import asked
from tests.studies.metacognitive_skill.test_study import simulated as traces
from tests.studies.semantic_calibration.test_study import arms
from tests.studies.steering_match.conftest import simulated as steered


def shared_confidence() -> Findings:
    example = psy.load_example("shared_confidence")
    tables = (one.to_frame().iloc[:6, :300] for one in (example.confidence, example.correctness))
    return psy.shared_confidence(*tables, n_null=19, bootstrap=20, rng=1).findings()


def dimensionality() -> Findings:
    example = psy.load_example("shared_confidence")
    answers = example.confidence.to_frame().iloc[:8, :400]
    return psy.dimensionality(answers, n_null=19, rng=0).findings()


def inference_boundary() -> Findings:
    answers = pd.read_csv(FOLDER / "metacognition" / "vornish_a.csv")
    study = psy.inference_boundary(
        answers, commits=("B", "D"), thinking=[("m2", "m1")], bootstrap=20, rng=0
    )
    return study.findings()


def metacognitive_skill() -> Findings:
    study = psy.metacognitive_skill(
        traces(), baseline="unprompted", structures=("closed", "open"), bootstrap=20, rng=0
    )
    return study.findings()


def self_efficacy() -> Findings:
    ratings = pd.read_csv(FOLDER / "metacognition" / "gses_a.csv")
    ratings = ratings.rename(columns={"rep": "repeat"})
    return psy.self_efficacy(ratings, reference="comp", bootstrap=20, rng=0).findings()


def semantic_calibration() -> Findings:
    samples = arms(1.0, 3.0, questions=80)
    return psy.semantic_calibration(samples, n_null=19, bootstrap=20, rng=0).findings()


def steering_match() -> Findings:
    odds, targets = steered(0.8)
    controls = {"random": steered(0.0, seed=9)[0]}
    study = psy.steering_match(odds, targets, controls=controls, n_null=19, bootstrap=20, rng=0)
    return study.findings()


def difficulty() -> Findings:
    texts, easy = asked(100)
    noisy = easy + np.random.default_rng(2).normal(0, 0.5, easy.size)
    return psy.difficulty(texts, noisy, n_folds=5, bootstrap=20, rng=0).findings()


STUDIES: tuple[Callable[[], Findings], ...] = (
    shared_confidence,
    dimensionality,
    inference_boundary,
    metacognitive_skill,
    self_efficacy,
    semantic_calibration,
    steering_match,
    difficulty,
)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.__name__)
def test_findings_are_those_that_were_saved(study: Callable[[], Findings]) -> None:
    found: Kept = {}
    for item in study().to_dict()["items"]:
        found |= dict(flat(item, item["key"]))
    assert len(found) >= 3
    check(FOLDER / "studies.json", study.__name__, found, rel=1e-8)


def test_other_versions_of_packages_are_no_difference() -> None:
    made = "rng=1); psychollm 0.1.0, python 3.11.7, numpy 2.4.6, numba 0.68.1."
    assert alike(made, "rng=1); psychollm 0.1.0, python 3.13.0rc2, numpy 2.5.2, numba 0.68.0.")
    assert not alike(made, made.replace("rng=1", "rng=2"))
