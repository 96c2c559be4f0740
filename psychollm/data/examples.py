"""The examples that come with the library. All of them are SIMULATED, and say so.

The stored file is ``np.savez_compressed(path, **pack_example(make_example()))``; a test compares.
"""

from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.result import Result
from psychollm._base.types import AnyArray
from psychollm.data.responses import Responses
from psychollm.data.simulate_study import (
    SimulatedStudy,
    StudyTruth,
    simulate_study,
    simulated_responses,
)

ExampleName: TypeAlias = Literal["shared_confidence"]

SEED = 20_240_229
_FILE = "shared_confidence.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Example(Result):
    """Two tables of a study and the truth that made them."""

    name: str
    description: str
    simulated: bool
    confidence: Responses
    correctness: Responses
    truth: StudyTruth

    def __repr__(self) -> str:
        return f"Example {self.name!r}\n  {self.description}"


def load_example(name: ExampleName) -> Example:
    """Load an example that comes with the library.

    ``"shared_confidence"``: 19 SIMULATED models that say of 2,000 SIMULATED questions whether
    they can answer them, and whether they did. Confidence has one shared factor, thresholds from
    bold to cautious; two models know something about themselves beyond it. Made by
    ``simulate_study(rng=SEED)`` and stored, so that it never changes.

    Raises
    ------
    OptionError
        If there is no such example.

    Examples
    --------
    >>> example = load_example("shared_confidence")
    >>> example.simulated, example.confidence.n_models, example.confidence.n_questions
    (True, 19, 2000)
    >>> example.confidence.coding
    'binary (SIMULATED)'
    """
    check_choice("name", name, ExampleName)
    content = files("psychollm.data").joinpath("files", _FILE).read_bytes()
    with np.load(BytesIO(content)) as stored:
        arrays = {key: stored[key] for key in stored.files}
    truth = _truth(arrays)
    n = len(truth.scores)
    return Example(
        name=name,
        description=(
            f"SIMULATED data, not real models: {len(truth.models)} simulated models, {n:,} "
            "simulated questions, one shared confidence factor"
        ),
        simulated=True,
        confidence=simulated_responses(_unpacked(arrays["confidence"], n), truth.models),
        correctness=simulated_responses(_unpacked(arrays["correctness"], n), truth.models),
        truth=truth,
    )


def make_example() -> SimulatedStudy:
    """Make the study behind ``load_example("shared_confidence")`` anew.

    Examples
    --------
    >>> stored = load_example("shared_confidence")
    >>> bool((make_example().confidence.codes == stored.confidence.codes).all())
    True
    """
    return simulate_study(rng=SEED)


def pack_example(study: SimulatedStudy) -> dict[str, AnyArray]:
    """Return the arrays of the stored file: answers as bits, scores in single precision.

    Examples
    --------
    >>> pack_example(make_example())["confidence"].shape
    (19, 250)
    """
    truth = study.truth
    return {
        "confidence": np.packbits(study.confidence.codes.astype(np.bool_), axis=1),
        "correctness": np.packbits(study.correctness.codes.astype(np.bool_), axis=1),
        "models": np.array(truth.models),
        "loadings": truth.loadings,
        "thresholds": truth.thresholds,
        "abilities": truth.abilities,
        "self_knowledge": truth.self_knowledge,
        "scores": truth.scores.astype(np.float32),
        "easiness": truth.easiness.astype(np.float32),
        "easiness_loading": np.array(truth.easiness_loading),
        "easiness_correlation": np.array(truth.easiness_correlation),
    }


def _truth(arrays: dict[str, AnyArray]) -> StudyTruth:
    return StudyTruth(
        models=tuple(arrays["models"].tolist()),
        loadings=arrays["loadings"],
        thresholds=arrays["thresholds"],
        abilities=arrays["abilities"],
        self_knowledge=arrays["self_knowledge"],
        scores=arrays["scores"].astype(np.float64),
        easiness=arrays["easiness"].astype(np.float64),
        easiness_loading=float(arrays["easiness_loading"]),
        easiness_correlation=float(arrays["easiness_correlation"]),
    )


def _unpacked(bits: AnyArray, n: int) -> AnyArray:
    return np.unpackbits(bits, axis=1, count=n).astype(np.bool_)
