"""Simulation of a study with the reported confidence and the correctness of models.

Reported confidence follows a threshold model with one common factor. Correctness depends on an
ability per model and an easiness per question, which is correlated with the common factor. For
model i and question q, with independent standard normal f, h, s, e and u,

    says yes   iff  a_i f_q + sqrt(1 - a_i^2) (k_i s_iq + sqrt(1 - k_i^2) e_iq)  >  threshold_i
    is correct iff  c g_q + sqrt(1 - c^2) (k_i s_iq + sqrt(1 - k_i^2) u_iq)  >  - ability_i
    easiness        g_q = r f_q + sqrt(1 - r^2) h_q

The private signal s_iq represents model i's own information about its correctness. If its weight
k_i is zero, the model's confidence is unrelated to its correctness beyond the common factor.
Confidence has exactly one common factor over the models, for all values of k_i.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import Responses

SIMULATED = "binary (SIMULATED)"
_THRESHOLD_RANGE = 1.8
_LOADING_RANGE = (0.60, 0.95)
_ABILITY_RANGE = (-0.3, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyTruth(Result):
    """True parameters of a simulated study."""

    models: Labels  # (models,)
    loadings: FloatArray  # (models,) a in the equations
    thresholds: FloatArray  # (models,) high = cautious
    abilities: FloatArray  # (models,)
    self_knowledge: FloatArray  # (models,) k; 0 = no residual confidence-accuracy correlation
    scores: FloatArray  # (questions,) f, high = seems easy
    easiness: FloatArray  # (questions,) g, high = easy
    easiness_loading: float  # c
    easiness_correlation: float  # r


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedStudy(Result):
    """Simulated confidence and correctness with their true parameters."""

    confidence: Responses
    correctness: Responses
    truth: StudyTruth


def simulate_study(
    *,
    n_models: int = 19,
    n_questions: int = 2_000,
    self_knowledge: Mapping[int, float] | None = None,
    easiness_loading: float = 0.7,
    easiness_correlation: float = 0.6,
    rng: RandomState = None,
) -> SimulatedStudy:
    """Simulate yes/no confidence and correctness of models with one common factor.

    Thresholds are evenly spaced from -1.8 (bold) to 1.8 (cautious). Loadings range from .60 to .95
    and abilities from -0.3 to 1.0; both are assigned to the models in different orders.

    Parameters
    ----------
    n_models, n_questions : int
        Number of models, and of questions.
    self_knowledge : mapping, optional
        Weight k of the private signal by index of the model, by default 0.6 for models 5 and 12.
        All other models have a weight of 0. The weight determines how much a model's confidence
        depends on its own correctness beyond the common factor.
    easiness_loading : float
        Loading of correctness on the easiness of a question.
    easiness_correlation : float
        Correlation of easiness with the common factor of confidence.
    rng : Generator, int or None
        Random generator or seed.

    Raises
    ------
    OptionError
        If a value is out of range.

    Examples
    --------
    >>> study = simulate_study(n_questions=100, rng=1)
    >>> study.confidence.models[:2], study.truth.self_knowledge.max()
    (('sim-01', 'sim-02'), np.float64(0.6))
    """
    k = check_count("n_models", n_models, low=2, high=DRAWS)
    n = check_count("n_questions", n_questions, high=DRAWS)
    c = check_fraction("easiness_loading", easiness_loading)
    r = check_fraction("easiness_correlation", easiness_correlation, low=-1.0)
    generator = check_generator(rng)
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    order = np.argsort(np.arange(k) * golden % 1.0)  # adjacent models are assigned distant values
    scores = generator.standard_normal(n)
    truth = StudyTruth(
        models=tuple(f"sim-{number:02d}" for number in range(1, k + 1)),
        loadings=np.linspace(*_LOADING_RANGE, k)[order],
        thresholds=np.linspace(-_THRESHOLD_RANGE, _THRESHOLD_RANGE, k),
        abilities=np.linspace(*_ABILITY_RANGE, k)[order[::-1]],
        self_knowledge=_self_knowledge(self_knowledge, k),
        scores=scores,
        easiness=r * scores + np.sqrt(1 - r**2) * generator.standard_normal(n),
        easiness_loading=c,
        easiness_correlation=r,
    )
    says_yes, is_correct = _answers(truth, generator)
    return SimulatedStudy(
        confidence=simulated_responses(says_yes, truth.models),
        correctness=simulated_responses(is_correct, truth.models),
        truth=truth,
    )


def _self_knowledge(given: Mapping[int, float] | None, k: int) -> FloatArray:
    chosen = {i: 0.6 for i in (5, 12) if i < k} if given is None else given
    weights = np.zeros(k)
    for model, weight in chosen.items():
        if not 0 <= model < k or not 0 <= weight <= 1:
            msg = (
                f"self_knowledge={{{model}: {weight}}}: model indices are 0 to {k - 1}, weights "
                "between 0 and 1"
            )
            raise OptionError(msg)
        weights[model] = weight
    return weights


def _answers(truth: StudyTruth, generator: np.random.Generator) -> tuple[BoolArray, BoolArray]:
    """Draw the confidence and the correctness of each model (models, questions)."""
    shape = (len(truth.models), len(truth.scores))
    private = truth.self_knowledge[:, None] * generator.standard_normal(shape)
    rest = np.sqrt(1.0 - truth.self_knowledge**2)[:, None]
    a, c = truth.loadings[:, None], truth.easiness_loading
    own = private + rest * generator.standard_normal(shape)
    says_yes = a * truth.scores + np.sqrt(1.0 - a**2) * own > truth.thresholds[:, None]
    own = private + rest * generator.standard_normal(shape)
    correct = c * truth.easiness + np.sqrt(1.0 - c**2) * own > -truth.abilities[:, None]
    return says_yes, correct


def simulated_responses(yes: BoolArray, models: Labels) -> Responses:
    """Return simulated answers as `Responses` whose coding marks them as simulated."""
    return Responses.from_codes(
        codes=yes.astype(np.int16),
        missing=np.zeros(yes.shape, dtype=np.bool_),
        models=models,
        questions=tuple(f"q{number:04d}" for number in range(1, yes.shape[1] + 1)),
        coding=SIMULATED,
    )
